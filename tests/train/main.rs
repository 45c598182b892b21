//! Training as users see it: same seed, same bytes, whatever happens on the way.

mod directory;
mod disk;
mod events;
mod fitting;
mod learning;
mod stop;
mod support;

use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flipside::eval::{Calibration, DepthPair};
use flipside::export::{Engine, encode};
use flipside::fit::{FitError, GameFilesError, LearnConfig};
use flipside::label::RecordFileError;
use flipside::train::{
    Budget, GameJob, GameSource, GateConfig, LocalGames, OnGames, Outcome, Played, Resume, StoredRun, TrainConfig,
    TrainError, TrainEvent, TrainRequest, train,
};
use flipside::weights::WeightFile;

use support::*;

#[test]
fn training_from_calibrated_weights_drops_their_calibration() {
    let pair =
        DepthPair { min_empties: 7, max_empties: 60, shallow: 1, deep: 3, slope: 1.0, offset: 0.0, deviation: 3.0 };
    let plain = WeightFile::embedded();
    let calibrated = WeightFile { calibration: Some(Calibration::new(vec![pair]).unwrap()), ..plain.clone() };
    let config = TrainConfig { patterns: plain.model.set.name.clone(), ..small(config()) };
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let budget = Budget { generations: Some(1), ..BUDGET };
    let request = TrainRequest { budget, from: Some(&calibrated), ..request(&config, directory.path(), &stop) };
    let mut promoted = Vec::new();
    let mut on_event = |event: &TrainEvent| {
        if let TrainEvent::Gate { best, promoted: stronger, .. } = event {
            promoted.push((best.is_some(), *stronger));
        }
    };
    assert_eq!(train(&request, &mut on_event).unwrap(), Outcome::Finished);
    // Weights that are not stronger do not replace those it began with.
    assert_eq!(promoted, [(true, false)]);
    assert_eq!(fs::read(directory.path().join("best.fsw")).unwrap(), calibrated.to_bytes());
    let learned = WeightFile::load(directory.path().join("last.fsw")).unwrap();
    assert_eq!(learned.calibration, None);
    assert_eq!(learned.provenance.parent, Some(calibrated.hash()));
}

#[test]
fn one_two_and_three_threads_give_the_same_bytes() {
    let one = undisturbed(&config(), 1);
    assert_eq!(one, undisturbed(&config(), 2));
    assert_eq!(one, undisturbed(&config(), 3));
    let last = WeightFile::from_bytes(&one.0).unwrap();
    assert_eq!(last.provenance.generations, 4);
    assert_eq!(last.provenance.games, 8400);
    assert_eq!(last.provenance.config, config().to_toml());
    assert!(last.model.weights.iter().flatten().any(|&weight| weight != 0));
}

/// Plays as this machine does, but hands over a few games at a time, as other machines might.
struct Elsewhere;

impl GameSource for Elsewhere {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) {
        let mut flow = ControlFlow::Continue(());
        for first in job.games.clone().step_by(7) {
            // The first time, it is stopped in the middle of the second generation.
            stop.fetch_or(job.generation == 1 && first == 98, Relaxed);
            let games = first..(first + 7).min(job.games.end);
            let mut on_games = |played: Vec<Played>| {
                flow = on_games(played);
                flow
            };
            LocalGames.play(&GameJob { games, ..job.clone() }, stop, &mut on_games);
            if flow.is_break() {
                break;
            }
        }
    }
}

#[test]
fn games_may_come_from_elsewhere_and_in_any_portions() {
    let config = tiny();
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let elsewhere = TrainRequest { games: &Elsewhere, ..request(&config, directory.path(), &stop) };
    assert_eq!(train(&elsewhere, &mut |_| ()).unwrap(), Outcome::Stopped);
    stop.store(false, Relaxed);
    let mut replayed = 0;
    // This machine continues after the 98 games that were played.
    train(&request(&config, directory.path(), &stop), &mut |event| {
        if let TrainEvent::Batch { generation: 1, played, replayed: true, .. } = event {
            replayed = *played;
        }
    })
    .unwrap();
    assert_eq!(replayed, 98);
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
}

#[test]
fn a_run_stopped_after_every_event_and_resumed_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let mut sessions = 0;
    loop {
        let stop = AtomicBool::new(false);
        // Stop at the first games that had to be played.
        let outcome = run(directory.path(), &stop, &mut |event| {
            if let TrainEvent::Batch { replayed: false, .. } = event {
                stop.store(true, Relaxed);
            }
        });
        sessions += 1;
        if outcome.unwrap() == Outcome::Finished {
            break;
        }
    }
    assert!(sessions >= 4, "{sessions}");
    assert_eq!(weights(directory.path()), undisturbed(&config(), 2));
}

#[test]
fn a_budget_of_time_has_its_gate_and_can_be_extended() {
    let config = with_gates(tiny(), false);
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let mut gates = Vec::new();
    // Nothing but a first generation can be done in so little time.
    for seconds in [1e-3, 1e-3, 2e-3] {
        let budget = Budget { seconds: Some(seconds), ..Budget::default() };
        let request = TrainRequest { budget, ..request(&config, directory.path(), &stop) };
        let outcome = train(&request, &mut |event| match event {
            TrainEvent::Gate { generation, .. } => gates.push(*generation),
            TrainEvent::Played { generation, .. } => assert_eq!(*generation, 0),
            _ => {}
        });
        assert_eq!(outcome.unwrap(), Outcome::Finished);
    }
    assert_eq!(gates, [0]);
    train(&request(&config, directory.path(), &stop), &mut |_| ()).unwrap();
    assert_eq!(weights(directory.path()).0, undisturbed(&config, 2).0);
}

/// Hands over a few games of the second generation, and then is slow.
struct Slow(Duration);

impl GameSource for Slow {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) {
        if job.generation == 0 {
            return LocalGames.play(job, stop, on_games);
        }
        std::thread::sleep(self.0);
        LocalGames.play(&GameJob { games: 0..32, ..job.clone() }, stop, on_games);
    }
}

#[test]
fn weights_whose_generation_was_not_finished_stay_what_they_were() {
    let mut config = with_gates(tiny(), false);
    config.steps[0].repeat = 1;
    for (step, plies) in [(0, 1), (1, 60)] {
        config.steps[step].learn.as_mut().unwrap().stage_plies = Some(plies);
    }
    let [finished, timed] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (stop, seconds, mut begun) = (AtomicBool::new(false), 2.0, 0);
    let one = Budget { generations: Some(1), ..Budget::default() };
    let limited = Budget { seconds: Some(seconds), ..Budget::default() };
    let slow = Slow(Duration::from_secs_f64(seconds));
    for (directory, budget) in [(&finished, one), (&timed, limited)] {
        let request = TrainRequest { budget, games: &slow, ..request(&config, directory.path(), &stop) };
        let outcome = train(&request, &mut |event| {
            begun += u32::from(matches!(event, TrainEvent::Batch { generation: 1, .. }));
        });
        assert_eq!(outcome.unwrap(), Outcome::Finished);
    }
    if begun == 0 {
        eprintln!("skipped: the first generation took all the time");
    }
    assert_eq!(weights(timed.path()).0, weights(finished.path()).0);
}

#[test]
fn a_session_with_nothing_left_to_do_takes_no_time() {
    let (config, directory, stop) = (tiny(), tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let seconds = || {
        let mut seconds = Vec::new();
        train(&request(&config, directory.path(), &stop), &mut |event| match event {
            TrainEvent::Start { elapsed, .. } | TrainEvent::End { elapsed, .. } => seconds.push(*elapsed),
            _ => {}
        })
        .unwrap();
        seconds
    };
    let first = seconds();
    assert!(first[0] == 0.0 && first[1] > 0.0);
    assert_eq!(seconds(), [first[1]; 2]);
}

#[test]
fn weights_are_promoted_only_if_they_are_surely_stronger() {
    let config = TrainConfig { gate: GateConfig { pairs: 20, ..tiny().gate }, ..with_gates(tiny(), true) };
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let budget = Budget { generations: Some(8), ..BUDGET };
    let request = TrainRequest { budget, ..request(&config, directory.path(), &stop) };
    let mut newest_best = 0;
    let (mut luck, mut promotions) = (0, 0);
    train(&request, &mut |event| {
        let TrainEvent::Gate { generation, best, promoted, .. } = event else { return };
        let surely = best.is_none_or(|best| best.superiority >= 0.95);
        assert_eq!(*promoted, surely, "{event:?}");
        newest_best = if *promoted { generation + 1 } else { newest_best };
        luck += u32::from(!promoted && best.unwrap().score > 0.5);
        promotions += u32::from(*promoted);
    })
    .unwrap();
    assert!(luck > 0 && promotions > 0, "{luck} {promotions}");
    let best = WeightFile::load(directory.path().join("best.fsw")).unwrap();
    assert_eq!(best.provenance.generations, u64::from(newest_best));
}

#[test]
fn records_are_learned_first_and_belong_to_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_few_weights(small(config_with_records(folder.path())));
    let directory = folder.path().join("run");
    let stop = AtomicBool::new(false);
    let mut told = Vec::new();
    let mut sessions = 0;
    // Stop at every event that is not one of a resumed session: before the first checkpoint a run starts over.
    for events in 3.. {
        stop.store(false, Relaxed);
        let mut left = events;
        let outcome = train(&request(&config, &directory, &stop), &mut |event| {
            left -= 1;
            if left == 0 {
                stop.store(true, Relaxed);
            }
            told.push(event.clone());
        });
        sessions += 1;
        if outcome.unwrap() == Outcome::Finished {
            break;
        }
    }
    assert!(sessions >= 4, "{sessions}");
    let one = undisturbed(&config, 1);
    assert_eq!(one, undisturbed(&config, 3));
    assert_eq!(weights(&directory), one);
    assert_ne!(one.0, undisturbed(&with_few_weights(small(self::config())), 1).0);

    let bad: Vec<_> = told.iter().filter(|event| matches!(event, TrainEvent::BadRecord { .. })).collect();
    let TrainEvent::BadRecord { file, reason } = bad[0] else { unreachable!() };
    assert!(file.ends_with("games.txt") && reason.starts_with("line 181: "), "{file}: {reason}");
    let read = |event: &&TrainEvent| matches!(event, TrainEvent::Records { .. });
    assert!(matches!(told.iter().find(read), Some(TrainEvent::Records { read: 181, left_out: 1, .. })), "{told:?}");
    let learned = |event: &&TrainEvent| matches!(event, TrainEvent::Learned { step: 1, .. });
    let Some(TrainEvent::Learned { positions, .. }) = told.iter().find(learned) else { panic!("{told:?}") };
    assert!((200 * 55..=200 * 60).contains(positions), "{positions}");
    let kept = WeightFile::from_bytes(&one.0).unwrap().provenance.config;
    let with_checksums = TrainConfig::from_toml(&kept).unwrap();
    assert_eq!(with_checksums.steps[0].learn.as_ref().unwrap().sha256.len(), 2);
    assert_eq!(undisturbed(&with_checksums, 2), one);

    let positions = folder.path().join("positions.txt");
    let text = fs::read_to_string(&positions).unwrap();
    fs::write(&positions, text.replacen("X", "O", 1)).unwrap();
    let error = train(&request(&config, &directory, &stop), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrainError::OtherRun { .. }) && error.to_string().contains("sha256"), "{error}");
    let error = train(&request(&with_checksums, &directory, &stop), &mut |_| ()).unwrap_err();
    let is_other = |file: &std::path::Path| file == positions;
    assert!(
        matches!(&error, TrainError::Learn(FitError::Games(GameFilesError::OtherRecords(file))) if is_other(file)),
        "{error}"
    );
    // What has been learned is no longer needed.
    fs::remove_file(&positions).unwrap();
    let stored = StoredRun::read(&directory).unwrap().config;
    stop.store(false, Relaxed);
    let resumed = TrainRequest { resume: Resume::Stored, ..request(&stored, &directory, &stop) };
    assert_eq!(train(&resumed, &mut |_| ()).unwrap(), Outcome::Finished);
    fs::write(&positions, "f5\n").unwrap();
    stop.store(false, Relaxed);
    let error = train(&request(&config, &folder.path().join("new"), &stop), &mut |_| ()).unwrap_err();
    assert!(
        matches!(&error, TrainError::Learn(FitError::Games(GameFilesError::Records(RecordFileError::NoLesson { .. })))),
        "{error}"
    );
}

#[test]
fn records_of_the_end_belong_to_the_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = with_few_weights(small(config_with_records(folder.path())));
    config.finish = config.steps.remove(0).learn;
    let (directory, positions) = (folder.path().join("run"), folder.path().join("positions.txt"));
    let stop = AtomicBool::new(false);
    let text = fs::read_to_string(&positions).unwrap();
    fs::remove_file(&positions).unwrap();
    let error = train(&request(&config, &directory, &stop), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("positions.txt"), "{error}");
    fs::write(&positions, &text).unwrap();
    assert_eq!(train(&request(&config, &directory, &stop), &mut |_| ()).unwrap(), Outcome::Finished);
    let stored = StoredRun::read(&directory).unwrap().config;
    assert_eq!(stored.finish.as_ref().unwrap().sha256.len(), 2);
    // Whoever continues the run needs these records too, and not their checksums again.
    let continued = folder.path().join("continued");
    let request = TrainRequest { continues: Some(&directory), ..request(&stored, &continued, &stop) };
    assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
    let budget = Budget { generations: Some(1), ..BUDGET };
    let other = TrainConfig { finish: config.finish.clone(), ..stored.clone() };
    let anew = folder.path().join("anew");
    let request = TrainRequest { budget, directory: &anew, config: &other, ..request };
    assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
    assert_eq!(StoredRun::read(&anew).unwrap().config.finish, stored.finish);
    fs::write(&positions, text.replacen('X', "O", 1)).unwrap();
    let error = train(&self::request(&config, &directory, &stop), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrainError::OtherRun { .. }) && error.to_string().contains("sha256"), "{error}");
}

#[test]
fn a_configuration_made_in_code_is_checked_as_one_in_a_file_is() {
    let (folder, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let learning = |change: fn(&mut LearnConfig)| {
        let mut config = config();
        change(config.steps[0].learn.as_mut().unwrap());
        config
    };
    for (config, key) in [
        (TrainConfig { steps: Vec::new(), ..config() }, "steps"),
        (TrainConfig { seed: u64::MAX, ..config() }, "seed"),
        (learning(|learn| learn.epochs = 0), "epochs"),
        (learning(|learn| learn.rate = f32::INFINITY), "rate"),
        (learning(|learn| learn.hold_out = 1), "steps[1].learn.hold-out"),
    ] {
        let error = train(&request(&config, folder.path(), &stop), &mut |_| ()).unwrap_err();
        assert!(matches!(error, TrainError::Config(_)) && error.to_string().contains(key), "{error}");
        assert_eq!(snapshot(folder.path()), []);
    }
}

#[test]
fn records_alone_make_weights() {
    let folder = tempfile::tempdir().unwrap();
    let config = with_few_weights(small(config_with_records(folder.path())));
    let directory = folder.path().join("run");
    let budget = Budget { generations: Some(0), ..BUDGET };
    let stop = AtomicBool::new(false);
    let request = TrainRequest { budget, ..request(&config, &directory, &stop) };
    assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
    let best = WeightFile::load(directory.join("best.fsw")).unwrap();
    assert!(best.provenance.samples > 0 && best.model.weights.iter().flatten().any(|&weight| weight != 0));
    // Continuing from there gives the same as a run that never paused.
    let request = TrainRequest { budget: BUDGET, ..request };
    train(&request, &mut |_| ()).unwrap();
    assert_eq!(fs::read(directory.join("last.fsw")).unwrap(), undisturbed(&config, 2).0);
}

#[test]
fn a_directory_in_use_or_of_another_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut second = None;
    let stop = AtomicBool::new(false);
    run(directory.path(), &stop, &mut |_| {
        stop.store(true, Relaxed);
        second.get_or_insert_with(|| {
            run(directory.path(), &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string()
        });
    })
    .unwrap();
    assert!(second.unwrap().contains("another process is training"));

    let config = config();
    let other = TrainConfig { seed: 6, ..config.clone() };
    let differs = |config: &TrainConfig| {
        let error = train(&request(config, directory.path(), &stop), &mut |_| ()).unwrap_err();
        let TrainError::OtherRun { differences, .. } = error else { panic!("{error}") };
        differences.concat()
    };
    assert!(differs(&other).starts_with("`seed` was 5 and is 6"));
    let mut other = config.clone();
    other.steps[0].learn.as_mut().unwrap().overlap = Some(1);
    assert!(differs(&other).starts_with("`steps[1].learn.overlap` was"));
    other.steps[0] = config.steps[0].clone();
    other.steps[2].play.as_mut().unwrap().selectivity = None;
    assert!(differs(&other).starts_with("`steps[3].play.selectivity` was"));
}

#[test]
fn runaway_weights_stop_the_run_and_spare_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let wild = CONFIG.replace("half = 30.0, floor = 0.01", "rate = 40.0, floor = 1.0");
    let config = TrainConfig::from_toml(&wild).unwrap();
    assert_ne!(config, self::config());
    let error = train(&request(&config, directory.path(), &AtomicBool::new(false)), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrainError::Learn(FitError::Diverged(_))), "{error}");
    WeightFile::load(directory.path().join("last.fsw")).unwrap();
}

#[test]
fn weights_of_an_engines_own_set_export_without_loss() {
    for (engine, stages) in [(Engine::Zebra, 59), (Engine::Ntest, 20)] {
        let text = CONFIG.replace("classic", engine.name());
        let text = text.replace("stage-plies = 6", "stage-plies = 1").replace("stage-plies = 12", "stage-plies = 6");
        let config = small(TrainConfig::from_toml(&text).unwrap());
        let directory = tempfile::tempdir().unwrap();
        train(&request(&config, directory.path(), &AtomicBool::new(false)), &mut |_| ()).unwrap();
        let model = WeightFile::load(directory.path().join("last.fsw")).unwrap().model;
        assert_eq!((model.stages.count(), model.scale), (stages, engine.scale()));
        let exported = encode(engine, &model, false).unwrap();
        assert!(exported.quantisation.is_exact(), "{:?}", exported.quantisation);
        assert!(model.weights.iter().all(|stage| stage.iter().any(|&weight| weight != 0)));
    }
}
