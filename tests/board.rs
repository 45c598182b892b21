//! The published perft counts, final scores and transcripts. `board/kernels.rs` tests moves and flips against a naive board.

use flipside::board::{Diagram, Position, Symmetry, Transcript, perft, squares};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

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
