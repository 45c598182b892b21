//! Potential mobility: moves that may arise.

use super::{Feature, Seen};
use crate::board::{Bitboard, INNER_FILES, INNER_RANKS};

/// The player's potential mobility: pairs of an empty square and a neighbouring opponent disc with another square behind it, on
/// lines of four squares or more, halved and rounded down (as NTest counts it).
pub(super) struct PotentialMobility;

impl Feature for PotentialMobility {
    const NAME: &'static str = "potential-mobility";
    const VALUES: usize = 64;
    const C: &'static str = "flipside_potential_mobility(opponent, empty)";
    const RUST: &'static str = "potential_mobility(opponent, empty)";

    fn of(seen: &Seen) -> usize {
        potential_mobility(seen.position.opponent, seen.position.empty())
    }
}

/// The same count for the opponent, over the player's discs.
pub(super) struct OpponentPotentialMobility;

impl Feature for OpponentPotentialMobility {
    const NAME: &'static str = "opponent-potential-mobility";
    const VALUES: usize = 64;
    const C: &'static str = "flipside_potential_mobility(player, empty)";
    const RUST: &'static str = "potential_mobility(player, empty)";

    fn of(seen: &Seen) -> usize {
        potential_mobility(seen.position.player, seen.position.empty())
    }
}

/// Diagonals of fewer than four squares.
const SHORT_DIAGONALS: [u64; 2] = [short_diagonals(1), short_diagonals(-1)];

/// Squares on diagonals shorter than four, of the direction `(1, d_row)`.
const fn short_diagonals(d_row: i32) -> u64 {
    let mut mask = 0;
    let mut square = 0;
    while square < 64 {
        let (column, row) = (square % 8, square / 8);
        // Squares ahead and behind along the diagonal.
        let (up, down) = (if d_row > 0 { 7 - row } else { row }, if d_row > 0 { row } else { 7 - row });
        let ahead = if 7 - column < up { 7 - column } else { up };
        let behind = if column < down { column } else { down };
        if ahead + behind + 1 < 4 {
            mask |= 1 << square;
        }
        square += 1;
    }
    mask
}

/// Counts the pairs (empty square, neighbouring disc with one more square of the line behind it), halved.
fn potential_mobility(discs: Bitboard, empty: Bitboard) -> usize {
    let lines = [
        (1, INNER_FILES),
        (8, INNER_RANKS),
        (9, INNER_FILES & INNER_RANKS & !SHORT_DIAGONALS[0]),
        (7, INNER_FILES & INNER_RANKS & !SHORT_DIAGONALS[1]),
    ];
    let pairs: u32 = lines
        .into_iter()
        .map(|(step, inner)| {
            let inner = discs & inner;
            (inner & (empty << step)).count_ones() + (inner & (empty >> step)).count_ones()
        })
        .sum();
    (pairs as usize / 2).min(63)
}
