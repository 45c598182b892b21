//! What a run saves, and when.

use std::time::{Duration, Instant};

use super::checkpoint::Checkpoint;
use super::directory::{BEST, CHECKPOINT, LAST, PREVIOUS_CHECKPOINT};
use super::error::TrainError;
use super::event::TrainEvent;
use super::run::{LastCheckpoint, Run};
use crate::weights::{Provenance, WeightFile};

/// A checkpoint is written at the end of a generation if the last is older than this. The journal covers the time between:
/// what follows the checkpoint only has to be learned again.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

impl Run<'_> {
    /// The newest weights.
    pub(super) fn weights(&self) -> WeightFile {
        if let Some(fitted) = &self.state.fitted {
            return fitted.weights.clone();
        }
        WeightFile::new(self.state.learner.model(), self.provenance())
    }

    /// The provenance of weights that are made now.
    pub(super) fn provenance(&self) -> Provenance {
        let progress = &self.state.progress;
        Provenance {
            config: self.identity.config.clone(),
            seed: Some(self.config.seed),
            generations: u64::from(progress.generation),
            games: progress.games,
            samples: progress.updates,
            parent: self.identity.parent.clone(),
            ..Provenance::of_this_program("trained")
        }
    }

    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), TrainError> {
        // The first generation is saved at once, so that there are weights to look at.
        let is_due = self.saved.at.elapsed() >= CHECKPOINT_EVERY
            || self.saved.generation == 0 && self.state.progress.generation > 0;
        if is_due { self.checkpoint() } else { Ok(()) }
    }

    pub(super) fn checkpoint(&mut self) -> Result<(), TrainError> {
        let began = Instant::now();
        let newest = self.save()?;
        if self.state.best.is_none() {
            // Before the first gate the newest are the best.
            self.keeper.replace(BEST, &newest)?;
        }
        let seconds = began.elapsed().as_secs_f64();
        self.state.progress.pace.checkpoint = seconds;
        self.keeper.tell(&TrainEvent::Checkpoint { generation: self.state.progress.generation, seconds })?;
        let needed = self.growth.needed(&self.config, &self.budget, &self.state.progress, self.clock.elapsed());
        needed.map_or(Ok(()), |needed| self.keeper.look_at_room(needed))
    }

    /// Writes the checkpoint, keeping the one before, then `last.fsw`. Returns the content of `last.fsw`.
    pub(super) fn save(&mut self) -> Result<Vec<u8>, TrainError> {
        self.state.progress.elapsed = self.clock.elapsed();
        let bytes = Checkpoint::to_bytes(self.identity.run_name(), &self.state);
        if self.saved.newest_is_good {
            self.keeper.rename(CHECKPOINT, PREVIOUS_CHECKPOINT)?;
            self.saved.newest_is_good = false;
        }
        self.keeper.replace(CHECKPOINT, &bytes)?;
        let generation = self.state.progress.generation;
        self.saved = LastCheckpoint { at: Instant::now(), generation, newest_is_good: true };
        let newest = self.weights().to_bytes();
        self.keeper.replace(LAST, &newest)?;
        Ok(newest)
    }
}
