//! What happened in a run: its events, folded once, in their order. Everything that shows a run shows this.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;

use super::ratings::{Rating, Ratings};
use crate::train::{Budget, TrainEvent, events, metrics};

/// What happened in a run so far.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// Generations played, those of runs that it continues included.
    pub generations: u32,
    /// Their games.
    pub games: u64,
    /// Labelled positions of these games.
    pub positions: u64,
    /// The generations in the order in which they were played.
    pub played: Vec<Generation>,
    /// What was learned, in order.
    pub learned: Vec<Learned>,
    /// The budget of the last session.
    pub budget: Budget,
    /// When the last session began, in seconds since 1970, and the seconds worked before.
    pub began: Option<(u64, f64)>,
    /// How the last session ended; none if it has not, or was killed.
    pub ending: Option<Ending>,
    /// Seconds of work, as far as the events say.
    pub seconds: f64,
    ratings: Ratings,
    /// The keys of the events that happen once in a run.
    told: HashSet<String>,
    /// Seconds of work at the last event.
    elapsed: f64,
    /// Whether the generation at hand is played in one session.
    is_whole: bool,
}

/// How a session ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// With the budget used up.
    Finished,
    /// Before that, and why, if it is known.
    Stopped(Option<String>),
}

/// A generation.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Its number, from 1.
    pub generation: u32,
    /// Hours of the run.
    pub hours: f64,
    /// Root mean square error in discs of the weights that played it.
    pub loss: f64,
    /// The same by number of empties.
    pub errors: Vec<Option<f64>>,
    /// The slope of the line that best predicts the labels from the values, likewise.
    pub slopes: Vec<Option<f64>>,
    /// Its games.
    pub games: u64,
    /// Their labelled positions.
    pub positions: u64,
    /// Seconds of playing, in the session that ended it.
    pub playing: f64,
    /// Whether this session played all of it.
    pub is_whole: bool,
}

/// Games that were learned.
#[derive(Clone, Debug, Serialize)]
pub struct Learned {
    /// Generations played before.
    pub generation: u32,
    /// The step of the plan, from 1; 0 at the end of the run.
    pub step: u32,
    /// Hours of the run.
    pub hours: f64,
    /// Seconds it took.
    pub seconds: f64,
    /// The loss on the games that were held out, over all positions; none if there are none.
    pub all: Option<f64>,
    /// By number of empties, 0 to 60.
    pub by_empties: Vec<Option<f64>>,
    /// The slope of the line that best predicts the labels from the values, likewise.
    pub slopes: Vec<Option<f64>>,
}

impl History {
    /// What some events tell.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e TrainEvent>) -> Self {
        let mut history = Self { is_whole: true, ..Self::default() };
        events.into_iter().for_each(|event| history.add(event));
        history
    }

    /// What the events of a run tell so far; nothing if they cannot be read.
    pub fn of_run(directory: &Path) -> Self {
        let events: Vec<_> = metrics(directory).map_or(Vec::new(), |bytes| events(&bytes).collect());
        Self::of(&events)
    }

    /// The rating of the weights that a gate measured.
    pub fn rating_of(&self, gate: &TrainEvent) -> Option<Rating> {
        let TrainEvent::Gate { generation, fitted, .. } = gate else { return None };
        self.gates().into_iter().rfind(|rating| (rating.generation, rating.fitted) == (generation + 1, *fitted))
    }

    /// Adds the next event, unless it happens again after a kill.
    pub fn add(&mut self, event: &TrainEvent) {
        if event.key().is_some_and(|key| !self.told.insert(key)) {
            return;
        }
        self.elapsed = event.elapsed_after(self.elapsed);
        self.seconds = self.seconds.max(event.elapsed().unwrap_or(0.0));
        let hours = self.elapsed / 3600.0;
        match event {
            TrainEvent::Start { generation, games, positions, resumed, elapsed, budget, time, .. } => {
                self.generations = self.generations.max(*generation);
                (self.games, self.positions) = (self.games.max(*games), self.positions.max(*positions));
                (self.budget, self.began, self.ending) = (*budget, Some((*time, *elapsed)), None);
                self.is_whole = !resumed;
            }
            TrainEvent::Played {
                generation,
                loss,
                errors_by_empties,
                slopes_by_empties,
                games,
                positions,
                playing,
                ..
            } => {
                self.played.push(Generation {
                    generation: generation + 1,
                    hours,
                    loss: *loss,
                    errors: errors_by_empties.clone(),
                    slopes: slopes_by_empties.clone(),
                    games: games.saturating_sub(self.games),
                    positions: positions.saturating_sub(self.positions),
                    playing: *playing,
                    is_whole: std::mem::replace(&mut self.is_whole, true),
                });
                self.generations = self.generations.max(generation + 1);
                (self.games, self.positions) = (*games, *positions);
            }
            TrainEvent::Learned {
                generation, step, held_out, held_out_by_empties, slopes_by_empties, seconds, ..
            } => {
                self.learned.push(Learned {
                    generation: *generation,
                    step: *step,
                    hours,
                    seconds: *seconds,
                    all: *held_out,
                    by_empties: held_out_by_empties.clone(),
                    slopes: slopes_by_empties.clone(),
                });
            }
            TrainEvent::Gate { .. } => self.ratings.add(event, hours, !self.played.is_empty()),
            TrainEvent::End { finished: true, .. } => self.ending = Some(Ending::Finished),
            TrainEvent::End { reason, .. } => self.ending = Some(Ending::Stopped(reason.clone())),
            _ => {}
        }
    }

    /// The root mean square error in discs on the last generation, before it was learned.
    pub fn loss(&self) -> Option<f64> {
        self.played.last().map(|generation| generation.loss)
    }

    /// The gates, rated by one fit over all their games.
    pub fn gates(&self) -> Vec<Rating> {
        self.ratings.fit()
    }
}
