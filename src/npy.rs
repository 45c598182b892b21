//! NumPy's files: arrays (`.npy`), and archives of them (`.npz`): "NEP 1: A simple file format for NumPy arrays", Robert Kern, 2007.

use std::io::{self, Cursor, Write};

use serde::Deserialize;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The header of an array, version 1.0. `element` is the type of its elements, as Python would write it.
pub(crate) fn header(element: &str, shape: &[usize]) -> Vec<u8> {
    const PREFIX: usize = 10;
    // A tuple of one has a comma.
    let shape: String = shape.iter().map(|length| format!("{length},")).collect();
    let description = format!("{{'descr': {element}, 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements begin at a multiple of 64; the last character is a line feed.
    let length = (PREFIX + description.len() + 1).next_multiple_of(64) - PREFIX;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0]);
    bytes.extend_from_slice(&(length as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{description:<width$}\n", width = length - 1).as_bytes());
    bytes
}

/// An archive of arrays: name, type of the elements, shape, elements. Equal arrays give equal bytes.
pub(crate) fn archive<'n>(
    method: CompressionMethod,
    arrays: impl IntoIterator<Item = (&'n str, &'n str, &'n [usize], &'n [u8])>,
) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, element, shape, bytes) in arrays {
        // The default date is always the same.
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::DEFAULT.compression_method(method))?;
        archive.write_all(&header(&format!("'{element}'"), shape))?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The header of an array of numbers.
#[derive(Deserialize)]
pub(crate) struct Header {
    /// Order of bytes and type, such as `<i2`.
    pub(crate) descr: String,
    /// Whether the first index runs fastest, not the last.
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<usize>,
}

/// The header of an array of numbers, and the bytes behind it.
///
/// # Errors
/// What is wrong.
pub(crate) fn split(bytes: &[u8]) -> Result<(Header, &[u8]), &'static str> {
    let sized = match bytes.strip_prefix(MAGIC) {
        Some([1, _, low, high, rest @ ..]) => rest.split_at_checked(u16::from_le_bytes([*low, *high]).into()),
        Some([2 | 3, _, a, b, c, d, rest @ ..]) => rest.split_at_checked(u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => return Err("not a file of an array (.npy)"),
    };
    let (header, elements) = sized.ok_or("it was cut off")?;
    // A literal of Python's. With the brackets and words of JSON, it is JSON.
    let plain = |byte: &u8| match byte {
        b'(' => '[',
        b')' => ']',
        b'\'' => '"',
        byte => char::from(*byte),
    };
    let text: String = header.iter().filter(|byte| !byte.is_ascii_whitespace()).map(plain).collect();
    let text = text.replace(",]", "]").replace(",}", "}").replace("True", "true").replace("False", "false");
    let header = serde_json::from_str(&text).map_err(|_| "its header is not one of an array of numbers")?;
    Ok((header, elements))
}
