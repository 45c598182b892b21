//! A new run's first lesson: recorded games and scored positions.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::config::{RecordsConfig, TrainConfig};
use super::error::TrainError;
use super::event::TrainEvent;
use crate::eval::Score;
use crate::learn::{Learner, PassLoss, Sample, SampleSet};
use crate::record::{Fault, Format, Labelled, Labeller, MAX_BYTES, Place, Record, RecordError, read};
use crate::storage::read_bounded;

/// Records that are read and labelled at a time.
const CHUNK: usize = 1 << 13;

/// Samples that are learned together, or a few more: some 50 MB.
const BLOCK: usize = 1 << 21;

/// Bad records of a file that are told of one by one.
const TOLD: u64 = 20;

/// The configuration with the checksums of its record files, by which a run knows its data again.
pub(super) fn sealed(config: &TrainConfig) -> Result<TrainConfig, TrainError> {
    let mut config = config.clone();
    if let Some(records) = &mut config.records {
        let found: Result<Vec<_>, _> = records.files.iter().map(|file| sha256(Path::new(file))).collect();
        let found = found?;
        let wanted = std::mem::replace(&mut records.sha256, found);
        let other = records.files.iter().zip(&records.sha256).zip(&wanted).find(|((_, found), wanted)| found != wanted);
        if let Some(((file, _), _)) = other {
            return Err(TrainError::OtherRecords(file.into()));
        }
    }
    Ok(config)
}

fn contents(path: &Path) -> Result<Vec<u8>, TrainError> {
    Ok(read_bounded(path, "file of records", MAX_BYTES)?)
}

/// The SHA-256 of a file in lower-case hexadecimal.
fn sha256(path: &Path) -> Result<String, TrainError> {
    let bytes = contents(path)?;
    Ok(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Learns files of records one after the other and returns the number of updates; `None` if it was stopped before the end.
pub(super) fn learn(
    config: &RecordsConfig,
    learner: &mut Learner,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&TrainEvent) -> Result<(), TrainError>,
) -> Result<Option<u64>, TrainError> {
    let mut updates = 0;
    for file in &config.files {
        match learn_file(file, config, learner, stop, tell)? {
            Some(more) => updates += more,
            None => return Ok(None),
        }
    }
    Ok(Some(updates))
}

/// Learns a file of records, block by block.
fn learn_file(
    file: &str,
    config: &RecordsConfig,
    learner: &mut Learner,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&TrainEvent) -> Result<(), TrainError>,
) -> Result<Option<u64>, TrainError> {
    let (path, began) = (PathBuf::from(file), Instant::now());
    let bytes = contents(&path)?;
    let format = Format::detect(&bytes);
    let unreadable = |error| TrainError::Records { path: path.clone(), format, error };
    let mut records = read(&bytes, format).map_err(unreadable)?;
    let (mut read, mut left_out, mut positions, mut updates) = (0, 0, 0, 0);
    let (mut block, mut loss) = (SampleSet::default(), PassLoss::default());
    let mut at_end = false;
    while !at_end {
        if stop.load(Relaxed) {
            return Ok(None);
        }
        let chunk: Vec<_> = records.by_ref().take(CHUNK).collect();
        at_end = chunk.is_empty();
        for labelled in labelled(chunk, read, config.exact_empties) {
            read += 1;
            match labelled {
                Ok(positions) => positions.into_iter().for_each(|(position, value)| {
                    block.push(Sample { position, target: Score::from_discs(value) });
                }),
                Err(error) => {
                    left_out += 1;
                    if left_out <= TOLD {
                        tell(&TrainEvent::BadRecord { file: file.to_owned(), reason: error.to_string() })?;
                    }
                }
            }
        }
        if at_end || block.len() >= BLOCK {
            positions += block.len() as u64;
            loss = loss + learner.pass(&block, 1.0)?;
            for _ in 1..config.passes {
                learner.pass(&block, 1.0)?;
            }
            updates += u64::from(config.passes) * block.len() as u64;
            block = SampleSet::default();
        }
    }
    if positions == 0 {
        return Err(TrainError::NoRecords { path, format });
    }
    let (read, loss, seconds) = (read as u64, loss.rmse(), began.elapsed().as_secs_f64());
    tell(&TrainEvent::Records { file: file.to_owned(), read, left_out, positions, loss, seconds })?;
    Ok(Some(updates))
}

/// The positions of each record, of those before them `before` in the file, or why it has none. A position in which the player to
/// move must pass has no evaluation of its own.
fn labelled(
    records: Vec<Result<Record, RecordError>>,
    before: usize,
    exact_empties: u32,
) -> Vec<Result<Labelled, RecordError>> {
    let label = |labeller: &mut Labeller, (i, record): (usize, Result<Record, RecordError>)| {
        let bad = |fault| RecordError { place: Place::Item(before + i + 1), fault };
        let mut labelled = labeller.label(&record?).map_err(bad)?;
        labelled.retain(|(position, _)| position.moves() != 0);
        if labelled.is_empty() { Err(bad(Fault::NoScore)) } else { Ok(labelled) }
    };
    let records = records.into_par_iter().enumerate().with_min_len(64);
    records.map_init(|| Labeller::new(exact_empties), label).collect()
}
