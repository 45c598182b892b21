//! The run directory: what is refused, what is repaired, and that nothing is changed before everything needed is known to be intact.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flipside::games::GamesHeader;
use flipside::train::{
    Budget, GateConfig, Outcome, Resume, TrainConfig, TrainError, TrainEvent, TrainRequest, stored_config, train,
};
use flipside::weights::WeightFile;
use tempfile::TempDir;

use crate::support::*;

/// A run of small generations that has learned `generations`.
fn learned(config: &TrainConfig, generations: u32) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    go_on(config, directory.path(), generations).unwrap();
    directory
}

fn go_on(config: &TrainConfig, directory: &Path, generations: u32) -> Result<Vec<TrainEvent>, TrainError> {
    let stop = AtomicBool::new(false);
    let budget = Budget { generations: Some(generations), ..Budget::default() };
    let mut events = Vec::new();
    let request = TrainRequest { budget, ..TrainRequest::new(config, directory, &stop) };
    train(&request, &mut |event| events.push(event.clone())).map(|_| events)
}

/// The error of resuming a run, which leaves everything as it was.
fn refused(config: &TrainConfig, directory: &Path) -> TrainError {
    let before = snapshot(directory);
    let error = go_on(config, directory, 4).unwrap_err();
    assert_eq!(snapshot(directory), before, "{error}");
    error
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

fn has(events: &[TrainEvent], is: impl Fn(&TrainEvent) -> bool) -> bool {
    events.iter().any(is)
}

#[test]
fn a_run_without_its_checkpoint_is_refused_and_not_restarted() {
    let config = tiny();
    let directory = learned(&config, 2);
    let file = |name: &str| directory.path().join(name);
    fs::rename(file("checkpoint"), file("elsewhere")).unwrap();
    fs::rename(file("checkpoint.previous"), file("checkpoint.old")).unwrap();
    let error = refused(&config, directory.path()).to_string();
    for name in ["best.fsw", "last.fsw", "metrics.jsonl", "games/", "Restore `checkpoint`"] {
        assert!(error.contains(name), "{error}");
    }
    // Any one of them is enough.
    for name in ["best.fsw", "last.fsw", "metrics.jsonl"] {
        fs::remove_file(file(name)).unwrap();
        assert!(matches!(refused(&config, directory.path()), TrainError::LostCheckpoint { .. }));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", file("checkpoint")).unwrap();
        assert!(matches!(refused(&config, directory.path()), TrainError::Dangling(path) if path == file("checkpoint")));
        fs::remove_file(file("checkpoint")).unwrap();
    }
    // What cannot be read is there.
    fs::create_dir(file("checkpoint")).unwrap();
    assert!(matches!(refused(&config, directory.path()), TrainError::File(_)));
    fs::remove_dir(file("checkpoint")).unwrap();
    fs::rename(file("elsewhere"), file("checkpoint")).unwrap();
    go_on(&config, directory.path(), 4).unwrap();
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
}

#[test]
fn a_run_that_does_not_begin_leaves_no_folder() {
    let config = tiny();
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let disk = FailingDisk { room: 0, ..FailingDisk::new(|_, _| None) };
    let run = folder.path().join("run");
    let begin = || train(&TrainRequest { disk: &disk, ..request(&config, &run, &stop) }, &mut |_| ());
    assert!(matches!(begin(), Err(TrainError::NoRoom { .. })));
    assert!(!run.exists());
    // One that was there stays.
    fs::create_dir(&run).unwrap();
    assert!(matches!(begin(), Err(TrainError::NoRoom { .. })));
    assert!(run.exists());
}

#[test]
fn a_lock_that_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lock")).unwrap();
    let error = refused(&tiny(), folder.path()).to_string();
    assert!(error.contains(&folder.path().join("lock").display().to_string()), "{error}");
}

#[test]
fn the_checkpoint_before_the_newest_takes_its_place() {
    let config = tiny();
    let expected = undisturbed(&config, 2);
    let damaged = |damage: &dyn Fn(&Path), what: &str| {
        let directory = learned(&config, 4);
        let file = |name: &str| directory.path().join(name);
        // Both checkpoints are of a gate; the one before has learned two generations.
        damage(directory.path());
        let events = go_on(&config, directory.path(), 4).unwrap();
        assert!(
            has(&events, |event| matches!(event, TrainEvent::FellBack { generation: 2, reason }
                if reason.contains(what) && !reason.contains("cannot continue"))),
            "{events:?}"
        );
        assert!(has(&events, |event| matches!(event, TrainEvent::Learned { generation: 3, .. })));
        assert_eq!(weights(directory.path()), expected);
        // Repairs are reported once, and the metrics have nothing twice.
        assert!(!has(&go_on(&config, directory.path(), 4).unwrap(), |event| matches!(
            event,
            TrainEvent::FellBack { .. }
        )));
        let metrics = fs::read_to_string(file("metrics.jsonl")).unwrap();
        assert_eq!(metrics.matches(r#""event":"learned""#).count(), 4, "{metrics}");
        assert_eq!(metrics.matches(r#""event":"gate""#).count(), 2, "{metrics}");
    };
    damaged(&|directory| flip(&directory.join("checkpoint"), 1000), "SHA-256");
    damaged(&|directory| fs::write(directory.join("checkpoint"), "").unwrap(), "only 0 bytes");
    // A journal that only the newest checkpoint needs.
    damaged(
        &|directory| flip(&directory.join("games/00000003.fsg"), 100),
        "0 of 200 games are there, then the frame at byte 40",
    );
    damaged(&|directory| fs::remove_file(directory.join("games/00000003.fsg")).unwrap(), "the file is missing");

    let directory = learned(&config, 4);
    for name in ["checkpoint", "checkpoint.previous"] {
        flip(&directory.path().join(name), 1000);
    }
    let error = refused(&config, directory.path());
    assert!(matches!(&error, TrainError::Damaged { path, .. } if path.ends_with("checkpoint")), "{error}");
    // As after a kill between the two steps of writing one.
    let directory = learned(&config, 4);
    fs::remove_file(directory.path().join("checkpoint")).unwrap();
    go_on(&config, directory.path(), 4).unwrap();
    assert_eq!(weights(directory.path()), expected);
}

#[test]
fn a_directory_of_something_else_is_refused_and_names_of_others_are_left_alone() {
    let config = TrainConfig { keep_games: false, ..tiny() };
    let other = tempfile::tempdir().unwrap();
    for name in ["games/2023.txt", "config.toml", "best.fsw"] {
        let path = other.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let error = refused(&config, other.path());
        assert!(matches!(error, TrainError::NotARun { .. }), "{error}");
    }

    let directory = learned(&config, 1);
    let kept = ["games/2023.txt", "games/+0000000.fsg", "games/0.fsg", "games/000000000.fsg", "notes.txt"];
    for name in kept {
        fs::write(directory.path().join(name), "mine").unwrap();
    }
    go_on(&config, directory.path(), 4).unwrap();
    go_on(&config, directory.path(), 6).unwrap();
    for name in kept {
        assert_eq!(fs::read(directory.path().join(name)).unwrap(), b"mine", "{name}");
    }
    let journals = |directory: &Path| fs::read_dir(directory.join("games")).unwrap().count();
    // Of generations 3 to 5: those in the windows of the two checkpoints.
    assert_eq!(journals(directory.path()), 3 + 4);
    let kept = learned(&tiny(), 4);
    assert_eq!(journals(kept.path()), 4);
}

/// The header of a file of games by a program that is not written yet.
fn later_version() -> Vec<u8> {
    let mut header = GamesHeader::default().to_bytes();
    header[8..12].copy_from_slice(&99u32.to_le_bytes());
    header.to_vec()
}

#[test]
fn files_of_other_runs_are_not_believed() {
    let config = tiny();
    let directory = learned(&config, 2);
    let other = learned(&TrainConfig { seed: 6, ..config.clone() }, 3);
    let copy = |name: &str| fs::copy(other.path().join(name), directory.path().join(name)).unwrap();
    copy("games/00000002.fsg");
    let error = refused(&config, directory.path());
    assert!(matches!(&error, TrainError::ForeignGames(path) if path.ends_with("00000002.fsg")), "{error}");
    // Nor overwritten, whatever they are.
    for foreign in [&b"notes on this run, longer than the header of a file of games"[..], &later_version()] {
        fs::write(directory.path().join("games/00000002.fsg"), foreign).unwrap();
        let error = refused(&config, directory.path());
        assert!(matches!(&error, TrainError::ForeignGames(path) if path.ends_with("00000002.fsg")), "{error}");
        assert_eq!(fs::read(directory.path().join("games/00000002.fsg")).unwrap(), foreign);
    }
    fs::remove_file(directory.path().join("games/00000002.fsg")).unwrap();
    copy("best.fsw");
    let events = go_on(&config, directory.path(), 4).unwrap();
    assert!(has(&events, |event| matches!(event, TrainEvent::Restored { file } if file == "best.fsw")), "{events:?}");
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
}

#[test]
fn an_edited_pattern_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.toml");
    let set =
        "name = 'small'\nscalars = ['constant']\n[patterns]\nedge = 'a1 b1 c1 d1 e1 f1 g1 h1'\nstar = 'b2 c2 d2'\n";
    fs::write(&path, set).unwrap();
    let config = TrainConfig { patterns: path.display().to_string(), ..tiny() };
    let directory = learned(&config, 2);
    // As many weights as before.
    fs::write(&path, set.replace("b2 c2 d2", "b3 c3 d3")).unwrap();
    let error = refused(&config, directory.path());
    assert!(matches!(error, TrainError::PatternsChanged { .. }), "{error}");
    fs::write(&path, format!("# The same set.\n{set}")).unwrap();
    go_on(&config, directory.path(), 3).unwrap();
    // With the stored configuration it needs no file.
    fs::remove_file(&path).unwrap();
    amended(directory.path(), |_| (), generations(1), None).unwrap();
    let newest = WeightFile::load(directory.path().join("last.fsw")).unwrap();
    assert_eq!((newest.provenance.generations, &*newest.model.set.name), (4, "small"));
}

#[test]
fn edits_of_the_configuration_are_refused_with_what_differs() {
    let config = tiny();
    let directory = learned(&config, 2);
    let path = directory.path().join("config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, written.replace("pairs = 3", "pairs = 30")).unwrap();
    let error = refused(&config, directory.path()).to_string();
    assert!(error.contains("`gate.pairs` was 3 and is 30"), "{error}");
    fs::write(&path, "[gate").unwrap();
    assert!(matches!(refused(&config, directory.path()), TrainError::ConfigBroken { .. }));
    let commented = format!("# tonight\n{written}");
    fs::write(&path, &commented).unwrap();
    go_on(&config, directory.path(), 3).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), commented);
    fs::remove_file(&path).unwrap();
    go_on(&config, directory.path(), 4).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
}

#[test]
fn a_run_from_weights_is_resumed_by_the_same_command() {
    let config = tiny();
    let parent = learned(&config, 1);
    let from = WeightFile::load(parent.path().join("last.fsw")).unwrap();
    let stop = AtomicBool::new(false);
    let directory = tempfile::tempdir().unwrap();
    let request = TrainRequest { from: Some(&from), ..request(&config, directory.path(), &stop) };
    let outcome = train(&request, &mut |event| {
        stop.fetch_or(matches!(event, TrainEvent::Learned { .. }), Relaxed);
    });
    assert_eq!(outcome.unwrap(), Outcome::Stopped);
    stop.store(false, Relaxed);
    let error = train(&TrainRequest { from: None, ..request }, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrainError::OtherParent(_)), "{error}");
    assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
    let whole = tempfile::tempdir().unwrap();
    train(&TrainRequest { directory: whole.path(), ..request }, &mut |_| ()).unwrap();
    assert_eq!(weights(directory.path()), weights(whole.path()));
}

#[test]
fn metrics_hold_whole_events_and_each_once() {
    let config = tiny();
    let directory = learned(&config, 1);
    let path = directory.path().join("metrics.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    // As a kill in the middle of a line leaves it.
    fs::write(&path, format!(r#"{whole}{{"event":"learned","gener"#)).unwrap();
    go_on(&config, directory.path(), 2).unwrap();
    let metrics = fs::read_to_string(&path).unwrap();
    assert!(metrics.starts_with(&whole));
    let events: Vec<TrainEvent> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for generation in 0..2 {
        let learned =
            |event: &&TrainEvent| matches!(event, TrainEvent::Learned { generation: g, .. } if *g == generation);
        assert_eq!(events.iter().filter(learned).count(), 1);
    }
    let Some(TrainEvent::Start { generation: 1, resumed: true, games: 200, elapsed, baseline: Some(_), .. }) =
        events.iter().rfind(|event| matches!(event, TrainEvent::Start { .. }))
    else {
        panic!("{metrics}")
    };
    assert!(*elapsed > 0.0);
}

/// A session of a run with the stored configuration and changes to it.
fn amended(
    directory: &Path,
    change: impl Fn(&mut TrainConfig),
    budget: Budget,
    stop_after: Option<u32>,
) -> Result<Vec<TrainEvent>, TrainError> {
    let stop = AtomicBool::new(false);
    let mut config = stored_config(directory)?;
    change(&mut config);
    let mut events = Vec::new();
    let request = TrainRequest { budget, resume: Resume::Stored, ..TrainRequest::new(&config, directory, &stop) };
    train(&request, &mut |event| {
        if let TrainEvent::Learned { generation, .. } = event {
            stop.fetch_or(stop_after == Some(*generation), Relaxed);
        }
        events.push(event.clone());
    })
    .map(|_| events)
}

fn generations(generations: u32) -> Budget {
    Budget { generations: Some(generations), ..Budget::default() }
}

#[test]
fn a_run_resumes_with_the_stored_configuration_and_adds_its_budget() {
    let config = tiny();
    let directory = learned(&config, 2);
    let budget_of = |events: &[TrainEvent]| {
        events.iter().find_map(|event| match event {
            TrainEvent::Start { budget, .. } => Some(*budget),
            _ => None,
        })
    };
    let events = amended(directory.path(), |_| (), generations(2), Some(2)).unwrap();
    assert_eq!(budget_of(&events), Some(generations(4)));
    // Without a budget it continues to where it was meant to end.
    let events = amended(directory.path(), |_| (), Budget::default(), None).unwrap();
    assert_eq!(budget_of(&events), Some(generations(4)));
    assert!(matches!(events.last(), Some(TrainEvent::End { generation: 4, finished: true, .. })), "{events:?}");
    assert!(weights(directory.path()) == undisturbed(&config, 2));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(amended(empty.path(), |_| (), generations(1), None), Err(TrainError::NoRun(_))));
    let path = directory.path().join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    // The run does not follow what somebody has written there.
    fs::write(&path, text.replace("lambda = 0", "lambda = 1")).unwrap();
    assert_eq!(stored_config(directory.path()).unwrap(), config);
    fs::remove_file(&path).unwrap();
    assert_eq!(stored_config(directory.path()).unwrap(), config);
    // A kill between writing the marker and this file leaves the old file.
    amended(directory.path(), |config| config.gate.pairs = 2, generations(1), None).unwrap();
    fs::write(&path, text).unwrap();
    amended(directory.path(), |_| (), generations(1), None).unwrap();
    assert_eq!(stored_config(directory.path()).unwrap().gate.pairs, 2);
}

#[test]
fn changes_hold_from_the_next_generation_on_and_are_reported() {
    let config = tiny();
    let change = |config: &mut TrainConfig| {
        config.gate.pairs = 2;
        config.phases[2].lambda = 0.25;
    };
    let amend_at_two = |stop_after: Option<u32>| {
        let directory = learned(&config, 2);
        amended(directory.path(), change, generations(4), stop_after).unwrap();
        if stop_after.is_some() {
            amended(directory.path(), |_| (), Budget::default(), None).unwrap();
        }
        directory
    };
    let directory = amend_at_two(None);
    let file = WeightFile::load(directory.path().join("last.fsw")).unwrap();
    assert!(file.provenance.config.contains("# From generation 3 on: `gate.pairs` was 3 and is 2"));
    let metrics = fs::read_to_string(directory.path().join("metrics.jsonl")).unwrap();
    assert_eq!(metrics.matches(r#""event":"amended","generation":2"#).count(), 1, "{metrics}");
    // However often it is interrupted, and with the command that began it.
    assert_eq!(weights(directory.path()), weights(amend_at_two(Some(3)).path()));
    assert_eq!(weights(directory.path()), weights(amend_at_two(Some(4)).path()));
    let before = weights(directory.path());
    go_on(&config, directory.path(), 6).unwrap();
    assert_eq!(weights(directory.path()), before);
    // What was played can no longer change, and then nothing is touched.
    let snapshot_before = snapshot(directory.path());
    let error = amended(directory.path(), |config| config.phases[1].lambda = 0.75, generations(1), None).unwrap_err();
    assert!(matches!(&error, TrainError::Fixed { .. }) && error.to_string().contains("phases[2].lambda"), "{error}");
    assert_eq!(snapshot(directory.path()), snapshot_before);
    // As a kill leaves it after the marker was written: the old configuration beside the new marker.
    let path = directory.path().join("config.toml");
    let newest = fs::read_to_string(&path).unwrap();
    fs::write(&path, config.to_toml()).unwrap();
    go_on(&config, directory.path(), 6).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), newest);
}

#[test]
fn passes_added_later_learn_the_same_window_however_often_interrupted() {
    let config = TrainConfig { passes: 1, window: 3, ..tiny() };
    let amend_at_three = |stop_after: Option<u32>| {
        let directory = learned(&config, 3);
        amended(directory.path(), |config| config.passes = 2, generations(2), stop_after).unwrap();
        amended(directory.path(), |_| (), Budget::default(), None).unwrap();
        directory
    };
    let directory = amend_at_three(None);
    assert!(weights(directory.path()) == weights(amend_at_three(Some(3)).path()));
    // As a kill leaves it that comes before the amended generation is learned, and back to the checkpoint before.
    let killed = learned(&config, 3);
    let checkpoints = ["checkpoint", "checkpoint.previous"].map(|name| killed.path().join(name));
    fs::copy(&checkpoints[1], &checkpoints[0]).unwrap();
    amended(killed.path(), |config| config.passes = 2, generations(2), None).unwrap();
    assert!(weights(directory.path()) == weights(killed.path()));
}

#[test]
fn the_last_of_the_changes_at_one_generation_is_reported_last() {
    let directory = learned(&tiny(), 2);
    for pairs in [7, 9, 7] {
        amended(directory.path(), |config| config.gate.pairs = pairs, generations(0), None).unwrap();
    }
    let metrics = fs::read_to_string(directory.path().join("metrics.jsonl")).unwrap();
    let amendments: Vec<_> = metrics.lines().filter(|line| line.contains(r#""event":"amended""#)).collect();
    assert_eq!(amendments.len(), 3, "{metrics}");
    assert!(amendments[2].contains("was 3 and is 7"), "{metrics}");
}

/// As a kill leaves it after the checkpoint of a gate, if the best weights before were fitted after as many generations.
#[test]
fn best_weights_are_those_of_the_newest_checkpoint() {
    let (config, directory) = (tiny(), learned(&tiny(), 2));
    let before = weights(directory.path());
    let best = directory.path().join("best.fsw");
    let mut other = WeightFile::load(&best).unwrap();
    other.model.weights[0][0] ^= 1;
    other.save(&best).unwrap();
    let events = go_on(&config, directory.path(), 2).unwrap();
    assert!(has(&events, |event| matches!(event, TrainEvent::Restored { file } if file == "best.fsw")));
    assert!(weights(directory.path()) == before);
}

#[test]
fn another_build_that_goes_on_says_so() {
    let (config, directory) = (tiny(), learned(&tiny(), 2));
    let last = directory.path().join("last.fsw");
    let mut other = WeightFile::load(&last).unwrap();
    let now = other.provenance.build();
    other.provenance.commit = Some("0123456789ab".into());
    let before = other.provenance.build();
    assert!(before.ends_with("(commit 0123456789ab)"), "{before}");
    other.save(&last).unwrap();
    let told = |events: &[TrainEvent]| events.iter().filter(|e| matches!(e, TrainEvent::OtherBuild { .. })).count();
    let events = go_on(&config, directory.path(), 3).unwrap();
    assert!(events.contains(&TrainEvent::OtherBuild { generation: 2, before, now }), "{events:?}");
    let metrics = fs::read_to_string(directory.path().join("metrics.jsonl")).unwrap();
    assert!(metrics.contains("other-build"), "{metrics}");
    assert_eq!(told(&go_on(&config, directory.path(), 4).unwrap()), 0);
}

#[test]
fn generations_learned_again_are_reported() {
    let config = TrainConfig { gate: GateConfig { every: 0, ..tiny().gate }, ..tiny() };
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let budget = generations(9);
    let request = TrainRequest { budget, ..request(&config, directory.path(), &stop) };
    let outcome = train(&request, &mut |event| {
        stop.fetch_or(matches!(event, TrainEvent::Learned { generation: 5, .. }), Relaxed);
    });
    assert_eq!(outcome.unwrap(), Outcome::Stopped);
    stop.store(false, Relaxed);
    let mut told = Vec::new();
    let request = TrainRequest { budget: Budget { seconds: Some(1e-3), ..Budget::default() }, ..request };
    train(&request, &mut |event| told.push(event.clone())).unwrap();
    let Some(&TrainEvent::Start { generation, again, .. }) =
        told.iter().find(|event| matches!(event, TrainEvent::Start { .. }))
    else {
        panic!("{told:?}")
    };
    // Where the last checkpoint is depends on the clock; how far the run got does not.
    assert_eq!(generation + again, 6);
    // Although the time is up: what was learned is not lost.
    assert!(matches!(told.last(), Some(TrainEvent::End { generation: 6, finished: true, .. })), "{told:?}");
    let validated = |event: &TrainEvent| match event {
        TrainEvent::Learned { errors_by_empties, slopes_by_empties, .. } => {
            errors_by_empties.len() == 61 && errors_by_empties[20].is_some() && slopes_by_empties.len() == 61
        }
        _ => true,
    };
    assert!(told.iter().all(validated), "{told:?}");
}

#[test]
fn a_run_has_best_weights_from_its_first_generation_on() {
    let config = TrainConfig { gate: GateConfig { every: 0, ..tiny().gate }, ..tiny() };
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    train(&request(&config, directory.path(), &stop), &mut |event| {
        if let TrainEvent::Learned { generation: 1, .. } = event {
            let best = WeightFile::load(directory.path().join("best.fsw")).unwrap();
            assert_eq!(best.provenance.generations, 1);
            stop.store(true, Relaxed);
        }
    })
    .unwrap();
}
