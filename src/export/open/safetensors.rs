//! safetensors: a u64 length, a JSON header with the place of each array, the arrays.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::metadata;
use super::tensors::{Element, tensors};
use crate::pattern::Layout;
use crate::weights::WeightFile;

pub(super) fn write(file: &WeightFile, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let mut tensors = tensors(file, layout);
    // Wider numbers first, so that each array is aligned.
    tensors.sort_by_key(|tensor| matches!(tensor.element, Element::U8 | Element::I8));
    let mut header = Map::new();
    // Readers take texts only.
    header.insert("__metadata__".into(), json!({ "flipside": metadata(file).to_string() }));
    let mut end = 0;
    for tensor in &tensors {
        let begin = end;
        end += tensor.bytes.len();
        let element = match tensor.element {
            Element::U8 => "U8",
            Element::I8 => "I8",
            Element::U16 => "U16",
            Element::I16 => "I16",
        };
        let place = json!({ "dtype": element, "shape": tensor.shape, "data_offsets": [begin, end] });
        header.insert(tensor.name.clone(), place);
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    // Spaces at its end align the numbers.
    header.resize(header.len().next_multiple_of(8), b' ');
    writer.write_all(&(header.len() as u64).to_le_bytes())?;
    writer.write_all(&header)?;
    tensors.iter().try_for_each(|tensor| writer.write_all(&tensor.bytes))
}
