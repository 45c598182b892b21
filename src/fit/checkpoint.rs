//! The checkpoint of a fit.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::learn::PassLoss;
use crate::storage::{Container, FileError, Packing, blob};

/// All that is needed to resume a fit of the same games with the same configuration.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Checkpoint<'c> {
    /// The configuration as TOML.
    pub config: String,
    /// SHA-256 of the games.
    pub games_sha256: String,
    /// The paths that were given to learn from.
    pub named: Vec<PathBuf>,
    /// The files of kept games among them, and how many bytes of each are learned.
    pub files: Vec<(PathBuf, u64)>,
    /// Blocks learned, of all epochs.
    pub blocks: u64,
    /// Blocks of an epoch, once the first is over.
    pub blocks_an_epoch: Option<u64>,
    /// Positions of games gone through in all epochs, those held out included.
    pub positions: u64,
    /// Sample updates.
    pub updates: u64,
    /// The loss of the epoch so far.
    pub loss: PassLoss,
    /// By stage, progress in the current block; empty between two blocks.
    pub block: Vec<PassLoss>,
    /// The number of samples in that block, by number of empties.
    pub samples: Vec<u64>,
    /// By stage, each weight's numbers.
    #[serde(with = "blob::each")]
    pub cells: Cow<'c, [Vec<f32>]>,
    /// The hidden layer's numbers; empty without one.
    #[serde(with = "blob::each")]
    pub hidden: Vec<Vec<f32>>,
}

const CONTAINER: Container = Container {
    what: "flipside fit in progress",
    magic: *b"\x89FSP\r\n\x1a\n",
    version: 8,
    limit: 1 << 30,
    packing: Packing::Plain,
};

/// A checkpoint that cannot be read, is damaged, or is another version's.
#[derive(Debug, thiserror::Error)]
#[error("cannot resume the unfinished fit: {}{}", .0, if self.is_useless() { ". Remove that file to start over" } else { "" })]
pub struct UnfinishedFit(pub FileError);

impl UnfinishedFit {
    /// Whether the file was read, but is damaged or another version's.
    pub fn is_useless(&self) -> bool {
        matches!(self.0, FileError::Format { .. })
    }
}

impl Checkpoint<'_> {
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        CONTAINER.write(path, self)
    }

    /// The checkpoint, if there is one.
    pub fn load(path: &Path) -> Result<Option<Self>, UnfinishedFit> {
        match CONTAINER.read(path) {
            Ok(checkpoint) => Ok(Some(checkpoint)),
            Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(UnfinishedFit(error)),
        }
    }
}
