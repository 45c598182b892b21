//! The main job: generations of self-play and learning, gates, checkpoints.
//!
//! [`train`] runs a [`TrainConfig`] in a run directory until a [`Budget`] is used up or the run is stopped, and reports what happens
//! to a sink of [`TrainEvent`]s. The weights depend on the configuration alone, not on the number of threads, on when the run was
//! stopped and resumed, or on how long anything took.
//!
//! The configuration is a plan: steps that each play a generation, learn, and measure the strength, or some of these. Games are played with
//! frozen weights; a [`GameSource`] plays them, and they are appended to the generation's journal as they come. All learning is
//! `fit::learn`. The state is saved as a checkpoint between steps and within long learning. A run can be stopped at any
//! time; what was not saved is done again, from the games that are there.
//!
//! | file | what it has |
//! |---|---|
//! | `config` | the plan: every key, once |
//! | `open` | opening a run directory |
//! | `run` | the loop of steps, gates, and the time that is kept back for the end |
//! | `playing`, `learning`, `saving` | a generation's games, what is learned, checkpoints |
//! | `identity`, `ledger`, `state`, `checkpoint`, `directory` | what a run is, its games, and how far it has come |
//! | `saved` | checking what was saved |
//! | `keeper`, `room`, `live` | writing with retries, reporting events, whether the disk has room, and what a run is doing now |
//! | `workers` | the workers of a run on many machines |
//! | `source`, `gate` | where games come from, and how strength is measured |

mod budget;
mod checkpoint;
mod config;
mod directory;
mod error;
mod event;
mod gate;
mod identity;
mod keeper;
mod learning;
mod ledger;
mod live;
mod open;
mod playing;
mod request;
mod room;
mod run;
mod saved;
mod saving;
mod source;
mod state;
mod workers;

pub use budget::Budget;
pub use config::{ConfigError, GateConfig, Layer, PRESETS, Play, Step, TrainConfig, check_self_play, layer, origin};
pub(crate) use directory::metrics;
pub use directory::{BEST, CHECKPOINTS, LAST, run_of_file, weights_at};
pub use error::TrainError;
pub(crate) use event::events;
pub use event::{Anchor, GateMatch, TrainEvent};
pub use gate::SUPERIORITY;
pub use identity::{StoredRun, set_named, text_of, with_continued};
pub use keeper::Sink;
pub(crate) use ledger::check_games_from;
pub use live::Live;
pub use live::{LOCK, host_name};
pub use request::{Outcome, Resume, TrainRequest};
pub(crate) use saved::Saved;
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
