//! The status of a run.

use std::fmt;

use serde::Serialize;

use super::history::Ending;
use super::log::RunLog;
use super::ratings::Rating;
use crate::clock::unix_seconds;
use crate::train::{Budget, WorkerStatus, Workers};

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
    /// Why it was stopped, if that is known.
    pub reason: Option<String>,
    /// The process that works on it.
    pub pid: Option<u32>,
    /// The machine that this process runs on.
    pub host: Option<String>,
    /// What this process is doing: `starting`, `playing`, `learning` or `gate`.
    pub doing: Option<String>,
    /// The share of it that is done, 0 to 1.
    pub done: Option<f64>,
    /// Seconds until it is done, at its pace so far.
    pub seconds_of_doing: Option<f64>,
    /// Pattern set.
    pub patterns: String,
    /// The step of the plan that plays the next generation, from 1.
    pub step: usize,
    /// The number of steps.
    pub steps: usize,
    /// Generations played, those of runs that it continues included.
    pub generations: u32,
    /// Games of the current generation that are played, and how many it will have.
    pub games_at_hand: [u32; 2],
    /// Games of the generations played.
    pub games: u64,
    /// Labelled positions of these games.
    pub positions: u64,
    /// Root mean square error in discs on the last generation, before it was learned.
    pub loss: Option<f64>,
    /// The loss of what was last learned on the games that were held out.
    pub held_out: Option<f64>,
    /// The last gate.
    pub last: Option<Rating>,
    /// The weights that are the best now.
    pub best: Option<Rating>,
    /// Seconds of work.
    pub seconds: f64,
    /// Its budget.
    pub budget: Budget,
    /// Seconds that are left, at its pace so far; `None` without a budget, and while only what comes at the end of a number of generations
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
        let history = &log.history;
        let (state, reason) = state(log);
        let live = log.live.clone().flatten();
        let gates = history.gates();
        let (generations, games, seconds) = (history.generations, history.games, log.elapsed());
        let games_at_hand = [log.at_hand, log.config.play(generations).map_or(0, |play| play.games)];
        let (_, left) = history.budget.used_after(seconds, (generations, games), log.before, games_at_hand);
        Self {
            run: log.directory.display().to_string(),
            state,
            reason,
            pid: live.as_ref().map(|live| live.pid),
            host: live.as_ref().map(|live| live.host.clone()),
            doing: live.as_ref().map(|live| live.doing.clone()),
            done: live.as_ref().map(|live| live.done),
            seconds_of_doing: live.as_ref().and_then(|live| live.seconds_left),
            patterns: log.config.patterns.clone(),
            step: log.config.step_number(generations) + 1,
            steps: log.config.steps.len(),
            generations,
            games_at_hand,
            games,
            positions: history.positions,
            loss: history.loss(),
            held_out: history.learned.iter().rev().find_map(|learned| learned.all),
            last: gates.last().copied(),
            best: gates.iter().rev().find(|gate| gate.promoted).copied(),
            seconds,
            budget: history.budget,
            seconds_left: if log.is_finished() { Some(0.0) } else { left },
            bytes: log.bytes,
            seconds_since_sign: unix_seconds().saturating_sub(log.last_sign),
            workers: workers(log),
        }
    }
}

/// The workers of a run. A worker is not present if the coordinator is not running, if only an earlier session heard from it, or if it
/// has been silent for a minute.
fn workers(log: &RunLog) -> Vec<WorkerStatus> {
    let Some(Workers { at, mut workers }) = Workers::of_run(&log.directory) else { return Vec::new() };
    let is_of_session = log.is_running() && log.history.began.is_none_or(|(began, _)| at >= began);
    for worker in &mut workers {
        worker.present &= is_of_session && worker.seconds_since_sign() < 60;
    }
    workers
}

fn state(log: &RunLog) -> (RunState, Option<String>) {
    match &log.history.ending {
        _ if log.is_running() => (RunState::Running, None),
        Some(Ending::Finished) => (RunState::Finished, None),
        Some(Ending::Stopped(reason)) => (RunState::Stopped, reason.clone()),
        None => (RunState::BrokenOff, Some("its process was killed, or the machine went down".to_owned())),
    }
}
