//! Games to learn from, and what can be wrong with them.

use std::path::{Path, PathBuf};

use super::spool::Spool;
use crate::games::GamesError;
use crate::label::RecordFileError;
use crate::record::RecordError;
use crate::selfplay::Stopped;
use crate::storage::FileError;

/// Games to learn from, checked from beginning to end: kept games, recorded games and scored positions.
#[derive(Debug, Default)]
pub struct GameFiles {
    /// The paths that were given.
    pub(super) named: Vec<PathBuf>,
    /// The files of kept games, and how many bytes of each count: the newest of a run in progress is growing.
    pub(super) files: Vec<(PathBuf, u64)>,
    /// The samples of records, and the folder they are in; `None` without records.
    pub(super) spool: Option<(PathBuf, Spool)>,
    /// Kept games.
    pub games: u64,
    /// Recorded games and scored positions that can be learned from.
    pub records: u64,
    /// Labelled positions in all.
    pub positions: u64,
    /// What tells these games from others: SHA-256 of all frames of kept games in their order, then of all files of records, in
    /// lower-case hexadecimal; or the name of a run and of the generations.
    pub identity: String,
}

/// What happens while games are checked.
#[derive(Debug)]
pub enum GameFilesEvent<'e> {
    /// The number of kept games checked so far.
    Games(u64),
    /// A run or file that was named before, maybe by a link: it counts once.
    Again(&'e Path),
    /// Files were left out because they begin with the same games as other files.
    Twins {
        /// The first of them.
        path: &'e Path,
        /// The file that is read instead, as long or longer.
        of: &'e Path,
        /// The number of files left out.
        count: usize,
    },
    /// A file of kept games that ends within a frame: the games before it count.
    CutOff(&'e Path),
    /// An unfinished fit resumes with the games it began with; newer ones are left out.
    LeftOut,
    /// A record that cannot be learned from; after the first twenty of a file they are only counted.
    BadRecord {
        /// The file.
        path: &'e Path,
        /// Where and why.
        error: RecordError,
    },
    /// Records of a file are being labelled.
    Records {
        /// The file.
        path: &'e Path,
        /// Records read so far.
        read: u64,
    },
    /// All records of a file are labelled.
    Labelled {
        /// The file.
        path: &'e Path,
        /// Records it has.
        read: u64,
        /// Those that cannot be learned from.
        left_out: u64,
    },
}

/// Games that cannot be learned from, and why.
#[derive(Debug, thiserror::Error)]
pub enum GameFilesError {
    /// A bad file of kept games.
    #[error("{}: {source}", path.display())]
    Games {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: GamesError,
    },
    /// A file or folder that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of records that cannot be learned from.
    #[error(transparent)]
    Records(#[from] RecordFileError),
    /// A folder without kept games.
    #[error("{} holds no kept games (games/*.fsg): it is not a run's own folder", .0.display())]
    NoGames(PathBuf),
    /// Files without a single game.
    #[error("there is no game in any of the files")]
    Empty,
    /// All kept games are of generations before the first that counts.
    #[error("no game is of generation {0} or later: `since` leaves out all of them")]
    OnlyEarlier(u32),
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Records that do not match their checksum.
    #[error(
        "the records in {0} have changed: they do not match `sha256`. Restore the old file, or begin anew without `sha256`"
    )]
    OtherRecords(PathBuf),
    /// Files that changed while they were read.
    #[error("the games have changed since they were checked; run the command again")]
    Changed,
}

impl GameFilesError {
    pub(super) fn games(path: &Path) -> impl FnOnce(GamesError) -> Self {
        move |source| Self::Games { path: path.to_owned(), source }
    }
}
