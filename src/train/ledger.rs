//! The ledger of a run: the games of each generation, as they are played. `RUN/games/NNNNNNNN.fsg` holds those of generation N; a run that
//! continues another one leaves the earlier generations where they are.
//!
//! A generation's file, its journal, grows by frames of games. What a crash cut off is played again: a game depends on nothing but its
//! number, so the file ends up the same. Anything else that is wrong with a file is damage, and is left as it is.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::config::TrainConfig;
use super::directory::generations_in;
use super::error::TrainError;
use super::identity::{Earlier, Identity, Marker, text_of};
use super::keeper::Keeper;
use super::source::Played;
use crate::games::{GamesError, GamesHeader, GamesReader, RawFrame, games_file, games_in};
use crate::learn::{Sample, SampleSet, lambda_returns};
use crate::selfplay::GameRecord;
use crate::storage::{FileError, hex};

/// How labels are made on which weights are validated.
pub(super) const LAMBDA: f32 = 0.9;

/// Where the games of a run are.
#[derive(Clone)]
pub(super) struct Ledger {
    directory: PathBuf,
    run: [u8; 16],
    continues: Vec<Earlier>,
}

impl Ledger {
    /// That of a run in a directory.
    pub fn new(directory: &Path, identity: &Identity) -> Self {
        let mut continues = identity.continues.clone();
        continues.iter_mut().for_each(|earlier| earlier.directory = earlier.found_from(directory));
        Self { directory: directory.to_owned(), run: identity.run(), continues }
    }

    /// The first generation of this run itself.
    pub fn first(&self) -> u32 {
        self.continues.last().map_or(0, Earlier::end)
    }

    fn earlier(&self, generation: u32) -> Option<(&Earlier, &(u32, String))> {
        self.continues.iter().find_map(|earlier| {
            let number = generation.checked_sub(earlier.first)?;
            Some((earlier, earlier.games.get(number as usize)?))
        })
    }

    /// The file of a generation.
    pub fn file(&self, generation: u32) -> PathBuf {
        games_file(self.earlier(generation).map_or(&self.directory, |(earlier, _)| &earlier.directory), generation)
    }

    fn header(&self, generation: u32) -> GamesHeader {
        let name = |(earlier, _): (&Earlier, _)| u128::from_str_radix(&earlier.run, 16).map(u128::to_be_bytes);
        let run = self.earlier(generation).and_then(|found| name(found).ok()).unwrap_or(self.run);
        GamesHeader { run, generation }
    }

    /// Games of some generations in a row.
    pub fn games(&self, generations: Range<u32>, config: &TrainConfig) -> u64 {
        let own = generations.start.max(self.first()).min(generations.end);
        let earlier = (generations.start..own).filter_map(|generation| self.earlier(generation));
        earlier.map(|(_, (games, _))| u64::from(*games)).sum::<u64>() + config.games_of(own..generations.end)
    }

    /// The generations that have a file in this run itself, in order.
    pub fn own(&self) -> Result<Vec<u32>, TrainError> {
        generations_in(&self.directory)
    }

    /// Checks the games of some generations, from the first frame to the last, and whose they are.
    ///
    /// # Errors
    /// Missing, foreign or damaged games: the first.
    pub fn check(&self, generations: Range<u32>, config: &TrainConfig) -> Result<(), TrainError> {
        generations.into_par_iter().try_for_each(|generation| {
            let path = self.file(generation);
            let wanted = self.games(generation..generation + 1, config);
            let games = match self.earlier(generation) {
                Some((earlier, (games, hash))) => {
                    let name = earlier.directory.display();
                    if !path.is_file() {
                        let reason = format!("the run {name}, which this one continues, is not there: put it back");
                        return Err(TrainError::damaged(&path, reason));
                    }
                    if games_hash(&path)? != *hash {
                        return Err(TrainError::damaged(&path, format!("the games of {name} have changed")));
                    }
                    u64::from(*games)
                }
                None => self.checked(generation, wanted)?,
            };
            if games == wanted {
                return Ok(());
            }
            Err(TrainError::damaged(&path, format!("it has {games} games, and the run has learned {wanted}")))
        })
    }

    /// Checks whatever games of this run itself there are from a generation on.
    ///
    /// # Errors
    /// Foreign or damaged games: the first.
    pub fn check_from(&self, generation: u32, config: &TrainConfig) -> Result<(), TrainError> {
        let later: Vec<_> = self.own()?.into_iter().filter(|&later| later >= generation).collect();
        let check = |later| self.checked(later, self.games(later..later + 1, config)).map(drop);
        later.into_par_iter().try_for_each(check)
    }

    /// How many games of a generation of this run itself there are; at the end of those that are `wanted` its file has to end.
    fn checked(&self, generation: u32, wanted: u64) -> Result<u64, TrainError> {
        let path = self.file(generation);
        let found = read(&path, self.header(generation))?;
        let games = found.frames.iter().map(|(frame, _)| frame.len() as u64).sum();
        if games >= wanted {
            found.check_end(&path)?;
        }
        Ok(games)
    }

    /// The generations of a run that another run continues from: all that it has learned.
    ///
    /// # Errors
    /// Games that are not there, or not whole.
    pub fn continued(&self, end: u32, config: &TrainConfig) -> Result<Vec<Earlier>, TrainError> {
        self.check(0..end, config)?;
        let first = self.first();
        let of_generation = |generation| {
            let games = self.games(generation..generation + 1, config) as u32;
            Ok((games, games_hash(&self.file(generation))?))
        };
        let games: Result<Vec<_>, TrainError> = (first..end).into_par_iter().map(of_generation).collect();
        let directory = fs::canonicalize(&self.directory).map_err(FileError::io(&self.directory))?;
        text_of(&directory)?;
        let mut continues = self.continues.clone();
        continues.push(Earlier { directory, run: hex(&self.run), first, games: games? });
        Ok(continues)
    }
}

/// Checks whatever games a run has of a generation that it has not learned and of those after it, as resuming it does.
///
/// # Errors
/// Foreign or damaged games: the first. There is no run, or it cannot be read.
pub(crate) fn check_games_from(directory: &Path, generation: u32) -> Result<(), TrainError> {
    let marker = Marker::read(directory)?;
    let (ledger, config) = (Ledger::new(directory, &marker.identity), marker.config(directory)?);
    ledger.check_from(generation, &config)?;
    Journal::open(&ledger, &config, generation).map(drop)
}

/// SHA-256 of a file of games.
fn games_hash(path: &Path) -> Result<String, TrainError> {
    let read = || {
        let (mut file, mut hash, mut bytes) = (File::open(path)?, Sha256::new(), Vec::new());
        while file.by_ref().take(1 << 20).read_to_end(&mut bytes)? > 0 {
            hash.update(&bytes);
            bytes.clear();
        }
        Ok(hex(&hash.finalize()))
    };
    read().map_err(|error| FileError::io(path)(error).into())
}

/// The journal of one generation, open for appending.
pub(super) struct Journal {
    path: PathBuf,
    header: GamesHeader,
    /// Bytes of the header and the whole frames; 0 before the first is written.
    length: u64,
    /// Games in these frames.
    played: u32,
}

impl Journal {
    /// The journal of a generation as far as it goes, and the samples of its games. Nothing is changed; a frame that was cut off is
    /// overwritten by the next one.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, or holds other games.
    pub fn open(ledger: &Ledger, config: &TrainConfig, generation: u32) -> Result<(Self, SampleSet), TrainError> {
        let (path, header) = (ledger.file(generation), ledger.header(generation));
        let found = read(&path, header)?;
        let mut samples = SampleSet::default();
        let mut journal = Self { path, header, length: found.header_length, played: 0 };
        // Decoding takes longer than reading.
        let decoded = found.frames.par_iter().map(|(raw, end): &(RawFrame, u64)| {
            let games = raw.decode()?;
            Ok((raw.first(), games.len() as u32, samples_of(&games, LAMBDA).collect::<Vec<_>>(), *end))
        });
        for frame in decoded.collect::<Vec<Result<_, GamesError>>>() {
            let (first, games, new, end) = frame.map_err(|error| TrainError::damaged(&journal.path, error))?;
            if first != journal.played {
                let reason = format!("the frame at byte {} begins with game {first}", journal.length);
                return Err(TrainError::damaged(&journal.path, reason));
            }
            new.into_iter().for_each(|sample| samples.push(sample));
            (journal.played, journal.length) = (first + games, end);
        }
        if u64::from(journal.played) >= ledger.games(generation..generation + 1, config) {
            found.check_end(&journal.path)?;
        }
        Ok((journal, samples))
    }

    /// Games that it has.
    pub fn played(&self) -> u32 {
        self.played
    }

    /// Adds games.
    pub fn append(&mut self, played: &[Played], keeper: &mut Keeper) -> Result<(), TrainError> {
        let Self { path, length, .. } = self;
        let mut bytes = if *length == 0 { self.header.to_bytes().to_vec() } else { Vec::new() };
        bytes.extend(played.iter().flat_map(|played| &played.frame));
        let new_length = keeper.patiently(path, |disk| disk.append(path, *length, &bytes))?;
        let written = bytes.len() as u64;
        *length += written;
        if new_length != *length {
            // Bytes in the wrong place would pass for another run's games.
            keeper.patiently(path, |disk| disk.append(path, new_length - written, &[]))?;
            return Err(lost(path, "cut off or removed by another program"));
        }
        self.played += played.iter().map(|played| played.games.len() as u32).sum::<u32>();
        Ok(())
    }

    /// Syncs the journal: a checkpoint that relies on it must find it even after a power cut.
    pub fn finish(&mut self, keeper: &mut Keeper) -> Result<(), TrainError> {
        // The system tells only once that it could not write, and may then drop what it had: after any trouble the games are counted.
        let mut had_trouble = false;
        keeper.patiently(&self.path, |disk| {
            let synced = disk.sync(&self.path);
            had_trouble |= !matches!(synced, Ok(false));
            synced
        })?;
        if had_trouble && games_in(&self.path) != self.played {
            return Err(lost(&self.path, "the system has lost a part of it"));
        }
        Ok(())
    }
}

/// The error of a journal that lacks games that were written.
fn lost(path: &Path, why: &str) -> TrainError {
    FileError::io(path)(io::Error::other(format!("{why}; the missing games can be played again"))).into()
}

/// Samples of games, in order.
pub(super) fn samples_of(games: &[GameRecord], lambda: f32) -> impl Iterator<Item = Sample> {
    games.iter().flat_map(move |game| lambda_returns(&game.replay(), lambda))
}

/// What a journal holds.
struct Found {
    /// 0 without a header.
    header_length: u64,
    /// Whole frames, each with the offset of its end.
    frames: Vec<(RawFrame, u64)>,
    /// Where a frame was cut off, if one was.
    torn: Option<u64>,
}

impl Found {
    /// Checks that nothing follows the last whole frame: a complete file does not grow.
    fn check_end(&self, path: &Path) -> Result<(), TrainError> {
        match self.torn {
            Some(at) if at > 0 => {
                Err(TrainError::damaged(path, format!("there is something after the last game, at byte {at}")))
            }
            _ => Ok(()),
        }
    }
}

/// Reads the journal of this run and generation. Nothing is there, or not even a header, if a crash left it so.
fn read(path: &Path, header: GamesHeader) -> Result<Found, TrainError> {
    let mut found = Found { header_length: 0, frames: Vec::new(), torn: None };
    let Some(mut reader) = open(path, header)? else { return Ok(found) };
    found.header_length = reader.offset();
    loop {
        match reader.next_frame() {
            Ok(Some(raw)) => found.frames.push((raw, reader.offset())),
            Ok(None) => break,
            Err(GamesError::Torn { at }) => {
                found.torn = Some(at);
                break;
            }
            Err(GamesError::Damaged { at, .. }) if ends_in_zeros(path)? => {
                // A power cut within the frame left zeros at the end of the file.
                found.torn = Some(at);
                break;
            }
            Err(GamesError::Io(error)) => return Err(FileError::io(path)(error).into()),
            Err(error) => return Err(TrainError::damaged(path, error)),
        }
    }
    Ok(found)
}

/// Whether a file ends in zeros where the checksum of its last frame should be.
fn ends_in_zeros(path: &Path) -> Result<bool, TrainError> {
    let read = || {
        let (mut file, mut end) = (File::open(path)?, [0; 8]);
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
        Ok(end == [0; 8])
    };
    read().map_err(|error| FileError::io(path)(error).into())
}

/// Opens a journal of this run and generation; `None` if it is missing, or a crash cut off its header.
fn open(path: &Path, header: GamesHeader) -> Result<Option<GamesReader>, TrainError> {
    match GamesReader::open(path) {
        Ok(reader) if reader.header() == header => Ok(Some(reader)),
        Ok(_) | Err(GamesError::Foreign(_)) => Err(TrainError::ForeignGames(path.to_owned())),
        Err(GamesError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(GamesError::Io(error)) => Err(FileError::io(path)(error).into()),
        Err(GamesError::Torn { .. }) => Ok(None),
        Err(error) => Err(TrainError::damaged(path, error)),
    }
}
