//! NumPy archives.

use std::io::{self, Write};

use zip::CompressionMethod;

use super::metadata;
use super::tensors::{Element, Tensor, tensors};
use crate::npy::archive;
use crate::pattern::Layout;
use crate::weights::WeightFile;

pub(super) fn write(file: &WeightFile, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let text = metadata(file).to_string().into_bytes();
    let text = Tensor { name: "metadata".into(), element: Element::U8, shape: vec![text.len()], bytes: text };
    let tensors: Vec<_> = [text].into_iter().chain(tensors(file, layout)).collect();
    let arrays = tensors.iter().map(|Tensor { name, element, shape, bytes }| {
        let element = match element {
            Element::U8 => "|u1",
            Element::I8 => "|i1",
            Element::U16 => "<u2",
            Element::I16 => "<i2",
        };
        (&**name, element, &**shape, &**bytes)
    });
    writer.write_all(&archive(CompressionMethod::Deflated, arrays)?)
}
