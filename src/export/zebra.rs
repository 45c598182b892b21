//! Zebra's `coeffs2.bin`.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::engine::Engine;
use super::fault::{Fault, fault, place};
use crate::board::Square;
use crate::pattern::Scalar;

/// The first two words.
const MAGIC: [i16; 2] = [5358, 9793];
/// Words of a stage: constant, odd parity, patterns.
const STAGE: usize = 113_879;
/// A value in the file in Zebra's own unit, 1/128 disc.
const FILE_SCALE: i16 = 4;
/// The number of discs played at which Zebra computes the weights itself: a full board.
const LAST: usize = 60;
/// The most bytes of a plain file: 60 stages.
const LIMIT: usize = 2 * (3 + 60 + 60 * STAGE);

/// The weights for 1 to 59 discs played.
///
/// If the file has no stage for a number of discs played, an odd number is evaluated as the next even one, and an even one by linear
/// interpolation between the stages around it, truncated towards zero as in Zebra. Before the first stage, the first one counts; after
/// the last comes [`full_board`]. This matches Zebra's own evaluation exactly.
pub(super) fn decode(file: &[u8]) -> Result<Vec<Vec<i16>>, Fault> {
    let mut stages = if file.starts_with(&[0x1f, 0x8b]) { read(&unzip(file)?)? } else { read(file)? };
    stages.push((LAST, full_board()));
    Ok((1..LAST).map(|played| at(&stages, played)).collect())
}

fn unzip(file: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut plain = Vec::new();
    let unzipped = MultiGzDecoder::new(file).take(LIMIT as u64 + 1).read_to_end(&mut plain);
    match unzipped {
        Ok(_) => Ok(plain),
        Err(error) => fault(plain.len(), format!("gzip: {error}; counted in the decompressed bytes")),
    }
}

/// The stages of a plain file: discs played, and weights.
fn read(bytes: &[u8]) -> Result<Vec<(usize, Vec<i16>)>, Fault> {
    let words: Vec<i16> = bytes.as_chunks().0.iter().map(|&word| i16::from_be_bytes(word)).collect();
    let [first, second, count, ref body @ ..] = words[..] else {
        return fault(bytes.len(), "cut off within the header of three words");
    };
    if [first, second] != MAGIC {
        return fault(0, "the first two big-endian words are not 5358 and 9793: not a coefficient file of Zebra's");
    }
    if !(2..=60).contains(&count) {
        return fault(4, format!("{count} stages; from 2 to 60 are possible"));
    }
    let count = count as usize - 1;
    let expected = 2 * (3 + count + count * STAGE);
    if bytes.len() != expected {
        return fault(bytes.len().min(expected), format!("{} bytes where {count} stages take {expected}", bytes.len()));
    }
    let (numbers, body) = body.split_at(count);
    for (i, &number) in numbers.iter().enumerate() {
        let lowest = if i == 0 { 0 } else { numbers[i - 1] + 1 };
        if !(lowest..LAST as i16).contains(&number) {
            return fault(6 + 2 * i, format!("stage {number}; stages must rise and be below {LAST}"));
        }
    }
    let order = order();
    let mut stages = Vec::new();
    for (i, values) in body.chunks_exact(STAGE).enumerate() {
        let mut weights = vec![0; Engine::Zebra.layout().weights()];
        let values: Vec<i16> = values.iter().map(|value| value / FILE_SCALE).collect();
        place(&mut weights, &order, &values, |at| 2 * (3 + count + i * STAGE + at))?;
        stages.push((numbers[i] as usize, weights));
    }
    Ok(stages)
}

/// The weights by which Zebra evaluates a number of discs played.
fn at(stages: &[(usize, Vec<i16>)], played: usize) -> Vec<i16> {
    let listed = stages.iter().any(|(stage, _)| *stage == played);
    let played = if listed { played } else { played.next_multiple_of(2) };
    let after =
        stages.iter().position(|(stage, _)| *stage >= played).expect("the last stage is that of the full board");
    let (to, later) = &stages[after];
    if *to == played || after == 0 {
        return later.clone();
    }
    let (from, earlier) = &stages[after - 1];
    let [to, from, played] = [*to as i32, *from as i32, played as i32];
    let between = |(&earlier, &later): (&i16, &i16)| {
        ((i32::from(earlier) * (to - played) + i32::from(later) * (played - from)) / (to - from)) as i16
    };
    earlier.iter().zip(later).map(between).collect()
}

/// The weights Zebra gives a full board, so that patterns sum to the disc difference: each disc counts a disc, shared equally
/// among the pattern instances that see its square, and each configuration is rounded by itself.
fn full_board() -> Vec<i16> {
    let layout = Engine::Zebra.layout();
    let mut seen_by = [0i32; 64];
    for lane in 0..layout.lanes().count() {
        layout.lanes().instance(lane).1.iter().for_each(|square| seen_by[square.index()] += 1);
    }
    // A square is seen 4, 5, 6 or 8 times: in units of 1/120 all shares are whole.
    let share = |square: Square| i32::from(Engine::Zebra.scale()) * 120 / seen_by[square.index()];
    let mut weights = vec![0; layout.weights()];
    let mut slots = layout.weight_of_slot().iter();
    for pattern in &layout.set().patterns {
        for configuration in 0..pattern.configurations() {
            let mut rest = configuration as i32;
            let mut sum = 0;
            for square in pattern.squares() {
                sum += (rest % 3 - 1) * share(square);
                rest /= 3;
            }
            let weight = *slots.next().expect("a slot for each configuration");
            weights[weight as usize] = (sum + 60).div_euclid(120) as i16;
        }
    }
    weights
}

/// The numbers of discs played to list in a file, so that [`decode`] reproduces all of `stages` (1 to 59 discs played): the last stage
/// that can stand for all before it, then each time the farthest from which the stages between are interpolated. So an imported file
/// gets its own stages back.
fn stages_to_list(stages: &[Vec<i16>]) -> Vec<usize> {
    let of = |played: usize| &stages[played - 1];
    let full = (LAST, full_board());
    let mut listed: Vec<usize> = Vec::new();
    // Whether the stages between `before` and `next` are reproduced if both are listed.
    let is_found = |before: Option<usize>, next: usize| {
        let ends = before.into_iter().chain([next]).map(|played| match played {
            LAST => full.clone(),
            _ => (played, of(played).clone()),
        });
        let ends: Vec<_> = ends.collect();
        (before.unwrap_or(0) + 1..next).all(|played| at(&ends, played) == *of(played))
    };
    while listed.last() != Some(&LAST) {
        let before = listed.last().copied();
        // A file lists at least one stage.
        let farthest = if before.is_some() { LAST } else { LAST - 1 };
        let next = (before.unwrap_or(0) + 1..=farthest).rev().find(|&next| is_found(before, next));
        listed.push(next.expect("the next one has nothing before it to be found"));
    }
    listed.pop();
    listed
}

/// The plain file's content, compressed, for the stages of 1 to 59 discs played. Weights are within [`Engine::range`].
pub(super) fn encode(stages: &[Vec<i16>]) -> Vec<u8> {
    let order = order();
    let listed = stages_to_list(stages);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::default());
    let header = MAGIC.into_iter().chain([listed.len() as i16 + 1]).chain(listed.iter().map(|&played| played as i16));
    let listed = listed.iter().map(|played| &stages[played - 1]);
    let values = listed.flat_map(|weights| order.iter().map(|&weight| weights[weight as usize] * FILE_SCALE));
    let bytes: Vec<u8> = header.chain(values).flat_map(i16::to_be_bytes).collect();
    zipped.write_all(&bytes).and_then(|()| zipped.finish()).expect("writing to memory does not fail")
}

/// [`Engine::file_order`] without even parity, which Zebra's files do not have.
fn order() -> Vec<u32> {
    let even = even_parity() as u32;
    Engine::Zebra.file_order().into_iter().filter(|&weight| weight != even).collect()
}

/// The weight that must be 0 in Zebra's files.
pub(super) fn even_parity() -> usize {
    Engine::Zebra.layout().first_weight(Scalar::Parity).expect("Zebra's set has parity")
}
