//! What a run saves, and when.

use std::time::{Duration, Instant};

use super::checkpoint::{Checkpoint, Parts};
use super::directory::{BEST, CHECKPOINT, LAST, PREVIOUS_CHECKPOINT};
use super::error::TrainError;
use super::event::TrainEvent;
use super::identity::Identity;
use super::keeper::Keeper;
use super::run::{LastCheckpoint, Run};
use crate::weights::{Provenance, WeightFile};

/// A checkpoint is written after a step if the last is older than this. The games cover the time between: what follows the checkpoint only
/// has to be learned again.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

/// Writes the checkpoint, keeping the one before, then the newest weights as `last.fsw`.
pub(super) fn write_checkpoint(
    keeper: &mut Keeper<'_>,
    saved: &mut LastCheckpoint,
    identity: &Identity,
    parts: &Parts<'_>,
    newest: &[u8],
) -> Result<(), TrainError> {
    let bytes = Checkpoint::to_bytes(identity.run_name(), parts);
    if saved.newest_is_good {
        keeper.rename(CHECKPOINT, PREVIOUS_CHECKPOINT)?;
        saved.newest_is_good = false;
    }
    keeper.replace(CHECKPOINT, &bytes)?;
    *saved = LastCheckpoint { at: Instant::now(), generation: parts.progress.generation, newest_is_good: true };
    keeper.replace(LAST, newest)
}

impl Run<'_> {
    /// The newest weights.
    pub(super) fn weights(&self) -> WeightFile {
        let of_learner = || WeightFile::new(self.state.learner.model(), self.provenance());
        self.state.set_aside().cloned().unwrap_or_else(of_learner)
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

    /// Writes a checkpoint if the last is some time ago, or `at_once`.
    pub(super) fn checkpoint_if_due(&mut self, at_once: bool) -> Result<(), TrainError> {
        // The first generation is saved at once, so that there are weights to look at.
        let is_first =
            self.saved.generation == self.ledger.first() && self.state.progress.generation > self.saved.generation;
        let is_due = at_once || is_first || self.saved.at.elapsed() >= CHECKPOINT_EVERY;
        if is_due { self.checkpoint() } else { Ok(()) }
    }

    /// [`Self::save`], and what else is written then.
    pub(super) fn checkpoint(&mut self) -> Result<(), TrainError> {
        let began = Instant::now();
        let newest = self.save()?;
        if self.state.best.is_none() {
            // Before the first gate the newest are the best.
            self.keeper.replace(BEST, &newest)?;
        }
        let seconds = began.elapsed().as_secs_f64();
        self.state.progress.pace.checkpoint = seconds;
        self.keeper.tell(&TrainEvent::Checkpoint { generation: self.state.progress.generation, seconds })
    }

    /// Writes the checkpoint and `last.fsw`, and returns the content of `last.fsw`.
    pub(super) fn save(&mut self) -> Result<Vec<u8>, TrainError> {
        self.state.progress.elapsed = self.clock.elapsed();
        let newest = self.weights().to_bytes();
        write_checkpoint(&mut self.keeper, &mut self.saved, &self.identity, &self.state.parts(), &newest)?;
        Ok(newest)
    }
}
