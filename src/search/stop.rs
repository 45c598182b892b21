//! Reasons to give up a search.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A flag that is never set.
pub(super) static NEVER: AtomicBool = AtomicBool::new(false);

/// How long to think.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Plies to look ahead instead of the engine's own depth; without, and with a time, as many as the time allows.
    pub depth: Option<u32>,
    /// Time for the answer. Four plies are always searched, however short it is.
    pub time: Option<Duration>,
    /// Whoever sets this wants an answer at once.
    pub stop: &'a AtomicBool,
}

impl Limits<'static> {
    /// No limits but the engine's own depth.
    pub const NONE: Self = Self { depth: None, time: None, stop: &NEVER };
}

/// A reason to give up a search, within another one that may have its own.
#[derive(Clone, Copy)]
pub(super) struct Stop<'a> {
    pub flag: &'a AtomicBool,
    pub deadline: Option<Instant>,
    pub outer: Option<&'a Stop<'a>>,
}

impl<'a> Stop<'a> {
    /// Given up when a flag is set.
    pub fn new(flag: &'a AtomicBool) -> Self {
        Self { flag, deadline: None, outer: None }
    }

    /// Whether this search or one it is a part of is to be given up.
    pub fn is_set(&self) -> bool {
        self.flag.load(Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.outer.is_some_and(Stop::is_set)
    }
}
