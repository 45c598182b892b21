//! Where runs live: `runs/DATE-TIME`, and the link `runs/latest`.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::{CliError, Context};
use super::session::Session;
use crate::clock::rfc3339;
use crate::train::LOCK;

/// The folder of runs.
pub const RUNS: &str = "runs";

/// The link in it to the run that was at work last.
const LATEST: &str = "latest";

/// What helps where there is no such run.
pub const WHERE_RUNS_ARE: &str = "`flipside runs` lists the runs there are.";

/// What is wrong with a run, and where runs are listed.
pub fn unreadable(error: impl Display) -> CliError {
    CliError::failure(error.to_string()).hint(WHERE_RUNS_ARE)
}

/// The run that was at work last.
pub fn latest() -> PathBuf {
    Path::new(RUNS).join(LATEST)
}

/// A directory made for a new run. Dropped, it goes if nothing but a lock was put into it.
pub struct NewDirectory(PathBuf);

impl NewDirectory {
    /// Makes one that is named by the time, and ours alone.
    pub fn claim() -> Result<Self, CliError> {
        let now = rfc3339(SystemTime::now()).replace('T', "-").replace([':', 'Z'], "");
        let further = (2..).map(|number| format!("{now}-{number}"));
        let make = |name: String| {
            let directory = Path::new(RUNS).join(name);
            fs::create_dir(&directory).map(|()| Self(directory))
        };
        let is_taken =
            |made: &io::Result<_>| made.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
        let claim = || {
            fs::create_dir_all(RUNS)?;
            std::iter::once(now.clone()).chain(further).map(make).find(|made| !is_taken(made)).expect("numbers go on")
        };
        claim().context(|| format!("cannot make a directory in `{RUNS}`"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        let is_empty = |entries: fs::ReadDir| entries.flatten().all(|entry| entry.file_name() == LOCK);
        if fs::read_dir(&self.0).is_ok_and(is_empty) {
            let _ = fs::remove_file(self.0.join(LOCK));
        }
        // The system keeps one that is not empty.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Whether a directory has the name of the link to the newest run, and is not there: a run of that name would stand in the link's way.
pub fn is_reserved(directory: &Path) -> bool {
    let parent = directory.parent().unwrap_or(Path::new(""));
    directory.file_name() == Some(LATEST.as_ref()) && parent.ends_with(RUNS) && directory.symlink_metadata().is_err()
}

/// Makes `runs/latest` a link to a run that begins or goes on in that folder. What stands there and is no link is left alone.
pub fn point_latest_to(directory: &Path, session: &Session) {
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else { return };
    if !parent.ends_with(RUNS) || name == LATEST {
        return;
    }
    let link = parent.join(LATEST);
    match link.symlink_metadata() {
        Ok(there) if !there.is_symlink() => {
            session.say(format_args!("`{}` is no link and is left as it is", link.display()));
        }
        _ => {
            if let Err(error) = replace_link(Path::new(name), &link) {
                session.say(format_args!("cannot make the link `{}`: {error}", link.display()));
            }
        }
    }
}

/// Makes a link to a directory beside it, in the place of one that may be there.
#[cfg(unix)]
fn replace_link(target: &Path, link: &Path) -> std::io::Result<()> {
    let new = link.with_file_name(format!(".{LATEST}.{}", std::process::id()));
    // As a kill leaves it; processes get the same numbers again.
    let _ = std::fs::remove_file(&new);
    std::os::unix::fs::symlink(target, &new)?;
    std::fs::rename(&new, link).inspect_err(|_| drop(std::fs::remove_file(&new)))
}

#[cfg(not(unix))]
fn replace_link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("this system has no links for everybody"))
}
