//! What can go wrong in a run.

use std::io;
use std::path::{Path, PathBuf};

use super::config::ConfigError;
use crate::learn::{Diverged, StartError};
use crate::pattern::LayoutError;
use crate::record::{Format, RecordError};
use crate::storage::FileError;

/// Why a run cannot go on. What was saved stays good.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The pattern set.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The weights to start from.
    #[error("cannot start from these weights: {0}")]
    From(StartError),
    /// Weights to start from for a run that began already.
    #[error("the run in {0} has begun already; weights to start from are for new runs")]
    FromOnResume(PathBuf),
    /// A run of another configuration.
    #[error(
        "the run in {directory} was begun with another configuration: `{key}` differs. Use another --run directory, or the \
         configuration in {directory}/config.toml"
    )]
    OtherConfig {
        /// The run directory.
        directory: PathBuf,
        /// The first line that differs.
        key: String,
    },
    /// Records that are not those the configuration's checksums are of.
    #[error(
        "the records in {0} have changed: they are not those that `sha256` in the configuration stands for. Bring the old file \
         back, or begin a new run without `sha256`"
    )]
    OtherRecords(PathBuf),
    /// A run that was begun with other records.
    #[error(
        "the run in {0} was begun with other records: a file's content has changed. Bring the old file back, or use another --run \
         directory"
    )]
    RecordsChanged(PathBuf),
    /// A file that holds no records.
    #[error("cannot read {path} as {format}: {error}")]
    Records {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        format: Format,
        /// What is wrong.
        error: RecordError,
    },
    /// A file without a single record that can be learned.
    #[error(
        "nothing in {path}, which looks like {format}, can be learned: no game with a result, no position with a score"
    )]
    NoRecords {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        format: Format,
    },
    /// A new run was asked for where one exists.
    #[error("{0} holds a run already, and --resume never was asked for. Use another directory or remove it")]
    Exists(PathBuf),
    /// Another process works in the directory.
    #[error("another process is training in {0}")]
    Locked(PathBuf),
    /// A file that the checkpoint relies on, or the checkpoint itself.
    #[error(
        "{0} is damaged, missing, or of another state of the run. The run cannot go on, but its weights can: start a new run \
         --from its last.fsw"
    )]
    Damaged(PathBuf),
    /// Reading or writing.
    #[error("{path}: {error}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// A file of ours.
    #[error(transparent)]
    File(#[from] FileError),
    /// Learning.
    #[error(transparent)]
    Diverged(#[from] Diverged),
}

impl TrainError {
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }
}
