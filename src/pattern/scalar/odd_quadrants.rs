//! Parity by regions.

use super::{Feature, Seen};

/// Quarters of the board with an odd number of empty squares.
pub(super) struct OddQuadrants;

impl Feature for OddQuadrants {
    const NAME: &'static str = "odd-quadrants";
    const VALUES: usize = 5;
    const C: &'static str = "flipside_odd_quadrants(empty)";
    const RUST: &'static str = "odd_quadrants(empty)";

    #[inline]
    fn of(seen: &Seen) -> usize {
        // Each quadrant is folded onto its first row, and that onto its first square.
        let fold = |empty: u64, squares: u32| empty ^ (empty >> squares);
        let parities = [16, 8, 2, 1].into_iter().fold(seen.position.empty(), fold);
        (parities & FIRST_SQUARES).count_ones() as usize
    }
}

/// The first square of each quadrant: a1, e1, a5, e5.
const FIRST_SQUARES: u64 = 0x11 | 0x11 << 32;
