//! What can be wrong with a book.

use std::io;
use std::path::{Path, PathBuf};

/// Why a book cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The file system's fault.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content's fault.
    #[error("{}: offset {offset}: {reason}", path.display())]
    Damage {
        /// The file.
        path: PathBuf,
        /// Where, in bytes.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// Another process changes the book.
    #[error("{}: another process is changing this book", .0.display())]
    Locked(PathBuf),
    /// Another file is where the book was, or none.
    #[error("{}: this book was replaced or removed while it was being changed; nothing more is written to it", .0.display())]
    Replaced(PathBuf),
    /// The work was stopped; what was committed until then stays.
    #[error("stopped")]
    Stopped,
}

impl BookError {
    /// Puts a file's name before what the file system said.
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// Something wrong at an offset of a file.
    pub(super) fn damage(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Self::Damage { path: path.to_owned(), offset, reason: reason.into() }
    }

    /// Whether a part of the file is damaged, and others may be whole. Its first bytes say what it is, and must be right.
    pub fn is_damage(&self) -> bool {
        const SAYS_WHAT_IT_IS: u64 = 12;
        matches!(self, Self::Damage { offset, .. } if *offset >= SAYS_WHAT_IT_IS)
    }
}
