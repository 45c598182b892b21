//! Counting the leaves of the game tree, the standard check of move generators.

use super::position::Position;
use super::square::{Square, squares};

/// The number of paths of `depth` plies from a position. A pass is a ply; a finished game is a leaf at any depth.
pub fn perft(position: Position, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let moves = position.moves();
    if moves == 0 {
        return if position.opponent_moves() == 0 { 1 } else { perft(position.pass(), depth - 1) };
    }
    if depth == 1 {
        return u64::from(moves.count_ones());
    }
    squares(moves).map(|to: Square| perft(position.play_unchecked(to, position.flips(to)), depth - 1)).sum()
}
