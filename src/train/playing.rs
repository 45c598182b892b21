//! The games of a generation.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::config::Play;
use super::error::TrainError;
use super::event::TrainEvent;
use super::keeper::Keeper;
use super::ledger::{Journal, LAMBDA, samples_of};
use super::run::Run;
use super::source::{Deliveries, GameJob, Played};
use crate::learn::SampleSet;
use crate::selfplay::Stopped;

/// Positions of a generation on which the weights that played it are validated.
const VALIDATED: usize = 1 << 16;

impl Run<'_> {
    /// Plays a generation. False if the budget's time ran out before all games were played; the journal keeps those that were.
    pub(super) fn play(&mut self, play: &Play) -> Result<bool, TrainError> {
        let generation = self.state.progress.generation;
        self.state.go_on();
        let began = Instant::now();
        let Some(newest) = self.games_of(generation, play)? else { return Ok(false) };
        let playing = began.elapsed().as_secs_f64();
        let validation = self.state.learner.validate(&newest, newest.len().div_ceil(VALIDATED).max(1));
        self.state.finished = None;
        self.state.positions.push(newest.len() as u64);
        let positions = self.state.all_positions();
        let progress = &mut self.state.progress;
        progress.generation += 1;
        progress.games += u64::from(play.games);
        let event = TrainEvent::Played {
            generation,
            loss: validation.loss().rmse(),
            errors_by_empties: validation.errors(),
            slopes_by_empties: validation.slopes(),
            games: progress.games,
            positions,
            playing,
            elapsed: self.clock.elapsed(),
        };
        self.keeper.tell(&event)?;
        Ok(true)
    }

    /// The samples of a generation's games: from its journal as far as it goes, then from the source. `None` if the budget's time
    /// ran out first.
    fn games_of(&mut self, generation: u32, play: &Play) -> Result<Option<SampleSet>, TrainError> {
        let began = Instant::now();
        let (journal, samples) = Journal::open(&self.ledger, &self.config, generation)?;
        let replayed = journal.played();
        // What is learned when the time is up learns these games too.
        let finish = self.config.finish_after(generation);
        let of_game = finish.map_or(0.0, |finish| self.seconds_of(finish, 1.0) - self.seconds_of(finish, 0.0));
        let after = self.budget.seconds.map(|limit| self.seconds_to_end(limit));
        let keeper = &mut self.keeper;
        let mut intake = Intake {
            keeper,
            journal,
            samples,
            generation,
            games: play.games,
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
        let (clock, is_first) = (&self.clock, generation == self.ledger.first());
        let is_time_up = |games: u32| {
            let end = after.map_or(0.0, |after| clock.elapsed() + after + of_game * f64::from(games));
            !is_first && self.budget.seconds.is_some_and(|limit| end >= limit)
        };
        let mut failure = None;
        let mut on_games = |played: Vec<Played>| {
            failure = intake.take(&played).err();
            let is_over = failure.is_some() || is_time_up(intake.journal.played());
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let playing = Instant::now();
        if replayed < play.games {
            let model = self.state.learner.model();
            let job = GameJob {
                model: &model,
                layout: &self.layout,
                play: &play.self_play(),
                seed: self.config.seed,
                generation,
                games: replayed..play.games,
            };
            self.source.play(&job, self.stop, &mut on_games);
        }
        if let Some(error) = failure {
            return Err(error);
        }
        intake.tell_deliveries()?;
        let played = intake.journal.played();
        if played < play.games {
            return if intake.keeper.is_stopped() { Err(Stopped.into()) } else { Ok(None) };
        }
        if replayed < played {
            self.state.progress.pace.game = playing.elapsed().as_secs_f64() / f64::from(played - replayed);
        }
        intake.finish().map(Some)
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
    fn take(&mut self, played: &[Played]) -> Result<(), TrainError> {
        for played in played {
            samples_of(&played.games, LAMBDA).for_each(|sample| self.samples.push(sample));
        }
        self.deliveries.note(self.journal.played(), played);
        self.journal.append(played, self.keeper)?;
        if self.heard.elapsed() >= TELL_DELIVERIES_EVERY {
            self.tell_deliveries()?;
        }
        if self.began.elapsed() < TELL_EVERY { Ok(()) } else { self.tell(false) }
    }

    /// Syncs the journal, which is complete. Returns the samples.
    fn finish(mut self) -> Result<SampleSet, TrainError> {
        self.journal.finish(self.keeper)?;
        if self.told < self.samples.len() {
            self.tell(false)?;
        }
        Ok(self.samples)
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
