//! Where the frames of kept games are, so that they can be read in any order.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::file::{GamesError, GamesReader, RawFrame, read_frame};
use super::folder::games_of_run;
use crate::selfplay::GameRecord;

/// The number of a game that decides whether it is held out: it depends on its generation and its number there, and is spread evenly, so
/// that games are held out however few a generation has.
pub fn number_of_game(generation: u32, game: u32) -> u64 {
    (u64::from(generation).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) + u64::from(game)
}

/// Whether a game is held out if one of `every` games is; 0 holds out none.
pub fn is_held_out(number: u64, every: u32) -> bool {
    let every = u64::from(every);
    every > 0 && number % every == every - 1
}

/// Which games count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All.
    All,
    /// Those that a fit learns if it holds out one of so many.
    Learned(u32),
    /// Those that it holds out.
    HeldOut(u32),
}

impl Part {
    /// A part by its name: `all`, `learned` or `held-out`, where one of `every` games is held out. None for others.
    pub fn named(name: &str, every: u32) -> Option<Self> {
        match name {
            "all" => Some(Self::All),
            "learned" => Some(Self::Learned(every)),
            "held-out" => Some(Self::HeldOut(every)),
            _ => None,
        }
    }

    /// Whether it has the game with a number.
    fn has(self, number: u64) -> bool {
        match self {
            Self::All => true,
            Self::Learned(every) => !is_held_out(number, every),
            Self::HeldOut(every) => is_held_out(number, every),
        }
    }
}

/// A file of kept games that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct BadGames {
    /// The file or the folder.
    pub path: PathBuf,
    /// What is wrong.
    pub source: GamesError,
}

impl BadGames {
    fn at(path: &Path) -> impl FnOnce(GamesError) -> Self {
        move |source| Self { path: path.to_owned(), source }
    }
}

/// Hears of a number of games, and says whether to stop.
type Stops<'s> = dyn Fn(u64) -> bool + Sync + 's;

/// Kept games, checked, and where their frames are: 32 bytes in memory for each frame. No file stays open.
#[derive(Debug)]
pub struct KeptGames {
    part: Part,
    files: Vec<KeptFile>,
    frames: Vec<KeptFrame>,
}

/// A file, and how much of it counts.
#[derive(Debug)]
struct KeptFile {
    path: PathBuf,
    length: u64,
    generation: u32,
    is_cut_off: bool,
}

/// Where a frame of kept games is.
#[derive(Clone, Copy, Debug)]
pub struct KeptFrame {
    at: u64,
    file: u32,
    /// Number of its first game in its generation.
    first: u32,
    /// Number of its first game in all files.
    game: u64,
    /// Labelled positions in those of its games that count.
    positions: u32,
}

impl KeptFrame {
    /// Labelled positions in those of its games that count.
    pub fn positions(&self) -> u64 {
        self.positions.into()
    }
}

impl KeptGames {
    /// Reads and checks all frames of some runs (the files in their folder `games`, by generation) and files, on the threads of the
    /// current rayon pool. A path that is named twice counts once. If a crash cut off the last frame of a file, the frames before it
    /// count. `stops` is told after each frame how many games have been checked, on any thread; once it answers true, the result is `None`.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged, a folder without kept games, or no game at all.
    pub fn open(paths: &[PathBuf], part: Part, stops: &Stops<'_>) -> Result<Option<Self>, BadGames> {
        let opened = Self::open_lengths(&lengths(paths)?, part, stops)?;
        if opened.as_ref().is_some_and(|games| games.frames.is_empty()) {
            let nothing = io::Error::new(io::ErrorKind::NotFound, "there is no kept game in it");
            return Err(BadGames::at(paths.first().map_or(Path::new(""), PathBuf::as_path))(nothing.into()));
        }
        Ok(opened)
    }

    /// [`Self::open`] for the [`lengths`](Self::lengths) of games opened before: what has been appended since does not count.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged.
    pub fn open_lengths(lengths: &[(PathBuf, u64)], part: Part, stops: &Stops<'_>) -> Result<Option<Self>, BadGames> {
        let checked = AtomicU64::new(0);
        let stops = |games| stops(checked.fetch_add(games, Relaxed) + games);
        let scan = |file: &(PathBuf, u64)| scan(file, part, &stops).map_err(BadGames::at(&file.0));
        let scanned: Vec<Result<_, _>> = lengths.par_iter().map(scan).collect();
        let (mut files, mut frames, mut games) = (Vec::new(), Vec::new(), 0);
        for scanned in scanned {
            let Some((file, of_file)) = scanned? else { return Ok(None) };
            for (frame, count) in of_file {
                frames.push(KeptFrame { file: files.len() as u32, game: games, ..frame });
                games += u64::from(count);
            }
            files.push(file);
        }
        Ok(Some(Self { part, files, frames }))
    }

    /// The files, and how many bytes of each count.
    pub fn lengths(&self) -> Vec<(PathBuf, u64)> {
        self.files.iter().map(|file| (file.path.clone(), file.length)).collect()
    }

    /// The files whose last frame was cut off.
    pub fn cut_off(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().filter(|file| file.is_cut_off).map(|file| file.path.as_path())
    }

    /// All frames, in the order of the files.
    pub fn frames(&self) -> &[KeptFrame] {
        &self.frames
    }

    /// The games of a frame that count, each with its number in all files, counted from 0.
    ///
    /// # Errors
    /// The file cannot be read, or has changed since it was opened.
    pub fn games(&self, frame: &KeptFrame) -> Result<Vec<(u64, GameRecord)>, BadGames> {
        let file = &self.files[frame.file as usize];
        let read = || {
            let raw = frame_at(&file.path, frame.at)?;
            let games = (frame.game..).zip(raw.decode()?).enumerate();
            let number = |i| number_of_game(file.generation, frame.first) + i as u64;
            let games: Vec<_> = games.filter(|(i, _)| self.part.has(number(*i))).map(|(_, game)| game).collect();
            let positions: usize = games.iter().map(|(_, game)| game.labels().len()).sum();
            if (raw.first(), positions) != (frame.first, frame.positions as usize) {
                let reason = "it has changed since the file was opened".to_owned();
                return Err(GamesError::Damaged { at: frame.at, reason });
            }
            Ok(games)
        };
        read().map_err(BadGames::at(&file.path))
    }
}

/// The files that paths name, each once and with its length.
fn lengths(paths: &[PathBuf]) -> Result<Vec<(PathBuf, u64)>, BadGames> {
    let (mut lengths, mut named) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let bad = |error: io::Error| BadGames::at(path)(error.into());
        let files = match path.is_dir().then(|| games_of_run(path)) {
            None => vec![path.clone()],
            Some(Ok(files)) if !files.is_empty() => files,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(bad(error)),
            Some(_) => {
                let reason = "holds no kept games (games/*.fsg): it is not a run's own folder";
                return Err(bad(io::Error::new(io::ErrorKind::NotFound, reason)));
            }
        };
        for file in files {
            let bad = |error: io::Error| BadGames::at(&file)(error.into());
            if named.insert(fs::canonicalize(&file).map_err(bad)?) {
                let length = fs::metadata(&file).map_err(bad)?.len();
                lengths.push((file, length));
            }
        }
    }
    Ok(lengths)
}

/// A file with its frames, each with its number of games.
type Scanned = (KeptFile, Vec<(KeptFrame, u32)>);

/// The frames within the length of a file; `None` if stopped.
fn scan((path, length): &(PathBuf, u64), part: Part, stops: &Stops<'_>) -> Result<Option<Scanned>, GamesError> {
    let mut file = KeptFile { path: path.clone(), length: *length, generation: 0, is_cut_off: false };
    let (mut frames, mut is_stopped) = (Vec::new(), false);
    let mut read = || {
        let mut reader = GamesReader::open(path)?;
        file.generation = reader.header().generation;
        while reader.offset() < *length && !is_stopped {
            let at = reader.offset();
            let Some(raw) = reader.next_frame()? else { break };
            if reader.offset() > *length {
                // It was being appended when the length was taken.
                break;
            }
            let first = number_of_game(file.generation, raw.first());
            let labels = (first..).zip(raw.labels()?);
            let positions = labels.filter(|(number, _)| part.has(*number)).map(|(_, labels)| u32::from(labels)).sum();
            frames.push((KeptFrame { at, file: 0, first: raw.first(), game: 0, positions }, raw.len() as u32));
            is_stopped = stops(raw.len() as u64);
        }
        Ok(())
    };
    match read() {
        Err(GamesError::Torn { .. }) => file.is_cut_off = true,
        read => read?,
    }
    Ok((!is_stopped).then_some((file, frames)))
}

/// The frame at byte `at` of a file.
fn frame_at(path: &Path, at: u64) -> Result<RawFrame, GamesError> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    read_frame(&mut file, at, None)?.ok_or(GamesError::Torn { at })
}
