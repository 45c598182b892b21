//! Fits to all kept games: before a phase that wants one, and at the end of the run.

use std::time::Instant;

use super::directory::FIT;
use super::error::TrainError;
use super::event::TrainEvent;
use super::keeper::Halt;
use super::run::Run;
use super::state::EncodedWeights;
use crate::fit::{FitError, FitEvent, FitOutcome, FitRequest, GameFiles, fit};
use crate::learn::Learner;
use crate::weights::{Provenance, WeightFile};

impl Run<'_> {
    /// Fits the weights that the next generation plays with, and measures them, if it is the first of a phase that wants that.
    pub(super) fn refit_if_due(&mut self) -> Result<(), Halt> {
        let generation = self.state.progress.generation;
        if !self.config.is_refitted_before(generation) {
            return Ok(());
        }
        if self.state.progress.refitted != Some(generation) {
            // Games are played by the sum of weights alone, which is quicker.
            let (weights, learner) = self.fit(false)?;
            self.state.learner = learner;
            self.state.progress.updates = weights.provenance.samples;
            self.state.progress.refitted = Some(generation);
            self.save_fitted()?;
        }
        if self.state.progress.gated != Some(self.state.stand()) {
            self.gate()?;
        }
        Ok(())
    }

    /// Fits the weights that the run leaves.
    pub(super) fn fit_at_end(&mut self) -> Result<(), Halt> {
        let (weights, _) = self.fit(true)?;
        self.state.fitted = Some(EncodedWeights::from(weights));
        // The last gate may have measured another fit after as many generations, to fewer games.
        self.state.progress.gated = None;
        self.save_fitted()
    }

    /// Saves fitted weights, after which nothing needs to go on with the fit.
    fn save_fitted(&mut self) -> Result<(), Halt> {
        self.save()?;
        let checkpoint = self.keeper.directory.file(FIT);
        self.keeper.patiently(&checkpoint, |disk| disk.remove(&checkpoint))
    }

    /// Fits weights from nothing to all games kept so far; with a hidden layer `at_end`, if the configuration wants one.
    fn fit(&mut self, at_end: bool) -> Result<(WeightFile, Learner), Halt> {
        let began = Instant::now();
        let config = self.config.fit_for(self.layout.set(), at_end);
        let config = config.expect("checked: whoever wants a fit says how");
        let root = self.keeper.directory.path().to_owned();
        let checkpoint = self.keeper.directory.file(FIT);
        let games = GameFiles::open(std::slice::from_ref(&root), &config, &root, self.stop, &mut |_| ());
        let games = games.map_err(|error| TrainError::from(FitError::from(error)))?.ok_or(Halt::Stopped)?;
        let generation = self.state.progress.generation;
        let teacher = || WeightFile::new(self.state.learner.model(), self.provenance(generation));
        let teacher = (config.tree_depth > 0).then(teacher);
        let request = FitRequest {
            config: &config,
            patterns: &self.layout.set().clone(),
            games: &games,
            from: None,
            teacher: teacher.as_ref(),
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
                keeper.show(&TrainEvent::Waiting { file, reason: reason.clone() });
            }
        };
        let mut outcome = fit(&request, &mut on_event);
        if let Err(FitError::OtherFit(_)) = outcome {
            // One that was stopped when there were fewer games, or by another configuration.
            disk.remove(&checkpoint).map_err(TrainError::io(&checkpoint))?;
            outcome = fit(&request, &mut on_event);
        }
        let FitOutcome::Finished(mut weights, learner) = outcome.map_err(TrainError::from)? else {
            return Err(Halt::Stopped);
        };
        let seconds = began.elapsed().as_secs_f64();
        // A fit that was nearly done says little of how long one takes.
        if before < 0.9 {
            let positions = (1.0 - before) * games.positions as f64;
            self.state.progress.pace.time_fit(seconds, positions, config.hidden_layer);
        }
        // What the fit was told stands in the run's configuration too.
        let Provenance { origin, samples, .. } = weights.provenance;
        let run = self.provenance(generation);
        weights.provenance = Provenance { origin, samples: run.samples + samples, ..run };
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
