//! How far a run has come.

use serde::{Deserialize, Serialize};

use super::config::Place;
use crate::fit::{Begun, LearnConfig};
use crate::learn::Learner;
use crate::weights::WeightFile;

/// The whole state of a run: all that cannot be derived from its identity and its games.
pub(super) struct RunState {
    /// Place, counters and measurements.
    pub progress: Progress,
    /// The newest weights, and how often each was visited; while something is learned, the weights in progress.
    pub learner: Learner,
    /// What is being learned.
    pub job: Option<Job>,
    /// The best weights so far, if there was a gate or the run began with weights.
    pub best: Option<EncodedWeights>,
    /// The weights learned at the end, if the run has ended and nothing was played since, and from what.
    pub finished: Option<(EncodedWeights, String)>,
    /// Labelled positions by generation, those of runs that this one continues included.
    pub positions: Vec<u64>,
}

/// Something that is being learned.
pub(super) struct Job {
    pub begun: Begun,
    /// The newest weights when it began.
    pub before: EncodedWeights,
    /// The learner that the run goes on with if it is given more time, while it learns what it ends with.
    pub aside: Option<Learner>,
}

/// Weights with the bytes of their file.
pub(super) struct EncodedWeights {
    pub weights: WeightFile,
    pub bytes: Vec<u8>,
}

impl From<WeightFile> for EncodedWeights {
    fn from(weights: WeightFile) -> Self {
        Self { bytes: weights.to_bytes(), weights }
    }
}

/// Place, counters and measurements of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// What comes next.
    pub place: Place,
    /// Generations played.
    pub generation: u32,
    /// Their games.
    pub games: u64,
    /// Sample updates.
    pub updates: u64,
    /// Seconds the run has taken.
    pub elapsed: f64,
    /// What was learned last, and from what.
    pub learned: String,
    /// How often the weights have changed.
    pub changes: u32,
    /// The weights that the last gate measured, if any.
    pub gated: Option<Stand>,
    /// How long things took the last time.
    pub pace: Pace,
}

/// Identifies weights of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Stand {
    /// How often the weights had changed.
    pub changes: u32,
    /// The generations played before the run ended with them, if it did.
    pub finished: Option<u32>,
}

impl RunState {
    /// Identifies the newest weights.
    pub fn stand(&self) -> Stand {
        let Progress { changes, generation, .. } = self.progress;
        Stand { changes, finished: self.finished.as_ref().map(|_| generation) }
    }

    /// The newest weights, if they are not the learner's: those that the run ended with, or those before what is being learned.
    pub fn set_aside(&self) -> Option<&WeightFile> {
        match (&self.finished, &self.job) {
            (Some((finished, _)), _) => Some(&finished.weights),
            (None, job) => job.as_ref().map(|job| &job.before.weights),
        }
    }

    /// Labelled positions so far.
    pub fn all_positions(&self) -> u64 {
        self.positions.iter().sum()
    }

    /// Gives up what is learned for the end of a run that goes on.
    pub fn go_on(&mut self) {
        if let Some(Job { aside: Some(aside), .. }) = self.job.take_if(|job| job.aside.is_some()) {
            self.learner = aside;
        }
    }
}

/// How long things took the last time, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pace {
    /// Playing, for each game.
    pub game: f64,
    /// The matches of a gate; 0 before the first.
    pub gate: f64,
    /// Writing a checkpoint.
    pub checkpoint: f64,
    /// Learning without a hidden layer, for each position and epoch, without search trees and with them; 0 before the first time.
    pub learning: [f64; 2],
}

/// Seconds of one thread for learning a position once, before it has been timed.
const UNKNOWN_LEARNING: f64 = 3e-6;

/// Factor by which a hidden layer slows learning.
const LAYER_COST: f64 = 1.4;

/// Share of a budget that is kept back for the last gate before one has been timed.
const UNKNOWN_GATE: f64 = 0.05;

/// What learning costs for each of its positions. One epoch without a hidden layer costs 1.
fn cost(config: &LearnConfig) -> f64 {
    f64::from(config.epochs) * if config.hidden_layer { LAYER_COST } else { 1.0 }
}

impl Pace {
    fn learning_of(config: &LearnConfig) -> usize {
        usize::from(config.tree_depth > 0)
    }

    /// Notes how long learning took.
    pub fn time_learning(&mut self, seconds: f64, positions: f64, config: &LearnConfig) {
        self.learning[Self::learning_of(config)] = seconds / (positions.max(1.0) * cost(config));
    }

    /// Seconds that learning will take.
    pub fn learning_takes(&self, positions: f64, config: &LearnConfig) -> f64 {
        let each = match self.learning[Self::learning_of(config)] {
            0.0 => UNKNOWN_LEARNING / rayon::current_num_threads() as f64,
            each => each,
        };
        each * positions * cost(config)
    }

    /// Seconds of a gate, in a budget of `limit` seconds.
    pub fn gate_takes(&self, limit: f64) -> f64 {
        if self.gate > 0.0 { self.gate } else { UNKNOWN_GATE * limit }
    }
}
