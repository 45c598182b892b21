//! Fits to kept games: before a phase that wants one, and at the end of the run.

use std::path::PathBuf;
use std::time::Instant;

use super::config::FitPlan;
use super::directory::FIT;
use super::error::TrainError;
use super::event::TrainEvent;
use super::request::Budget;
use super::run::Run;
use super::state::{EncodedWeights, Progress, RunState};
use crate::fit::{FitConfig, FitError, FitEvent, FitOutcome, FitRequest, GameFiles, fit};
use crate::learn::Learner;
use crate::selfplay::Stopped;
use crate::storage::FileError;
use crate::weights::{Provenance, WeightFile};

impl Run<'_> {
    /// Fits the weights that the next generation plays with, and measures them, if it is the first of a phase with a refit.
    pub(super) fn refit_if_due(&mut self) -> Result<(), TrainError> {
        let generation = self.state.progress.generation;
        if !self.config.is_refitted_before(generation) {
            return Ok(());
        }
        if let Some(plan) = self.refit_to_come() {
            let (weights, learner) = self.fit(&plan, false)?;
            // These are from an earlier end of the run, of other weights.
            (self.state.fitted, self.state.progress.gated) = (None, None);
            self.state.learner = learner;
            self.state.progress.updates = weights.provenance.samples;
            self.state.progress.refitted = Some(generation);
            self.state.progress.pace.last_fit = self.seconds_of_last_fit();
            self.save()?;
        }
        self.remove_fit()?;
        if self.state.progress.gated != Some(self.state.stand()) {
            self.gate()?;
        }
        Ok(())
    }

    /// The fit due before the next generation, unless it is done.
    fn refit_to_come(&self) -> Option<FitPlan> {
        let generation = self.state.progress.generation;
        let is_due = self.config.is_refitted_before(generation) && self.state.progress.refitted != Some(generation);
        if is_due { self.plan(false) } else { None }
    }

    fn plan(&self, at_end: bool) -> Option<FitPlan> {
        let has_layer = self.state.learner.has_hidden_layer();
        self.config.fit_plan(self.state.progress.generation, at_end, self.layout.set(), has_layer)
    }

    /// Whether all games are of generations that a fit leaves out.
    fn is_too_short_for(&self, plan: &FitPlan) -> bool {
        self.state.progress.generation <= plan.config.first_generation
    }

    /// The fit of a run that ends now, whether it is done or not, unless there are no games for it.
    fn last_plan(&self) -> Option<FitPlan> {
        self.plan(true).filter(|plan| !self.is_too_short_for(plan))
    }

    /// The fit due if the run ends now, unless there are no games for it, or it is done: it may be the same as the one before the next
    /// generation.
    pub(super) fn last_fit_to_come(&self) -> Option<FitPlan> {
        let RunState { progress, fitted, .. } = &self.state;
        let plan = self.last_plan();
        let is_done = match fitted {
            // A run that was continued may by now have more games of a generation that it could not finish.
            Some(fitted) => fitted.weights.provenance.games >= progress.games + self.games_without_end(),
            None => progress.refitted == Some(progress.generation) && plan == self.plan(false),
        };
        if is_done { None } else { plan }
    }

    /// Whether the run may end before all games of the next generation are played: if it ends now, it ran out of time.
    fn ends_within_generation(&self) -> bool {
        let Progress { generation, games, .. } = self.state.progress;
        let Budget { generations: most, games: most_games, .. } = self.budget;
        most.is_none_or(|most| generation < most) && most_games.is_none_or(|most| games < most)
    }

    /// Games of a next generation that there was no time to finish, if the run may end this way.
    fn games_without_end(&self) -> u64 {
        if self.ends_within_generation() { self.games_at_hand().into() } else { 0 }
    }

    /// Seconds for the fit before the next generation and the gate after it.
    pub(super) fn seconds_of_refit(&self) -> f64 {
        self.refit_to_come().map_or(0.0, |plan| self.seconds_of(&plan) + self.state.progress.pace.gate)
    }

    /// How long the last fit would take if the run ended now.
    pub(super) fn seconds_of_last_fit(&self) -> f64 {
        self.last_fit_to_come().map_or(0.0, |plan| self.seconds_of(&plan))
    }

    /// How much longer the last fit takes for each game of a generation that there is no time to finish.
    pub(super) fn last_fit_of_game(&self) -> f64 {
        let Progress { games, positions, pace, .. } = self.state.progress;
        let plan = match self.state.fitted {
            // Done, but with more games it is due again.
            Some(_) => self.last_plan(),
            None => self.last_fit_to_come(),
        };
        let positions = positions as f64 / games.max(1) as f64;
        plan.map_or(0.0, |plan| pace.fit_of(positions, &plan.config))
    }

    fn seconds_of(&self, plan: &FitPlan) -> f64 {
        let Progress { generation, games, positions, pace, .. } = self.state.progress;
        let learned = self.ledger.games(plan.config.first_generation..generation, &self.config);
        let share = learned as f64 / games.max(1) as f64;
        pace.fit_of(share * positions as f64, &plan.config)
    }

    /// Fits the final weights of the run.
    pub(super) fn fit_at_end(&mut self) -> Result<(), TrainError> {
        if let Some(plan) = self.last_fit_to_come() {
            let (weights, _) = self.fit(&plan, true)?;
            self.state.fitted = Some(EncodedWeights::from(weights));
            // The last gate may have measured another fit after as many generations, to fewer games.
            self.state.progress.gated = None;
            self.save()?;
        } else if self.refit_to_come().is_some() {
            // It may have begun already, and goes on if the run does.
            return Ok(());
        } else if let Some(plan) = self.plan(true).filter(|plan| self.is_too_short_for(plan)) {
            let first_generation = plan.config.first_generation;
            let generation = self.state.progress.generation;
            self.keeper.tell(&TrainEvent::NotFitted { generation, first_generation })?;
        }
        self.remove_fit()
    }

    /// Removes the checkpoint of a fit whose weights are saved, perhaps before a kill.
    fn remove_fit(&mut self) -> Result<(), TrainError> {
        let checkpoint = self.keeper.directory.file(FIT);
        self.keeper.patiently(&checkpoint, |disk| disk.remove(&checkpoint))
    }

    /// The journals of the generations that a fit learns. If the run ran out of time, also that of the generation it could not finish.
    fn journals(&self, config: &FitConfig, at_end: bool) -> Result<Vec<PathBuf>, TrainError> {
        let generation = self.state.progress.generation;
        let is_unfinished = at_end && self.ends_within_generation() && self.ledger.file(generation).exists();
        self.ledger.check(config.first_generation..generation, &self.config)?;
        let generations = config.first_generation..generation + u32::from(is_unfinished);
        Ok(generations.map(|generation| self.ledger.file(generation)).collect())
    }

    /// Fits weights to games kept so far.
    fn fit(&mut self, &FitPlan { config, tunes }: &FitPlan, at_end: bool) -> Result<(WeightFile, Learner), TrainError> {
        let began = Instant::now();
        let root = self.keeper.directory.path().to_owned();
        let checkpoint = self.keeper.directory.file(FIT);
        let games = GameFiles::open(&self.journals(&config, at_end)?, &config, &root, None, self.stop, &mut |_| ());
        let games = games.map_err(FitError::from)?.ok_or(Stopped)?;
        let generation = self.state.progress.generation;
        let more = if at_end { self.games_without_end() } else { 0 };
        let at_hand = WeightFile::new(self.state.learner.model(), self.provenance());
        let request = FitRequest {
            config: &config,
            patterns: &self.layout.set().clone(),
            games: &games,
            from: tunes.then_some(&at_hand),
            teacher: (config.tree_depth > 0).then_some(&at_hand),
            checkpoint: &checkpoint,
            stop: self.stop,
        };
        let (disk, keeper) = (self.keeper.disk, &mut self.keeper);
        let (mut last, mut before) = (None, 0.0);
        let mut on_event = |event: &FitEvent| match event {
            FitEvent::Start { done, .. } => before = *done,
            FitEvent::Block { done, loss, .. } => keeper.show(&TrainEvent::Fitting { done: *done, loss: *loss }),
            FitEvent::Epoch { loss, held_out, .. } => last = Some((*loss, held_out.clone())),
            FitEvent::NotSaved { reason } => {
                let file = checkpoint.display().to_string();
                keeper.show(&TrainEvent::FitNotSaved { file, reason: reason.clone() });
            }
        };
        let mut outcome = fit(&request, &mut on_event);
        let starts_over = match &outcome {
            // It was stopped when there were fewer games, or with another configuration.
            Err(FitError::OtherFit(_)) => true,
            Err(FitError::Unfinished(unfinished)) => unfinished.is_useless(),
            _ => false,
        };
        if starts_over {
            disk.remove(&checkpoint).map_err(FileError::io(&checkpoint))?;
            outcome = fit(&request, &mut on_event);
        }
        let FitOutcome::Finished(mut weights, learner) = outcome? else {
            return Err(Stopped.into());
        };
        let seconds = began.elapsed().as_secs_f64();
        // A fit that was nearly done says little about how long one takes.
        if before < 0.9 {
            let positions = (1.0 - before) * games.positions as f64;
            self.state.progress.pace.time_fit(seconds, positions, &config);
        }
        // The run's configuration contains that of the fit.
        let Provenance { origin, samples, .. } = weights.provenance;
        let run = self.provenance();
        weights.provenance = Provenance { origin, games: run.games + more, samples: run.samples + samples, ..run };
        if let Some((loss, held_out)) = last {
            self.keeper.tell(&TrainEvent::Fitted {
                generation,
                games: games.games,
                positions: games.positions,
                loss,
                held_out: held_out.rmse(),
                held_out_by_empties: held_out.errors(),
                slopes_by_empties: held_out.slopes(),
                seconds,
            })?;
        }
        Ok((*weights, *learner))
    }
}
