//! What long jobs do to their files, in steps that can be retried after a failure.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use super::atomic::{atomic_write, sync_folder};
use super::links::folder_of;

/// Changes to files. A step that failed leaves either what was there before, or something that a retry puts right. The defaults
/// are the real thing: [`LocalDisk`] uses all of them, and a test may make some fail.
pub trait Disk: Sync {
    /// Replaces a file at once or not at all; see [`atomic_write`].
    ///
    /// # Errors
    /// The file system's.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        atomic_write(path, |writer| writer.write_all(bytes))
    }

    /// Writes bytes at offset `at` of a file and returns its new length. The file is created if missing; what it held from `at` on is
    /// cut off. If the file is shorter, because somebody cut or removed it, the bytes go to its end.
    ///
    /// # Errors
    /// The file system's. The file may then hold a part of the bytes.
    fn append(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<u64> {
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        let at = at.min(file.metadata()?.len());
        file.set_len(at)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        if at == 0 {
            // `sync` makes only the bytes durable; the name must be too.
            sync_folder(folder_of(path))?;
        }
        Ok(at + bytes.len() as u64)
    }

    /// Makes sure that a file's content survives a power cut. If fsync fails, what can be read is written again. True if it was: the
    /// system may have dropped what it had not written, and the caller has to check the content.
    ///
    /// # Errors
    /// The file system's.
    fn sync(&self, path: &Path) -> io::Result<bool> {
        if File::open(path)?.sync_data().is_ok() {
            return Ok(false);
        }
        self.replace(path, &fs::read(path)?).map(|()| true)
    }

    /// Renames a file within its folder, replacing one of the new name.
    ///
    /// # Errors
    /// The file system's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Removes a file. A missing one is no error.
    ///
    /// # Errors
    /// The file system's.
    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// Bytes that can still be written to the file system of a folder.
    ///
    /// # Errors
    /// The file system's.
    #[cfg(unix)]
    fn room(&self, folder: &Path) -> io::Result<u64> {
        let system = rustix::fs::statvfs(folder)?;
        Ok(system.f_bavail.saturating_mul(system.f_frsize))
    }

    /// Bytes that can still be written to the file system of a folder; here no limit, since the system is not asked.
    #[cfg(not(unix))]
    fn room(&self, _folder: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Waits before a retry.
    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The file system as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {}

/// Whether a retry may succeed a little later: a full disk, a device or a server that does not answer, no more descriptors.
pub fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::ResourceBusy
            | Kind::StaleNetworkFileHandle
            | Kind::TimedOut
            | Kind::Interrupted
            | Kind::WouldBlock
            | Kind::OutOfMemory
            | Kind::NetworkDown
            | Kind::HostUnreachable
    ) || is_transient_code(error)
}

/// Errors without a kind of their own: an input or output error, and too many open files.
#[cfg(unix)]
fn is_transient_code(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let codes = [Errno::IO, Errno::MFILE, Errno::NFILE];
    error.raw_os_error().is_some_and(|code| codes.iter().any(|known| known.raw_os_error() == code))
}

#[cfg(not(unix))]
fn is_transient_code(_: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_tried_again_leaves_the_bytes_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        LocalDisk.append(&path, 0, b"one ").unwrap();
        LocalDisk.append(&path, 4, b"tw").unwrap();
        assert_eq!(LocalDisk.append(&path, 4, b"two").unwrap(), 7);
        assert_eq!(fs::read(&path).unwrap(), b"one two");
        LocalDisk.remove(&path).unwrap();
        LocalDisk.remove(&path).unwrap();
        assert_eq!(LocalDisk.append(&path, 7, b"new").unwrap(), 3);
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    #[cfg(unix)]
    fn full_disks_are_transient_and_missing_rights_are_not() {
        use rustix::io::Errno;
        let transient = |errno: Errno| is_transient(&io::Error::from(errno));
        assert!([Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::STALE, Errno::MFILE].into_iter().all(transient));
        assert!(![Errno::ACCESS, Errno::ROFS, Errno::NOENT, Errno::ISDIR].into_iter().any(transient));
    }
}
