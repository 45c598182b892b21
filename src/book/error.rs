//! What can be wrong with a book.

use std::io;
use std::path::{Path, PathBuf};

use crate::storage::FileError;

/// Why a book cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Damaged content.
    #[error("{}: byte {offset}: {reason}", path.display())]
    Damage {
        /// The file.
        path: PathBuf,
        /// The offset in bytes.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// Another process is changing the book.
    #[error("{}: another process is changing this book", .0.display())]
    Locked(PathBuf),
    /// A book to be pruned from the start position does not have it.
    #[error("the start position is not in the book, so nothing is reached from it")]
    NoStart,
    /// The work was stopped; what was committed before is kept.
    #[error("stopped")]
    Stopped,
    /// What was made of a book cannot be written.
    #[error("writing: {0}")]
    Output(#[from] io::Error),
}

impl BookError {
    /// Damage at an offset of a file.
    pub(super) fn damage(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Self::Damage { path: path.to_owned(), offset, reason: reason.into() }
    }

    /// A change that a book does not allow.
    pub(super) fn refused(path: &Path, why: &str) -> Self {
        FileError::io(path)(io::Error::other(why.to_owned())).into()
    }

    /// What the database says of a file; `fault` is the damage that was met in it.
    pub(super) fn of_database(path: &Path, fault: Option<&(u64, String)>, error: redb::Error) -> Self {
        match (error, fault) {
            (redb::Error::DatabaseAlreadyOpen, _) => Self::Locked(path.to_owned()),
            (_, Some((offset, reason))) => Self::damage(path, *offset, reason),
            (redb::Error::Io(error), _) => FileError::io(path)(error).into(),
            (error @ (redb::Error::PreviousIo | redb::Error::LockProtocolMismatch | redb::Error::Unsupported), _) => {
                Self::refused(path, &error.to_string())
            }
            (error, _) => Self::damage(path, 512, error.to_string()),
        }
    }

    /// Whether only a part of the file is damaged. The first bytes, which say what the file is, must be right.
    pub fn is_damage(&self) -> bool {
        const SAYS_WHAT_IT_IS: u64 = 12;
        matches!(self, Self::Damage { offset, .. } if *offset >= SAYS_WHAT_IT_IS)
    }
}
