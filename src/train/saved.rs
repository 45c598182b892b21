//! What a run has saved besides its games, checked as resuming it checks it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint;
use super::directory::{BEST, CHECKPOINTS, metrics};
use super::error::TrainError;
use super::identity::Marker;
use super::keeper::Metrics;
use crate::eval::Model;
use crate::pattern::Layout;

/// What the checkpoints of a run hold, and what is damaged.
pub(crate) struct Saved {
    /// Files that are not what was written, and why.
    pub damaged: Vec<(PathBuf, String)>,
    /// Of each checkpoint the newest weights, and the best if there was a gate or the run began with weights.
    held: Vec<(Model, Option<Model>)>,
}

impl Saved {
    /// Checks the checkpoints and the events of a run.
    ///
    /// # Errors
    /// There is no run, or it cannot be read.
    pub fn of(directory: &Path) -> Result<Self, TrainError> {
        let Marker { identity, set, .. } = Marker::read(directory)?;
        let (run, layout) = (identity.run_name(), Arc::new(Layout::new(&set)?));
        let mut saved = Self { damaged: Vec::new(), held: Vec::new() };
        for name in CHECKPOINTS {
            if let Some(Some(found)) = saved.checked(checkpoint::read(directory, name, &run, &layout))? {
                let state = found.state;
                let newest = state.set_aside().map_or_else(|| state.learner.model(), |file| file.model.clone());
                saved.held.push((newest, state.best.map(|best| best.weights.model)));
            }
        }
        saved.checked(Metrics::of(&metrics(directory)?, directory))?;
        Ok(saved)
    }

    /// Notes a damaged file.
    fn checked<T>(&mut self, read: Result<T, TrainError>) -> Result<Option<T>, TrainError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(TrainError::Damaged { path, reason }) => {
                self.damaged.push((path, reason));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a weight file may hold these weights, as far as the checkpoints say: those of the newest or, after a kill, of the one before.
    /// Until the first gate the best are any that were the newest.
    pub fn may_be(&self, path: &Path, model: &Model) -> bool {
        let is_damaged = self.damaged.iter().any(|(path, _)| CHECKPOINTS.iter().any(|name| path.ends_with(name)));
        let mut held = self.held.iter();
        let is_held = if path.ends_with(BEST) {
            let is_gated = self.held.first().is_some_and(|(_, best)| best.is_some());
            !is_gated || held.any(|(_, best)| best.as_ref() == Some(model))
        } else {
            self.held.is_empty() || held.any(|(newest, _)| newest == model)
        };
        is_held || is_damaged
    }
}
