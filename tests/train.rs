//! Training as its users meet it: same seed, same bytes, whatever happens on the way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flipside::export::{Engine, encode};
use flipside::train::{Budget, Outcome, TrainConfig, TrainError, TrainEvent, train};
use flipside::weights::WeightFile;

/// Three phases of quick generations, two batches each, with a gate in every second one.
const CONFIG: &str = r#"
patterns = "classic"
seed = 5
window = 2
passes = 2
step = { rule = "decayed", rate = 1.0, half = 30.0, floor = 0.01 }
gate = { every = 2, pairs = 3, depth = 1, exact-empties = 6 }

[[phases]]
generations = 2
games = 2100
lambda = 0.9
stage-plies = 12
self-play = { depth = 1, exact-empties = 4, opening-plies = 30, exploration = 0.02, update = "td" }

[[phases]]
generations = 1
games = 2100
lambda = 0.5
stage-plies = 4
self-play = { depth = 2, exact-empties = 6, opening-plies = 50, exploration = 0.02, update = "tdleaf" }

[[phases]]
generations = 0
games = 2100
lambda = 0.5
stage-plies = 2
self-play = { depth = 1, exact-empties = 4, opening-plies = 40, exploration = 0.02, update = "td" }
"#;

fn config() -> TrainConfig {
    TrainConfig::from_layers(&[CONFIG.parse().unwrap()]).unwrap()
}

const BUDGET: Budget = Budget { seconds: None, generations: Some(4), games: None };

fn run(directory: &Path, stop: &AtomicBool, sink: &mut (dyn FnMut(&TrainEvent) + Send)) -> Result<Outcome, TrainError> {
    train(&config(), directory, BUDGET, true, None, stop, sink)
}

fn weights(directory: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(directory.join("last.fsw")).unwrap(), fs::read(directory.join("best.fsw")).unwrap())
}

/// The weights of a run that nothing disturbs.
fn undisturbed(threads: usize) -> (Vec<u8>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let outcome = pool.install(|| run(directory.path(), &AtomicBool::new(false), &mut |_| ()));
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    weights(directory.path())
}

#[test]
fn one_two_and_three_threads_give_the_same_bytes() {
    let one = undisturbed(1);
    assert_eq!(one, undisturbed(2));
    assert_eq!(one, undisturbed(3));
    let last = WeightFile::from_bytes(&one.0).unwrap();
    assert_eq!(last.provenance.generations, 4);
    assert_eq!(last.provenance.games, 8400);
    assert_eq!(last.provenance.config, config().to_toml());
    assert!(last.model.weights.iter().flatten().any(|&weight| weight != 0));
}

#[test]
fn a_run_stopped_after_every_event_and_resumed_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let mut sessions = 0;
    loop {
        let stop = AtomicBool::new(false);
        let mut batches = 0;
        // Stop in the first batch that had to be played: sessions end in all places where a run can be stopped.
        let outcome = run(directory.path(), &stop, &mut |event| {
            if let TrainEvent::Batch { replayed: false, .. } = event {
                batches += 1;
                stop.store(true, Relaxed);
            }
        });
        sessions += 1;
        assert!(batches <= 2, "a stopped run ends soon");
        if outcome.unwrap() == Outcome::Finished {
            break;
        }
    }
    assert!(sessions >= 4, "{sessions}");
    assert_eq!(weights(directory.path()), undisturbed(2));
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

    let other = TrainConfig { seed: 6, ..config() };
    let error = train(&other, directory.path(), BUDGET, true, None, &stop, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, TrainError::OtherConfig { key, .. } if key == "seed"), "{error}");
    let error = train(&config(), directory.path(), BUDGET, false, None, &stop, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrainError::Exists(_)), "{error}");
}

#[test]
fn a_damaged_checkpoint_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    run(directory.path(), &stop, &mut |_| stop.store(true, Relaxed)).unwrap();
    let path = directory.path().join("checkpoint");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = run(directory.path(), &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("checkpoint"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn runaway_weights_stop_the_run_and_spare_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let wild =
        CONFIG.replace(r#"rule = "decayed", rate = 1.0, half = 30.0, floor = 0.01"#, r#"rule = "fixed", rate = 40.0"#);
    let config = TrainConfig::from_layers(&[wild.parse().unwrap()]).unwrap();
    let error = train(&config, directory.path(), BUDGET, true, None, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrainError::Diverged(_)), "{error}");
    WeightFile::load(&directory.path().join("last.fsw")).unwrap();
}

#[test]
fn weights_of_an_engines_own_set_export_without_loss() {
    for (engine, stages) in [(Engine::Zebra, 59), (Engine::Ntest, 20)] {
        let text = CONFIG.replace("classic", engine.name()).replace("games = 2100", "games = 200");
        let text = text.replace("stage-plies = 12", "stage-plies = 6").replace("stage-plies = 4", "stage-plies = 1");
        let config = TrainConfig::from_layers(&[text.parse().unwrap()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let budget = Budget { generations: Some(3), ..BUDGET };
        train(&config, directory.path(), budget, true, None, &AtomicBool::new(false), &mut |_| ()).unwrap();
        let model = WeightFile::load(&directory.path().join("last.fsw")).unwrap().model;
        assert_eq!((model.stages.count(), model.scale), (stages, engine.scale()));
        let exported = encode(engine, &model, false).unwrap();
        assert!(exported.quantisation.is_exact(), "{:?}", exported.quantisation);
        assert!(model.weights.iter().all(|stage| stage.iter().any(|&weight| weight != 0)));
    }
}

fn spawn(directory: &Path, config: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.args(["train", "--preset", "quick", "--generations", "4", "--threads", "2", "--run"]);
    command.arg(directory).arg("--config").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until the run has told of so many events, or has ended.
fn await_events(directory: &Path, child: &mut Child, events: usize) {
    while child.try_wait().unwrap().is_none() {
        let told = fs::read_to_string(directory.join("metrics.jsonl")).unwrap_or_default();
        if told.lines().count() >= events {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn kill_9_anywhere_costs_nothing_but_time() {
    let folder = tempfile::tempdir().unwrap();
    let config: PathBuf = folder.path().join("config.toml");
    fs::write(&config, CONFIG).unwrap();
    let directory = folder.path().join("run");
    let mut told = 0;
    for session in 1.. {
        let mut child = spawn(&directory, &config);
        // Each session is killed a few events later than the last, so that one will reach the end.
        await_events(&directory, &mut child, told + 3 * session);
        let _ = child.kill();
        let status = child.wait().unwrap();
        if directory.join("last.fsw").exists() {
            WeightFile::load(&directory.join("last.fsw")).unwrap();
        }
        if status.success() {
            break;
        }
        told = fs::read_to_string(directory.join("metrics.jsonl")).unwrap_or_default().lines().count();
    }
    assert_eq!(weights(&directory), undisturbed(2));
    let names = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.ends_with(".tmp")), "nothing half-written is left behind");
}

#[cfg(unix)]
#[test]
fn sigterm_ends_with_75_and_the_same_command_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let config: PathBuf = folder.path().join("config.toml");
    fs::write(&config, CONFIG).unwrap();
    let directory = folder.path().join("run");
    let mut child = spawn(&directory, &config);
    await_events(&directory, &mut child, 3);
    let killed = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(75));
    assert_eq!(spawn(&directory, &config).wait().unwrap().code(), Some(0));
    assert_eq!(weights(&directory), undisturbed(2));
}
