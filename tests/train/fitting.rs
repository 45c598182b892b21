//! Fits in the course of a run.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flipside::fit::FitConfig;
use flipside::learn::{Decayed, Loss, StepRule};
use flipside::train::{Budget, Outcome, Phase, TrainConfig, TrainEvent, TrainRequest, train};
use flipside::weights::WeightFile;

use crate::support::*;

/// Five generations, of which the last two come after a fit.
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

#[test]
fn a_fits_settings_are_not_those_of_the_run() {
    let mut config = with_few_weights(small(config()));
    let step = StepRule::Decayed(Decayed { rate: 0.5, half: 300.0, floor: 0.2 });
    config.phases[2].learn = true;
    let at_fit = |event: &TrainEvent| matches!(event, TrainEvent::Fitted { generation: 3, .. });
    // The generation before continued from what the fit left, and was kept.
    let after_fit = |event: &TrainEvent| matches!(event, TrainEvent::Learned { generation: 4, .. });
    for hidden_layer in [false, true] {
        config.fit = config.fit.map(|fit| FitConfig { loss: Loss::Huber { beyond: 1.0 }, step, hidden_layer, ..fit });
        let [undisturbed, stopped] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
        assert_eq!(trained(&config, stopped.path(), FIVE, at_fit), Outcome::Stopped);
        assert_eq!(trained(&config, stopped.path(), FIVE, after_fit), Outcome::Stopped);
        let of_stopped = || WeightFile::load(stopped.path().join("last.fsw")).unwrap();
        let learned = of_stopped();
        assert_eq!((learned.provenance.generations >= 4, learned.model.hidden), (true, None));
        assert_eq!(trained(&config, stopped.path(), FIVE, never), Outcome::Finished);
        assert_eq!(weights(stopped.path()), weights(undisturbed.path()));
        assert_eq!(of_stopped().model.hidden.is_some(), hidden_layer);
    }
}

#[test]
fn weights_with_a_hidden_layer_play_and_learn_on() {
    let mut config = with_few_weights(small(config()));
    config.fit = config.fit.map(|fit| FitConfig { hidden_layer: true, ..fit });
    let layered = Phase { generations: 1, hidden_layer: true, stage_plies: 6, ..config.phases[2] };
    config.phases.splice(1.., [layered, layered]);
    // For each fit: after how many generations, and on how many games. The first is from nothing on all games but those of the first
    // generation; later ones count only games played with a layer.
    let fits = [(2, 200), (3, 200), (5, 600)];
    let [undisturbed, stopped, engine] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let found = Mutex::new(Vec::new());
    let note = |event: &TrainEvent| {
        if let TrainEvent::Fitted { generation, games, .. } = *event {
            found.lock().unwrap().push((generation, games));
        }
        false
    };
    assert_eq!(trained(&config, undisturbed.path(), FIVE, note), Outcome::Finished);
    assert_eq!(std::mem::take(&mut *found.lock().unwrap()), fits);
    let has_layer = |folder: &Path| WeightFile::load(folder.join("last.fsw")).unwrap().model.hidden.is_some();
    let at_first = |event: &TrainEvent| matches!(event, TrainEvent::Fitted { generation: 2, .. });
    let in_second = |event: &TrainEvent| matches!(event, TrainEvent::Fitting { .. });
    let after_second = |event: &TrainEvent| matches!(event, TrainEvent::Learned { generation: 3, .. });
    assert_eq!(trained(&config, stopped.path(), FIVE, at_first), Outcome::Stopped);
    assert!(has_layer(stopped.path()));
    assert_eq!(trained(&config, stopped.path(), FIVE, in_second), Outcome::Stopped);
    assert_eq!(trained(&config, stopped.path(), FIVE, after_second), Outcome::Stopped);
    assert_eq!(trained(&config, stopped.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(stopped.path()), weights(undisturbed.path()));
    assert!(has_layer(stopped.path()));
    // An engine could not read a layer: its set is fitted from nothing on all games each time.
    let config = TrainConfig { patterns: "zebra".to_owned(), ..config };
    assert_eq!(trained(&config, engine.path(), FIVE, note), Outcome::Finished);
    assert_eq!(*found.lock().unwrap(), [(2, 200), (3, 400), (5, 800)]);
    assert!(!has_layer(engine.path()));
}

#[test]
fn a_fit_learns_the_games_that_were_played_before_it() {
    let config = with_few_weights(small(config()));
    let [undisturbed, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
    // As when an older checkpoint was put back: there are games of generations still to come.
    let before_fit = |event: &TrainEvent| matches!(event, TrainEvent::Learned { generation: 2, .. });
    assert_eq!(trained(&config, other.path(), FIVE, before_fit), Outcome::Stopped);
    let journal = |name: &str| Path::new("games").join(name);
    for (from, to) in [("00000004.fsg", "00000004.fsg"), ("00000001.fsg", "of-old.fsg")] {
        fs::copy(undisturbed.path().join(journal(from)), other.path().join(journal(to))).unwrap();
    }
    assert_eq!(trained(&config, other.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(other.path()), weights(undisturbed.path()));
}

#[test]
fn a_fit_leaves_out_no_game_that_was_played() {
    let (config, stop) = (with_few_weights(small(config())), AtomicBool::new(false));
    let directory = tempfile::tempdir().unwrap();
    let at_last = |event: &TrainEvent| matches!(event, TrainEvent::Learned { generation: 4, .. });
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
        assert!(error.contains("00000001.fsg has ") && told == 0, "{told} {error}");
    }
}

#[test]
fn a_run_without_games_for_its_fit_says_so() {
    let config = with_few_weights(small(config()));
    let config = TrainConfig { fit: config.fit.map(|fit| FitConfig { first_generation: 9, ..fit }), ..config };
    let config =
        TrainConfig { phases: config.phases.iter().map(|phase| Phase { refit: false, ..*phase }).collect(), ..config };
    let (directory, told) = (tempfile::tempdir().unwrap(), Mutex::new(Vec::new()));
    let note = |event: &TrainEvent| {
        if let TrainEvent::NotFitted { first_generation, .. } = event {
            told.lock().unwrap().push(*first_generation);
        }
        false
    };
    assert_eq!(trained(&config, directory.path(), FIVE, note), Outcome::Finished);
    assert_eq!(told.into_inner().unwrap(), [9]);
}

/// Stops a run with a budget in its first fit, does something to the fit's checkpoint, and resumes it to the weights of an undisturbed
/// run.
fn stopped_in_a_fit(budget: Budget, change: impl FnOnce(&Path)) {
    let config = with_few_weights(small(config()));
    let [undisturbed, stopped] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
    let in_fit = |event: &TrainEvent| matches!(event, TrainEvent::Fitting { .. });
    assert_eq!(trained(&config, stopped.path(), budget, in_fit), Outcome::Stopped);
    let part = stopped.path().join("fit.part");
    assert!(part.exists());
    change(&part);
    assert_eq!(trained(&config, stopped.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(stopped.path()), weights(undisturbed.path()));
    assert!(!part.exists());
}

#[test]
fn a_damaged_fit_starts_over() {
    stopped_in_a_fit(FIVE, |part| {
        let mut bytes = fs::read(part).unwrap();
        bytes.pop();
        fs::write(part, bytes).unwrap();
    });
}

#[test]
fn the_checkpoint_of_a_fit_does_not_outlive_a_kill_that_follows_it() {
    let config = with_few_weights(small(config()));
    let directory = tempfile::tempdir().unwrap();
    let part = directory.path().join("fit.part");
    let is_fitted = Mutex::new(false);
    let stop = |event: &TrainEvent| {
        let mut is_fitted = is_fitted.lock().unwrap();
        *is_fitted |= matches!(event, TrainEvent::Fitted { .. });
        *is_fitted && matches!(event, TrainEvent::Gating { .. })
    };
    assert_eq!(trained(&config, directory.path(), FIVE, stop), Outcome::Stopped);
    for stop in [|event: &TrainEvent| matches!(event, TrainEvent::Gating { .. }), never] {
        fs::write(&part, "of a fit that is done").unwrap();
        trained(&config, directory.path(), FIVE, stop);
        assert!(!part.exists());
    }
    fs::write(&part, "of the last fit").unwrap();
    assert_eq!(trained(&config, directory.path(), FIVE, never), Outcome::Finished);
    assert!(!part.exists());
}

#[test]
fn a_run_that_ended_where_a_phase_begins_is_fitted_for_that_phase() {
    let mut config = with_few_weights(small(config()));
    config.fit = config.fit.map(|fit| FitConfig { hidden_layer: true, ..fit });
    let [undisturbed, ended] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, undisturbed.path(), FIVE, never), Outcome::Finished);
    assert_eq!(trained(&config, ended.path(), Budget { generations: Some(3), ..FIVE }, never), Outcome::Finished);
    assert_eq!(trained(&config, ended.path(), FIVE, never), Outcome::Finished);
    assert_eq!(weights(ended.path()).0, weights(undisturbed.path()).0);
    // With a layer at the end, and without for what came then: two fits, each of them measured.
    let metrics = fs::read_to_string(ended.path().join("metrics.jsonl")).unwrap();
    let of_three = |event: &str| metrics.lines().filter(|line| line.contains(event)).count();
    assert_eq!(of_three("\"event\":\"fitted\",\"generation\":3"), 2, "{metrics}");
    assert_eq!(of_three("\"event\":\"gate\",\"generation\":2,\"fitted\":true"), 2, "{metrics}");
}

#[test]
fn a_stopped_fit_does_not_keep_a_run_from_more_games() {
    // Stopped in the fit that ends the shorter run.
    stopped_in_a_fit(Budget { generations: Some(3), ..FIVE }, |_| ());
}

#[test]
fn games_of_a_generation_that_there_was_no_time_for_are_fitted() {
    let config = with_few_weights(small(config()));
    let [whole, ended] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_eq!(trained(&config, whole.path(), FIVE, never), Outcome::Finished);
    assert_eq!(trained(&config, ended.path(), Budget { generations: Some(4), ..FIVE }, never), Outcome::Finished);
    let journal = |run: &Path| run.join("games/00000004.fsg");
    let games = fs::read(journal(whole.path())).unwrap();
    let fits = Mutex::new(Vec::new());
    let note = |event: &TrainEvent| {
        if let TrainEvent::Fitted { generation: 4, games, .. } = *event {
            fits.lock().unwrap().push(games);
        }
        false
    };
    let no_time = Budget { seconds: Some(1e-3), generations: None, games: None };
    // As if a run had run out of time again and again, the last time at once.
    for share in [1, 2, 2] {
        fs::write(journal(ended.path()), &games[..games.len() * share / 3]).unwrap();
        assert_eq!(trained(&config, ended.path(), no_time, note), Outcome::Finished);
    }
    let fits = fits.into_inner().unwrap();
    assert!(fits.len() == 2 && fits[0] < fits[1], "{fits:?}");
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
fn the_weights_of_a_last_fit_outlive_its_checkpoint() {
    // One gate, which the last fit is sure to pass.
    let mut config = with_few_weights(small(config()));
    (config.phases[2].refit, config.gate.every) = (false, 0);
    let directory = tempfile::tempdir().unwrap();
    let four = Budget { generations: Some(4), ..FIVE };
    assert_eq!(trained(&config, directory.path(), four, never), Outcome::Finished);
    let best = || WeightFile::load(directory.path().join("best.fsw")).unwrap();
    let fitted = best();
    assert_eq!(fitted.provenance.generations, 4);
    // The one before does not have the fit; and with more to play there is none.
    fs::write(directory.path().join("checkpoint"), "").unwrap();
    let at_start = |event: &TrainEvent| matches!(event, TrainEvent::Start { .. });
    assert_eq!(trained(&config, directory.path(), FIVE, at_start), Outcome::Stopped);
    assert_eq!(best(), fitted);
}
