//! The main job: generations of self-play and learning, gates, checkpoints.
//!
//! [`train`] runs a [`TrainConfig`] in a run directory until a [`Budget`] is used up or it is told to stop, and tells a sink
//! of typed [`TrainEvent`]s what happens. The weights are a function of the configuration alone: not of the number of threads,
//! of when the run was stopped and resumed, or of how long anything took.
//!
//! A new run first learns its records, if it has any. Their checksums are part of the configuration as resolved.
//!
//! A generation is self-play with frozen weights, in batches; then passes of the learner over the newest samples and over a
//! replay window. Every batch goes to the generation's journal as soon as it is played; the learner's state goes to the
//! checkpoint between generations. Resuming reads the checkpoint and takes batches from the journals as long as there are any.

mod checkpoint;
mod config;
mod error;
mod event;
mod gate;
mod journal;
mod records;
mod request;
mod run;

pub use config::{ConfigError, GateConfig, PRESETS, Phase, RecordsConfig, TrainConfig};
pub use error::TrainError;
pub use event::{GateMatch, TrainEvent};
pub use request::{Budget, Outcome, TrainRequest};
pub use run::train;
