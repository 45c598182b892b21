//! Several threads on one position: where the first move of a null-window node has failed, the others are independent of each
//! other and go to all threads (the young brothers wait concept of R. Feldmann, B. Monien, P. Mysliwietz and O. Vornberger,
//! "Distributed game-tree search", 1989). A move that exceeds alpha stops its brothers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::stop::Stop;
use crate::board::Square;

/// The moves of a node that are left after its first, handed out to threads.
pub(super) struct Brothers<'a, M> {
    moves: &'a [M],
    next: AtomicUsize,
    alpha: i32,
    cut: AtomicBool,
    outer: &'a Stop<'a>,
    outcome: Mutex<Outcome>,
}

/// The best value and move so far, and the positions visited for it.
pub(super) struct Outcome {
    pub best: (i32, Square),
    pub nodes: u64,
}

impl<'a, M: Sync> Brothers<'a, M> {
    /// `best` is what the moves searched before gave; it does not exceed `alpha`. `outer` stops the node itself.
    pub fn new(moves: &'a [M], alpha: i32, best: (i32, Square), outer: &'a Stop<'a>) -> Self {
        let outcome = Mutex::new(Outcome { best, nodes: 0 });
        Self { moves, next: AtomicUsize::new(0), alpha, cut: AtomicBool::new(false), outer, outcome }
    }

    /// A reason to give up the search of any of these moves.
    pub fn stop(&self) -> Stop<'_> {
        Stop { flag: &self.cut, outer: Some(self.outer) }
    }

    /// A move for a thread to search, until there is none left or need of none.
    pub fn next(&self) -> Option<&'a M> {
        if self.stop().is_set() { None } else { self.moves.get(self.next.fetch_add(1, Relaxed)) }
    }

    /// Takes in the value of a move, searched to its end.
    pub fn learn(&self, value: i32, to: Square) {
        let mut outcome = self.outcome.lock().expect("no thread panics with the lock");
        if value > outcome.best.0 {
            outcome.best = (value, to);
        }
        if value > self.alpha {
            self.cut.store(true, Relaxed);
        }
    }

    /// Has up to so many threads of the current pool do `work`, which takes moves by [`Self::next`] and answers how many
    /// positions it visited.
    pub fn share(self, threads: usize, work: impl Fn(&Self) -> u64 + Sync) -> Outcome {
        let work = || {
            let nodes = work(&self);
            self.outcome.lock().expect("no thread panics with the lock").nodes += nodes;
        };
        rayon::scope(|scope| {
            for _ in 1..threads.min(self.moves.len()) {
                scope.spawn(|_| work());
            }
            work();
        });
        self.outcome.into_inner().expect("no thread panics with the lock")
    }
}

/// Threads for one position; none where the calling one will do. A thread that waits for brothers searches moves of other
/// nodes meanwhile, on top of its own stack, so that is a roomy one.
pub(super) fn team(threads: usize) -> Result<Option<ThreadPool>, ThreadPoolBuildError> {
    let pool = || ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    (threads > 1).then(pool).transpose()
}

const STACK: usize = 16 << 20;
