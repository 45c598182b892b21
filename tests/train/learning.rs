//! What a generation learns, and when a run ends.

use std::sync::atomic::AtomicBool;

use flipside::train::{Budget, TrainConfig, TrainEvent, TrainRequest, train};

use crate::support::*;

/// New samples and updates of each generation.
fn learned(config: &TrainConfig, budget: Budget) -> Vec<(u64, u64)> {
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let request = TrainRequest { budget, ..request(config, directory.path(), &stop) };
    let (mut all, mut before) = (Vec::new(), 0);
    let sink = &mut |event: &TrainEvent| {
        if let TrainEvent::Learned { positions, updates, .. } = event {
            all.push((positions - before, *updates));
            before = *positions;
        }
    };
    train(&request, sink).unwrap();
    all
}

#[test]
fn the_newest_games_are_learned_first_and_then_the_window() {
    for (window, passes) in [(1, 1), (2, 2), (3, 3)] {
        let mut config = TrainConfig { window, passes, ..tiny() };
        config.phases.iter_mut().for_each(|phase| phase.overlap = 0);
        let generations = learned(&config, BUDGET);
        assert_eq!(generations.len(), 4);
        for (number, (newest, updates)) in generations.iter().enumerate() {
            let first = (number + 1).saturating_sub(window as usize);
            let in_window: u64 = generations[first..=number].iter().map(|(samples, _)| samples).sum();
            assert_eq!(*updates, newest + u64::from(passes - 1) * in_window, "{number} of {window}, {passes}");
        }
    }
    // Neighbouring stages learn a sample too.
    let mut config = tiny();
    config.phases.iter_mut().for_each(|phase| (phase.stage_plies, phase.overlap) = (4, 2));
    let (samples, updates) = learned(&config, Budget { generations: Some(1), ..BUDGET })[0];
    assert!((26 * samples..30 * samples).contains(&(10 * updates)), "{updates} {samples}");
}

#[test]
fn a_run_ends_after_the_generation_that_reaches_its_games() {
    for (games, generations) in [(400, 2), (401, 3)] {
        let budget = Budget { seconds: None, generations: None, games: Some(games) };
        assert_eq!(learned(&tiny(), budget).len(), generations, "{games}");
    }
}
