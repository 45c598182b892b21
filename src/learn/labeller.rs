//! What the positions of recorded games and of scored positions are worth.

use std::sync::atomic::AtomicBool;

use crate::board::{Position, ScoredDiagram, Side};
use crate::record::{Fault, Finish, Game, Record};
use crate::search::EndgameSolver;

/// Table size of a [`Labeller`], as a power of two entries: what positions with a dozen empties fill.
const TABLE: u32 = 13;

/// Positions with their values in discs for the player to move.
pub type Labelled = Vec<(Position, i32)>;

/// Tells what the positions of records are worth.
pub struct Labeller {
    solver: EndgameSolver<'static>,
    exact_empties: u32,
}

impl Labeller {
    /// A labeller that solves positions with at most so many empties; 0 for none.
    pub fn new(exact_empties: u32) -> Self {
        Self { solver: EndgameSolver::new(TABLE), exact_empties }
    }

    /// The positions of a record in order, those in which somebody can move, each with its value in discs for the player to move.
    ///
    /// A position's own score counts first. Positions of games that have few enough empties are solved; those before are worth
    /// what the first of these is, as if the rest of the game had been perfect. Without such, a game's result counts, unless
    /// it was lost by resigning or on time, which says nothing of the discs.
    ///
    /// # Errors
    /// [`Fault::NoScore`] where there is nothing to go by.
    pub fn label(&mut self, record: &Record) -> Result<Labelled, Fault> {
        self.label_until(record, &AtomicBool::new(false))
    }

    /// [`Self::label`], given up soon after `stop` is set: what it answers then means nothing.
    ///
    /// # Errors
    /// As of [`Self::label`].
    pub fn label_until(&mut self, record: &Record, stop: &AtomicBool) -> Result<Labelled, Fault> {
        let labelled = match record {
            Record::Position(ScoredDiagram { diagram, score, .. }) => {
                let value = score.or_else(|| self.solve(&diagram.position, stop));
                value.map(|value| (diagram.position, value)).into_iter().collect()
            }
            Record::Game(game) => self.label_game(game, stop),
        };
        if labelled.is_empty() { Err(Fault::NoScore) } else { Ok(labelled) }
    }

    fn label_game(&mut self, game: &Game, stop: &AtomicBool) -> Labelled {
        let told = game.result.filter(|result| matches!(result.finish, Finish::Played | Finish::Agreed));
        // The value for black of what comes later.
        let mut for_black = game.score_on_board().or(told).map(|result| result.discs);
        let steps: Vec<_> = game.steps().collect();
        let mut labelled = Vec::with_capacity(steps.len());
        for (diagram, _) in steps.into_iter().rev() {
            let sign = if diagram.side == Side::Black { 1 } else { -1 };
            for_black = self.solve(&diagram.position, stop).map(|value| sign * value).or(for_black);
            labelled.extend(for_black.map(|value| (diagram.position, sign * value)));
        }
        labelled.reverse();
        labelled
    }

    fn solve(&mut self, position: &Position, stop: &AtomicBool) -> Option<i32> {
        if position.empties() > self.exact_empties {
            return None;
        }
        self.solver.solve_until(*position, -64, 64, stop).map(|solved| solved.discs())
    }
}
