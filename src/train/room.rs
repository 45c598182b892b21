//! Whether what a run will write fits on the disk.

use super::budget::Budget;
use super::config::TrainConfig;
use super::state::Progress;
use crate::eval::{Row, StageMap};
use crate::fit::LearnConfig;
use crate::learn::{ROW_FLOATS, ROW_TABLES, StepRule};
use crate::pattern::Layout;

/// Bytes of a kept game, with some to spare.
const GAME: u64 = 150;

/// Bytes that a run needs for its checkpoints and weights, including files that are only there while one replaces another.
pub(super) fn of_state(config: &TrainConfig, layout: &Layout) -> u64 {
    let steps = config.steps.iter().flat_map(|step| [&step.learn, &step.finish]);
    let learned: Vec<&LearnConfig> = steps.chain([&config.finish]).flatten().collect();
    let has_layer = layout.set().engine.is_none() && learned.iter().any(|config| config.hidden_layer);
    let stages = learned.iter().map(|config| StageMap::for_set(config.stage_plies(), layout.set()).count());
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

/// How fast the kept games of a step grow, with all that comes between its generations.
#[derive(Default)]
pub(super) struct Growth {
    /// The step, and when it was entered, in seconds of the run.
    step: usize,
    began: f64,
    /// Generations whose games were played since, and the bytes of these.
    generations: u32,
    bytes: u64,
}

impl Growth {
    /// Generations of a step after which its pace is known.
    const ENOUGH: u32 = 5;

    /// Begins a generation of a step.
    pub fn enter(&mut self, step: usize, elapsed: f64) {
        if step != self.step || self.generations == 0 {
            *self = Self { step, began: elapsed, ..Self::default() };
        }
    }

    /// Adds the kept games of a generation. If it was `resumed`, some of them were there before, and took no time.
    pub fn add(&mut self, bytes: u64, resumed: bool) {
        *self = if resumed {
            Self { step: self.step, ..Self::default() }
        } else {
            Self { generations: self.generations + 1, bytes: self.bytes + bytes, ..*self }
        };
    }

    /// Bytes of the games until the step or the budget is over; `None` before enough is measured. Later steps do not count, as nobody
    /// knows how fast they will be.
    pub fn needed(&self, config: &TrainConfig, budget: &Budget, progress: &Progress, elapsed: f64) -> Option<u64> {
        let is_over = config.step_number(progress.generation) != self.step;
        if self.generations < Self::ENOUGH || is_over {
            return None;
        }
        let generations = f64::from(self.generations);
        let in_time = |seconds: f64| (seconds - elapsed) * generations / (elapsed - self.began);
        let at_once = config.play(progress.generation).map_or(1.0, |play| f64::from(play.games));
        let limits = [
            config.left_of_step(progress.generation).map(f64::from),
            budget.seconds.map(in_time),
            budget.generations.map(|all| f64::from(all) - f64::from(progress.generation)),
            budget.games.map(|all| (all as f64 - progress.games as f64) / at_once),
        ];
        let left = limits.into_iter().flatten().reduce(f64::min)?;
        Some((left.max(0.0) * self.bytes as f64 / generations) as u64)
    }
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

    #[test]
    fn growth_is_that_of_the_phase_at_hand() {
        let mut config = TrainConfig::from_toml(PRESETS[0].1).unwrap();
        config.steps = config.steps.into_iter().filter(|step| step.play.is_some()).take(2).collect();
        config.steps[0].repeat = 20;
        let second = |generation| Progress { generation, ..Progress::default() };
        let hour = Budget { seconds: Some(3600.0), ..Budget::default() };
        let mut growth = Growth::default();
        for generation in 0..10 {
            growth.enter(0, f64::from(generation));
            growth.add(1000, false);
        }
        // Ten generations of this phase are left, whatever time there is.
        assert_eq!(growth.needed(&config, &hour, &second(10), 10.0), Some(10_000));
        let short = Budget { generations: Some(13), ..hour };
        assert_eq!(growth.needed(&config, &short, &second(10), 10.0), Some(3000));
        // The next phase, which lasts until the end, is another matter: a generation of it takes a hundred seconds.
        for generation in 0..4 {
            growth.enter(1, 600.0 + 100.0 * f64::from(generation));
            growth.add(5000, false);
            assert_eq!(growth.needed(&config, &hour, &second(20), 1000.0), None);
        }
        growth.add(5000, false);
        assert_eq!(growth.needed(&config, &hour, &second(25), 1100.0), Some(125_000));
        // Games that were there took no time.
        growth.add(5000, true);
        assert_eq!(growth.needed(&config, &hour, &second(26), 1101.0), None);
        growth.enter(1, 1101.0);
        assert_eq!((growth.began, growth.generations), (1101.0, 0));
    }
}
