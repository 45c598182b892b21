//! What can play in a match.

use std::sync::atomic::AtomicBool;

use crate::board::{Diagram, Square};
use crate::record::MoveNote;

/// Something that plays Othello, one game at a time.
///
/// A match calls [`new_game`](Self::new_game), then [`observe`](Self::observe) for every move of the game (the opening's,
/// the opponent's and its own), and [`choose`](Self::choose) whenever it is the player's turn and it has a move. What it
/// plays must depend only on the game so far: a player that remembers earlier games makes results depend on the order in
/// which threads play them.
pub trait Player {
    /// Forgets the previous game; the next one starts from the start position.
    fn new_game(&mut self) {}

    /// A move in the position of `diagram`, in which the player is to move and has a legal move.
    ///
    /// Returns soon after `stop` is set, with any answer: the game will not be finished.
    ///
    /// # Errors
    /// The player cannot continue and loses the game. It is asked again in the next game, unless the error is [`PlayerError::Start`] or
    /// [`PlayerError::Broken`], which end the match.
    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError>;

    /// Learns that `square` was played in `diagram`.
    fn observe(&mut self, _diagram: &Diagram, _square: Square) {}

    /// The player's note on its last choice.
    fn note(&self) -> MoveNote {
        MoveNote::default()
    }
}

impl<P: Player + ?Sized> Player for Box<P> {
    fn new_game(&mut self) {
        (**self).new_game();
    }

    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        (**self).choose(diagram, stop)
    }

    fn observe(&mut self, diagram: &Diagram, square: Square) {
        (**self).observe(diagram, square);
    }

    fn note(&self) -> MoveNote {
        (**self).note()
    }
}

/// Why a player cannot continue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlayerError {
    /// It did not start, or does not speak its protocol.
    #[error("could not start `{command}`: {reason}")]
    Start {
        /// The command.
        command: String,
        /// What went wrong.
        reason: String,
    },
    /// It did not answer in time.
    #[error("no answer to `{request}` within {seconds} s")]
    TimedOut {
        /// What it was asked.
        request: String,
        /// The limit.
        seconds: f64,
    },
    /// It ended, or closed its output.
    #[error(
        "the engine {} before it answered `{request}`{detail}",
        if *.has_ended { "ended" } else { "closed its output" }
    )]
    Ended {
        /// What it was asked.
        request: String,
        /// Whether it ended; otherwise it only closed its output.
        has_ended: bool,
        /// Its exit status and last words, as far as known.
        detail: String,
    },
    /// It refused, or answered with something that is not a move.
    #[error("answered `{request}` with `{}`", shown(.answer))]
    Answer {
        /// What it was asked.
        request: String,
        /// What it said.
        answer: String,
    },
    /// It gave the game up.
    #[error("resigned")]
    Resigned,
    /// It was stopped before it had an answer.
    #[error("stopped")]
    Stopped,
    /// A built-in player failed.
    #[error("{0}")]
    Failed(String),
    /// Something the player depends on is broken, so its games would prove nothing: the match ends.
    #[error("{0}")]
    Broken(String),
}

/// A result, or none if it was stopped.
pub(super) fn unless_stopped<T>(result: Result<T, PlayerError>) -> Result<Option<T>, PlayerError> {
    match result {
        Err(PlayerError::Stopped) => Ok(None),
        result => result.map(Some),
    }
}

/// The beginning of what a program said.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    let more = if start.len() < text.len() { "..." } else { "" };
    start + more
}
