//! Checkpoints: a run's state in a file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::directory::{CHECKPOINT, CHECKPOINTS, read_if_there};
use super::error::TrainError;
use super::state::{EncodedWeights, Job, Progress, RunState};
use crate::eval::StageMap;
use crate::fit::Begun;
use crate::learn::{Learner, LearnerState, StepRule};
use crate::pattern::Layout;
use crate::storage::{Container, Packing, blob};
use crate::weights::{Provenance, WeightFile};

const CONTAINER: Container = Container {
    what: "flipside checkpoint",
    magic: *b"\x89FSC\r\n\x1a\n",
    version: 1,
    limit: 1 << 31,
    packing: Packing::Plain,
};

/// All that cannot be derived from a run's identity and its games.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint<'s> {
    /// The run's name.
    run: String,
    /// The build of the program that wrote it.
    build: String,
    progress: Cow<'s, Progress>,
    /// See [`RunState::positions`].
    positions: Cow<'s, [u64]>,
    /// The file of the best weights so far; empty before the first gate.
    #[serde(with = "blob")]
    best: Vec<u8>,
    /// The file of the weights learned at the end, and from what; empty if there are none.
    #[serde(with = "blob")]
    finished: Vec<u8>,
    finished_of: String,
    learner: Cells<'s>,
    /// What is being learned, the file of the newest weights when that began, and the learner that was laid aside.
    begun: Option<Cow<'s, Begun>>,
    #[serde(with = "blob")]
    before: Vec<u8>,
    aside: Option<Cells<'s>>,
}

/// A learner.
#[derive(Serialize, Deserialize)]
struct Cells<'s> {
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

impl<'s> Cells<'s> {
    fn of(learner: &'s Learner) -> Self {
        let LearnerState { stages, cells, hidden } = learner.state();
        Self { stages: stages.table().to_vec(), cells, hidden }
    }

    fn into_learner(self, layout: &Arc<Layout>) -> Result<Learner, String> {
        let stages = StageMap::from_table(&self.stages).map_err(|error| error.to_string())?;
        let state = LearnerState { stages, cells: self.cells, hidden: self.hidden };
        // Whoever learns sets the rule.
        Learner::from_state(layout.clone(), StepRule::fixed(1.0), state)
            .ok_or_else(|| "its weights do not fit the pattern set".to_owned())
    }
}

/// The parts of a state to be saved.
pub(super) struct Parts<'s> {
    pub progress: &'s Progress,
    pub learner: &'s Learner,
    pub job: Option<(&'s Begun, &'s EncodedWeights, Option<&'s Learner>)>,
    pub best: Option<&'s EncodedWeights>,
    pub finished: Option<&'s (EncodedWeights, String)>,
    pub positions: &'s [u64],
}

impl RunState {
    /// All parts.
    pub fn parts(&self) -> Parts<'_> {
        let Self { progress, learner, job, best, finished, positions } = self;
        let job = job.as_ref().map(|job| (&job.begun, &job.before, job.aside.as_ref()));
        Parts { progress, learner, job, best: best.as_ref(), finished: finished.as_ref(), positions }
    }
}

impl Checkpoint<'_> {
    /// The whole file of a run's checkpoint.
    pub fn to_bytes(run: String, parts: &Parts<'_>) -> Vec<u8> {
        let bytes = |saved: Option<&EncodedWeights>| saved.map_or(Vec::new(), |saved| saved.bytes.clone());
        let (begun, before, aside) = match parts.job {
            Some((begun, before, aside)) => (Some(Cow::Borrowed(begun)), Some(before), aside),
            None => (None, None, None),
        };
        CONTAINER.to_bytes(&Checkpoint {
            run,
            build: Provenance::of_this_program("").build(),
            progress: Cow::Borrowed(parts.progress),
            positions: Cow::Borrowed(parts.positions),
            best: bytes(parts.best),
            finished: bytes(parts.finished.map(|(weights, _)| weights)),
            finished_of: parts.finished.map_or(String::new(), |(_, of)| of.clone()),
            learner: Cells::of(parts.learner),
            begun,
            before: bytes(before),
            aside: aside.map(Cells::of),
        })
    }

    fn into_state(self, layout: &Arc<Layout>) -> Result<RunState, String> {
        let weights = |bytes: Vec<u8>| match &bytes[..] {
            [] => Ok(None),
            _ => match WeightFile::from_bytes(&bytes) {
                Ok(weights) => Ok(Some(EncodedWeights { weights, bytes })),
                Err(error) => Err(error.to_string()),
            },
        };
        let aside = self.aside.map(|aside| aside.into_learner(layout)).transpose()?;
        let job = match (self.begun, weights(self.before)?) {
            (Some(begun), Some(before)) => Some(Job { begun: begun.into_owned(), before, aside }),
            _ => None,
        };
        Ok(RunState {
            progress: self.progress.into_owned(),
            learner: self.learner.into_learner(layout)?,
            job,
            best: weights(self.best)?,
            finished: weights(self.finished)?.map(|finished| (finished, self.finished_of)),
            positions: self.positions.into_owned(),
        })
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
/// It cannot be read, is damaged, or another run's.
pub(super) fn read(
    directory: &Path,
    name: &str,
    run: &str,
    layout: &Arc<Layout>,
) -> Result<Option<Resumed>, TrainError> {
    let path = directory.join(name);
    let Some(bytes) = read_if_there(&path, CONTAINER.what, CONTAINER.limit)? else { return Ok(None) };
    let checkpoint: Checkpoint = CONTAINER.from_bytes(&bytes).map_err(|reason| TrainError::damaged(&path, reason))?;
    if checkpoint.run != run {
        return Err(TrainError::damaged(&path, "it is another run's"));
    }
    let build = checkpoint.build.clone();
    let state = checkpoint.into_state(layout).map_err(|reason| TrainError::damaged(&path, reason))?;
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
    check: impl Fn(&RunState) -> Result<(), TrainError>,
) -> Result<(Option<Resumed>, Option<String>), TrainError> {
    let (mut fault, mut unchecked) = (None, None);
    for name in CHECKPOINTS {
        match read(directory, name, run, layout) {
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
