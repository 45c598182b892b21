//! A model as named arrays.

use std::iter;
use std::ops::Range;

use super::{heads, places};
use crate::eval::{HiddenLayer, Row, UNITS};
use crate::pattern::Layout;
use crate::weights::WeightFile;

/// Type of an array's numbers, all little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    U8,
    I8,
    U16,
    I16,
}

/// An array of numbers, the last index running fastest.
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) element: Element,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

/// A pattern's name within an array's, quoted as in URLs (RFC 3986: bytes other than letters, digits and `-._~` become `%` and the byte
/// in hexadecimal): arrays become files, and no name may lead out of their folder.
pub(super) fn quoted(name: &str) -> String {
    let quote = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(quote).collect()
}

/// The arrays of a model: every configuration of every pattern has an entry of its own.
pub(super) fn tensors(file: &WeightFile, layout: &Layout) -> Vec<Tensor> {
    let model = &file.model;
    let tables = |name: String, slots: Range<usize>| {
        let weight_of_slot = &layout.weight_of_slot()[slots.clone()];
        let weights =
            model.weights.iter().flat_map(|stage| weight_of_slot.iter().map(|&weight| stage[weight as usize]));
        let shape = vec![model.weights.len(), slots.len()];
        let weights = weights.flat_map(i16::to_le_bytes).collect();
        let weights = Tensor { name: format!("{name}.weights"), element: Element::I16, shape, bytes: weights };
        let rows = model.hidden.as_ref().and_then(|hidden| rows(hidden, format!("{name}.rows"), weight_of_slot));
        iter::once(weights).chain(rows)
    };
    let mut tensors = vec![
        Tensor {
            name: "scale".into(),
            element: Element::U16,
            shape: vec![],
            bytes: model.scale.to_le_bytes().to_vec(),
        },
        Tensor {
            name: "stage_of_empties".into(),
            element: Element::U8,
            shape: vec![61],
            bytes: model.stages.table().to_vec(),
        },
    ];
    for (number, pattern) in model.set.patterns.iter().enumerate() {
        let places = places(layout, number);
        let name = quoted(&pattern.name);
        tensors.push(Tensor {
            name: format!("pattern.{name}.places"),
            element: Element::U8,
            shape: vec![places.len(), pattern.squares().len()],
            bytes: places.concat(),
        });
        tensors.extend(tables(format!("pattern.{name}"), layout.slots_of(number)));
    }
    for &(scalar, first) in layout.scalars() {
        tensors.extend(tables(format!("scalar.{}", scalar.name()), first..first + scalar.values()));
    }
    tensors.extend(model.hidden.iter().flat_map(of_stages));
    tensors
}

/// A hidden layer's rows for some slots, unless all of them are zeros.
fn rows(hidden: &HiddenLayer, name: String, weight_of_slot: &[u32]) -> Option<Tensor> {
    let of_table = |rows: &Vec<Row>| weight_of_slot.iter().flat_map(|&row| rows[row as usize]).collect::<Vec<i8>>();
    let bytes: Vec<u8> = hidden.rows.iter().flat_map(of_table).map(i8::cast_unsigned).collect();
    let shape = vec![hidden.rows.len(), weight_of_slot.len(), UNITS];
    bytes.iter().any(|&byte| byte != 0).then_some(Tensor { name, element: Element::I8, shape, bytes })
}

/// A hidden layer's arrays other than the rows: for each stage, which rows it uses, the biases and the outputs.
fn of_stages(hidden: &HiddenLayer) -> Vec<Tensor> {
    let stages = hidden.heads.len();
    let mut tensors = vec![Tensor {
        name: "hidden.rows_of_stage".into(),
        element: Element::U8,
        shape: vec![stages],
        bytes: hidden.rows_of_stage.clone(),
    }];
    tensors.extend(heads(hidden).map(|(name, numbers)| Tensor {
        name: format!("hidden.{name}"),
        element: Element::I16,
        shape: vec![stages, UNITS],
        bytes: numbers.into_iter().flatten().flat_map(i16::to_le_bytes).collect(),
    }));
    tensors
}
