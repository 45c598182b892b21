//! Opening a run directory: everything is checked before anything is changed.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::budget::Budget;
use super::checkpoint::{self, Resumed};
use super::config::TrainConfig;
use super::directory::{BEST, CONFIG, LAST, MARKER, RunDirectory, metrics, read_if_there};
use super::error::TrainError;
use super::event::TrainEvent;
use super::identity::{Earlier, Identity, Marker, hash_of};
use super::keeper::{Keeper, Metrics, Sink};
use super::learning::with_checksums;
use super::ledger::Ledger;
use super::request::{Resume, TrainRequest};
use super::room;
use super::run::{Clock, LastCheckpoint, Run};
use super::state::{EncodedWeights, Progress, RunState};
use crate::clock::unix_seconds;
use crate::fit::{LearnConfig, learner_for};
use crate::games::games_folder;
use crate::learn::{Learner, StepRule};
use crate::pattern::{Layout, PatternSet};
use crate::storage::{FileError, remove_temporaries};
use crate::weights::{self, Provenance, WeightFile};

/// Begins a run, or resumes the one that is there, and reports it.
pub(super) fn open<'r>(request: &TrainRequest<'r>, sink: Sink<'r>) -> Result<Run<'r>, TrainError> {
    let began = Instant::now();
    let &TrainRequest { games: source, stop, .. } = request;
    request.config.validate()?;
    let directory = RunDirectory::open(request.directory)?;
    let stored = Marker::find(request.directory)?;
    let Wanted { identity, config, set, layout, older } = Wanted::of(request, stored.as_ref())?;
    if let Some(stored) = &stored {
        check_same(request, &stored.identity, &identity)?;
    }
    let ledger = Ledger::new(request.directory, &identity);
    let metrics = Metrics::of(&metrics(directory.path())?, directory.path())?;
    let check = |state: &RunState| ledger.check(0..state.progress.generation, &config);
    let (resumed, fault) = checkpoint::load(directory.path(), &identity.run_name(), &layout, check)?;
    let is_new = resumed.is_none() && metrics.is_empty();
    let Resumed { state, build, is_newest } = match resumed {
        Some(resumed) => resumed,
        // A run without a checkpoint learns again what it has learned, from its games.
        None => {
            let state = beginning(request, &config, &identity, &layout, older)?;
            Resumed { state, build: Provenance::of_this_program("").build(), is_newest: false }
        }
    };
    ledger.check_from(state.progress.generation, &config)?;
    let known = known(&ledger, &state.progress, metrics.generations)?;
    let clock = Clock { started: began, earlier: state.progress.elapsed.max(metrics.elapsed) };
    let budget = budget(request, &metrics, &ledger, &config, &state.progress, known, &clock)?;

    let saved = LastCheckpoint { at: Instant::now(), generation: state.progress.generation, newest_is_good: is_newest };
    let keeper = Keeper::new(directory, request.disk, stop, sink, metrics);
    let mut run = Run { config, identity, ledger, layout, budget, source, stop, keeper, state, clock, saved, known };
    run.check_room(is_new)?;
    // Nothing was changed until here. From here on, all that resuming needs is known to be there.
    run.put_in_order(&set)?;
    run.tell_start(is_new, fault, build)?;
    Ok(run)
}

/// The run that is asked for.
struct Wanted {
    identity: Identity,
    config: TrainConfig,
    set: PatternSet,
    layout: Arc<Layout>,
    /// The state of the run that it continues, unless it has begun already.
    older: Option<RunState>,
}

impl Wanted {
    fn of(request: &TrainRequest, stored: Option<&Marker>) -> Result<Self, TrainError> {
        if request.resume == Resume::Stored {
            let Some(Marker { identity, set, .. }) = stored.cloned() else {
                return Err(TrainError::NoRun(request.directory.to_owned()));
            };
            let (config, layout) = (request.config.clone(), Arc::new(Layout::new(&set)?));
            return Ok(Self { identity, config, set, layout, older: None });
        }
        let older = request.continues.map(|directory| Ok::<_, TrainError>((directory, Marker::read(directory)?)));
        let older = older.transpose()?;
        let set = request.config.pattern_set()?;
        let layout = Arc::new(Layout::new(&set)?);
        let mut config = request.config.clone();
        let mut identity = Identity {
            config: String::new(),
            patterns: hash_of(&set),
            parent: request.from.map(WeightFile::hash),
            continues: Vec::new(),
        };
        let mut state = None;
        match older {
            None => config.lessons_mut().try_for_each(with_checksums)?,
            Some((directory, older)) => {
                // What the older run has learned may be gone.
                config.lessons_mut().filter(|lesson| lesson.sha256.is_empty()).try_for_each(with_checksums)?;
                let begun = stored.map(|stored| &stored.identity);
                match begun.filter(|begun| {
                    begun.continues.last().is_some_and(|last| is_in(&last.found_from(request.directory), directory))
                }) {
                    // It began when the older run had come less far, perhaps.
                    Some(begun) => {
                        (identity.parent, identity.continues) = (begun.parent.clone(), begun.continues.clone())
                    }
                    None => {
                        let found = state_of(directory, &older, &layout, &config)?;
                        identity.parent = Some(found.parent);
                        identity.continues = found.continues;
                        state = Some(found.state);
                    }
                }
            }
        }
        identity.config = config.to_toml();
        Ok(Self { identity, config, set, layout, older: state })
    }
}

fn is_in(earlier: &Path, directory: &Path) -> bool {
    std::fs::canonicalize(directory).is_ok_and(|directory| directory == earlier)
}

/// Where a run begins that continues another one.
struct Continued {
    parent: String,
    continues: Vec<Earlier>,
    state: RunState,
}

/// The state of a run that another one continues: its weights, with what the step rule remembers.
fn state_of(
    directory: &Path,
    older: &Marker,
    layout: &Arc<Layout>,
    config: &TrainConfig,
) -> Result<Continued, TrainError> {
    let old_config = older.config(directory)?;
    let old_layout = if hash_of(layout.set()) == older.identity.patterns {
        layout.clone()
    } else {
        Arc::new(Layout::new(&older.set)?)
    };
    let name = older.identity.run_name();
    let (found, fault) = checkpoint::load(directory, &name, &old_layout, |_| Ok(()))?;
    let Some(Resumed { mut state, .. }) = found else {
        return Err(match fault {
            Some(reason) => TrainError::damaged(&directory.join(super::directory::CHECKPOINT), reason),
            None => TrainError::NoRun(directory.to_owned()),
        });
    };
    state.go_on();
    let RunState { progress, learner, job, best, positions, .. } = state;
    // Half-learned weights are of no use: those before them are.
    let model = job.map_or_else(|| learner.model(), |job| job.before.weights.model);
    let learner = if Arc::ptr_eq(layout, &old_layout) && learner.model() == model {
        learner
    } else {
        Learner::from_model(layout.clone(), &model, StepRule::default()).map_err(TrainError::From)?
    };
    let generation = progress.generation;
    let continues = Ledger::new(directory, &older.identity).continued(generation, &old_config)?;
    let last = WeightFile::load(directory.join(LAST)).ok().filter(|last| last.model == model);
    let parent = last.unwrap_or_else(|| WeightFile::new(model, Provenance::default())).hash();
    let (place, learned) = (config.place_after(generation), String::new());
    let progress = Progress { elapsed: 0.0, place, learned, ..progress };
    Ok(Continued {
        parent,
        continues,
        state: RunState { progress, learner, job: None, best, finished: None, positions },
    })
}

/// Checks that the run that is there is the one wanted.
fn check_same(request: &TrainRequest, stored: &Identity, wanted: &Identity) -> Result<(), TrainError> {
    let differences = stored.differences(wanted);
    if request.resume == Resume::Same && !differences.is_empty() {
        return Err(TrainError::OtherRun { directory: request.directory.to_owned(), differences });
    }
    Ok(())
}

/// The state of a run that has learned nothing yet. The weights that it begins with are its best until better ones are found.
fn beginning(
    request: &TrainRequest,
    config: &TrainConfig,
    identity: &Identity,
    layout: &Arc<Layout>,
    older: Option<RunState>,
) -> Result<RunState, TrainError> {
    if let Some(older) = older {
        return Ok(older);
    }
    let learner = match request.from {
        Some(from) => {
            Learner::from_model(layout.clone(), &from.model, StepRule::default()).map_err(TrainError::From)?
        }
        None if identity.parent.is_some() => return Err(TrainError::NoBeginning(request.directory.to_owned())),
        None => {
            let first = config.steps.iter().find_map(|step| step.learn.clone()).unwrap_or_default();
            learner_for(&LearnConfig { hidden_layer: false, ..first }, layout, None)
        }
    };
    let best = request.from.cloned().map(EncodedWeights::from);
    let progress = Progress::default();
    Ok(RunState { progress, learner, job: None, best, finished: None, positions: Vec::new() })
}

/// The generations that the run has had: those in its state, and those learned later whose games are there to learn again. (A generation
/// is learned when its file of games is complete.)
fn known(ledger: &Ledger, progress: &Progress, learned: u32) -> Result<u32, TrainError> {
    let journals = ledger.own()?;
    let again = (progress.generation..learned).take_while(|generation| journals.contains(generation)).count();
    Ok(progress.generation + again as u32)
}

/// The budget, counted from the first generation of all.
fn budget(
    request: &TrainRequest,
    metrics: &Metrics,
    ledger: &Ledger,
    config: &TrainConfig,
    progress: &Progress,
    known: u32,
    clock: &Clock,
) -> Result<Budget, TrainError> {
    match request.resume {
        Resume::Same => {
            let first = ledger.first();
            Ok(request.budget.after(0.0, first, ledger.games(0..first, config)))
        }
        Resume::Stored if request.budget.is_none() => {
            metrics.budget.ok_or_else(|| TrainError::NoBudget(request.directory.to_owned()))
        }
        Resume::Stored => {
            let games = progress.games + ledger.games(progress.generation..known, config);
            Ok(request.budget.after(clock.earlier, known, games))
        }
    }
}

impl Run<'_> {
    /// Checks that the disk has room for the run, as far as that can be known. A resumed run has most of its files already.
    fn check_room(&self, is_new: bool) -> Result<(), TrainError> {
        let (directory, config) = (self.keeper.directory.path(), &self.config);
        let games = room::of_games(config, &self.budget, &self.state.progress);
        let needed = games.saturating_add(room::of_state(config, &self.layout) / if is_new { 1 } else { 3 });
        let room = self.keeper.disk.room(directory).map_err(FileError::io(directory))?;
        let directory = directory.to_owned();
        if needed > room { Err(TrainError::NoRoom { directory, needed, room }) } else { Ok(()) }
    }

    /// Writes what follows from the run's state, unless it is there.
    fn put_in_order(&mut self, set: &PatternSet) -> Result<(), TrainError> {
        self.restore(MARKER, &Marker::new(&self.identity, set).to_bytes())?;
        let run = self.keeper.directory.path();
        let folders = [run.to_owned(), games_folder(run)];
        for folder in &folders {
            let made = std::fs::create_dir_all(folder).and_then(|()| remove_temporaries(folder));
            made.map_err(FileError::io(folder))?;
        }
        self.restore(CONFIG, self.identity.config.clone().as_bytes())?;
        let newest = if self.saved.newest_is_good {
            let newest = self.weights().to_bytes();
            self.restore(LAST, &newest)?;
            newest
        } else {
            self.save()?
        };
        // Before the first gate the newest are the best.
        let best = self.state.best.as_ref().map(|best| best.bytes.clone());
        let best = best.or((self.state.progress.generation > 0).then_some(newest));
        best.map_or(Ok(()), |best| self.restore(BEST, &best))
    }

    /// Writes a file unless it is there already.
    fn restore(&mut self, name: &str, bytes: &[u8]) -> Result<(), TrainError> {
        let kept = read_if_there(&self.keeper.directory.file(name), "file of a run", weights::MAX_BYTES)?;
        if kept.is_some_and(|kept| kept == bytes) { Ok(()) } else { self.keeper.replace(name, bytes) }
    }

    /// Reports how the session begins.
    fn tell_start(&mut self, is_new: bool, fault: Option<String>, before: String) -> Result<(), TrainError> {
        let progress = &self.state.progress;
        let generation = progress.generation;
        if let Some(reason) = fault {
            self.keeper.tell(&TrainEvent::FellBack { reason, generation })?;
        }
        let progress = &self.state.progress;
        self.keeper.tell(&TrainEvent::Start {
            generation,
            resumed: !is_new,
            threads: rayon::current_num_threads(),
            patterns: self.layout.set().name.clone(),
            weights: self.layout.weights(),
            games: progress.games,
            positions: self.state.all_positions(),
            again: self.known - generation,
            elapsed: self.clock.earlier,
            budget: self.budget,
            time: unix_seconds(),
        })?;
        let now = Provenance::of_this_program("").build();
        let has_work = self.has_budget() || self.finish_to_come().is_some();
        if has_work && before != now {
            self.keeper.tell(&TrainEvent::OtherBuild { generation, before, now })
        } else {
            Ok(())
        }
    }
}
