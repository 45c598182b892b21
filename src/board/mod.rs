//! The rules of Othello on bitboards.
//!
//! Start with [`Position`]: the discs of the player to move and of the opponent, without colours, as searching and
//! evaluating need them. [`Diagram`] adds the colour to move and the text forms people exchange; [`Transcript`] is a game
//! as a list of moves. To read the source, begin with [`Square`] and the free functions on bitboards, then `flip` and
//! `moves` (the two kernels), [`Symmetry`], and [`perft()`].
//!
//! A bitboard is a `u64`: bit 0 is a1, bit 7 is h1, bit 8 is a2, bit 63 is h8.

#[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
mod flip;
#[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
#[path = "lines.rs"]
mod flip;
/// The other kernel, for the test that compares them.
#[cfg(all(test, target_arch = "x86_64", target_feature = "bmi2"))]
#[path = "flip.rs"]
mod rays;

mod diagram;
mod masks;
mod moves;
mod notation;
mod perft;
mod picture;
mod position;
mod square;
mod symmetry;
mod transcript;

pub use diagram::{Diagram, NotationError, Side};
pub use masks::{C_SQUARES, CORNERS, FILE_A, FILE_H, QUADRANTS, X_SQUARES, odd_quadrants};
pub(crate) use masks::{INNER_FILES, INNER_RANKS, STEP};
pub use notation::ScoredDiagram;
pub(crate) use notation::is_cell;
pub use perft::perft;
pub use picture::picture;
pub use position::{IllegalMove, Position};
pub(crate) use square::excerpt;
pub use square::{Bitboard, ParseSquareError, Square, Squares, squares};
pub use symmetry::{Symmetry, canonical};
pub use transcript::{Transcript, is_pass};
pub(crate) use transcript::{begins_with_move, mirrored, parse_moves, start_of};

/// Both kernels in one build. `tests/library/board.rs` has the naive version.
#[cfg(all(test, target_arch = "x86_64", target_feature = "bmi2"))]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{flip, rays, squares};

    #[test]
    fn the_two_flip_kernels_agree() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..20_000 {
            let (own, other): (u64, u64) = (rng.random(), rng.random());
            let (player, opponent) = (own & !other, other);
            for to in squares(!(player | opponent)) {
                assert_eq!(
                    flip::flips(player, opponent, to),
                    rays::flips(player, opponent, to),
                    "{player} {opponent} {to}"
                );
                // All other squares are taken.
                assert_eq!(flip::count_last_flips(player, to), rays::count_last_flips(player, to), "{player} {to}");
            }
        }
    }
}
