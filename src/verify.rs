//! Proof of a run afterwards: it is learned again from its kept games, a share of which is played again.
//!
//! A second run with the same configuration trains in a scratch folder. Its games come from the first run's files instead of being
//! played, so it must come to the same weights. Games that are missing or damaged are played, as they should have been.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use crate::eval::Model;
use crate::games::{GamesError, GamesReader, RawFrame, frame, games_file, games_in};
use crate::selfplay::SelfPlay;
use crate::storage::FileError;
use crate::threads::lock;
use crate::train::{
    BEST, Budget, CHECKPOINTS, GameJob, GameSource, LAST, LocalGames, OnGames, Outcome, Played, Sink, StoredRun,
    TrainConfig, TrainError, TrainEvent, TrainRequest, check_games_from, events, metrics, train,
};
use crate::weights::WeightFile;

/// A run to prove.
#[derive(Clone, Copy, Debug)]
pub struct VerifyRequest<'r> {
    /// Its directory. Nothing in it is changed.
    pub run: &'r Path,
    /// The share of each generation's frames that is played again, 0 to 1; at least one frame if it is above 0.
    pub share: f64,
    /// Decides which.
    pub seed: u64,
    /// The weights that the run began with, if it did not begin from nothing.
    pub from: Option<&'r WeightFile>,
    /// Set to stop soon.
    pub stop: &'r AtomicBool,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verified {
    /// Games that the run learned from.
    pub games: u64,
    /// Games that were played again.
    pub replayed: u64,
    /// What is not as it should be.
    pub faults: Vec<Fault>,
}

/// Something of a run that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The number of the first of the games that are wrong, if it is a file of games.
    pub first: Option<u32>,
    /// The number of the last.
    pub last: Option<u32>,
    /// Which worker played them, if the run's events say so.
    pub worker: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl Fault {
    fn of_file(file: PathBuf, reason: String) -> Self {
        Self { file, first: None, last: None, worker: None, reason }
    }
}

/// Learns a run again from its kept games, and plays a share of them again. `None` if it was stopped. The sink gets the events of the run
/// in the scratch folder.
///
/// # Errors
/// The run, or the scratch folder, cannot be read or written; the run cannot be learned again.
pub fn verify(request: &VerifyRequest, sink: Sink) -> Result<Option<Verified>, TrainError> {
    let &VerifyRequest { run, from, stop, .. } = request;
    let StoredRun { mut config, set, parent, continues, first } = StoredRun::read(run)?;
    if config.pattern_set().ok() != Some(set) {
        // Its file is gone, or has another content now.
        config.patterns = run.display().to_string();
    }
    let kept = KeptGames::of(request, &config)?;
    let scratch = tempfile::tempdir().map_err(FileError::io(&std::env::temp_dir()))?;
    let directory = scratch.path().join("run");
    for budget in kept.budgets() {
        let of_scratch = TrainRequest {
            budget,
            from,
            continues: continues.last().map(PathBuf::as_path),
            games: &kept,
            ..TrainRequest::new(&config, &directory, stop)
        };
        let mut begins_as_it_did = true;
        let outcome = train(&of_scratch, &mut |event| {
            if matches!(event, TrainEvent::Start { .. }) {
                begins_as_it_did = StoredRun::read(&directory)
                    .is_ok_and(|begun| (begun.parent, begun.first) == (parent.clone(), first));
                stop.fetch_or(!begins_as_it_did, Relaxed);
            }
            sink(event);
        })?;
        if let Some(older) = continues.last().filter(|_| !begins_as_it_did) {
            let reason =
                format!("this run has gone on since `{}` continued it, from a state that is gone", run.display());
            return Err(TrainError::Damaged { path: older.join(CHECKPOINTS[0]), reason });
        }
        if outcome == Outcome::Stopped && !kept.is_over.swap(false, Relaxed) {
            return Ok(None);
        }
        stop.store(false, Relaxed);
        for path in [LAST, BEST].map(|name| directory.join(name)).iter().filter(|path| path.exists()) {
            kept.meet(&WeightFile::load(path)?.model);
        }
        if kept.knows_all_weights() {
            break;
        }
        kept.is_known.store(true, Relaxed);
        std::fs::remove_dir_all(&directory).map_err(FileError::io(&directory))?;
    }
    Ok(Some(kept.found()))
}

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
struct KeptGames<'r> {
    request: VerifyRequest<'r>,
    /// Generations whose games the run has learned: all of them must be there.
    learned: u32,
    events: Vec<TrainEvent>,
    state: Mutex<State>,
    /// Set if training was stopped since there is nothing left to find out.
    is_over: AtomicBool,
    /// Set once the games are checked.
    is_known: AtomicBool,
}

struct State {
    found: Verified,
    weights: Vec<Weights>,
}

/// A weight file of the run.
struct Weights {
    path: PathBuf,
    model: Model,
    /// Whether the run has had these weights, as far as it was learned again.
    is_met: bool,
}

impl<'r> KeptGames<'r> {
    fn of(request: &VerifyRequest<'r>, config: &TrainConfig) -> Result<Self, TrainError> {
        let run = request.run;
        let events: Vec<TrainEvent> = events(&metrics(run)?).collect();
        let [last, best] = [LAST, BEST].map(|name| (run.join(name), WeightFile::load(run.join(name))));
        // The best may be those that the run began with, of another run's generations.
        let mut learned = match &last {
            (_, Ok(file)) => file.provenance.generations as u32,
            (_, Err(_)) => generations(&events),
        };
        let (mut found, mut weights) = (Verified::default(), Vec::new());
        for (path, loaded) in [last, best] {
            match loaded {
                Ok(file) => weights.push(Weights { path, model: file.model, is_met: false }),
                // A run that was killed in its first generation has none.
                Err(_) if learned == 0 && !path.exists() => {}
                Err(FileError::Io { source, .. }) => found.faults.push(Fault::of_file(path, source.to_string())),
                Err(FileError::Format { reason, .. }) => found.faults.push(Fault::of_file(path, reason.to_string())),
            }
        }
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
        let (is_over, is_known) = Default::default();
        Ok(Self { request: *request, learned, events, state, is_over, is_known })
    }

    /// How far to learn again, the likelier way first, until the run's weights are met: what is learned at the end depends on where it
    /// ended, and if it was stopped nothing was.
    fn budgets(&self) -> [Budget; 2] {
        let to_the_end = Budget::default();
        // A run that continues another has games of its own from some generation on, and its budget counts from there.
        let own = (0..self.learned).find(|&generation| games_file(self.request.run, generation).exists());
        let generations = Some(self.learned - own.unwrap_or(self.learned));
        let learned = Budget { generations, ..to_the_end };
        let ended = self.events.iter().rev().find_map(|event| match event {
            TrainEvent::End { finished, .. } => Some(*finished),
            TrainEvent::Start { .. } => Some(false),
            _ => None,
        });
        let has_games_left_over = games_in(&games_file(self.request.run, self.learned)) > 0;
        if ended == Some(true) && !has_games_left_over { [learned, to_the_end] } else { [to_the_end, learned] }
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

    /// What was found, with a fault for each weight file that does not follow from the games.
    fn found(self) -> Verified {
        // What was learned at an end that the run went on from is not learned again.
        let best = self.events.iter().rposition(|event| matches!(event, TrainEvent::Gate { promoted: true, .. }));
        let is_of_an_earlier_end = best.is_some_and(|best| {
            let learned = self.events[..best].iter().rfind(|event| matches!(event, TrainEvent::Learned { .. }));
            matches!(learned, Some(TrainEvent::Learned { step: 0, .. }))
                && self.events[best..].iter().any(|event| matches!(event, TrainEvent::Played { .. }))
        });
        let State { mut found, weights } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for Weights { path, is_met, .. } in weights {
            if !(is_met || is_of_an_earlier_end && path.ends_with(BEST)) {
                found.faults.push(Fault::of_file(path, "the run's games do not lead to these weights".to_owned()));
            }
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

    /// The frames of a generation up to the first that is missing or damaged, and what is wrong then, if the file does not end there.
    fn frames(&self, generation: u32, wanted: u32) -> (Vec<RawFrame>, Option<String>) {
        let (mut frames, mut next) = (Vec::new(), 0);
        let mut read = || -> Result<Option<String>, GamesError> {
            let mut reader = GamesReader::open(games_file(self.request.run, generation))?;
            if reader.header().generation != generation {
                return Ok(Some("the file holds another generation".to_owned()));
            }
            while let Some(frame) = reader.next_frame()? {
                if frame.first() != next || frame.is_empty() || frame.len() as u32 > wanted - next {
                    return Ok(Some(format!("the next frame begins with game {}", frame.first())));
                }
                next += frame.len() as u32;
                frames.push(frame);
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
        let generation = job.generation;
        let (frames, mut wrong) = self.frames(generation, job.games.end);
        let must_be_whole = generation < self.learned;
        if !must_be_whole && (frames.is_empty() || self.knows_all_weights()) {
            self.is_over.store(true, Relaxed);
            stop.store(true, Relaxed);
            return;
        }
        let is_known = self.is_known.load(Relaxed);
        if !is_known {
            self.replay(job, &frames, stop);
        }
        let mut next = 0;
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
        if !is_known {
            lock(&self.state).found.games += u64::from(next);
        }
        if must_be_whole && next < job.games.end && flow.is_continue() && !stop.load(Relaxed) {
            let missing = next..job.games.end;
            if !is_known {
                let reason = wrong.as_deref().unwrap_or("the file ends");
                self.fault(generation, missing.clone(), format!("{reason}; these games were played again"));
            }
            LocalGames.play(&GameJob { games: missing, ..job.clone() }, stop, on_games);
        } else if let Some(wrong) = wrong.filter(|_| must_be_whole && next == job.games.end && !is_known) {
            let file = games_file(self.request.run, generation);
            lock(&self.state).found.faults.push(Fault::of_file(file, format!("after the last game: {wrong}")));
        }
    }
}
