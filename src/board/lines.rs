//! Flips by tables, for processors with the bit-gathering instructions of BMI2.
//!
//! Each of the four lines through a square is gathered into a byte, looked up in the table for the square's place on the
//! line, and the result is scattered back. The latency from board to flips is lower than with vectors. That matters when
//! the next branch waits for the result: the endgame solver runs a quarter faster.
#![allow(unsafe_code)] // The two instructions and unchecked table lookups: see `gather`, `scatter` and `look`.

use core::arch::x86_64::{_pdep_u64, _pext_u64};

use super::square::{Bitboard, Square};

/// What the functions here need to know about a square.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lines {
    /// The file and the two diagonals, the square included.
    masks: [u64; 3],
    /// Where the tables for its place on these lines and on its row start in [`OUTFLANKING`] and [`FLIPPED`].
    starts: [u16; 4],
    /// The same for [`LAST_FLIPS`], whose tables depend on the length of the line too.
    last_starts: [u16; 4],
}

static LINES: [Lines; 64] = all_lines();

const fn all_lines() -> [Lines; 64] {
    let last_starts = last_starts();
    let mut all = [Lines { masks: [0; 3], starts: [0; 4], last_starts: [0; 4] }; 64];
    let mut square = 0;
    while square < 64 {
        let (column, row) = (square % 8, square / 8);
        let lines = &mut all[square as usize];
        let mut places = [0, 0, 0, column as usize];
        let mut other = 0;
        while other < 64 {
            let (c, r) = (other % 8, other / 8);
            let on_line = [c == column, c - r == column - row, c + r == column + row];
            let mut line = 0;
            while line < 3 {
                if on_line[line] {
                    lines.masks[line] |= 1 << other;
                    places[line] += (other < square) as usize;
                }
                line += 1;
            }
            other += 1;
        }
        let mut line = 0;
        while line < 4 {
            let length = if line < 3 { lines.masks[line].count_ones() as usize } else { 8 };
            lines.starts[line] = 256 * places[line] as u16;
            lines.last_starts[line] = last_starts[length][places[line]];
            line += 1;
        }
        square += 1;
    }
    all
}

/// By place on a line and the opponent's discs on it: the squares on which a disc of the player would outflank some.
static OUTFLANKING: [u8; 8 * 256] = by_place().0;
/// By place on a line and the outflanking discs: the discs between.
static FLIPPED: [u8; 8 * 256] = by_place().1;

const fn by_place() -> ([u8; 8 * 256], [u8; 8 * 256]) {
    let (mut outflanking, mut flipped) = ([0; 8 * 256], [0; 8 * 256]);
    let mut index = 0;
    while index < 8 * 256 {
        let (place, discs) = (index as i32 / 256, index % 256);
        let (up, down) = (run(discs, 8, place, 1), run(discs, 8, place, -1));
        if up != 0 {
            outflanking[index] |= 1 << (place + 1 + up);
        }
        if down != 0 {
            outflanking[index] |= 1 << (place - 1 - down);
        }
        let (up, down) = (run(!discs, 8, place, 1), run(!discs, 8, place, -1));
        flipped[index] = (((1 << up) - 1) << (place + 1) | ((1 << down) - 1) << (place - down)) as u8;
        index += 1;
    }
    (outflanking, flipped)
}

/// The length of the run of set bits of `line` next to `place` in one direction; 0 if it reaches the end of the line.
const fn run(line: usize, length: i32, place: i32, step: i32) -> i32 {
    let (mut at, mut run) = (place + step, 0);
    while at >= 0 && at < length && line >> at & 1 != 0 {
        at += step;
        run += 1;
    }
    if at >= 0 && at < length { run } else { 0 }
}

/// Sum of l x 2^l for l from 1 to 8.
const LAST_FLIPS_SIZE: usize = 3586;

/// For each length of a line and place on it, the start of its table in [`LAST_FLIPS`].
const fn last_starts() -> [[u16; 8]; 9] {
    let mut starts = [[0; 8]; 9];
    let (mut start, mut length) = (0, 1);
    while length <= 8 {
        let mut place = 0;
        while place < length {
            starts[length][place] = start;
            start += 1 << length;
            place += 1;
        }
        length += 1;
    }
    starts
}

/// By the player's discs on a line whose other squares are the opponent's: in the low byte the number of discs that the
/// player turns over on the line by filling the place, in the high byte the number that the opponent would.
static LAST_FLIPS: [u16; LAST_FLIPS_SIZE] = last_flips();

const fn last_flips() -> [u16; LAST_FLIPS_SIZE] {
    let starts = last_starts();
    let mut table = [0; LAST_FLIPS_SIZE];
    let mut length = 1;
    while length <= 8 {
        let mut place = 0;
        while place < length {
            let mut discs = 0;
            while discs < 1 << length {
                let (l, p) = (length as i32, place as i32);
                let mine = run(!discs, l, p, 1) + run(!discs, l, p, -1);
                let theirs = run(discs, l, p, 1) + run(discs, l, p, -1);
                table[starts[length][place] as usize + discs] = (mine | theirs << 8) as u16;
                discs += 1;
            }
            place += 1;
        }
        length += 1;
    }
    table
}

#[inline(always)]
fn gather(squares: Bitboard, mask: u64) -> usize {
    // SAFETY: this file is only compiled for targets with BMI2.
    unsafe { _pext_u64(squares, mask) as usize }
}

#[inline(always)]
fn scatter(line: u8, mask: u64) -> Bitboard {
    // SAFETY: this file is only compiled for targets with BMI2.
    unsafe { _pdep_u64(line as u64, mask) }
}

#[inline(always)]
fn look<T: Copy>(table: &[T], start: u16, line: usize) -> T {
    let index = start as usize + line;
    debug_assert!(index < table.len());
    // SAFETY: `start` comes from LINES and is the start of a table of 2^n entries, where n is the length of the line, or 8;
    // `line` has no more than n bits, because it was gathered by the line's mask or is a byte.
    unsafe { *table.get_unchecked(index) }
}

/// See [`super::Position::flips`].
#[inline(always)]
pub(super) fn flips(player: Bitboard, opponent: Bitboard, to: Square) -> Bitboard {
    let lines = &LINES[to.index()];
    let mut all = 0;
    for (mask, start) in lines.masks.into_iter().zip(lines.starts) {
        let outflanking = look(&OUTFLANKING, start, gather(opponent, mask)) as usize & gather(player, mask);
        all |= scatter(look(&FLIPPED, start, outflanking), mask);
    }
    let row = to.index() & 56;
    let outflanking = look(&OUTFLANKING, lines.starts[3], (opponent >> row & 255) as usize) & (player >> row) as u8;
    all | (look(&FLIPPED, lines.starts[3], outflanking as usize) as u64) << row
}

/// See [`super::Position::count_last_flips`].
#[inline(always)]
pub(super) fn count_last_flips(player: Bitboard, to: Square) -> [u32; 2] {
    let lines = &LINES[to.index()];
    let mut both = look(&LAST_FLIPS, lines.last_starts[3], (player >> (to.index() & 56) & 255) as usize) as u32;
    for (mask, start) in lines.masks.into_iter().zip(lines.last_starts) {
        both += look(&LAST_FLIPS, start, gather(player, mask)) as u32;
    }
    [both & 255, both >> 8]
}
