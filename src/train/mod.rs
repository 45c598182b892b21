//! The main job: generations of self-play and learning, gates, checkpoints.
//!
//! [`train`] runs a [`TrainConfig`] in a run directory until a [`Budget`] is used up or the run is stopped, and reports what happens
//! to a sink of [`TrainEvent`]s. The weights depend on the configuration alone, not on the number of threads, on when the run was
//! stopped and resumed, or on how long anything took.
//!
//! A new run first learns its records, if it has any. Their checksums become a part of its configuration.
//!
//! A generation is self-play with frozen weights, then learning: passes over the newest samples and over a replay window. A
//! [`GameSource`] plays the games, which are appended to the generation's journal as they come; between generations the run's state
//! is saved as a checkpoint. Resuming reads the checkpoint, and takes games from the journals before it plays more. A run can be
//! stopped at any time. It drops at once whatever it is doing, and what was not saved is done again.
//!
//! | file | what it has |
//! |---|---|
//! | `run` | the loop of generations |
//! | `records`, `playing`, `fitting`, `saving` | its steps: records of a new run, the games of a generation, fits to all games, checkpoints |
//! | `open` | checking a run directory, and putting it in order |
//! | `identity`, `ledger`, `state`, `checkpoint`, `directory` | what a run is, its games, and how far it has come |
//! | `config`, `keys`, `invalid`, `commented` | configurations, what their keys mean, and how they are checked and printed |
//! | `keeper`, `room`, `live` | writing with retries, reporting events, whether the disk has room, and what a run is doing now |
//! | `workers` | the workers of a run on many machines |
//! | `source`, `gate` | where games come from, and how strength is measured |

mod checkpoint;
mod commented;
mod config;
mod directory;
mod error;
mod event;
mod fitting;
mod gate;
mod identity;
mod invalid;
mod keeper;
mod keys;
mod ledger;
mod live;
mod open;
mod playing;
mod records;
mod request;
mod room;
mod run;
mod saving;
mod source;
mod state;
mod workers;

pub use config::{
    EventsConfig, GateConfig, PRESETS, Phase, RecordsConfig, TrainConfig, TuneConfig, check_self_play, origin,
    set_named,
};
pub use directory::run_of_file;
pub(crate) use directory::{BEST, CHECKPOINTS, LAST, LOCK, metrics};
pub use error::TrainError;
pub(crate) use event::events;
pub use event::{Anchor, GateMatch, TrainEvent};
pub(crate) use gate::SUPERIORITY;
pub use identity::{continued_by, parent_of, stored_config, stored_set};
pub use invalid::ConfigError;
pub use keeper::Sink;
pub use live::Live;
pub(crate) use live::host_name;
pub use request::{Budget, Outcome, Resume, TrainRequest};
pub use source::{GameJob, GameSource, LocalGames, OnGames, Played};
pub use workers::{WorkerStatus, Workers};

use crate::selfplay::Stopped;

/// Trains in a run directory, on the threads of the current rayon pool, until the budget is used up or the request's `stop` is
/// set. [`Resume`] says what to do with a run that is there already. The sink gets every event as it happens.
///
/// # Errors
/// See [`TrainError`]. The files in the directory are whole whatever happens, and unchanged if the run cannot be resumed.
pub fn train(request: &TrainRequest, sink: Sink) -> Result<Outcome, TrainError> {
    let done = open::open(request, sink).and_then(|mut run| {
        run.work().inspect_err(|error| {
            run.keeper.end();
            // If the disk fails now, nothing that matters is lost.
            let _ = run.tell_end(run.clock.elapsed(), Some(error.to_string()));
        })
    });
    match done {
        Ok(()) => Ok(Outcome::Finished),
        Err(TrainError::Stopped(Stopped)) => Ok(Outcome::Stopped),
        Err(error) => Err(error),
    }
}
