//! The order of digits in the evaluator's tables.
//!
//! A model's patterns list their squares as a person would, and these are the digits of a configuration. Configurations that differ in
//! the least significant digits only are neighbours in a table and share cache lines. Which squares these should be was measured by
//! the misses of a first-level cache of 32 KB during self-play (docs/lab/search.md, "Leaves").

use std::cmp::Reverse;

use crate::board::Square;
use crate::pattern::{Lanes, Layout, Pattern, move_digits};

/// Which squares of a pattern are its least significant digits.
#[derive(Clone, Copy, Debug)]
pub(super) enum NearDigits {
    /// The innermost: best if a cache line holds 32 entries. Most changes are within the three squares nearest to the centre.
    Inner,
    /// Those next to the edge, then the edge, then the rest: best if a cache line holds four entries.
    SecondRing,
}

/// The lanes of a layout with their digits in another order, and for each slot in that order the number of its weight. Patterns and
/// scalars have the same slots as in the layout.
pub(super) fn reordered(layout: &Layout, near: NearDigits) -> (Lanes, Vec<u32>) {
    let orders: Vec<Vec<usize>> = layout.set().patterns.iter().map(|pattern| order(pattern, near)).collect();
    let weight_of_slot = layout.weight_of_slot();
    let mut reordered = Vec::with_capacity(weight_of_slot.len());
    for (number, order) in orders.iter().enumerate() {
        let weights = &weight_of_slot[layout.slots_of(number)];
        reordered.extend(move_digits(order).into_iter().map(|configuration| weights[configuration]));
    }
    reordered.extend_from_slice(&weight_of_slot[reordered.len()..]);
    (layout.lanes().with_digits(&orders), reordered)
}

/// The digits of a pattern, the nearest ones first.
fn order(pattern: &Pattern, near: NearDigits) -> Vec<usize> {
    let squares: Vec<Square> = pattern.squares().collect();
    let mut digits: Vec<usize> = (0..squares.len()).collect();
    match near {
        NearDigits::Inner => digits.sort_by_key(|&digit| from_centre(squares[digit])),
        NearDigits::SecondRing => digits.sort_by_key(|&digit| {
            let (ring, from_corner) = from_centre(squares[digit]);
            (ring != 2, Reverse((ring, from_corner)))
        }),
    }
    digits
}

/// A square's place in the order from the centre of the board outwards, ring by ring; within a ring from its corners on.
fn from_centre(square: Square) -> (usize, Reverse<usize>) {
    // 0 beside the middle of the board, 3 on the edge.
    let distance = |line: usize| line.max(7 - line) - 4;
    let [column, row] = [square.index() % 8, square.index() / 8].map(distance);
    (column.max(row), Reverse(column.min(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Transcript;
    use crate::pattern::{BUILT_IN, PatternSet};

    #[test]
    fn every_order_finds_the_same_weights() {
        let game: Transcript = "f5d6c3d3c4f4f6f3e6e7d7c5b6".parse().unwrap();
        for (name, _) in BUILT_IN {
            let layout = Layout::new(&PatternSet::built_in(name).unwrap()).unwrap();
            for near in [NearDigits::Inner, NearDigits::SecondRing] {
                let (lanes, weights) = reordered(&layout, near);
                assert_eq!(weights.len(), layout.slots());
                for (diagram, _) in game.steps() {
                    let indices = [layout.lanes(), &lanes].map(|lanes| lanes.indices(&diagram.position));
                    for lane in 0..lanes.count() {
                        let slots = indices.map(|indices| {
                            layout.centres()[lane].wrapping_add_signed(indices.lanes()[lane].into()) as usize
                        });
                        assert_eq!(
                            layout.weight_of_slot()[slots[0]],
                            weights[slots[1]],
                            "{name}, {near:?}, lane {lane}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn inner_squares_or_those_next_to_the_edge_come_first() {
        let squares = ["a1", "b1", "c1", "a2", "b2", "c2", "d2", "c3", "d3", "d4"];
        let pattern = Pattern::new("corner", &squares.join(" ")).unwrap();
        let ordered =
            |near| order(&pattern, near).into_iter().map(|digit| squares[digit]).collect::<Vec<_>>().join(" ");
        assert_eq!(ordered(NearDigits::Inner), "d4 c3 d3 b2 c2 d2 a1 b1 a2 c1");
        assert_eq!(ordered(NearDigits::SecondRing), "d2 c2 b2 c1 b1 a2 a1 d3 c3 d4");
    }
}
