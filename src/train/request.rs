//! What is asked of a run, and how it ends.

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::budget::Budget;
use super::config::TrainConfig;
use super::source::{GameSource, LocalGames};
use crate::storage::{Disk, LocalDisk};
use crate::weights::WeightFile;

/// A run to begin or resume.
#[derive(Clone, Copy)]
pub struct TrainRequest<'r> {
    /// Everything that decides the weights.
    pub config: &'r TrainConfig,
    /// The run's directory; it is created if missing.
    pub directory: &'r Path,
    /// When the run is finished; `resume` says from when it counts.
    pub budget: Budget,
    /// What to do with a run that is in the directory already.
    pub resume: Resume,
    /// Weights to start a new run from; `None` to start from nothing. [`Resume::Same`] takes the weights that the run began with.
    pub from: Option<&'r WeightFile>,
    /// The directory of a run that a new run continues: from its newest weights, and from its next generation on. The earlier generations
    /// stay where they are, and count as this run's own when it is fitted.
    pub continues: Option<&'r Path>,
    /// Set to stop the run soon.
    pub stop: &'r AtomicBool,
    /// Who plays the games.
    pub games: &'r dyn GameSource,
    /// Writes the run's files.
    pub disk: &'r dyn Disk,
}

impl fmt::Debug for TrainRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainRequest")
            .field("directory", &self.directory)
            .field("budget", &self.budget)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

impl<'r> TrainRequest<'r> {
    /// A run without a limit, new or resumed, from nothing, on this machine.
    pub fn new(config: &'r TrainConfig, directory: &'r Path, stop: &'r AtomicBool) -> Self {
        Self {
            config,
            directory,
            budget: Budget::default(),
            resume: Resume::Same,
            from: None,
            continues: None,
            stop,
            games: &LocalGames,
            disk: &LocalDisk,
        }
    }
}

/// What to do with a run that is in the directory already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resume {
    /// Resume it if it is the same: with the same configuration, from the same weights. The budget counts from the beginning of the
    /// run.
    Same,
    /// Resume what is there, whatever it began with. The configuration is the [stored one](super::StoredRun). The budget is added to
    /// what the run has used; an empty budget means the last one it was given.
    Stored,
}

/// How a run, or a worker's part in it, ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The run's budget is used up.
    Finished,
    /// It was stopped and can be resumed.
    Stopped,
}
