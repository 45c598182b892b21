//! Random positions for several tests.

use flipside::board::{Position, squares};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Positions with the given number of empty squares from games of random moves, passes and all; games that end before are skipped.
pub fn random_positions(seed: u64, empties: u32, count: usize) -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::new();
    while found.len() < count {
        let mut position = Position::START;
        while position.empties() > empties && !position.is_game_over() {
            let moves = position.moves();
            position = match moves.count_ones() {
                0 => position.pass(),
                n => position.play(squares(moves).nth(rng.random_range(0..n as usize)).unwrap()),
            };
        }
        found.extend((position.empties() == empties).then_some(position));
    }
    found
}
