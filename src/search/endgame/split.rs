//! Several threads on one position: where the first move of a null-window node has failed, the others are independent of each
//! other and go to all threads (the young brothers wait concept of R. Feldmann, B. Monien, P. Mysliwietz and O. Vornberger,
//! "Distributed game-tree search", 1989). A move that exceeds alpha stops its brothers. All threads share the large table,
//! and each has a near table of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::Search;
use super::deep::MOST;
use super::guided::States;
use super::order::Moves;
use super::table::Table;
use crate::board::{Bitboard, Position, Square};
use crate::eval::Evaluator;
use crate::search::stop::Stop;

/// From this many empty squares on, moves are handed out to other threads.
const SPLIT: u32 = 16;

/// The best value and move so far, and the positions visited for it.
struct Outcome {
    best: (i32, Square),
    nodes: u64,
}

impl<E: Evaluator> Search<'_, E> {
    /// Whether the later moves of a node with so many empty squares are to be handed out.
    #[inline]
    pub(super) fn splits(&self, empties: u32) -> bool {
        empties >= SPLIT && self.nears.len() > 1
    }

    /// Searches the moves not picked yet on all threads of the pool this runs in; `best` is what the picked ones gave.
    pub(super) fn split(
        &mut self,
        position: Position,
        (mut moves, states): (Moves<MOST>, States<E::State>),
        alpha: i32,
        odd: Bitboard,
        best: (i32, Square),
    ) -> (i32, Square) {
        let brothers: Vec<_> = std::iter::from_fn(|| moves.pick()).collect();
        let cut = AtomicBool::new(false);
        let stop = Stop { flag: &cut, outer: Some(&self.stop) };
        let next = AtomicUsize::new(0);
        let outcome = Mutex::new(Outcome { best, nodes: 0 });
        let shared = self.shared();
        let work = || {
            let mut worker = shared.with_stop(stop);
            while !stop.is_set()
                && let Some(entry) = brothers.get(next.fetch_add(1, Relaxed))
            {
                let value = worker.guided_child(position, entry, &states[entry.place as usize], alpha, odd);
                if worker.stopped {
                    break;
                }
                let mut outcome = outcome.lock().expect("no thread panics with the lock");
                if value > outcome.best.0 {
                    outcome.best = (value, entry.to);
                }
                if value > alpha {
                    cut.store(true, Relaxed);
                }
            }
            outcome.lock().expect("no thread panics with the lock").nodes += worker.nodes;
        };
        rayon::scope(|scope| {
            for _ in 1..self.nears.len().min(brothers.len()) {
                scope.spawn(|_| work());
            }
            work();
        });
        let outcome = outcome.into_inner().expect("no thread panics with the lock");
        self.nodes += outcome.nodes;
        self.should_stop();
        outcome.best
    }
}

/// What the threads of a search have in common.
pub(super) struct Shared<'a, E> {
    pub evaluator: &'a E,
    pub table: &'a Table,
    pub nears: &'a [Table],
}

impl<'a, E: Evaluator> Shared<'a, E> {
    /// A search by the current thread of the pool.
    pub fn with_stop(&self, stop: Stop<'a>) -> Search<'a, E> {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.nears.len();
        let Self { evaluator, table, nears } = *self;
        Search { evaluator, table, nears, near: &nears[thread], nodes: 0, stop, stopped: false }
    }
}
