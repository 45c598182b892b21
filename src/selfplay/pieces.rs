//! How the games of a generation are shared out among threads.

use std::ops::Range;

/// Games that a thread plays in step.
pub const LOCKSTEP: u32 = 32;

/// Games of the smallest pieces: smaller ones would take noticeably longer for each game.
const SMALLEST: u32 = 4;

/// Numbers of games in pieces of [`LOCKSTEP`], and of less towards the end: threads that run out of pieces then wait for less. Pieces
/// never lie across a multiple of [`LOCKSTEP`], counted from the first number.
pub fn pieces(numbers: Range<u32>, threads: usize) -> Vec<Range<u32>> {
    let mut pieces = Vec::new();
    let mut first = numbers.start;
    while first < numbers.end {
        let left = numbers.end - first;
        let fair = (left / threads.max(1) as u32).clamp(SMALLEST, LOCKSTEP);
        let size = 1 << fair.ilog2();
        let until_boundary = LOCKSTEP - (first - numbers.start) % LOCKSTEP;
        let end = first + size.min(until_boundary).min(left);
        pieces.push(first..end);
        first = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_all_the_games_in_order_and_stay_within_their_frame() {
        for threads in [1, 2, 3, 16, 100] {
            for numbers in [0..0, 0..1, 5..37, 64..2164, 7..16_391] {
                let pieces = pieces(numbers.clone(), threads);
                assert!(pieces.iter().cloned().flatten().eq(numbers.clone()));
                let frame = |number: u32| (number - numbers.start) / LOCKSTEP;
                assert!(pieces.iter().all(|piece| frame(piece.start) == frame(piece.end - 1)));
            }
        }
    }
}
