//! Finding and checking the games to learn from.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sha2::{Digest, Sha256};

use super::checkpoint::Begun;
use super::config::LearnConfig;
use super::games::{GameFiles, GameFilesError, GameFilesEvent};
use super::reader::{Chunk, Reader};
use super::spool::SpoolWriter;
use crate::games::{GamesError, GamesReader, games_of_run, has_games_name, is_games_file};
use crate::label::RecordFile;
use crate::record::{MAX_BYTES, MAX_REPORTED};
use crate::selfplay::Stopped;
use crate::storage::{FileError, check_lasting, hex, read_bounded, read_start, sha256};

/// Games that are decoded together to be checked.
const CHECKED_AT_ONCE: usize = 4096;

impl GameFiles {
    /// Opens runs (the files in their folder `games`, by generation), files of kept games, and files of records in any format that
    /// [`read`](crate::record::read) knows. Kept games of generations before the configuration's first are left out. A path that is
    /// named twice counts once, and so do games that two runs with the same seed have both played.
    ///
    /// If `begun` is the checkpoint of a fit of the same paths, these are the kept games that it began with: a run in progress has
    /// more by now.
    ///
    /// Everything is read and checked. If a crash cut off the last frame of a file of kept games, the frames before it count. Records
    /// are labelled now, their samples kept in a temporary file in `folder`.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged, a file without a record to learn from, or no game at all; `stop` was set before the end.
    pub fn open(
        paths: &[PathBuf],
        config: &LearnConfig,
        folder: &Path,
        begun: Option<&Begun>,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(GameFilesEvent<'_>),
    ) -> Result<Self, GameFilesError> {
        let (kept, recorded) = kept_and_recorded(paths, tell)?;
        let found = Self { named: paths.to_vec(), ..Self::default() };
        let mut opening = Opening { found, hash: Sha256::new(), config, folder, stop, tell };
        let is_early = opening.add_kept(kept)?;
        if let Some(begun) = begun
            && opening.found.go_on_with(begun)
        {
            (opening.tell)(GameFilesEvent::LeftOut);
        }
        opening.check_kept()?;
        if !recorded.is_empty() {
            opening.label_all(&recorded)?;
        }
        let Opening { mut found, hash, .. } = opening;
        found.identity = hex(&hash.finalize());
        match found.positions {
            0 if is_early => Err(GameFilesError::OnlyEarlier(config.since)),
            0 => Err(GameFilesError::Empty),
            _ => Ok(found),
        }
    }

    /// The games of a run, which knows them and has checked them: files of kept games, how many games and labelled positions are in them,
    /// and a name by which these are told from others.
    pub(crate) fn of_run(files: Vec<PathBuf>, games: u64, positions: u64, identity: String) -> Self {
        let files = files.into_iter().map(|path| (path, u64::MAX)).collect();
        Self { files, games, positions, identity, ..Self::default() }
    }

    /// Takes only the kept games that a fit of the same paths began with, if all of them are still there. True if there are more.
    fn go_on_with(&mut self, begun: &Begun) -> bool {
        let now = Begun::new(String::new(), self);
        let is_there = |(path, length): &(Vec<u8>, u64)| now.files.iter().any(|(at, has)| at == path && length <= has);
        let has_more = begun.named == now.named && begun.files != now.files && begun.files.iter().all(is_there);
        if has_more {
            let then = |(path, length): &(Vec<u8>, u64)| {
                let at = now.files.iter().position(|(at, _)| at == path)?;
                Some((self.files[at].0.clone(), *length))
            };
            self.files = begun.files.iter().filter_map(then).collect();
        }
        has_more
    }
}

/// The files of kept games and those of records that the paths name, each once.
fn kept_and_recorded<'p>(
    paths: &'p [PathBuf],
    tell: &mut dyn FnMut(GameFilesEvent<'_>),
) -> Result<(Vec<PathBuf>, Vec<&'p Path>), GameFilesError> {
    let (mut kept, mut recorded) = (Vec::new(), Vec::new());
    let mut named = BTreeSet::new();
    let mut is_new = |path: &Path| -> Result<bool, GameFilesError> {
        check_lasting(path)?;
        let is_new = named.insert(fs::canonicalize(path).map_err(FileError::io(path))?);
        if !is_new {
            tell(GameFilesEvent::Again(path));
        }
        Ok(is_new)
    };
    for path in paths {
        if !is_new(path)? {
            continue;
        } else if path.is_dir() {
            for file in kept_games_of(path)? {
                if is_new(&file)? {
                    kept.push(file);
                }
            }
        } else if holds_kept_games(path)? {
            kept.push(path.clone());
        } else {
            recorded.push(path.as_path());
        }
    }
    Ok((kept, recorded))
}

/// Games being opened.
struct Opening<'o> {
    found: GameFiles,
    hash: Sha256,
    config: &'o LearnConfig,
    /// Where the samples of records are kept.
    folder: &'o Path,
    stop: &'o AtomicBool,
    tell: &'o mut dyn FnMut(GameFilesEvent<'_>),
}

impl Opening<'_> {
    /// Adds files of kept games, but of those that begin with the same games only the longest. True if some were left out because their
    /// generation is too early.
    fn add_kept(&mut self, kept: Vec<PathBuf>) -> Result<bool, GameFilesError> {
        let files = &mut self.found.files;
        let (mut by_first_frame, mut twins, mut is_early) = (HashMap::new(), Vec::new(), false);
        for path in kept {
            let mut reader = match GamesReader::open(&path) {
                Ok(reader) if reader.header().generation < self.config.since => {
                    is_early = true;
                    continue;
                }
                // A crash at the beginning of a generation left no games.
                Err(GamesError::Torn { .. }) => {
                    (self.tell)(GameFilesEvent::CutOff(&path));
                    continue;
                }
                reader => reader.map_err(GameFilesError::games(&path))?,
            };
            let length = fs::metadata(&path).map_err(FileError::io(&path))?.len();
            // A bad frame is reported later, when all are checked.
            let first_frame = reader.next_frame().ok().flatten().map(|frame| Sha256::digest(frame.bytes()));
            let (file, next) = ((path, length), files.len());
            // Games without randomness are the same in all generations.
            let generation = reader.header().generation;
            let at = first_frame.map_or(next, |hash| *by_first_frame.entry((generation, hash)).or_insert(next));
            match files.get_mut(at) {
                None => files.push(file),
                Some(twin) => {
                    // One of them may have been cut short by a budget or a stop.
                    let (shorter, _) = if length > twin.1 { std::mem::replace(twin, file) } else { file };
                    twins.push((shorter, twin.0.clone()));
                }
            }
        }
        if let Some((path, of)) = twins.first() {
            (self.tell)(GameFilesEvent::Twins { path, of, count: twins.len() });
        }
        Ok(is_early)
    }

    /// Checks and counts the kept games and their positions.
    fn check_kept(&mut self) -> Result<(), GameFilesError> {
        let (mut count, mut positions) = (0, 0);
        let mut reader = Reader::new(&self.found, CHECKED_AT_ONCE)?;
        while let Some(games) = reader.next_games(Some(&mut self.hash))? {
            if self.stop.load(Relaxed) {
                return Err(Stopped.into());
            }
            count += games.len() as u64;
            positions += Chunk::Games(games).positions();
            (self.tell)(GameFilesEvent::Games(count));
        }
        reader.torn().iter().for_each(|path| (self.tell)(GameFilesEvent::CutOff(path)));
        (self.found.games, self.found.positions) = (count, positions);
        Ok(())
    }

    /// Labels all records of the files.
    fn label_all(&mut self, paths: &[&Path]) -> Result<(), GameFilesError> {
        let io = FileError::io(self.folder);
        let mut writer = SpoolWriter::new_in(self.folder).map_err(&io)?;
        for path in paths {
            self.label(path, &mut writer)?;
        }
        self.found.spool = Some((self.folder.to_owned(), writer.finish().map_err(io)?));
        Ok(())
    }

    /// Labels the records of a file.
    fn label(&mut self, path: &Path, writer: &mut SpoolWriter) -> Result<(), GameFilesError> {
        let bytes = read_bounded(path, "file of records", MAX_BYTES)?;
        let number = self.config.files.iter().position(|file| Path::new(file) == path);
        if number.and_then(|number| self.config.sha256.get(number)).is_some_and(|wanted| *wanted != sha256(&bytes)) {
            return Err(GameFilesError::OtherRecords(path.to_owned()));
        }
        self.hash.update(&bytes);
        let mut file = RecordFile::new(path, &bytes, self.config.exact_empties)?;
        let (mut count, mut left_out, before) = (0, 0, self.found.records);
        loop {
            let labelled = file.next(self.stop).ok_or(Stopped)?;
            if labelled.is_empty() {
                break;
            }
            count += labelled.len() as u64;
            for samples in labelled {
                match samples {
                    Ok(samples) => {
                        writer.push(&samples).map_err(FileError::io(self.folder))?;
                        self.found.records += 1;
                        self.found.positions += samples.len() as u64;
                    }
                    Err(error) => {
                        left_out += 1;
                        if left_out <= MAX_REPORTED {
                            (self.tell)(GameFilesEvent::BadRecord { path, error });
                        }
                    }
                }
            }
            (self.tell)(GameFilesEvent::Records { path, read: count });
        }
        (self.tell)(GameFilesEvent::Labelled { path, read: count, left_out });
        if self.found.records == before { Err(file.no_lesson().into()) } else { Ok(()) }
    }
}

/// Whether a file holds kept games, by its first bytes, or by its name if they are missing.
fn holds_kept_games(path: &Path) -> Result<bool, GameFilesError> {
    Ok(is_games_file(&read_start(path)?) || has_games_name(path))
}

/// The files of a run's kept games, in the order of the generations.
///
/// # Errors
/// If there are none, or the folder cannot be read.
pub fn kept_games_of(directory: &Path) -> Result<Vec<PathBuf>, GameFilesError> {
    match games_of_run(directory) {
        Ok(files) if !files.is_empty() => Ok(files),
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FileError::io(directory)(source).into()),
        _ => Err(GameFilesError::NoGames(directory.to_owned())),
    }
}
