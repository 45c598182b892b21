//! Reading a run directory without disturbing the run.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::clock::unix_seconds;
use crate::games::{games_file, games_in};
use crate::storage::FileError;
use crate::train::{Budget, LOCK, TrainConfig, TrainError, TrainEvent, events, metrics, stored_config};

/// A run as its directory shows it.
#[derive(Clone, Debug)]
pub struct RunLog {
    /// The directory.
    pub directory: PathBuf,
    /// The run's configuration.
    pub config: TrainConfig,
    /// What happened, in order.
    pub events: Vec<TrainEvent>,
    /// Whether a process is running it.
    pub is_running: bool,
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
        let is_running = is_locked(directory);
        let config = stored_config(directory)?;
        let events = events(&metrics(directory)?).collect();
        let (last_sign, bytes) = written(directory).map_err(FileError::io(directory))?;
        let mut log =
            Self { directory: directory.to_owned(), config, events, is_running, last_sign, bytes, at_hand: 0 };
        log.at_hand = games_in(&games_file(directory, log.generation()));
        Ok(log)
    }

    /// Generations learned.
    pub fn generation(&self) -> u32 {
        let of = |event: &TrainEvent| match event {
            TrainEvent::Played { generation, .. } => generation + 1,
            TrainEvent::Start { generation, .. } => *generation,
            _ => 0,
        };
        self.events.iter().map(of).max().unwrap_or(0)
    }

    /// The budget of the last session, and when it began, in seconds since 1970.
    pub fn last_start(&self) -> Option<(Budget, u64)> {
        self.events.iter().rev().find_map(|event| match event {
            TrainEvent::Start { budget, time, .. } => Some((*budget, *time)),
            _ => None,
        })
    }

    /// Whether the last session ended with its budget used up.
    pub fn is_finished(&self) -> bool {
        matches!(self.events.last(), Some(TrainEvent::End { finished: true, .. }))
    }

    /// Seconds of work, up to now if it is running; not fewer than its events say, even if the clock was set back.
    pub fn elapsed(&self) -> f64 {
        let start = |event: &TrainEvent| match event {
            TrainEvent::Start { elapsed, time, .. } if self.is_running && *time > 0 => Some((*elapsed, *time)),
            _ => None,
        };
        let of_session = self.events.iter().rev().take_while(|event| !matches!(event, TrainEvent::End { .. }));
        let by_clock = of_session.filter_map(start).next();
        let by_clock = by_clock.map_or(0.0, |(before, began)| before + unix_seconds().saturating_sub(began) as f64);
        self.events.iter().filter_map(TrainEvent::elapsed).fold(by_clock, f64::max)
    }
}

/// When a file in a folder was last written, and the bytes of all files. Folders in it that cannot be read do not count.
fn written(folder: &Path) -> io::Result<(u64, u64)> {
    let (mut last, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        // A file may be replaced while we look.
        let Ok(metadata) = entry.as_ref().map_err(|_| ()).and_then(|entry| entry.metadata().map_err(|_| ())) else {
            continue;
        };
        if metadata.is_dir() {
            // Perhaps the user's, and not for everybody.
            let (inner_last, inner_bytes) = written(&entry?.path()).unwrap_or_default();
            (last, bytes) = (last.max(inner_last), bytes + inner_bytes);
        } else {
            let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            (last, bytes) = (last.max(modified.map_or(0, |time| time.as_secs())), bytes + metadata.len());
        }
    }
    Ok((last, bytes))
}

/// Whether a process holds the lock of a run. Trying takes it for a moment; a run that begins just then waits.
fn is_locked(directory: &Path) -> bool {
    let lock = File::open(directory.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
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
