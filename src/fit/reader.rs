//! A pass over games and records, in chunks.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::config::FitConfig;
use super::games::{GameFiles, GameFilesError};
use super::spool::SpoolReader;
use super::teacher::Teacher;
use crate::games::{GamesError, GamesReader, RawFrame, number_of_game};
use crate::learn::{Importance, Sample, SampleSet, lambda_returns};
use crate::selfplay::GameRecord;
use crate::storage::FileError;

/// Reads all games and records. Records are spread evenly among the kept games, so that neither always come last.
pub(super) struct Reader<'g> {
    all: &'g GameFiles,
    /// Games or records in a chunk; games may exceed it by up to a frame.
    at_once: usize,
    files: std::slice::Iter<'g, (PathBuf, u64)>,
    open: Option<(&'g (PathBuf, u64), GamesReader)>,
    spool: Option<SpoolReader>,
    torn: Vec<&'g Path>,
    games: u64,
    records: u64,
}

/// Kept games, each with the number that decides whether it is held out; or the samples of records, from the one with a number on.
pub(super) enum Chunk {
    Games(Vec<(u64, GameRecord)>),
    Records(u64, Vec<Vec<Sample>>),
}

impl<'g> Reader<'g> {
    pub fn new(all: &'g GameFiles, at_once: usize) -> Result<Self, GameFilesError> {
        let spool = all.spool.as_ref().map(|(folder, spool)| spool.read().map_err(FileError::io(folder)));
        let (spool, files) = (spool.transpose()?, all.files.iter());
        Ok(Self { all, at_once, files, open: None, spool, torn: Vec::new(), games: 0, records: 0 })
    }

    /// The next games or records and the number of the first, games and records counted together; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(u64, Chunk)>, GameFilesError> {
        let first = self.games + self.records;
        let left = self.all.records - self.records;
        // Records due after the games so far.
        let due = (u128::from(self.games) * u128::from(self.all.records)).div_ceil(u128::from(self.all.games.max(1)));
        let behind = (due as u64).saturating_sub(self.records).min(left);
        if behind == 0
            && let Some(games) = self.next_games(None)?
        {
            return Ok(Some((first, Chunk::Games(games))));
        }
        let (Some((folder, _)), Some(spool)) = (&self.all.spool, &mut self.spool) else { return Ok(None) };
        let count = if behind > 0 { behind } else { left }.min(self.at_once as u64);
        let records: Result<Vec<_>, _> = (0..count).map(|_| spool.next()).collect();
        let records = Chunk::Records(self.records, records.map_err(FileError::io(folder))?);
        self.records += count;
        Ok((count > 0).then_some((first, records)))
    }

    /// Whether everything was read that was there when the games were checked.
    pub fn is_complete(&self) -> bool {
        (self.games, self.records) == (self.all.games, self.all.records)
    }

    /// The files read so far that end within a frame.
    pub fn torn(&self) -> &[&'g Path] {
        &self.torn
    }

    /// The next kept games, decoded on all threads; `None` at their end. A game's number depends on its generation and its number there, not
    /// on what else is read. Adds the frames' bytes to `hash`.
    pub fn next_games(
        &mut self,
        mut hash: Option<&mut Sha256>,
    ) -> Result<Option<Vec<(u64, GameRecord)>>, GameFilesError> {
        let mut frames: Vec<(&PathBuf, u32, RawFrame)> = Vec::new();
        let mut count = 0;
        while count < self.at_once {
            let Some(((path, length), reader)) = &mut self.open else {
                let Some(file) = self.files.next() else { break };
                self.open = Some((file, GamesReader::open(&file.0).map_err(GameFilesError::games(&file.0))?));
                continue;
            };
            let frame = if reader.offset() < *length { reader.next_frame() } else { Ok(None) };
            match frame {
                Ok(Some(frame)) if reader.offset() <= *length => {
                    if let Some(hash) = &mut hash {
                        hash.update(frame.bytes());
                    }
                    count += frame.len();
                    frames.push((path, reader.header().generation, frame));
                }
                // Frames appended since do not belong to these games, and a frame that a crash cut off never counted.
                Ok(_) => self.open = None,
                Err(GamesError::Torn { .. }) => {
                    self.torn.push(path);
                    self.open = None;
                }
                Err(source) => return Err(GameFilesError::games(path)(source)),
            }
        }
        if frames.is_empty() {
            return Ok(None);
        }
        let decode = |(path, generation, raw): (&PathBuf, u32, RawFrame)| {
            let games = raw.decode().map_err(GameFilesError::games(path))?;
            let first = number_of_game(generation, raw.first());
            Ok((first..).zip(games).collect())
        };
        let games: Result<Vec<Vec<_>>, GameFilesError> = frames.into_par_iter().with_max_len(1).map(decode).collect();
        let games: Vec<_> = games?.into_iter().flatten().collect();
        self.games += games.len() as u64;
        Ok(Some(games))
    }
}

impl Chunk {
    /// Labelled positions.
    pub fn positions(&self) -> u64 {
        match self {
            Self::Games(games) => games.iter().map(|(_, game)| game.labels().len() as u64).sum(),
            Self::Records(_, records) => records.iter().map(|samples| samples.len() as u64).sum(),
        }
    }

    /// Adds the samples of the games or records whose number is `wanted`, in order. A teacher's samples, which vary by epoch and by the place
    /// of a game in this fit, counted from `first`, are added to those of games or replace them. Incomplete if stopped.
    pub fn add_to(
        &self,
        first: u64,
        set: &mut SampleSet,
        config: &FitConfig,
        stop: &AtomicBool,
        teacher: Option<(&Teacher, u32)>,
        wanted: impl Fn(u64) -> bool + Sync,
    ) {
        match self {
            Self::Games(games) => {
                const PART: usize = 256;
                let samples_of = |(part, games): (usize, &[(u64, GameRecord)])| -> Vec<Sample> {
                    let (mut samples, mut roots) = (Vec::new(), Vec::new());
                    if stop.load(Relaxed) {
                        return samples;
                    }
                    let placed = (first + (part * PART) as u64..).zip(games);
                    for (place, (_, game)) in placed.filter(|(_, (number, _))| wanted(*number)) {
                        let replay = game.replay();
                        let own = lambda_returns(&replay, config.lambda);
                        if let Some((teacher, epoch)) = teacher {
                            roots.extend(teacher.roots(place, epoch, &replay, &own));
                        }
                        if teacher.is_none_or(|(teacher, _)| teacher.is_beside_games()) {
                            samples.extend(own);
                        }
                    }
                    if let Some((teacher, _)) = teacher {
                        samples.extend(teacher.samples(roots, stop));
                    }
                    samples
                };
                let parts: Vec<Vec<Sample>> = games.par_chunks(PART).enumerate().map(samples_of).collect();
                parts.into_iter().flatten().for_each(|sample| set.push(sample));
            }
            Self::Records(number, records) => {
                let importance = Importance::new(config.record_importance).expect("checked with the configuration");
                let records = (*number..).zip(records).filter(|(number, _)| wanted(*number));
                let samples = records.flat_map(|(_, samples)| samples);
                samples.for_each(|sample| set.push(Sample { importance, ..*sample }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::Transcript;
    use crate::eval::MobilityEvaluator;
    use crate::games::{GamesHeader, frame, is_held_out};
    use crate::search::Strength;
    use crate::selfplay::{SelfPlay, SelfPlayConfig};

    #[test]
    fn a_game_has_the_same_number_whatever_else_is_read() {
        let (folder, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let play = SelfPlayConfig::new(Strength::new(1, 2), 30, 0.0);
        let paths = [3, 4].map(|generation| {
            let games = SelfPlay::new(&MobilityEvaluator, play).play_games(1, generation, 0, 70, &stop).unwrap();
            let frames = (0..).step_by(32).zip(games.chunks(32)).flat_map(|(first, games)| frame(first, games));
            let header = GamesHeader { generation, ..GamesHeader::default() };
            let path = folder.path().join(format!("{generation}.fsg"));
            fs::write(&path, header.to_bytes().into_iter().chain(frames).collect::<Vec<_>>()).unwrap();
            path
        });
        let numbered = |paths: &[PathBuf]| {
            let config = FitConfig::default();
            let all = GameFiles::open(paths, &config, folder.path(), None, &stop, &mut |_| ()).unwrap().unwrap();
            let mut reader = Reader::new(&all, 40).unwrap();
            let mut found = Vec::new();
            while let Some((_, chunk)) = reader.next().unwrap() {
                let Chunk::Games(games) = chunk else { panic!("no records") };
                found.extend(games);
            }
            found
        };
        let (both, second) = (numbered(&paths), numbered(&paths[1..]));
        assert_eq!(both[70..], second);
        let numbers = second.iter().map(|(number, _)| number - number_of_game(4, 0));
        assert!(numbers.eq(0..70));
    }

    #[test]
    fn games_are_held_out_however_few_a_generation_has() {
        let numbers =
            |games: u64| (0..20_000 / games).flat_map(move |generation| (0..games).map(move |game| (generation, game)));
        for games in [1, 7, 100, 2_000] {
            let held_out = numbers(games)
                .filter(|&(generation, game)| is_held_out(number_of_game(generation as u32, game as u32), 200));
            assert!((80..120).contains(&held_out.count()), "{games}");
        }
    }

    #[test]
    fn records_are_spread_evenly_among_the_games() {
        let (folder, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let paths = ["games.fsg", "games.txt"].map(|name| folder.path().join(name));
        let play = SelfPlayConfig::new(Strength::new(1, 2), 30, 0.0);
        let games = SelfPlay::new(&MobilityEvaluator, play).play_games(1, 0, 0, 320, &stop).unwrap();
        let frames = (0..).step_by(32).zip(games.chunks(32)).flat_map(|(first, games)| frame(first, games));
        fs::write(&paths[0], GamesHeader::default().to_bytes().into_iter().chain(frames).collect::<Vec<_>>()).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let lines = (0..80).map(|_| Transcript::random(&mut rng).to_string() + "\n");
        fs::write(&paths[1], lines.collect::<String>()).unwrap();
        let config = FitConfig { exact_empties: 6, ..FitConfig::default() };
        let all = GameFiles::open(&paths, &config, folder.path(), None, &stop, &mut |_| ()).unwrap().unwrap();
        assert_eq!((all.games, all.records), (320, 80));
        let mut reader = Reader::new(&all, 16).unwrap();
        while reader.next().unwrap().is_some() {
            // A frame is a tenth of the games.
            assert!(reader.records.abs_diff(reader.games / 4) <= 8, "{} {}", reader.games, reader.records);
        }
        assert!(reader.is_complete());
    }
}
