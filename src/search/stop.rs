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
    /// Time for the answer. However short it is, four plies are searched, or three where the number of empty squares is odd.
    pub time: Option<Duration>,
    /// About how many positions to visit for the answer; no fewer than with a short time. What an engine of one thread answers then
    /// depends on nothing else. Several threads may visit more.
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

    /// Given up when a share of what the limits allow, from now on, is used up.
    pub fn after(share: f64, limits: &Limits<'a>) -> Self {
        Self {
            deadline: limits.time.and_then(|time| Instant::now().checked_add(time.mul_f64(share))),
            max_nodes: limits.nodes.map_or(u64::MAX, |nodes| (nodes as f64 * share) as u64),
            ..Self::new(limits.stop)
        }
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
