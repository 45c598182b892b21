//! Checkpoints: a run's state in a file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::amend::Configs;
use super::directory::{CHECKPOINT, CHECKPOINTS, RunDirectory, leftovers, read_if_there};
use super::error::TrainError;
use super::identity::Identity;
use super::journal;
use super::state::{EncodedWeights, Progress, RunState};
use crate::eval::StageMap;
use crate::learn::{Learner, LearnerState};
use crate::pattern::Layout;
use crate::storage::{Container, FormatError, Packing, blob};
use crate::weights::WeightFile;

const CONTAINER: Container = Container {
    what: "flipside checkpoint",
    magic: *b"\x89FSC\r\n\x1a\n",
    version: 5,
    limit: 1 << 30,
    packing: Packing::Plain,
};

/// All that is needed to resume a run, apart from the journals.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint<'s> {
    /// Which run it is.
    pub identity: Identity,
    /// How far it has come.
    pub progress: Progress,
    /// The file of the best weights so far; empty before the first gate.
    #[serde(with = "blob")]
    best: Vec<u8>,
    /// The file of the weights fitted at the end; empty if there are none.
    #[serde(with = "blob")]
    fitted: Vec<u8>,
    /// Stage by number of empties, 0 to 60.
    #[serde(with = "blob")]
    stages: Vec<u8>,
    /// By stage, each weight's numbers.
    #[serde(with = "blob::each")]
    cells: Cow<'s, [Vec<f32>]>,
    /// The hidden layer's numbers; empty without one.
    #[serde(with = "blob::each")]
    hidden: Vec<Vec<f32>>,
}

impl Checkpoint<'_> {
    /// The whole file of a run's checkpoint.
    pub fn to_bytes(identity: &Identity, state: &RunState) -> Vec<u8> {
        let LearnerState { stages, cells, hidden } = state.learner.state();
        let bytes = |saved: &Option<EncodedWeights>| saved.as_ref().map_or(Vec::new(), |saved| saved.bytes.clone());
        CONTAINER.to_bytes(&Checkpoint {
            identity: identity.clone(),
            progress: state.progress,
            best: bytes(&state.best),
            fitted: bytes(&state.fitted),
            stages: stages.table().to_vec(),
            cells,
            hidden,
        })
    }

    /// The run's state at the checkpoint, the replay window read from the journals.
    fn into_state(
        self,
        name: &str,
        configs: &Configs,
        layout: &Arc<Layout>,
        directory: &RunDirectory,
    ) -> Result<RunState, TrainError> {
        let damaged = |reason: &dyn ToString| TrainError::damaged(&directory.file(name), reason.to_string());
        let stages = StageMap::from_table(&self.stages).map_err(|error| damaged(&error))?;
        let learner = LearnerState { stages, cells: self.cells, hidden: self.hidden };
        let learner = Learner::from_state(layout.clone(), configs.newest().step, learner)
            .ok_or_else(|| damaged(&"its weights do not fit the pattern set"))?;
        let saved = |bytes: Vec<u8>| match &bytes[..] {
            [] => Ok(None),
            _ => match WeightFile::from_bytes(&bytes) {
                Ok(weights) => Ok(Some(EncodedWeights { weights, bytes })),
                Err(error) => Err(damaged(&error)),
            },
        };
        let (best, fitted) = (saved(self.best)?, saved(self.fitted)?);
        let window = journal::window(directory, &self.identity, configs, self.progress.generation)?;
        Ok(RunState { progress: self.progress, learner, best, fitted, window })
    }
}

/// What a run resumes from.
pub(super) struct Resumed {
    pub identity: Identity,
    pub configs: Configs,
    pub state: RunState,
    /// Whether that is the newest checkpoint, and not the one before.
    pub is_newest: bool,
    /// What is wrong with the newest, if it is there and could not be used.
    pub fault: Option<String>,
}

/// A checkpoint of the run in a directory, if it is there.
///
/// # Errors
/// [`TrainError::Damaged`]; it cannot be read; it was written by another version of the program.
fn read(directory: &Path, name: &str) -> Result<Option<Checkpoint<'static>>, TrainError> {
    let path = directory.join(name);
    let Some(bytes) = read_if_there(&path, CONTAINER.what, CONTAINER.limit)? else { return Ok(None) };
    let checkpoint = CONTAINER.from_bytes(&bytes).map_err(|reason| match reason {
        FormatError::Version { .. } => TrainError::OtherVersion { path, reason },
        _ => TrainError::damaged(&path, reason),
    });
    checkpoint.map(Some)
}

/// The newest of the directory's checkpoints that is whole and whose journals are there; `None` if there is no checkpoint.
/// `check` checks that it is the run that is wanted, and returns its configurations.
///
/// # Errors
/// What is wrong with the newest, if the one before it cannot be used either; [`TrainError::File`] if a checkpoint cannot be read,
/// which does not mean that there is none.
pub(super) fn load(
    directory: &RunDirectory,
    layout: &Arc<Layout>,
    check: impl Fn(&Identity) -> Result<Configs, TrainError>,
) -> Result<Option<Resumed>, TrainError> {
    let mut bad: Option<TrainError> = None;
    for name in CHECKPOINTS {
        let state = match read(directory.path(), name) {
            Ok(None) => continue,
            Ok(Some(checkpoint)) => {
                let (identity, configs) = (checkpoint.identity.clone(), check(&checkpoint.identity)?);
                let state = checkpoint.into_state(name, &configs, layout, directory);
                state.map(|state| (identity, configs, state))
            }
            Err(error) => Err(error),
        };
        match state {
            Ok((identity, configs, state)) => {
                let fault = bad.map(|error| match error {
                    // What the error advises is for a run that has no other checkpoint.
                    TrainError::Damaged { path, reason } => format!("{}: {reason}", path.display()),
                    other => other.to_string(),
                });
                return Ok(Some(Resumed { identity, configs, state, is_newest: name == CHECKPOINT, fault }));
            }
            Err(error @ TrainError::Damaged { .. }) => bad = bad.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    bad.map_or(Ok(None), Err)
}

/// The configuration that the run in a directory began with, from its newest whole checkpoint.
///
/// # Errors
/// No checkpoint is whole: what is wrong with the newest, or that there is none; one cannot be read.
pub(super) fn first_config(directory: &Path) -> Result<String, TrainError> {
    let mut bad = None;
    for name in CHECKPOINTS {
        match read(directory, name) {
            Ok(None) => {}
            Ok(Some(checkpoint)) => return Ok(checkpoint.identity.config),
            Err(error @ TrainError::Damaged { .. }) => bad = bad.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    let found = leftovers(directory)?;
    Err(bad.unwrap_or_else(|| match found[..] {
        [] => TrainError::NotBegun(directory.to_owned()),
        _ => TrainError::LostCheckpoint { directory: directory.to_owned(), found },
    }))
}
