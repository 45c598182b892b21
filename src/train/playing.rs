//! The games of a generation, as samples.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::config::Phase;
use super::error::TrainError;
use super::event::TrainEvent;
use super::keeper::Keeper;
use super::ledger::{Journal, samples_of};
use super::run::Run;
use super::source::{Deliveries, GameJob, Played};
use crate::learn::SampleSet;
use crate::selfplay::Stopped;

impl Run<'_> {
    /// The samples of a generation's games: from its journal as far as it goes, then from the source. `None` if the budget's time
    /// ran out first.
    pub(super) fn play(&mut self, generation: u32, phase: &Phase) -> Result<Option<SampleSet>, TrainError> {
        let began = Instant::now();
        let (journal, samples) = Journal::open(&self.ledger, &self.config, generation)?;
        let replayed = journal.played();
        let fit_of_game = self.last_fit_of_game();
        let keeper = &mut self.keeper;
        let mut intake = Intake {
            keeper,
            journal,
            samples,
            generation,
            games: phase.games,
            told: 0,
            began,
            deliveries: Deliveries::default(),
            heard: began,
        };
        if replayed > 0 {
            intake.tell(true)?;
        }
        if intake.keeper.is_stopped() {
            return Err(Stopped.into());
        }
        let (clock, pace) = (&self.clock, self.state.progress.pace);
        let is_time_up = |games: u32| {
            // The last fit will learn these games too.
            let until_fitted = || clock.elapsed() + fit_of_game * f64::from(games);
            generation > 0 && self.budget.seconds.is_some_and(|limit| pace.is_time_up(until_fitted(), limit))
        };
        let mut failure = None;
        let mut on_games = |played: Vec<Played>| {
            failure = intake.take(&played, phase.lambda).err();
            let is_over = failure.is_some() || is_time_up(intake.journal.played());
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let playing = Instant::now();
        if replayed < phase.games {
            let model = self.state.learner.model();
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
        if let Some(error) = failure {
            return Err(error);
        }
        intake.tell_deliveries()?;
        let played = intake.journal.played();
        if played < phase.games {
            return if intake.keeper.is_stopped() { Err(Stopped.into()) } else { Ok(None) };
        }
        if replayed < played {
            self.state.progress.pace.game = playing.elapsed().as_secs_f64() / f64::from(played - replayed);
        }
        let (samples, bytes) = intake.finish()?;
        self.growth.add(bytes, replayed > 0);
        Ok(Some(samples))
    }
}

/// How often new games are reported.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// How often it is reported whose games came: a kill loses no more than that.
const TELL_DELIVERIES_EVERY: Duration = Duration::from_secs(10);

/// Takes in the games of a generation as they come.
struct Intake<'k, 'r> {
    keeper: &'k mut Keeper<'r>,
    journal: Journal,
    samples: SampleSet,
    generation: u32,
    games: u32,
    /// Samples at the last event, and when that was.
    told: usize,
    began: Instant,
    deliveries: Deliveries,
    /// When these were reported.
    heard: Instant,
}

impl Intake<'_, '_> {
    fn take(&mut self, played: &[Played], lambda: f32) -> Result<(), TrainError> {
        for played in played {
            samples_of(&played.games, lambda).for_each(|sample| self.samples.push(sample));
        }
        self.deliveries.note(self.journal.played(), played);
        self.journal.append(played, self.keeper)?;
        if self.heard.elapsed() >= TELL_DELIVERIES_EVERY {
            self.tell_deliveries()?;
        }
        if self.began.elapsed() < TELL_EVERY { Ok(()) } else { self.tell(false) }
    }

    /// Syncs the journal, which is complete. Returns the samples and the journal's bytes.
    fn finish(mut self) -> Result<(SampleSet, u64), TrainError> {
        self.journal.finish(self.keeper)?;
        if self.told < self.samples.len() {
            self.tell(false)?;
        }
        Ok((self.samples, self.journal.length()))
    }

    /// Reports whose games came since the last such report.
    fn tell_deliveries(&mut self) -> Result<(), TrainError> {
        self.heard = Instant::now();
        self.deliveries.event(self.generation).map_or(Ok(()), |event| self.keeper.tell(&event))
    }

    /// Reports the games that came since the last report.
    fn tell(&mut self, replayed: bool) -> Result<(), TrainError> {
        let positions = (self.samples.len() - std::mem::replace(&mut self.told, self.samples.len())) as u64;
        let seconds = std::mem::replace(&mut self.began, Instant::now()).elapsed().as_secs_f64();
        let (generation, played, games) = (self.generation, self.journal.played(), self.games);
        self.keeper.tell(&TrainEvent::Batch { generation, played, games, positions, replayed, seconds })
    }
}
