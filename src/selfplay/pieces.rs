//! How the games of a generation are divided among threads.

use std::ops::Range;

/// Games in a frame: they are handed over, kept and sent together.
pub const FRAME: u32 = 32;

/// Numbers of games, cut into frames, of which only the last may be short.
pub fn frames(numbers: Range<u32>) -> impl Iterator<Item = Range<u32>> {
    numbers.clone().step_by(FRAME as usize).map(move |first| first..first.saturating_add(FRAME).min(numbers.end))
}

/// Games in the smallest pieces: smaller ones would take noticeably longer per game.
const SMALLEST: u32 = 4;

/// The largest number of games that a thread plays in lockstep when searching to `depth`. Shallow searches are so short that fetching a
/// stage's tables into the cache takes a good part of the time unless many games share it: 256 are a sixth faster than 32. From 6 plies
/// on nothing is gained, and a kill would cost more.
pub const fn lockstep(depth: u32) -> u32 {
    if depth <= 5 { 8 * FRAME } else { FRAME }
}

/// Numbers of games in pieces of `most`, smaller towards the end, so that threads that run out of pieces wait less. A piece is whole
/// frames, counted from the first number, or lies within one; only the last frame may be short.
pub fn pieces(numbers: Range<u32>, threads: usize, most: u32) -> Vec<Range<u32>> {
    let mut pieces = Vec::new();
    let mut first = numbers.start;
    while first < numbers.end {
        let left = numbers.end - first;
        let share = left / threads.max(1) as u32;
        // Half of a thread's share of what is left, so that smaller pieces remain to even out the load.
        let fair = (share / 2).max(share.min(FRAME)).clamp(SMALLEST, most);
        let size = 1 << fair.ilog2();
        let place = (first - numbers.start) % FRAME;
        let room = if place == 0 { size } else { FRAME - place };
        let end = first + size.min(room).min(left);
        pieces.push(first..end);
        first = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_all_the_games_in_order_and_whole_frames_or_within_one() {
        for (threads, depth) in [(1, 4), (2, 6), (3, 1), (16, 4), (100, 8)] {
            for numbers in [0..0, 0..1, 5..37, 64..2164, 7..16_391] {
                let most = lockstep(depth);
                let pieces = pieces(numbers.clone(), threads, most);
                assert!(pieces.iter().cloned().flatten().eq(numbers.clone()));
                let frame = |number: u32| (number - numbers.start) / FRAME;
                let is_end = |number: u32| number == numbers.end || (number - numbers.start).is_multiple_of(FRAME);
                for piece in pieces {
                    let is_whole = (piece.start - numbers.start).is_multiple_of(FRAME) && is_end(piece.end);
                    assert!(is_whole || frame(piece.start) == frame(piece.end - 1), "{piece:?} of {numbers:?}");
                    assert!(piece.len() <= most as usize);
                }
            }
        }
    }
}
