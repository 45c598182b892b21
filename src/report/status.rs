//! The status of a run.

use std::fmt;

use serde::Serialize;

use super::log::RunLog;
use super::ratings::{Rating, ratings};
use crate::clock::unix_seconds;
use crate::train::{Budget, TrainEvent, WorkerStatus, Workers};

/// What a run is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// A process works on it.
    Running,
    /// Its budget is used up.
    Finished,
    /// It was stopped before that, by a signal or an error.
    Stopped,
    /// Its last session was killed.
    #[serde(rename = "broken off")]
    BrokenOff,
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::BrokenOff => "broken off",
        })
    }
}

/// A run at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its directory.
    pub run: String,
    /// What it is doing.
    pub state: RunState,
    /// Pattern set.
    pub patterns: String,
    /// The current phase, from 1.
    pub phase: usize,
    /// The number of phases.
    pub phases: usize,
    /// Generations learned.
    pub generations: u32,
    /// Games of the current generation that are played, and how many it will have.
    pub games_at_hand: [u32; 2],
    /// Games of the generations learned.
    pub games: u64,
    /// Labelled positions of these games.
    pub positions: u64,
    /// Root mean square error in discs on the last generation, before it was learned.
    pub loss: Option<f64>,
    /// The loss of the last fit on the games that it held out.
    pub held_out: Option<f64>,
    /// The last gate.
    pub last: Option<Rating>,
    /// The weights that are the best now.
    pub best: Option<Rating>,
    /// Seconds of work.
    pub seconds: f64,
    /// Its budget.
    pub budget: Budget,
    /// Seconds that are left, at its pace so far; `None` without a budget, and while only the last fit and gate of a number of generations
    /// or games are left.
    pub seconds_left: Option<f64>,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Seconds since one of its files was written.
    pub seconds_since_sign: u64,
    /// Workers that play or have played for it, if it is run in a cluster.
    pub workers: Vec<WorkerStatus>,
}

impl Status {
    /// The status of a run.
    pub fn of(log: &RunLog) -> Self {
        Self::rated(log, &ratings(&log.events))
    }

    /// The status of a run whose gates are rated.
    pub(super) fn rated(log: &RunLog, ratings: &[Rating]) -> Self {
        let mut status = Self {
            run: log.directory.display().to_string(),
            state: state(log),
            patterns: log.config.patterns.clone(),
            phase: log.config.step_number(log.generation()) + 1,
            phases: log.config.steps.len(),
            generations: log.generation(),
            games_at_hand: [log.at_hand, log.config.play(log.generation()).map_or(0, |play| play.games)],
            games: 0,
            positions: 0,
            loss: None,
            held_out: None,
            last: None,
            best: None,
            seconds: log.elapsed(),
            budget: log.last_start().map_or(Budget::default(), |(budget, _)| budget),
            seconds_left: None,
            bytes: log.bytes,
            seconds_since_sign: unix_seconds().saturating_sub(log.last_sign),
            workers: workers(log),
        };
        for event in &log.events {
            match event {
                TrainEvent::Played { loss, games, positions, .. } => {
                    (status.loss, status.games, status.positions) = (Some(*loss), *games, *positions);
                }
                TrainEvent::Learned { held_out: Some(held_out), .. } => status.held_out = Some(*held_out),
                _ => {}
            }
        }
        status.last = ratings.last().copied();
        status.best = ratings.iter().rev().find(|rating| rating.promoted).copied();
        let Self { seconds, generations, games, games_at_hand, .. } = status;
        let (_, left) = status.budget.used_after(seconds, generations, games, games_at_hand);
        status.seconds_left = if log.is_finished() { Some(0.0) } else { left };
        status
    }
}

/// The workers of a run. A worker is not present if the coordinator is not running, if only an earlier session heard from it, or if it
/// has been silent for a minute.
fn workers(log: &RunLog) -> Vec<WorkerStatus> {
    let Some(Workers { at, mut workers }) = Workers::of_run(&log.directory) else { return Vec::new() };
    let is_of_session = log.is_running && log.last_start().is_none_or(|(_, began)| at >= began);
    for worker in &mut workers {
        worker.present &= is_of_session && worker.seconds_since_sign() < 60;
    }
    workers
}

fn state(log: &RunLog) -> RunState {
    match log.events.last() {
        _ if log.is_running => RunState::Running,
        _ if log.is_finished() => RunState::Finished,
        Some(TrainEvent::End { .. }) => RunState::Stopped,
        _ => RunState::BrokenOff,
    }
}
