//! The loop of generations.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::checkpoint::Checkpoint;
use super::config::{Phase, TrainConfig};
use super::directory::{BEST, CHECKPOINT, LAST, PREVIOUS_CHECKPOINT};
use super::error::TrainError;
use super::event::TrainEvent;
use super::gate;
use super::identity::Identity;
use super::journal::{Journal, samples_of};
use super::keeper::{Halt, Keeper, Sink};
use super::open::open;
use super::records;
use super::request::{Budget, Outcome, TrainRequest};
use super::source::{GameJob, GameSource, Played};
use super::state::{Best, RecordsProgress, RunState};
use crate::learn::SampleSet;
use crate::pattern::Layout;
use crate::selfplay::Stopped;
use crate::weights::{Provenance, WeightFile};

/// A checkpoint is written at the end of a generation if the last is older than this. The journal makes good for the time
/// between: what follows the checkpoint is only learned again.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

/// Trains in a run directory, on the threads of the current rayon pool, until the budget is used up or the request's `stop` is
/// set. A directory that holds a run of the same configuration is resumed. The sink hears of every event as it happens.
///
/// # Errors
/// See [`TrainError`]. The files in the directory are whole whatever happens, and as they were if the run cannot be resumed.
pub fn train(request: &TrainRequest, sink: Sink) -> Result<Outcome, TrainError> {
    let mut run = match open(request, sink) {
        Ok(run) => run,
        Err(Halt::Stopped) => return Ok(Outcome::Stopped),
        Err(Halt::Failed(error)) => return Err(error),
    };
    match run.work() {
        Ok(()) => Ok(Outcome::Finished),
        Err(Halt::Stopped) => {
            // A disk that fails now has nothing to take that matters.
            let _ = run.tell_end(false);
            Ok(Outcome::Stopped)
        }
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// A run at work.
pub(super) struct Run<'r> {
    pub config: TrainConfig,
    pub identity: Identity,
    pub layout: Arc<Layout>,
    pub budget: Budget,
    pub source: &'r dyn GameSource,
    pub stop: &'r AtomicBool,
    pub keeper: Keeper<'r>,
    pub state: RunState,
    pub clock: Clock,
    pub saved: Saved,
}

/// The time of a run.
pub(super) struct Clock {
    pub started: Instant,
    /// Seconds of earlier sessions.
    pub earlier: f64,
}

impl Clock {
    /// Seconds the run has taken in all.
    fn elapsed(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }
}

/// The newest checkpoint of use in the directory.
pub(super) struct Saved {
    pub at: Instant,
    /// Generations learned then.
    pub generation: u32,
    /// Whether it is the one called newest, and not the one before.
    pub newest_is_good: bool,
}

impl Run<'_> {
    /// The whole run, from where it is.
    fn work(&mut self) -> Result<(), Halt> {
        self.learn_records()?;
        while self.has_budget() && self.generation()? {
            let every = self.config.gate.every;
            if every > 0 && self.state.progress.generation.is_multiple_of(every) {
                self.gate()?;
            } else {
                self.checkpoint_if_due()?;
            }
        }
        if self.state.progress.gated != Some(self.state.progress.generation) {
            self.gate()?;
        }
        self.tell_end(true)
    }

    /// Whether the budget allows for another generation.
    fn has_budget(&self) -> bool {
        let progress = &self.state.progress;
        let Budget { seconds, generations, games } = self.budget;
        let next = self.config.phase(progress.generation).games;
        let in_time = |limit| progress.generation == 0 || progress.pace.has_time_for(next, self.clock.elapsed(), limit);
        seconds.is_none_or(in_time)
            && generations.is_none_or(|most| progress.generation < most)
            && games.is_none_or(|most| progress.games < most)
    }

    /// What is left to do of the records of a new run.
    fn learn_records(&mut self) -> Result<(), Halt> {
        let Some(config) = self.config.records.clone() else { return Ok(()) };
        let done = self.state.progress.records.files as usize;
        for file in &config.files[done..] {
            let first = self.state.progress.records.read;
            let mut began = Instant::now();
            let format = records::read_lessons(file, &config, first, self.stop, |lesson| {
                self.learn_lesson(file, config.passes, lesson)?;
                self.state.progress.records.seconds += began.elapsed().as_secs_f64();
                began = Instant::now();
                self.checkpoint_if_due()
            })?;
            let RecordsProgress { files, read, left_out, loss, seconds } = self.state.progress.records;
            let positions = loss.samples;
            if positions == 0 {
                return Err(TrainError::NoRecords { path: file.into(), format }.into());
            }
            self.state.progress.records = RecordsProgress { files: files + 1, ..RecordsProgress::default() };
            let (file, loss) = (file.clone(), loss.rmse());
            self.keeper.tell(&TrainEvent::Records { file, read, left_out, positions, loss, seconds })?;
            self.checkpoint()?;
        }
        Ok(())
    }

    fn learn_lesson(&mut self, file: &str, passes: u32, lesson: records::Lesson) -> Result<(), Halt> {
        let progress = &mut self.state.progress;
        for fault in lesson.faults {
            progress.records.left_out += 1;
            if progress.records.left_out <= records::TOLD {
                self.keeper.tell(&TrainEvent::BadRecord { file: file.to_owned(), reason: fault.to_string() })?;
            }
        }
        progress.records.read += lesson.read;
        for pass in 0..passes {
            let loss = self.state.learner.pass_until(&lesson.samples, 1.0, self.stop)?.ok_or(Stopped)?;
            progress.updates += loss.samples;
            if pass == 0 {
                progress.records.loss = progress.records.loss + loss;
            }
        }
        Ok(())
    }

    /// Plays and learns one generation. False if the time of the budget ran out before all games were played; the journal keeps
    /// those that were.
    fn generation(&mut self) -> Result<bool, Halt> {
        let generation = self.state.progress.generation;
        let phase = *self.config.phase(generation);
        let stages = self.config.stages(&phase);
        if &stages != self.state.learner.stages() {
            self.state.learner.set_stages(stages);
        }
        self.state.learner.set_overlap(phase.overlap);
        let began = Instant::now();
        let Some(newest) = self.play(generation, &phase)? else { return Ok(false) };
        let playing = began.elapsed().as_secs_f64();
        self.learn(generation, &phase, newest, playing).map(|()| true)
    }

    /// Learns the newest samples and the replay window.
    fn learn(&mut self, generation: u32, phase: &Phase, newest: SampleSet, playing: f64) -> Result<(), Halt> {
        let RunState { progress, learner, window, .. } = &mut self.state;
        progress.positions += newest.len() as u64;
        window.push_back(newest);
        while window.len() > self.config.window as usize {
            window.pop_front();
        }
        let began = Instant::now();
        let newest = window.back().expect("just put there");
        let loss = learner.pass_until(newest, 1.0, self.stop)?.ok_or(Stopped)?;
        let mut updates = loss.samples;
        for _ in 1..self.config.passes {
            for samples in window.iter() {
                updates += learner.pass_until(samples, 1.0, self.stop)?.ok_or(Stopped)?.samples;
            }
        }
        progress.generation += 1;
        progress.games += u64::from(phase.games);
        progress.updates += updates;
        progress.pace.learning = began.elapsed().as_secs_f64();
        let event = TrainEvent::Learned {
            generation,
            loss: loss.rmse(),
            games: progress.games,
            positions: progress.positions,
            updates,
            playing,
            seconds: progress.pace.learning,
            elapsed: self.clock.elapsed(),
        };
        self.keeper.tell(&event)
    }

    /// The samples of a generation's games: from its journal as far as it goes, then from the source. None if the time of the
    /// budget ran out before.
    fn play(&mut self, generation: u32, phase: &Phase) -> Result<Option<SampleSet>, Halt> {
        let mut began = Instant::now();
        let batch = |played, positions, replayed, began: &mut Instant| {
            let seconds = std::mem::replace(began, Instant::now()).elapsed().as_secs_f64();
            TrainEvent::Batch { generation, played, games: phase.games, positions, replayed, seconds }
        };
        let (mut journal, mut samples) =
            Journal::open(&self.keeper.directory, &self.identity, &self.config, generation)?;
        let replayed = journal.played();
        if replayed > 0 {
            self.keeper.tell(&batch(replayed, samples.len() as u64, true, &mut began))?;
        }
        if self.keeper.is_stopped() {
            return Err(Halt::Stopped);
        }
        let (clock, pace) = (&self.clock, self.state.progress.pace);
        let is_time_up =
            || generation > 0 && self.budget.seconds.is_some_and(|limit| pace.is_time_up(clock.elapsed(), limit));
        let (keeper, mut told) = (&mut self.keeper, samples.len());
        let mut failure = None;
        let mut on_games = |played: Played| -> ControlFlow<()> {
            samples_of(&played.games, phase.lambda).for_each(|sample| samples.push(sample));
            let written = journal.append(&played, keeper).and_then(|written| {
                if written {
                    let positions = samples.len() - std::mem::replace(&mut told, samples.len());
                    keeper.tell(&batch(journal.played(), positions as u64, false, &mut began))?;
                }
                Ok(())
            });
            failure = written.err();
            if failure.is_some() || is_time_up() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let playing = Instant::now();
        if replayed < phase.games {
            let model = self.config.model(&self.state.learner);
            let job = GameJob {
                model: &model,
                layout: &self.layout,
                play: &phase.self_play,
                seed: self.config.seed,
                generation,
                games: replayed..phase.games,
            };
            self.source.play(&job, self.stop, &mut on_games);
        }
        if let Some(halt) = failure {
            return Err(halt);
        }
        let played = journal.played();
        if played < phase.games {
            journal.flush(keeper)?;
            return if keeper.is_stopped() { Err(Halt::Stopped) } else { Ok(None) };
        }
        journal.finish(keeper)?;
        if replayed < played {
            keeper.tell(&batch(played, (samples.len() - told) as u64, false, &mut began))?;
            self.state.progress.pace.game = playing.elapsed().as_secs_f64() / f64::from(played - replayed);
        }
        Ok(Some(samples))
    }

    /// Measures the newest weights, and keeps them as the best if they are.
    fn gate(&mut self) -> Result<(), Halt> {
        let began = Instant::now();
        let generation = self.state.progress.generation.saturating_sub(1);
        let newest = self.weights();
        let seed = self.config.seed.wrapping_add(u64::from(generation));
        let best = self.state.best.as_ref().map(|best| &best.weights.model);
        let (best, baseline) = gate::measure(&newest.model, best, &self.layout, &self.config.gate, seed, self.stop)?;
        let promoted = best.is_none_or(|result| result.superiority >= gate::SUPERIORITY);
        let progress = &mut self.state.progress;
        progress.gated = Some(progress.generation);
        progress.baseline = Some(baseline);
        progress.pace.gate = began.elapsed().as_secs_f64();
        let seconds = progress.pace.gate;
        self.keeper.tell(&TrainEvent::Gate { generation, best, baseline, promoted, seconds })?;
        if promoted {
            self.state.best = Some(Best::from(newest));
        }
        // The checkpoint first: the best weights are part of it, should their file not be written any more.
        self.checkpoint()?;
        match &self.state.best {
            Some(best) if promoted => self.keeper.replace(BEST, &best.bytes),
            _ => Ok(()),
        }
    }

    pub(super) fn weights(&self) -> WeightFile {
        let progress = &self.state.progress;
        let provenance = Provenance {
            config: self.identity.config.clone(),
            seed: Some(self.config.seed),
            generations: u64::from(progress.generation),
            games: progress.games,
            samples: progress.updates,
            parent: self.identity.parent.clone(),
            ..Provenance::of_this_program("trained")
        };
        WeightFile::new(self.config.model(&self.state.learner), provenance)
    }

    fn checkpoint_if_due(&mut self) -> Result<(), Halt> {
        if self.saved.at.elapsed() >= CHECKPOINT_EVERY { self.checkpoint() } else { Ok(()) }
    }

    fn checkpoint(&mut self) -> Result<(), Halt> {
        let began = Instant::now();
        self.save()?;
        let seconds = began.elapsed().as_secs_f64();
        self.state.progress.pace.checkpoint = seconds;
        self.keeper.tell(&TrainEvent::Checkpoint { generation: self.state.progress.generation, seconds })
    }

    /// Writes the checkpoint, keeping the one before, then `last.fsw`, and removes the games that neither checkpoint needs unless
    /// they are to be kept.
    pub(super) fn save(&mut self) -> Result<(), Halt> {
        self.state.progress.elapsed = self.clock.elapsed();
        let bytes = Checkpoint::to_bytes(&self.identity, &self.state);
        if self.saved.newest_is_good {
            self.keeper.rename(CHECKPOINT, PREVIOUS_CHECKPOINT)?;
            self.saved.newest_is_good = false;
        }
        self.keeper.replace(CHECKPOINT, &bytes)?;
        let needed = self.saved.generation.saturating_sub(self.config.window - 1);
        let generation = self.state.progress.generation;
        self.saved = Saved { at: Instant::now(), generation, newest_is_good: true };
        self.keeper.replace(LAST, &self.weights().to_bytes())?;
        if !self.config.keep_games {
            for generation in self.keeper.directory.journals()?.into_iter().filter(|&generation| generation < needed) {
                let path = self.keeper.directory.journal(generation);
                self.keeper.patiently(&path, |disk| disk.remove(&path))?;
            }
        }
        Ok(())
    }

    fn tell_end(&mut self, finished: bool) -> Result<(), Halt> {
        let (generation, elapsed) = (self.state.progress.generation, self.clock.elapsed());
        self.keeper.tell(&TrainEvent::End { generation, finished, elapsed })
    }
}
