//! A run stops at any point: each of these is at work on something that would take hours.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flipside::train::{GateConfig, Outcome, TrainConfig, TrainEvent, train};
use flipside::weights::WeightFile;

use crate::support::*;

/// Runs until some time after the first event of a kind, then stops; returns the events after that one.
fn stopped_after(config: &TrainConfig, directory: &Path, is: fn(&TrainEvent) -> bool) -> Vec<TrainEvent> {
    let stop = AtomicBool::new(false);
    let (reached, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut after = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !reached.load(Relaxed) && !over.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Relaxed);
        });
        let outcome = train(&request(config, directory, &stop), &mut |event| {
            if reached.load(Relaxed) {
                after.push(event.clone());
            }
            reached.fetch_or(is(event), Relaxed);
        });
        over.store(true, Relaxed);
        assert_eq!(outcome.unwrap(), Outcome::Stopped);
    });
    assert!(reached.load(Relaxed));
    assert!(matches!(after.last(), Some(TrainEvent::End { finished: false, .. })), "{after:?}");
    after
}

fn with_self_play(depth: u32, selectivity: Option<f32>, exact_empties: u32, opening_plies: u32) -> TrainConfig {
    let mut config = tiny();
    for play in config.steps.iter_mut().filter_map(|step| step.play.as_mut()) {
        (play.depth, play.selectivity, play.exact_empties) = (depth, selectivity, exact_empties);
        play.opening_plies = opening_plies;
    }
    config
}

#[test]
fn within_a_search_a_solution_and_what_selective_searches_measure() {
    for config in
        [with_self_play(20, None, 4, 10), with_self_play(1, None, 24, 59), with_self_play(12, Some(1.0), 4, 10)]
    {
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let after = stopped_after(&config, directory.path(), |event| matches!(event, TrainEvent::Start { .. }));
            assert!(!after.iter().any(|event| matches!(event, TrainEvent::Played { .. })), "{after:?}");
        }
    }
}

#[test]
fn within_a_gate_which_is_then_played_again() {
    let gate = GateConfig { pairs: 1_000, depth: 16, exact_empties: 24 };
    let config = TrainConfig { gate, ..with_gates(tiny(), true) };
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let after = stopped_after(&config, directory.path(), |event| matches!(event, TrainEvent::Learned { .. }));
        assert_eq!(after.iter().filter(|event| !event.is_only_shown()).count(), 1, "{after:?}");
    }
    // Until something was measured, the newest weights are the best.
    let best = WeightFile::load(directory.path().join("best.fsw")).unwrap();
    assert_eq!(best.provenance.generations, 1);
}

#[test]
fn within_a_generation_that_is_learned_which_then_goes_on() {
    let mut config = config();
    config.steps[0].learn.as_mut().unwrap().epochs = 1_000;
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let after = stopped_after(&config, directory.path(), |event| matches!(event, TrainEvent::Learning { .. }));
        assert_eq!(after.iter().filter(|event| !event.is_only_shown()).count(), 1, "{after:?}");
    }
}

#[test]
fn within_a_record_that_is_solved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("positions.obf");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/ffo/fforum-20-39.obf");
    let text = fs::read_to_string(data).unwrap();
    // Without their scores.
    let unsolved: String = text.lines().map(|line| line[..66].to_owned() + ";\n").collect();
    fs::write(&file, unsolved.repeat(1_000)).unwrap();
    let mut config = with_records(tiny(), vec![file.display().to_string()]);
    config.steps[0].learn.as_mut().unwrap().exact_empties = 24;
    let directory = folder.path().join("run");
    let after = stopped_after(&config, &directory, |event| matches!(event, TrainEvent::Start { .. }));
    assert_eq!(after.len(), 1, "{after:?}");
}
