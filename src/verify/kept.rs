//! The kept games and the weights of a run, for a run in a scratch folder that learns them again.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Fault, Verified, VerifyRequest};
use crate::eval::Model;
use crate::games::{GamesError, GamesReader, RawFrame, frame, games_file, games_in};
use crate::selfplay::SelfPlay;
use crate::storage::FileError;
use crate::threads::lock;
use crate::train::{
    BEST, GameJob, GameSource, LAST, LocalGames, OnGames, Played, Saved, TrainConfig, TrainError, TrainEvent,
    check_games_from, events, metrics,
};
use crate::weights::WeightFile;

/// The generations that a run has learned, or can learn from its games, as its events say.
fn generations(events: &[TrainEvent]) -> u32 {
    events.iter().fold(0, |known, event| match event {
        TrainEvent::Start { generation, again, .. } => generation + again,
        TrainEvent::Played { generation, .. } => known.max(generation + 1),
        TrainEvent::Checkpoint { generation, .. } | TrainEvent::End { generation, .. } => known.max(*generation),
        _ => known,
    })
}

/// The kept games of a run, as a source of games for another run like it.
pub(super) struct KeptGames<'r> {
    request: VerifyRequest<'r>,
    /// Generations whose games the run has learned: all of them must be there.
    learned: u32,
    events: Vec<TrainEvent>,
    state: Mutex<State>,
    /// Games of the generations that the run in the scratch folder has played.
    games: AtomicU64,
    /// Set if that run ended within a generation, to go on.
    pub has_ended_within: AtomicBool,
    /// Set if it was stopped since there is nothing left to find out.
    pub is_over: AtomicBool,
}

struct State {
    found: Verified,
    weights: Vec<Weights>,
}

/// A weight file of the run.
struct Weights {
    path: PathBuf,
    model: Model,
    /// The generations and games that it was learned from.
    generations: u64,
    games: u64,
    /// Whether one of the run's checkpoints holds it.
    is_held: bool,
    /// Whether the run has had these weights, as far as it was learned again.
    is_met: bool,
    /// Whether an end was tried at these generations and games.
    is_tried: bool,
}

impl<'r> KeptGames<'r> {
    pub fn of(request: &VerifyRequest<'r>, config: &TrainConfig) -> Result<Self, TrainError> {
        let run = request.run;
        let events: Vec<TrainEvent> = events(&metrics(run)?).collect();
        let [last, best] = [LAST, BEST].map(|name| (run.join(name), WeightFile::load(run.join(name))));
        // The best may be those that the run began with, of another run's generations.
        let mut learned = match &last {
            (_, Ok(file)) => file.provenance.generations as u32,
            (_, Err(_)) => generations(&events),
        };
        let saved = Saved::of(run)?;
        let (mut found, mut weights) = (Verified::default(), Vec::new());
        for (path, loaded) in [last, best] {
            match loaded {
                Ok(WeightFile { model, provenance, .. }) => weights.push(Weights {
                    is_held: saved.may_be(&path, &model),
                    path,
                    model,
                    generations: provenance.generations,
                    games: provenance.games,
                    is_met: false,
                    is_tried: false,
                }),
                // A run that was killed in its first generation has none.
                Err(_) if learned == 0 && !path.exists() => {}
                Err(FileError::Io { source, .. }) => found.faults.push(Fault::of_file(path, source.to_string())),
                Err(FileError::Format { reason, .. }) => found.faults.push(Fault::of_file(path, reason.to_string())),
            }
        }
        found.faults.extend(saved.damaged.into_iter().map(|(path, reason)| Fault::of_file(path, reason)));
        let is_whole = |generation| {
            let wanted = config.play(generation).map(|play| play.games);
            wanted.is_some_and(|wanted| games_in(&games_file(run, generation)) >= wanted)
        };
        while is_whole(learned) || games_file(run, learned + 1).exists() {
            learned += 1;
        }
        match check_games_from(run, learned) {
            Err(TrainError::Damaged { path, reason }) => found.faults.push(Fault::of_file(path, reason)),
            Err(TrainError::ForeignGames(path)) => {
                let reason = "these are not games of this run and generation".to_owned();
                found.faults.push(Fault::of_file(path, reason));
            }
            checked => checked?,
        }
        let state = Mutex::new(State { found, weights });
        let (games, has_ended_within, is_over) = Default::default();
        Ok(Self { request: *request, learned, events, state, games, has_ended_within, is_over })
    }

    /// The generations after which the run ended, at least for a time, with weights that it may still have. Steps that only learn may
    /// have come after that end; an end within the next generation comes after them, and [`Self::end_within`] finds it.
    pub fn ends(&self) -> BTreeSet<u32> {
        let state = lock(&self.state);
        let has_whole = |generation: u32| {
            let played = self.events.iter().find_map(|event| match event {
                TrainEvent::Played { generation: last, games, .. } if last + 1 == generation => Some(*games),
                _ => None,
            });
            let mut weights = state.weights.iter();
            weights.any(|weights| {
                weights.generations == u64::from(generation) && played.is_none_or(|played| weights.games == played)
            })
        };
        let learned = self.events.iter().filter_map(|event| match event {
            TrainEvent::Learned { step: 0, generation, .. } => Some(*generation),
            _ => None,
        });
        learned.filter(|&generation| has_whole(generation)).collect()
    }

    /// Follows the run in the scratch folder.
    pub fn follow(&self, event: &TrainEvent, scratch: &Path) {
        match event {
            TrainEvent::Start { games, .. } => {
                self.games.store(*games, Relaxed);
                self.meet_files(scratch);
            }
            TrainEvent::Played { games, .. } => self.games.store(*games, Relaxed),
            TrainEvent::Checkpoint { generation, .. } => {
                self.meet_files(scratch);
                if *generation >= self.learned && self.knows_all_weights() {
                    self.end();
                }
            }
            _ => {}
        }
    }

    /// Ends learning again: there is nothing left to find out.
    fn end(&self) {
        self.is_over.store(true, Relaxed);
        self.request.stop.store(true, Relaxed);
    }

    /// Notes the weights in the scratch folder.
    pub fn meet_files(&self, scratch: &Path) {
        if !self.knows_all_weights() {
            let files = [LAST, BEST].map(|name| WeightFile::load(scratch.join(name)));
            files.iter().flatten().for_each(|file| self.meet(&file.model));
        }
    }

    /// Notes weights that the run should have had.
    fn meet(&self, model: &Model) {
        for weights in &mut lock(&self.state).weights {
            weights.is_met |= weights.model == *model;
        }
    }

    fn knows_all_weights(&self) -> bool {
        lock(&self.state).weights.iter().all(|weights| weights.is_met)
    }

    /// The number of games of a generation with which the run ended, if it did and has weights of that end.
    fn end_within(&self, job: &GameJob<'_>) -> Option<u32> {
        let (mut state, before) = (lock(&self.state), self.games.load(Relaxed));
        let unknown = state
            .weights
            .iter_mut()
            .filter(|weights| !weights.is_met && !weights.is_tried && weights.generations == u64::from(job.generation));
        let first = unknown.min_by_key(|weights| weights.games)?;
        first.is_tried = true;
        let games = u32::try_from(first.games.saturating_sub(before)).unwrap_or(u32::MAX);
        Some(games.clamp(job.games.start, job.games.end))
    }

    /// What was found, with a fault for each weight file that does not follow from the games, or is not the one that was saved.
    pub fn found(self) -> Verified {
        let State { mut found, weights } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for Weights { path, is_met, is_held, .. } in weights {
            let reason = match (is_met, is_held) {
                (true, true) => continue,
                (false, _) => "the run's games do not lead to these weights",
                (true, false) => "the run's checkpoints hold other weights",
            };
            found.faults.push(Fault::of_file(path, reason.to_owned()));
        }
        found
    }

    fn fault(&self, generation: u32, games: Range<u32>, reason: String) {
        let is_of = |range: &[u32; 2]| (range[0]..=range[1]).contains(&games.start);
        let delivered = self.events.iter().rev().filter_map(|event| match event {
            TrainEvent::Delivered { generation: of, workers } if *of == generation => Some(workers),
            _ => None,
        });
        let worker = delivered.flatten().find(|(_, ranges)| ranges.iter().any(is_of)).map(|(name, _)| name.clone());
        let file = games_file(self.request.run, generation);
        let (first, last) = (Some(games.start), Some(games.end - 1));
        lock(&self.state).found.faults.push(Fault { file, first, last, worker, reason });
    }

    /// The frames of some games of a job up to the first that is missing or damaged, and what is wrong then, if the file does not end there.
    fn frames(&self, job: &GameJob<'_>, end: u32) -> (Vec<RawFrame>, Option<String>) {
        let (mut frames, mut next, all) = (Vec::new(), 0, job.games.end);
        let mut read = || -> Result<Option<String>, GamesError> {
            let mut reader = GamesReader::open(games_file(self.request.run, job.generation))?;
            if reader.header().generation != job.generation {
                return Ok(Some("the file holds another generation".to_owned()));
            }
            while let Some(frame) = reader.next_frame()? {
                if frame.first() != next || frame.is_empty() || frame.len() as u32 > all - next {
                    return Ok(Some(format!("the next frame begins with game {}", frame.first())));
                }
                next += frame.len() as u32;
                if next > end {
                    break;
                }
                if frame.first() >= job.games.start {
                    frames.push(frame);
                }
            }
            Ok(None)
        };
        let wrong = read().unwrap_or_else(|error| Some(error.to_string()));
        (frames, wrong)
    }

    /// Plays some of the frames again, and notes those whose games are not the same.
    fn replay(&self, job: &GameJob<'_>, frames: &[RawFrame], stop: &AtomicBool) {
        let Some(evaluator) = job.evaluator(stop) else { return };
        let players = SelfPlay::new(&evaluator, *job.play);
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.seed);
        rng.set_stream(job.generation.into());
        let most = (self.request.share.clamp(0.0, 1.0) * frames.len() as f64).ceil() as usize;
        let mut chosen: BTreeSet<usize> =
            if most < frames.len() { BTreeSet::new() } else { (0..frames.len()).collect() };
        while chosen.len() < most {
            chosen.insert(rng.random_range(0..frames.len()));
        }
        let chosen: Vec<&RawFrame> = chosen.into_iter().map(|number| &frames[number]).collect();
        chosen.into_par_iter().for_each(|kept| {
            let numbers = kept.first()..kept.first() + kept.len() as u32;
            let played = players.play_here(job.seed, job.generation, numbers.clone(), stop);
            let (Ok(played), Ok(kept)) = (played, kept.decode()) else { return };
            lock(&self.state).found.replayed += played.len() as u64;
            if played != kept {
                self.fault(
                    job.generation,
                    numbers,
                    "these are not the games that the run would have played".to_owned(),
                );
            }
        });
    }
}

/// Frames that are handed over at once.
const AT_ONCE: usize = 64;

impl GameSource for KeptGames<'_> {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) {
        self.meet(job.model);
        let ended = self.end_within(job);
        let must_be_whole = job.generation < self.learned;
        if ended.is_none() && !must_be_whole {
            return self.end();
        }
        self.has_ended_within.fetch_or(ended.is_some(), Relaxed);
        let end = ended.unwrap_or(job.games.end);
        let (frames, mut wrong) = self.frames(job, end);
        self.replay(job, &frames, stop);
        let mut next = job.games.start;
        let mut flow = ControlFlow::Continue(());
        for frames in frames.chunks(AT_ONCE) {
            let decoded: Vec<_> = frames.par_iter().map(RawFrame::decode).collect();
            let mut played = Vec::new();
            for games in decoded {
                match games {
                    Ok(games) => {
                        let first = next;
                        next += games.len() as u32;
                        played.push(Played { frame: frame(first, &games), games, by: None });
                    }
                    Err(error) => {
                        wrong = Some(error.to_string());
                        break;
                    }
                }
            }
            let is_damaged = played.len() < frames.len();
            flow = on_games(played);
            if is_damaged || flow.is_break() || stop.load(Relaxed) {
                break;
            }
        }
        lock(&self.state).found.games += u64::from(next - job.games.start);
        if must_be_whole && next < end && flow.is_continue() && !stop.load(Relaxed) {
            let reason = wrong.as_deref().unwrap_or("the file ends");
            self.fault(job.generation, next..end, format!("{reason}; these games were played again"));
            LocalGames.play(&GameJob { games: next..end, ..job.clone() }, stop, on_games);
        } else if let Some(wrong) = wrong.filter(|_| must_be_whole && next == job.games.end) {
            let file = games_file(self.request.run, job.generation);
            lock(&self.state).found.faults.push(Fault::of_file(file, format!("after the last game: {wrong}")));
        }
    }
}
