//! From game records to samples: the lambda-return.

use super::samples::Sample;
use crate::eval::Score;
use crate::selfplay::{Ply, PlyKind, Replay};

/// The samples of a game: each labelled ply with its [`returns`].
///
/// A ply with a PV leaf is learned at the leaf, with the sign of the side to move there (TDLeaf: Jonathan Baxter, Andrew
/// Tridgell and Lex Weaver, "KnightCap: a chess program that learns by combining TD(lambda) with game-tree search", 1998).
pub fn lambda_returns(game: &Replay, lambda: f32) -> Vec<Sample> {
    let sample = |(ply, target): (&Ply, Score)| match ply.leaf {
        Some((leaf, side)) => Sample::new(leaf, if side == ply.side { target } else { -target }),
        None => Sample::new(ply.position, target),
    };
    game.plies.iter().zip(returns(game, lambda)).map(sample).collect()
}

/// The lambda-return of each labelled ply for its side, backwards through the game (Richard Sutton, "Learning to predict by the
/// methods of temporal differences", 1988).
///
/// In discs for the side to move, `G(t) = (1 - lambda) v(t) + lambda s G(t + 1)`, where `v(t)` is the search value and `s` is -1
/// if the other side moves next and +1 if the same side moves again. At an exploratory move `G(t) = v(t)`: what follows does not
/// show what the position is worth. Exact values are kept. Lambda 0 is the search value; lambda 1 is the outcome or, before an
/// exploratory move, the search value there.
pub fn returns(game: &Replay, lambda: f32) -> Vec<Score> {
    let mut targets = Vec::with_capacity(game.plies.len());
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
        targets.push(Score(target.round() as i32));
    }
    targets.reverse();
    targets
}
