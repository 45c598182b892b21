//! A transposition table in its simplest form: one entry for each index, always replaced by the newest result.

use flipside::eval::Score;

/// What is known about a node: its value at a depth lies between two bounds.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    hash: u64,
    /// The search that stored it; 0 is none.
    search: u64,
    /// The value is at least this.
    pub lower: Score,
    /// The value is at most this.
    pub upper: Score,
    /// Plies it was searched to.
    pub depth: u32,
    /// The name of the best move, if one was found.
    pub best: Option<u8>,
}

/// A table for one search at a time.
pub(super) struct Table {
    entries: Vec<Entry>,
    search: u64,
}

impl Table {
    /// A table of 2^`log2_entries` entries.
    ///
    /// # Panics
    /// If `log2_entries` is 0 or above 40.
    pub fn new(log2_entries: u32) -> Self {
        assert!((1..=40).contains(&log2_entries), "a table has 2^1 to 2^40 entries");
        let nothing = Entry { hash: 0, search: 0, lower: Score::MIN, upper: Score::MAX, depth: 0, best: None };
        Self { entries: vec![nothing; 1 << log2_entries], search: 1 }
    }

    /// Forgets everything: entries of earlier searches no longer count.
    pub fn forget(&mut self) {
        self.search += 1;
    }

    /// What is known about the node with this hash.
    pub fn probe(&self, hash: u64) -> Option<Entry> {
        let entry = self.entries[self.index(hash)];
        (entry.search == self.search && entry.hash == hash).then_some(entry)
    }

    /// Stores the value that a search with the window `(alpha, beta)` found. If the entry is of the same node and depth, its bound on
    /// the other side is kept.
    pub fn store(&mut self, hash: u64, depth: u32, (alpha, beta): (Score, Score), value: Score, best: Option<u8>) {
        let known = self.probe(hash).filter(|entry| entry.depth == depth);
        let (lower, upper) = (-Score::INFINITY, Score::INFINITY);
        let mut entry = known.unwrap_or(Entry { hash, search: self.search, lower, upper, depth, best: None });
        if value > alpha {
            (entry.lower, entry.best) = (value, best);
        }
        if value < beta {
            entry.upper = value;
        }
        let index = self.index(hash);
        self.entries[index] = entry;
    }

    fn index(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.entries.len().trailing_zeros())) as usize
    }
}
