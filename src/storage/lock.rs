//! Locked files, and which file a path leads to.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::links::check_links;

/// Opens a file and locks it against other processes. As long as one holds it, this is tried again, at most for the time given: a
/// process that is just starting may hold its parent's lock for a moment. `None` if the file is still locked after that.
///
/// # Errors
/// The file system's, or a link that another user planted, as for [`atomic_write`](super::atomic_write).
pub fn open_locked(path: &Path, options: &OpenOptions, patience: Duration) -> io::Result<Option<File>> {
    const PAUSE: Duration = Duration::from_millis(20);
    check_links(path)?;
    let began = Instant::now();
    loop {
        // Opened each time, since the holder of the lock may replace the file.
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path)? => return Ok(Some(file)),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let left = patience.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        thread::sleep(PAUSE.min(left));
    }
}

/// What tells a file from all others, whatever name or link leads to it.
///
/// # Errors
/// The file system's, also if there is no file.
#[cfg(unix)]
pub fn file_id(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(id_of)
}

#[cfg(unix)]
fn id_of(metadata: fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// What tells a file from all others, whatever name or link leads to it.
///
/// # Errors
/// The file system's, also if there is no file.
#[cfg(not(unix))]
pub fn file_id(path: &Path) -> io::Result<std::path::PathBuf> {
    fs::canonicalize(path)
}

/// Whether a file is the one at a path.
///
/// # Errors
/// The file system's.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match file_id(path) {
        Ok(there) => Ok(there == id_of(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is a file at a path: an open file is never replaced here.
///
/// # Errors
/// The file system's.
#[cfg(not(unix))]
pub fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    fs::exists(path)
}
