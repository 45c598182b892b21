//! Discs that can never be turned over again: a bound on what the other player can still reach.
//!
//! On an edge the stable discs are known exactly, from a table of all its configurations (after the table of edges' values in Paul
//! Rosenbloom, "A world-championship-level Othello program", 1982). Elsewhere a disc counts as stable if along each of its four lines
//! the line is full or a neighbour is a stable disc of the same colour.

use std::sync::LazyLock;

use crate::board::{Bitboard, FILE_A, FILE_H, INNER_FILES, INNER_RANKS, Position, STEP};

/// For each configuration of an edge, by [`edge_index`], the player's stable discs.
static EDGES: LazyLock<Box<[u8; 6561]>> = LazyLock::new(all_edges);

/// Fills the table, which would otherwise happen in the first search.
pub(super) fn prepare() {
    LazyLock::force(&EDGES);
}

/// Sum of 3^i over the set bits i of a byte.
static TERNARY: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 1;
    while byte < 256 {
        table[byte] = 3 * table[byte / 2] + (byte % 2) as u16;
        byte += 1;
    }
    table
};

#[inline]
fn edge_index(player: u8, opponent: u8) -> usize {
    TERNARY[player as usize] as usize + 2 * TERNARY[opponent as usize] as usize
}

/// Fills the table from full edges down: a disc is stable if, after any disc put on an empty square by either player, whether
/// or not that turns discs over along the edge, it has kept its colour and is still stable.
fn all_edges() -> Box<[u8; 6561]> {
    let mut table = Box::new([0; 6561]);
    let mut by_discs: Vec<(u8, u8)> =
        (0..=255u8).flat_map(|p| (0..=255u8).filter(move |o| p & o == 0).map(move |o| (p, o))).collect();
    by_discs.sort_by_key(|(p, o)| std::cmp::Reverse((p | o).count_ones()));
    for (player, opponent) in by_discs {
        let empty = !(player | opponent);
        let mut stable = player;
        for place in (0..8).filter(|place| empty >> place & 1 != 0) {
            let flips = edge_flips(player, opponent, place);
            stable &= table[edge_index(player | 1 << place | flips, opponent & !flips)];
            let flips = edge_flips(opponent, player, place);
            stable &= table[edge_index(player & !flips, opponent | 1 << place | flips)];
        }
        table[edge_index(player, opponent)] = stable;
    }
    table
}

/// The flips of a move on a single line of eight.
fn edge_flips(player: u8, opponent: u8, place: i32) -> u8 {
    let mut all = 0;
    for step in [1, -1] {
        let (mut at, mut run) = (place + step, 0u8);
        while (0..8).contains(&at) && opponent >> at & 1 != 0 {
            run |= 1 << at;
            at += step;
        }
        if (0..8).contains(&at) && player >> at & 1 != 0 {
            all |= run;
        }
    }
    all
}

/// The eight squares of the a-file as a byte, a1 lowest.
#[inline]
fn file_a(squares: Bitboard) -> u8 {
    ((squares & FILE_A).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// A byte spread over the a-file: the inverse of [`file_a`].
#[inline]
fn to_file_a(byte: u8) -> Bitboard {
    let low = (byte as u64 & 0x7f).wrapping_mul(0x0002_0408_1020_4081) & FILE_A;
    low | (byte as u64 >> 7) << 56
}

/// The player's stable discs on the four edges.
#[inline(always)]
pub(super) fn stable_edges(position: Position) -> Bitboard {
    let Position { player, opponent } = position;
    let edges = &EDGES;
    let edge = |p: u8, o: u8| edges[edge_index(p, o)];
    let bottom = edge(player as u8, opponent as u8) as u64;
    let top = (edge((player >> 56) as u8, (opponent >> 56) as u8) as u64) << 56;
    let left = to_file_a(edge(file_a(player), file_a(opponent)));
    let right = to_file_a(edge(file_a(player >> 7), file_a(opponent >> 7))) << 7;
    bottom | top | left | right
}

/// Squares that can be reached by 1, 2 and 4 steps to higher bits without leaving the line, for each lane.
const FROM_LOWER: [[u64; 4]; 3] = [
    [!FILE_A, !0, !FILE_A, !FILE_H],
    [!(FILE_A * 3), !0, !(FILE_A * 3), !((FILE_A * 3) << 6)],
    [!(FILE_A * 15), !0, !(FILE_A * 15), !((FILE_A * 15) << 4)],
];
/// The same for steps to lower bits.
const FROM_HIGHER: [[u64; 4]; 3] = [
    [!FILE_H, !0, !FILE_H, !FILE_A],
    [!((FILE_A * 3) << 6), !0, !((FILE_A * 3) << 6), !(FILE_A * 3)],
    [!((FILE_A * 15) << 4), !0, !((FILE_A * 15) << 4), !(FILE_A * 15)],
];

/// For each of the four directions, the squares whose whole line holds no empty square.
#[inline]
fn full_lines(empty: Bitboard) -> [Bitboard; 4] {
    let mut full = [0; 4];
    for lane in 0..4 {
        let step = STEP[lane];
        let (mut up, mut down) = (empty, empty);
        for (doubling, steps) in [1, 2, 4].into_iter().enumerate() {
            up |= (up << (steps * step)) & FROM_LOWER[doubling][lane];
            down |= (down >> (steps * step)) & FROM_HIGHER[doubling][lane];
        }
        full[lane] = !(up | down);
    }
    full
}

const INNER: u64 = INNER_FILES & INNER_RANKS;

/// A lower bound on the number of the player's discs that no continuation turns over.
fn stable_discs(position: Position) -> u32 {
    let full = full_lines(position.empty());
    let inner = position.player & INNER;
    let mut stable = stable_edges(position) | (inner & full[0] & full[1] & full[2] & full[3]);
    loop {
        let safe = |lane: usize| stable << STEP[lane] | stable >> STEP[lane] | full[lane];
        let more = inner & !stable & safe(0) & safe(1) & safe(2) & safe(3);
        if more == 0 {
            return stable.count_ones();
        }
        stable |= more;
    }
}

/// The best value the player can still reach, if the opponent's stable discs keep it to `alpha` or less.
#[inline]
pub(super) fn stability_bound(position: Position, alpha: i32) -> Option<i32> {
    if alpha < 10 || position.opponent.count_ones() as i32 * 2 < 64 - alpha {
        return None;
    }
    let bound = 64 - 2 * stable_discs(position.pass()) as i32;
    (bound <= alpha).then_some(bound)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::{Square, squares};

    /// The discs of `own` that no continuation turns over, whoever moves and however often, found by trying them all.
    fn naive(own: Bitboard, other: Bitboard) -> Bitboard {
        let mut kept = own;
        for (player, opponent) in [(own, other), (other, own)] {
            let position = Position::new(player, opponent).unwrap();
            for to in squares(position.moves()) {
                let flips = position.flips(to);
                let (player, opponent) = (player | flips | to.bit(), opponent & !flips);
                kept &= if position.player == own { naive(player, opponent) } else { naive(opponent, player) };
            }
        }
        kept
    }

    #[test]
    fn stable_discs_are_never_turned_over() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut stable = 0;
        for _ in 0..2_000 {
            let empty = (0..5).fold(0, |empty, _| empty | Square::new(rng.random_range(0..64)).bit());
            let player: u64 = (rng.random::<u64>() | rng.random::<u64>()) & !empty;
            let position = Position::new(player, !player & !empty).unwrap();
            let truth = naive(position.player, position.opponent);
            assert_eq!(stable_edges(position) & !truth, 0, "{position:?}");
            assert!(stable_discs(position) <= truth.count_ones(), "{position:?}");
            stable += stable_discs(position);
        }
        assert!(stable > 2_000, "{stable} stable discs are too few for a bound of any use");
    }
}
