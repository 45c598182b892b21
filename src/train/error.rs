//! What can go wrong in a run.

use std::io;
use std::path::{Path, PathBuf};

use super::identity::Difference;
use super::invalid::ConfigError;
use crate::fit::FitError;
use crate::label::RecordFileError;
use crate::learn::{Diverged, StartError};
use crate::pattern::LayoutError;
use crate::storage::{FileError, FormatError};
use crate::text::count;

/// Why a run cannot begin or continue. If it cannot be resumed, its directory is unchanged.
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
    /// Other weights to start from than those that the run began with.
    #[error(
        "the run in {0} began with other weights, or from nothing. Give it the same --from as at first, or use another --run \
         directory"
    )]
    OtherParent(PathBuf),
    /// A run of another configuration.
    #[error("the run in {directory} began with another configuration: {}", listed(.differences))]
    OtherConfig {
        /// The run directory.
        directory: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// Changes of keys that are fixed, or of what was played already.
    #[error(
        "the run in {directory} can no longer change this: {}. What can change between generations is `gate.every`, `gate.pairs`, \
         `fit`, `tune`, `events`, `passes`, the numbers in `step` (not its rule), and phases that are still to come (the current phase can be \
         divided). For anything else begin a new run (with `--from` and this one's last.fsw, if you like)",
        listed(.differences)
    )]
    Fixed {
        /// The run directory.
        directory: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// There is no run to resume.
    #[error("there is no run in {0}")]
    NoRun(PathBuf),
    /// A run to resume that was broken off before its first checkpoint.
    #[error(
        "the run in {0} was broken off before it had anything to resume from: begin it again with the command that began it"
    )]
    NotBegun(PathBuf),
    /// The last budget of a run to resume is not known.
    #[error("the budget of the run in {0} is not known. Say how long it is to continue, for example with --hours")]
    NoBudget(PathBuf),
    /// The configuration in the run directory is not the one that was written there.
    #[error(
        "{path} was changed after the run had begun: {}. That file only shows what the run follows: change it back, or \
         remove it and it is written again. To continue with other values, give a copy of the file to `train --resume RUN --config FILE`",
        listed(.differences)
    )]
    ConfigEdited {
        /// The file.
        path: PathBuf,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// The configuration in the run directory is no longer TOML.
    #[error(
        "{path} can no longer be read: {reason}. That file only shows what the run follows: repair it, or remove it and it is \
         written again"
    )]
    ConfigBroken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A pattern file that was edited after the run had begun.
    #[error(
        "the pattern set `{name}` is not the one that the run in {directory} began with: its patterns or scalars have \
         changed. Restore the old file, or use another --run directory"
    )]
    PatternsChanged {
        /// The set as the configuration names it.
        name: String,
        /// The run directory.
        directory: PathBuf,
    },
    /// Records that do not match their checksum in the configuration.
    #[error(
        "the records in {0} have changed: they do not match `sha256` in the configuration. Restore the old file, or begin a new \
         run without `sha256`"
    )]
    OtherRecords(PathBuf),
    /// A run that was begun with other records.
    #[error(
        "the run in {0} began with other records: a file's content has changed. Restore the old file, or use another --run \
         directory"
    )]
    RecordsChanged(PathBuf),
    /// A file of records that cannot be learned from.
    #[error(transparent)]
    Records(#[from] RecordFileError),
    /// A new run was asked for where one exists.
    #[error("{0} holds a run already, and a new one was asked for. Use another directory, or remove this run first")]
    Exists(PathBuf),
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
    /// A run without its checkpoints.
    #[error(
        "the checkpoint of the run in {directory} is gone, but {} there. Restore `checkpoint` to continue the run, or begin \
         a new one in another directory (with `--from` and this one's last.fsw, if you like)",
        present(.found)
    )]
    LostCheckpoint {
        /// The run directory.
        directory: PathBuf,
        /// What is left of the run.
        found: Vec<String>,
    },
    /// A link that leads nowhere in the place of a file of the run.
    #[error("{0} is a link that leads nowhere. Restore what it points to, or the file itself")]
    Dangling(PathBuf),
    /// A checkpoint of another version.
    #[error("{path}: {reason}, or begin a new run in another directory with `--from` and this one's last.fsw", path = path.display())]
    OtherVersion {
        /// The checkpoint.
        path: PathBuf,
        /// Its version, and this program's.
        reason: FormatError,
    },
    /// A file that the checkpoint relies on, or the checkpoint itself.
    #[error(
        "{path}: {reason}. The run cannot continue without it, and nothing was changed: restore a copy if you have one, or begin a \
         new run in another directory with `--from` and this one's last.fsw"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Games of this run that a fit needs.
    #[error(
        "{found} of the {played} games to fit are there: {}. Restore copies if you have them, or begin a new run in another \
         directory with `--from` and this one's last.fsw",
        if .missing.is_empty() { format!("cut off: {}", listed(.cut_off)) } else { format!("missing: {}", listed(.missing)) }
    )]
    GamesMissing {
        /// Files that are not there.
        missing: Vec<String>,
        /// Files that were cut off.
        cut_off: Vec<String>,
        /// Games found.
        found: u64,
        /// Games that were played.
        played: u64,
    },
    /// A file of something else where this run's games should be.
    #[error(
        "{0} does not hold games of this run and generation: it is of another run, generation or version, or something else. \
         Move it out of the way; missing games are played again if possible"
    )]
    ForeignGames(PathBuf),
    /// A file system without the room that the run will need.
    #[error(
        "the run in {directory} needs about {}, and there is room for {}. Make room, or use another --run directory{}",
        megabytes(*.needed), megabytes(*.room), if *.games { "; with `keep-games = false` it needs less" } else { "" }
    )]
    NoRoom {
        /// The run directory.
        directory: PathBuf,
        /// Bytes it needs.
        needed: u64,
        /// Bytes that are free.
        room: u64,
        /// Whether the games that are kept are a part of it, and need not be kept.
        games: bool,
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
    /// A fit to the kept games.
    #[error("cannot fit weights to the kept games: {0}")]
    Fit(#[from] FitError),
    /// Learning.
    #[error("{0}; the last saved weights are good")]
    Diverged(#[from] Diverged),
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

fn present(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}
