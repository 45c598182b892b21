//! Opening a run directory: everything is checked before anything is changed.

use std::sync::Arc;
use std::time::Instant;

use super::checkpoint::{self, Resumed};
use super::config::TrainConfig;
use super::directory::{BEST, CONFIG, GAMES, LAST, MARKER, METRICS, RunDirectory};
use super::error::TrainError;
use super::event::TrainEvent;
use super::identity::{Identity, differences, hash_of};
use super::journal;
use super::keeper::{Halt, Keeper, Metrics, Sink};
use super::records;
use super::request::TrainRequest;
use super::room;
use super::run::{Clock, Run, Saved};
use super::state::{Progress, RunState};
use crate::eval::StageMap;
use crate::learn::Learner;
use crate::pattern::Layout;
use crate::storage::remove_temporaries;
use crate::weights::WeightFile;

/// Limits in bytes of a configuration, of metrics, and of a weight file.
const CONFIG_LIMIT: u64 = 1 << 20;
const METRICS_LIMIT: u64 = 1 << 30;
const WEIGHTS_LIMIT: u64 = 1 << 30;

/// What the directory held when it was opened.
struct Kept {
    config: bool,
    last: Option<Vec<u8>>,
    best: Option<Vec<u8>>,
}

/// Begins a run, or goes on with the one that is there, and tells of it.
pub(super) fn open<'r>(request: &TrainRequest<'r>, sink: Sink<'r>) -> Result<Run<'r>, Halt> {
    let began = Instant::now();
    let set = request.config.pattern_set().map_err(TrainError::from)?;
    let layout = Arc::new(Layout::new(&set).map_err(TrainError::from)?);
    let config = records::with_checksums(request.config)?;
    let identity =
        Identity { config: config.to_toml(), patterns: hash_of(&set), parent: request.from.map(WeightFile::hash) };
    let directory = RunDirectory::open(request.directory)?;
    let resumed = find(request, &directory, &config, &identity, &layout)?;
    check_config(&directory, &identity)?;
    let metrics = directory.read(METRICS, "file of events", METRICS_LIMIT)?;
    let metrics = Metrics::of(&metrics.unwrap_or_default());
    let weights = |name| directory.read(name, "weight file", WEIGHTS_LIMIT);
    let kept = Kept {
        config: directory.read(CONFIG, "configuration", CONFIG_LIMIT)?.is_some(),
        last: weights(LAST)?,
        best: weights(BEST)?,
    };

    // Nothing was changed until here; nothing that resuming needs can be missing from here on.
    let is_new = resumed.is_none();
    let Resumed { state, is_newest, fault } = match resumed {
        Some(resumed) => resumed,
        None => Resumed { state: new_state(request, &config, &layout)?, is_newest: false, fault: None },
    };
    check_room(request, &directory, &config, &state, is_new)?;
    let clock = Clock { started: began, earlier: state.progress.elapsed.max(metrics.elapsed) };
    let saved = Saved { at: Instant::now(), generation: state.progress.generation, newest_is_good: is_newest };
    let keeper = Keeper::new(directory, request.disk, request.stop, sink, metrics);
    let &TrainRequest { budget, games: source, stop, .. } = request;
    let mut run = Run { config, identity, layout, budget, source, stop, keeper, state, clock, saved };
    run.put_in_order(is_new, fault, kept)?;
    Ok(run)
}

/// The run that is in the directory, if there is one, and it is the one that is asked for.
fn find(
    request: &TrainRequest,
    directory: &RunDirectory,
    config: &TrainConfig,
    identity: &Identity,
    layout: &Arc<Layout>,
) -> Result<Option<Resumed>, TrainError> {
    let root = || directory.path().to_owned();
    let check = |found: &Identity| {
        if !request.resume {
            return Err(TrainError::Exists(root()));
        }
        same_run(found, identity, config, directory)
    };
    let resumed = checkpoint::load(directory, config, layout, check)?;
    match &resumed {
        Some(resumed) => {
            let needed = resumed.state.progress.generation.saturating_sub(config.window - 1);
            journal::check_owner(directory, identity, needed)?;
        }
        None => {
            let found = directory.leftovers()?;
            if !found.is_empty() {
                return Err(TrainError::LostCheckpoint { directory: root(), found });
            }
        }
    }
    Ok(resumed)
}

/// Makes sure that the run found is the one wanted.
fn same_run(
    found: &Identity,
    wanted: &Identity,
    config: &TrainConfig,
    directory: &RunDirectory,
) -> Result<(), TrainError> {
    let root = || directory.path().to_owned();
    let table = |text: &str| text.parse::<toml::Table>().unwrap_or_default();
    let differences = differences(&table(&found.config), &table(&wanted.config));
    if differences.iter().any(|difference| !difference.key.starts_with("records.sha256")) {
        return Err(TrainError::OtherConfig { directory: root(), differences });
    }
    if !differences.is_empty() {
        return Err(TrainError::RecordsChanged(root()));
    }
    if found.patterns != wanted.patterns {
        return Err(TrainError::PatternsChanged { name: config.patterns.clone(), directory: root() });
    }
    if found.parent != wanted.parent {
        return Err(TrainError::OtherParent(root()));
    }
    Ok(())
}

/// Makes sure that nobody edited the directory's `config.toml` in the belief that the run would follow.
fn check_config(directory: &RunDirectory, identity: &Identity) -> Result<(), TrainError> {
    if !directory.is_marked() {
        return Ok(());
    }
    let path = directory.file(CONFIG);
    let Some(bytes) = directory.read(CONFIG, "configuration", CONFIG_LIMIT)? else { return Ok(()) };
    let broken = |reason: String| TrainError::ConfigBroken { path: path.clone(), reason };
    let text = String::from_utf8(bytes).map_err(|error| broken(error.to_string()))?;
    let found = text.parse().map_err(|error: toml::de::Error| broken(error.to_string()))?;
    let begun_with = identity.config.parse().expect("a configuration is TOML");
    let differences = differences(&begun_with, &found);
    if differences.is_empty() { Ok(()) } else { Err(TrainError::ConfigEdited { path, differences }) }
}

/// Makes sure that the disk has room for the run as far as that can be known. One that is resumed has most of it already.
fn check_room(
    request: &TrainRequest,
    directory: &RunDirectory,
    config: &TrainConfig,
    state: &RunState,
    is_new: bool,
) -> Result<(), TrainError> {
    let games = room::of_games(config, &request.budget, &state.progress);
    let needed = games + room::of_state(&state.learner) / if is_new { 1 } else { 3 };
    let room = request.disk.room(directory.path()).map_err(TrainError::io(directory.path()))?;
    if needed > room {
        return Err(TrainError::NoRoom { directory: directory.path().to_owned(), needed, room, games: games > 0 });
    }
    Ok(())
}

/// The state of a run that has learned nothing yet.
fn new_state(request: &TrainRequest, config: &TrainConfig, layout: &Arc<Layout>) -> Result<RunState, TrainError> {
    let layout = layout.clone();
    let learner = match request.from {
        Some(from) => Learner::from_model(layout, &from.model, config.step).map_err(TrainError::From)?,
        None => {
            let stages = StageMap::for_set(config.phase(0).stage_plies, layout.set());
            Learner::new(layout, stages, config.step)
        }
    };
    Ok(RunState { progress: Progress::default(), learner, best: None, fitted: None, window: Default::default() })
}

impl Run<'_> {
    /// Brings the directory in order and tells how the run begins. A new run has a checkpoint before anything else that would make
    /// its directory look like that of a run which lost it.
    fn put_in_order(&mut self, is_new: bool, fault: Option<String>, kept: Kept) -> Result<(), Halt> {
        if is_new {
            let marker = serde_json::json!({
                "run": self.identity.run_name(),
                "patterns": self.identity.patterns,
                "parent": self.identity.parent,
            });
            self.keeper.replace(MARKER, format!("{marker:#}\n").as_bytes())?;
        }
        let folders = [self.keeper.directory.path().to_owned(), self.keeper.directory.file(GAMES)];
        for folder in &folders {
            let made = std::fs::create_dir_all(folder).and_then(|()| remove_temporaries(folder));
            made.map_err(TrainError::io(folder))?;
        }
        if is_new || !kept.config {
            self.keeper.replace(CONFIG, self.identity.config.as_bytes())?;
        }
        if let Some(reason) = fault {
            let generation = self.state.progress.generation;
            self.keeper.tell(&TrainEvent::FellBack { reason, generation })?;
        }
        if self.saved.newest_is_good {
            self.restore(LAST, self.weights().to_bytes(), kept.last)?;
        } else {
            self.save()?;
        }
        let best = self.state.best.as_ref().map(|best| best.bytes.clone());
        if let Some(best) = best.filter(|_| !kept.best.as_ref().is_some_and(|kept| self.is_still_to_come(kept))) {
            self.restore(BEST, best, kept.best)?;
        }
        let progress = &self.state.progress;
        self.keeper.tell(&TrainEvent::Start {
            generation: progress.generation,
            resumed: !is_new,
            threads: rayon::current_num_threads(),
            patterns: self.layout.set().name.clone(),
            weights: self.layout.weights(),
            games: progress.games,
            elapsed: self.clock.earlier,
            baseline: progress.baseline,
        })
    }

    /// Whether a weight file is one that this run had reached before it went back to an earlier checkpoint.
    fn is_still_to_come(&self, bytes: &[u8]) -> bool {
        WeightFile::from_bytes(bytes).is_ok_and(|WeightFile { provenance, .. }| {
            let Identity { config, parent, .. } = &self.identity;
            let generation = u64::from(self.state.progress.generation);
            provenance.config == *config && provenance.parent == *parent && provenance.generations > generation
        })
    }

    /// Writes a weight file anew that does not hold what it should.
    fn restore(&mut self, name: &str, bytes: Vec<u8>, kept: Option<Vec<u8>>) -> Result<(), Halt> {
        if kept.as_ref() == Some(&bytes) {
            return Ok(());
        }
        self.keeper.replace(name, &bytes)?;
        self.keeper.tell(&TrainEvent::Restored { file: name.to_owned() })
    }
}
