//! What a run learns between generations and at its end.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flipside::fit::{LearnConfig, Start};
use flipside::train::{Budget, Outcome, Step, TrainConfig, TrainEvent, TrainRequest, train};
use flipside::weights::WeightFile;

use crate::support::*;

/// Five generations, of which the last two come after the fourth step, which learns from nothing.
const FIVE: Budget = Budget { seconds: None, generations: Some(5), games: None };

/// Trains in a directory for some generations, with a stop after an event for which `wanted` holds.
fn trained(
    config: &TrainConfig,
    directory: &Path,
    budget: Budget,
    wanted: impl Fn(&TrainEvent) -> bool + Sync,
) -> Outcome {
    let stop = AtomicBool::new(false);
    let request = TrainRequest { budget, ..request(config, directory, &stop) };
    let sink = &mut |event: &TrainEvent| {
        if wanted(event) {
            stop.store(true, Relaxed);
        }
    };
    train(&request, sink).unwrap()
}

fn never(_: &TrainEvent) -> bool {
    false
}

/// The configuration with something else at the end of the run.
fn ending(config: TrainConfig, change: impl FnOnce(&mut LearnConfig)) -> TrainConfig {
    let mut finish = config.finish.unwrap();
    change(&mut finish);
    TrainConfig { finish: Some(finish), ..config }
}

/// Holds for the first part that is learned after a step was.
fn learning_after(step: u32) -> impl Fn(&TrainEvent) -> bool + Sync {
    let is_next = AtomicBool::new(false);
    move |event| {
        let is_step = matches!(event, TrainEvent::Learned { step: learned, .. } if *learned == step);
        is_next.fetch_or(is_step, Relaxed);
        is_next.load(Relaxed) && matches!(event, TrainEvent::Learning { .. })
    }
}

#[test]
fn each_step_learns_in_its_own_way() {
    let mut config = with_few_weights(small(config()));
    config.steps[4].learn = config.steps[2].learn.clone();
    let other = LearnConfig { cross_entropy: Some(20.0), rate: 0.5, half: 300.0, floor: 0.2, ..Default::default() };
    let of = |learn: &LearnConfig| LearnConfig { since: learn.since, block: learn.block, ..other.clone() };
    let between = of(config.steps[3].learn.as_ref().unwrap());
    config.steps[3].learn = Some(between.clone());
    let after_step = |event: &TrainEvent| matches!(event, TrainEvent::Learned { step: 4, .. });
    // The generation before continued from what the step left, and was kept.
    let after_next = |event: &TrainEvent| matches!(event, TrainEvent::Played { generation: 4, .. });
    for hidden_layer in [false, true] {
        let config = ending(config.clone(), |finish| *finish = LearnConfig { hidden_layer, ..between.clone() });
        let [undisturbed, stopped] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
        assert_eq!(trained(&config, stopped.path(), FIVE, after_step), Outcome::Stopped);
        assert_eq!(trained(&config, stopped.path(), FIVE, after_next), Outcome::Stopped);
        let of_stopped = || WeightFile::load(stopped.path().join("last.fsw")).unwrap();
        let learned = of_stopped();
        assert_eq!((learned.provenance.generations >= 3, learned.model.hidden), (true, None));
        assert_eq!(trained(&config, stopped.path(), FIVE, never), Outcome::Finished);
        assert_eq!(weights(stopped.path()), weights(undisturbed.path()));
        assert_eq!(of_stopped().model.hidden.is_some(), hidden_layer);
    }
}

#[test]
fn weights_with_a_hidden_layer_play_and_learn_on() {
    let config = with_few_weights(small(config()));
    let finish = LearnConfig { hidden_layer: true, ..config.finish.clone().unwrap() };
    let further = LearnConfig { from: Start::Weights, since: 2, ..finish.clone() };
    let step = |learn: &LearnConfig| Step { learn: Some(learn.clone()), ..Step::default() };
    let play = |at: usize| Step { learn: None, ..config.steps[at].clone() };
    // A layer is learned from nothing, and further after the next generation and at the end.
    let steps = vec![config.steps[0].clone(), step(&finish), play(2), step(&further), play(4)];
    let config = TrainConfig { steps, finish: Some(further), ..config };
    // After how many generations, and on how many games.
    let wanted = [(2, 200), (3, 200), (5, 600)];
    let [undisturbed, stopped, engine] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let found = Mutex::new(Vec::new());
    let note = |event: &TrainEvent| {
        if let TrainEvent::Learned { generation, step: 0 | 2 | 4, games, .. } = *event {
            found.lock().unwrap().push((generation, games));
        }
        false
    };
    assert_eq!(trained(&config, undisturbed.path(), FIVE, note), Outcome::Finished);
    assert_eq!(std::mem::take(&mut *found.lock().unwrap()), wanted);
    let has_layer = |folder: &Path| WeightFile::load(folder.join("last.fsw")).unwrap().model.hidden.is_some();
    let at_first = |event: &TrainEvent| matches!(event, TrainEvent::Learned { step: 2, .. });
    let in_second = |event: &TrainEvent| matches!(event, TrainEvent::Learning { .. });
    let after_second = |event: &TrainEvent| matches!(event, TrainEvent::Played { generation: 3, .. });
    assert_eq!(trained(&config, stopped.path(), FIVE, at_first), Outcome::Stopped);
    assert!(has_layer(stopped.path()));
    assert_eq!(trained(&config, stopped.path(), FIVE, in_second), Outcome::Stopped);
    assert_eq!(trained(&config, stopped.path(), FIVE, after_second), Outcome::Stopped);
    assert_eq!(trained(&config, stopped.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(stopped.path()), weights(undisturbed.path()));
    assert!(has_layer(stopped.path()));
    // An engine could not read a layer.
    let config = TrainConfig { patterns: "zebra".to_owned(), ..config };
    assert_eq!(trained(&config, engine.path(), FIVE, note), Outcome::Finished);
    assert_eq!(*found.lock().unwrap(), wanted);
    assert!(!has_layer(engine.path()));
}

#[test]
fn a_step_learns_the_games_that_were_played_before_it() {
    let config = with_few_weights(small(config()));
    let [undisturbed, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
    // As when an older checkpoint was put back: there are games of generations still to come.
    let before_step = |event: &TrainEvent| matches!(event, TrainEvent::Played { generation: 2, .. });
    assert_eq!(trained(&config, other.path(), FIVE, before_step), Outcome::Stopped);
    let journal = |name: &str| Path::new("games").join(name);
    for (from, to) in [("00000004.fsg", "00000004.fsg"), ("00000001.fsg", "of-old.fsg")] {
        fs::copy(undisturbed.path().join(journal(from)), other.path().join(journal(to))).unwrap();
    }
    assert_eq!(trained(&config, other.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(other.path()), weights(undisturbed.path()));
}

#[test]
fn no_game_that_was_played_is_left_out() {
    let (config, stop) = (with_few_weights(small(config())), AtomicBool::new(false));
    let directory = tempfile::tempdir().unwrap();
    let at_last = |event: &TrainEvent| matches!(event, TrainEvent::Played { generation: 4, .. });
    assert_eq!(trained(&config, directory.path(), FIVE, at_last), Outcome::Stopped);
    let file = directory.path().join("games/00000001.fsg");
    let games = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let again = || {
        let (request, mut told) = (request(&config, directory.path(), &stop), 0);
        let error = train(&TrainRequest { budget: FIVE, ..request }, &mut |_| told += 1).unwrap_err().to_string();
        (error, told)
    };
    // A missing file, or one that was cut off, is told before anything else happens.
    for left in [None, Some(&games[..games.len() - 1])] {
        if let Some(left) = left {
            fs::write(&file, left).unwrap();
        }
        let (error, told) = again();
        assert!(error.contains("00000001.fsg: it has ") && told == 0, "{told} {error}");
    }
}

#[test]
fn a_run_with_nothing_to_learn_at_its_end_says_so() {
    let mut config = ending(with_few_weights(small(config())), |finish| finish.since = 9);
    config.steps[3].learn = None;
    let (directory, told) = (tempfile::tempdir().unwrap(), Mutex::new(Vec::new()));
    let note = |event: &TrainEvent| {
        if let TrainEvent::NothingToLearn { since, .. } = event {
            told.lock().unwrap().push(*since);
        }
        false
    };
    assert_eq!(trained(&config, directory.path(), FIVE, note), Outcome::Finished);
    assert_eq!(told.into_inner().unwrap(), [9]);
}

/// Stops a run with a budget while it learns what comes after a step, does something to its directory, and resumes it to the weights of
/// an undisturbed run.
fn stopped_after_step(config: &TrainConfig, step: u32, budget: Budget, change: impl FnOnce(&Path)) {
    let [undisturbed, stopped] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(config, undisturbed.path(), FIVE, never), Outcome::Finished);
    assert_eq!(trained(config, stopped.path(), budget, learning_after(step)), Outcome::Stopped);
    change(stopped.path());
    assert_eq!(trained(config, stopped.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(stopped.path()), weights(undisturbed.path()));
}

#[test]
fn what_is_half_learned_goes_on_or_begins_again() {
    let config = with_few_weights(small(config()));
    stopped_after_step(&config, 3, FIVE, |_| ());
    stopped_after_step(&config, 3, FIVE, |run| {
        let mut bytes = fs::read(run.join("checkpoint")).unwrap();
        bytes.pop();
        fs::write(run.join("checkpoint"), bytes).unwrap();
    });
}

#[test]
fn what_is_half_learned_at_the_end_does_not_keep_a_run_from_more_games() {
    let config = ending(with_few_weights(small(config())), |finish| finish.hidden_layer = true);
    stopped_after_step(&config, 3, Budget { generations: Some(3), ..FIVE }, |_| ());
}

#[test]
fn a_run_goes_on_from_what_it_was_before_it_ended() {
    let config = ending(with_few_weights(small(config())), |finish| finish.hidden_layer = true);
    let [undisturbed, ended] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
    assert_eq!(trained(&config, ended.path(), Budget { generations: Some(3), ..FIVE }, never), Outcome::Finished);
    assert_eq!(trained(&config, ended.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(ended.path()).0, weights(undisturbed.path()).0);
    // With a layer at the end, and without for what came then, each of them measured.
    let metrics = fs::read_to_string(ended.path().join("metrics.jsonl")).unwrap();
    let count = |event: &str| metrics.lines().filter(|line| line.contains(event)).count();
    for step in [0, 4] {
        assert_eq!(count(&format!("\"event\":\"learned\",\"generation\":3,\"step\":{step},")), 1, "{metrics}");
    }
    assert_eq!(count("\"event\":\"gate\",\"generation\":2,\"fitted\":true"), 2, "{metrics}");
}

#[test]
fn games_of_a_generation_that_there_was_no_time_for_are_learned() {
    let config = with_few_weights(small(config()));
    let [whole, ended] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, whole.path(), FIVE, never), Outcome::Finished);
    assert_eq!(trained(&config, ended.path(), Budget { generations: Some(4), ..FIVE }, never), Outcome::Finished);
    let journal = |run: &Path| run.join("games/00000004.fsg");
    let games = fs::read(journal(whole.path())).unwrap();
    let found = Mutex::new(Vec::new());
    let note = |event: &TrainEvent| {
        if let TrainEvent::Learned { generation: 4, games, .. } = *event {
            found.lock().unwrap().push(games);
        }
        false
    };
    let no_time = Budget { seconds: Some(1e-3), generations: None, games: None };
    // As if a run had run out of time again and again, the last time at once.
    for share in [1, 2, 2] {
        fs::write(journal(ended.path()), &games[..games.len() * share / 3]).unwrap();
        assert_eq!(trained(&config, ended.path(), no_time, note), Outcome::Finished);
    }
    let found = found.into_inner().unwrap();
    assert!(found.len() == 2 && found[0] < found[1], "{found:?}");
    let learned = WeightFile::load(ended.path().join("last.fsw")).unwrap().provenance.games;
    assert!((800..1000).contains(&learned), "{learned}");
    // Later games do not make up for a missing file.
    fs::remove_file(ended.path().join("games/00000002.fsg")).unwrap();
    fs::write(journal(ended.path()), &games).unwrap();
    let stop = AtomicBool::new(false);
    let request = TrainRequest { budget: no_time, ..request(&config, ended.path(), &stop) };
    let error = train(&request, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("00000002.fsg"), "{error}");
}

#[test]
fn the_weights_of_an_end_outlive_its_checkpoint() {
    // One gate, which the last weights are sure to pass.
    let mut config = with_few_weights(small(config()));
    config.steps.retain(|step| step.play.is_some());
    let directory = tempfile::tempdir().unwrap();
    let four = Budget { generations: Some(4), ..FIVE };
    assert_eq!(trained(&config, directory.path(), four, never), Outcome::Finished);
    let best = || WeightFile::load(directory.path().join("best.fsw")).unwrap();
    let ended = best();
    assert_eq!(ended.provenance.generations, 4);
    // The one before does not have the weights of the end; and with more to play there are none.
    fs::write(directory.path().join("checkpoint"), "").unwrap();
    let at_start = |event: &TrainEvent| matches!(event, TrainEvent::Start { .. });
    assert_eq!(trained(&config, directory.path(), FIVE, at_start), Outcome::Stopped);
    assert_eq!(best(), ended);
}
