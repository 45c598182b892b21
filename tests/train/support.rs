//! Runs in miniature, and disks that fail.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use flipside::board::Transcript;
use flipside::record::{Format, convert};
use flipside::storage::{Disk, LocalDisk};
use flipside::train::Step as PlanStep;
use flipside::train::{Budget, Outcome, TrainConfig, TrainError, TrainEvent, TrainRequest, train};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub const CONFIG: &str = include_str!("../miniature.toml");

pub fn config() -> TrainConfig {
    TrainConfig::from_toml(CONFIG).unwrap()
}

pub const BUDGET: Budget = Budget { seconds: None, generations: Some(4), games: None };

/// Few games a generation.
pub fn small(mut config: TrainConfig) -> TrainConfig {
    config.steps.iter_mut().filter_map(|step| step.play.as_mut()).for_each(|play| play.games = 200);
    config
}

/// Few weights.
pub fn with_few_weights(config: TrainConfig) -> TrainConfig {
    let patterns = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/train/small_set.toml").to_owned();
    TrainConfig { patterns, ..config }
}

/// Few games a generation and few weights, learned as they are played, at full width, with a gate after every second of the first eight
/// generations: only the files matter.
pub fn tiny() -> TrainConfig {
    let mut config = with_few_weights(small(config()));
    config.steps.retain(|step| step.play.is_some());
    config.steps.iter_mut().filter_map(|step| step.play.as_mut()).for_each(|play| play.selectivity = None);
    let [first, second, mut last] = <[PlanStep; 3]>::try_from(config.steps).unwrap();
    last.learn.clone_from(&first.learn);
    let (gate, twice) = (PlanStep { gate: true, ..Default::default() }, PlanStep { repeat: 2, ..last.clone() });
    let steps =
        [first, gate.clone(), second, last.clone(), gate.clone(), twice.clone(), gate.clone(), twice, gate, last];
    TrainConfig { finish: None, steps: steps.to_vec(), ..config }
}

/// The same plan with a gate after every generation, or with none before the end.
pub fn with_gates(mut config: TrainConfig, everywhere: bool) -> TrainConfig {
    config.steps.retain(|step| step.play.is_some() || step.learn.is_some());
    config.steps.iter_mut().for_each(|step| step.gate = everywhere && step.play.is_some());
    config
}

/// A configuration with two files of records in a folder: random games, and positions with the scores that a game gives them.
/// One line of each is not a record.
pub fn config_with_records(folder: &Path) -> TrainConfig {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let games: Vec<String> = (0..200).map(|_| Transcript::random(&mut rng).to_string()).collect();
    let half = |games: &[String]| games.join("\n") + "\nf5f5\n";
    let mut positions = Vec::new();
    convert(half(&games[..20]).as_bytes(), Format::F5d6, Format::Egaroucid, &mut positions, &mut |_| Ok(())).unwrap();
    positions.extend(b"no position 4\n");
    let files = ["games.txt", "positions.txt"].map(|name| folder.join(name));
    fs::write(&files[0], half(&games[20..])).unwrap();
    fs::write(&files[1], positions).unwrap();
    let files = files.map(|file| file.to_str().unwrap().to_owned()).to_vec();
    with_records(config(), files)
}

/// A plan that begins with files of records, two epochs of them.
pub fn with_records(mut config: TrainConfig, files: Vec<String>) -> TrainConfig {
    config.begin_with_records(files);
    config.steps[0].learn.as_mut().unwrap().exact_empties = 6;
    config
}

pub fn request<'r>(config: &'r TrainConfig, directory: &'r Path, stop: &'r AtomicBool) -> TrainRequest<'r> {
    TrainRequest { budget: BUDGET, ..TrainRequest::new(config, directory, stop) }
}

pub fn run(
    directory: &Path,
    stop: &AtomicBool,
    sink: &mut (dyn FnMut(&TrainEvent) + Send),
) -> Result<Outcome, TrainError> {
    train(&request(&config(), directory, stop), sink)
}

/// `last.fsw` and `best.fsw`.
pub fn weights(directory: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(directory.join("last.fsw")).unwrap(), fs::read(directory.join("best.fsw")).unwrap())
}

/// The weights of an undisturbed run. Each is made once.
pub fn undisturbed(config: &TrainConfig, threads: usize) -> (Vec<u8>, Vec<u8>) {
    type Made = BTreeMap<(String, usize), Arc<OnceLock<(Vec<u8>, Vec<u8>)>>>;
    static MADE: Mutex<Made> = Mutex::new(BTreeMap::new());
    let weights = Arc::clone(MADE.lock().unwrap().entry((config.to_toml(), threads)).or_default());
    weights.get_or_init(|| weights_of_a_new_run(config, threads)).clone()
}

fn weights_of_a_new_run(config: &TrainConfig, threads: usize) -> (Vec<u8>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let stop = AtomicBool::new(false);
    let outcome = pool.install(|| train(&request(config, directory.path(), &stop), &mut |_| ()));
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    weights(directory.path())
}

/// All files below a folder with their bytes, by name; links as what they point to. Without locks, which say who works there.
pub fn snapshot(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else if path.file_name().is_some_and(|name| name != "lock") {
            let bytes = fs::read_link(&path)
                .map_or_else(|_| fs::read(&path).unwrap(), |target| target.into_os_string().into_encoded_bytes());
            files.push((path.display().to_string(), bytes));
        }
    }
    files.sort();
    files
}

/// An operation of a run on its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Replace,
    Append,
    Sync,
    Rename,
    Remove,
}

/// A disk that fails on request, before or in the middle of a step. Waiting takes no time.
pub struct FailingDisk<F> {
    /// The error of a step on a file, if it is to fail.
    pub fault: F,
    /// The total time waited.
    pub waited: Mutex<Duration>,
    /// Free space in bytes.
    pub room: u64,
}

impl<F: Fn(Step, &Path) -> Option<i32> + Sync> FailingDisk<F> {
    pub fn new(fault: F) -> Self {
        Self { fault, waited: Mutex::default(), room: u64::MAX }
    }

    fn check(&self, step: Step, path: &Path) -> io::Result<()> {
        (self.fault)(step, path).map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
    }
}

impl<F: Fn(Step, &Path) -> Option<i32> + Sync> Disk for FailingDisk<F> {
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.check(Step::Replace, path)?;
        LocalDisk.replace(path, bytes)
    }

    fn append(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<u64> {
        if let Err(error) = self.check(Step::Append, path) {
            // As a disk that becomes full in the middle of it.
            LocalDisk.append(path, at, &bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        LocalDisk.append(path, at, bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<bool> {
        self.check(Step::Sync, path)?;
        LocalDisk.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(Step::Rename, from)?;
        LocalDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(Step::Remove, path)?;
        LocalDisk.remove(path)
    }

    fn room(&self, _folder: &Path) -> io::Result<u64> {
        Ok(self.room)
    }

    fn pause(&self, time: Duration) {
        *self.waited.lock().unwrap() += time;
    }
}
