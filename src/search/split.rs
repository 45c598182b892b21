//! Several threads on one position: once the first move of a null-window node has failed low, the others are independent of each
//! other and go to all threads (the Young Brothers Wait Concept: Rainer Feldmann, Burkhard Monien, Peter Mysliwietz and Oliver Vornberger,
//! "Distributed game-tree search", 1989). A move above alpha stops the others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::ordering::ListedMove;
use super::stop::Stop;
use crate::board::Square;
use crate::threads::lock;

/// A null-window node whose moves are handed out to threads.
pub(super) struct SplitPoint<'a> {
    moves: &'a [ListedMove],
    next: AtomicUsize,
    alpha: i32,
    cutoff: AtomicBool,
    outer: &'a Stop<'a>,
    outcome: Mutex<Outcome>,
}

/// The best value and move so far, and the positions visited for it.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub best: (i32, Square),
    pub nodes: u64,
}

impl<'a> SplitPoint<'a> {
    /// `best` is the result of the moves searched before; it does not exceed `alpha`. `outer` stops the node itself.
    pub fn new(moves: &'a [ListedMove], alpha: i32, best: (i32, Square), outer: &'a Stop<'a>) -> Self {
        let outcome = Mutex::new(Outcome { best, nodes: 0 });
        Self { moves, next: AtomicUsize::new(0), alpha, cutoff: AtomicBool::new(false), outer, outcome }
    }

    /// A reason to give up the search of any of these moves.
    pub fn stop(&self) -> Stop<'_> {
        Stop { outer: Some(self.outer), max_nodes: self.outer.max_nodes, ..Stop::new(&self.cutoff) }
    }

    /// A move for a thread to search, with its place among the moves, until none is left or the node is cut off.
    pub fn next_move(&self) -> Option<(usize, &'a ListedMove)> {
        if self.stop().is_set() {
            return None;
        }
        let place = self.next.fetch_add(1, Relaxed);
        Some((place, self.moves.get(place)?))
    }

    /// Records the value of a move whose search was completed.
    pub fn update(&self, value: i32, to: Square) {
        let mut outcome = lock(&self.outcome);
        if value > outcome.best.0 {
            outcome.best = (value, to);
        }
        if value > self.alpha {
            self.cutoff.store(true, Relaxed);
        }
    }

    /// Runs `worker` on up to `threads` threads of the current pool. It takes moves with [`Self::next_move`] and returns how many
    /// positions it visited.
    pub fn run(self, threads: usize, worker: impl Fn(&Self) -> u64 + Sync) -> Outcome {
        let worker = || {
            let nodes = worker(&self);
            lock(&self.outcome).nodes += nodes;
        };
        rayon::scope(|scope| {
            for _ in 1..threads.min(self.moves.len()) {
                scope.spawn(|_| worker());
            }
            worker();
        });
        *lock(&self.outcome)
    }
}

/// Threads that search one position together; `None` if the calling one is enough. A thread that waits at a split point searches
/// moves of other nodes meanwhile, on top of its own stack, so stacks are large.
pub(super) fn thread_pool(threads: usize) -> Result<Option<Arc<ThreadPool>>, ThreadPoolBuildError> {
    let pool = || ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK_BYTES).build().map(Arc::new);
    (threads > 1).then(pool).transpose()
}

const STACK_BYTES: usize = 16 << 20;
