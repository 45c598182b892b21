//! The engine: searches, and solves when few squares are empty.

use rayon::ThreadPoolBuildError;

use super::analysis::Analysis;
use super::endgame::{EndgameSolver, GivenUp};
use super::probcut::{NotCalibrated, Selectivity};
use super::searcher::{Searcher, Subtree};
use super::split::thread_pool;
use super::stop::{Limits, Stop};
use super::strength::Strength;
use super::tunables::SOLVED_PLIES;
use crate::board::{Position, Square};
use crate::eval::Evaluator;

/// Thinks about positions with one evaluator: searches them, selectively or not, to a depth or as deep as limits allow, and solves them where
/// that reaches the end of the game or few squares are empty.
#[derive(Debug)]
pub struct Engine<'e, E: Evaluator> {
    strength: Strength,
    searcher: Searcher<'e, E>,
    solver: EndgameSolver<'e, E>,
}

impl<'e, E: Evaluator> Engine<'e, E> {
    /// An engine with two tables of 2^`log2_entries` entries, one for searching, one for solving.
    ///
    /// # Errors
    /// A selective strength with an evaluator that is not calibrated.
    ///
    /// # Panics
    /// If `log2_entries` is above 40, or if the evaluator is calibrated and the strength's selectivity is negative or not a number.
    pub fn new(evaluator: &'e E, strength: Strength, log2_entries: u32) -> Result<Self, NotCalibrated> {
        let mut searcher = Searcher::new(evaluator, log2_entries);
        searcher.set_selectivity(Selectivity::of(evaluator, strength.selectivity)?);
        let solver = EndgameSolver::with_evaluator(evaluator, log2_entries);
        Ok(Self { strength, searcher, solver })
    }

    /// Lets `threads` threads think about a position together.
    ///
    /// # Errors
    /// The system does not provide the threads.
    pub fn with_threads(self, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        // They never work at once.
        let pool = thread_pool(threads)?;
        Ok(Self { searcher: self.searcher.with_pool(pool.clone()), solver: self.solver.with_pool(pool), ..self })
    }

    /// How strongly it thinks.
    pub fn strength(&self) -> Strength {
        self.strength
    }

    /// Forgets all earlier positions: from then on it answers like a new engine.
    pub fn forget(&mut self) {
        self.searcher.forget();
        self.solver.forget();
    }

    /// [`Self::forget`] all but what is in a subtree of this engine.
    pub(crate) fn forget_all_but(&mut self, subtree: &Subtree) {
        self.searcher.forget_all_but(subtree);
        self.solver.forget();
    }

    /// Puts into `subtree` what the last search knows about a position after its root, and nothing else. Solving leaves no subtree.
    pub(crate) fn keep_subtree(&self, root: Position, subtree: &mut Subtree) {
        self.searcher.keep_subtree(root, subtree);
    }

    /// Analyses a position.
    pub fn analyse(&mut self, position: &Position) -> Analysis {
        self.analyse_within(position, &Limits::NONE)
    }

    /// [`Self::analyse`] within limits. When stopped or at a limit, it returns the deepest search it completed.
    ///
    /// - With few empty squares the solver comes first, unless only time or nodes limit it.
    /// - A depth that ends before the game does is searched.
    /// - A depth to the end of the game, or none, is searched until the solver takes over. If the engine is selective, the last selective pass
    ///   that the solver completed counts too.
    pub fn analyse_within(&mut self, position: &Position, limits: &Limits<'_>) -> Analysis {
        let (stop, empties, depth) = (Stop::at(limits), position.empties(), self.depth(limits));
        let few = self.strength.exact_empties;
        if empties <= few && !limits.is_open() {
            let (nodes, solved) = self.solve(position, stop);
            return match solved {
                Some(solved) => Analysis { nodes, ..solved },
                None => {
                    let found = self.searcher.search_with(position, depth, stop);
                    Analysis { nodes: nodes + found.nodes, ..found }
                }
            };
        }
        let to_the_end = empties <= depth.max(few);
        // At full width half the plies take about as long as the solver does; depths differ by two plies.
        let solved_plies = if self.strength.selectivity.is_some() { SOLVED_PLIES } else { empties / 4 * 2 };
        // One ply finds a move, whatever happens to the solver.
        let first = if to_the_end { depth.min(empties.saturating_sub(solved_plies)).max(1) } else { depth };
        let found = self.searcher.search_with(position, first, stop);
        if !to_the_end || found.depth < first || stop.is_set_at(found.nodes) {
            return found;
        }
        let (nodes, solved) = self.solve(position, stop.after(found.nodes));
        Analysis { nodes: found.nodes + nodes, ..solved.unwrap_or(found) }
    }

    /// Solves a position, and counts the nodes. If it is given up, there is the answer of the last selective pass, or none at full width.
    fn solve(&mut self, position: &Position, stop: Stop<'_>) -> (u64, Option<Analysis>) {
        match self.solver.solve_line_with(*position, stop) {
            Ok(solved) => (solved.nodes, Some(solved)),
            Err(GivenUp { nodes, selective }) => (nodes, selective.filter(|_| self.strength.selectivity.is_some())),
        }
    }

    /// [`Self::analyse_within`] for the choice of a move: with a limit of time, an only move is searched one ply, whatever the limits.
    pub fn choose_within(&mut self, position: &Position, limits: &Limits<'_>) -> Analysis {
        if limits.are_waste_on(position) {
            return self.searcher.search(position, 1);
        }
        self.analyse_within(position, limits)
    }

    /// The largest depth to search to.
    fn depth(&self, limits: &Limits<'_>) -> u32 {
        let own = if limits.is_open() { Strength::MAX_DEPTH } else { self.strength.depth };
        limits.depth.unwrap_or(own)
    }

    /// Analyses a legal move, for the player who makes it; the depth includes the move itself.
    ///
    /// # Panics
    /// If the move is illegal.
    pub fn analyse_move(&mut self, position: &Position, to: Square, limits: &Limits<'_>) -> Analysis {
        let depth = self.depth(limits).saturating_sub(1);
        self.analyse_within(&position.play(to), &Limits { depth: Some(depth), ..*limits }).before(Some(to))
    }
}
