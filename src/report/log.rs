//! Reading a run directory without disturbing the run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::history::{Ending, History};
use crate::clock::unix_seconds;
use crate::games::{games_file, games_in};
use crate::storage::FileError;
use crate::train::{Live, StoredRun, TrainConfig, TrainError, events, metrics};

/// A run as its directory shows it.
#[derive(Clone, Debug)]
pub struct RunLog {
    /// The directory.
    pub directory: PathBuf,
    /// The run's configuration.
    pub config: TrainConfig,
    /// The hash of the weights it began with, if any.
    pub parent: Option<String>,
    /// The directory of the run that it continues, if any.
    pub continues: Option<PathBuf>,
    /// Generations and games of the runs that it continues.
    pub before: (u32, u64),
    /// What happened.
    pub history: History,
    /// What the process that works on it is doing; [`Live::of_run`].
    pub live: Option<Option<Live>>,
    /// When one of its files was last written, in seconds since 1970.
    pub last_sign: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Games of the current generation on the disk.
    pub at_hand: u32,
}

impl RunLog {
    /// Reads the directory of a run.
    ///
    /// # Errors
    /// No run, or files that cannot be read.
    pub fn read(directory: &Path) -> Result<Self, TrainError> {
        // First of all: a run that ends meanwhile must not look broken off.
        let live = Live::of_run(directory);
        let StoredRun { config, parent, mut continues, before, .. } = StoredRun::read(directory)?;
        let events: Vec<_> = events(&metrics(directory)?).collect();
        let history = History::of(&events);
        let (last_sign, bytes) = written(directory).map_err(FileError::io(directory))?;
        let at_hand = games_in(&games_file(directory, history.generations));
        let (directory, continues) = (directory.to_owned(), continues.pop());
        Ok(Self { directory, config, parent, continues, before, history, live, last_sign, bytes, at_hand })
    }

    /// Whether a process is working on it.
    pub fn is_running(&self) -> bool {
        self.live.is_some()
    }

    /// Whether the last session ended with its budget used up.
    pub fn is_finished(&self) -> bool {
        !self.is_running() && self.history.ending == Some(Ending::Finished)
    }

    /// Seconds of work, up to now if it is running; not fewer than its events say, even if the clock was set back.
    pub fn elapsed(&self) -> f64 {
        let History { seconds, began, ending, .. } = &self.history;
        match began {
            Some((time, before)) if self.is_running() && ending.is_none() => {
                seconds.max(before + unix_seconds().saturating_sub(*time) as f64)
            }
            _ => *seconds,
        }
    }
}

/// When a file in a folder was last written, and the bytes of all files. Folders in it that cannot be read do not count.
fn written(folder: &Path) -> io::Result<(u64, u64)> {
    let (mut last, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        // A file may be replaced while we look.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            // Perhaps the user's, and not for everybody.
            let (inner_last, inner_bytes) = written(&entry.path()).unwrap_or_default();
            (last, bytes) = (last.max(inner_last), bytes + inner_bytes);
        } else {
            let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            (last, bytes) = (last.max(modified.map_or(0, |time| time.as_secs())), bytes + metadata.len());
        }
    }
    Ok((last, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_folder_that_cannot_be_read_does_not_count() {
        use std::os::unix::fs::PermissionsExt;
        let run = tempfile::tempdir().unwrap();
        let private = run.path().join("private");
        fs::create_dir(&private).unwrap();
        fs::write(run.path().join("last.fsw"), "12345").unwrap();
        // To the superuser it is an empty folder.
        fs::set_permissions(&private, fs::Permissions::from_mode(0o000)).unwrap();
        assert_eq!(written(run.path()).unwrap().1, 5);
        fs::set_permissions(&private, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
