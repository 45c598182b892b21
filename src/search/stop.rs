//! Reasons to give up a search.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A flag that is never set.
pub(super) static NEVER: AtomicBool = AtomicBool::new(false);

/// A reason to give up a search, within another one that may have its own.
#[derive(Clone, Copy)]
pub(super) struct Stop<'a> {
    pub flag: &'a AtomicBool,
    pub outer: Option<&'a Stop<'a>>,
}

impl Stop<'_> {
    /// Whether this search or one it is a part of is to be given up.
    pub fn is_set(&self) -> bool {
        self.flag.load(Relaxed) || self.outer.is_some_and(Stop::is_set)
    }
}
