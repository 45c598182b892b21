//! Values for the positions of recorded games and for scored positions, so that they can be learned.
//!
//! [`Positions`] are those of kept games, labelled and in any order, for other trainers; [`write_positions`] writes them to files.
//!
//! A [`Labeller`] gives the positions of one record their values, most of them by solving; a [`RecordFile`] labels those of a file on
//! all threads as it is read.

mod labeller;
mod positions;
mod record_file;
mod write;

pub use labeller::Labeller;
pub use positions::{LabelledPosition, Order, Positions, Target, labelled_positions};
pub use record_file::{RecordFile, RecordFileError};
pub use write::{Chosen, PositionFormat, write_positions};
