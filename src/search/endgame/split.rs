//! Several threads on one endgame: all share the large table, and each has a near table of its own.

use super::Search;
use super::deep::MOST;
use super::order::Moves;
use super::selective::Trust;
use super::table::Table;
use crate::board::{Bitboard, Square};
use crate::eval::Evaluator;
use crate::search::brothers::Brothers;
use crate::search::node::Node;
use crate::search::stop::Stop;

/// From this many empty squares on, moves are handed out to other threads.
const SPLIT: u32 = 16;

impl<E: Evaluator> Search<'_, E> {
    /// Whether the later moves of a node with so many empty squares are to be handed out.
    #[inline]
    pub(super) fn splits(&self, empties: u32) -> bool {
        empties >= SPLIT && self.nears.len() > 1
    }

    /// Searches the moves not picked yet on all threads of the pool this runs in; `best` is what the picked ones gave.
    pub(super) fn split(
        &mut self,
        node: &Node<E::State>,
        mut moves: Moves<MOST>,
        alpha: i32,
        odd: Bitboard,
        best: (i32, Square),
    ) -> (i32, Square) {
        let moves: Vec<_> = std::iter::from_fn(|| moves.pick()).collect();
        let shared = self.shared();
        let outcome = Brothers::new(&moves, alpha, best, &self.stop).share(self.nears.len(), |brothers| {
            let mut worker = shared.with_stop(brothers.stop());
            while let Some(entry) = brothers.next() {
                let value = worker.guided_child(node, entry, alpha, odd);
                if worker.stopped {
                    break;
                }
                brothers.learn(value, entry.to);
            }
            worker.nodes
        });
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
    pub trust: Trust,
}

impl<'a, E: Evaluator> Shared<'a, E> {
    /// A search by the current thread of the pool.
    pub fn with_stop(&self, stop: Stop<'a>) -> Search<'a, E> {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.nears.len();
        let Self { evaluator, table, nears, trust } = *self;
        Search { evaluator, table, nears, near: &nears[thread], nodes: 0, killer: 0, trust, stop, stopped: false }
    }
}
