//! Helpers for several tests.
#![allow(dead_code)] // Each test crate uses a part.

use std::fmt::Display;
use std::io::{Write, stderr};

use flipside::board::{Bitboard, Position, Square, squares};
use flipside::eval::{Calibration, Evaluator, Head, HiddenLayer, Model, Score, UNITS};
use flipside::pattern::Layout;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The position after a random move, or after a pass if there is none.
pub fn random_step(position: Position, rng: &mut ChaCha8Rng) -> Position {
    let moves = position.moves();
    match moves.count_ones() {
        0 => position.pass(),
        n => position.play(squares(moves).nth(rng.random_range(0..n as usize)).unwrap()),
    }
}

/// Positions with the given number of empty squares from games of random moves, passes included; games that end earlier are left out.
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

/// Gives a model a random hidden layer: rows of any numbers for all patterns but the first, in two tables that the stages use in turn,
/// biases up to the limit, and outputs of both signs within a limit.
pub fn add_hidden_layer(model: &mut Model, seed: u64, output: i16) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (stages, weights) = (model.weights.len(), model.weights[0].len());
    let mut head = || Head {
        // Two units are always on or always off, the others mostly in between.
        bias: std::array::from_fn(|unit| match unit {
            0 => HiddenLayer::MAX_BIAS,
            1 => -HiddenLayer::MAX_BIAS,
            _ => rng.random_range(-600..=600),
        }),
        output: std::array::from_fn(|_| rng.random_range(-output..=output)),
    };
    let heads = (0..stages).map(|_| head()).collect();
    let rows_of_stage = (0..stages).map(|stage| stage as u8 % 2).collect();
    let first = Layout::new(&model.set).unwrap().weights_of(0);
    let mut row = |weight| if first.contains(&weight) { [0; UNITS] } else { [(); UNITS].map(|()| rng.random()) };
    let rows = (0..2).map(|_| (0..weights).map(&mut row).collect()).collect();
    model.hidden = Some(HiddenLayer { rows_of_stage, rows, heads });
}

/// Gives every position the same value, and has a given calibration.
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

/// Reports that a test is skipped, and why. Not by `eprintln!`: the output of a passing test is not shown.
pub fn say_skipped(why: impl Display) {
    let test = std::thread::current();
    let _ = writeln!(stderr(), "skipped: {}: {why}", test.name().unwrap_or("a test"));
}
