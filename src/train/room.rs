//! Whether what a run will write fits on the disk.

use super::budget::Budget;
use super::config::TrainConfig;
use super::state::Progress;
use crate::eval::{Row, StageMap};
use crate::learn::{ROW_FLOATS, ROW_TABLES, StepRule};
use crate::pattern::Layout;

/// Bytes of a kept game, with some to spare.
const GAME: u64 = 150;

/// Bytes that a run needs for its checkpoints and weights, including files that are only there while one replaces another.
pub(super) fn of_state(config: &TrainConfig, layout: &Layout) -> u64 {
    let has_layer = layout.set().engine.is_none() && config.lessons().any(|lesson| lesson.hidden_layer);
    let stages = config.lessons().map(|lesson| StageMap::for_set(lesson.stage_plies(), layout.set()).count());
    let number = (layout.weights() * stages.max().unwrap_or(0)) as u64;
    let rows = if has_layer { (ROW_TABLES * layout.weights()) as u64 } else { 0 };
    let weights = size_of::<i16>() as u64 * number + size_of::<Row>() as u64 * rows;
    let cells = size_of::<f32>() as u64 * (StepRule::NUMBERS as u64 * number + ROW_FLOATS as u64 * rows);
    // At the end of a run two learners are at work.
    3 * (2 * cells + weights) + 4 * weights
}

/// Bytes of the games that are still to be played and kept; 0 if there is a limit of time, since nobody knows how many they are.
pub(super) fn of_games(config: &TrainConfig, budget: &Budget, progress: &Progress) -> u64 {
    if budget.seconds.is_some() {
        return 0;
    }
    let left = |end: u32| config.games_of(progress.generation..end);
    let limits = [budget.games.map(|games| games.saturating_sub(progress.games)), budget.generations.map(left)];
    GAME.saturating_mul(limits.into_iter().flatten().min().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::PRESETS;

    #[test]
    fn games_take_the_room_that_their_number_says() {
        let config = TrainConfig::from_toml(PRESETS[1].1).unwrap();
        let needed = |config: &TrainConfig, budget: &Budget, generation| {
            of_games(config, budget, &Progress { generation, ..Progress::default() })
        };
        for (generation, end) in [(0, 100), (10, 13), (30, 200), (70, 71), (5, 5), (9, 3)] {
            let budget = Budget { generations: Some(end), ..Budget::default() };
            let games: u64 =
                (generation..end).map(|generation| u64::from(config.play(generation).unwrap().games)).sum();
            assert_eq!(needed(&config, &budget, generation), GAME * games);
            let fewer = Budget { games: Some(1000), ..budget };
            assert_eq!(needed(&config, &fewer, generation), GAME * games.min(1000));
            // Time may be over long before.
            assert_eq!(needed(&config, &Budget { seconds: Some(60.0), ..budget }, generation), 0);
        }
        let endless = Budget { generations: Some(u32::MAX), ..Budget::default() };
        assert!(needed(&config, &endless, 0) > GAME * u64::from(u32::MAX));
    }
}
