//! Learning the weights of any pattern set from kept games and records, without playing.
//!
//! [`GameFiles`] finds and checks the games of runs and files, and labels those of records; [`fit`] learns from them as a
//! [`FitConfig`] says, in blocks, so that memory grows only with the games held out and the largest file of records. The weights
//! depend on a [`FitRequest`]'s games, configuration and weights alone, not on the number of threads or on when the work was stopped and
//! resumed.

mod checkpoint;
mod config;
mod games;
mod open;
mod reader;
mod spool;
mod teacher;
mod work;

pub use checkpoint::UnfinishedFit;
pub(crate) use config::check_numbers;
pub use config::{FitConfig, FitConfigError};
pub(crate) use config::{RANGE, is_default, is_in_range};
pub use games::{GameFiles, GameFilesError, GameFilesEvent};
pub use open::kept_games_of;
pub use work::{FitError, FitEvent, FitOutcome, FitRequest, check, fit};
