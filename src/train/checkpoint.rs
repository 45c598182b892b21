//! Checkpoints: a run's state in a file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::directory::{CHECKPOINT, CHECKPOINTS, read_if_there};
use super::error::TrainError;
use super::state::{EncodedWeights, Progress, RunState};
use crate::eval::StageMap;
use crate::learn::{Learner, LearnerState, StepRule};
use crate::pattern::Layout;
use crate::storage::{Container, Packing, blob};
use crate::weights::{Provenance, WeightFile};

const CONTAINER: Container = Container {
    what: "flipside checkpoint",
    magic: *b"\x89FSC\r\n\x1a\n",
    version: 1,
    limit: 1 << 30,
    packing: Packing::Plain,
};

/// All that cannot be derived from a run's identity and its games.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint<'s> {
    /// The run's name.
    run: String,
    /// The build of the program that wrote it.
    build: String,
    /// How far the run has come.
    progress: Progress,
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
    pub fn to_bytes(run: String, state: &RunState) -> Vec<u8> {
        let LearnerState { stages, cells, hidden } = state.learner.state();
        let bytes = |saved: &Option<EncodedWeights>| saved.as_ref().map_or(Vec::new(), |saved| saved.bytes.clone());
        CONTAINER.to_bytes(&Checkpoint {
            run,
            build: Provenance::of_this_program("").build(),
            progress: state.progress,
            best: bytes(&state.best),
            fitted: bytes(&state.fitted),
            stages: stages.table().to_vec(),
            cells,
            hidden,
        })
    }

    /// The run's state; the replay window is still empty.
    fn into_state(self, path: &Path, layout: &Arc<Layout>, rule: StepRule) -> Result<RunState, TrainError> {
        let damaged = |reason: String| TrainError::damaged(path, reason);
        let stages = StageMap::from_table(&self.stages).map_err(|error| damaged(error.to_string()))?;
        let learner = LearnerState { stages, cells: self.cells, hidden: self.hidden };
        let learner = Learner::from_state(layout.clone(), rule, learner)
            .ok_or_else(|| damaged("its weights do not fit the pattern set".to_owned()))?;
        let saved = |bytes: Vec<u8>| match &bytes[..] {
            [] => Ok(None),
            _ => match WeightFile::from_bytes(&bytes) {
                Ok(weights) => Ok(Some(EncodedWeights { weights, bytes })),
                Err(error) => Err(damaged(error.to_string())),
            },
        };
        let (best, fitted) = (saved(self.best)?, saved(self.fitted)?);
        Ok(RunState { progress: self.progress, learner, best, fitted, window: Default::default() })
    }
}

/// A state that a run resumes from.
pub(super) struct Resumed {
    pub state: RunState,
    /// The build of the program that wrote it.
    pub build: String,
    /// Whether it is the newest checkpoint, and not the one before.
    pub is_newest: bool,
}

/// The state in a checkpoint of a run, if there is one.
///
/// # Errors
/// [`TrainError::Damaged`]; the file cannot be read.
fn read(
    directory: &Path,
    name: &str,
    run: &str,
    layout: &Arc<Layout>,
    rule: StepRule,
) -> Result<Option<Resumed>, TrainError> {
    let path = directory.join(name);
    let Some(bytes) = read_if_there(&path, CONTAINER.what, CONTAINER.limit)? else { return Ok(None) };
    let checkpoint: Checkpoint = CONTAINER.from_bytes(&bytes).map_err(|reason| TrainError::damaged(&path, reason))?;
    if checkpoint.run != run {
        return Err(TrainError::damaged(&path, "it is another run's"));
    }
    let build = checkpoint.build.clone();
    let state = checkpoint.into_state(&path, layout, rule)?;
    Ok(Some(Resumed { state, build, is_newest: name == CHECKPOINT }))
}

/// The newest of a run's checkpoints that is whole and that passes a check, and what is wrong with newer ones.
///
/// # Errors
/// A checkpoint that is there and cannot be read; a check that none of them passes.
pub(super) fn load(
    directory: &Path,
    run: &str,
    layout: &Arc<Layout>,
    rule: StepRule,
    check: impl Fn(&RunState) -> Result<(), TrainError>,
) -> Result<(Option<Resumed>, Option<String>), TrainError> {
    let (mut fault, mut unchecked) = (None, None);
    for name in CHECKPOINTS {
        match read(directory, name, run, layout, rule) {
            Ok(None) => {}
            Ok(Some(resumed)) => match check(&resumed.state) {
                Ok(()) => return Ok((Some(resumed), fault)),
                Err(error) => {
                    fault = fault.or(Some(error.to_string()));
                    unchecked = unchecked.or(Some(error));
                }
            },
            Err(TrainError::Damaged { path, reason }) => {
                fault = fault.or(Some(format!("{}: {reason}", path.display())));
            }
            Err(error) => return Err(error),
        }
    }
    unchecked.map_or(Ok((None, fault)), Err)
}
