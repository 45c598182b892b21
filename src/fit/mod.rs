//! Learning games: the one job behind all that `flipside train` and `flipside fit` learn.
//!
//! [`GameFiles`] finds and checks the games of runs and files, and labels those of records; `learn` learns them as a [`LearnConfig`] says,
//! in blocks, so that memory grows only with the games held out and the largest file of records. What is learned depends on games,
//! configuration and weights alone, not on the number of threads or on when the work was stopped and resumed. [`fit`] is that job on its
//! own, with a checkpoint in a file.

mod checkpoint;
mod config;
mod games;
mod open;
mod reader;
mod request;
mod spool;
mod teacher;
mod work;

pub use checkpoint::{Begun, Unfinished};
pub(crate) use config::MOST_EXACT;
pub use config::{ConfigFault, LearnConfig, Start};
pub use games::{GameFiles, GameFilesError, GameFilesEvent};
pub use open::kept_games_of;
pub use request::{FitRequest, check, fit};
pub(crate) use teacher::Teacher;
pub use work::{FitError, LearnEvent};
pub(crate) use work::{Lessons, learn, learner_for};
