//! Whether what a run will write fits on the disk.

use super::config::TrainConfig;
use super::request::Budget;
use super::state::{Pace, Progress};
use crate::learn::Learner;

/// Bytes of a kept game, with some to spare.
const GAME: u64 = 150;

/// Bytes that a run needs for its checkpoints and weights, those included that are only there while one replaces another.
pub(super) fn of_state(learner: &Learner) -> u64 {
    let (cells, weights) = learner.bytes();
    3 * (cells + weights) + 4 * weights
}

/// Bytes of the games that are still to be played and kept, as far as a number of games or generations limits them.
pub(super) fn of_games(config: &TrainConfig, budget: &Budget, progress: &Progress) -> u64 {
    let left = |generations: u32| -> u64 {
        (progress.generation..generations).map(|generation| u64::from(config.phase(generation).games)).sum()
    };
    let limits = [budget.games.map(|games| games.saturating_sub(progress.games)), budget.generations.map(left)];
    let games = limits.into_iter().flatten().min().unwrap_or(0);
    if config.keep_games { GAME.saturating_mul(games) } else { 0 }
}

/// Bytes of the games that will be played in a number of seconds at the pace of the last generation.
pub(super) fn of_seconds(config: &TrainConfig, pace: &Pace, generation: u32, seconds: f64) -> u64 {
    let games = f64::from(config.phase(generation).games);
    let rate = games / (games * pace.game + pace.learning);
    if config.keep_games && rate.is_finite() { (GAME as f64 * rate * seconds.max(0.0)) as u64 } else { 0 }
}
