//! Numbers of moves.

use super::{Feature, Seen};

/// Number of legal moves of the player.
pub(super) struct Mobility;

impl Feature for Mobility {
    const NAME: &'static str = "mobility";
    const VALUES: usize = 64;
    const C: &'static str = "flipside_count(flipside_moves(player, opponent))";
    const RUST: &'static str = "moves(player, opponent).count_ones() as usize";

    #[inline]
    fn of(seen: &Seen) -> usize {
        seen.moves[0].count_ones() as usize
    }
}

/// Number of moves the opponent would have.
pub(super) struct OpponentMobility;

impl Feature for OpponentMobility {
    const NAME: &'static str = "opponent-mobility";
    const VALUES: usize = 64;
    const C: &'static str = "flipside_count(flipside_moves(opponent, player))";
    const RUST: &'static str = "moves(opponent, player).count_ones() as usize";

    #[inline]
    fn of(seen: &Seen) -> usize {
        seen.moves[1].count_ones() as usize
    }
}
