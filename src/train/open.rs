//! Opening a run directory: everything is checked before anything is changed.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::amend::{Configs, Marker};
use super::checkpoint::{self, Resumed};
use super::config::TrainConfig;
use super::directory::{BEST, CONFIG, LAST, MARKER, RunDirectory, leftovers, metrics, read_if_there};
use super::error::TrainError;
use super::event::TrainEvent;
use super::identity::{Difference, Identity, hash_of};
use super::journal;
use super::keeper::{Halt, Keeper, Metrics, Sink};
use super::records;
use super::request::{Budget, Resume, TrainRequest};
use super::room::{self, Growth};
use super::run::{Clock, LastCheckpoint, Run};
use super::state::{EncodedWeights, Progress, RunState};
use crate::clock::unix_seconds;
use crate::eval::StageMap;
use crate::games::{games_folder, games_in};
use crate::learn::Learner;
use crate::pattern::{Layout, PatternSet};
use crate::storage::{FileError, MAX_TOML_BYTES, remove_temporaries};
use crate::weights::{self, Provenance, WeightFile};

/// What the directory held when it was opened.
struct Kept {
    /// Whether its configuration is there and is the newest.
    config: bool,
    last: Option<Vec<u8>>,
    best: Option<Vec<u8>>,
}

/// Begins a run, or resumes the one that is there, and reports it.
pub(super) fn open<'r>(request: &TrainRequest<'r>, sink: Sink<'r>) -> Result<Run<'r>, Halt> {
    let began = Instant::now();
    request.config.validate()?;
    let set = patterns(request)?;
    let layout = Arc::new(Layout::new(&set)?);
    let config = match request.resume {
        // Its records may be learned already, and their files gone.
        Resume::Stored => request.config.clone(),
        Resume::Never | Resume::Same => records::with_checksums(request.config)?,
    };
    let wanted =
        Identity { config: config.to_toml(), patterns: hash_of(&set), parent: request.from.map(WeightFile::hash) };
    let directory = RunDirectory::open(request.directory)?;
    let mut resumed = find(request, &directory, &config, &wanted, &layout)?;
    let configs = resumed.as_ref().map_or_else(|| Configs::new(config.clone()), |resumed| resumed.configs.clone());
    // A run that was stopped before its first checkpoint begins anew.
    let has_newest_config = resumed.is_some() && check_config(&directory, &configs)?;
    let is_amended = match &mut resumed {
        Some(resumed) if request.resume == Resume::Stored => amend(resumed, &config, &directory)?,
        _ => false,
    };
    let metrics = Metrics::of(&metrics(directory.path())?);
    let weights = |name| read_if_there(&directory.file(name), "weight file", weights::MAX_BYTES);
    let kept = Kept { config: has_newest_config && !is_amended, last: weights(LAST)?, best: weights(BEST)? };

    let is_new = resumed.is_none();
    let Resumed { identity, configs, state, is_newest, fault } = match resumed {
        Some(resumed) => resumed,
        None => {
            records::check(&config)?;
            let state = new_state(request, &config, &layout)?;
            Resumed { identity: wanted, configs, state, is_newest: false, fault: None }
        }
    };
    let known = known(&directory, &state.progress, metrics.generations)?;
    let clock = Clock { started: began, earlier: state.progress.elapsed.max(metrics.elapsed) };
    let budget = budget(request, &metrics, &configs, &state.progress, known, &clock)?;

    let saved = LastCheckpoint { at: Instant::now(), generation: state.progress.generation, newest_is_good: is_newest };
    let keeper = Keeper::new(directory, request.disk, request.stop, sink, metrics);
    let &TrainRequest { games: source, stop, .. } = request;
    let config = configs.at(state.progress.generation).clone();
    let growth = Growth::default();
    let mut run =
        Run { config, configs, identity, layout, budget, source, stop, keeper, state, clock, saved, growth, known };
    run.check_room(is_new)?;
    run.check_games()?;
    // Nothing was changed until here. From here on, all that resuming needs is known to be there.
    run.put_in_order(is_new, is_amended, fault, kept)?;
    Ok(run)
}

/// The run's pattern set. With [`Resume::Stored`] its file is not needed.
fn patterns(request: &TrainRequest) -> Result<PatternSet, TrainError> {
    let stored = match request.resume {
        Resume::Stored => Marker::read(request.directory)?.and_then(Marker::whole_set),
        Resume::Never | Resume::Same => None,
    };
    Ok(stored.map_or_else(|| request.config.pattern_set(), Ok)?)
}

/// The hash of the weights that the run in a directory began with, if any.
///
/// # Errors
/// There is no run, or it cannot be read.
pub fn parent_of(directory: &Path) -> Result<Option<String>, TrainError> {
    let marker = Marker::read(directory)?.ok_or_else(|| TrainError::NoRun(directory.to_owned()))?;
    Ok(marker.parent)
}

/// The configuration that the run in a directory follows, whether it is running or not, and whatever its `config.toml` says.
///
/// # Errors
/// There is no run, or its configuration cannot be determined.
pub fn stored_config(directory: &Path) -> Result<TrainConfig, TrainError> {
    let marker = Marker::read(directory)?.ok_or_else(|| TrainError::NoRun(directory.to_owned()))?;
    let path = directory.join(CONFIG);
    let text = match marker.amendments.last() {
        Some(newest) => newest.config.clone(),
        None => {
            let bytes = read_if_there(&path, "configuration", MAX_TOML_BYTES)?;
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            // Somebody may have removed it, or edited it expecting the run to follow.
            text.filter(|text| marker.began_with(text)).map_or_else(|| checkpoint::first_config(directory), Ok)?
        }
    };
    TrainConfig::from_toml(&text).map_err(|error| TrainError::ConfigBroken { path, reason: error.to_string() })
}

/// The generations that the run has had: those in its state, and those learned later whose games are there to learn again. (A generation
/// is learned when its file of games is complete.)
fn known(directory: &RunDirectory, progress: &Progress, learned: u32) -> Result<u32, TrainError> {
    let journals = directory.journals()?;
    let again = (progress.generation..learned).take_while(|generation| journals.contains(generation)).count();
    Ok(progress.generation + again as u32)
}

/// The budget, counted from the beginning of the run.
fn budget(
    request: &TrainRequest,
    metrics: &Metrics,
    configs: &Configs,
    progress: &Progress,
    known: u32,
    clock: &Clock,
) -> Result<Budget, TrainError> {
    match request.resume {
        Resume::Never | Resume::Same => Ok(request.budget),
        Resume::Stored if request.budget.is_none() => {
            metrics.budget.ok_or_else(|| TrainError::NoBudget(request.directory.to_owned()))
        }
        Resume::Stored => {
            let games_of = |generation| u64::from(configs.at(generation).phase(generation).games);
            let games = progress.games + (progress.generation..known).map(games_of).sum::<u64>();
            Ok(request.budget.after(clock.earlier, known, games))
        }
    }
}

/// The run in the directory, if there is one and it is the one that is wanted.
fn find(
    request: &TrainRequest,
    directory: &RunDirectory,
    config: &TrainConfig,
    wanted: &Identity,
    layout: &Arc<Layout>,
) -> Result<Option<Resumed>, TrainError> {
    let root = || directory.path().to_owned();
    let marker = Marker::read(directory.path())?;
    let is_marked = marker.is_some();
    let amendments = marker.map(|marker| marker.amendments).unwrap_or_default();
    let check = |found: &Identity| {
        if request.resume == Resume::Never {
            return Err(TrainError::Exists(root()));
        }
        let configs = Configs::of(&found.config, &amendments)
            .map_err(|(name, reason)| TrainError::damaged(&directory.file(name), reason))?;
        same_run(request, found, &configs, wanted, config, directory).map(|()| configs)
    };
    let resumed = checkpoint::load(directory, layout, check)?;
    match &resumed {
        Some(Resumed { identity, state, .. }) => {
            let needed = state.progress.generation.saturating_sub(config.window - 1);
            journal::check_owner(directory, identity, needed)?;
        }
        None => {
            let found = leftovers(directory.path())?;
            if !found.is_empty() {
                return Err(TrainError::LostCheckpoint { directory: root(), found });
            }
            if request.resume == Resume::Stored {
                return Err(if is_marked { TrainError::NotBegun(root()) } else { TrainError::NoRun(root()) });
            }
        }
    }
    Ok(resumed)
}

/// Checks that the run found is the one wanted. The command that began a run also resumes it after it was amended.
fn same_run(
    request: &TrainRequest,
    found: &Identity,
    configs: &Configs,
    wanted: &Identity,
    config: &TrainConfig,
    directory: &RunDirectory,
) -> Result<(), TrainError> {
    let root = || directory.path().to_owned();
    let table = wanted.config.parse().expect("a configuration is TOML");
    if request.resume == Resume::Same && !configs.know(&table) {
        let differences = configs.differences(&table);
        let records = |difference: &Difference| difference.is_of("records.sha256");
        return Err(if differences.iter().all(records) {
            TrainError::RecordsChanged(root())
        } else {
            TrainError::OtherConfig { directory: root(), differences }
        });
    }
    if found.patterns != wanted.patterns {
        let mut differences = configs.differences(&table);
        differences.retain(|difference| difference.is_of("patterns"));
        return Err(if differences.is_empty() {
            TrainError::PatternsChanged { name: config.patterns.clone(), directory: root() }
        } else {
            TrainError::Fixed { directory: root(), differences }
        });
    }
    if found.parent != wanted.parent && request.resume == Resume::Same {
        return Err(TrainError::OtherParent(root()));
    }
    Ok(())
}

/// Adopts what has changed, from the first generation without games on. True if anything has.
fn amend(resumed: &mut Resumed, config: &TrainConfig, directory: &RunDirectory) -> Result<bool, TrainError> {
    let has_games = |generation: &&u32| games_in(&directory.journal(**generation)) > 0;
    let begun = directory.journals()?.iter().rev().find(has_games).map_or(0, |&last| last + 1);
    let progress = &resumed.state.progress;
    let next = begun.max(progress.generation);
    // Weights that are fitted for the next generation already were fitted by the old configuration.
    let next = next + u32::from(progress.refitted == Some(next));
    let fixed = |differences| TrainError::Fixed { directory: directory.path().to_owned(), differences };
    let is_amended = resumed.configs.amend(next, config).map_err(fixed)?;
    if is_amended {
        // With more `passes`, what was no use before is learned again.
        let Resumed { identity, configs, state, .. } = resumed;
        state.window = journal::window(directory, identity, configs, state.progress.generation)?;
    }
    Ok(is_amended)
}

/// Checks that nobody edited the directory's `config.toml` expecting the run to follow. False if it is missing, or not the newest.
fn check_config(directory: &RunDirectory, configs: &Configs) -> Result<bool, TrainError> {
    if !directory.is_marked() {
        return Ok(false);
    }
    let path = directory.file(CONFIG);
    let Some(bytes) = read_if_there(&directory.file(CONFIG), "configuration", MAX_TOML_BYTES)? else {
        return Ok(false);
    };
    let broken = |reason: String| TrainError::ConfigBroken { path: path.clone(), reason };
    let text = String::from_utf8(bytes).map_err(|error| broken(error.to_string()))?;
    let found = text.parse().map_err(|error: toml::de::Error| broken(error.to_string()))?;
    let differences = configs.differences(&found);
    match differences.is_empty() {
        true => Ok(true),
        // A kill between writing the marker and this file leaves it so.
        false if configs.know(&found) => Ok(false),
        false => Err(TrainError::ConfigEdited { path, differences }),
    }
}

/// The state of a run that has learned nothing yet. The weights that it begins with are its best until better ones are found.
fn new_state(request: &TrainRequest, config: &TrainConfig, layout: &Arc<Layout>) -> Result<RunState, TrainError> {
    let layout = layout.clone();
    let learner = match request.from {
        Some(from) => Learner::from_model(layout, &from.model, config.step).map_err(TrainError::From)?,
        None => {
            let stages = StageMap::for_set(config.phase(0).stage_plies, layout.set());
            Learner::new(layout, stages, config.step)
        }
    };
    let best = request.from.cloned().map(EncodedWeights::from);
    Ok(RunState { progress: Progress::default(), learner, best, fitted: None, window: Default::default() })
}

impl Run<'_> {
    /// Checks that the disk has room for the run, as far as that can be known. A resumed run has most of its files already.
    fn check_room(&self, is_new: bool) -> Result<(), TrainError> {
        let (directory, config) = (self.keeper.directory.path(), self.configs.newest());
        let games = room::of_games(config, &self.budget, &self.state.progress);
        let needed = games.saturating_add(room::of_state(config, &self.layout) / if is_new { 1 } else { 3 });
        let room = self.keeper.disk.room(directory).map_err(FileError::io(directory))?;
        if needed > room {
            let games = games > 0 && config.fit.is_none();
            return Err(TrainError::NoRoom { directory: directory.to_owned(), needed, room, games });
        }
        Ok(())
    }

    /// Puts the directory in order and reports how the run begins. A new run writes a checkpoint before any file that would make its
    /// directory look like that of a run that lost it.
    fn put_in_order(&mut self, is_new: bool, is_amended: bool, fault: Option<String>, kept: Kept) -> Result<(), Halt> {
        if is_new || is_amended {
            let marker = Marker::new(&self.identity, self.layout.set(), self.configs.amendments());
            self.keeper.replace(MARKER, &marker.to_bytes())?;
        }
        let run = self.keeper.directory.path();
        let folders = [run.to_owned(), games_folder(run)];
        for folder in &folders {
            let made = std::fs::create_dir_all(folder).and_then(|()| remove_temporaries(folder));
            made.map_err(FileError::io(folder))?;
        }
        if !kept.config {
            self.keeper.replace(CONFIG, self.configs.newest_text().as_bytes())?;
        }
        if let Some(reason) = fault {
            let generation = self.state.progress.generation;
            self.keeper.tell(&TrainEvent::FellBack { reason, generation })?;
        }
        let before = kept.last.as_ref().and_then(|last| WeightFile::from_bytes(last).ok());
        let before = before.filter(|_| !is_new).map(|last| last.provenance.build());
        let is_newest = self.saved.newest_is_good;
        // The newest weights contain the configuration, so a new one changes them.
        let newest = if is_newest {
            let newest = self.weights().to_bytes();
            self.restore(LAST, &newest, kept.last, !is_amended)?;
            newest
        } else {
            self.save()?
        };
        let has_best = self.state.best.is_some() || self.state.progress.generation > 0;
        // The newest checkpoint is written before the best weights that it holds: others of its generation are older.
        let is_newer = u64::from(is_newest && self.state.best.is_some());
        let first = u64::from(self.state.progress.generation) + is_newer;
        if has_best && !kept.best.as_ref().is_some_and(|kept| self.is_still_to_come(kept, first)) {
            let (best, is_told) = match &self.state.best {
                Some(best) => (best.bytes.clone(), !is_new),
                None => (newest, !is_amended),
            };
            self.restore(BEST, &best, kept.best, is_told)?;
        }
        let progress = &self.state.progress;
        self.keeper.tell(&TrainEvent::Start {
            generation: progress.generation,
            resumed: !is_new,
            threads: rayon::current_num_threads(),
            patterns: self.layout.set().name.clone(),
            weights: self.layout.weights(),
            games: progress.games,
            again: self.known - progress.generation,
            elapsed: self.clock.earlier,
            baseline: progress.baseline,
            budget: self.budget,
            time: unix_seconds(),
        })?;
        let (generation, now) = (progress.generation, Provenance::of_this_program("").build());
        let has_work = self.has_budget() || self.last_fit_to_come().is_some();
        if let Some(before) = before.filter(|before| has_work && *before != now) {
            self.keeper.tell(&TrainEvent::OtherBuild { generation, before, now })?;
        }
        let changes: Vec<_> = self.configs.changes().collect();
        changes
            .into_iter()
            .try_for_each(|(generation, changes)| self.keeper.tell(&TrainEvent::Amended { generation, changes }))
    }

    /// Whether this run wrote a weight file after the checkpoint that it has gone back to: one of `first` generations or more.
    fn is_still_to_come(&self, bytes: &[u8], first: u64) -> bool {
        WeightFile::from_bytes(bytes).is_ok_and(|WeightFile { provenance, .. }| {
            let is_ours = provenance.config.parse().is_ok_and(|config| self.configs.know(&config));
            is_ours && provenance.parent == self.identity.parent && provenance.generations >= first
        })
    }

    /// Rewrites a weight file that does not hold what it should, and reports that if it is unexpected (`is_told`). One that another
    /// build has written may stay.
    fn restore(&mut self, name: &str, bytes: &[u8], kept: Option<Vec<u8>>, is_told: bool) -> Result<(), Halt> {
        if kept.is_some_and(|kept| kept == bytes || is_of_another_build(&kept, bytes)) {
            return Ok(());
        }
        self.keeper.replace(name, bytes)?;
        if is_told { self.keeper.tell(&TrainEvent::Restored { file: name.to_owned() }) } else { Ok(()) }
    }
}

/// Whether two weight files differ in nothing but the builds that wrote them.
fn is_of_another_build(one: &[u8], other: &[u8]) -> bool {
    let without_build = |bytes| {
        WeightFile::from_bytes(bytes).map(|mut file| {
            (file.provenance.program, file.provenance.commit) = Default::default();
            file
        })
    };
    matches!((without_build(one), without_build(other)), (Ok(one), Ok(other)) if one == other)
}
