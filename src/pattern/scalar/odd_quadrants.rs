//! Parity by regions.

use super::{Feature, Seen};
use crate::board::QUADRANTS;

/// Quarters of the board with an odd number of empty squares.
pub(super) struct OddQuadrants;

impl Feature for OddQuadrants {
    const NAME: &'static str = "odd-quadrants";
    const VALUES: usize = 5;
    const C: &'static str = "flipside_odd_quadrants(empty)";
    const RUST: &'static str = "odd_quadrants(empty)";

    #[inline]
    fn of(seen: &Seen) -> usize {
        let odd = |quadrant: &&u64| (seen.position.empty() & **quadrant).count_ones() % 2 == 1;
        QUADRANTS.iter().filter(odd).count()
    }
}
