//! The right to change a book: a lock on its file, which passes to the file that takes its place.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::BookError;
use super::file::{BaseWriter, Hash};
use super::record::Record;
use crate::storage::{atomic_create, atomic_replace};

/// Held by the one process that may change a book.
pub(super) struct Lock {
    path: PathBuf,
    /// The book, locked; none where it is still to be made.
    file: Option<File>,
}

impl Lock {
    /// Locks a book. Waits a little for another process to finish: one that is being started may hold what its parent does for a moment.
    ///
    /// # Errors
    /// The file system's, and [`BookError::Locked`].
    pub fn of_book(path: &Path) -> Result<Self, BookError> {
        const TRIES: usize = 20;
        let io = BookError::io(path);
        for _ in 0..TRIES {
            // Opened each time, since whoever has the lock may put another file there.
            let file = File::options().read(true).write(true).open(path).map_err(&io)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path).map_err(&io)? => {
                    return Ok(Self { path: path.to_owned(), file: Some(file) });
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(25)),
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        Err(BookError::Locked(path.to_owned()))
    }

    /// [`Self::of_book`] for a book that is to be made, which may take the place of another.
    ///
    /// # Errors
    /// As of [`Self::of_book`].
    pub fn of_output(path: &Path) -> Result<Self, BookError> {
        match Self::of_book(path) {
            Err(BookError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self { path: path.to_owned(), file: None })
            }
            result => result,
        }
    }

    /// [`Self::of_book`], of an empty book if there is no file.
    ///
    /// # Errors
    /// As of [`Self::of_book`].
    pub fn of_book_or_new(path: &Path) -> Result<Self, BookError> {
        let mut lock = Self::of_output(path)?;
        if lock.file.is_some() {
            return Ok(lock);
        }
        match lock.replace(&[], |_| Ok(())) {
            // Another process was first.
            Err(BookError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Self::of_book(path),
            made => made.map(|()| lock),
        }
    }

    /// The path of the book.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same lock once more.
    ///
    /// # Errors
    /// The file system's.
    pub fn share(&self) -> Result<Self, BookError> {
        let file = self.file.as_ref().map(File::try_clone).transpose().map_err(BookError::io(&self.path))?;
        Ok(Self { path: self.path.clone(), file })
    }

    /// The book's file.
    ///
    /// # Errors
    /// The file system's, or [`BookError::Replaced`] if it is not there any more.
    pub fn file(&self) -> Result<&File, BookError> {
        match &self.file {
            Some(file) if is_at(file, &self.path).map_err(BookError::io(&self.path))? => Ok(file),
            _ => Err(BookError::Replaced(self.path.clone())),
        }
    }

    /// Puts a book of sorted records in the place of the one that is locked, or where there is none. The lock is on that one then.
    ///
    /// # Errors
    /// What `records` says, the file system's, and [`BookError::Replaced`].
    pub fn replace(
        &mut self,
        weights: &[Hash],
        records: impl FnOnce(&mut dyn FnMut(&Record) -> Result<(), BookError>) -> Result<(), BookError>,
    ) -> Result<(), BookError> {
        let io = BookError::io(&self.path);
        // What goes wrong with a record is told as it is, what goes wrong with the file by its name.
        let mut failure = None;
        let write = |file: &mut File| {
            file.lock()?;
            let mut writer = BaseWriter::new(file)?;
            let pushed = records(&mut |record| writer.push(&record.encode()).map_err(&io));
            // Looked for last: another may have put a file there in the meantime.
            if let Err(error) = pushed.and_then(|()| self.file.as_ref().map_or(Ok(()), |_| self.file().map(drop))) {
                failure = Some(error);
                return Err(io::ErrorKind::Other.into());
            }
            writer.finish(weights)?;
            file.try_clone()
        };
        let written =
            if self.file.is_some() { atomic_replace(&self.path, write) } else { atomic_create(&self.path, write) };
        match failure {
            Some(error) => return Err(error),
            None => self.file = Some(written.map_err(io)?),
        }
        Ok(())
    }
}

/// Whether a file is what is found at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(id(there) == id(file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is a file at a path: no open file is replaced.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    fs::exists(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Book;

    #[test]
    fn a_book_that_another_made_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.fsb");
        let mut first = Lock::of_output(&path).unwrap();
        let book = Book::edit_or_create(&path).unwrap();
        let made = first.replace(&[[1; 32]], |_| Ok(()));
        assert!(matches!(made, Err(BookError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists));
        assert!(book.share_lock().unwrap().file().is_ok());
        assert!(Book::open(&path).unwrap().weights().is_empty());
        assert!(matches!(Lock::of_output(&path), Err(BookError::Locked(_))));
        drop(book);
        first = Lock::of_book_or_new(&path).unwrap();
        first.replace(&[[1; 32]], |_| Ok(())).unwrap();
        assert!(matches!(Lock::of_book(&path), Err(BookError::Locked(_))), "what took its place is locked too");
    }
}
