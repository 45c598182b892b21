//! The envelope of every binary file: magic, version, length, checksum, then a bincode payload.

use std::borrow::Cow;
use std::path::Path;

use bincode::error::DecodeError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::deflated::{deflate, inflate};
use super::error::{FileError, FormatError, HEADER};
use super::{atomic_write, read_bounded};

/// Limit in bytes of any file.
const LARGEST: usize = 1 << 30;

/// A kind of file: what its header says and how large it may be.
///
/// The payload is bincode 2 with fixed-width little-endian integers: lengths are u64; an option is a byte 0, or a byte 1 and the
/// value; a string is its length in bytes and its UTF-8; a sequence is its length and its elements; a struct is its fields in order.
#[derive(Clone, Copy, Debug)]
pub struct Container {
    /// What errors call this kind of file, like `weight file`.
    pub what: &'static str,
    /// The first eight bytes.
    pub magic: [u8; 8],
    /// The only version of the payload that is read.
    pub version: u32,
    /// Limit in bytes of a file and of its payload, at most 2^30. Larger files are refused unread.
    pub limit: u64,
    /// How the payload is stored.
    pub packing: Packing,
}

/// How a payload is stored in a file. The header's length and checksum are those of the payload itself, whatever the packing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// As it is.
    Plain,
    /// Deflated (RFC 1951).
    Deflated,
}

impl Container {
    /// The payload of a value.
    ///
    /// # Panics
    /// If the value's own serialization fails, which derived ones do not.
    pub fn encode(value: &impl Serialize) -> Vec<u8> {
        let mut payload = Vec::new();
        append(&mut payload, value);
        payload
    }

    /// The bytes of a whole file with a value.
    ///
    /// # Panics
    /// As [`Self::encode`].
    pub fn to_bytes(&self, value: &impl Serialize) -> Vec<u8> {
        if self.packing != Packing::Plain {
            return self.seal(Self::encode(value));
        }
        // A checkpoint is large: its payload is not copied behind the header.
        let mut bytes = vec![0; HEADER];
        append(&mut bytes, value);
        let header = self.header(&bytes[HEADER..]);
        bytes[..HEADER].copy_from_slice(&header);
        bytes
    }

    /// The header of a file with a payload.
    fn header(&self, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u64).to_le_bytes();
        [&self.magic[..], &self.version.to_le_bytes(), &length, &Sha256::digest(payload)].concat()
    }

    /// The bytes of a whole file with a payload.
    pub fn seal(&self, payload: Vec<u8>) -> Vec<u8> {
        let body = |payload: Vec<u8>| if self.packing == Packing::Plain { payload } else { deflate(&payload) };
        [self.header(&payload), body(payload)].concat()
    }

    /// The value of a whole file. Claimed lengths are checked against what is there before they are trusted.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_bytes<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, FormatError> {
        self.decode(&self.payload(bytes)?)
    }

    /// Replaces a file atomically with a value.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, path: &Path, value: &impl Serialize) -> Result<(), FileError> {
        write_whole(path, &self.to_bytes(value))
    }

    /// The value of a file.
    ///
    /// # Errors
    /// The file system's, or the first thing that is wrong with the content.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<T, FileError> {
        self.from_bytes(&self.bytes_of(path)?).map_err(FileError::format(path))
    }

    /// The bytes of a file, unless it is too large.
    pub fn bytes_of(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        read_bounded(path, self.what, self.limit.min(LARGEST as u64))
    }

    /// The payload of a whole file, its header checked.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, FormatError> {
        let payload = self.payload_unchecked(bytes)?;
        if Self::checksum(bytes) == &Sha256::digest(&payload)[..] {
            Ok(payload)
        } else {
            Err(FormatError::Damaged("the payload's SHA-256 is not the one in the header (byte 20)".to_owned()))
        }
    }

    /// The SHA-256 of the payload as the header of a whole file states it.
    ///
    /// # Panics
    /// If there is no header.
    pub fn checksum(bytes: &[u8]) -> &[u8] {
        &bytes[20..HEADER]
    }

    /// [`Self::payload`] without the checksum, which takes half as long as all the rest: for bytes built into the program, whose
    /// checksum a test verifies.
    ///
    /// # Errors
    /// The first thing that is wrong otherwise.
    pub fn payload_unchecked<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, FormatError> {
        let what = self.what;
        if bytes.iter().zip(&self.magic).any(|(found, expected)| found != expected) {
            return Err(FormatError::Foreign { what });
        }
        let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(FormatError::Damaged(format!(
                "it was cut off: only {} bytes, less than a header of {HEADER}",
                bytes.len()
            )));
        };
        let found = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
        if found != self.version {
            return Err(FormatError::Version { what, found, newest: self.version });
        }
        let claimed = u64::from_le_bytes(header[12..20].try_into().expect("eight bytes"));
        if self.packing == Packing::Plain {
            let lengths = || {
                let found = body.len();
                FormatError::Damaged(format!("{found} bytes of payload where the header (byte 12) announces {claimed}"))
            };
            return if claimed == body.len() as u64 { Ok(Cow::Borrowed(body)) } else { Err(lengths()) };
        }
        if claimed > self.limit {
            return Err(FormatError::TooLarge { what, limit: self.limit });
        }
        inflate(body, claimed).map(Cow::Owned).map_err(FormatError::Damaged)
    }

    /// The value of a payload, decoded to its last byte. bincode allocates a string by its claimed length, up to a limit that must be
    /// a constant: the one chosen is 64 KiB, or at most 64 times what is really there. Borrowed strings and [`super::blob`] do not
    /// allocate by claims.
    ///
    /// # Errors
    /// Where decoding stopped.
    pub fn decode<'a, T: Deserialize<'a>>(&self, payload: &'a [u8]) -> Result<T, FormatError> {
        let decoded = match payload.len() {
            ..0x1_0000 => bincode::serde::borrow_decode_from_slice(payload, config::<0x1_0000>()),
            0x1_0000..0x40_0000 => bincode::serde::borrow_decode_from_slice(payload, config::<0x40_0000>()),
            0x40_0000..0x1000_0000 => bincode::serde::borrow_decode_from_slice(payload, config::<0x1000_0000>()),
            _ => bincode::serde::borrow_decode_from_slice(payload, config::<LARGEST>()),
        };
        let error = |reason| FormatError::Content { what: self.what, reason };
        match decoded {
            Ok((value, read)) if read == payload.len() => Ok(value),
            Ok((_, read)) => {
                Err(error(format!("{} bytes are left over at byte {read} of the payload", payload.len() - read)))
            }
            Err(DecodeError::UnexpectedEnd { additional }) => {
                Err(error(format!("{additional} bytes are missing at its end")))
            }
            Err(DecodeError::LimitExceeded) => Err(error("a length in it exceeds the file".to_owned())),
            Err(DecodeError::OtherString(reason)) => Err(error(reason)),
            Err(other) => Err(error(other.to_string())),
        }
    }
}

/// Appends the payload of a value.
fn append(bytes: &mut Vec<u8>, value: &impl Serialize) {
    bincode::serde::encode_into_std_write(value, bytes, config::<LARGEST>()).expect("plain data can be serialized");
}

/// bincode's settings: little-endian, fixed-width integers, at most `LIMIT` bytes read.
const fn config<const LIMIT: usize>() -> impl bincode::config::Config {
    bincode::config::standard().with_little_endian().with_fixed_int_encoding().with_limit::<LIMIT>()
}

/// Replaces a file atomically with these bytes.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    atomic_write(path, |writer| writer.write_all(bytes)).map_err(FileError::io(path))
}
