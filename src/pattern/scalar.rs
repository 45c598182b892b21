//! Scalar features: small counts of a position, each value with a weight of its own.

use serde::{Deserialize, Serialize};

use crate::board::{Bitboard, Position};

/// A count that the evaluation looks up in a table of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scalar {
    /// Always 0: one weight for the stage itself.
    Constant,
    /// Number of empty squares modulo 2.
    Parity,
    /// Number of legal moves of the player.
    Mobility,
    /// Number of moves the opponent would have.
    OpponentMobility,
    /// The player's potential mobility: pairs of an empty square and a neighbouring opponent disc with a further square
    /// behind it, on lines of four squares or more, halved and rounded down (as NTest counts it).
    PotentialMobility,
    /// The same count for the opponent, over the player's discs.
    OpponentPotentialMobility,
    /// Number of the player's discs.
    PlayerDiscs,
}

impl Scalar {
    /// Number of values, and so of weights.
    pub const fn values(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Parity => 2,
            Self::PlayerDiscs => 65,
            _ => 64,
        }
    }

    /// The value of a position, below [`Self::values`].
    #[inline]
    pub fn of(self, position: &Position) -> usize {
        let counted = |moves: Bitboard| moves.count_ones() as usize;
        match self {
            Self::Constant => 0,
            Self::Parity => position.empties() as usize & 1,
            Self::Mobility => counted(position.moves()).min(63),
            Self::OpponentMobility => counted(position.opponent_moves()).min(63),
            Self::PotentialMobility => potential_mobility(position.opponent, position.empty()),
            Self::OpponentPotentialMobility => potential_mobility(position.player, position.empty()),
            Self::PlayerDiscs => counted(position.player),
        }
    }

    /// Its name in pattern set files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Parity => "parity",
            Self::Mobility => "mobility",
            Self::OpponentMobility => "opponent-mobility",
            Self::PotentialMobility => "potential-mobility",
            Self::OpponentPotentialMobility => "opponent-potential-mobility",
            Self::PlayerDiscs => "player-discs",
        }
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
    const NOT_BORDER_FILES: u64 = 0x7e7e_7e7e_7e7e_7e7e;
    const NOT_BORDER_RANKS: u64 = 0x00ff_ffff_ffff_ff00;
    let lines = [
        (1, NOT_BORDER_FILES),
        (8, NOT_BORDER_RANKS),
        (9, NOT_BORDER_FILES & NOT_BORDER_RANKS & !SHORT_DIAGONALS[0]),
        (7, NOT_BORDER_FILES & NOT_BORDER_RANKS & !SHORT_DIAGONALS[1]),
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
