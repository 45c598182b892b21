//! The rules against a naive board of 64 cells, and the published perft counts.

use crate::helpers::random_step;
use flipside::board::{Diagram, Position, Square, Symmetry, Transcript, perft, squares};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const DIRECTIONS: [(i32, i32); 8] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)];

/// Flips by walking the eight directions cell by cell.
fn naive_flips(position: Position, to: Square) -> u64 {
    let mut all = 0;
    for (d_column, d_row) in DIRECTIONS {
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

fn naive_moves(position: Position) -> u64 {
    let legal = squares(position.empty()).filter(|&to| naive_flips(position, to) != 0);
    legal.fold(0, |all, to| all | to.bit())
}

fn naive_potential_moves(position: Position) -> u64 {
    let bit_at = |to: Square, steps: i32, (d_column, d_row): (i32, i32)| {
        let (column, row) = (to.index() as i32 % 8 + steps * d_column, to.index() as i32 / 8 + steps * d_row);
        if (0..8).contains(&column) && (0..8).contains(&row) { 1u64 << (8 * row + column) } else { 0 }
    };
    let is_one = |to: &Square| {
        let between = |direction| position.opponent & bit_at(*to, 1, direction) != 0 && bit_at(*to, 2, direction) != 0;
        DIRECTIONS.into_iter().any(between)
    };
    squares(position.empty()).filter(is_one).fold(0, |all, to| all | to.bit())
}

fn check(position: Position) {
    assert_eq!(position.moves(), naive_moves(position), "{position:?}");
    let both = [position, position.pass()].map(naive_moves);
    assert_eq!(position.both_moves(), both, "{position:?}");
    assert_eq!(position.potential_moves(), naive_potential_moves(position), "{position:?}");
    assert_eq!(position.moves() & !position.potential_moves(), 0, "{position:?}");
    for to in squares(position.empty()) {
        assert_eq!(position.flips(to), naive_flips(position, to), "{position:?} {to}");
    }
}

#[test]
fn kernels_equal_the_naive_board_in_random_games() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..2_000 {
        let mut position = Position::START;
        while !position.is_game_over() {
            check(position);
            position = random_step(position, &mut rng);
        }
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
fn last_flips_equal_the_naive_board() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..20_000 {
        let to = Square::new(rng.random_range(0..64));
        let player = rng.next_u64() & !to.bit();
        let position = Position::new(player, !player & !to.bit()).unwrap();
        let naive = [position, position.pass()].map(|position| naive_flips(position, to).count_ones());
        assert_eq!(position.count_last_flips(to), naive, "{position:?}");
    }
}

#[test]
fn perft_counts_are_the_published_ones() {
    let counts = [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284];
    for (depth, count) in counts.into_iter().enumerate() {
        assert_eq!(perft(Position::START, depth as u32), count, "depth {depth}");
    }
}

#[test]
fn perft_is_the_same_under_every_symmetry() {
    let position = "f5d6c3d3c4f4".parse::<Transcript>().unwrap().last().position;
    for symmetry in Symmetry::ALL {
        assert_eq!(perft(symmetry.position(position), 6), perft(position, 6));
    }
}

#[test]
fn final_scores_give_the_empties_to_the_winner() {
    let score = |text: &str| text.parse::<Diagram>().unwrap().position.final_score();
    assert_eq!(score(&format!("{}{} X", "X".repeat(33), "O".repeat(31))), 2);
    assert_eq!(score(&format!("{}{} O", "X".repeat(40), "-".repeat(24))), -64);
    assert_eq!(score(&format!("{}{}{} X", "X".repeat(20), "O".repeat(20), "-".repeat(24))), 0);
    assert_eq!(score(&format!("{}{}{} X", "X".repeat(30), "O".repeat(20), "-".repeat(14))), 24);
}

#[test]
fn transcripts_pass_by_themselves() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut passes = 0;
    for _ in 0..200 {
        let (mut diagram, mut moves) = (Diagram::START, Vec::new());
        while !diagram.position.is_game_over() {
            let legal = diagram.position.moves();
            if legal == 0 {
                diagram = diagram.pass();
                passes += 1;
                continue;
            }
            let to = squares(legal).nth(rng.random_range(0..legal.count_ones() as usize)).unwrap();
            diagram = diagram.try_play(to).unwrap();
            moves.push(to);
        }
        let game = Transcript::from_moves(&moves).unwrap();
        assert_eq!(game.last(), diagram);
        assert_eq!(game.to_string().parse(), Ok(game));
    }
    assert!(passes > 50, "random games pass now and then: {passes}");
}
