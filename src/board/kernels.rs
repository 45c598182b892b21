//! Tests of the kernels against a naive board: moves, flips and last flips, the flips by both kernels where the processor has both.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
#[path = "flip.rs"]
mod portable;
#[cfg(not(all(target_arch = "x86_64", target_feature = "bmi2")))]
use super::flip as portable;

#[cfg(all(target_arch = "x86_64", target_feature = "bmi2"))]
use super::square;
use super::{Bitboard, Position, Square, Transcript, flip, squares};

/// Flips by walking the eight directions cell by cell.
fn naive_flips(position: Position, to: Square) -> Bitboard {
    let mut all = 0;
    for (d_column, d_row) in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)] {
        let (mut column, mut row) = (to.index() as i32 % 8 + d_column, to.index() as i32 / 8 + d_row);
        let mut run = 0;
        while (0..8).contains(&column) && (0..8).contains(&row) {
            let bit = 1u64 << (8 * row + column);
            if position.opponent & bit != 0 {
                run |= bit;
            } else {
                if position.player & bit != 0 {
                    all |= run;
                }
                break;
            }
            column += d_column;
            row += d_row;
        }
    }
    all
}

fn naive_moves(position: Position) -> Bitboard {
    let legal = squares(position.empty()).filter(|&to| naive_flips(position, to) != 0);
    legal.fold(0, |all, to| all | to.bit())
}

fn check(position: Position) {
    let Position { player, opponent } = position;
    let both = [position, position.pass()].map(naive_moves);
    assert_eq!([position.moves(), position.opponent_moves()], both, "{position:?}");
    assert_eq!(position.both_moves(), both, "{position:?}");
    for to in squares(position.empty()) {
        let flips = naive_flips(position, to);
        assert_eq!(flip::flips(player, opponent, to), flips, "{position:?} {to}");
        assert_eq!(portable::flips(player, opponent, to), flips, "portable: {position:?} {to}");
    }
}

#[test]
fn kernels_equal_the_naive_board_in_random_games() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..2_000 {
        let game = Transcript::random(&mut rng);
        game.steps().into_iter().for_each(|(before, _)| check(before.position));
        check(game.last().position);
    }
}

#[test]
fn kernels_equal_the_naive_board_on_random_bits() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..50_000 {
        let (a, b) = (rng.next_u64(), rng.next_u64() & rng.next_u64());
        check(Position::new(a & !b, b).unwrap());
        check(Position::new(b, a & !b).unwrap());
    }
}

#[test]
fn last_flips_equal_those_of_the_naive_board() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for to in squares(!0) {
        for round in 0..2_000 {
            // From boards of one side to boards of the other, where runs are long.
            let mut player: Bitboard = rng.random();
            for _ in 0..round % 4 {
                player &= rng.random::<u64>();
            }
            let player = if rng.random() { player } else { !player } & !to.bit();
            let position = Position { player, opponent: !(player | to.bit()) };
            let naive = [position, position.pass()].map(|position| naive_flips(position, to).count_ones());
            assert_eq!(flip::count_last_flips(player, to), naive, "{position:?} {to}");
            assert_eq!(portable::count_last_flips(player, to), naive, "portable: {position:?} {to}");
        }
    }
}
