//! What several tests need.
#![allow(dead_code)] // Each takes its part.

use std::fmt::Display;
use std::io::{Write, stderr};

use flipside::board::{Bitboard, Position, Square, squares};
use flipside::eval::{Calibration, Evaluator, Score};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The position after a random move, or after a pass where there is none.
pub fn random_step(position: Position, rng: &mut ChaCha8Rng) -> Position {
    let moves = position.moves();
    match moves.count_ones() {
        0 => position.pass(),
        n => position.play(squares(moves).nth(rng.random_range(0..n as usize)).unwrap()),
    }
}

/// Positions with the given number of empty squares from games of random moves, passes and all; games that end before are left out.
pub fn random_positions(seed: u64, empties: u32, count: usize) -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::new();
    while found.len() < count {
        let mut position = Position::START;
        while position.empties() > empties && !position.is_game_over() {
            position = random_step(position, &mut rng);
        }
        found.extend((position.empties() == empties).then_some(position));
    }
    found
}

/// Gives every position the same value, and has the calibration it is given.
pub struct Constant {
    pub value: Score,
    pub calibration: Option<Calibration>,
}

impl Evaluator for Constant {
    type State = ();

    fn state(&self, _: &Position) {}

    fn play(&self, (): &(), _: Square, _: Bitboard) {}

    fn pass(&self, (): &()) {}

    fn evaluate(&self, _: &Position, (): &()) -> Score {
        self.value
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }
}

/// Says that a test does nothing here, and why. Not by `eprintln!`: nobody sees what a test that passes prints.
pub fn say_skipped(why: impl Display) {
    let test = std::thread::current();
    let _ = writeln!(stderr(), "skipped: {}: {why}", test.name().unwrap_or("a test"));
}
