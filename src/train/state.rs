//! How far a run has come.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::fit::FitConfig;
use crate::learn::{Learner, PassLoss, SampleSet};
use crate::weights::WeightFile;

/// The whole state of a run, apart from its configuration.
pub(super) struct RunState {
    /// Counters and measurements.
    pub progress: Progress,
    /// The newest weights, and what the step rule remembers.
    pub learner: Learner,
    /// The best weights so far, if there was a gate or the run began with weights.
    pub best: Option<EncodedWeights>,
    /// The weights fitted to all games at the end, if the run has ended and nothing was played since.
    pub fitted: Option<EncodedWeights>,
    /// Samples of the generations in the window, oldest first.
    pub window: VecDeque<SampleSet>,
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

/// Counters and measurements of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Generations learned.
    pub generation: u32,
    /// Games played in these.
    pub games: u64,
    /// Labelled positions of these games.
    pub positions: u64,
    /// Sample updates, those of records included.
    pub updates: u64,
    /// Seconds the run has taken.
    pub elapsed: f64,
    /// Progress with the records.
    pub records: RecordsProgress,
    /// Generations played at the last fit before a phase, if any.
    pub refitted: Option<u32>,
    /// The weights that the last gate measured, if any.
    pub gated: Option<Stand>,
    /// How long things took the last time.
    pub pace: Pace,
}

/// Identifies weights of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Stand {
    /// Generations played before them.
    pub generation: u32,
    /// Whether they were then fitted to kept games.
    pub fitted: bool,
}

impl RunState {
    /// Identifies the newest weights.
    pub fn stand(&self) -> Stand {
        let generation = self.progress.generation;
        Stand { generation, fitted: self.fitted.is_some() || self.progress.refitted == Some(generation) }
    }
}

/// How far the records of a new run are learned.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct RecordsProgress {
    /// Files that are learned.
    pub files: u32,
    /// Records of the next file that are read.
    pub read: u64,
    /// Those of them that could not be learned from.
    pub left_out: u64,
    /// Errors on the positions of the rest, each before it was learned.
    pub loss: PassLoss,
    /// Seconds it took.
    pub seconds: f64,
}

/// How long things took the last time, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pace {
    /// Playing, for each game.
    pub game: f64,
    /// Learning a generation.
    pub learning: f64,
    /// The matches of a gate; 0 before the first.
    pub gate: f64,
    /// Writing a checkpoint.
    pub checkpoint: f64,
    /// Fitting without a hidden layer, for each position and epoch; 0 before the first fit.
    pub fit: f64,
    /// The fit at the end, by an estimate.
    pub last_fit: f64,
}

/// Seconds of one thread for fitting a position once, before a fit has been timed.
const UNKNOWN_FIT: f64 = 3e-6;

/// Factor by which a hidden layer slows a fit.
const LAYER_COST: f64 = 1.4;

/// The cost of a fit for each of its positions. One epoch without a hidden layer costs 1.
fn fit_cost(fit: &FitConfig) -> f64 {
    f64::from(fit.epochs) * if fit.hidden_layer { LAYER_COST } else { 1.0 }
}

/// Share of the budget that is reserved for the last gate before one has been timed.
const UNKNOWN_GATE: f64 = 0.05;

impl Pace {
    /// Whether there is time for a generation of `games` games and, after it, for the last gate and checkpoint, in what is left of a
    /// budget of `limit` seconds.
    pub fn has_time_for(&self, games: u32, elapsed: f64, limit: f64) -> bool {
        elapsed + self.game * f64::from(games) + self.after_play(limit) <= limit
    }

    /// Notes how long a fit took.
    pub fn time_fit(&mut self, seconds: f64, positions: f64, fit: &FitConfig) {
        self.fit = seconds / (positions * fit_cost(fit));
    }

    /// Seconds that a fit will take.
    pub fn fit_of(&self, positions: f64, fit: &FitConfig) -> f64 {
        let each = if self.fit > 0.0 { self.fit } else { UNKNOWN_FIT / rayon::current_num_threads() as f64 };
        each * positions * fit_cost(fit)
    }

    /// Whether games have to stop now for the rest to end in time.
    pub fn is_time_up(&self, elapsed: f64, limit: f64) -> bool {
        elapsed + self.after_play(limit) >= limit
    }

    /// Seconds after the last game: learning, the last fit, the last gate, and the last checkpoint.
    fn after_play(&self, limit: f64) -> f64 {
        let gate = if self.gate > 0.0 { self.gate } else { UNKNOWN_GATE * limit };
        self.learning + self.last_fit + gate + self.checkpoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_steps_are_part_of_the_time() {
        // A generation of 100 games takes 10 seconds and 2 to learn; the end takes 5 and 1.
        let pace = Pace { game: 0.1, learning: 1.5, gate: 5.0, checkpoint: 1.0, fit: 1e-5, last_fit: 0.5 };
        assert!(pace.has_time_for(100, 82.0, 100.0) && !pace.has_time_for(100, 82.1, 100.0));
        assert!(!pace.is_time_up(91.9, 100.0) && pace.is_time_up(92.0, 100.0));
        // Games of the next phase take longer if there are more of them.
        assert!(pace.has_time_for(820, 10.0, 100.0) && !pace.has_time_for(830, 10.0, 100.0));
        // Before any gate some time is kept for it.
        let pace = Pace { gate: 0.0, ..pace };
        assert!(!pace.is_time_up(91.9, 100.0) && pace.is_time_up(92.0, 100.0));
    }
}
