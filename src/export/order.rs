//! The order of the weights in an engine's files.

use crate::pattern::{Layout, Scalar};

/// The digit an engine gives an opponent's disc, an empty square and an own disc, in this order (that of our own configurations).
pub(super) type Digits = [usize; 3];

/// A table in an engine's file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Table {
    /// A pattern of the engine's set by its number, one entry for each class of configurations that the pattern's own symmetry
    /// makes equal, in the order of their first members.
    Packed(usize),
    /// A pattern of the engine's set by its number, an entry for every configuration.
    Full(usize),
    /// A scalar of the engine's set.
    Scalar(Scalar),
}

/// For each entry of the tables, one after the other, the number of its weight in the layout.
///
/// The first square of a pattern of the layout must be the least significant digit of the engine's.
///
/// # Panics
/// If a table is of something that the layout's set does not have.
pub(super) fn file_order(layout: &Layout, digits: Digits, tables: &[Table]) -> Vec<u32> {
    let mut order = Vec::new();
    for &table in tables {
        match table {
            Table::Full(pattern) => order.extend(configurations(layout, digits, pattern)),
            Table::Packed(pattern) => {
                let mut seen = vec![false; layout.weights()];
                order.extend(
                    configurations(layout, digits, pattern)
                        .filter(|&weight| !std::mem::replace(&mut seen[weight as usize], true)),
                );
            }
            Table::Scalar(scalar) => {
                let first = layout.first_weight(scalar).expect("the set has the scalar") as u32;
                order.extend(first..first + scalar.values() as u32);
            }
        }
    }
    order
}

/// The weights of a pattern's configurations in the order of an engine's numbers for them.
fn configurations(layout: &Layout, digits: Digits, pattern: usize) -> impl Iterator<Item = u32> {
    let slots = layout.slots_of(pattern);
    let mut ours = [0; 3];
    for (our, engines) in digits.into_iter().enumerate() {
        ours[engines] = our;
    }
    (0..slots.len()).map(move |number| {
        let (mut rest, mut slot, mut power) = (number, slots.start, 1);
        while rest > 0 || power < slots.len() {
            slot += ours[rest % 3] * power;
            rest /= 3;
            power *= 3;
        }
        layout.weight_of_slot()[slot]
    })
}
