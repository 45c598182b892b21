//! The built-in player: a search of fixed depth, then exact play.

use super::player::{Player, PlayerError};
use crate::board::{Diagram, Square};
use crate::eval::Evaluator;
use crate::record::MoveNote;
use crate::search::{EndgameSolver, Searcher};

/// How a built-in player thinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineOptions {
    /// Plies of the midgame search.
    pub depth: u32,
    /// From so many empties on it plays exactly.
    pub exact_empties: u32,
}

/// Plays by searching with an evaluator. Remembers nothing from game to game.
pub struct EnginePlayer<'e, E: Evaluator> {
    options: EngineOptions,
    searcher: Searcher<'e, E>,
    solver: EndgameSolver<'e, E>,
    note: MoveNote,
}

/// Table sizes, as powers of two entries of 16 bytes: enough for the depths that matches are played at.
const SEARCH_TABLE: u32 = 16;
const SOLVER_TABLE: u32 = 16;

impl<'e, E: Evaluator> EnginePlayer<'e, E> {
    /// A player that evaluates with `evaluator`.
    pub fn new(evaluator: &'e E, options: EngineOptions) -> Self {
        let (searcher, solver) = (Searcher::new(evaluator, SEARCH_TABLE), EndgameSolver::guided(evaluator, SOLVER_TABLE));
        Self { options, searcher, solver, note: MoveNote::default() }
    }
}

impl<E: Evaluator> Player for EnginePlayer<'_, E> {
    fn new_game(&mut self) {
        self.searcher.forget();
        self.solver.new_game();
    }

    fn choose(&mut self, diagram: &Diagram) -> Result<Square, PlayerError> {
        let (best, discs) = if diagram.position.empties() <= self.options.exact_empties {
            let solution = self.solver.solve(diagram.position, -64, 64);
            (solution.best, solution.score as f32)
        } else {
            let found = self.searcher.search(&diagram.position, self.options.depth);
            (found.best, found.score.discs())
        };
        self.note = MoveNote { evaluation: Some(discs), seconds: None };
        best.ok_or_else(|| PlayerError::Failed(format!("asked to move where there is no move: {diagram}")))
    }

    fn note(&self) -> MoveNote {
        self.note
    }
}
