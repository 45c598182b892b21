//! What a generation learns, and when a run ends.

use std::sync::atomic::AtomicBool;

use flipside::fit::LearnConfig;
use flipside::train::{Budget, TrainConfig, TrainEvent, TrainRequest, train};

use crate::support::*;

/// The samples of each generation, and the updates when it was learned.
fn learned(config: &TrainConfig, budget: Budget) -> Vec<(u64, u64)> {
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let request = TrainRequest { budget, ..request(config, directory.path(), &stop) };
    let (mut all, mut before) = (Vec::new(), 0);
    let sink = &mut |event: &TrainEvent| match event {
        TrainEvent::Played { positions, .. } => {
            all.push((positions - before, 0));
            before = *positions;
        }
        TrainEvent::Learned { updates, .. } => all.last_mut().unwrap().1 = *updates,
        _ => {}
    };
    train(&request, sink).unwrap();
    all
}

/// A configuration whose generations are all learned in another way.
fn learning(change: impl Fn(&mut LearnConfig)) -> TrainConfig {
    let mut config = tiny();
    config.steps.iter_mut().filter_map(|step| step.learn.as_mut()).for_each(|learn| {
        learn.hold_out = 0;
        change(learn);
    });
    config
}

#[test]
fn the_newest_generations_are_learned() {
    for (newest, epochs) in [(1, 1), (2, 1), (3, 3)] {
        let config =
            learning(|learn| (learn.generations, learn.epochs, learn.overlap) = (Some(newest), epochs, Some(0)));
        let generations = learned(&config, BUDGET);
        assert_eq!(generations.len(), 4);
        for (number, (_, updates)) in generations.iter().enumerate() {
            let first = (number + 1).saturating_sub(newest as usize);
            let samples: u64 = generations[first..=number].iter().map(|(samples, _)| samples).sum();
            assert_eq!(*updates, u64::from(epochs) * samples, "{number} of {newest}, {epochs}");
        }
    }
    // Neighbouring stages learn a sample too.
    let config = learning(|learn| (learn.stage_plies, learn.overlap) = (Some(4), Some(2)));
    let (samples, updates) = learned(&config, Budget { generations: Some(1), ..BUDGET })[0];
    assert!((13 * samples..15 * samples).contains(&(10 * updates)), "{updates} {samples}");
}

#[test]
fn a_run_ends_after_the_generation_that_reaches_its_games() {
    for (games, generations) in [(400, 2), (401, 3)] {
        let budget = Budget { seconds: None, generations: None, games: Some(games) };
        assert_eq!(learned(&tiny(), budget).len(), generations, "{games}");
    }
}
