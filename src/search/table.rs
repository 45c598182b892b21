//! The transposition table of the searches that look ahead to a depth.

use crate::eval::Score;

/// What a table knows of a position: its value at a depth lies between two bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The value is at least this.
    pub lower: Score,
    /// The value is at most this.
    pub upper: Score,
    /// Plies it was searched to.
    pub depth: u32,
    /// The best move found, where one was: the index of a square, or another number below 255.
    pub best: Option<u8>,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    lower: i16,
    upper: i16,
    depth: u8,
    best: u8,
    generation: u16,
}

const NO_MOVE: u8 = u8::MAX;
const NOTHING: Entry = Entry { hash: 0, lower: -i16::MAX, upper: i16::MAX, depth: 0, best: NO_MOVE, generation: 0 };

/// A hash table from positions to bounds. What was stored before [`Table::forget`] is as if it had never been stored, so the
/// results of a search never depend on the games played before it on the same thread.
#[derive(Clone)]
pub struct Table {
    entries: Vec<Entry>,
    shift: u32,
    generation: u16,
}

impl Table {
    /// A table of 2^`log2_entries` entries of 16 bytes each.
    ///
    /// # Panics
    /// If `log2_entries` is 0 or above 40.
    pub fn new(log2_entries: u32) -> Self {
        assert!((1..=40).contains(&log2_entries), "a table has 2^1 to 2^40 entries");
        Self { entries: vec![NOTHING; 1 << log2_entries], shift: 64 - log2_entries, generation: 1 }
    }

    /// Forgets everything, in constant time but for every 65,535th call.
    pub fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.fill(NOTHING);
            self.generation = 1;
        }
    }

    /// What is known of the position with this well-mixed hash.
    #[inline]
    pub fn probe(&self, hash: u64) -> Option<Bound> {
        let entry = &self.entries[(hash >> self.shift) as usize];
        (entry.hash == hash && entry.generation == self.generation).then(|| Bound {
            lower: Score(i32::from(entry.lower)),
            upper: Score(i32::from(entry.upper)),
            depth: u32::from(entry.depth),
            best: (entry.best != NO_MOVE).then_some(entry.best),
        })
    }

    /// Stores the outcome of a search with the window `(alpha, beta)`. Always replaces; bounds for the same position and depth
    /// are intersected.
    #[inline]
    pub fn store(&mut self, hash: u64, depth: u32, alpha: Score, beta: Score, value: Score, best: Option<u8>) {
        let entry = &mut self.entries[(hash >> self.shift) as usize];
        let same = entry.hash == hash && entry.generation == self.generation && u32::from(entry.depth) == depth;
        if !same {
            *entry = Entry { hash, depth: depth as u8, generation: self.generation, ..NOTHING };
        }
        if value > alpha {
            entry.lower = value.0 as i16;
            entry.best = best.unwrap_or(NO_MOVE);
        }
        if value < beta {
            entry.upper = value.0 as i16;
        }
    }
}
