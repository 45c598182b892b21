//! A constant for each stage.

use super::{Feature, Seen};

/// Always 0: one weight for the stage itself.
pub(super) struct Constant;

impl Feature for Constant {
    const NAME: &'static str = "constant";
    const VALUES: usize = 1;
    const C: &'static str = "0";
    const RUST: &'static str = "0";

    #[inline]
    fn of(_: &Seen) -> usize {
        0
    }
}
