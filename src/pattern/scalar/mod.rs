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
    /// Its value in the exported C evaluator: an expression in `player`, `opponent`, `empty` and the functions in `evaluate.h`.
    const C: &'static str;
    /// The same for the exported Rust evaluator, `evaluate.rs.txt`.
    const RUST: &'static str;

    /// The value of a position, below [`Self::VALUES`].
    fn of(seen: &Seen) -> usize;
}

macro_rules! scalars {
    ($($module:ident::$feature:ident)*) => {
        /// A scalar feature: a count that the evaluation looks up in a table of its own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[allow(missing_docs)] // `docs/FILES.md` has the table.
        pub enum Scalar {
            $($feature,)*
        }

        impl Scalar {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$feature,)*];

            /// Number of values, and so of weights.
            pub const fn values(self) -> usize {
                match self { $(Self::$feature => $module::$feature::VALUES,)* }
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
            pub const fn c(self) -> &'static str {
                match self { $(Self::$feature => $module::$feature::C,)* }
            }

            /// Its value in an exported Rust evaluator.
            pub const fn rust(self) -> &'static str {
                match self { $(Self::$feature => $module::$feature::RUST,)* }
            }
        }
    };
}

scalars! {
    constant::Constant
    parity::Parity
    mobility::Mobility
    mobility::OpponentMobility
    potential_mobility::PotentialMobility
    potential_mobility::OpponentPotentialMobility
    player_discs::PlayerDiscs
    corner_moves::CornerMoves
    odd_quadrants::OddQuadrants
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::Transcript;

    #[test]
    fn names_in_files_are_those_of_the_features() {
        for scalar in Scalar::ALL {
            assert_eq!(serde_json::to_string(scalar).unwrap(), format!("\"{}\"", scalar.name()));
        }
    }

    #[test]
    fn values_are_within_their_tables() {
        for (diagram, _) in Transcript::random(&mut ChaCha8Rng::seed_from_u64(5)).steps() {
            let seen = Seen::new(&diagram.position);
            for scalar in Scalar::ALL {
                assert!(scalar.of(&seen) < scalar.values(), "{}", scalar.name());
            }
        }
    }
}
