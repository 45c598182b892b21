//! The loop of steps.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::budget::Budget;
use super::config::{Part, Place, Step, TrainConfig};
use super::directory::BEST;
use super::error::TrainError;
use super::event::TrainEvent;
use super::gate;
use super::identity::Identity;
use super::keeper::Keeper;
use super::ledger::Ledger;
use super::source::GameSource;
use super::state::{EncodedWeights, RunState};
use crate::pattern::Layout;

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
    /// Generations that were played before and whose games are kept: what they teach is learned again whatever the time.
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
    /// Generations played then.
    pub generation: u32,
    /// Whether it is the file `checkpoint`, and not the one before.
    pub newest_is_good: bool,
}

impl Run<'_> {
    /// Does the rest of the run.
    pub(super) fn work(&mut self) -> Result<(), TrainError> {
        let before = self.state.progress.clone();
        while let Some(step) = self.step().cloned() {
            if self.state.progress.place.part == Part::Play {
                // What comes before the first generation is always done.
                let is_first = step.play.is_none() && self.state.progress.generation == self.ledger.first();
                if !is_first && !self.has_budget() || !self.play_if_due(&step)? {
                    break;
                }
                self.state.progress.place.part = Part::Learn;
            }
            if self.state.progress.place.part == Part::Learn {
                if let Some(config) = &step.learn {
                    self.learn(config, false)?;
                }
                self.state.progress.place.part = Part::Gate;
            }
            if step.gate {
                self.gate_if_due(step.play.is_none() && step.learn.is_some())?;
            }
            self.config.advance(&mut self.state.progress.place);
            let fit_is_next = self.step().is_some_and(|next| next.play.is_none() && next.learn.is_some());
            // A gate has written one.
            self.checkpoint_if_due(!step.gate && (step.play.is_none() || fit_is_next))?;
        }
        self.finish()?;
        // Finding that nothing is left to do is no work.
        let is_idle = self.state.progress == before;
        self.tell_end(if is_idle { self.clock.earlier } else { self.clock.elapsed() }, None)
    }

    fn step(&self) -> Option<&Step> {
        self.config.steps.get(self.state.progress.place.step as usize)
    }

    fn play_if_due(&mut self, step: &Step) -> Result<bool, TrainError> {
        match &step.play {
            Some(play) => self.play(play),
            None => Ok(true),
        }
    }

    /// Learns what a run ends with, and measures it.
    fn finish(&mut self) -> Result<(), TrainError> {
        if let Some(config) = self.finish_to_come().cloned() {
            // After a kill it is known that the time is used up, and this goes on.
            self.save()?;
            self.learn(&config, true)?;
            self.save()?;
        } else if let Some(config) = self.config.finish_after(self.state.progress.generation)
            && self.state.progress.generation > 0
            && self.state.progress.generation <= config.since
        {
            let (generation, since) = (self.state.progress.generation, config.since);
            self.keeper.tell(&TrainEvent::NothingToLearn { generation, since })?;
        }
        self.gate_if_due(self.state.finished.is_some())
    }

    /// Whether the budget allows for another generation, and for all that comes before and after it.
    pub(super) fn has_budget(&self) -> bool {
        let progress = &self.state.progress;
        let Budget { seconds, generations, games } = self.budget;
        let is_free = progress.generation == self.ledger.first() || progress.generation < self.known;
        let has_time = |limit| self.clock.elapsed() + self.seconds_of_next(limit) + self.seconds_to_end(limit) <= limit;
        seconds.is_none_or(|limit| is_free || has_time(limit))
            && generations.is_none_or(|max| progress.generation < max)
            && games.is_none_or(|max| progress.games < max)
    }

    /// Seconds of the next generation and of the steps before it.
    fn seconds_of_next(&self, limit: f64) -> f64 {
        let (mut place, mut seconds): (Place, f64) = (self.state.progress.place, 0.0);
        let pace = &self.state.progress.pace;
        while let Some(step) = self.config.steps.get(place.step as usize) {
            let games = step.play.map_or(0, |play| play.games);
            let left = games.saturating_sub(self.games_at_hand());
            let learning = step.learn.as_ref().map_or(0.0, |learn| self.seconds_of(learn, f64::from(games)));
            let gate = if step.gate { pace.gate_takes(limit) } else { 0.0 };
            seconds += pace.game * f64::from(left) + learning + gate;
            if step.play.is_some() {
                break;
            }
            self.config.advance(&mut place);
        }
        seconds
    }

    /// Seconds for the end of the run: what is learned then, a gate, and a checkpoint.
    pub(super) fn seconds_to_end(&self, limit: f64) -> f64 {
        let Self { state, config, .. } = self;
        let finish = config.finish_after(state.progress.generation).map_or(0.0, |finish| self.seconds_of(finish, 0.0));
        finish + state.progress.pace.gate_takes(limit) + state.progress.pace.checkpoint
    }

    /// Measures the newest weights unless they are measured already, and keeps them as the best if they are. `fitted` says whether they were
    /// learned on their own, and not from a generation as it came.
    fn gate_if_due(&mut self, fitted: bool) -> Result<(), TrainError> {
        let stand = self.state.stand();
        if self.state.progress.gated == Some(stand) {
            return Ok(());
        }
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
        let progress = &mut self.state.progress;
        progress.gated = Some(stand);
        let seconds = began.elapsed().as_secs_f64();
        // The time of two matches: a run's first gate has one.
        progress.pace.gate = if best.is_some() { seconds } else { 2.0 * seconds };
        self.keeper.tell(&TrainEvent::Gate { generation, fitted, best, anchor, baseline, pairs, promoted, seconds })?;
        if promoted {
            self.state.best = Some(EncodedWeights::from(newest));
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
