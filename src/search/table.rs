//! The transposition table, shared by the threads of a search without locks.
//!
//! An entry is two words. The first holds the position's key xored with the second (Robert Hyatt and Timothy Mann, "A lock-less
//! transposition table implementation for parallel search chess engines", 2002): an entry torn by two threads writing at once
//! matches no key. The bits of the hash that choose the bucket of a position are independent of the key.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::board::{Bitboard, Position, Square};
use crate::memory::{prefer_huge_pages, prefetch};

/// How reliable the bounds of an entry are, or have to be for a search: the higher the better.
pub(super) type Trust = u8;

/// The trust in bounds of a search that never cuts by prediction.
pub(super) const FULL_WIDTH: Trust = 7;

/// What is known about a position. Bounds are in the unit of the search: 1/128 disc in the midgame, discs in the endgame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The value is at least this.
    pub lower: i32,
    /// The value is at most this.
    pub upper: i32,
    /// The best move found and the one before it, as indices of squares, or [`NO_MOVE`].
    pub moves: [u8; 2],
    /// The work that went into it, below 64: plies searched in the midgame, the logarithm of the nodes visited in the endgame. The
    /// entry of a bucket with the smallest draft is replaced.
    pub draft: u8,
    /// How reliable the bounds are.
    pub trust: Trust,
}

/// Stands for no square in [`Entry::moves`].
pub(super) const NO_MOVE: u8 = 64;

impl Entry {
    /// Nothing is known.
    pub const UNKNOWN: Self =
        Self { lower: i16::MIN as i32, upper: i16::MAX as i32, moves: [NO_MOVE; 2], draft: 0, trust: FULL_WIDTH };

    /// The entry for a search that needs `trust`: bounds with less are dropped.
    #[inline]
    pub fn for_trust(self, trust: Trust) -> Self {
        if self.trust >= trust { Self { trust, ..self } } else { Self { moves: self.moves, trust, ..Self::UNKNOWN } }
    }

    /// The bound that decides on which side of `alpha` the value is, if one does.
    #[inline]
    pub fn cutoff(&self, alpha: i32) -> Option<i32> {
        if self.lower > alpha {
            Some(self.lower)
        } else if self.upper <= alpha {
            Some(self.upper)
        } else {
            None
        }
    }

    /// Updates the bounds with the value that a search with the window (`alpha`, `beta`) found.
    #[inline]
    pub fn update(&mut self, value: i32, (alpha, beta): (i32, i32)) {
        if value > alpha {
            self.lower = self.lower.max(value);
        }
        if value < beta {
            self.upper = self.upper.min(value);
        }
    }

    /// Puts a move in front.
    #[inline]
    pub fn prefer(&mut self, best: Square) {
        let best = best.index() as u8;
        if self.moves[0] != best {
            self.moves = [best, self.moves[0]];
        }
    }

    /// The best move found as a bitboard: none unless it is one of `moves`.
    #[inline]
    pub fn hash_move(&self, moves: Bitboard) -> Bitboard {
        if self.moves[0] == NO_MOVE { 0 } else { moves & 1 << self.moves[0] }
    }

    /// Layout of the data word, low to high: generation 9, draft 6, trust 3, moves 7 + 7, upper 16, lower 16.
    #[inline]
    fn pack(self) -> u64 {
        let work = (self.trust as u64) << DRAFT_BITS | self.draft as u64;
        let moves = (self.moves[1] as u64) << 7 | self.moves[0] as u64;
        let bounds = (self.lower as u16 as u64) << 16 | self.upper as u16 as u64;
        bounds << 32 | moves << 18 | work << GENERATION_BITS
    }

    #[inline]
    fn unpack(data: u64) -> Self {
        Self {
            lower: (data >> 48) as i16 as i32,
            upper: (data >> 32) as i16 as i32,
            moves: [(data >> 18) as u8 & 127, (data >> 25) as u8 & 127],
            draft: draft_of(data),
            trust: (data >> (GENERATION_BITS + DRAFT_BITS)) as u8 & 7,
        }
    }
}

const GENERATION_BITS: u32 = 9;
const DRAFT_BITS: u32 = 6;

#[inline]
const fn generation_of(data: u64) -> u64 {
    data & ((1 << GENERATION_BITS) - 1)
}

#[inline]
const fn draft_of(data: u64) -> u8 {
    (data >> GENERATION_BITS) as u8 & ((1 << DRAFT_BITS) - 1)
}

/// An entry in memory.
#[derive(Default)]
pub(super) struct Words {
    check: AtomicU64,
    data: AtomicU64,
}

/// A group of entries, one of which a new entry replaces.
pub(super) trait Bucket: Default {
    /// All of them.
    fn entries(&self) -> &[Words];
}

/// One entry, replaced by every new one: for searches that are over before they fill the table.
#[derive(Default)]
pub(super) struct Single([Words; 1]);

/// Four entries, a cache line: for searches that visit many times more positions than the table has entries.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct CacheLine([Words; 4]);

impl Bucket for Single {
    #[inline]
    fn entries(&self) -> &[Words] {
        &self.0
    }
}

impl Bucket for CacheLine {
    #[inline]
    fn entries(&self) -> &[Words] {
        &self.0
    }
}

/// Where a position belongs in a table.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    bucket: usize,
    key: u64,
}

/// A hash table from positions to entries.
pub(super) struct Table<B> {
    buckets: Box<[B]>,
    /// Never 0, the generation of entries not written yet.
    generation: u64,
}

impl<B> fmt::Debug for Table<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("buckets", &self.buckets.len()).finish_non_exhaustive()
    }
}

impl<B: Bucket> Table<B> {
    /// A table of 2^`log2_entries` entries of 16 bytes, at least one bucket.
    ///
    /// # Panics
    /// If `log2_entries` is above 40.
    pub fn new(log2_entries: u32) -> Self {
        assert!(log2_entries <= 40, "a table has at most 2^40 entries");
        let ways = size_of::<B>() / size_of::<Words>();
        let count = 1usize << log2_entries.saturating_sub(ways.trailing_zeros());
        let mut buckets = Vec::with_capacity(count);
        prefer_huge_pages(buckets.spare_capacity_mut());
        buckets.resize_with(count, B::default);
        Self { buckets: buckets.into_boxed_slice(), generation: 1 }
    }

    /// The size it was made with, rounded up to a whole bucket.
    pub fn log2_entries(&self) -> u32 {
        (size_of_val(&self.buckets[..]) / size_of::<Words>()).trailing_zeros()
    }

    /// Forgets everything: entries of earlier generations count as empty. Only once in 511 calls is the memory cleared.
    pub fn forget(&mut self) {
        self.generation += 1;
        if self.generation >> GENERATION_BITS != 0 {
            self.buckets.fill_with(B::default);
            self.generation = 1;
        }
    }

    /// Where a position belongs.
    #[inline]
    pub fn slot(&self, position: Position) -> Slot {
        let [bucket, key] = position.hashes();
        Slot { bucket: bucket as usize & (self.buckets.len() - 1), key }
    }

    /// Prefetches the entries of a slot that will soon be probed.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.buckets[slot.bucket]);
    }

    /// What is known about the slot's position.
    #[inline]
    pub fn probe(&self, slot: Slot) -> Option<Entry> {
        let entries = self.buckets[slot.bucket].entries();
        for entry in entries {
            let data = entry.data.load(Relaxed);
            if entry.check.load(Relaxed) ^ data == slot.key && generation_of(data) == self.generation {
                return Some(Entry::unpack(data));
            }
        }
        None
    }

    /// Stores an entry over that of the same position, else over an empty one, else over the one with the smallest draft.
    #[inline(always)]
    pub fn store(&self, slot: Slot, entry: Entry) {
        let entries = self.buckets[slot.bucket].entries();
        let mut victim = &entries[0];
        let mut min_price = u32::MAX;
        for words in entries {
            let data = words.data.load(Relaxed);
            let alive = generation_of(data) == self.generation;
            if alive && words.check.load(Relaxed) ^ data == slot.key {
                victim = words;
                break;
            }
            let price = if alive { 1 + draft_of(data) as u32 } else { 0 };
            if price < min_price {
                (min_price, victim) = (price, words);
            }
        }
        let data = entry.pack() | self.generation;
        victim.check.store(slot.key ^ data, Relaxed);
        victim.data.store(data, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Entry = Entry { lower: -6, upper: 40, moves: [19, NO_MOVE], draft: 33, trust: 1 };

    #[test]
    fn every_field_comes_back_as_it_was_stored() {
        let table = Table::<CacheLine>::new(6);
        let slot = table.slot(Position::START);
        assert_eq!(table.probe(slot), None);
        let extremes = [(-8320, 8320), (i16::MIN.into(), i16::MAX.into()), (-1, 0)];
        for (lower, upper) in extremes {
            for moves in [[0, 63], [NO_MOVE, NO_MOVE], [63, 0]] {
                for (draft, trust) in [(0, 0), (63, FULL_WIDTH), (17, 3)] {
                    let entry = Entry { lower, upper, moves, draft, trust };
                    table.store(slot, entry);
                    assert_eq!(table.probe(slot), Some(entry));
                }
            }
        }
    }

    #[test]
    fn bounds_count_for_searches_that_ask_for_no_more_trust() {
        assert_eq!(KNOWN.for_trust(1), KNOWN);
        assert_eq!(KNOWN.for_trust(FULL_WIDTH), Entry { moves: KNOWN.moves, ..Entry::UNKNOWN });
        // Bounds of a full search serve one that needs less trust, but the entry is then trusted no more than that search.
        assert_eq!(Entry { trust: FULL_WIDTH, ..KNOWN }.for_trust(1), KNOWN);
    }

    #[test]
    fn forgotten_entries_are_gone_also_after_generations_wrap() {
        let mut table = Table::<CacheLine>::new(6);
        let slot = table.slot(Position::START);
        for _ in 0..3 << GENERATION_BITS {
            table.store(slot, KNOWN);
            assert_eq!(table.probe(slot), Some(KNOWN));
            table.forget();
            assert_eq!(table.probe(slot), None);
        }
    }

    #[test]
    fn of_a_full_bucket_the_smallest_draft_goes() {
        let table = Table::<CacheLine>::new(2);
        let slot = |key| Slot { bucket: 0, key };
        for (key, draft) in [(1, 9), (2, 63), (3, 2), (4, 10), (5, 4)] {
            table.store(slot(key), Entry { draft, ..KNOWN });
        }
        let present = |key: u64| table.probe(slot(key)).is_some();
        assert_eq!([1, 2, 3, 4, 5].map(present), [true, true, false, true, true]);
    }
}
