//! Parity by regions.

use super::{Feature, Seen};
use crate::board::odd_quadrants;

/// Quarters of the board with an odd number of empty squares.
pub(super) struct OddQuadrants;

impl Feature for OddQuadrants {
    const NAME: &'static str = "odd-quadrants";
    const VALUES: usize = 5;
    const TELLS_PARITY: bool = true;
    const C: &'static str = "flipside_odd_quadrants(empty)";
    const RUST: &'static str = "odd_quadrants(empty)";

    #[inline]
    fn of(seen: &Seen) -> usize {
        odd_quadrants(seen.position.empty()).count_ones() as usize
    }
}
