//! What can be wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

/// Bytes before the payload of a [`Container`](super::Container): magic 8, version 4, payload length 8, SHA-256 of the payload 32.
pub(super) const HEADER: usize = 52;

/// What is wrong with the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Another kind of file.
    #[error(
        "bytes 0 to 7 are not those of a {what}: this is another kind of file, or a transfer in text mode damaged it"
    )]
    Foreign {
        /// What it should be.
        what: &'static str,
    },
    /// A version this program does not know.
    #[error(
        "{what} of version {found} (byte 8), but this program reads version {newest}: use the program that wrote the file"
    )]
    Version {
        /// What it should be.
        what: &'static str,
        /// The file's version.
        found: u32,
        /// The version that this program reads.
        newest: u32,
    },
    /// Bytes that are not those that were written.
    #[error("the file is damaged: {0}; take another copy")]
    Damaged(String),
    /// Too many bytes.
    #[error("more than {limit} bytes, the most that a {what} may have")]
    TooLarge {
        /// What it should be.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Bytes that are as they were written but make no sense.
    #[error("this is not the content of a {what}: {reason}")]
    Content {
        /// What it should be.
        what: &'static str,
        /// What is wrong, and where.
        reason: String,
    },
}

/// A file that could not be read or written, and why.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content is wrong.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: FormatError,
    },
}

impl FileError {
    /// Puts a file's name before what the file system said.
    pub fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// Puts a file's name before what is wrong with its content.
    pub fn format(path: &Path) -> impl FnOnce(FormatError) -> Self {
        move |reason| Self::Format { path: path.to_owned(), reason }
    }
}
