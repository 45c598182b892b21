//! The loop of generations.

use std::ops::{Add, ControlFlow};
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
use super::keeper::{Halt, Keeper};
use super::records;
use super::request::Budget;
use super::room;
use super::source::{GameJob, GameSource, Played};
use super::state::{self, Progress, RecordsProgress, RunState};
use crate::learn::{PassLoss, SampleSet};
use crate::pattern::Layout;
use crate::selfplay::Stopped;
use crate::weights::{Provenance, WeightFile};

/// A checkpoint is written at the end of a generation if the last is older than this. The journal makes good for the time
/// between: what follows the checkpoint is only learned again.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

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
    pub(super) fn work(&mut self) -> Result<(), Halt> {
        self.learn_records()?;
        while self.has_budget() && self.refit_if_due()? && self.generation()? {
            if self.is_gate_due() {
                self.gate()?;
            } else {
                self.checkpoint_if_due()?;
            }
        }
        let has_games = self.config.fit.is_some_and(|fit| self.state.progress.generation > fit.first_generation);
        if has_games && self.state.fitted.is_none() {
            self.fit_at_end()?;
        }
        if self.state.progress.gated != Some(self.state.stand()) {
            self.gate()?;
        }
        self.tell_end(true)
    }

    /// Whether a gate comes between two generations. Weights that have not changed are not measured again, and those that are about
    /// to be fitted anew are measured after it.
    fn is_gate_due(&self) -> bool {
        let (every, generation) = (self.config.gate.every, self.state.progress.generation);
        let learned = self.config.phase(generation - 1).learn && !self.config.is_refitted_before(generation);
        every > 0 && generation.is_multiple_of(every) && learned
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

    /// Keeps the newest samples in the replay window, and learns them and the window if the phase says so.
    fn learn(&mut self, generation: u32, phase: &Phase, newest: SampleSet, playing: f64) -> Result<(), Halt> {
        let RunState { progress, learner, window, fitted, .. } = &mut self.state;
        progress.positions += newest.len() as u64;
        window.push_back(newest);
        while window.len() > self.config.window as usize {
            window.pop_front();
        }
        let began = Instant::now();
        let newest = window.back().expect("just put there");
        let mut updates = 0;
        let loss = if phase.learn {
            let loss = learner.pass_until(newest, 1.0, self.stop)?.ok_or(Stopped)?;
            updates = loss.samples;
            for _ in 1..self.config.passes {
                for samples in window.iter() {
                    updates += learner.pass_until(samples, 1.0, self.stop)?.ok_or(Stopped)?.samples;
                }
            }
            loss
        } else {
            learner.loss(newest).into_iter().fold(PassLoss::default(), PassLoss::add)
        };
        *fitted = None;
        progress.generation += 1;
        progress.games += u64::from(phase.games);
        progress.updates += updates;
        progress.pace.learning = began.elapsed().as_secs_f64();
        if self.config.fit.is_some() {
            progress.pace.last_fit = progress.pace.fit_of(progress.positions);
        }
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
    pub(super) fn gate(&mut self) -> Result<(), Halt> {
        let began = Instant::now();
        let generation = self.state.progress.generation.saturating_sub(1);
        let newest = self.weights();
        let seed = self.config.seed.wrapping_add(u64::from(generation));
        let best = self.state.best.as_ref().map(|best| &best.weights.model);
        let (best, baseline) = gate::measure(&newest.model, best, &self.layout, &self.config.gate, seed, self.stop)?;
        let promoted = best.is_none_or(|result| result.superiority >= gate::SUPERIORITY);
        let stand = self.state.stand();
        let progress = &mut self.state.progress;
        progress.gated = Some(stand);
        progress.baseline = Some(baseline);
        progress.pace.gate = began.elapsed().as_secs_f64();
        let seconds = progress.pace.gate;
        let fitted = stand.fitted;
        self.keeper.tell(&TrainEvent::Gate { generation, fitted, best, baseline, promoted, seconds })?;
        if promoted {
            self.state.best = Some(state::Saved::from(newest));
        }
        // The checkpoint first: the best weights are part of it, should their file not be written any more.
        self.checkpoint()?;
        match &self.state.best {
            Some(best) if promoted => self.keeper.replace(BEST, &best.bytes),
            _ => Ok(()),
        }
    }

    /// The newest weights.
    pub(super) fn weights(&self) -> WeightFile {
        if let Some(fitted) = &self.state.fitted {
            return fitted.weights.clone();
        }
        WeightFile::new(self.config.model(&self.state.learner), self.provenance())
    }

    /// Where weights come from that are made now.
    pub(super) fn provenance(&self) -> Provenance {
        let progress = &self.state.progress;
        Provenance {
            config: self.identity.config.clone(),
            seed: Some(self.config.seed),
            generations: u64::from(progress.generation),
            games: progress.games,
            samples: progress.updates,
            parent: self.identity.parent.clone(),
            ..Provenance::of_this_program("trained")
        }
    }

    fn checkpoint_if_due(&mut self) -> Result<(), Halt> {
        if self.saved.at.elapsed() >= CHECKPOINT_EVERY { self.checkpoint() } else { Ok(()) }
    }

    fn checkpoint(&mut self) -> Result<(), Halt> {
        let began = Instant::now();
        self.save()?;
        let seconds = began.elapsed().as_secs_f64();
        self.state.progress.pace.checkpoint = seconds;
        self.keeper.tell(&TrainEvent::Checkpoint { generation: self.state.progress.generation, seconds })?;
        let Progress { generation, pace, .. } = self.state.progress;
        let left = self.budget.seconds.map_or(0.0, |limit| limit - self.clock.elapsed());
        self.keeper.look_at_room(room::of_seconds(&self.config, &pace, generation, left))
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

    pub(super) fn tell_end(&mut self, finished: bool) -> Result<(), Halt> {
        let (generation, elapsed) = (self.state.progress.generation, self.clock.elapsed());
        self.keeper.tell(&TrainEvent::End { generation, finished, elapsed })
    }
}
