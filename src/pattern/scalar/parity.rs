//! Who moves last if nobody passes.

use super::{Feature, Seen};

/// Number of empty squares modulo 2.
pub(super) struct Parity;

impl Feature for Parity {
    const NAME: &'static str = "parity";
    const VALUES: usize = 2;
    const TELLS_PARITY: bool = true;
    const C: &'static str = "flipside_count(empty) % 2";
    const RUST: &'static str = "empty.count_ones() as usize % 2";

    #[inline]
    fn of(seen: &Seen) -> usize {
        seen.position.empties() as usize & 1
    }
}
