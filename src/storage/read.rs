//! Reading files up to a limit of size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{FileError, FormatError};

/// Limit in bytes of a configuration or a pattern set as TOML text.
pub const MAX_TOML_BYTES: u64 = 1 << 20;

/// Checks that what is at a path can be read more than once: a file or a folder, not a pipe or a device.
///
/// # Errors
/// Nothing is there, or what cannot be read again.
pub fn check_lasting(path: &Path) -> Result<(), FileError> {
    let kind = path.metadata().map_err(FileError::io(path))?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let reason = "this is a pipe or a device, and it would be read more than once: write its content to a file first";
    Err(FileError::io(path)(io::Error::new(io::ErrorKind::InvalidInput, reason)))
}

/// The first bytes of a file, which say what kind of file it is; fewer if it is shorter.
///
/// # Errors
/// The file system's.
pub fn read_start(path: &Path) -> Result<Vec<u8>, FileError> {
    const MOST: u64 = 16;
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut start));
    read.map(|_| start).map_err(FileError::io(path))
}

/// The bytes of a file of at most `limit` bytes; nothing of a larger one is read. `what` says what it should be.
///
/// # Errors
/// The file system's, or [`FormatError::TooLarge`] inside one of kind [`io::ErrorKind::FileTooLarge`].
pub fn read_bounded(path: &Path, what: &'static str, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = File::open(path).map_err(FileError::io(path))?;
    let length = file.metadata().map_err(FileError::io(path))?.len();
    read_stream(file, length, what, limit).map_err(FileError::io(path))
}

/// The bytes of a stream of at most `limit` bytes. `expected` is its announced length, 0 if unknown; `what` says what it should be.
///
/// # Errors
/// The stream's, too little memory, or [`FormatError::TooLarge`] inside an error of kind [`io::ErrorKind::FileTooLarge`].
pub fn read_stream(stream: impl Read, expected: u64, what: &'static str, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if expected <= limit {
        bytes.try_reserve_exact(expected as usize)?;
        // One more byte than allowed reveals a stream that is too long.
        stream.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if expected.max(bytes.len() as u64) > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, FormatError::TooLarge { what, limit }));
    }
    Ok(bytes)
}

/// The text of a file of at most `limit` bytes. `what` says what it should be.
///
/// # Errors
/// The file system's, [`FormatError::TooLarge`], or [`FormatError::Content`].
pub fn read_text(path: &Path, what: &'static str, limit: u64) -> Result<String, FileError> {
    decode_text(read_bounded(path, what, limit)?, what).map_err(FileError::format(path))
}

/// Bytes as text, without the byte order mark that some editors put before it. `what` says what it should be.
///
/// # Errors
/// [`FormatError::Content`].
pub fn decode_text(bytes: Vec<u8>, what: &'static str) -> Result<String, FormatError> {
    let not_text = |error: std::string::FromUtf8Error| FormatError::Content {
        what,
        reason: format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
    };
    let mut text = String::from_utf8(bytes).map_err(not_text)?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// Whether only zeros are left to read: a power cut may leave them at the end of a file that grew.
///
/// # Errors
/// The file system's.
pub fn only_zeros_left(from: &mut impl Read) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(read) if buffer[..read].iter().all(|byte| *byte == 0) => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "abcd").unwrap();
        assert_eq!(read_text(&path, "text", 4).unwrap(), "abcd");
        let message = |limit| read_text(&path, "text", limit).unwrap_err().to_string();
        assert!(message(3).ends_with("f: more than 3 bytes, the most that a text may have"), "{}", message(3));
        std::fs::write(&path, "\u{feff}a").unwrap();
        assert_eq!(read_text(&path, "text", 4).unwrap(), "a");
        std::fs::write(&path, b"ab\xff").unwrap();
        assert!(message(3).ends_with(": byte 2 is not UTF-8"), "{}", message(3));
        // A stream of unknown length that does not end.
        assert_eq!(read_stream(io::repeat(0), 0, "text", 1000).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
