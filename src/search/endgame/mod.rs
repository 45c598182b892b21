//! Exact values of endgame positions.
//!
//! [`EndgameSolver::solve`] proves the value of a position within a window; [`EndgameSolver::solve_line`] also plays an
//! optimal game to the end. Values are in discs for the player to move, -64 to 64, empty squares going to the winner.
//!
//! A null-window search goes through three kinds of nodes. With many empty squares (`deep`) moves are ordered by midgame searches,
//! and ProbCut (`probcut`) makes the searches that precede the exact one selective; with few (`shallow`) moves are ordered by mobility
//! and parity; the last five squares (`last`) have a function for each number of them. `pvs` has the nodes with an open window.

mod deep;
mod last;
mod parity;
mod probcut;
mod pvs;
mod shallow;
mod stability;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::{ThreadPool, ThreadPoolBuildError};

use probcut::{Probes, probes};

use super::analysis::Analysis;
use super::ordering::Killers;
use super::pvs as midgame;
use super::split::thread_pool;
use super::stop::{NEVER, Stop};
use super::table::{CacheLine, FULL_WIDTH, Single, Table, Trust};
use super::tunables::{MIDGAME_LOG2_ENTRIES, NEAR_LOG2_ENTRIES, TT_MIN_DEPTH};
use crate::board::{Position, Square};
use crate::eval::{Evaluator, MobilityEvaluator, Score};

/// Solves endgames exactly. With one thread, and [`Self::forget`] called before, the value, the move and the number of nodes
/// depend only on the position, the window, the evaluator and the size of the table. With several threads values are just as
/// exact, but which of several equal moves is chosen and the number of nodes may vary.
///
/// # Example
/// ```
/// use flipside::board::Diagram;
/// use flipside::search::EndgameSolver;
///
/// // FFO 1: 14 empties, black wins by 18 at g8.
/// let diagram: Diagram = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X".parse()?;
/// let solved = EndgameSolver::new(16).solve(diagram.position, -64, 64);
/// assert_eq!((solved.score.discs(), solved.best), (18.0, Some("g8".parse()?)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EndgameSolver<'e, E: Evaluator = MobilityEvaluator> {
    evaluator: &'e E,
    table: Table<CacheLine>,
    /// For each thread.
    own_tables: Vec<OwnTables>,
    /// By selective pass.
    probes: Box<[Probes]>,
    /// The threads, if there are several.
    pool: Option<Arc<ThreadPool>>,
}

/// The tables of one thread.
#[derive(Debug)]
struct OwnTables {
    /// For positions near the end: there are millions, and going to the shared table would cost more than searching them.
    near: Table<CacheLine>,
    /// For the midgame searches that order moves and predict values.
    midgame: Table<Single>,
}

/// What the threads of a search share.
struct Shared<'a, E> {
    evaluator: &'a E,
    table: &'a Table<CacheLine>,
    own_tables: &'a [OwnTables],
    probes: &'a [Probes],
    trust: Trust,
}

/// One search by one thread.
struct Search<'a, E: Evaluator> {
    shared: Shared<'a, E>,
    near: &'a Table<CacheLine>,
    /// The midgame search that orders moves and predicts values. It also has the stop flag.
    midgame: midgame::Search<'a, E>,
    /// Positions visited by the endgame search itself.
    endgame_nodes: u64,
    /// The result of the last complete selective pass.
    selective: Option<Analysis>,
}

/// A solve that was given up.
#[derive(Debug)]
pub(super) struct GivenUp {
    /// Positions visited.
    pub nodes: u64,
    /// The result of the last selective pass that was completed before.
    pub selective: Option<Analysis>,
}

impl EndgameSolver<'static> {
    /// A solver with a table of 2^`log2_entries` entries of 16 bytes, ordering moves by [`MobilityEvaluator`].
    ///
    /// # Panics
    /// If `log2_entries` is above 40.
    pub fn new(log2_entries: u32) -> Self {
        Self::with_evaluator(&MobilityEvaluator, log2_entries)
    }
}

impl<'e, E: Evaluator> EndgameSolver<'e, E> {
    /// A solver with a table of 2^`log2_entries` entries of 16 bytes. When many squares are empty, moves are ordered by searches
    /// with the evaluator; the better it is, the fewer nodes are needed.
    ///
    /// # Panics
    /// If `log2_entries` is above 40.
    pub fn with_evaluator(evaluator: &'e E, log2_entries: u32) -> Self {
        // Not by a thread of a search: a fork in the middle of it would leave the child waiting for ever.
        stability::prepare();
        let own_tables = vec![OwnTables::new(log2_entries)];
        Self {
            evaluator,
            table: Table::new(log2_entries),
            own_tables,
            probes: probes(evaluator.calibration()),
            pool: None,
        }
    }

    /// Lets `threads` threads work on a position together.
    ///
    /// # Errors
    /// The system does not provide the threads.
    pub fn with_threads(self, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        Ok(self.with_pool(thread_pool(threads)?))
    }

    /// [`Self::with_threads`] with threads that exist.
    pub(super) fn with_pool(mut self, pool: Option<Arc<ThreadPool>>) -> Self {
        let threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        let log2_entries = self.table.log2_entries();
        self.own_tables.resize_with(threads, || OwnTables::new(log2_entries));
        Self { pool, ..self }
    }

    /// Forgets everything found so far.
    pub fn forget(&mut self) {
        self.table.forget();
        for tables in &mut self.own_tables {
            tables.near.forget();
            tables.midgame.forget();
        }
    }

    /// The value of a position within the window (`alpha`, `beta`) in discs, -64 <= alpha < beta <= 64: exact inside it, at or below
    /// alpha an upper bound, at or above beta a lower bound. The principal variation is the best move alone.
    ///
    /// # Panics
    /// If the window is empty, or reaches beyond these limits.
    pub fn solve(&mut self, position: Position, alpha: i32, beta: i32) -> Analysis {
        self.solve_until(position, alpha, beta, &NEVER).expect("nothing stops this search")
    }

    /// [`Self::solve`], given up with `None` soon after `stop` is set.
    ///
    /// # Panics
    /// As [`Self::solve`] does.
    pub fn solve_until(&mut self, position: Position, alpha: i32, beta: i32, stop: &AtomicBool) -> Option<Analysis> {
        assert!(-64 <= alpha && alpha < beta && beta <= 64, "no window: ({alpha}, {beta})");
        self.search(Stop::new(stop), |search| search.solve(position, alpha, beta))
    }

    /// The exact value, and the moves of an optimal game from the position to its end.
    pub fn solve_line(&mut self, position: Position) -> Analysis {
        self.solve_line_until(position, &NEVER).expect("nothing stops this search")
    }

    /// [`Self::solve_line`], given up soon after `stop` is set: with `None`, or with a line that ends early if the value was
    /// already known.
    pub fn solve_line_until(&mut self, position: Position, stop: &AtomicBool) -> Option<Analysis> {
        self.solve_line_with(position, Stop::new(stop)).ok()
    }

    /// [`Self::solve_line_until`] with other reasons to stop.
    pub(super) fn solve_line_with(&mut self, position: Position, stop: Stop<'_>) -> Result<Analysis, GivenUp> {
        self.search(stop, |search| match search.solve(position, -64, 64) {
            Some(mut analysis) => {
                search.play_out(position, &mut analysis);
                Ok(analysis)
            }
            None => Err(GivenUp { nodes: search.nodes(), selective: search.selective.take() }),
        })
    }

    /// Runs a search on the solver's threads.
    fn search<R: Send>(&mut self, stop: Stop<'_>, task: impl FnOnce(&mut Search<'_, E>) -> R + Send) -> R {
        let (evaluator, table, own_tables) = (self.evaluator, &self.table, &self.own_tables[..]);
        let shared = Shared { evaluator, table, own_tables, probes: &self.probes, trust: FULL_WIDTH };
        let task = || task(&mut shared.search(stop));
        match &self.pool {
            Some(pool) => pool.install(task),
            None => task(),
        }
    }
}

impl OwnTables {
    /// Tables to go with a shared one of 2^`log2_entries` entries.
    fn new(log2_entries: u32) -> Self {
        let near = Table::new(log2_entries.min(NEAR_LOG2_ENTRIES));
        Self { near, midgame: Table::new(log2_entries.min(MIDGAME_LOG2_ENTRIES)) }
    }
}

impl<'a, E: Evaluator> Shared<'a, E> {
    /// A search by the current thread of the pool.
    fn search(&self, stop: Stop<'a>) -> Search<'a, E> {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.own_tables.len();
        let OwnTables { near, midgame } = &self.own_tables[thread];
        let midgame = midgame::Search {
            evaluator: self.evaluator,
            table: midgame,
            tt_min_depth: TT_MIN_DEPTH[0],
            threads: 1,
            killers: Killers::NONE,
            selectivity: None,
            stores_frontier: false,
            nodes: 0,
            stop,
            stopped: false,
        };
        Search { shared: Self { ..*self }, near, midgame, endgame_nodes: 0, selective: None }
    }
}

impl<E: Evaluator> Search<'_, E> {
    /// The value within a window, or `None` if stopped.
    fn solve(&mut self, position: Position, alpha: i32, beta: i32) -> Option<Analysis> {
        // Values are even, so widening the window to even numbers changes nothing.
        let (discs, best) = self.search_root(position, (alpha & !1, (beta + 1) & !1));
        let exact = (discs > alpha || alpha == -64) && (discs < beta || beta == 64);
        (!self.stopped()).then(|| Analysis { exact, ..self.analysis(position, discs, best) })
    }

    /// A result that is not proved.
    fn analysis(&self, position: Position, discs: i32, best: Option<Square>) -> Analysis {
        Analysis {
            score: Score::from_discs(discs),
            best,
            pv: best.into_iter().collect(),
            depth: position.empties(),
            nodes: self.nodes(),
            exact: false,
            selectivity: None,
        }
    }

    /// Replaces the principal variation with an optimal game to the end, given the exact value of the first position; if stopped,
    /// with the first moves of one.
    fn play_out(&mut self, mut position: Position, analysis: &mut Analysis) {
        let (mut discs, mut best) = (analysis.discs(), analysis.best);
        analysis.pv.clear();
        while !position.is_game_over() {
            if position.moves() == 0 {
                (position, discs, best) = (position.pass(), -discs, None);
            } else {
                let to = best.take().unwrap_or_else(|| self.move_reaching(position, discs));
                if self.stopped() {
                    break;
                }
                analysis.pv.push(to);
                (position, discs) = (position.play(to), -discs);
            }
        }
        analysis.nodes = self.nodes();
    }

    /// Positions visited.
    fn nodes(&self) -> u64 {
        self.endgame_nodes + self.midgame.nodes
    }

    /// Looks at the reasons to stop; once true, it stays true.
    fn should_stop(&mut self) -> bool {
        self.midgame.should_stop_at(self.nodes())
    }

    /// Whether the search was given up: its values are meaningless from then on.
    fn stopped(&self) -> bool {
        self.midgame.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Transcript;

    /// A position with 19 empty squares. In its best line a side passes when only one move keeps the value.
    fn position() -> Position {
        let game: Transcript =
            "c4c5d6c7c6e3e7b5f6b7b8f5f4e6d2e8d8g5f7c8b6a7h5g3a8c1f8a5e2h6b4h4h2a6a4c3c2d3d7f2g1".parse().unwrap();
        game.last().position
    }

    #[test]
    fn a_stop_leaves_nothing_wrong_in_the_tables() {
        let position = position();
        for threads in [1, 2] {
            let solver = || EndgameSolver::new(12).with_threads(threads).unwrap();
            let whole = solver().solve_line(position);
            let mut given_up = 0;
            for part in 0..20 {
                let mut solver = solver();
                let stop = Stop { max_nodes: whole.nodes * part / 20, ..Stop::new(&NEVER) };
                match solver.solve_line_with(position, stop) {
                    Ok(line) => assert_eq!(line.discs(), whole.discs(), "{part} on {threads} threads"),
                    Err(_) => given_up += 1,
                }
                assert_eq!(solver.solve(position, -64, 64).discs(), whole.discs(), "{part} on {threads} threads");
            }
            assert!(given_up >= 10, "{given_up} on {threads} threads");
            let at_once =
                solver().solve_line_with(position, Stop::new(&AtomicBool::new(true))).map(|line| line.discs());
            assert!(at_once.as_ref().is_err_and(|given_up| given_up.nodes < 1_000), "{at_once:?}");
        }
    }

    #[test]
    fn a_line_may_be_stopped_after_any_number_of_nodes() {
        let position = position();
        let line_within = |max_nodes| {
            let mut solver = EndgameSolver::new(12);
            solver.solve_line_with(position, Stop { max_nodes, ..Stop::new(&NEVER) })
        };
        let whole = line_within(u64::MAX).unwrap();
        let mut lengths = [0; 20];
        for max_nodes in whole.nodes.saturating_sub(3000)..whole.nodes {
            if let Ok(part) = line_within(max_nodes) {
                assert_eq!((part.score, part.best), (whole.score, whole.best));
                assert_eq!(part.pv[..], whole.pv[..part.pv.len()]);
                lengths[part.pv.len()] += 1;
            }
        }
        assert!(lengths.iter().filter(|count| **count > 0).count() > 2, "{lengths:?}");
    }
}
