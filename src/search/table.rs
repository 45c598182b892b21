//! The transposition table of the searches that look ahead to a depth, shared by all threads of a search without locks.
//!
//! An entry is two words. The first holds the position's hash xored with the second (the trick of Robert Hyatt and Timothy
//! Mann, "A lock-less transposition table implementation for parallel search chess engines", 2002): an entry torn by two
//! threads writing at once matches no position.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::board::Bitboard;
use crate::eval::Score;
use crate::memory::prefetch;

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

impl Bound {
    /// The best move found as a bitboard: none unless it is one of `moves`.
    #[inline]
    pub fn best_move(&self, moves: Bitboard) -> Bitboard {
        self.best.filter(|&best| best < 64).map_or(0, |best| 1 << best) & moves
    }
}

/// What an entry's second word holds, as bits from the lowest: generation 16, move 8, depth 8, upper 16, lower 16.
#[derive(Clone, Copy)]
struct Data {
    lower: i16,
    upper: i16,
    depth: u8,
    best: u8,
    generation: u16,
}

const NO_MOVE: u8 = u8::MAX;

impl Data {
    #[inline]
    fn pack(self) -> u64 {
        let Self { lower, upper, depth, best, generation } = self;
        (lower as u16 as u64) << 48
            | (upper as u16 as u64) << 32
            | (depth as u64) << 24
            | (best as u64) << 16
            | generation as u64
    }

    #[inline]
    fn unpack(word: u64) -> Self {
        Self {
            lower: (word >> 48) as i16,
            upper: (word >> 32) as i16,
            depth: (word >> 24) as u8,
            best: (word >> 16) as u8,
            generation: word as u16,
        }
    }
}

#[derive(Default)]
struct Entry {
    check: AtomicU64,
    data: AtomicU64,
}

/// A hash table from positions to bounds. What was stored before [`Table::forget`] is as if it had never been stored, so the
/// results of a search never depend on the games played before it on the same thread.
pub struct Table {
    entries: Box<[Entry]>,
    shift: u32,
    /// Not 0, which is that of entries never written.
    generation: u16,
}

impl Table {
    /// A table of 2^`log2_entries` entries of 16 bytes each.
    ///
    /// # Panics
    /// If `log2_entries` is 0 or above 40.
    pub fn new(log2_entries: u32) -> Self {
        assert!((1..=40).contains(&log2_entries), "a table has 2^1 to 2^40 entries");
        let entries = (0..1usize << log2_entries).map(|_| Entry::default()).collect();
        Self { entries, shift: 64 - log2_entries, generation: 1 }
    }

    /// Forgets everything, in constant time but for every 65,535th call.
    pub fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.entries.fill_with(Entry::default);
            self.generation = 1;
        }
    }

    /// What is known of the position with this well-mixed hash.
    #[inline]
    pub fn probe(&self, hash: u64) -> Option<Bound> {
        let data = self.read(self.entry(hash), hash)?;
        Some(Bound {
            lower: Score(i32::from(data.lower)),
            upper: Score(i32::from(data.upper)),
            depth: u32::from(data.depth),
            best: (data.best != NO_MOVE).then_some(data.best),
        })
    }

    /// Stores the outcome of a search with the window `(alpha, beta)`. Always replaces; of the same position and depth the
    /// bound on the other side is kept.
    #[inline]
    pub fn store(&self, hash: u64, depth: u32, alpha: Score, beta: Score, value: Score, best: Option<u8>) {
        let entry = self.entry(hash);
        let nothing =
            Data { lower: -i16::MAX, upper: i16::MAX, depth: depth as u8, best: NO_MOVE, generation: self.generation };
        let mut data = self.read(entry, hash).filter(|data| u32::from(data.depth) == depth).unwrap_or(nothing);
        if value > alpha {
            data.lower = value.0 as i16;
            data.best = best.unwrap_or(NO_MOVE);
        }
        if value < beta {
            data.upper = value.0 as i16;
        }
        let data = data.pack();
        entry.check.store(hash ^ data, Relaxed);
        entry.data.store(data, Relaxed);
    }

    /// Has the entry of a hash that will soon be probed fetched into the cache.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.entry(hash));
    }

    #[inline]
    fn entry(&self, hash: u64) -> &Entry {
        &self.entries[(hash >> self.shift) as usize]
    }

    #[inline]
    fn read(&self, entry: &Entry, hash: u64) -> Option<Data> {
        let word = entry.data.load(Relaxed);
        let data = Data::unpack(word);
        (entry.check.load(Relaxed) ^ word == hash && data.generation == self.generation).then_some(data)
    }
}
