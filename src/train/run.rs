//! The loop of generations.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::config::{Phase, TrainConfig};
use super::directory::BEST;
use super::error::TrainError;
use super::event::TrainEvent;
use super::gate;
use super::identity::Identity;
use super::keeper::Keeper;
use super::ledger::Ledger;
use super::request::Budget;
use super::room::Growth;
use super::source::GameSource;
use super::state::{self, RunState};
use crate::eval::StageMap;
use crate::games::games_in;
use crate::learn::{Loss, SampleSet};
use crate::pattern::Layout;
use crate::selfplay::Stopped;

/// Positions of a generation on which the weights are validated before they are learned.
const VALIDATED: usize = 1 << 16;

/// A run in progress.
pub(super) struct Run<'r> {
    pub config: TrainConfig,
    pub identity: Identity,
    pub ledger: Ledger,
    pub layout: Arc<Layout>,
    pub budget: Budget,
    pub source: &'r dyn GameSource,
    pub stop: &'r AtomicBool,
    pub keeper: Keeper<'r>,
    pub state: RunState,
    pub clock: Clock,
    pub saved: LastCheckpoint,
    pub growth: Growth,
    /// Generations that were learned before and whose games are kept: they are learned again whatever the time.
    pub known: u32,
}

/// The time of a run.
pub(super) struct Clock {
    pub started: Instant,
    /// Seconds of earlier sessions.
    pub earlier: f64,
}

impl Clock {
    /// Seconds the run has taken in all.
    pub fn elapsed(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }
}

/// The newest usable checkpoint in the directory.
pub(super) struct LastCheckpoint {
    pub at: Instant,
    /// Generations learned then.
    pub generation: u32,
    /// Whether it is the file `checkpoint`, and not the one before.
    pub newest_is_good: bool,
}

impl Run<'_> {
    /// Does the rest of the run.
    pub(super) fn work(&mut self) -> Result<(), TrainError> {
        let before = self.state.progress;
        self.learn_records()?;
        loop {
            if !self.has_budget() {
                break;
            }
            self.refit_if_due()?;
            if !self.generation()? {
                if self.last_fit_to_come().is_some() {
                    // After a kill in the fit it is known that the time is used up, and the fit goes on.
                    self.save()?;
                }
                break;
            }
            if self.is_gate_due() {
                self.gate()?;
            } else {
                self.checkpoint_if_due()?;
            }
        }
        self.fit_at_end()?;
        if self.state.progress.gated != Some(self.state.stand()) {
            self.gate()?;
        }
        // Finding that nothing is left to do is no work.
        let is_idle = self.state.progress == before;
        self.tell_end(if is_idle { self.clock.earlier } else { self.clock.elapsed() }, None)
    }

    /// Whether a gate comes between two generations. Weights that have not changed are not measured again, and those that are about
    /// to be refitted are measured after the fit.
    fn is_gate_due(&self) -> bool {
        let (every, generation) = (self.config.gate.every, self.state.progress.generation);
        let learned = self.config.phase(generation - 1).learn && !self.config.is_refitted_before(generation);
        every > 0 && generation.is_multiple_of(every) && learned
    }

    /// Games of the next generation that are there already. A journal that cannot be read is reported when it is needed.
    pub(super) fn games_at_hand(&self) -> u32 {
        games_in(&self.ledger.file(self.state.progress.generation))
    }

    /// Whether the budget allows for another generation.
    pub(super) fn has_budget(&self) -> bool {
        let progress = &self.state.progress;
        let Budget { seconds, generations, games } = self.budget;
        let is_free = progress.generation == 0 || progress.generation < self.known;
        let has_time = |limit| {
            let at_hand = self.games_at_hand();
            let left = self.config.phase(progress.generation).games.saturating_sub(at_hand);
            let fits = self.seconds_of_refit() + self.last_fit_of_game() * f64::from(at_hand);
            progress.pace.has_time_for(left, self.clock.elapsed() + fits, limit)
        };
        seconds.is_none_or(|limit| is_free || has_time(limit))
            && generations.is_none_or(|max| progress.generation < max)
            && games.is_none_or(|max| progress.games < max)
    }

    /// Plays and learns one generation. False if the budget's time ran out before all games were played; the journal keeps those
    /// that were.
    fn generation(&mut self) -> Result<bool, TrainError> {
        let generation = self.state.progress.generation;
        let phase = *self.config.phase(generation);
        let stages = StageMap::for_set(phase.stage_plies, self.layout.set());
        let learner = &mut self.state.learner;
        // A phase that only plays leaves fitted weights as they are.
        let changes_stages = phase.learn && &stages != learner.stages();
        // Unless its games are learned, the weights stay what they were.
        let before = changes_stages.then(|| learner.clone());
        if changes_stages {
            learner.set_stages(stages);
        }
        learner.set_overlap(phase.overlap);
        // The learner may come from a fit, with the fit's rule and loss.
        learner.set_rule(self.config.step);
        learner.set_loss(Loss::default());
        self.growth.enter(self.config.phase_number(generation), self.clock.elapsed());
        let began = Instant::now();
        let newest = match self.play(generation, &phase) {
            Ok(Some(newest)) => newest,
            unplayed => {
                if let Some(before) = before {
                    self.state.learner = before;
                }
                return unplayed.map(|_| false);
            }
        };
        drop(before);
        let playing = began.elapsed().as_secs_f64();
        self.learn(generation, &phase, newest, playing).map(|()| true)
    }

    /// Keeps the newest samples in the replay window, and learns them and the window if the phase says so.
    fn learn(&mut self, generation: u32, phase: &Phase, newest: SampleSet, playing: f64) -> Result<(), TrainError> {
        let RunState { progress, learner, window, fitted, .. } = &mut self.state;
        progress.positions += newest.len() as u64;
        window.push_back(newest);
        while window.len() > self.config.window as usize {
            window.pop_front();
        }
        let began = Instant::now();
        let newest = window.back().expect("just put there");
        let validation = learner.validate(newest, newest.len().div_ceil(VALIDATED).max(1));
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
            validation.loss()
        };
        *fitted = None;
        progress.generation += 1;
        if !self.config.learns_window(progress.generation) {
            window.clear();
        }
        progress.games += u64::from(phase.games);
        progress.updates += updates;
        progress.pace.learning = began.elapsed().as_secs_f64();
        self.state.progress.pace.last_fit = self.seconds_of_last_fit();
        let progress = &self.state.progress;
        let event = TrainEvent::Learned {
            generation,
            loss: loss.rmse(),
            errors_by_empties: validation.errors(),
            slopes_by_empties: validation.slopes(),
            games: progress.games,
            positions: progress.positions,
            updates,
            playing,
            seconds: progress.pace.learning,
            elapsed: self.clock.elapsed(),
        };
        self.keeper.tell(&event)
    }

    /// Measures the newest weights, and keeps them as the best if they are.
    pub(super) fn gate(&mut self) -> Result<(), TrainError> {
        let began = Instant::now();
        let generation = self.state.progress.generation.saturating_sub(1);
        let newest = self.weights();
        if self.state.best.is_none() {
            // Until something is measured, the newest are the best.
            self.keeper.replace(BEST, &newest.to_bytes())?;
        }
        let seed = self.config.seed.wrapping_add(u64::from(generation));
        let best = self.state.best.as_ref().map(|best| &best.weights.model);
        let keeper = &mut self.keeper;
        let mut on_pairs = |done, pairs| keeper.show(&TrainEvent::Gating { done, pairs });
        let measured =
            gate::measure(&newest.model, best, &self.layout, &self.config.gate, seed, self.stop, &mut on_pairs);
        let (best, anchor, (baseline, baseline_pairs)) = measured?;
        let pairs = [best.map_or([0; 5], |(_, pairs)| pairs), baseline_pairs];
        let best = best.map(|(result, _)| result);
        let promoted = best.is_none_or(|result| result.superiority >= gate::SUPERIORITY);
        let stand = self.state.stand();
        let progress = &mut self.state.progress;
        progress.gated = Some(stand);
        let seconds = began.elapsed().as_secs_f64();
        // The time of two matches: a run's first gate has one.
        progress.pace.gate = if best.is_some() { seconds } else { 2.0 * seconds };
        let fitted = stand.fitted;
        self.keeper.tell(&TrainEvent::Gate { generation, fitted, best, anchor, baseline, pairs, promoted, seconds })?;
        if promoted {
            self.state.best = Some(state::EncodedWeights::from(newest));
        }
        // The checkpoint first: it holds the best weights, in case their file is not written any more.
        self.checkpoint()?;
        match &self.state.best {
            Some(best) if promoted => self.keeper.replace(BEST, &best.bytes),
            _ => Ok(()),
        }
    }

    pub(super) fn tell_end(&mut self, elapsed: f64, reason: Option<String>) -> Result<(), TrainError> {
        let generation = self.state.progress.generation;
        self.keeper.tell(&TrainEvent::End { generation, finished: reason.is_none(), elapsed, reason })
    }
}
