//! The run directory: what is in it, whether it is a run, and its lock.
//!
//! Nothing here changes a file of a run. A directory is ours if it has a marker, and in it only files of the names below are
//! touched.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::TrainError;
use super::live::{LOCK, Live};
use crate::games::{games_folder, generations_of_run, has_games_name};
use crate::storage::{FileError, folder_of, is_temporary, open_locked, read_bounded};

/// The marker: what makes a directory a run directory.
pub(super) const MARKER: &str = "flipside-run.json";
pub(super) const CONFIG: &str = "config.toml";
pub(super) const METRICS: &str = "metrics.jsonl";
/// The weights that won the last gate.
pub const BEST: &str = "best.fsw";
/// The newest weights.
pub const LAST: &str = "last.fsw";
pub(super) const CHECKPOINT: &str = "checkpoint";
pub(super) const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous";
/// The newest first.
pub const CHECKPOINTS: [&str; 2] = [CHECKPOINT, PREVIOUS_CHECKPOINT];
/// See [`Workers`](super::Workers).
pub(super) const WORKERS: &str = "workers.json";

/// The weight file that a path stands for: the best of a run, if it is a run's directory.
pub fn weights_at(path: &Path) -> PathBuf {
    let best = path.join(BEST);
    if best.is_file() { best } else { path.to_owned() }
}

/// The run that a file belongs to, if this path is that of one of a run's own files, present or not. Anything else in its directory is
/// the user's.
pub fn run_of_file(path: &Path) -> Option<PathBuf> {
    const NAMES: [&str; 9] = [MARKER, LOCK, CONFIG, METRICS, BEST, LAST, CHECKPOINT, PREVIOUS_CHECKPOINT, WORKERS];
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(_) => folder_of(path).canonicalize().ok()?.join(path.file_name()?),
    };
    let folder = path.parent()?;
    let run = if NAMES.iter().any(|name| path.ends_with(name)) {
        Some(folder)
    } else {
        folder.parent().filter(|run| has_games_name(&path) && folder == games_folder(run))
    };
    run.filter(|run| run.join(MARKER).exists()).map(Path::to_owned)
}

/// How long a lock is tried: somebody may only be checking whether the run is running.
const PATIENCE: Duration = Duration::from_millis(80);

/// A run directory, locked for as long as this exists. If it was made for a run that does not begin, dropping this removes it.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    is_new: bool,
    _lock: File,
}

impl RunDirectory {
    /// Locks a directory that is a run's, or empty, or not there yet.
    ///
    /// # Errors
    /// [`TrainError::NotARun`], [`TrainError::Locked`], or the file system's.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        // Before anything is made in it, a directory must be ours or empty.
        check(path)?;
        let (is_new, lock) = match lock(path) {
            // Another process has just removed it, since its run did not begin.
            Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => lock(path)?,
            locked => locked?,
        };
        let lock = lock.ok_or_else(|| TrainError::Locked(path.to_owned()))?;
        // Another process may have begun a run before we had the lock.
        check(path)?;
        Ok(Self { path: path.to_owned(), is_new, _lock: lock })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file of the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if self.is_new && names(&self.path).is_ok_and(|names| names == [LOCK]) {
            // Whoever waits for the lock makes another one, in which case the folder stays, or another folder.
            let _ = fs::remove_file(self.file(LOCK));
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Makes a directory, unless it is there, and takes its lock. Whether it was made, and the lock unless another process holds it.
fn lock(path: &Path) -> Result<(bool, Option<File>), FileError> {
    let is_new = !path.exists();
    fs::create_dir_all(path).map_err(FileError::io(path))?;
    let lock = path.join(LOCK);
    let file = open_locked(&lock, File::options().create(true).write(true), PATIENCE).map_err(FileError::io(&lock))?;
    // What an earlier process left there is not this one's state. A full disk does not matter here.
    let _ = file.as_ref().map(|file| Live::default().write_to(file));
    Ok((is_new, file))
}

/// The generations of which a run has a file of games, in order.
pub(super) fn generations_in(directory: &Path) -> Result<Vec<u32>, TrainError> {
    let folder = games_folder(directory);
    match generations_of_run(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => absent(&folder).map(|()| Vec::new()),
        found => Ok(found.map_err(FileError::io(&folder))?),
    }
}

/// Limit in bytes of `metrics.jsonl`.
const METRICS_LIMIT: u64 = 1 << 30;

/// The bytes of `metrics.jsonl`; none if there is no such file yet.
pub(crate) fn metrics(directory: &Path) -> Result<Vec<u8>, TrainError> {
    let bytes = read_if_there(&directory.join(METRICS), "file of events", METRICS_LIMIT)?;
    Ok(bytes.unwrap_or_default())
}

/// The bytes of a file, if it has no more than `limit`; `None` if there is no such file. `what` says what it should be.
///
/// # Errors
/// Any but a plain "no such file".
pub(super) fn read_if_there(path: &Path, what: &'static str, limit: u64) -> Result<Option<Vec<u8>>, TrainError> {
    match read_bounded(path, what, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::Io { source, .. }) if is_missing(&source) => absent(path).map(|()| None),
        Err(error) => Err(error.into()),
    }
}

/// Whether there is no such file, or a file where its folder should be.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Checks that a file that was not found is not a link to something that is missing for now.
fn absent(path: &Path) -> Result<(), TrainError> {
    match fs::symlink_metadata(path) {
        Err(error) if is_missing(&error) => Ok(()),
        Err(error) => Err(FileError::io(path)(error).into()),
        Ok(_) => Err(TrainError::Dangling(path.to_owned())),
    }
}

/// Checks that a directory is a run's, or empty except for what a start that was killed at once leaves.
fn check(path: &Path) -> Result<(), TrainError> {
    let names = names(path)?;
    if names.iter().any(|name| name == MARKER) {
        return Ok(());
    }
    match names.into_iter().find(|name| name != LOCK && !is_temporary(name)) {
        None => Ok(()),
        Some(found) => Err(TrainError::NotARun { directory: path.to_owned(), found }),
    }
}

/// The names in a folder, in order; none if there is no such folder.
fn names(folder: &Path) -> Result<Vec<String>, TrainError> {
    let io = FileError::io(folder);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return absent(folder).map(|()| Vec::new()),
        Err(error) => return Err(io(error).into()),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(&io)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
