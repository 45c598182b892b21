//! Learning weights from kept games and records, without playing: any pattern set, as often as wanted, from the same games.
//!
//! [`GameFiles`] finds and checks the games of runs and files, and labels those of records; [`fit`] learns from them by a
//! [`FitConfig`], in blocks, so that memory grows only with the games held out and the largest
//! file of records. The weights are a function of games and configuration
//! alone: not of the number of threads, or of when the work was stopped and resumed.

mod checkpoint;
mod config;
mod games;
mod open;
mod reader;
mod spool;
mod teacher;
mod work;

pub use checkpoint::UnfinishedFit;
pub use config::{FitConfig, FitConfigError};
pub use games::{GameFiles, GameFilesError, GameFilesEvent};
pub use open::kept_games_of;
pub use work::{FitError, FitEvent, FitOutcome, FitRequest, check, fit};
