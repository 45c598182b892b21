//! Edax's `eval.dat`.

use super::engine::Engine;
use super::fault::{Fault, fault, place, words};

/// Two u32, 0x45444158 and 0x4556414C, little-endian.
const MAGIC: &[u8; 8] = b"XADELAVE";
/// Version, release and build, by convention; Edax only prints them.
const VERSION: [u32; 3] = [3, 2, 5];
/// Magic, version, a date as f64.
const HEADER: usize = 28;
/// Words of a stage.
const STAGE: usize = 114_364;
const FILE: usize = HEADER + 2 * 61 * STAGE;

/// The weights for 0 to 60 discs played.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Vec<i16>>, Fault> {
    if bytes.starts_with(b"EDAXEVAL") {
        return fault(0, "a big-endian eval.dat; only the common little-endian one is read");
    }
    if !bytes.starts_with(MAGIC) {
        return fault(0, "the first eight bytes are not XADELAVE: not an eval.dat of Edax's");
    }
    if bytes.len() != FILE {
        return fault(bytes.len().min(FILE), format!("{} bytes where an eval.dat has {FILE}", bytes.len()));
    }
    let layout = Engine::Edax.layout();
    let order = Engine::Edax.file_order();
    let stages = bytes[HEADER..].chunks_exact(2 * STAGE).enumerate().map(|(stage, values)| {
        let mut weights = vec![0; layout.weights()];
        let values: Vec<i16> = words(values).collect();
        place(&mut weights, &order, &values, |at| HEADER + 2 * (stage * STAGE + at)).map(|()| weights)
    });
    stages.collect()
}

/// The file of 61 stages. Its date is zero, so that equal weights give equal files.
pub(super) fn encode(stages: &[Vec<i16>]) -> Vec<u8> {
    let order = Engine::Edax.file_order();
    let mut bytes = Vec::with_capacity(FILE);
    bytes.extend_from_slice(MAGIC);
    bytes.extend(VERSION.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend_from_slice(&0f64.to_le_bytes());
    for weights in stages {
        bytes.extend(order.iter().flat_map(|&weight| weights[weight as usize].to_le_bytes()));
    }
    bytes
}
