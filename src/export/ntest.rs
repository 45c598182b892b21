//! NTest's `JAa.cof` to `JAj.cof`: evaluator J, set A of its coefficients, ten files.

use std::io;
use std::path::{Path, PathBuf};

use super::engine::Engine;
use super::fault::{Fault, fault, place, words};
use crate::pattern::Scalar;

/// Files of a set of weights.
pub(super) const FILES: usize = 10;
/// Two i32: format and a parameter, the same in all known files.
const HEADER: [u8; 8] = [1, 0, 0, 0, 100, 0, 0, 0];
/// Words of a subset: odd empties, then even.
const SUBSET: usize = 143_655;
const FILE: usize = HEADER.len() + 2 * 2 * SUBSET;
/// NTest clamps pattern values to plus or minus this when it loads them.
const PATTERN_LIMIT: i16 = 16_383;

/// What NTest adds to parity when it loads a file.
fn added_to_parity(file: usize) -> i16 {
    match file {
        ..6 => 0,
        6 => 33,
        _ => 65,
    }
}

/// The name under which a file, 0 to 9, is written. It is not in set A: NTest compares that set with built-in values when it starts,
/// and exits if they differ.
pub(super) fn file_name(file: usize) -> String {
    format!("JB{}.cof", char::from(b'a' + file as u8))
}

/// The set and the number of a file, by its name; `None` if it is not one of NTest's.
pub(super) fn set_and_number(path: &Path) -> Option<(u8, usize)> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    match name.as_bytes() {
        [b'j', set, file @ b'a'..=b'j', b'.', b'c', b'o', b'f'] if set.is_ascii_alphanumeric() => {
            Some((*set, usize::from(file - b'a')))
        }
        _ => None,
    }
}

/// The files of a folder with NTest's names, in order.
pub(super) fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths: io::Result<Vec<_>> = folder.read_dir()?.map(|entry| Ok(entry?.path())).collect();
    let mut files: Vec<_> = paths?.into_iter().filter(|path| set_and_number(path).is_some()).collect();
    files.sort();
    Ok(files)
}

/// The two stages of one file, as NTest evaluates them.
pub(super) fn decode(file: usize, bytes: &[u8]) -> Result<[Vec<i16>; 2], Fault> {
    if !bytes.starts_with(&HEADER) {
        return fault(0, "the first two little-endian i32 are not 1 and 100: not a coefficient file of NTest's");
    }
    if bytes.len() != FILE {
        return fault(bytes.len().min(FILE), format!("{} bytes where a file of NTest's has {FILE}", bytes.len()));
    }
    let layout = Engine::Ntest.layout();
    let order = Engine::Ntest.file_order();
    let (patterns, parity) = bounds();
    let subset = |subset: usize| {
        let first = HEADER.len() + 2 * SUBSET * subset;
        let values: Vec<i16> = words(&bytes[first..first + 2 * SUBSET]).collect();
        let mut weights = vec![0; layout.weights()];
        place(&mut weights, &order, &values, |at| first + 2 * at)?;
        weights[..patterns].iter_mut().for_each(|weight| *weight = (*weight).clamp(-PATTERN_LIMIT, PATTERN_LIMIT));
        weights[parity..parity + 2]
            .iter_mut()
            .for_each(|weight| *weight = weight.saturating_add(added_to_parity(file)));
        Ok(weights)
    };
    Ok([subset(0)?, subset(1)?])
}

/// One file from its two stages. Weights are within [`Engine::range`].
pub(super) fn encode(file: usize, stages: &[Vec<i16>]) -> Vec<u8> {
    let order = Engine::Ntest.file_order();
    let (_, parity) = bounds();
    let mut bytes = Vec::with_capacity(FILE);
    bytes.extend_from_slice(&HEADER);
    for weights in stages {
        let value = |&weight: &u32| {
            let weight = weight as usize;
            weights[weight] - if (parity..parity + 2).contains(&weight) { added_to_parity(file) } else { 0 }
        };
        bytes.extend(order.iter().map(value).flat_map(i16::to_le_bytes));
    }
    bytes
}

/// The number of pattern weights, and the first of the two of parity.
fn bounds() -> (usize, usize) {
    let layout = Engine::Ntest.layout();
    let parity = layout.first_weight(Scalar::Parity).expect("NTest's set has parity");
    (layout.weight_of_slot()[layout.scalars()[0].1] as usize, parity)
}
