//! Numbers of discs.

use super::{Feature, Seen};

/// Number of the player's discs.
pub(super) struct PlayerDiscs;

impl Feature for PlayerDiscs {
    const NAME: &'static str = "player-discs";
    const VALUES: usize = 65;
    const C: &'static str = "flipside_count(player)";
    const RUST: &'static str = "player.count_ones() as usize";

    #[inline]
    fn of(seen: &Seen) -> usize {
        seen.position.player.count_ones() as usize
    }
}
