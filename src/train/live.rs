//! What a run is doing now. It stands in the file that the process has locked, so it is believed only while that process runs, and a
//! process that takes the lock overwrites it.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The file that the process that works on a run has locked.
pub const LOCK: &str = "lock";

/// What the process that works on a run is doing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Live {
    /// The process.
    pub pid: u32,
    /// The machine it runs on, if it has a name.
    pub host: String,
    /// What it is doing: `starting`, `playing`, `learning` or `gate`.
    pub doing: String,
    /// The share of it that is done.
    pub done: f64,
    /// Seconds until it is done, at its pace so far.
    pub seconds_left: Option<f64>,
}

impl Default for Live {
    /// This process, before it has done anything.
    fn default() -> Self {
        Self { pid: std::process::id(), host: host_name(), doing: "starting".into(), done: 0.0, seconds_left: None }
    }
}

/// The name of this machine; empty if it has none.
pub fn host_name() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    return std::env::var("COMPUTERNAME").unwrap_or_default();
}

/// Bytes of the state; the rest is filled with spaces, so that it is replaced by one write.
const BYTES: usize = 512;

impl Live {
    /// What the process that holds the lock of a run is doing. `Some(None)` if there is one that does not say.
    pub fn of_run(directory: &Path) -> Option<Option<Self>> {
        let mut lock = File::open(directory.join(LOCK)).ok()?;
        // Trying takes the lock for a moment; a run that begins just then waits.
        if !matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut bytes = vec![0; BYTES];
        let read = lock.read(&mut bytes).unwrap_or(0);
        Some(serde_json::from_slice(&bytes[..read]).ok())
    }

    /// Writes it for a run that this process has locked.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        self.write_to(&File::options().write(true).open(directory.join(LOCK))?)
    }

    pub(super) fn write_to(&self, mut lock: &File) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.resize(BYTES - 1, b' ');
        bytes.push(b'\n');
        lock.rewind()?;
        lock.write_all(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_state_of_a_process_that_runs_is_believed() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(Live::of_run(run.path()), None);
        let lock = File::create(run.path().join(LOCK)).unwrap();
        let live = Live { doing: "learning".into(), done: 0.5, ..Live::default() };
        live.write(run.path()).unwrap();
        assert_eq!(Live::of_run(run.path()), None, "nobody holds the lock");
        lock.lock().unwrap();
        assert_eq!(Live::of_run(run.path()), Some(Some(live)));
        Live::default().write_to(&lock).unwrap();
        assert_eq!(Live::of_run(run.path()).flatten().map(|live| live.doing), Some("starting".to_owned()));
        lock.set_len(0).unwrap();
        assert_eq!(Live::of_run(run.path()), Some(None));
    }
}
