//! All that a run writes and reports goes through here except a fit's checkpoint and the list of workers: writes that fail are retried for
//! some minutes.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::budget::Budget;
use super::directory::{METRICS, RunDirectory};
use super::error::TrainError;
use super::event::{TrainEvent, damaged_line, events, line_of};
use crate::selfplay::Stopped;
use crate::storage::{Disk, FileError, is_transient};

/// Where the events of a run go as they happen.
pub type Sink<'r> = &'r mut (dyn FnMut(&TrainEvent) + Send);

/// The pauses between attempts begin with this many seconds and double, up to the longest.
const FIRST_PAUSE: u64 = 1;
const LONGEST_PAUSE: u64 = 30;

/// Minutes of pauses after which a run gives up.
const PATIENCE: u64 = 5;

/// How often a pause checks whether the run is to stop.
const MOMENT: Duration = Duration::from_millis(100);

/// Writes the run's files and reports its events.
pub(super) struct Keeper<'r> {
    pub directory: RunDirectory,
    pub disk: &'r dyn Disk,
    stop: &'r AtomicBool,
    sink: Sink<'r>,
    metrics: Metrics,
    /// Whether the run ends, and each step has one attempt.
    is_ending: bool,
}

/// What `metrics.jsonl` holds already.
#[derive(Default)]
pub(super) struct Metrics {
    /// Bytes of its whole lines.
    length: u64,
    /// The keys of events that happen once in a run.
    told: HashSet<String>,
    /// The most seconds elapsed in any event, over all sessions.
    pub elapsed: f64,
    /// The budget of the last session, if it had one.
    pub budget: Option<Budget>,
    /// Generations that were learned.
    pub generations: u32,
}

impl<'r> Keeper<'r> {
    pub fn new(
        directory: RunDirectory,
        disk: &'r dyn Disk,
        stop: &'r AtomicBool,
        sink: Sink<'r>,
        metrics: Metrics,
    ) -> Self {
        Self { directory, disk, stop, sink, metrics, is_ending: false }
    }

    /// From now on each step has one attempt.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    /// Whether the run is to stop soon.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Sends the sink an event that is only shown.
    pub fn show(&mut self, event: &TrainEvent) {
        (self.sink)(event);
    }

    /// Sends the sink an event, and adds it to the metrics unless they have it already: after a kill some things happen again.
    pub fn tell(&mut self, event: &TrainEvent) -> Result<(), TrainError> {
        (self.sink)(event);
        if event.is_only_shown() || !self.metrics.is_new(event) {
            return Ok(());
        }
        let line = line_of(event);
        let (path, at) = (self.directory.file(METRICS), self.metrics.length);
        self.metrics.length = self.patiently(&path, |disk| disk.append(&path, at, line.as_bytes()))?;
        Ok(())
    }

    /// Replaces a file of the run directory.
    pub fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), TrainError> {
        let path = self.directory.file(name);
        self.patiently(&path, |disk| disk.replace(&path, bytes))
    }

    /// Renames a file of the run directory.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), TrainError> {
        let (from, to) = (self.directory.file(from), self.directory.file(to));
        self.patiently(&from, |disk| disk.rename(&from, &to))
    }

    /// Retries a step until it succeeds. A transient error is reported once and waited out; any other, or one that lasts longer than
    /// the patience, ends the run.
    pub fn patiently<T>(
        &mut self,
        path: &Path,
        mut step: impl FnMut(&dyn Disk) -> io::Result<T>,
    ) -> Result<T, TrainError> {
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_secs(FIRST_PAUSE);
        loop {
            let error = match step(self.disk) {
                Ok(done) => return Ok(done),
                Err(error) if is_transient(&error) => error,
                Err(error) => return Err(FileError::io(path)(error).into()),
            };
            let minutes = if self.is_ending { 0 } else { PATIENCE };
            if waited >= Duration::from_secs(60 * minutes) {
                return Err(TrainError::OutOfPatience { path: PathBuf::from(path), error, minutes });
            }
            if waited.is_zero() {
                (self.sink)(&TrainEvent::Waiting { file: path.display().to_string(), reason: error.to_string() });
            }
            let mut left = pause;
            while !left.is_zero() {
                if self.is_stopped() {
                    return Err(Stopped.into());
                }
                let moment = left.min(MOMENT);
                self.disk.pause(moment);
                left -= moment;
            }
            waited += pause;
            pause = (2 * pause).min(Duration::from_secs(LONGEST_PAUSE));
        }
    }
}

impl Metrics {
    /// What the bytes of a run's `metrics.jsonl` hold. A last line that was cut off does not count, and is overwritten by the next event.
    ///
    /// # Errors
    /// Another line is not what was written.
    pub fn of(bytes: &[u8], directory: &Path) -> Result<Self, TrainError> {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if let Some(line) = damaged_line(&bytes[..whole]) {
            let reason = format!("line {line} is not what was written; remove it if you have no copy");
            return Err(TrainError::damaged(&directory.join(METRICS), reason));
        }
        let mut metrics = Self { length: whole as u64, ..Self::default() };
        for event in events(&bytes[..whole]) {
            metrics.is_new(&event);
            metrics.elapsed = metrics.elapsed.max(event.elapsed().unwrap_or(0.0));
            match event {
                TrainEvent::Start { budget, .. } => metrics.budget = Some(budget).filter(|budget| !budget.is_none()),
                TrainEvent::Played { generation, .. } => metrics.generations = metrics.generations.max(generation + 1),
                _ => {}
            }
        }
        Ok(metrics)
    }

    /// Whether nothing has happened yet.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Notes an event. True if the file did not have it yet.
    fn is_new(&mut self, event: &TrainEvent) -> bool {
        event.key().is_none_or(|key| self.told.insert(key))
    }
}
