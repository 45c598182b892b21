//! Moves to corners.

use super::{Feature, Seen};
use crate::board::CORNERS;

/// Corners that the player may take, times 5, and corners that the opponent could take.
pub(super) struct CornerMoves;

impl Feature for CornerMoves {
    const NAME: &'static str = "corner-moves";
    const VALUES: usize = 25;
    const C: &'static str = "flipside_corner_moves(player, opponent)";
    const RUST: &'static str = "corner_moves(player, opponent)";

    #[inline]
    fn of(seen: &Seen) -> usize {
        let corners = seen.moves.map(|moves| (moves & CORNERS).count_ones() as usize);
        5 * corners[0] + corners[1]
    }
}
