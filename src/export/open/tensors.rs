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

/// What the names of a pattern's arrays begin with. Its own name is quoted as in URLs (RFC 3986: bytes other than letters, digits and `-._~`
/// become `%` and the byte in hexadecimal): arrays become files, and no name may lead out of their folder.
pub(super) fn of_pattern(name: &str) -> String {
    let quote = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    format!("pattern.{}", name.bytes().map(quote).collect::<String>())
}

/// The tables of a set, patterns first: what the names of their arrays begin with in the layouts of arrays, and their slots.
pub fn tables(layout: &Layout) -> Vec<(String, Range<usize>)> {
    let patterns = layout.set().patterns.iter().enumerate();
    let patterns = patterns.map(|(number, pattern)| (of_pattern(&pattern.name), layout.slots_of(number)));
    let scalars = layout.scalars().iter();
    let scalars = scalars.map(|&(scalar, first)| (format!("scalar.{}", scalar.name()), first..first + scalar.values()));
    patterns.chain(scalars).collect()
}

/// The arrays of a model: every configuration of every pattern has an entry of its own.
pub(super) fn tensors(file: &WeightFile, layout: &Layout) -> Vec<Tensor> {
    let model = &file.model;
    let table = |name: String, slots: Range<usize>| {
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
    for (number, (name, slots)) in tables(layout).into_iter().enumerate() {
        if let Some(pattern) = model.set.patterns.get(number) {
            let places = places(layout, number);
            tensors.push(Tensor {
                name: format!("{name}.places"),
                element: Element::U8,
                shape: vec![places.len(), pattern.squares().len()],
                bytes: places.concat(),
            });
        }
        tensors.extend(table(name, slots));
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
