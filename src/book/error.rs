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
    /// The book was opened only to be read.
    #[error("{}: this book was opened only to be read", .0.display())]
    ReadOnly(PathBuf),
    /// The file was replaced or removed.
    #[error("{}: this book was replaced or removed while it was being changed; nothing more is written to it", .0.display())]
    Replaced(PathBuf),
    /// A book to be pruned from the start position does not have it.
    #[error("the start position is not in the book, so nothing is reached from it")]
    NoStart,
    /// The work was stopped; what was committed before is kept.
    #[error("stopped")]
    Stopped,
}

impl BookError {
    /// Damage at an offset of a file.
    pub(super) fn damage(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Self::Damage { path: path.to_owned(), offset, reason: reason.into() }
    }

    /// Whether only a part of the file is damaged. The first bytes, which say what the file is, must be right.
    pub fn is_damage(&self) -> bool {
        const SAYS_WHAT_IT_IS: u64 = 12;
        matches!(self, Self::Damage { offset, .. } if *offset >= SAYS_WHAT_IT_IS)
    }
}

/// Why a book could not be written, in its own format or another.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The book could not be read.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The output could not be written.
    #[error("writing: {0}")]
    Output(#[from] io::Error),
}
