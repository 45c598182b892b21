//! The run directory: what is refused, what is repaired, and that nothing is changed before everything needed is known to be intact.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flipside::games::GamesHeader;
use flipside::train::{
    Budget, GateConfig, Outcome, Resume, StoredRun, TrainConfig, TrainError, TrainEvent, TrainRequest, train,
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
        assert!(has(&events, |event| matches!(event, TrainEvent::Played { generation: 3, .. })));
        assert_eq!(weights(directory.path()), expected);
        // Repairs are reported once, and the metrics have nothing twice.
        assert!(!has(&go_on(&config, directory.path(), 4).unwrap(), |event| matches!(
            event,
            TrainEvent::FellBack { .. }
        )));
        let metrics = fs::read_to_string(file("metrics.jsonl")).unwrap();
        assert_eq!(metrics.matches(r#""event":"played""#).count(), 4, "{metrics}");
        assert_eq!(metrics.matches(r#""event":"gate""#).count(), 2, "{metrics}");
    };
    damaged(&|directory| flip(&directory.join("checkpoint"), 1000), "SHA-256");
    damaged(&|directory| fs::write(directory.join("checkpoint"), "").unwrap(), "only 0 bytes");
    // Games that only the newest checkpoint needs.
    damaged(
        &|directory| fs::remove_file(directory.join("games/00000003.fsg")).unwrap(),
        "00000003.fsg: it has 0 games",
    );

    // As after a kill between the two steps of writing one.
    let directory = learned(&config, 4);
    fs::remove_file(directory.path().join("checkpoint")).unwrap();
    go_on(&config, directory.path(), 4).unwrap();
    assert_eq!(weights(directory.path()), expected);
}

#[test]
fn a_directory_of_something_else_is_refused_and_names_of_others_are_left_alone() {
    let config = tiny();
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
    assert_eq!(journals(directory.path()), 6 + 4);
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
    go_on(&config, directory.path(), 4).unwrap();
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
    assert!(matches!(error, TrainError::OtherRun { .. }), "{error}");
    fs::write(&path, format!("# The same set.\n{set}")).unwrap();
    go_on(&config, directory.path(), 3).unwrap();
    // With the stored configuration it needs no file.
    fs::remove_file(&path).unwrap();
    resumed(directory.path(), generations(1), None).unwrap();
    let newest = WeightFile::load(directory.path().join("last.fsw")).unwrap();
    assert_eq!((newest.provenance.generations, &*newest.model.set.name), (4, "small"));
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
        stop.fetch_or(matches!(event, TrainEvent::Played { .. }), Relaxed);
    });
    assert_eq!(outcome.unwrap(), Outcome::Stopped);
    stop.store(false, Relaxed);
    let error = train(&TrainRequest { from: None, ..request }, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrainError::OtherRun { .. }) && error.to_string().contains("--from"), "{error}");
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
    fs::write(&path, format!(r#"{whole}{{"event":"played","gener"#)).unwrap();
    go_on(&config, directory.path(), 2).unwrap();
    let metrics = fs::read_to_string(&path).unwrap();
    assert!(metrics.starts_with(&whole));
    let events: Vec<TrainEvent> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for generation in 0..2 {
        let learned =
            |event: &&TrainEvent| matches!(event, TrainEvent::Played { generation: g, .. } if *g == generation);
        assert_eq!(events.iter().filter(learned).count(), 1);
    }
    let Some(TrainEvent::Start { generation: 1, resumed: true, games: 200, elapsed, .. }) =
        events.iter().rfind(|event| matches!(event, TrainEvent::Start { .. }))
    else {
        panic!("{metrics}")
    };
    assert!(*elapsed > 0.0);
}

/// A session of a run with its stored configuration.
fn resumed(directory: &Path, budget: Budget, stop_after: Option<u32>) -> Result<Vec<TrainEvent>, TrainError> {
    let stop = AtomicBool::new(false);
    let config = StoredRun::read(directory)?.config;
    let mut events = Vec::new();
    let request = TrainRequest { budget, resume: Resume::Stored, ..TrainRequest::new(&config, directory, &stop) };
    train(&request, &mut |event| {
        if let TrainEvent::Played { generation, .. } = event {
            stop.fetch_or(stop_after == Some(*generation), Relaxed);
        }
        events.push(event.clone());
    })
    .map(|_| events)
}

/// What a run has that cannot be derived are its games, two checkpoints and the events.
#[test]
fn what_is_derived_is_written_again_and_a_lost_checkpoint_is_learned_from_the_games() {
    let config = tiny();
    let directory = learned(&config, 4);
    let file = |name: &str| directory.path().join(name);
    let whole = snapshot(directory.path());
    let without_time = |files: Vec<(String, Vec<u8>)>| {
        files.into_iter().filter(|(name, _)| !name.ends_with("metrics.jsonl")).collect::<Vec<_>>()
    };
    for name in ["config.toml", "best.fsw", "last.fsw"] {
        fs::write(file(name), "edited").unwrap();
        go_on(&config, directory.path(), 4).unwrap();
        fs::remove_file(file(name)).unwrap();
        go_on(&config, directory.path(), 4).unwrap();
        assert!(without_time(snapshot(directory.path())) == without_time(whole.clone()), "{name}");
    }
    for damage in [|path: &Path| flip(path, 1000), |path: &Path| fs::remove_file(path).unwrap()] {
        for name in ["checkpoint", "checkpoint.previous"] {
            damage(&file(name));
        }
        let events = go_on(&config, directory.path(), 4).unwrap();
        assert!(!has(&events, |event| matches!(event, TrainEvent::Batch { replayed: false, .. })), "{events:?}");
        assert_eq!(weights(directory.path()), undisturbed(&config, 2));
    }
    #[cfg(unix)]
    {
        fs::remove_file(file("checkpoint")).unwrap();
        std::os::unix::fs::symlink("nowhere", file("checkpoint")).unwrap();
        assert!(matches!(refused(&config, directory.path()), TrainError::Dangling(path) if path == file("checkpoint")));
        fs::remove_file(file("checkpoint")).unwrap();
    }
    // What cannot be read is there.
    let _ = fs::remove_file(file("checkpoint"));
    fs::create_dir(file("checkpoint")).unwrap();
    assert!(matches!(refused(&config, directory.path()), TrainError::File(_)));
}

#[test]
fn damage_is_told_at_once_and_not_written_over() {
    let config = tiny();
    let directory = learned(&config, 4);
    let file = |name: &str| directory.path().join(name);
    let games = fs::read(file("games/00000001.fsg")).unwrap();
    // Bytes after the end, whatever they are; a flipped bit; games that are missing.
    let zeros = [games.clone(), vec![0; 100]].concat();
    let more = [games.clone(), b"more".to_vec()].concat();
    let mut flipped = games.clone();
    flipped[100] ^= 1;
    for damaged in [&zeros, &more, &flipped, &games[..games.len() - 1].to_vec()] {
        fs::write(file("games/00000001.fsg"), damaged).unwrap();
        let error = refused(&config, directory.path()).to_string();
        assert!(error.contains("00000001.fsg"), "{error}");
    }
    fs::write(file("games/00000001.fsg"), games).unwrap();
    let metrics = fs::read_to_string(file("metrics.jsonl")).unwrap();
    fs::write(file("metrics.jsonl"), metrics.replacen("\"games\":200", "\"games\":300", 1)).unwrap();
    let error = refused(&config, directory.path()).to_string();
    assert!(error.contains("metrics.jsonl: line "), "{error}");
    fs::write(file("metrics.jsonl"), metrics).unwrap();
    go_on(&config, directory.path(), 4).unwrap();
}

#[test]
fn a_run_with_another_configuration_continues_from_the_weights_and_games_of_an_older_one() {
    let config = with_few_weights(small(config()));
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| folder.path().join(name);
    go_on(&config, &run("old"), 3).unwrap();
    let before = snapshot(&run("old"));
    let changed = TrainConfig { gate: GateConfig { pairs: 2, ..config.gate }, ..config.clone() };
    let session = |name: &str, config: &TrainConfig, older: &str, stop_after: Option<u32>| {
        let (stop, mut events, older, directory) = (AtomicBool::new(false), Vec::new(), run(older), run(name));
        let request = TrainRequest { continues: Some(&older), ..TrainRequest::new(config, &directory, &stop) };
        let request = TrainRequest { budget: generations(2), ..request };
        let outcome = train(&request, &mut |event| {
            events.push(event.clone());
            stop.fetch_or(
                matches!(event, TrainEvent::Played { generation, .. } if stop_after == Some(*generation)),
                Relaxed,
            );
        });
        outcome.map(|_| events)
    };
    let events = session("new", &changed, "old", None).unwrap();
    // It learns the older games too.
    let learned =
        |games: u64| move |event: &TrainEvent| matches!(event, TrainEvent::Learned { games: g, .. } if *g == games);
    assert!(has(&events, learned(400)) && has(&events, learned(800)), "{events:?}");
    assert!(has(&events, |event| matches!(event, TrainEvent::Start { generation: 3, games: 600, .. })));
    assert_eq!(fs::read_dir(run("new").join("games")).unwrap().count(), 2);
    // However often it is interrupted, and whatever the older run does meanwhile.
    session("stopped", &changed, "old", Some(3)).unwrap();
    go_on(&config, &run("old"), 4).unwrap();
    session("stopped", &changed, "old", None).unwrap();
    assert!(weights(&run("stopped")) == weights(&run("new")));
    // One continues the next.
    let events = session("third", &config, "new", None).unwrap();
    assert!(has(&events, learned(1200)), "{events:?}");
    let error = session("new", &config, "old", None).unwrap_err().to_string();
    assert!(error.contains("`gate.pairs` was 2 and is 3") && error.contains("--continue"), "{error}");
    for (name, bytes) in before.iter().filter(|(name, _)| name.ends_with(".fsg")) {
        assert!(fs::read(name).unwrap() == *bytes, "{name}");
    }
    let games = run("old").join("games/00000001.fsg");
    let mut bytes = fs::read(&games).unwrap();
    bytes[100] ^= 1;
    fs::write(&games, bytes).unwrap();
    let error = refused_by(|| session("new", &changed, "old", None), &run("new"));
    assert!(error.contains("00000001.fsg"), "{error}");
}

#[test]
fn a_run_finds_the_run_it_continues_if_both_were_moved() {
    let config = with_few_weights(small(config()));
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    fs::create_dir(&before).unwrap();
    go_on(&config, &before.join("old"), 2).unwrap();
    let stop = AtomicBool::new(false);
    let begin = |runs: &Path, more: u32| {
        let (older, directory) = (runs.join("old"), runs.join("new"));
        let request = TrainRequest { continues: Some(&older), ..TrainRequest::new(&config, &directory, &stop) };
        train(&TrainRequest { budget: generations(more), ..request }, &mut |_| ())
    };
    let resume = |directory: &Path| {
        let request = TrainRequest::new(&config, directory, &stop);
        train(&TrainRequest { resume: Resume::Stored, budget: generations(1), ..request }, &mut |_| ())
    };
    begin(&before, 1).unwrap();
    fs::rename(&before, &after).unwrap();
    assert_eq!(StoredRun::read(&after.join("new")).unwrap().continues, [after.join("old").canonicalize().unwrap()]);
    resume(&after.join("new")).unwrap();
    // The command that began it goes on with it too.
    begin(&after, 3).unwrap();
    fs::rename(after.join("old"), folder.path().join("elsewhere")).unwrap();
    let error = resume(&after.join("new")).unwrap_err().to_string();
    assert!(error.contains("old") && error.contains("which this one continues"), "{error}");
}

/// The error of a session, which leaves a run as it was.
fn refused_by(session: impl FnOnce() -> Result<Vec<TrainEvent>, TrainError>, run: &Path) -> String {
    let before = snapshot(run);
    let error = session().unwrap_err().to_string();
    assert!(snapshot(run) == before, "{error}");
    error
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
    let events = resumed(directory.path(), generations(2), Some(2)).unwrap();
    assert_eq!(budget_of(&events), Some(generations(4)));
    // Without a budget it continues to where it was meant to end.
    let events = resumed(directory.path(), Budget::default(), None).unwrap();
    assert_eq!(budget_of(&events), Some(generations(4)));
    assert!(matches!(events.last(), Some(TrainEvent::End { generation: 4, finished: true, .. })), "{events:?}");
    assert!(weights(directory.path()) == undisturbed(&config, 2));
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(resumed(empty.path(), generations(1), None), Err(TrainError::NoRun(_))));
    let path = directory.path().join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    // The run does not follow what somebody has written there.
    fs::write(&path, text.replace("lambda = 0", "lambda = 1")).unwrap();
    assert_eq!(StoredRun::read(directory.path()).unwrap().config, config);
    fs::remove_file(&path).unwrap();
    assert_eq!(StoredRun::read(directory.path()).unwrap().config, config);
    resumed(directory.path(), generations(1), None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn generations_learned_again_are_reported() {
    let config = with_gates(tiny(), false);
    let (directory, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let budget = generations(9);
    let request = TrainRequest { budget, ..request(&config, directory.path(), &stop) };
    let outcome = train(&request, &mut |event| {
        stop.fetch_or(matches!(event, TrainEvent::Played { generation: 5, .. }), Relaxed);
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
        TrainEvent::Played { errors_by_empties, slopes_by_empties, .. } => {
            errors_by_empties.len() == 61 && errors_by_empties[20].is_some() && slopes_by_empties.len() == 61
        }
        _ => true,
    };
    assert!(told.iter().all(validated), "{told:?}");
}

#[test]
fn a_run_has_best_weights_from_its_first_generation_on() {
    let config = with_gates(tiny(), false);
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    train(&request(&config, directory.path(), &stop), &mut |event| {
        if let TrainEvent::Played { generation: 1, .. } = event {
            let best = WeightFile::load(directory.path().join("best.fsw")).unwrap();
            assert_eq!(best.provenance.generations, 1);
            stop.store(true, Relaxed);
        }
    })
    .unwrap();
}
