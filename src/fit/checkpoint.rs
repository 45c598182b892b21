//! How far a fit has come, and the checkpoint of `flipside fit`.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::learn::{LearnerState, PassLoss};
use crate::storage::{Container, FileError, Packing, blob};

/// How far a fit has come, besides what its learner holds.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Begun {
    /// The configuration as TOML, and the weights to begin from and of the teacher.
    pub(super) config: String,
    /// See [`GameFiles::identity`](super::GameFiles::identity).
    pub(super) games: String,
    /// The paths that were given to learn from, as bytes: not every path is a text.
    pub(super) named: Vec<Vec<u8>>,
    /// The files of kept games among them, and how many bytes of each are learned.
    pub(super) files: Vec<(Vec<u8>, u64)>,
    /// Blocks learned, of all epochs.
    pub(super) blocks: u64,
    /// Blocks of an epoch, once the first is over.
    pub(super) blocks_an_epoch: Option<u64>,
    /// Positions of games gone through in all epochs, those held out included.
    pub(super) positions: u64,
    /// Sample updates.
    pub(super) updates: u64,
    /// The loss of the epoch so far.
    pub(super) loss: PassLoss,
    /// By stage, progress in the current block; empty between two blocks.
    pub(super) block: Vec<PassLoss>,
    /// The number of samples in that block, by number of empties.
    pub(super) samples: Vec<u64>,
}

/// The whole file.
#[derive(Serialize, Deserialize)]
struct Checkpoint<'c> {
    begun: Cow<'c, Begun>,
    #[serde(with = "blob::each")]
    cells: Cow<'c, [Vec<f32>]>,
    #[serde(with = "blob::each")]
    hidden: Vec<Vec<f32>>,
}

const CONTAINER: Container = Container {
    what: "flipside fit in progress",
    magic: *b"\x89FSP\r\n\x1a\n",
    version: 1,
    limit: 1 << 30,
    packing: Packing::Plain,
};

/// A checkpoint that cannot be read, is damaged, or is another version's.
#[derive(Debug, thiserror::Error)]
#[error("cannot resume the unfinished fit: {0}. Remove that file to start over")]
pub struct Unfinished(pub FileError);

/// A learner's cells and the numbers of its hidden layer.
pub type Numbers = (Vec<Vec<f32>>, Vec<Vec<f32>>);

impl Begun {
    /// Sample updates so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, learner: LearnerState<'_>, path: &Path) -> Result<(), FileError> {
        let LearnerState { cells, hidden, .. } = learner;
        CONTAINER.write(path, &Checkpoint { begun: Cow::Borrowed(self), cells, hidden })
    }

    /// The checkpoint in a file, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn load(path: &Path) -> Result<Option<(Self, Numbers)>, Unfinished> {
        match CONTAINER.read::<Checkpoint>(path) {
            Ok(Checkpoint { begun, cells, hidden }) => Ok(Some((begun.into_owned(), (cells.into_owned(), hidden)))),
            Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Unfinished(error)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    use super::*;
    use crate::fit::GameFiles;

    #[test]
    fn a_checkpoint_has_paths_of_any_bytes() {
        let path = PathBuf::from(OsStr::from_bytes(b"run\xff"));
        let games = GameFiles {
            named: vec![path.clone()],
            files: vec![(path.join("00000000.fsg"), 7)],
            ..GameFiles::default()
        };
        let begun = Begun::new(String::new(), &games);
        let bytes = CONTAINER.to_bytes(&Checkpoint {
            begun: Cow::Borrowed(&begun),
            cells: Vec::new().into(),
            hidden: Vec::new(),
        });
        let read = CONTAINER.from_bytes::<Checkpoint>(&bytes).unwrap().begun.into_owned();
        assert_eq!((&read, &*read.named[0]), (&begun, path.as_os_str().as_bytes()));
    }
}
