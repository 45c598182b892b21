//! Weight files: [`WeightFile`] is a model with its [`Provenance`], read and written as an `.fsw` file.

mod file;

pub(crate) use file::MAX_BYTES;
pub use file::{Provenance, WeightFile, is_weight_file};
