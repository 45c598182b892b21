//! Weight files: [`WeightFile`] is a model with its [`Provenance`], read and written as an `.fsw` file.

mod date;
mod file;

pub use date::{rfc3339, source_date, unix_seconds};
pub use file::{Provenance, WeightFile};
