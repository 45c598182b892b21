//! From game records to samples: the lambda-return.

use super::samples::Sample;
use crate::eval::Score;
use crate::selfplay::{PlyKind, Replay};

/// The samples of a game: for each labelled ply the lambda-return, backwards through the game (Richard Sutton, "Learning to
/// predict by the methods of temporal differences", 1988).
///
/// In discs for the side to move, `G(t) = (1 - lambda) v(t) + lambda s G(t + 1)`, where `v(t)` is the search value and `s` is -1
/// if the other side moves next and +1 if the same side moves again. At an exploratory move `G(t) = v(t)`: what follows does not
/// show what the position is worth. Exact values are kept. Lambda 0 is the search value; lambda 1 is the outcome or, before an
/// exploratory move, the search value there.
///
/// A ply with a PV leaf is learned at the leaf, with the sign of the side to move there (TDLeaf: Jonathan Baxter, Andrew
/// Tridgell and Lex Weaver, "KnightCap: a chess program that learns by combining TD(lambda) with game-tree search", 1998).
pub fn lambda_returns(game: &Replay, lambda: f32) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(game.plies.len());
    // The return of the following ply and the side it is for; after the last ply, the result.
    let mut following = (game.result.0 as f32, game.plies.last().map(|ply| ply.side));
    for ply in game.plies.iter().rev() {
        let value = ply.value.0 as f32;
        let ahead = if following.1 == Some(ply.side) { following.0 } else { -following.0 };
        let target = match ply.kind {
            PlyKind::Greedy => (1.0 - lambda) * value + lambda * ahead,
            PlyKind::Exploratory | PlyKind::Exact => value,
        };
        following = (target, Some(ply.side));
        let (position, sign) = match ply.leaf {
            Some((leaf, side)) => (leaf, if side == ply.side { 1.0 } else { -1.0 }),
            None => (ply.position, 1.0),
        };
        samples.push(Sample::new(position, Score((sign * target).round() as i32)));
    }
    samples.reverse();
    samples
}
