//! The games there are to learn from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::games::{Block, GamesError, GamesReader, MAX_GAMES};
use crate::learn::{Sample, SampleSet, lambda_returns};
use crate::selfplay::GameRecord;

/// Files of games, checked from beginning to end.
#[derive(Clone, Debug)]
pub struct GameFiles {
    files: Vec<PathBuf>,
    /// Games in all.
    pub games: u64,
    /// Labelled positions in all.
    pub positions: u64,
    /// SHA-256 of all frames' bytes in their order, in lower-case hexadecimal.
    pub sha256: String,
}

/// Games that cannot be learned from, and why.
#[derive(Debug, thiserror::Error)]
pub enum GameFilesError {
    /// A file or folder that cannot be looked at.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that does not hold what it should.
    #[error("{}: {source}", path.display())]
    Games {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: GamesError,
    },
    /// A folder without kept games.
    #[error("{} holds no kept games (games/*.fsg): it is no run, or `keep-games` is false in it", .0.display())]
    NoGames(PathBuf),
    /// Files without a single game.
    #[error("there is no game in any of the files")]
    Empty,
    /// Files that changed while they were read.
    #[error("the games have changed since they were checked; give the command again")]
    Changed,
}

impl GameFiles {
    /// The games of runs (the files in their folder `games`, in the order of the generations) and of files, but for those of generations
    /// before `first_generation`. All is read and checked; where a crash cut off the last frame of a file, the frames before it count. `None` if `stop` was set before the end.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged, or no game at all.
    pub fn open(
        paths: &[PathBuf],
        first_generation: u32,
        stop: &AtomicBool,
        mut tell: impl FnMut(u64),
    ) -> Result<Option<Self>, GameFilesError> {
        let mut files = Vec::new();
        for path in paths {
            let io = |source| GameFilesError::Io { path: path.clone(), source };
            if fs::metadata(path).map_err(io)?.is_dir() {
                files.extend(of_run(path)?);
            } else {
                files.push(path.clone());
            }
        }
        let mut late = Vec::new();
        for path in files {
            let generation = match GamesReader::open(&path) {
                Ok(reader) => reader.header().generation,
                // A crash at the beginning of a generation: there is nothing in it.
                Err(GamesError::Torn { .. }) => continue,
                Err(source) => return Err(GameFilesError::Games { path, source }),
            };
            if generation >= first_generation {
                late.push(path);
            }
        }
        let mut found = Self { files: late, games: 0, positions: 0, sha256: String::new() };
        let mut hash = Sha256::new();
        let mut reader = found.reader(MAX_GAMES);
        while let Some((_, games)) = reader.next(Some(&mut hash))? {
            if stop.load(Relaxed) {
                return Ok(None);
            }
            found.games += games.len() as u64;
            found.positions += games.iter().map(|game| game.labels().len() as u64).sum::<u64>();
            tell(found.games);
        }
        found.sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found.positions == 0 { Err(GameFilesError::Empty) } else { Ok(Some(found)) }
    }

    /// Reads all games, in their order, `at_once` or a frame more at a time.
    pub(super) fn reader(&self, at_once: usize) -> Reader {
        Reader { at_once, files: self.files.clone().into_iter(), open: None, before: 0 }
    }
}

/// The files of a run's kept games.
fn of_run(directory: &Path) -> Result<Vec<PathBuf>, GameFilesError> {
    let folder = directory.join("games");
    let none = || GameFilesError::NoGames(directory.to_owned());
    let io = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => none(),
        _ => GameFilesError::Io { path: folder.clone(), source },
    };
    let entries: Result<Vec<_>, _> = fs::read_dir(&folder).map_err(io)?.collect();
    let mut files: Vec<PathBuf> = entries.map_err(io)?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fsg"));
    files.sort();
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

/// Reads games.
pub(super) struct Reader {
    at_once: usize,
    files: std::vec::IntoIter<PathBuf>,
    open: Option<(PathBuf, GamesReader)>,
    /// Games read before.
    before: u64,
}

impl Reader {
    /// The next games, decoded on all threads, and the number of the first; none at the end. Adds the frames' bytes to a hash.
    pub fn next(&mut self, mut hash: Option<&mut Sha256>) -> Result<Option<(u64, Vec<GameRecord>)>, GameFilesError> {
        let mut blocks: Vec<(PathBuf, Block)> = Vec::new();
        let mut count = 0;
        while count < self.at_once {
            let Some((path, reader)) = &mut self.open else {
                let Some(path) = self.files.next() else { break };
                let reader = GamesReader::open(&path);
                let reader = reader.map_err(|source| GameFilesError::Games { path: path.clone(), source })?;
                self.open = Some((path, reader));
                continue;
            };
            match reader.next_block() {
                Ok(Some(block)) => {
                    if let Some(hash) = &mut hash {
                        hash.update(block.bytes());
                    }
                    count += block.len();
                    blocks.push((path.clone(), block));
                }
                // What a crash cut off was never counted as played.
                Ok(None) | Err(GamesError::Torn { .. }) => self.open = None,
                Err(source) => return Err(GameFilesError::Games { path: path.clone(), source }),
            }
        }
        let decode = |(path, block): (PathBuf, Block)| match block.decode() {
            Ok(frame) => Ok(frame.games),
            Err(source) => Err(GameFilesError::Games { path, source }),
        };
        if blocks.is_empty() {
            return Ok(None);
        }
        let games: Result<Vec<Vec<GameRecord>>, _> = blocks.into_par_iter().with_max_len(1).map(decode).collect();
        let games: Vec<_> = games?.into_iter().flatten().collect();
        let first = self.before;
        self.before += games.len() as u64;
        Ok(Some((first, games)))
    }
}

/// Adds the samples of some of the games, `wanted` by their number, in their order.
pub(super) fn add_samples(
    set: &mut SampleSet,
    games: &[GameRecord],
    lambda: f32,
    wanted: impl Fn(usize) -> bool + Sync,
) {
    const PART: usize = 256;
    let samples_of = |(part, games): (usize, &[GameRecord])| -> Vec<Sample> {
        let of_part = games.iter().enumerate().filter(|(i, _)| wanted(part * PART + i));
        of_part.flat_map(|(_, game)| lambda_returns(&game.replay(), lambda)).collect()
    };
    let parts: Vec<Vec<Sample>> = games.par_chunks(PART).enumerate().map(samples_of).collect();
    parts.into_iter().flatten().for_each(|sample| set.push(sample));
}
