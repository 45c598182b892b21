//! Weight files, and writing files so that nothing half-written is ever left behind.
//!
//! [`WeightFile`] is a model with its [`Provenance`], read and written as an `.fsw` file. [`Container`] gives
//! other files (a training checkpoint) the same checked envelope, [`atomic_write`] is how every file of
//! the program is replaced, and [`blob`] stores long vectors of numbers at the speed of memory. `docs/FILES.md` describes the
//! bytes for readers in other languages.

mod atomic;
pub mod blob;
mod container;
mod date;
mod file;

pub use atomic::{atomic_write, remove_temporaries};
pub use container::{Container, FileError, FormatError, read_bounded};
pub use date::{rfc3339, source_date};
pub use file::{Provenance, WeightFile};
