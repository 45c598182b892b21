//! The run directory: its lock, its files, and the checkpoint.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::TrainError;
use super::journal;
use crate::eval::{ModelError, StageMap};
use crate::learn::LearnerState;
use crate::storage::{Container, Packing, blob, remove_temporaries};

/// The checkpoint of a run: all that is needed to go on after `generation` generations, but for the journals.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// The configuration as TOML: a run goes on with what it began with.
    pub config: String,
    /// Generations learned.
    pub generation: u32,
    /// Games played in these.
    pub games: u64,
    /// Labelled positions of these games.
    pub positions: u64,
    /// Sample updates.
    pub updates: u64,
    /// Elo gained by all promotions.
    pub elo: f64,
    /// Generations learned by the best weights so far.
    pub best: Option<u32>,
    /// Hash of the weights the run began from, if it did not begin from zero.
    pub parent: Option<String>,
    /// Seconds the run has taken.
    pub elapsed: f64,
    /// Stage by number of empties, 0 to 60.
    pub stages: Vec<u8>,
    /// By stage, each weight's numbers.
    #[serde(with = "blob::each")]
    pub cells: Vec<Vec<f32>>,
}

const CONTAINER: Container = Container {
    what: "flipside checkpoint",
    magic: *b"\x89FSC\r\n\x1a\n",
    version: 1,
    limit: 1 << 31,
    packing: Packing::Plain,
};

impl Checkpoint {
    /// Takes the learner's part out.
    pub fn take_learner(&mut self) -> Result<LearnerState, ModelError> {
        Ok(LearnerState { stages: StageMap::from_table(&self.stages)?, cells: std::mem::take(&mut self.cells) })
    }
}

/// A run directory, locked for as long as this exists.
pub(super) struct RunDirectory {
    path: PathBuf,
    _lock: File,
}

impl RunDirectory {
    /// Makes the directory if there is none, and locks it.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let io = |error: io::Error| TrainError::io(path, error);
        fs::create_dir_all(path.join("journal")).map_err(io)?;
        let lock_path = path.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&lock_path).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {
                remove_temporaries(path).map_err(io)?;
                Ok(Self { path: path.to_owned(), _lock: lock })
            }
            Err(TryLockError::WouldBlock) => Err(TrainError::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(io(error)),
        }
    }

    /// A file of the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A generation's journal.
    pub fn journal(&self, generation: u32) -> PathBuf {
        journal::path(&self.file("journal"), generation)
    }

    /// The checkpoint, if there is one.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, TrainError> {
        let path = self.file("checkpoint");
        if path.exists() { Ok(Some(CONTAINER.read(&path)?)) } else { Ok(None) }
    }

    /// Replaces the checkpoint, then removes the journals of generations before `oldest`, which no resume will need.
    pub fn save_checkpoint(&self, checkpoint: &Checkpoint, oldest: u32) -> Result<(), TrainError> {
        CONTAINER.write(&self.file("checkpoint"), checkpoint)?;
        let folder = self.file("journal");
        let io = |error| TrainError::io(&folder, error);
        for entry in fs::read_dir(&folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            let generation = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u32>().ok());
            if generation.is_some_and(|generation| generation < oldest) {
                fs::remove_file(&path).map_err(io)?;
            }
        }
        Ok(())
    }
}
