//! The engine: searches, and solves when few squares are empty.

use std::time::Instant;

use rayon::ThreadPoolBuildError;

use super::analysis::Analysis;
use super::endgame::EndgameSolver;
use super::probcut::{NotCalibrated, Selectivity};
use super::searcher::{Searcher, Subtree};
use super::split::thread_pool;
use super::stop::{Limits, Stop};
use super::strength::{Deviations, Strength};
use super::tunables::{SOLVE_CHANCE, SOLVE_NODES, SOLVE_SHARE};
use crate::board::{Position, Square};
use crate::eval::Evaluator;

/// Thinks about positions with one evaluator: solves them from some number of empty squares on, else searches them to a depth,
/// selectively or not, within limits of time or nodes.
#[derive(Debug)]
pub struct Engine<'e, E: Evaluator> {
    strength: Strength,
    searcher: Searcher<'e, E>,
    solver: EndgameSolver<'e, E>,
    /// The selectivity of searches within limits of time or nodes.
    limited: Deviations,
    /// Nodes per second of the last [`Self::analyse_within`]; 0 before the first.
    speed: f64,
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
        Ok(Self { strength, searcher, solver, limited: strength.selectivity, speed: 0.0 })
    }

    /// Makes searches within limits of time or nodes as selective as is strongest, whatever the strength says, if the evaluator is
    /// calibrated.
    pub fn selective_within_limits(self) -> Self {
        Self { limited: Selectivity::within_limits(self.searcher.evaluator), ..self }
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
        self.speed = 0.0;
    }

    /// [`Self::forget`] all but what is in a subtree of this engine.
    pub(crate) fn forget_all_but(&mut self, subtree: &Subtree) {
        self.searcher.forget_all_but(subtree);
        self.solver.forget();
        self.speed = 0.0;
    }

    /// Puts into `subtree` what the last search knows about a position after its root, and nothing else. Solving leaves no subtree.
    pub(crate) fn keep_subtree(&self, root: Position, subtree: &mut Subtree) {
        self.searcher.keep_subtree(root, subtree);
    }

    /// Analyses a position.
    pub fn analyse(&mut self, position: &Position) -> Analysis {
        self.analyse_within(position, &Limits::NONE)
    }

    /// [`Self::analyse`] within limits. When stopped or at a limit, it returns the deepest search it completed. Positions that can hardly
    /// be solved within the limits are only searched.
    pub fn analyse_within(&mut self, position: &Position, limits: &Limits<'_>) -> Analysis {
        let begin = Instant::now();
        let analysis = self.solve_or_search(position, limits, begin);
        // A coarse clock may not have moved.
        self.speed = analysis.nodes as f64 / begin.elapsed().as_secs_f64().max(1e-9);
        analysis
    }

    /// [`Self::analyse_within`] for the choice of a move: with a limit of time, an only move is searched one ply, whatever the limits.
    pub fn choose_within(&mut self, position: &Position, limits: &Limits<'_>) -> Analysis {
        if limits.leave_no_choice(position) {
            return self.searcher.search(position, 1);
        }
        self.analyse_within(position, limits)
    }

    fn solve_or_search(&mut self, position: &Position, limits: &Limits<'_>, begin: Instant) -> Analysis {
        let (mut left, mut visited) = (*limits, 0);
        if position.empties() <= self.strength.exact_empties && self.can_hope_to_solve(position.empties(), limits) {
            match self.solver.solve_line_with(*position, Stop::after(SOLVE_SHARE, limits)) {
                Ok(solved) => return solved,
                Err(nodes) => visited = nodes,
            }
            left.time = limits.time.map(|time| time.saturating_sub(begin.elapsed()));
            left.nodes = limits.nodes.map(|nodes| nodes.saturating_sub(visited));
        }
        self.searcher.select(if limits.is_open() { self.limited } else { self.strength.selectivity });
        let found = self.searcher.search_with(position, self.depth(limits), Stop::after(1.0, &left));
        Analysis { nodes: visited + found.nodes, ..found }
    }

    /// Whether limits leave enough nodes for solving to be tried.
    fn can_hope_to_solve(&self, empties: u32, limits: &Limits<'_>) -> bool {
        let (at_12, growth) = SOLVE_NODES;
        // Not `powi`, which rounds differently on different platforms. One of the two ranges is empty.
        let usual = (12..empties).fold(at_12, |nodes, _| nodes * growth);
        let usual = (empties..12).fold(usual, |nodes, _| nodes / growth);
        let in_time = limits.time.filter(|_| self.speed > 0.0).map(|time| time.as_secs_f64() * self.speed);
        let most = limits.nodes.map(|nodes| nodes as f64).into_iter().chain(in_time);
        most.map(|nodes| nodes * SOLVE_SHARE).all(|nodes| nodes >= usual * SOLVE_CHANCE)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::MobilityEvaluator;

    #[test]
    fn solving_is_tried_where_it_may_succeed() {
        let engine = Engine::new(&MobilityEvaluator, Strength::new(4, 24), 4).unwrap();
        let (at_12, growth) = SOLVE_NODES;
        for empties in [8, 12, 20] {
            let least = at_12 * growth.powi(empties - 12) * SOLVE_CHANCE / SOLVE_SHARE;
            let can = |nodes: f64| {
                engine.can_hope_to_solve(empties as u32, &Limits { nodes: Some(nodes as u64), ..Limits::NONE })
            };
            assert!(can(1.02 * least) && !can(0.98 * least), "{empties}");
        }
        assert!(engine.can_hope_to_solve(24, &Limits::NONE));
    }
}
