//! Random positions and an evaluator that knows nothing, for several tests.
#![allow(dead_code)] // No test needs all of them.

use flipside::board::{Bitboard, Position, Square, squares};
use flipside::eval::{Calibration, Evaluator, Score};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The position after so many random plies, passes included; fewer where the game ends before.
pub fn random_walk(rng: &mut impl Rng, plies: u32) -> Position {
    (0..plies).fold(Position::START, |position, _| random_step(rng, position))
}

/// One random ply, or a pass.
fn random_step(rng: &mut impl Rng, position: Position) -> Position {
    let moves = position.moves();
    match moves.count_ones() {
        0 => position.pass(),
        n => position.play(squares(moves).nth(rng.random_range(0..n as usize)).unwrap()),
    }
}

/// Positions with the given number of empty squares from games of random moves, passes and all; games that end before are skipped.
pub fn random_positions(seed: u64, empties: u32, count: usize) -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::new();
    while found.len() < count {
        let mut position = Position::START;
        while position.empties() > empties && !position.is_game_over() {
            position = random_step(&mut rng, position);
        }
        found.extend((position.empties() == empties).then_some(position));
    }
    found
}

/// Says the same of every position, in discs for whoever is to move, and what calibration it is given.
pub struct Always(pub i32, pub Option<Calibration>);

impl Evaluator for Always {
    type State = ();

    fn state(&self, _: &Position) {}

    fn play(&self, (): &(), _: Square, _: Bitboard) {}

    fn pass(&self, (): &()) {}

    fn evaluate(&self, _: &Position, (): &()) -> Score {
        Score::from_discs(self.0)
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.1.as_ref()
    }
}
