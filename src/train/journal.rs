//! Journals: the games of each generation, as they are played. `RUN/games/NNNNNNNN.fsg` holds those of generation N.
//!
//! A journal grows by frames of games. What a crash cut off is played again: a game depends on nothing but its number, so the file
//! ends up the same.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::amend::Configs;
use super::config::TrainConfig;
use super::directory::RunDirectory;
use super::error::TrainError;
use super::identity::Identity;
use super::keeper::{Halt, Keeper};
use super::source::Played;
use crate::games::{GamesError, GamesHeader, GamesReader, RawFrame, games_in};
use crate::learn::{Sample, SampleSet, lambda_returns};
use crate::selfplay::GameRecord;
use crate::storage::FileError;

/// The journal of one generation, open for appending.
pub(super) struct Journal {
    path: PathBuf,
    header: GamesHeader,
    /// Bytes of the header and the whole frames; 0 before the first is written.
    length: u64,
    /// Games in these frames.
    played: u32,
    /// Why no more games were found in it.
    ending: String,
}

impl Journal {
    /// The journal of a generation as far as it goes, and the samples of its games. Nothing is changed; what follows the last whole
    /// frame is overwritten by the next one.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds other games.
    pub fn open(
        directory: &RunDirectory,
        identity: &Identity,
        config: &TrainConfig,
        generation: u32,
    ) -> Result<(Self, SampleSet), TrainError> {
        let path = directory.journal(generation);
        let header = GamesHeader { run: identity.run(), generation };
        let found = read(&path, header)?;
        let lambda = config.phase(generation).lambda;
        let mut samples = SampleSet::default();
        let mut journal = Self { path, header, length: found.header_length, played: 0, ending: found.ending };
        // Decoding takes longer than reading.
        let decoded = found.frames.into_par_iter().map(|(raw, end): (RawFrame, u64)| {
            let games = raw.decode()?;
            Ok((raw.first(), games.len() as u32, samples_of(&games, lambda).collect::<Vec<_>>(), end))
        });
        for frame in decoded.collect::<Vec<Result<_, GamesError>>>() {
            journal.ending = match frame {
                Ok((first, games, new, end)) if first == journal.played => {
                    new.into_iter().for_each(|sample| samples.push(sample));
                    (journal.played, journal.length) = (first + games, end);
                    continue;
                }
                Ok((first, ..)) => format!("the frame at byte {} begins with game {first}", journal.length),
                Err(error) => error.to_string(),
            };
            break;
        }
        Ok((journal, samples))
    }

    /// Games that it has.
    pub fn played(&self) -> u32 {
        self.played
    }

    /// Bytes written.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds games.
    pub fn append(&mut self, played: &[Played], keeper: &mut Keeper) -> Result<(), Halt> {
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
    pub fn finish(&mut self, keeper: &mut Keeper) -> Result<(), Halt> {
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
fn lost(path: &Path, why: &str) -> Halt {
    FileError::io(path)(io::Error::other(format!("{why}; the missing games can be played again"))).into()
}

/// Samples of games, in order.
pub(super) fn samples_of(games: &[GameRecord], lambda: f32) -> impl Iterator<Item = Sample> {
    games.iter().flat_map(move |game| lambda_returns(&game.replay(), lambda))
}

/// The replay window of a run that has learned a number of generations, oldest first; empty if none of it will be learned again.
///
/// # Errors
/// A journal that lacks games, whatever the reason.
pub(super) fn window(
    directory: &RunDirectory,
    identity: &Identity,
    configs: &Configs,
    generations: u32,
) -> Result<VecDeque<SampleSet>, TrainError> {
    if !configs.learn_again(generations) {
        return Ok(VecDeque::new());
    }
    let config = configs.newest();
    let first = generations.saturating_sub(config.window - 1);
    let samples = |generation| {
        let (journal, samples) = Journal::open(directory, identity, config, generation)?;
        let wanted = config.phase(generation).games;
        if journal.played != wanted {
            let reason = format!("{} of {wanted} games are there, then {}", journal.played, journal.ending);
            return Err(TrainError::damaged(&journal.path, reason));
        }
        Ok(samples)
    };
    (first..generations).map(samples).collect()
}

/// Checks that no journal from a generation on is another run's.
pub(super) fn check_owner(directory: &RunDirectory, identity: &Identity, first: u32) -> Result<(), TrainError> {
    for generation in directory.journals()?.into_iter().filter(|&generation| generation >= first) {
        let path = directory.journal(generation);
        open(&path, GamesHeader { run: identity.run(), generation }).map(drop)?;
    }
    Ok(())
}

/// What a journal holds up to the first frame that is not whole.
struct Found {
    /// 0 without a header.
    header_length: u64,
    /// Frames, each with the offset of its end.
    frames: Vec<(RawFrame, u64)>,
    /// Why there are no more.
    ending: String,
}

fn read(path: &Path, header: GamesHeader) -> Result<Found, TrainError> {
    let mut reader = match open(path, header)? {
        Ok(reader) => reader,
        Err(ending) => return Ok(Found { header_length: 0, frames: Vec::new(), ending }),
    };
    let header_length = reader.offset();
    let mut frames = Vec::new();
    let ending = loop {
        match reader.next_frame() {
            Ok(Some(raw)) => frames.push((raw, reader.offset())),
            Ok(None) => break "the file ends".to_owned(),
            Err(GamesError::Io(error)) => return Err(FileError::io(path)(error).into()),
            Err(error) => break error.to_string(),
        }
    };
    Ok(Found { header_length, frames, ending })
}

/// Opens a journal of this run and generation, or says why it has no games at all.
fn open(path: &Path, header: GamesHeader) -> Result<Result<GamesReader, String>, TrainError> {
    match GamesReader::open(path) {
        Ok(reader) if reader.header() == header => Ok(Ok(reader)),
        Ok(_) | Err(GamesError::Foreign(_)) => Err(TrainError::ForeignGames(path.to_owned())),
        Err(GamesError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Err("the file is missing".to_owned()))
        }
        Err(GamesError::Io(error)) => Err(FileError::io(path)(error).into()),
        Err(GamesError::Torn { .. }) => Ok(Err("the header was cut off".to_owned())),
        Err(error) => Ok(Err(error.to_string())),
    }
}
