//! A new run's first lessons: recorded games and scored positions.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::config::{RecordsConfig, TrainConfig};
use super::error::TrainError;
use super::event::TrainEvent;
use super::identity::Identity;
use super::run::Run;
use super::state::RecordsProgress;
use crate::label::RecordFile;
use crate::learn::SampleSet;
use crate::record::{MAX_BYTES, MAX_REPORTED, RecordError};
use crate::selfplay::Stopped;
use crate::storage::{read_bounded, sha256};

/// The configuration with the checksums of its record files, by which a run recognizes its data.
pub(super) fn with_checksums(config: &TrainConfig) -> Result<TrainConfig, TrainError> {
    let mut config = config.clone();
    if let Some(records) = &mut config.records {
        let checksum = |file: &String| contents(Path::new(file)).map(|bytes| sha256(&bytes));
        let found: Result<Vec<_>, _> = records.files.iter().map(checksum).collect();
        let found = found?;
        let wanted = std::mem::replace(&mut records.sha256, found);
        let other = records.files.iter().zip(&records.sha256).zip(&wanted).find(|((_, found), wanted)| found != wanted);
        if let Some(((file, _), _)) = other {
            return Err(TrainError::OtherRecords(file.into()));
        }
    }
    Ok(config)
}

/// Checks, before a run begins, that each of its record files has something to learn from.
pub(super) fn check(config: &TrainConfig, identity: &Identity) -> Result<(), TrainError> {
    let records = config.records.as_ref().filter(|_| identity.continues.is_empty());
    let Some(RecordsConfig { files, exact_empties, .. }) = records else { return Ok(()) };
    for path in files.iter().map(Path::new) {
        let bytes = contents(path)?;
        RecordFile::new(path, &bytes, 0, *exact_empties)?.has_lesson()?;
    }
    Ok(())
}

fn contents(path: &Path) -> Result<Vec<u8>, TrainError> {
    Ok(read_bounded(path, "file of records", MAX_BYTES)?)
}

impl Run<'_> {
    /// Learns what is left of the records of a new run.
    pub(super) fn learn_records(&mut self) -> Result<(), TrainError> {
        // A run that continues another one begins after that one's records.
        let records = self.config.records.clone().filter(|_| self.identity.continues.is_empty());
        let Some(config) = records else { return Ok(()) };
        let done = self.state.progress.records.files as usize;
        for (file, wanted) in config.files.iter().zip(&config.sha256).skip(done) {
            let first = self.state.progress.records.read;
            let mut began = Instant::now();
            let bytes = contents(Path::new(file))?;
            if sha256(&bytes) != *wanted {
                return Err(TrainError::OtherRecords(file.into()));
            }
            let mut records = RecordFile::new(Path::new(file), &bytes, first, config.exact_empties)?;
            read_lessons(&mut records, self.stop, |lesson| {
                self.learn_lesson(file, config.passes, lesson)?;
                self.state.progress.records.seconds += began.elapsed().as_secs_f64();
                began = Instant::now();
                self.checkpoint_if_due()
            })?;
            let RecordsProgress { files, read, left_out, loss, seconds } = self.state.progress.records;
            let positions = loss.samples;
            if positions == 0 {
                return Err(records.no_lesson().into());
            }
            self.state.progress.records = RecordsProgress { files: files + 1, ..RecordsProgress::default() };
            let (file, loss) = (file.clone(), loss.rmse());
            self.keeper.tell(&TrainEvent::Records { file, read, left_out, positions, loss, seconds })?;
            self.checkpoint()?;
        }
        Ok(())
    }

    fn learn_lesson(&mut self, file: &str, passes: u32, lesson: Lesson) -> Result<(), TrainError> {
        let progress = &mut self.state.progress;
        let unreported = MAX_REPORTED.saturating_sub(progress.records.left_out) as usize;
        for fault in lesson.first_faults.iter().take(unreported) {
            self.keeper.tell(&TrainEvent::BadRecord { file: file.to_owned(), reason: fault.to_string() })?;
        }
        progress.records.left_out += lesson.left_out;
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

/// Records that were read: how many, the samples of those that can be learned, how many cannot, and why the first of these.
#[derive(Default)]
struct Lesson {
    read: u64,
    samples: SampleSet,
    left_out: u64,
    /// No more than [`MAX_REPORTED`].
    first_faults: Vec<RecordError>,
}

impl Lesson {
    fn leave_out(&mut self, fault: RecordError) {
        self.left_out += 1;
        if self.left_out <= MAX_REPORTED {
            self.first_faults.push(fault);
        }
    }
}

/// Hands over lessons until `on_lesson` fails. Each ends with a record, so that reading can resume after it.
fn read_lessons(
    records: &mut RecordFile<'_>,
    stop: &AtomicBool,
    mut on_lesson: impl FnMut(Lesson) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    let (mut lesson, least_samples) = (Lesson::default(), if records.is_slow() { 1 << 12 } else { 1 << 18 });
    loop {
        let labelled = records.next(stop).ok_or(Stopped)?;
        let at_end = labelled.is_empty();
        lesson.read += labelled.len() as u64;
        for labelled in labelled {
            match labelled {
                Ok(samples) => samples.into_iter().for_each(|sample| lesson.samples.push(sample)),
                Err(error) => lesson.leave_out(error),
            }
        }
        if at_end || lesson.samples.len() >= least_samples {
            on_lesson(std::mem::take(&mut lesson))?;
        }
        if at_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_bad_records_only_the_first_are_kept() {
        let text = "x\n".repeat(10_000);
        let mut records = RecordFile::new(Path::new("bad.txt"), text.as_bytes(), 0, 0).unwrap();
        let (mut left_out, mut kept) = (0, 0);
        let read = read_lessons(&mut records, &AtomicBool::new(false), |lesson| {
            (left_out, kept) = (left_out + lesson.left_out, kept + lesson.first_faults.len() as u64);
            Ok(())
        });
        assert!(read.is_ok());
        assert_eq!((left_out, kept), (10_000, MAX_REPORTED));
    }
}
