//! What there is to learn from, and what can be wrong with it.

use std::path::{Path, PathBuf};

use super::checkpoint::UnfinishedFit;
use super::spool::Spool;
use crate::games::GamesError;
use crate::learn::RecordFileError;
use crate::record::RecordError;
use crate::storage::FileError;

/// Games to learn from, checked from beginning to end: kept games, recorded games and scored positions.
#[derive(Debug, Default)]
pub struct GameFiles {
    /// What was named.
    pub(super) named: Vec<PathBuf>,
    /// The files of kept games, and how much of each counts: the newest of a run at work is growing.
    pub(super) files: Vec<(PathBuf, u64)>,
    /// The samples of records, and the folder they are in; none without records.
    pub(super) spool: Option<(PathBuf, Spool)>,
    /// Kept games.
    pub games: u64,
    /// Recorded games and scored positions that can be learned from.
    pub records: u64,
    /// Labelled positions in all.
    pub positions: u64,
    /// SHA-256 of all frames of kept games in their order, then of all files of records, in lower-case hexadecimal.
    pub sha256: String,
}

/// What is told while games are checked.
#[derive(Debug)]
pub enum GameFilesEvent<'e> {
    /// The number of kept games checked so far.
    Games(u64),
    /// A run or file that was named before, maybe by a link: it is taken once.
    Again(&'e Path),
    /// A number of files begin with the games of other files, as `path` with those of `of`, and are left out.
    Twins {
        /// The first of them.
        path: &'e Path,
        /// The file that is as long or longer.
        of: &'e Path,
        /// How many there are.
        count: usize,
    },
    /// A file of kept games that ends within a frame: the games before that count.
    CutOff(&'e Path),
    /// A fit that was begun goes on with the games there were then; others have come since.
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
    /// All records of a file were labelled.
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
    /// A file that does not hold what it should.
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
    /// The fit in progress that was begun with these games.
    #[error(transparent)]
    Unfinished(#[from] UnfinishedFit),
    /// A file of records that cannot be learned.
    #[error(transparent)]
    Records(#[from] RecordFileError),
    /// A folder without kept games.
    #[error("{} holds no kept games (games/*.fsg): it is no run, or `keep-games` is false in it", .0.display())]
    NoGames(PathBuf),
    /// Files without a single game.
    #[error("there is no game in any of the files")]
    Empty,
    /// Kept games, and none of the first generation that counts or of a later one.
    #[error("no game is of generation {0} or later: `first-generation` leaves out all that there are")]
    OnlyEarlier(u32),
    /// Files that changed while they were read.
    #[error("the games have changed since they were checked; give the command again")]
    Changed,
}

impl GameFilesError {
    pub(super) fn games(path: &Path) -> impl FnOnce(GamesError) -> Self {
        move |source| Self::Games { path: path.to_owned(), source }
    }
}
