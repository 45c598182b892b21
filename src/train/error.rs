//! What can go wrong in a run.

use std::io;
use std::path::{Path, PathBuf};

use super::config::ConfigError;
use crate::fit::FitError;
use crate::learn::StartError;
use crate::pattern::{LayoutError, PatternSetError};
use crate::selfplay::Stopped;
use crate::storage::FileError;
use crate::text::count;

/// Why a run cannot begin or continue. If it cannot be resumed, its directory is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A pattern set that is neither built in nor a file, or malformed.
    #[error(transparent)]
    Patterns(#[from] PatternSetError),
    /// The pattern set.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The weights to start from.
    #[error("cannot start from these weights: {0}")]
    From(StartError),
    /// A run of another configuration, or with another beginning.
    #[error(
        "the run in {directory} is another one: {}. A run's configuration never changes: `flipside train --continue {directory} \
         --config FILE` begins a new run from its weights and games", listed(.differences)
    )]
    OtherRun {
        /// The run directory.
        directory: PathBuf,
        /// What differs.
        differences: Vec<String>,
    },
    /// There is no run to resume.
    #[error("there is no run in {0}")]
    NoRun(PathBuf),
    /// The directory of a run that another file has to name.
    #[error("the path {0} has to be stored as text, and is not valid UTF-8: rename the folder")]
    NotText(PathBuf),
    /// The last budget of a run to resume is not known.
    #[error("the budget of the run in {0} is not known. Say how long it is to continue, for example with --hours")]
    NoBudget(PathBuf),
    /// Something else is in the directory.
    #[error(
        "{directory} is neither empty nor a run directory: it holds `{found}`. Use a directory that is empty or does not exist yet"
    )]
    NotARun {
        /// The directory.
        directory: PathBuf,
        /// One of the names in it.
        found: String,
    },
    /// Another process works in the directory.
    #[error("another process is training in {0}")]
    Locked(PathBuf),
    /// A run without a checkpoint that cannot begin anew from its games, since it began with weights or another run's state.
    #[error(
        "the checkpoint of the run in {0} is gone. Its games can be learned again: repeat the command that began the run, with `--from` or \
         `--continue`"
    )]
    NoBeginning(PathBuf),
    /// A checkpoint in the middle of learning something that this build would not learn.
    #[error(
        "the checkpoint is in the middle of learning what this build would not learn. Go on with the build that wrote it: the event \
         `other-build` in metrics.jsonl names it"
    )]
    OtherJob,
    /// A link that leads nowhere in the place of a file of the run.
    #[error("{0} is a link that leads nowhere. Restore what it points to, or the file itself")]
    Dangling(PathBuf),
    /// A file that the checkpoint relies on, or the checkpoint itself.
    #[error("{path}: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of something else where this run's games should be.
    #[error(
        "{0} does not hold games of this run and generation: it is of another run, generation or version, or something else. \
         Move it out of the way; missing games are played again if possible"
    )]
    ForeignGames(PathBuf),
    /// A file system without the room that the run will need.
    #[error(
        "the run in {directory} needs about {}, and there is room for {}. Make room, or use another --run directory",
        megabytes(*.needed), megabytes(*.room)
    )]
    NoRoom {
        /// The run directory.
        directory: PathBuf,
        /// Bytes it needs.
        needed: u64,
        /// Bytes that are free.
        room: u64,
    },
    /// A file system that did not recover for minutes. What was saved is whole.
    #[error("{path}: {error}, for {minutes} minutes")]
    OutOfPatience {
        /// The file.
        path: PathBuf,
        /// What the system said last.
        error: io::Error,
        /// How long it was tried.
        minutes: u64,
    },
    /// A file or folder. If the file system failed, what was saved is whole.
    #[error(transparent)]
    File(#[from] FileError),
    /// Learning.
    #[error(transparent)]
    Learn(FitError),
    /// It was stopped, and can be resumed.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl TrainError {
    pub(super) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// In a unit that tells two large numbers apart.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", count(bytes.div_ceil(1_000_000)))
}

/// The first of a list, and how many more there are.
fn listed(items: &[impl ToString]) -> String {
    const SHOWN: usize = 3;
    let mut text: Vec<_> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    if items.len() > SHOWN {
        text.push(format!("{} more", items.len() - SHOWN));
    }
    text.join("; ")
}

impl From<FitError> for TrainError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Stopped(stopped) => Self::Stopped(stopped),
            error => Self::Learn(error),
        }
    }
}
