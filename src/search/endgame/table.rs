//! The transposition table: what has been proved about positions, shared by all threads of a search without locks.
//!
//! An entry is two words. The first holds the position's key xored with the second (the trick of R. Hyatt and T. Mann, "A
//! lock-less transposition-table implementation for parallel search chess engines", 2002): an entry torn by two threads
//! writing at once matches no key. Bits of the hash that choose the bucket are independent of the key.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::selective::{EXACT, Trust};
use crate::board::{Position, Square};
use crate::memory::{prefer_huge_pages, prefetch};

/// What is known of a position's value, and the two moves that did best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The value is at least this.
    pub lower: i8,
    /// The value is at most this.
    pub upper: i8,
    /// The best move found and the one before it, or [`NO_MOVE`].
    pub moves: [u8; 2],
    /// How far the bounds can be relied upon.
    pub trust: Trust,
}

/// Stands for no square in [`Known::moves`].
pub(super) const NO_MOVE: u8 = 64;

impl Known {
    /// Nothing but the rules.
    pub const NOTHING: Self = Self { lower: -64, upper: 64, moves: [NO_MOVE; 2], trust: EXACT };

    /// What is left of it for a search of this trust: bounds with less trust do not count.
    #[inline]
    pub fn for_trust(self, trust: Trust) -> Self {
        if self.trust >= trust { Self { trust, ..self } } else { Self { moves: self.moves, trust, ..Self::NOTHING } }
    }

    /// Takes in the outcome of a search with the null window (`alpha`, `alpha` + 1).
    pub fn learn(&mut self, score: i32, alpha: i32, best: Square) {
        if score > alpha {
            self.lower = self.lower.max(score as i8);
        } else {
            self.upper = self.upper.min(score as i8);
        }
        self.prefer(best);
    }

    /// Puts a move in front.
    pub fn prefer(&mut self, best: Square) {
        let best = best.index() as u8;
        if self.moves[0] != best {
            self.moves = [best, self.moves[0]];
        }
    }
}

const GENERATION_BITS: u32 = 23;
const COST_BITS: u32 = 6;
const TRUST_BITS: u32 = 3;
const _: () = assert!(EXACT < 1 << TRUST_BITS && GENERATION_BITS + COST_BITS + TRUST_BITS == 32);

/// Layout of the data word, low to high: generation 23, cost 6, trust 3, moves 8 + 8, upper 8, lower 8.
fn pack(known: Known, cost: u8, generation: u64) -> u64 {
    let bytes = u32::from_le_bytes([known.moves[0], known.moves[1], known.upper as u8, known.lower as u8]);
    let work = (known.trust as u64) << COST_BITS | cost as u64;
    (bytes as u64) << 32 | work << GENERATION_BITS | generation
}

fn unpack(data: u64) -> Known {
    let [first, second, upper, lower] = ((data >> 32) as u32).to_le_bytes();
    Known {
        lower: lower as i8,
        upper: upper as i8,
        moves: [first, second],
        trust: (data >> (GENERATION_BITS + COST_BITS)) as u8 & ((1 << TRUST_BITS) - 1),
    }
}

const fn generation_of(data: u64) -> u64 {
    data & ((1 << GENERATION_BITS) - 1)
}

const fn cost_of(data: u64) -> u8 {
    (data >> GENERATION_BITS) as u8 & ((1 << COST_BITS) - 1)
}

#[derive(Default)]
struct Entry {
    check: AtomicU64,
    data: AtomicU64,
}

const WAYS: usize = 4;

/// A cache line.
#[derive(Default)]
#[repr(align(64))]
struct Bucket([Entry; WAYS]);

/// Where a position belongs in the table.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    bucket: usize,
    key: u64,
}

/// Multiplies to 128 bits and folds the halves: each bit of the result depends on most bits of both factors.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// See the module's documentation.
pub(super) struct Table {
    buckets: Box<[Bucket]>,
    generation: u64,
}

impl Table {
    /// A table of 2^`log2_entries` entries of 16 bytes, at least one bucket of four.
    pub fn new(log2_entries: u32) -> Self {
        let count = 1usize << log2_entries.saturating_sub(WAYS.trailing_zeros());
        let mut buckets = Vec::with_capacity(count);
        prefer_huge_pages(buckets.spare_capacity_mut());
        buckets.resize_with(count, Bucket::default);
        Self { buckets: buckets.into_boxed_slice(), generation: 1 }
    }

    /// The size it was made with, rounded up to a whole bucket.
    pub fn log2_entries(&self) -> u32 {
        (self.buckets.len() * WAYS).trailing_zeros()
    }

    /// Forgets everything: entries of earlier generations count as empty. Once in 8 million calls it really wipes.
    pub fn forget(&mut self) {
        self.generation += 1;
        if self.generation >> GENERATION_BITS != 0 {
            self.buckets.fill_with(Bucket::default);
            self.generation = 1;
        }
    }

    /// Where a position belongs.
    #[inline]
    pub fn slot(&self, position: Position) -> Slot {
        let (player, opponent) = (position.player, position.opponent.rotate_left(32));
        let bucket = fold(player ^ 0x9e37_79b9_7f4a_7c15, opponent ^ 0xd6e8_feb8_6659_fd93);
        let key = fold(player ^ 0xa076_1d64_78bd_642f, opponent ^ 0xe703_7ed1_a0b4_28db);
        Slot { bucket: bucket as usize & (self.buckets.len() - 1), key }
    }

    /// Begins to fetch what is known of the slot's position, which is soon to be asked for.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.buckets[slot.bucket]);
    }

    /// What is known of the slot's position.
    #[inline]
    pub fn probe(&self, slot: Slot) -> Option<Known> {
        let entries = &self.buckets[slot.bucket].0;
        for entry in entries {
            let data = entry.data.load(Relaxed);
            if entry.check.load(Relaxed) ^ data == slot.key && generation_of(data) == self.generation {
                return Some(unpack(data));
            }
        }
        None
    }

    /// Stores what is known, over the same position's entry, an empty one, or the one that cost least, whichever is there.
    /// `cost` is the logarithm of the work that went into it.
    #[inline]
    pub fn store(&self, slot: Slot, known: Known, cost: u8) {
        let entries = &self.buckets[slot.bucket].0;
        let mut victim = &entries[0];
        let mut least = u32::MAX;
        for entry in entries {
            let data = entry.data.load(Relaxed);
            let alive = generation_of(data) == self.generation;
            if alive && entry.check.load(Relaxed) ^ data == slot.key {
                victim = entry;
                break;
            }
            let price = if alive { 1 + cost_of(data) as u32 } else { 0 };
            if price < least {
                (least, victim) = (price, entry);
            }
        }
        let data = pack(known, cost, self.generation);
        victim.check.store(slot.key ^ data, Relaxed);
        victim.data.store(data, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_say_what_was_stored_for_those_who_trust_it() {
        let table = Table::new(6);
        let slot = table.slot(Position::START);
        assert_eq!(table.probe(slot), None);
        let known = Known { lower: -6, upper: 40, moves: [19, NO_MOVE], trust: 1 };
        for trust in 1..=EXACT {
            table.store(slot, Known { trust, ..known }, 33);
            assert_eq!(table.probe(slot), Some(Known { trust, ..known }));
        }
        assert_eq!(known.for_trust(1), known);
        assert_eq!(known.for_trust(EXACT), Known { moves: known.moves, ..Known::NOTHING });
        // What is proved serves those who ask for less; what they find out is not proved.
        let proved = Known { trust: EXACT, ..known };
        assert_eq!(proved.for_trust(1), known);
    }

    #[test]
    fn forgotten_entries_are_gone() {
        let mut table = Table::new(6);
        let slot = table.slot(Position::START);
        table.store(slot, Known::NOTHING, 63);
        table.forget();
        assert_eq!(table.probe(slot), None);
    }

    #[test]
    fn of_a_full_bucket_the_cheapest_entry_goes() {
        let table = Table::new(2);
        let slot = |key| Slot { bucket: 0, key };
        for (key, cost) in [(1, 9), (2, 63), (3, 2), (4, 10), (5, 4)] {
            table.store(slot(key), Known::NOTHING, cost);
        }
        let present = |key: u64| table.probe(slot(key)).is_some();
        assert_eq!([1, 2, 3, 4, 5].map(present), [true, true, false, true, true]);
    }
}
