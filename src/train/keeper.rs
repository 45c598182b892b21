//! All that a run writes and reports goes through here except a fit's checkpoint and the list of workers: writes that fail are retried for
//! some minutes.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use super::directory::{METRICS, RunDirectory};
use super::error::TrainError;
use super::event::{TrainEvent, events};
use super::request::Budget;
use crate::selfplay::Stopped;
use crate::storage::{Disk, FileError, is_transient};

/// Where the events of a run go as they happen.
pub type Sink<'r> = &'r mut (dyn FnMut(&TrainEvent) + Send);

/// Why a run ends before its budget does.
pub(super) enum Halt {
    /// It was stopped.
    Stopped,
    /// It cannot continue.
    Failed(TrainError),
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

impl<E: Into<TrainError>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

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
    low_room_told: bool,
    /// Minutes of pauses after which it gives up.
    patience: u64,
}

/// What `metrics.jsonl` holds already.
#[derive(Default)]
pub(super) struct Metrics {
    /// Bytes of its whole lines.
    length: u64,
    /// The keys of events that happen once in a run.
    told: HashSet<String>,
    /// By generation, the changes of the configuration that were reported last.
    amended: HashMap<u32, Vec<String>>,
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
        Self { directory, disk, stop, sink, metrics, low_room_told: false, patience: PATIENCE }
    }

    /// From now on each step has one attempt: the run ends.
    pub fn lose_patience(&mut self) {
        self.patience = 0;
    }

    /// Whether the run is to stop soon.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Sends the sink an event that is only shown.
    pub fn show(&mut self, event: &TrainEvent) {
        (self.sink)(event);
    }

    /// Sends the sink an event, and adds it to the metrics unless they have it already: after a kill some things happen again. A change
    /// of the configuration is reported once.
    pub fn tell(&mut self, event: &TrainEvent) -> Result<(), Halt> {
        let is_new = self.metrics.is_new(event);
        if is_new || !matches!(event, TrainEvent::Amended { .. }) {
            (self.sink)(event);
        }
        if event.is_only_shown() || !is_new {
            return Ok(());
        }
        let mut line = serde_json::to_string(event).expect("events are plain data");
        line.push('\n');
        let (path, at) = (self.directory.file(METRICS), self.metrics.length);
        self.metrics.length = self.patiently(&path, |disk| disk.append(&path, at, line.as_bytes()))?;
        Ok(())
    }

    /// Replaces a file of the run directory.
    pub fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), Halt> {
        let path = self.directory.file(name);
        self.patiently(&path, |disk| disk.replace(&path, bytes))
    }

    /// Renames a file of the run directory.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Halt> {
        let (from, to) = (self.directory.file(from), self.directory.file(to));
        self.patiently(&from, |disk| disk.rename(&from, &to))
    }

    /// Reports, once, if the disk has no room for `needed` bytes of games.
    pub fn look_at_room(&mut self, needed: u64) -> Result<(), Halt> {
        match self.disk.room(self.directory.path()) {
            Ok(room) if needed > room && !self.low_room_told => {
                self.low_room_told = true;
                self.tell(&TrainEvent::LowRoom { needed, room })
            }
            _ => Ok(()),
        }
    }

    /// Retries a step until it succeeds. A transient error is reported once and waited out; any other, or one that lasts longer than
    /// the patience, ends the run.
    pub fn patiently<T>(&mut self, path: &Path, mut step: impl FnMut(&dyn Disk) -> io::Result<T>) -> Result<T, Halt> {
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_secs(FIRST_PAUSE);
        loop {
            let error = match step(self.disk) {
                Ok(done) => return Ok(done),
                Err(error) if is_transient(&error) => error,
                Err(error) => return Err(FileError::io(path)(error).into()),
            };
            if waited >= Duration::from_secs(60 * self.patience) {
                let path = PathBuf::from(path);
                return Err(TrainError::OutOfPatience { path, error, minutes: self.patience }.into());
            }
            if waited.is_zero() {
                (self.sink)(&TrainEvent::Waiting { file: path.display().to_string(), reason: error.to_string() });
            }
            let mut left = pause;
            while !left.is_zero() {
                if self.is_stopped() {
                    return Err(Halt::Stopped);
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
    /// What the bytes of `metrics.jsonl` hold. A last line that was cut off does not count, and is overwritten by the next event.
    pub fn of(bytes: &[u8]) -> Self {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut metrics = Self { length: whole as u64, ..Self::default() };
        for event in events(&bytes[..whole]) {
            metrics.is_new(&event);
            metrics.elapsed = metrics.elapsed.max(event.elapsed().unwrap_or(0.0));
            match event {
                TrainEvent::Start { budget, .. } => metrics.budget = Some(budget).filter(|budget| !budget.is_none()),
                TrainEvent::Learned { generation, .. } => metrics.generations = metrics.generations.max(generation + 1),
                _ => {}
            }
        }
        metrics
    }

    /// Notes an event. True if the file did not have it yet.
    fn is_new(&mut self, event: &TrainEvent) -> bool {
        match event {
            // A change that no generation has followed yet can be taken back.
            TrainEvent::Amended { generation, changes } => {
                self.amended.insert(*generation, changes.clone()).as_ref() != Some(changes)
            }
            _ => event.key().is_none_or(|key| self.told.insert(key)),
        }
    }
}
