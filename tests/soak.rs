//! A soak test: runs, fits and matches that are killed, stopped, starved of disk and tampered with at random end with the same bytes as
//! undisturbed ones, and refuse what they cannot repair without changing anything.
//!
//! Short by default. `SOAK_MINUTES=60 cargo test --release --test soak` runs for an hour.

#![cfg(unix)]

#[path = "cli/support.rs"]
#[allow(dead_code)]
mod calling;
#[path = "train/support.rs"]
#[allow(dead_code)] // Some items are only used by the tests of `train`.
mod support;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use flipside::board::Transcript;
use flipside::storage::FileError;
use flipside::train::{
    Budget, GateConfig, Outcome, RecordsConfig, TrainConfig, TrainError, TrainEvent, TrainRequest, train,
};
use flipside::weights::WeightFile;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};

use calling::program;
use support::*;

/// Rounds to make: `short`, or as many as fit into `SOAK_MINUTES`.
fn rounds(short: u64) -> impl Iterator<Item = u64> {
    let minutes = std::env::var("SOAK_MINUTES").ok().map(|text| text.parse::<f64>().expect("SOAK_MINUTES is a number"));
    let began = Instant::now();
    (0..).take_while(move |&round| match minutes {
        Some(minutes) => began.elapsed().as_secs_f64() < 60.0 * minutes,
        None => round < short,
    })
}

/// Configurations with a bit of everything: records, fits.
fn variants(folder: &Path) -> Vec<TrainConfig> {
    let games = folder.join("records.txt");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let text: String = (0..100).map(|_| Transcript::random(&mut rng).to_string() + "\n").collect();
    fs::write(&games, text + "f5f5\n").unwrap();
    let files = vec![games.display().to_string()];
    let records = RecordsConfig { files, passes: 2, exact_empties: 6, sha256: Vec::new() };
    let gate = GateConfig { every: 1, ..tiny().gate };
    vec![tiny(), TrainConfig { records: Some(records), gate, ..tiny() }, with_few_weights(small(config()))]
}

/// How a session ended.
#[derive(PartialEq, Debug)]
enum End {
    Finished,
    /// Killed, stopped, or out of patience: resumable.
    Broken,
    /// An error that says that the run cannot continue.
    Refused(String),
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = program();
    command.current_dir(folder).args(arguments).args(["--threads", "2", "-q"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Lets a program run for a while, then kills it or asks it to stop, perhaps after closing its terminal.
fn interrupted(mut child: Child, rng: &mut ChaCha8Rng, longest: Duration) -> (End, Vec<u8>) {
    std::thread::sleep(longest.mul_f64(rng.random()));
    if rng.random_bool(0.5) {
        child.kill().unwrap();
    } else {
        // It may have ended before.
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    }
    let output = child.wait_with_output().unwrap();
    let end = match output.status.code() {
        Some(0) => End::Finished,
        // By the signal, or by a stop.
        None | Some(75) => End::Broken,
        code => match String::from_utf8_lossy(&output.stderr).into_owned() {
            error if error.contains("another process is training") => End::Broken,
            error => {
                assert_eq!(code, Some(1), "{error}");
                End::Refused(error)
            }
        },
    };
    (end, output.stdout)
}

/// Trains once nobody else holds the directory: a program that another test is just starting briefly has our lock too.
fn train_alone(request: &TrainRequest, sink: &mut (dyn FnMut(&TrainEvent) + Send)) -> Result<Outcome, TrainError> {
    loop {
        match train(request, sink) {
            Err(TrainError::Locked(_)) => std::thread::sleep(Duration::from_millis(10)),
            outcome => return outcome,
        }
    }
}

/// A session in this process, on a disk that fails at random and is stopped at random.
fn failing(config: &TrainConfig, directory: &Path, budget: Budget, rng: &mut ChaCha8Rng) -> End {
    let (stop, steps) = (AtomicBool::new(false), AtomicU32::new(0));
    // Temporary failures, a disk that stays full, or one without permissions, from some step on.
    let (begin, length) = (rng.random_range(0..30), rng.random_range(1..8));
    let code = [5, 28, 28, 13, 122][rng.random_range(0..5)];
    let for_good = rng.random_bool(0.3);
    let disk = FailingDisk::new(|_, _| {
        let step = steps.fetch_add(1, Relaxed);
        let fails = step >= begin && (for_good || (step - begin) % 16 < length);
        fails.then_some(code)
    });
    let mut events = if rng.random_bool(0.5) { rng.random_range(1..20) } else { u32::MAX };
    let request = TrainRequest { disk: &disk, budget, ..TrainRequest::new(config, directory, &stop) };
    let outcome = train_alone(&request, &mut |_| {
        events = events.saturating_sub(1);
        stop.fetch_or(events == 0, Relaxed);
    });
    match outcome {
        Ok(Outcome::Finished) => End::Finished,
        Ok(Outcome::Stopped) | Err(TrainError::OutOfPatience { .. } | TrainError::File(FileError::Io { .. })) => {
            End::Broken
        }
        Err(error) => End::Refused(error.to_string()),
    }
}

/// Does to a run directory what kills, tools and bad memory do. Returns the old contents in case the run cannot continue.
fn tamper(directory: &Path, rng: &mut ChaCha8Rng) -> HashMap<PathBuf, Vec<u8>> {
    let file = |name: &str| directory.join(name);
    let newest_games = fs::read_dir(file("games")).into_iter().flatten().map(|entry| entry.unwrap().path()).max();
    let path = match rng.random_range(0..8) {
        0 => file("checkpoint"),
        1 => file("best.fsw"),
        2 => file("last.fsw"),
        3 | 4 => newest_games.unwrap_or_else(|| file("games")),
        5 => file("metrics.jsonl"),
        6 => file("config.toml"),
        _ => {
            fs::write(file(".flipside-x1.tmp"), "half").unwrap();
            return HashMap::new();
        }
    };
    let Ok(mut bytes) = fs::read(&path) else { return HashMap::new() };
    let before = HashMap::from([(path.clone(), bytes.clone())]);
    let name = path.file_name().unwrap().to_str().unwrap();
    match rng.random_range(0..3) {
        // Lost events cannot be reported again, and comments do not count as edits.
        _ if name == "metrics.jsonl" => bytes.extend(br#"{"event":"learned","generation":7,"lo"#),
        0 => bytes.truncate(rng.random_range(0..=bytes.len())),
        1 if !bytes.is_empty() => {
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return before;
        }
    }
    fs::write(&path, bytes).unwrap();
    before
}

/// Checks that the directory of a finished run holds the same as that of an undisturbed one, and nothing else.
fn check(directory: &Path, undisturbed: &Path) {
    assert!(weights(directory) == weights(undisturbed), "other weights");
    let metrics = fs::read_to_string(directory.join("metrics.jsonl")).unwrap();
    let events: Vec<TrainEvent> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for generation in 0..GENERATIONS {
        let learned =
            |event: &&TrainEvent| matches!(event, TrainEvent::Learned { generation: g, .. } if *g == generation);
        assert_eq!(events.iter().filter(learned).count(), 1, "generation {generation}: {metrics}");
    }
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(directory), names(undisturbed));
    assert_eq!(names(&directory.join("games")), names(&undisturbed.join("games")));
    for name in names(&directory.join("games")) {
        let [found, wanted] = [directory, undisturbed].map(|run| fs::read(run.join("games").join(&name)).unwrap());
        assert!(found == wanted, "{name:?} differs");
    }
}

/// Generations after which a run ends before it gets a larger budget: where a gate is due anyway, or only at the very end if weights
/// are fitted at the end. So a run that goes back to the previous checkpoint has the same gates.
fn stages(config: &TrainConfig) -> &'static [u32] {
    if config.fit.is_some() { &[GENERATIONS] } else { &[2, 4, 6, GENERATIONS] }
}

const GENERATIONS: u32 = 8;

fn budget(generations: u32) -> Budget {
    Budget { generations: Some(generations), ..Budget::default() }
}

/// An undisturbed run to its end.
fn finish(config: &TrainConfig, directory: &Path, generations: u32) -> End {
    let stop = AtomicBool::new(false);
    let request = TrainRequest { budget: budget(generations), ..TrainRequest::new(config, directory, &stop) };
    match train_alone(&request, &mut |_| ()) {
        Ok(_) => End::Finished,
        Err(error) => End::Refused(error.to_string()),
    }
}

/// A run from one stage to the next with all that can happen to it; returns the number of sessions it took. Programs run for
/// `longest` at most before they are interrupted.
fn disturbed(config: &TrainConfig, directory: &Path, generations: u32, longest: Duration, rng: &mut ChaCha8Rng) -> u32 {
    let (folder, shown) = (directory.parent().unwrap(), directory.display().to_string());
    let number = generations.to_string();
    let arguments =
        ["train", "--preset", "quick", "--config", "config.toml", "--generations", &number, "--run", &shown];
    for session in 0.. {
        let tampers = directory.exists() && rng.random_bool(0.4);
        let before = if tampers { tamper(directory, rng) } else { HashMap::new() };
        let tampered = directory.exists().then(|| snapshot(directory));
        let end = match rng.random_range(0..3) {
            _ if session == 30 => finish(config, directory, generations),
            0 => failing(config, directory, budget(generations), rng),
            _ => interrupted(start(folder, &arguments), rng, longest).0,
        };
        match end {
            End::Finished => return session + 1,
            End::Broken => {}
            End::Refused(error) => {
                assert!(!before.is_empty(), "session {session}: {error}");
                assert!(Some(snapshot(directory)) == tampered, "changed, and then refused: {error}");
                before.into_iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            }
        }
    }
    unreachable!()
}

#[test]
fn runs() {
    let folder = tempfile::tempdir().unwrap();
    let variants = variants(folder.path());
    let undisturbed = |variant: usize| folder.path().join(format!("undisturbed{variant}"));
    let mut longest = Duration::ZERO;
    for (variant, config) in variants.iter().enumerate() {
        for &generations in stages(config) {
            let began = Instant::now();
            assert_eq!(finish(config, &undisturbed(variant), generations), End::Finished);
            longest = longest.max(began.elapsed());
        }
    }
    let (mut sessions, mut stretches) = (0, 0);
    for round in rounds(2 * variants.len() as u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(round);
        let variant = round as usize % variants.len();
        let config = &variants[variant];
        fs::write(folder.path().join("config.toml"), config.to_toml()).unwrap();
        let directory = folder.path().join(format!("run{round}"));
        for &generations in stages(config) {
            println!("round {round}, {generations} generations");
            sessions += disturbed(config, &directory, generations, longest, &mut rng);
            stretches += 1;
            // Once more, to repair whatever was damaged last.
            assert_eq!(finish(config, &directory, generations), End::Finished);
        }
        check(&directory, &undisturbed(variant));
        fs::remove_dir_all(&directory).unwrap();
    }
    assert!(sessions > stretches, "nothing was interrupted");
}

#[test]
fn kill_9_anywhere_costs_nothing_but_time() {
    let folder = tempfile::tempdir().unwrap();
    let config = config_with_records(folder.path());
    fs::write(folder.path().join("config.toml"), config.to_toml()).unwrap();
    let directory = folder.path().join("run");
    let told = || fs::read_to_string(directory.join("metrics.jsonl")).unwrap_or_default().lines().count();
    for session in 1.. {
        // Each session is killed a few events later than the last, so that one will reach the end.
        let enough = told() + 3 * session;
        let arguments = ["train", "--preset", "quick", "--config", "config.toml", "--generations", "4", "--run", "run"];
        let mut child = start(folder.path(), &arguments);
        while told() < enough && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if directory.join("last.fsw").exists() {
            WeightFile::load(directory.join("last.fsw")).unwrap();
        }
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(weights(&directory), undisturbed(&config, 2));
    let mut names = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|name| !name.ends_with(".tmp")), "nothing half-written is left behind");
}

#[test]
fn fits_and_matches() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut config = tiny();
    config.phases.iter_mut().for_each(|phase| phase.games = 2_000);
    train(&request(&config, &run, &AtomicBool::new(false)), &mut |_| ()).unwrap();
    let fit = ["fit", "run", "--patterns", &config.patterns, "--epochs", "6", "-o"];
    let a_match = ["match", "mobility", "squares", "--pairs", "200", "--depth", "2", "--games"];
    let whole = |arguments: &[&str], file: &str| {
        let output = start(folder.path(), &[arguments, &[file]].concat()).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let began = Instant::now();
    whole(&fit, "whole.fsw");
    let a_fit = began.elapsed();
    let result = whole(&a_match, "whole.log");
    let both = began.elapsed();
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let mut breaks = 0;
    for round in rounds(2) {
        let mut rng = ChaCha8Rng::seed_from_u64(round);
        let (weights, log) = (format!("fit{round}.fsw"), format!("match{round}.log"));
        for (arguments, file, takes) in [(&fit[..], &weights, a_fit), (&a_match[..], &log, both - a_fit)] {
            for _ in 0..10 {
                let child = start(folder.path(), &[arguments, &[file]].concat());
                let (end, _) = interrupted(child, &mut rng, takes / 2);
                match end {
                    End::Finished => break,
                    End::Broken => breaks += 1,
                    End::Refused(error) => panic!("round {round}: {error}"),
                }
            }
        }
        whole(&fit, &weights);
        assert!(read(&weights) == read("whole.fsw"), "round {round}: other weights");
        assert_eq!(whole(&a_match, &log), result, "round {round}");
    }
    assert!(breaks > 0, "nothing was interrupted");
}
