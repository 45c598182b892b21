//! What a run learns: after a generation, between generations, and at its end.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::budget::Budget;
use super::checkpoint::Parts;
use super::error::TrainError;
use super::event::TrainEvent;
use super::keeper::Keeper;
use super::ledger::Journal;
use super::run::Run;
use super::saving::write_checkpoint;
use super::state::{EncodedWeights, Job, Progress, RunState};
use crate::fit::{
    Begun, FitError, GameFiles, GameFilesError, GameFilesEvent, LearnConfig, LearnEvent, Lessons, Start, Teacher,
    learn, learner_for,
};
use crate::games::games_in;
use crate::label::RecordFile;
use crate::learn::Learner;
use crate::selfplay::Stopped;
use crate::storage::{read_bounded, sha256};
use crate::weights::{Provenance, WeightFile};

/// Gives a configuration the checksums of its record files, by which a run recognizes its data.
///
/// # Errors
/// Files that cannot be read, teach nothing, or are not those that the configuration names.
pub(super) fn with_checksums(config: &mut LearnConfig) -> Result<(), TrainError> {
    let checksum = |file: &String| {
        let path = Path::new(file);
        let bytes = read_bounded(path, "file of records", crate::record::MAX_BYTES)?;
        let records = RecordFile::new(path, &bytes, config.exact_empties).map_err(GameFilesError::from);
        records.and_then(|records| Ok(records.has_lesson()?)).map_err(FitError::from)?;
        Ok::<_, TrainError>(sha256(&bytes))
    };
    let found = config.files.iter().map(checksum).collect::<Result<Vec<_>, _>>()?;
    let wanted = std::mem::replace(&mut config.sha256, found);
    let other = config.files.iter().zip(&config.sha256).zip(&wanted).find(|((_, found), wanted)| found != wanted);
    match other {
        Some(((file, _), _)) => Err(FitError::Games(GameFilesError::OtherRecords(file.into())).into()),
        None => Ok(()),
    }
}

impl Run<'_> {
    /// What is learned if the run ends now, as far as there is something to learn and it is not learned.
    pub(super) fn finish_to_come(&self) -> Option<&LearnConfig> {
        let config = self.config.finish_after(self.state.progress.generation)?;
        let described = self.described(config, true)?;
        let is_done = match &self.state.finished {
            Some((_, of)) => *of == described,
            None => self.state.progress.learned == described,
        };
        (!is_done).then_some(config)
    }

    /// Whether the run may end before all games of the next generation are played: if it ends now, it ran out of time.
    fn ends_within_generation(&self) -> bool {
        let Progress { generation, games, .. } = self.state.progress;
        let Budget { generations: most, games: most_games, .. } = self.budget;
        most.is_none_or(|most| generation < most) && most_games.is_none_or(|most| games < most)
    }

    /// Games of a next generation that there was no time to finish, if the run may end this way.
    pub(super) fn games_without_end(&self) -> u64 {
        if self.ends_within_generation() { self.games_at_hand().into() } else { 0 }
    }

    /// The first generation that a configuration learns, and how many there are; `None` if there are none.
    fn generations_of(&self, config: &LearnConfig) -> Option<(u32, u32)> {
        let end = self.state.progress.generation;
        let first = config.generations.map_or(0, |newest| end.saturating_sub(newest)).max(config.since);
        (first < end).then(|| (first, end - first))
    }

    /// What a configuration learns now, and how; `None` if there is nothing. The same description is the same work.
    fn described(&self, config: &LearnConfig, at_end: bool) -> Option<String> {
        let mut text = config.to_toml();
        if config.files.is_empty() {
            let (first, count) = self.generations_of(config)?;
            let more = if at_end { self.games_without_end() } else { 0 };
            write!(text, "# generations {first} to {}, {more} more games", first + count - 1).expect("a string");
        }
        Some(text)
    }

    /// Positions that a configuration learns.
    fn positions_of(&self, config: &LearnConfig) -> f64 {
        let first = self.generations_of(config).map_or(u32::MAX, |(first, _)| first);
        self.state.positions.iter().skip(first as usize).sum::<u64>() as f64
    }

    /// Seconds that a configuration takes to learn, with `games` more games.
    pub(super) fn seconds_of(&self, config: &LearnConfig, games: f64) -> f64 {
        let Progress { games: all, pace, .. } = self.state.progress;
        let each = self.state.all_positions() as f64 / all.max(1) as f64;
        pace.learning_takes(self.positions_of(config) + each * games, config)
    }

    /// The games that a configuration learns, and whether there are any.
    fn games_for(&mut self, config: &LearnConfig, at_end: bool, described: &str) -> Result<GameFiles, TrainError> {
        if !config.files.is_empty() {
            let (keeper, stop) = (&mut self.keeper, self.stop);
            let files: Vec<PathBuf> = config.files.iter().map(PathBuf::from).collect();
            let root = keeper.directory.path().to_owned();
            let mut told = Ok(());
            let mut tell = |event: GameFilesEvent<'_>| {
                if let Some(failed) = told_of(keeper, &event) {
                    told = Err(failed);
                }
            };
            let games = GameFiles::open(&files, config, &root, None, stop, &mut tell);
            told?;
            return Ok(games.map_err(FitError::from)?);
        }
        let (first, count) = self.generations_of(config).unwrap_or_default();
        let Self { state, ledger, .. } = &*self;
        let end = first + count;
        let mut positions: u64 = state.positions[first as usize..end as usize].iter().sum();
        let mut games = ledger.games(first..end, &self.config);
        let mut files: Vec<_> = (first..end).map(|generation| ledger.file(generation)).collect();
        if at_end && self.games_without_end() > 0 {
            let (journal, samples) = Journal::open(&self.ledger, &self.config, end)?;
            positions += samples.len() as u64;
            games += u64::from(journal.played());
            files.push(self.ledger.file(end));
        }
        Ok(GameFiles::of_run(files, games, positions, format!("{} {described}", self.identity.run_name())))
    }

    /// Learns what a configuration says. At the end of a run its weights go on from what they were if it is given more time.
    pub(super) fn learn(&mut self, config: &LearnConfig, at_end: bool) -> Result<(), TrainError> {
        let began = Instant::now();
        let generation = self.state.progress.generation;
        let Some(described) = self.described(config, at_end) else {
            return self.keeper.tell(&TrainEvent::NothingToLearn { generation, since: config.since });
        };
        let games = self.games_for(config, at_end, &described)?;
        let is_begun = self.state.job.as_ref().is_some_and(|job| job.begun.is_of(&described, &games));
        if !is_begun {
            self.begin(config, at_end, Begun::new(described.clone(), &games))?;
        }
        let mut job = self.state.job.take().expect("it has begun");
        let teacher = (config.tree_depth > 0).then(|| Teacher::new(&job.before.weights.model, None, config));
        let teacher = teacher.transpose().map_err(FitError::TeacherModel)?;
        let lessons = Lessons { config, games: &games, teacher: teacher.as_ref(), stop: self.stop };
        let RunState { progress, learner, best, finished, positions, .. } = &mut self.state;
        let (mut last, mut before, mut failed) = (None, 0.0, None);
        let Job { begun, before: newest, aside } = &mut job;
        let (keeper, saved, clock, identity) = (&mut self.keeper, &mut self.saved, &self.clock, &self.identity);
        let mut on_event = |event: LearnEvent<'_>| match event {
            LearnEvent::Start { done, .. } => {
                before = done;
                Ok(())
            }
            LearnEvent::Block { done, loss, .. } => {
                keeper.show(&TrainEvent::Learning { done, loss });
                Ok(())
            }
            LearnEvent::Epoch { loss, held_out, .. } => {
                last = Some((loss, held_out));
                Ok(())
            }
            LearnEvent::NotSaved { .. } => Ok(()),
            LearnEvent::Save(learner, begun) => {
                progress.elapsed = clock.elapsed();
                let parts = Parts {
                    progress,
                    learner,
                    job: Some((begun, newest, aside.as_ref())),
                    best: best.as_ref(),
                    finished: finished.as_ref(),
                    positions,
                };
                let newest = finished.as_ref().map_or(&*newest, |(finished, _)| finished);
                write_checkpoint(keeper, saved, identity, &parts, &newest.bytes).map_err(|error| {
                    failed = Some(error);
                    Stopped
                })
            }
        };
        let learned = learn(lessons, learner, begun, &mut on_event);
        let updates = begun.updates();
        if let Err(error) = learned {
            self.state.job = Some(job);
            return Err(failed.unwrap_or_else(|| error.into()));
        }
        let seconds = began.elapsed().as_secs_f64();
        // What was nearly done says little about how long it takes.
        if before < 0.9 {
            progress.pace.time_learning(seconds, (1.0 - before) * games.positions as f64, config);
        }
        self.end_job(job, at_end, described, updates);
        let Some((loss, held_out)) = last else { return Ok(()) };
        self.keeper.tell(&TrainEvent::Learned {
            generation,
            step: if at_end { 0 } else { self.state.progress.place.step + 1 },
            games: games.games + games.records,
            positions: games.positions,
            updates,
            loss,
            held_out: held_out.rmse(),
            held_out_by_empties: held_out.errors(),
            slopes_by_empties: held_out.slopes(),
            seconds,
        })
    }

    /// Makes the learner for a new job.
    fn begin(&mut self, config: &LearnConfig, at_end: bool, begun: Begun) -> Result<(), TrainError> {
        self.state.go_on();
        if self.state.job.is_some() {
            return Err(TrainError::OtherJob);
        }
        let before = EncodedWeights::from(self.weights());
        let older = match config.from {
            Start::Nothing => None,
            Start::Visits if !at_end => None,
            Start::Visits => Some(self.state.learner.clone()),
            Start::Weights => {
                let model = self.state.learner.model();
                Some(Learner::from_model(self.layout.clone(), &model, config.step()).map_err(TrainError::From)?)
            }
        };
        let aside = if config.from == Start::Visits && !at_end {
            let nothing = Learner::new(self.layout.clone(), crate::eval::StageMap::uniform(60), config.step());
            let current = std::mem::replace(&mut self.state.learner, nothing);
            self.state.learner = learner_for(config, &self.layout, Some(current));
            None
        } else {
            let learner = learner_for(config, &self.layout, older);
            Some(std::mem::replace(&mut self.state.learner, learner)).filter(|_| at_end)
        };
        self.state.job = Some(Job { begun, before, aside });
        Ok(())
    }

    fn end_job(&mut self, job: Job, at_end: bool, described: String, updates: u64) {
        let games = self.games_without_end();
        if let Some(aside) = job.aside.filter(|_| at_end) {
            let learned = std::mem::replace(&mut self.state.learner, aside);
            let run = self.provenance();
            let provenance = Provenance { games: run.games + games, samples: run.samples + updates, ..run };
            let weights = EncodedWeights::from(WeightFile::new(learned.model(), provenance));
            self.state.finished = Some((weights, described));
            return;
        }
        let progress = &mut self.state.progress;
        progress.updates += updates;
        progress.learned = described;
        progress.changes += 1;
        self.state.finished = None;
    }

    /// Games of the next generation that are there already. A journal that cannot be read is reported when it is needed.
    pub(super) fn games_at_hand(&self) -> u32 {
        games_in(&self.ledger.file(self.state.progress.generation))
    }
}

/// Tells what happens to records; an error if it cannot be told.
fn told_of(keeper: &mut Keeper<'_>, event: &GameFilesEvent<'_>) -> Option<TrainError> {
    let event = match event {
        GameFilesEvent::BadRecord { path, error } => {
            TrainEvent::BadRecord { file: path.display().to_string(), reason: error.to_string() }
        }
        GameFilesEvent::Labelled { path, read, left_out } => {
            TrainEvent::Records { file: path.display().to_string(), read: *read, left_out: *left_out }
        }
        _ => return None,
    };
    keeper.tell(&event).err()
}
