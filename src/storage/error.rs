//! What can be wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

/// Bytes before the payload of a [`Container`](super::Container): magic 8, version 4, payload length 8, SHA-256 of the payload 32.
pub(super) const HEADER: usize = 52;

/// What is wrong with the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Shorter than a header.
    #[error("only {found} bytes: a {what} has a header of {HEADER}; the file is empty or was cut off")]
    TooShort {
        /// What it should be.
        what: &'static str,
        /// Its length in bytes.
        found: usize,
    },
    /// Another kind of file.
    #[error(
        "bytes 0 to 7 are not those of a {what}: this is another kind of file, or a transfer in text mode damaged it"
    )]
    Magic {
        /// What it should be.
        what: &'static str,
    },
    /// A version this program does not know.
    #[error(
        "{what} of version {found} (byte 8), which this program cannot read (its newest is {newest}): use the program that wrote the file"
    )]
    Version {
        /// What it should be.
        what: &'static str,
        /// The file's version.
        found: u32,
        /// The newest version that this program reads.
        newest: u32,
    },
    /// The payload's length is not the one announced.
    #[error(
        "{found} bytes of payload where the header (byte 12) announces {claimed}: the file was cut off or has something appended"
    )]
    Length {
        /// The announced length.
        claimed: u64,
        /// The actual length.
        found: usize,
    },
    /// The payload cannot be inflated.
    #[error("the payload {0}: the file is damaged; take another copy")]
    Deflate(String),
    /// The payload is not the one that was written.
    #[error("the payload's SHA-256 is not the one in the header (byte 20): the file is damaged; take another copy")]
    Checksum,
    /// Bytes that are not UTF-8.
    #[error("byte {offset} is not UTF-8: this is not a {what}")]
    NotText {
        /// What it should be.
        what: &'static str,
        /// The first byte that is not.
        offset: usize,
    },
    /// Too many bytes.
    #[error("more than {limit} bytes, the most that a {what} may have")]
    TooLarge {
        /// What it should be.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The payload has the right checksum but makes no sense.
    #[error("the payload of this {what} cannot be decoded: {reason}")]
    Payload {
        /// What it should be.
        what: &'static str,
        /// Where decoding stopped.
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
