//! Records of any format, one after the other, and what their positions are worth.

use std::sync::atomic::AtomicBool;

use super::convert::Format;
use super::game::{Finish, Game};
use super::{Fault, RecordError, ggf, lines, log, wthor};
use crate::board::{Position, ScoredDiagram, Side};
use crate::search::EndgameSolver;

/// What a record file has one after the other.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// A game.
    Game(Game),
    /// A position, with or without a score.
    Position(ScoredDiagram),
}

/// The records of a file.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Record, RecordError>> + Send + 'a>;

/// The records of a file's content, each or why it cannot be read. They are read as they are asked for.
///
/// # Errors
/// The file as a whole cannot be read.
pub fn read(bytes: &[u8], format: Format) -> Result<Records<'_>, RecordError> {
    Ok(match format {
        Format::Ggf => Box::new(ggf::read(bytes).map(|game| game.map(Record::Game))),
        Format::Wthor => Box::new(wthor::read(bytes)?.map(|game| game.map(Record::Game))),
        Format::F5d6 => Box::new(lines::read_transcripts(bytes).map(|game| game.map(Record::Game))),
        Format::Log => Box::new(log::read(bytes).map(|game| game.map(Record::Game))),
        Format::Obf => Box::new(lines::read_positions(bytes).map(|position| position.map(Record::Position))),
        Format::Egaroucid => Box::new(lines::read_egaroucid(bytes).map(|position| position.map(Record::Position))),
    })
}

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
        self.solver.solve_until(*position, -64, 64, stop).map(|solution| solution.score)
    }
}
