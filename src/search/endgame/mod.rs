//! Exact values of endgame positions.
//!
//! [`EndgameSolver::solve`] proves the value of a position within a window; [`EndgameSolver::solve_line`] also plays an
//! optimal game to the end. Values are in discs for the player to move, -64 to 64, empty squares going to the winner.

mod deep;
mod guided;
mod last;
mod order;
mod parity;
mod selective;
mod split;
mod stability;
mod table;

use std::sync::atomic::AtomicBool;

use rayon::{ThreadPool, ThreadPoolBuildError};

use crate::board::{Bitboard, Position, Square};
use crate::eval::{Evaluator, MobilityEvaluator};
use crate::search::brothers::team;
use crate::search::stop::{NEVER, Stop};
use selective::{EXACT, Trust};
use split::Shared;
use table::Table;

/// What a solve has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solution {
    /// Value in discs for the player to move: exact inside the window; at or below alpha an upper bound, at or above beta a
    /// lower bound.
    pub score: i32,
    /// A move that reaches the score; `None` where the player must pass or the game is over.
    pub best: Option<Square>,
    /// Positions visited.
    pub nodes: u64,
}

/// Solves endgames exactly. What it finds, by which move, and in how many nodes depends on the position, the window, the
/// evaluator and the size of the table only, provided [`Self::new_game`] is called before and one thread is used. With several
/// threads, values are as exact, but moves of equal worth may be chosen by chance, and node counts vary.
pub struct EndgameSolver<'e, E: Evaluator = MobilityEvaluator> {
    evaluator: &'e E,
    table: Table,
    /// For positions so near the end, and so many, that the way to the large table would cost more than the search: a table
    /// for each thread.
    nears: Vec<Table>,
    /// The threads, where there are several.
    pool: Option<ThreadPool>,
}

/// One search: the table and what is counted.
struct Search<'a, E: Evaluator> {
    evaluator: &'a E,
    table: &'a Table,
    nears: &'a [Table],
    near: &'a Table,
    nodes: u64,
    /// The last move that ended a probe's last ply: often as good in the next sibling.
    killer: Bitboard,
    trust: Trust,
    stop: Stop<'a>,
    stopped: bool,
}

/// A table of this size stays in the second-level cache.
const NEAR_LOG2_ENTRIES: u32 = 14;

impl EndgameSolver<'static> {
    /// A solver with a table of 2^`log2_entries` entries of 16 bytes, guided by mobility.
    pub fn new(log2_entries: u32) -> Self {
        Self::guided(&MobilityEvaluator, log2_entries)
    }
}

impl<'e, E: Evaluator> EndgameSolver<'e, E> {
    /// A solver with a table of 2^`log2_entries` entries of 16 bytes. Where many squares are empty the evaluator says which
    /// moves to try first; the better it is, the fewer nodes are needed.
    pub fn guided(evaluator: &'e E, log2_entries: u32) -> Self {
        let near = Table::new(log2_entries.min(NEAR_LOG2_ENTRIES));
        Self { evaluator, table: Table::new(log2_entries), nears: vec![near], pool: None }
    }

    /// Lets so many threads work on a position together.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub fn with_threads(mut self, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        let log2_entries = self.nears[0].log2_entries();
        self.nears.resize_with(threads.max(1), || Table::new(log2_entries));
        self.pool = team(threads)?;
        Ok(self)
    }

    /// Forgets everything found so far, in constant time.
    pub fn new_game(&mut self) {
        self.table.forget();
        self.nears.iter_mut().for_each(Table::forget);
    }

    /// The value of a position within the window (`alpha`, `beta`), -64 <= alpha < beta <= 64.
    ///
    /// # Panics
    /// If the window is empty.
    pub fn solve(&mut self, position: Position, alpha: i32, beta: i32) -> Solution {
        self.solve_until(position, alpha, beta, &NEVER).expect("nothing stops this search")
    }

    /// [`Self::solve`], given up with `None` soon after `stop` is set.
    pub fn solve_until(&mut self, position: Position, alpha: i32, beta: i32, stop: &AtomicBool) -> Option<Solution> {
        self.search(stop, |search| search.solve(position, alpha, beta))
    }

    /// The exact value, and the moves of an optimal game from the position to its end, into `line`, which is emptied before.
    /// Passes are understood, not written.
    pub fn solve_line(&mut self, position: Position, line: &mut Vec<Square>) -> Solution {
        self.solve_line_until(position, line, &NEVER).expect("nothing stops this search")
    }

    /// [`Self::solve_line`], given up with `None` soon after `stop` is set. The line may end early where the value was known
    /// by then.
    pub fn solve_line_until(
        &mut self,
        position: Position,
        line: &mut Vec<Square>,
        stop: &AtomicBool,
    ) -> Option<Solution> {
        line.clear();
        self.search(stop, |search| {
            let solution = search.solve(position, -64, 64)?;
            search.play_out(position, solution, line);
            Some(Solution { nodes: search.nodes, ..solution })
        })
    }

    /// Runs a search on the solver's threads.
    fn search<R: Send>(&mut self, stop: &AtomicBool, task: impl FnOnce(&mut Search<'_, E>) -> R + Send) -> R {
        let shared = Shared { evaluator: self.evaluator, table: &self.table, nears: &self.nears, trust: EXACT };
        let task = || task(&mut shared.with_stop(Stop { flag: stop, outer: None }));
        match &self.pool {
            Some(pool) => pool.install(task),
            None => task(),
        }
    }
}

impl<E: Evaluator> Search<'_, E> {
    /// The value within a window, or `None` if stopped.
    fn solve(&mut self, position: Position, alpha: i32, beta: i32) -> Option<Solution> {
        // Values are even: the window between the even numbers around it asks the same.
        let (score, best) = self.search_all(position, (alpha & !1, (beta + 1) & !1));
        (!self.stopped).then_some(Solution { score, best, nodes: self.nodes })
    }

    /// Adds the moves of an optimal game to `line`, given the exact solution of its first position; if stopped, the first of
    /// them.
    fn play_out(&mut self, mut position: Position, solution: Solution, line: &mut Vec<Square>) {
        let (mut score, mut best) = (solution.score, solution.best);
        while !position.is_game_over() {
            if position.moves() == 0 {
                (position, score, best) = (position.pass(), -score, None);
            } else {
                let to = best.take().unwrap_or_else(|| self.move_reaching(position, score));
                if self.stopped {
                    break;
                }
                line.push(to);
                (position, score) = (position.play(to), -score);
            }
        }
    }

    /// What other threads need to take part.
    fn shared(&self) -> Shared<'_, E> {
        Shared { evaluator: self.evaluator, table: self.table, nears: self.nears, trust: self.trust }
    }

    /// Looks at the stop flags; once true, it stays true.
    fn should_stop(&mut self) -> bool {
        self.stopped = self.stopped || self.stop.is_set();
        self.stopped
    }
}
