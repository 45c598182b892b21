//! How runs went, from their directories, whether they are running or not.
//!
//! [`RunLog`] reads a run's directory without disturbing the run, [`History`] folds its events, [`Status`] sums it up, and [`page()`] makes
//! a page about one run or several that needs nothing but a browser.

mod figures;
mod history;
mod log;
mod page;
mod plot;
mod ratings;
mod status;
mod tensorboard;

pub use figures::{Figures, SOME_EMPTIES, StepTime, Validated, Weights};
pub use history::{Ending, Generation, History, Learned};
pub use log::RunLog;
pub use page::page;
pub use ratings::Rating;
pub use status::{RunState, Status};
pub use tensorboard::TensorBoard;
