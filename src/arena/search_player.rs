//! The program's own engine as a player.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::player::{Player, PlayerError};
use crate::board::{Diagram, Square};
use crate::eval::{Evaluator, Score};
use crate::record::MoveNote;
use crate::search::{Engine, Limits};

/// Plays what an engine finds, at its full strength or within a limit of time or nodes for each move.
#[derive(Debug)]
pub struct SearchPlayer<'e, E: Evaluator> {
    engine: Engine<'e, E>,
    limits: Limits<'static>,
    score: Option<Score>,
}

impl<'e, E: Evaluator> SearchPlayer<'e, E> {
    /// A player with an engine of its own.
    pub fn new(engine: Engine<'e, E>) -> Self {
        Self { engine, limits: Limits::NONE, score: None }
    }

    /// Makes it deepen iteratively within limits of time or nodes for each move, at most to the engine's depth; depth and flag of `limits`
    /// do not count. With a limit of time, its moves depend on the speed of the machine.
    pub fn with_limits(self, limits: Limits<'static>) -> Self {
        Self { limits, ..self }
    }
}

impl<E: Evaluator> Player for SearchPlayer<'_, E> {
    fn new_game(&mut self) {
        self.engine.forget();
    }

    /// With a limit of time, an only move is played at once; others are searched three or four plies, however short the time.
    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        self.score = None;
        let limits = Limits { depth: Some(self.engine.strength().depth), stop, ..self.limits };
        let analysis = self.engine.choose_within(&diagram.position, &limits);
        if self.limits.time.is_none() && stop.load(Relaxed) {
            return Err(PlayerError::Stopped);
        }
        // The value of a move that was not searched like others is a guess.
        self.score = (!limits.are_waste_on(&diagram.position)).then_some(analysis.score);
        analysis.best.ok_or_else(|| PlayerError::Failed(format!("the search found no move in {diagram}")))
    }

    fn note(&self) -> MoveNote {
        MoveNote { evaluation: self.score.map(Score::discs), seconds: None }
    }
}
