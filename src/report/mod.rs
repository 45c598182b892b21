//! How runs went: what their directories tell, whether they are at work or not.
//!
//! [`RunLog`] reads a run's directory without disturbing the run, [`Status`] says how it stands, and [`page`] makes a page of one run
//! or several that needs nothing but a browser.

mod figures;
mod log;
mod page;
mod plot;
mod ratings;
mod status;
mod tensorboard;
pub mod text;

pub use figures::{Figures, StageLoss};
pub use log::RunLog;
pub use page::page;
pub use plot::{Band, Chart, Line, Palette};
pub use ratings::{Rating, ratings};
pub use status::Status;
pub use tensorboard::TensorBoard;
