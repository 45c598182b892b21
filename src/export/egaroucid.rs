//! Egaroucid's `eval.egev2`, as version 7.8 reads it.

use super::engine::Engine;
use super::fault::{Fault, fault, place, words};

/// Words of a stage: 612,360 of patterns, 65 of own discs.
const STAGE: usize = 612_425;
const STAGES: usize = 60;
/// A word of `RUN + n` stands for n zeros.
const RUN: i16 = 4096;
/// The longest run that is written.
const LONGEST_RUN: usize = 28_600;

/// The weights for 4 to 63 discs.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Vec<i16>>, Fault> {
    let Some((&count, body)) = bytes.split_first_chunk::<4>() else {
        return fault(bytes.len(), "cut off within the number of words, an i32");
    };
    let count = i64::from(i32::from_le_bytes(count));
    if 2 * count != body.len() as i64 {
        return fault(
            0,
            format!("{count} words announced where {} bytes follow: not an eval.egev2, or cut off", body.len()),
        );
    }
    let layout = Engine::Egaroucid.layout();
    let order = Engine::Egaroucid.file_order();
    let mut values = words(body).enumerate().flat_map(|(at, word)| match word {
        RUN.. => std::iter::repeat_n((0, 4 + 2 * at), (word - RUN) as usize),
        _ => std::iter::repeat_n((word, 4 + 2 * at), 1),
    });
    let mut stages = Vec::new();
    for stage in 0..STAGES {
        let (values, offsets): (Vec<i16>, Vec<usize>) = values.by_ref().take(STAGE).unzip();
        if values.len() < STAGE {
            let found = stage * STAGE + values.len();
            return fault(
                bytes.len(),
                format!("the words stand for {found} values where {} are needed", STAGES * STAGE),
            );
        }
        let mut weights = vec![0; layout.weights()];
        place(&mut weights, &order, &values, |at| offsets[at])?;
        stages.push(weights);
    }
    match values.next() {
        Some((_, offset)) => fault(offset, format!("more than {} values", STAGES * STAGE)),
        None => Ok(stages),
    }
}

/// The file of 60 stages. Weights are within [`Engine::range`].
pub(super) fn encode(stages: &[Vec<i16>]) -> Vec<u8> {
    let order = Engine::Egaroucid.file_order();
    let mut packed: Vec<i16> = Vec::new();
    let mut zeros = 0;
    let end_run = |zeros: &mut usize, packed: &mut Vec<i16>| {
        if *zeros > 0 {
            packed.push(RUN + *zeros as i16);
            *zeros = 0;
        }
    };
    for value in stages.iter().flat_map(|weights| order.iter().map(|&weight| weights[weight as usize])) {
        if value != 0 || zeros == LONGEST_RUN {
            end_run(&mut zeros, &mut packed);
        }
        match value {
            0 => zeros += 1,
            _ => packed.push(value),
        }
    }
    end_run(&mut zeros, &mut packed);
    let count = (packed.len() as i32).to_le_bytes();
    count.into_iter().chain(packed.into_iter().flat_map(i16::to_le_bytes)).collect()
}
