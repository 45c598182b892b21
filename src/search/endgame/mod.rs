//! Exact values of endgame positions.
//!
//! [`EndgameSolver::solve`] proves the value of a position within a window; [`EndgameSolver::solve_line`] also plays an
//! optimal game to the end. Values are in discs for the player to move, -64 to 64, empty squares going to the winner.

mod deep;
mod last;
mod order;
mod parity;
mod stability;
mod table;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::board::{Position, Square};
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

/// Solves endgames exactly. What it finds, by which move, and in how many nodes depends on the position, the window and the
/// size of the table only, provided [`Self::new_game`] is called before.
pub struct EndgameSolver {
    table: Table,
}

/// One search: the table and what is counted.
struct Search<'a> {
    table: &'a Table,
    nodes: u64,
    stop: &'a AtomicBool,
    stopped: bool,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl EndgameSolver {
    /// A solver with a table of 2^`log2_entries` entries of 16 bytes.
    pub fn new(log2_entries: u32) -> Self {
        Self { table: Table::new(log2_entries) }
    }

    /// Forgets everything found so far, in constant time.
    pub fn new_game(&mut self) {
        self.table.forget();
    }

    /// The value of a position within the window (`alpha`, `beta`), -64 <= alpha < beta <= 64.
    pub fn solve(&mut self, position: Position, alpha: i32, beta: i32) -> Solution {
        self.search(position, alpha, beta, &NEVER).expect("nothing stops this search")
    }

    /// [`Self::solve`], given up with `None` soon after `stop` is set.
    pub fn solve_until(&mut self, position: Position, alpha: i32, beta: i32, stop: &AtomicBool) -> Option<Solution> {
        self.search(position, alpha, beta, stop)
    }

    /// The exact value, and the moves of an optimal game from the position to its end, into `line`, which is emptied before.
    /// Passes are understood, not written.
    pub fn solve_line(&mut self, position: Position, line: &mut Vec<Square>) -> Solution {
        let solution = self.solve(position, -64, 64);
        let mut search = Search { table: &self.table, nodes: solution.nodes, stop: &NEVER, stopped: false };
        line.clear();
        let (mut position, mut score, mut best) = (position, solution.score, solution.best);
        while !position.is_game_over() {
            if position.moves() == 0 {
                (position, score, best) = (position.pass(), -score, None);
            } else {
                let to = best.take().unwrap_or_else(|| search.move_reaching(position, score));
                line.push(to);
                (position, score) = (position.play(to), -score);
            }
        }
        Solution { nodes: search.nodes, ..solution }
    }

    fn search(&mut self, position: Position, alpha: i32, beta: i32, stop: &AtomicBool) -> Option<Solution> {
        let mut search = Search { table: &self.table, nodes: 0, stop, stopped: false };
        // Values are even: the window between the even numbers around it asks the same.
        let (score, best) = search.pvs(position, alpha & !1, (beta + 1) & !1);
        (!search.stopped).then_some(Solution { score, best, nodes: search.nodes })
    }
}

impl Search<'_> {
    /// Looks at the stop flag; once true, it stays true.
    fn should_stop(&mut self) -> bool {
        self.stopped = self.stopped || self.stop.load(Relaxed);
        self.stopped
    }
}
