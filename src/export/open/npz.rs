//! NumPy archives: a zip of `.npy` files, each a short text header and the numbers.

use std::io::{self, Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::metadata;
use super::tensors::{Element, Tensor, tensors};
use crate::pattern::Layout;
use crate::weights::WeightFile;

pub(super) fn write(file: &WeightFile, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let text = metadata(file).to_string().into_bytes();
    let text = Tensor { name: "metadata".into(), element: Element::U8, shape: vec![text.len()], bytes: text };
    for tensor in [text].into_iter().chain(tensors(file, layout)) {
        // The default date is always the same: equal weights, equal files.
        archive.start_file(format!("{}.npy", tensor.name), SimpleFileOptions::DEFAULT)?;
        archive.write_all(&header(&tensor))?;
        archive.write_all(&tensor.bytes)?;
    }
    writer.write_all(archive.finish()?.get_ref())
}

/// The header of a `.npy` file of version 1.0 ("NEP 1: A simple file format for NumPy arrays", Robert Kern, 2007).
fn header(tensor: &Tensor) -> Vec<u8> {
    const PREFIX: usize = 10;
    let element = match tensor.element {
        Element::U8 => "|u1",
        Element::I8 => "|i1",
        Element::U16 => "<u2",
        Element::I16 => "<i2",
    };
    // A tuple of one has a comma.
    let shape: String = tensor.shape.iter().map(|length| format!("{length},")).collect();
    let description = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The numbers begin at a multiple of 64; the last character is a line feed.
    let length = (PREFIX + description.len() + 1).next_multiple_of(64) - PREFIX;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(length as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{description:<width$}\n", width = length - 1).as_bytes());
    bytes
}
