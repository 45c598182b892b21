//! The right to change a book: a lock on its file, which moves to the file that replaces it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{BookError, ExportError};
use super::file::{BaseWriter, Hash};
use super::record::Record;
use crate::storage::{FileError, atomic_create, atomic_replace, is_at, open_locked};

/// Held by the one process that may change a book.
pub(super) struct Lock {
    path: PathBuf,
    /// The locked file; none if the book does not exist yet.
    file: Option<File>,
}

impl Lock {
    /// Locks a book. Waits briefly for other processes.
    ///
    /// # Errors
    /// I/O errors and [`BookError::Locked`].
    pub fn of_book(path: &Path) -> Result<Self, BookError> {
        const PATIENCE: Duration = Duration::from_millis(500);
        let file = open_locked(path, File::options().read(true).write(true), PATIENCE).map_err(FileError::io(path))?;
        let file = file.ok_or_else(|| BookError::Locked(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), file: Some(file) })
    }

    /// [`Self::of_book`] for a book to be written, which may replace another.
    ///
    /// # Errors
    /// Same as [`Self::of_book`].
    pub fn of_output(path: &Path) -> Result<Self, BookError> {
        match Self::of_book(path) {
            Err(BookError::File(FileError::Io { source, .. })) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self { path: path.to_owned(), file: None })
            }
            result => result,
        }
    }

    /// [`Self::of_book`], making an empty book if there is no file.
    ///
    /// # Errors
    /// Same as [`Self::of_book`].
    pub fn of_book_or_new(path: &Path) -> Result<Self, BookError> {
        let mut lock = Self::of_output(path)?;
        if lock.file.is_some() {
            return Ok(lock);
        }
        match lock.replace(&[], |_| Ok(())) {
            // Another process was first.
            Err(BookError::File(FileError::Io { source, .. })) if source.kind() == io::ErrorKind::AlreadyExists => {
                Self::of_book(path)
            }
            made => made.map(|()| lock),
        }
    }

    /// The path of the book.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another handle to the same lock.
    ///
    /// # Errors
    /// I/O errors.
    pub fn share(&self) -> Result<Self, BookError> {
        let file = self.file.as_ref().map(File::try_clone).transpose().map_err(FileError::io(&self.path))?;
        Ok(Self { path: self.path.clone(), file })
    }

    /// The book's file.
    ///
    /// # Errors
    /// I/O errors, or [`BookError::Replaced`] if it is no longer there.
    pub fn file(&self) -> Result<&File, BookError> {
        match &self.file {
            Some(file) if is_at(file, &self.path).map_err(FileError::io(&self.path))? => Ok(file),
            _ => Err(BookError::Replaced(self.path.clone())),
        }
    }

    /// Writes a book of sorted records, which replaces the locked one if there is one. The lock moves to the new file.
    ///
    /// # Errors
    /// Errors of `records`, I/O errors, and [`BookError::Replaced`].
    pub fn replace(
        &mut self,
        weights: &[Hash],
        records: impl FnOnce(&mut dyn FnMut(&Record) -> Result<(), BookError>) -> Result<(), BookError>,
    ) -> Result<(), BookError> {
        let io = FileError::io(&self.path);
        let write = |file: &mut File| {
            file.lock()?;
            let mut writer = BaseWriter::new(file)?;
            records(&mut |record| Ok(writer.push(&record.encode()).map_err(&io)?))?;
            // Checked last: another process may have put a file there in the meantime.
            if self.file.is_some() {
                self.file()?;
            }
            writer.finish(weights)?;
            Ok(file.try_clone()?)
        };
        let written =
            if self.file.is_some() { atomic_replace(&self.path, write) } else { atomic_create(&self.path, write) };
        self.file = Some(written.map_err(|error| match error {
            ExportError::Book(error) => error,
            ExportError::Output(error) => io(error).into(),
        })?);
        Ok(())
    }
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
        assert!(
            matches!(made, Err(BookError::File(FileError::Io { source, .. })) if source.kind() == io::ErrorKind::AlreadyExists)
        );
        assert!(book.share_lock().unwrap().file().is_ok());
        assert!(Book::open(&path).unwrap().weights().is_empty());
        assert!(matches!(Lock::of_output(&path), Err(BookError::Locked(_))));
        drop(book);
        first = Lock::of_book_or_new(&path).unwrap();
        first.replace(&[[1; 32]], |_| Ok(())).unwrap();
        assert!(matches!(Lock::of_book(&path), Err(BookError::Locked(_))), "what took its place is locked too");
    }
}
