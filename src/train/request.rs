//! What is asked of a run, and how it ends.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::config::TrainConfig;
use super::source::{GameSource, LocalGames};
use crate::storage::{Disk, LocalDisk};
use crate::weights::WeightFile;

/// A run that is wanted.
#[derive(Clone, Copy)]
pub struct TrainRequest<'r> {
    /// Everything that decides the weights.
    pub config: &'r TrainConfig,
    /// The run's directory; it is made where there is none.
    pub directory: &'r Path,
    /// When the run is finished.
    pub budget: Budget,
    /// Whether a run that is in the directory already may be resumed.
    pub resume: bool,
    /// Weights to start a new run from; else it starts from nothing. A run is resumed with the weights it was begun with.
    pub from: Option<&'r WeightFile>,
    /// Set when the run is to stop soon.
    pub stop: &'r AtomicBool,
    /// Who plays the games.
    pub games: &'r dyn GameSource,
    /// What the run's files are written by.
    pub disk: &'r dyn Disk,
}

impl<'r> TrainRequest<'r> {
    /// A run without a limit, new or resumed, from nothing, on this machine.
    pub fn new(config: &'r TrainConfig, directory: &'r Path, stop: &'r AtomicBool) -> Self {
        Self {
            config,
            directory,
            budget: Budget::default(),
            resume: true,
            from: None,
            stop,
            games: &LocalGames,
            disk: &LocalDisk,
        }
    }
}

/// When a run is finished; the first limit reached counts. Time and games of earlier sessions count too.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Budget {
    /// Working time. The last gate and checkpoint are part of it, by an estimate from those before; the first generation is always
    /// played to its end.
    pub seconds: Option<f64>,
    /// Generations.
    pub generations: Option<u32>,
    /// Games.
    pub games: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The budget is used up.
    Finished,
    /// It was told to stop and can be resumed.
    Stopped,
}
