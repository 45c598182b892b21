//! Layouts that anybody can read, for any pattern set. `docs/FILES.md` describes each.

mod json;
mod npz;
mod read;
mod safetensors;
mod source;
mod tensors;

pub use read::read_open;
pub use tensors::tables;

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::eval::{Head, HiddenLayer, UNITS};
use crate::names::names;
use crate::pattern::Layout;
use crate::weights::WeightFile;

/// An open layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum OpenLayout {
    /// A NumPy archive: full tables.
    Npz,
    /// A safetensors file: the same tables.
    Safetensors,
    /// A JSON text: weights, and which configuration has which.
    Json,
    /// A C99 header with an evaluator.
    C,
    /// A Rust module with an evaluator.
    Rust,
}

names! { OpenLayout, "an open layout":
    Npz = "npz"
    Safetensors = "safetensors"
    Json = "json"
    C = "c"
    Rust = "rust"
}

/// Writes weights in an open layout. Equal weights give equal bytes.
///
/// # Errors
/// Errors of the writer, or (as invalid data) a model whose parts do not fit together, which weight files never hold.
pub fn write_open(layout: OpenLayout, file: &WeightFile, writer: &mut dyn Write) -> io::Result<()> {
    let invalid = |error: &dyn std::error::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let laid_out = Layout::new(&file.model.set).map_err(|error| invalid(&error))?;
    file.model.check(&laid_out).map_err(|error| invalid(&error))?;
    match layout {
        OpenLayout::Npz => npz::write(file, &laid_out, writer),
        OpenLayout::Safetensors => safetensors::write(file, &laid_out, writer),
        OpenLayout::Json => json::write(file, &laid_out, writer),
        OpenLayout::C => source::write_c(file, &laid_out, writer),
        OpenLayout::Rust => source::write_rust(file, &laid_out, writer),
    }
}

/// The metadata that all layouts carry.
fn metadata(file: &WeightFile) -> Value {
    let set = &file.model.set;
    json!({
        "format": "flipside weights",
        // Readers that only know version 1 would ignore the hidden layer.
        "version": if file.model.hidden.is_none() { 1 } else { 2 },
        "set": set.name,
        "patterns": set.patterns.iter().map(|pattern| pattern.name.as_str()).collect::<Vec<_>>(),
        "scalars": set.scalars.iter().map(|scalar| scalar.name()).collect::<Vec<_>>(),
        "scale": file.model.scale,
        "sha256": file.hash(),
        "provenance": file.provenance,
    })
}

/// The biases and outputs of a hidden layer's units in each stage, with their names.
fn heads(hidden: &HiddenLayer) -> [(&'static str, Vec<[i16; UNITS]>); 2] {
    let numbers = |of: fn(&Head) -> [i16; UNITS]| hidden.heads.iter().map(of).collect();
    [("bias", numbers(|head| head.bias)), ("output", numbers(|head| head.output))]
}

/// The squares of each place of a pattern, by the pattern's number, in digit order. The first place is the one listed.
fn places(layout: &Layout, pattern: usize) -> Vec<Vec<u8>> {
    let squares = |lane| layout.lanes().instance(lane).1.iter().map(|square| square.index() as u8).collect();
    layout.lanes().of_pattern(pattern).map(squares).collect()
}
