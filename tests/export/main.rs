//! Other engines' weight files, both ways, open layouts, and what must be refused.

mod back;
mod bad_input;
#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod calling;
mod commands;
#[path = "../helpers/mod.rs"]
mod helpers;
mod naive;
mod open_layouts;
mod peers;
mod transfer;

use flipside::board::{Position, Transcript};
use flipside::eval::{Model, StageMap};
use flipside::export::{Engine, ImportError, decode};
use flipside::pattern::PatternSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The positions of two random games that fill the board, or nearly so.
fn positions() -> Vec<Position> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    (0..2).flat_map(|_| Transcript::random(&mut random).steps()).map(|(diagram, _)| diagram.position).collect()
}

fn words(seed: u64, count: usize, limit: i16) -> Vec<i16> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| random.random_range(-limit..=limit)).collect()
}

fn little_endian(words: &[i16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The content of a one-file engine's file as a model.
fn read(engine: Engine, bytes: &[u8]) -> Result<Model, ImportError> {
    decode(engine, &["file".into()], &[bytes.to_vec()])
}

/// A plain file of Zebra's with given stages, and given words for each.
fn zebra_file(stages: &[i16], values: &[i16]) -> Vec<u8> {
    [&[5358, 9793, stages.len() as i16 + 1], stages, values]
        .concat()
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

fn egaroucid_file(values: &[i16]) -> Vec<u8> {
    let mut packed: Vec<i16> = Vec::new();
    for run in values.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if run[0] != 0 {
            packed.extend(run);
        } else {
            packed.extend(run.chunks(28_600).map(|zeros| 4096 + zeros.len() as i16));
        }
    }
    let mut file = (packed.len() as i32).to_le_bytes().to_vec();
    file.extend(little_endian(&packed));
    file
}

/// Random weights for a set, in stages that begin at given numbers of empties.
fn random_model(set: &PatternSet, starts: &[u32], scale: u16, limit: i16, step: i16) -> Model {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let stages = StageMap::grouped(|empties| starts.iter().filter(|&&start| start >= empties).count());
    let mut model = Model::zero(set, &stages, scale).unwrap();
    model.weights.iter_mut().flatten().for_each(|weight| *weight = random.random_range(-limit..=limit) * step);
    model
}
