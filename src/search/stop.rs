//! Reasons to give up a search.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A flag that is never set.
pub(super) static NEVER: AtomicBool = AtomicBool::new(false);

/// How long to think.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Depth in plies, in place of the engine's own. With `None` and a limit of time or nodes, as deep as that allows.
    pub depth: Option<u32>,
    /// Time for the answer. Four plies are always searched, however short it is.
    pub time: Option<Duration>,
    /// About how many positions to visit for the answer; four plies are always searched. What an engine of one thread answers then
    /// depends on nothing else. Further threads do not count.
    pub nodes: Option<u64>,
    /// Whoever sets this wants an answer at once.
    pub stop: &'a AtomicBool,
}

impl Limits<'static> {
    /// No limits but the engine's own depth.
    pub const NONE: Self = Self { depth: None, time: None, nodes: None, stop: &NEVER };
}

impl Limits<'_> {
    /// Whether time or nodes decide how deep to look where no depth is asked for.
    pub fn is_open(&self) -> bool {
        self.time.is_some() || self.nodes.is_some()
    }
}

/// A reason to give up a search, within another one that may have its own.
#[derive(Clone, Copy)]
pub(super) struct Stop<'a> {
    pub flag: &'a AtomicBool,
    pub deadline: Option<Instant>,
    /// Positions visited by the thread.
    pub max_nodes: u64,
    pub outer: Option<&'a Stop<'a>>,
}

impl<'a> Stop<'a> {
    /// Given up when a flag is set.
    pub fn new(flag: &'a AtomicBool) -> Self {
        Self { flag, deadline: None, max_nodes: u64::MAX, outer: None }
    }

    /// Whether a search that visited so many positions is to be given up, or one it is a part of.
    pub fn is_set_at(&self, nodes: u64) -> bool {
        nodes >= self.max_nodes || self.is_set()
    }

    /// Whether this search or one it is a part of is to be given up, however many positions it visited.
    pub fn is_set(&self) -> bool {
        self.flag.load(Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.outer.is_some_and(Stop::is_set)
    }
}
