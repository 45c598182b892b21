//! Scalar features: small counts of a position, each value with a weight of its own. A new one takes a file and a line below.

mod constant;
mod corner_moves;
mod mobility;
mod odd_quadrants;
mod parity;
mod player_discs;
mod potential_mobility;

use serde::{Deserialize, Serialize};

use crate::board::{Bitboard, Position};

/// What scalar features look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The position.
    pub position: Position,
    /// The squares the player may move to, and those the opponent could, were it their turn.
    pub moves: [Bitboard; 2],
}

impl Seen {
    /// A position with the moves of both sides.
    #[inline]
    pub fn new(position: &Position) -> Self {
        Self { position: *position, moves: position.both_moves() }
    }
}

/// A scalar feature.
trait Feature {
    /// Its name in pattern set files.
    const NAME: &'static str;
    /// Number of values, and so of weights.
    const VALUES: usize;
    /// Whether its value is odd where the number of empty squares is.
    const TELLS_PARITY: bool = false;
    /// Its value in the exported C evaluator: an expression in `player`, `opponent`, `empty` and the functions in `evaluate.h`.
    const C: &'static str;
    /// The same for the exported Rust evaluator, `evaluate.rs.txt`.
    const RUST: &'static str;

    /// The value of a position, below [`Self::VALUES`].
    fn of(seen: &Seen) -> usize;
}

macro_rules! scalars {
    ($($(#[$doc:meta])* $module:ident::$feature:ident)*) => {
        /// A scalar feature: a count that the evaluation looks up in a table of its own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Scalar {
            $($(#[$doc])* $feature,)*
        }

        impl Scalar {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$feature,)*];

            /// Number of values, and so of weights.
            pub const fn values(self) -> usize {
                match self { $(Self::$feature => $module::$feature::VALUES,)* }
            }

            /// Whether its value is odd where the number of empty squares is.
            pub const fn tells_parity(self) -> bool {
                match self { $(Self::$feature => $module::$feature::TELLS_PARITY,)* }
            }

            /// The value of a position, below [`Self::values`].
            #[inline]
            pub fn of(self, seen: &Seen) -> usize {
                match self { $(Self::$feature => $module::$feature::of(seen),)* }
            }

            /// Its name in pattern set files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$feature => $module::$feature::NAME,)* }
            }

            /// Its value in an exported C evaluator.
            pub(crate) const fn c(self) -> &'static str {
                match self { $(Self::$feature => $module::$feature::C,)* }
            }

            /// Its value in an exported Rust evaluator.
            pub(crate) const fn rust(self) -> &'static str {
                match self { $(Self::$feature => $module::$feature::RUST,)* }
            }
        }
    };
}

scalars! {
    /// Always 0: one weight for the stage itself.
    constant::Constant
    /// Empty squares modulo 2.
    parity::Parity
    /// Legal moves of the player, 0 to 63.
    mobility::Mobility
    /// Moves that the opponent would have, 0 to 63.
    mobility::OpponentMobility
    /// Pairs of an empty square and a neighbouring disc of the opponent with one more square behind it, on rows, columns and diagonals of
    /// four squares or more; halved, rounded down, at most 63.
    potential_mobility::PotentialMobility
    /// The same over the player's discs.
    potential_mobility::OpponentPotentialMobility
    /// The player's discs, 0 to 64.
    player_discs::PlayerDiscs
    /// Corners that the player may take, times 5, plus corners that the opponent could take.
    corner_moves::CornerMoves
    /// Quarters of the board with an odd number of empty squares, 0 to 4.
    odd_quadrants::OddQuadrants
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::{Position, Square, Transcript};

    #[test]
    fn names_in_files_are_those_of_the_features() {
        for scalar in Scalar::ALL {
            assert_eq!(serde_json::to_string(scalar).unwrap(), format!("\"{}\"", scalar.name()));
        }
    }

    #[test]
    fn values_are_what_is_counted_square_by_square() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let games: Vec<_> = (0..20).map(|_| Transcript::random(&mut rng)).collect();
        for (diagram, _) in games.iter().flat_map(Transcript::steps) {
            let position = diagram.position;
            let moves = |position: Position, squares: &mut dyn Iterator<Item = Square>| {
                squares.filter(|to| position.empty() & to.bit() != 0 && position.flips(*to) != 0).count()
            };
            let corners = || [0, 7, 56, 63].map(Square::new).into_iter();
            let is_odd = |(columns, rows): &(Range<u8>, Range<u8>)| {
                let squares =
                    rows.clone().flat_map(|row| columns.clone().map(move |column| Square::new(8 * row + column)));
                squares.filter(|square| position.empty() & square.bit() != 0).count() % 2 == 1
            };
            let quarters = [(0..4, 0..4), (4..8, 0..4), (0..4, 4..8), (4..8, 4..8)];
            let expected = [
                (Scalar::Constant, 0),
                (Scalar::Parity, position.empties() as usize % 2),
                (Scalar::Mobility, moves(position, &mut Square::all())),
                (Scalar::OpponentMobility, moves(position.pass(), &mut Square::all())),
                (Scalar::PlayerDiscs, position.player.count_ones() as usize),
                (Scalar::CornerMoves, 5 * moves(position, &mut corners()) + moves(position.pass(), &mut corners())),
                (Scalar::OddQuadrants, quarters.iter().filter(|quarter| is_odd(quarter)).count()),
            ];
            for scalar in Scalar::ALL {
                let value = scalar.of(&Seen::new(&position));
                assert!(value < scalar.values(), "{}", scalar.name());
                assert!(!scalar.tells_parity() || value % 2 == position.empties() as usize % 2, "{}", scalar.name());
            }
            for (scalar, value) in expected {
                assert_eq!(scalar.of(&Seen::new(&position)), value, "{}: {position:?}", scalar.name());
            }
        }
    }
}
