//! Reasons to give up a search.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::board::Position;

/// A flag that is never set.
pub(super) static NEVER: AtomicBool = AtomicBool::new(false);

/// How long to think.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Depth in plies, in place of the engine's own. With `None` and a limit of time or nodes, as deep as that allows.
    pub depth: Option<u32>,
    /// Time for the answer. However short it is, four plies are searched, or three if the depth, which is at most the number of empty
    /// squares, is odd; fewer where the solver takes over.
    pub time: Option<Duration>,
    /// About how many positions to visit for the answer; the plies that [`time`](Self::time) guarantees are searched in any case. With one
    /// thread the answer then depends on nothing else; several threads may visit more.
    pub nodes: Option<u64>,
    /// Set this to get an answer at once.
    pub stop: &'a AtomicBool,
}

impl Limits<'static> {
    /// No limits but the engine's own depth.
    pub const NONE: Self = Self { depth: None, time: None, nodes: None, stop: &NEVER };
}

impl Limits<'_> {
    /// Whether time or nodes decide how deep to search if no depth is given.
    pub fn is_open(&self) -> bool {
        self.time.is_some() || self.nodes.is_some()
    }

    /// Whether thinking about a move would be a waste: there is one only, and time is limited.
    pub(crate) fn are_waste_on(&self, position: &Position) -> bool {
        self.time.is_some() && position.moves().count_ones() == 1
    }
}

/// Reasons to give up a search, which may be part of another one with reasons of its own.
#[derive(Clone, Copy)]
pub(super) struct Stop<'a> {
    pub flag: &'a AtomicBool,
    pub deadline: Option<Instant>,
    /// The number of positions that the thread may visit.
    pub max_nodes: u64,
    pub outer: Option<&'a Stop<'a>>,
}

impl<'a> Stop<'a> {
    /// Given up when a flag is set.
    pub fn new(flag: &'a AtomicBool) -> Self {
        Self { flag, deadline: None, max_nodes: u64::MAX, outer: None }
    }

    /// Given up when what the limits allow, from now on, is used up.
    pub fn at(limits: &Limits<'a>) -> Self {
        Self {
            // None if it is too much time for an `Instant`.
            deadline: limits.time.and_then(|time| Instant::now().checked_add(time)),
            max_nodes: limits.nodes.unwrap_or(u64::MAX),
            ..Self::new(limits.stop)
        }
    }

    /// The same reasons for a part of the search that begins after it visited this many positions.
    pub fn after(self, nodes: u64) -> Self {
        Self { max_nodes: self.max_nodes.saturating_sub(nodes), ..self }
    }

    /// Whether to give up a search that visited this many positions, or one that it is part of.
    pub fn is_set_at(&self, nodes: u64) -> bool {
        nodes >= self.max_nodes || self.is_set()
    }

    /// [`Self::is_set_at`], however many positions the search visited.
    pub fn is_set(&self) -> bool {
        self.flag.load(Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.outer.is_some_and(Stop::is_set)
    }
}
