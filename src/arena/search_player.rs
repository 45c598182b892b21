//! The program's own player: a search to a fixed depth, and exact endgames.

use std::sync::atomic::AtomicBool;

use rayon::ThreadPoolBuildError;

use super::player::{Player, PlayerError};
use crate::board::{Diagram, Position, Square};
use crate::eval::{Evaluator, Score};
use crate::record::MoveNote;
use crate::search::{EndgameSolver, SearchResult, Searcher, Selectivity};

/// How a [`SearchPlayer`] thinks.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchSettings {
    /// Plies to look ahead, at least 1.
    pub depth: u32,
    /// From so many empty squares on, positions are solved exactly.
    pub exact_empties: u32,
    /// Both hash tables have 2^this entries.
    pub log2_table: u32,
    /// What the search cuts by before positions are solved exactly; none searches with full width.
    pub selectivity: Option<Selectivity>,
}

impl Default for SearchSettings {
    /// Depth 4, exact from 12 empties, tables that fit the second-level cache, full width.
    fn default() -> Self {
        Self { depth: 4, exact_empties: 12, log2_table: 12, selectivity: None }
    }
}

/// Plays by searching with an evaluator.
pub struct SearchPlayer<'e, E: Evaluator> {
    settings: SearchSettings,
    searcher: Searcher<'e, E>,
    solver: EndgameSolver<'e, E>,
    score: Option<Score>,
}

impl<'e, E: Evaluator> SearchPlayer<'e, E> {
    /// A player with tables of its own.
    pub fn new(evaluator: &'e E, settings: SearchSettings) -> Self {
        let (mut searcher, solver) = (
            Searcher::new(evaluator, settings.log2_table),
            EndgameSolver::with_evaluator(evaluator, settings.log2_table),
        );
        searcher.set_selectivity(settings.selectivity.clone());
        Self { settings, searcher, solver, score: None }
    }

    /// Lets so many threads think about a position together.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub fn with_threads(self, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let (searcher, solver) = (self.searcher.with_threads(threads)?, self.solver.with_threads(threads)?);
        Ok(Self { searcher, solver, ..self })
    }

    /// How it thinks.
    pub fn settings(&self) -> &SearchSettings {
        &self.settings
    }

    /// What it thinks of a position with a legal move: exact from `exact_empties` on, else by a search to `depth`. Soon after
    /// `stop` is set, the best known then, from a search to four plies at least.
    pub fn think(&mut self, position: &Position, depth: u32, stop: &AtomicBool) -> SearchResult {
        if position.empties() <= self.settings.exact_empties {
            let mut line = Vec::new();
            if let Some(solved) = self.solver.solve_line_until(*position, &mut line, stop) {
                let (score, depth) = (Score::from_discs(solved.score), position.empties());
                return SearchResult { score, best: solved.best, line, depth, nodes: solved.nodes };
            }
        }
        self.searcher.search_until(position, depth, stop)
    }
}

impl<E: Evaluator> Player for SearchPlayer<'_, E> {
    fn new_game(&mut self) {
        self.searcher.forget();
        self.solver.new_game();
    }

    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        let (best, score) = if diagram.position.empties() <= self.settings.exact_empties {
            let solution = self.solver.solve_until(diagram.position, -64, 64, stop).ok_or(PlayerError::Stopped)?;
            (solution.best, Score::from_discs(solution.score))
        } else {
            let found = self.searcher.search_until(&diagram.position, self.settings.depth, stop);
            (found.best, found.score)
        };
        self.score = Some(score);
        best.ok_or_else(|| PlayerError::Failed(format!("the search found no move in {diagram}")))
    }

    fn note(&self) -> MoveNote {
        MoveNote { evaluation: self.score.map(Score::discs), seconds: None }
    }
}
