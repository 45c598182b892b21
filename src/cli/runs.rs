//! Where runs live: `runs/DATE-TIME`, and the link `runs/latest`.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::{CliError, Context};
use super::session::Session;
use flipside::clock::rfc3339;
use flipside::train::LOCK;

/// The folder of runs.
pub const RUNS: &str = "runs";

/// The link in it to the most recently active run.
const LATEST: &str = "latest";

/// The hint for a run that does not exist.
pub const WHERE_RUNS_ARE: &str = "`flipside runs` lists all runs.";

/// An error about a run, with a hint at the list of runs.
pub fn unreadable(error: impl Display) -> CliError {
    CliError::failure(error.to_string()).hint(WHERE_RUNS_ARE)
}

/// The most recently active run.
pub fn latest() -> PathBuf {
    Path::new(RUNS).join(LATEST)
}

/// The run that a path leads to: `runs/latest` by its own name, which still means the same run when the link has moved on.
pub fn resolved(run: &Path) -> PathBuf {
    // Without a slash at the end.
    let run: PathBuf = run.components().collect();
    match (fs::read_link(&run), run.parent()) {
        (Ok(target), Some(folder)) if run.ends_with(LATEST) => folder.join(target),
        _ => run,
    }
}

/// A directory made for a new run. Dropping it removes the directory if that holds nothing but a lock.
pub struct NewDirectory {
    path: PathBuf,
    /// Whether it is the first in a new folder of runs.
    is_first: bool,
}

impl NewDirectory {
    /// Makes one named after the current time, for this process alone.
    pub fn claim() -> Result<Self, CliError> {
        let now = rfc3339(SystemTime::now()).replace('T', "-").replace([':', 'Z'], "");
        let further = (2..).map(|number| format!("{now}-{number}"));
        let is_first = !Path::new(RUNS).exists();
        let make = |name: String| {
            let path = Path::new(RUNS).join(name);
            fs::create_dir(&path).map(|()| Self { path, is_first })
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
        &self.path
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        let is_empty = |entries: fs::ReadDir| entries.flatten().all(|entry| entry.file_name() == LOCK);
        if fs::read_dir(&self.path).is_ok_and(is_empty) {
            let _ = fs::remove_file(self.path.join(LOCK));
        }
        // Fails if it is not empty.
        let _ = fs::remove_dir(&self.path);
        if self.is_first {
            let _ = fs::remove_dir(RUNS);
        }
    }
}

/// Whether a directory is a `runs/latest` that does not exist yet: a run there would be in the way of the link.
pub fn is_reserved(directory: &Path) -> bool {
    let parent = directory.parent().unwrap_or(Path::new(""));
    directory.file_name() == Some(LATEST.as_ref()) && parent.ends_with(RUNS) && directory.symlink_metadata().is_err()
}

/// Points `runs/latest` to a run that starts or continues in that folder. Anything there that is not a link is left alone.
pub fn point_latest_to(directory: &Path, session: &Session) {
    let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else { return };
    if !parent.ends_with(RUNS) || name == LATEST {
        return;
    }
    let link = parent.join(LATEST);
    match link.symlink_metadata() {
        Ok(there) if !there.is_symlink() => {
            session.say(format_args!("`{}` is not a link and is left as it is", link.display()));
        }
        _ => {
            if let Err(error) = replace_link(Path::new(name), &link) {
                session.say(format_args!("cannot make the link `{}`: {error}", link.display()));
            }
        }
    }
}

/// Makes a link to a directory beside it, replacing any old one.
#[cfg(unix)]
fn replace_link(target: &Path, link: &Path) -> io::Result<()> {
    let new = link.with_file_name(format!(".{LATEST}.{}", std::process::id()));
    // Left behind by a killed process that had the same number.
    let _ = fs::remove_file(&new);
    std::os::unix::fs::symlink(target, &new)?;
    fs::rename(&new, link).inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(not(unix))]
fn replace_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("this system does not let every user make links"))
}
