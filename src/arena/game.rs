//! The referee: one game between two players.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::player::{Player, PlayerError};
use crate::board::{Side, Square, Transcript};
use crate::record::MoveNote;
use crate::record::log::End;

/// A finished game.
#[derive(Clone, PartialEq, Debug)]
pub struct PlayedGame {
    /// All moves, the opening's included, passes left out.
    pub moves: Vec<Square>,
    /// The players' notes on their moves, empty ones for the opening's. The list is empty in a saved game without notes.
    pub notes: Vec<MoveNote>,
    /// The result in discs for black, -64 to 64, empty squares going to the winner; a forfeit loses all 64.
    pub discs: i32,
    /// Who lost before the game was over, and why.
    pub forfeit: Option<Forfeit>,
}

/// The loss of a game that was broken off.
#[derive(Clone, PartialEq, Debug)]
pub struct Forfeit {
    /// The loser, who was to move.
    pub side: Side,
    /// How it was lost, never [`End::Played`].
    pub end: End,
    /// What happened.
    pub reason: String,
}

/// Plays a game from an opening to its end.
///
/// # Errors
/// [`PlayerError::Stopped`] soon after `stop` is set, and a player's [`PlayerError::Start`] and [`PlayerError::Broken`].
pub fn play_game(
    black: &mut dyn Player,
    white: &mut dyn Player,
    opening: &Transcript,
    stop: &AtomicBool,
) -> Result<PlayedGame, PlayerError> {
    let mut moves = Vec::with_capacity(60);
    let mut notes = Vec::with_capacity(60);
    black.new_game();
    white.new_game();
    for (diagram, square) in opening.steps() {
        black.observe(&diagram, square);
        white.observe(&diagram, square);
        moves.push(square);
        notes.push(MoveNote::default());
    }
    let mut diagram = opening.last();
    let forfeit = loop {
        if diagram.position.moves() == 0 {
            if diagram.position.opponent_moves() == 0 {
                break None;
            }
            diagram = diagram.pass();
        }
        let mover: &mut dyn Player = match diagram.side {
            Side::Black => &mut *black,
            Side::White => &mut *white,
        };
        let forfeit = |end, reason| Some(Forfeit { side: diagram.side, end, reason });
        let chosen = mover.choose(&diagram, stop);
        if stop.load(Relaxed) {
            return Err(PlayerError::Stopped);
        }
        let square = match chosen {
            Ok(square) => square,
            // A player that cannot be restarted would lose all remaining games.
            Err(error @ (PlayerError::Broken(_) | PlayerError::Start { .. })) => return Err(error),
            Err(error @ PlayerError::Resigned) => break forfeit(End::Resigned, error.to_string()),
            Err(error @ PlayerError::TimedOut { .. }) => break forfeit(End::Time, error.to_string()),
            Err(error) => break forfeit(End::Failure, error.to_string()),
        };
        let next = match diagram.try_play(square) {
            Ok(next) => next,
            Err(illegal) => break forfeit(End::Illegal, format!("illegal move: {illegal}")),
        };
        notes.push(mover.note());
        black.observe(&diagram, square);
        white.observe(&diagram, square);
        moves.push(square);
        diagram = next;
    };
    let discs = match &forfeit {
        Some(Forfeit { side: Side::Black, .. }) => -64,
        Some(Forfeit { side: Side::White, .. }) => 64,
        None => diagram.final_score_for_black(),
    };
    Ok(PlayedGame { moves, notes, discs, forfeit })
}
