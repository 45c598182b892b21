//! Values for the positions of recorded games and for scored positions, so that they can be learned.
//!
//! A [`Labeller`] gives the positions of one record their values, most of them by solving; a [`RecordFile`] labels those of a file on
//! all threads as it is read.

mod labeller;
mod record_file;

pub use labeller::Labeller;
pub use record_file::{RecordFile, RecordFileError};
