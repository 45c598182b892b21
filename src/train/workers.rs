//! The workers of a run on many machines, listed in the run's directory for people to read.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::directory::{MARKER, WORKERS};
use crate::clock::unix_seconds;
use crate::storage::{Disk, LocalDisk, read_bounded};

/// A run's workers, as `workers.json` in its directory lists them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Workers {
    /// When the list was made, in seconds since 1970.
    pub at: u64,
    /// All that were heard from in the coordinator's session.
    pub workers: Vec<WorkerStatus>,
}

/// A worker of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// Its name: host, process and a random number.
    pub name: String,
    /// Threads it plays with.
    pub threads: u32,
    /// Its version.
    pub program: String,
    /// Its games that the run has accepted.
    pub games: u64,
    /// When it was last heard from, in seconds since 1970.
    pub last_sign: u64,
    /// Whether it is working.
    pub present: bool,
}

impl WorkerStatus {
    /// Seconds since it was last heard from.
    pub fn seconds_since_sign(&self) -> u64 {
        unix_seconds().saturating_sub(self.last_sign)
    }
}

impl Workers {
    /// The workers of the run in a directory. `None` if it has had none or the file cannot be read: nothing depends on it.
    pub fn of_run(directory: &Path) -> Option<Self> {
        let bytes = read_bounded(&directory.join(WORKERS), "list of workers", 1 << 24).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the list into the directory of a run that has begun; if that fails, the next call writes it.
    pub fn write_to_run(&self, directory: &Path) {
        if directory.join(MARKER).exists() {
            let text = serde_json::to_vec_pretty(self).expect("plain data");
            let _ = LocalDisk.replace(&directory.join(WORKERS), &text);
        }
    }
}
