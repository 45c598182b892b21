//! A new run's first lessons: recorded games and scored positions.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::config::{RecordsConfig, TrainConfig};
use super::error::TrainError;
use super::event::TrainEvent;
use super::identity::hex;
use super::keeper::Halt;
use super::run::Run;
use super::state::RecordsProgress;
use crate::eval::Score;
use crate::learn::{Labelled, Labeller, Sample, SampleSet};
use crate::record::{Fault, Format, MAX_BYTES, Place, Record, RecordError, read};
use crate::selfplay::Stopped;
use crate::storage::read_bounded;

/// Records that are read and labelled at a time.
const CHUNK: usize = 1 << 12;

/// Samples that are learned together, or a few more. A kill costs the work on no more than these.
const BLOCK: usize = 1 << 18;

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
    Ok(hex(&Sha256::digest(contents(path)?)))
}

impl Run<'_> {
    /// What is left to do of the records of a new run.
    pub(super) fn learn_records(&mut self) -> Result<(), Halt> {
        let Some(config) = self.config.records.clone() else { return Ok(()) };
        let done = self.state.progress.records.files as usize;
        for file in &config.files[done..] {
            let first = self.state.progress.records.read;
            let mut began = Instant::now();
            let format = read_lessons(file, &config, first, self.stop, |lesson| {
                self.learn_lesson(file, config.passes, lesson)?;
                self.state.progress.records.seconds += began.elapsed().as_secs_f64();
                began = Instant::now();
                self.checkpoint_if_due()
            })?;
            let RecordsProgress { files, read, left_out, loss, seconds } = self.state.progress.records;
            let positions = loss.samples;
            if positions == 0 {
                return Err(TrainError::NoRecords { path: file.into(), format }.into());
            }
            self.state.progress.records = RecordsProgress { files: files + 1, ..RecordsProgress::default() };
            let (file, loss) = (file.clone(), loss.rmse());
            self.keeper.tell(&TrainEvent::Records { file, read, left_out, positions, loss, seconds })?;
            self.checkpoint()?;
        }
        Ok(())
    }

    fn learn_lesson(&mut self, file: &str, passes: u32, lesson: Lesson) -> Result<(), Halt> {
        let progress = &mut self.state.progress;
        for fault in lesson.faults {
            progress.records.left_out += 1;
            if progress.records.left_out <= TOLD {
                self.keeper.tell(&TrainEvent::BadRecord { file: file.to_owned(), reason: fault.to_string() })?;
            }
        }
        progress.records.read += lesson.read;
        for pass in 0..passes {
            let loss = self.state.learner.pass_until(&lesson.samples, 1.0, self.stop)?.ok_or(Stopped)?;
            progress.updates += loss.samples;
            if pass == 0 {
                progress.records.loss = progress.records.loss + loss;
            }
        }
        Ok(())
    }
}

/// Records that were read, the labelled positions of those that can be learned, and why others cannot.
#[derive(Default)]
struct Lesson {
    read: u64,
    samples: SampleSet,
    faults: Vec<RecordError>,
}

/// Reads a file of records from record number `first` on and hands over lessons of some [`BLOCK`] samples until `on_lesson` breaks
/// off. Each ends with a record, so that reading can begin again after it. Answers with what the file looks like.
fn read_lessons(
    file: &str,
    config: &RecordsConfig,
    first: u64,
    stop: &AtomicBool,
    mut on_lesson: impl FnMut(Lesson) -> Result<(), Halt>,
) -> Result<Format, Halt> {
    let path = PathBuf::from(file);
    let bytes = contents(&path)?;
    let format = Format::detect(&bytes);
    let unreadable = |error| TrainError::Records { path: path.clone(), format, error };
    let mut records = read(&bytes, format).map_err(unreadable)?.skip(first as usize);
    let mut lesson = Lesson::default();
    let mut at = first as usize;
    loop {
        let chunk: Vec<_> = records.by_ref().take(CHUNK).collect();
        let at_end = chunk.is_empty();
        at += chunk.len();
        lesson.read += chunk.len() as u64;
        for labelled in labelled(chunk, at, config.exact_empties, stop)? {
            match labelled {
                Ok(positions) => positions.into_iter().for_each(|(position, value)| {
                    lesson.samples.push(Sample { position, target: Score::from_discs(value) });
                }),
                Err(error) => lesson.faults.push(error),
            }
        }
        if at_end || lesson.samples.len() >= BLOCK {
            on_lesson(std::mem::take(&mut lesson))?;
        }
        if at_end {
            return Ok(format);
        }
    }
}

/// The positions of each record, the last of them number `last` of the file from 1, or why it has none. A position in which the
/// player to move must pass has no evaluation of its own.
fn labelled(
    records: Vec<Result<Record, RecordError>>,
    last: usize,
    exact_empties: u32,
    stop: &AtomicBool,
) -> Result<Vec<Result<Labelled, RecordError>>, Stopped> {
    let before = last - records.len();
    let label = |labeller: &mut Labeller, (i, record): (usize, Result<Record, RecordError>)| {
        let bad = |fault| RecordError { place: Place::Item(before + i + 1), fault };
        let mut labelled = labeller.label_until(&record?, stop).map_err(bad)?;
        labelled.retain(|(position, _)| position.moves() != 0);
        if labelled.is_empty() { Err(bad(Fault::NoScore)) } else { Ok(labelled) }
    };
    let label = |labeller: &mut Labeller, record| {
        let labelled = label(labeller, record);
        if stop.load(Relaxed) { Err(Stopped) } else { Ok(labelled) }
    };
    let records = records.into_par_iter().enumerate().with_max_len(64);
    records.map_init(|| Labeller::new(exact_empties), label).collect()
}
