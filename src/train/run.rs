//! The loop of generations.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;

use super::checkpoint::{Checkpoint, RunDirectory};
use super::config::{Phase, TrainConfig};
use super::error::TrainError;
use super::event::TrainEvent;
use super::gate;
use super::journal::Journal;
use super::records;
use super::request::{Budget, Outcome, TrainRequest};
use crate::eval::PatternEvaluator;
use crate::learn::{Learner, PassLoss, Sample, SampleSet, lambda_returns};
use crate::pattern::Layout;
use crate::selfplay::SelfPlay;
use crate::storage::atomic_write;
use crate::weights::{Provenance, WeightFile};

/// Games of a batch: what a signal waits for, and what a crash costs.
const BATCH: u32 = 2048;

/// A checkpoint is written at the end of a generation if the last is older than this. The journal makes good for the time
/// between: what follows the checkpoint is only learned again.
const CHECKPOINT_SECONDS: f64 = 30.0;

/// Trains in a run directory, on the threads of the current rayon pool, until the budget is used up or the request's `stop` is
/// set. A directory that holds a run of the same configuration is resumed. The sink hears of every event as it happens.
///
/// # Errors
/// See [`TrainError`]. The files in the directory are whole whatever happens.
pub fn train(request: &TrainRequest, sink: &mut dyn FnMut(&TrainEvent)) -> Result<Outcome, TrainError> {
    let TrainRequest { budget, stop, .. } = request;
    let mut run = Run::open(request)?;
    if !run.start(stop, sink)? {
        run.end(false, sink)?;
        return Ok(Outcome::Stopped);
    }
    let mut over = run.is_over(budget);
    if over && run.best.is_none() {
        run.gate(sink)?;
    }
    while !over {
        if !run.generation(stop, sink)? {
            run.end(false, sink)?;
            return Ok(Outcome::Stopped);
        }
        let gate_due = run.config.gate.every > 0 && run.state.generation.is_multiple_of(run.config.gate.every);
        // Asked once: a time that runs out during a checkpoint leaves one more generation, not a run without its last gate.
        over = run.is_over(budget);
        if gate_due || over {
            run.gate(sink)?;
        } else if stop.load(Relaxed) || run.since_checkpoint.elapsed().as_secs_f64() >= CHECKPOINT_SECONDS {
            run.checkpoint(sink)?;
        }
    }
    run.end(true, sink)?;
    Ok(Outcome::Finished)
}

/// A run at work.
struct Run {
    config: TrainConfig,
    toml: String,
    layout: Arc<Layout>,
    directory: RunDirectory,
    learner: Learner,
    best: Option<WeightFile>,
    /// Samples of the generations in the window, oldest first.
    window: VecDeque<SampleSet>,
    /// Counters; its cells stay empty until it is written.
    state: Checkpoint,
    resumed: bool,
    started: Instant,
    /// Seconds of earlier sessions.
    earlier: f64,
    since_checkpoint: Instant,
    metrics: File,
}

impl Run {
    fn open(request: &TrainRequest) -> Result<Self, TrainError> {
        let &TrainRequest { resume, from, .. } = request;
        let layout = Arc::new(Layout::new(&request.config.pattern_set()?)?);
        let config = records::sealed(request.config)?;
        let directory = RunDirectory::open(request.directory)?;
        let toml = config.to_toml();
        let checkpoint = directory.checkpoint()?;
        let root = directory.file("");
        let resumed = checkpoint.is_some();
        let (learner, state) = match checkpoint {
            Some(_) if !resume => return Err(TrainError::Exists(root)),
            Some(_) if from.is_some() => return Err(TrainError::FromOnResume(root)),
            Some(mut state) => {
                match first_difference(&state.config, &toml) {
                    Some(key) if key == "sha256" => return Err(TrainError::RecordsChanged(root)),
                    Some(key) => return Err(TrainError::OtherConfig { directory: root, key }),
                    None => {}
                }
                let broken = || TrainError::Damaged(directory.file("checkpoint"));
                let learner = state.take_learner().map_err(|_| broken())?;
                (Learner::from_state(layout.clone(), config.step, learner).ok_or_else(broken)?, state)
            }
            None => {
                let learner = match from {
                    Some(from) => {
                        Learner::from_model(layout.clone(), &from.model, config.step).map_err(TrainError::From)?
                    }
                    None => Learner::new(layout.clone(), config.stages(config.phase(0)), config.step),
                };
                (learner, new_state(toml.clone(), from.map(WeightFile::hash)))
            }
        };
        let config_path = directory.file("config.toml");
        atomic_write(&config_path, |file| file.write_all(toml.as_bytes()))
            .map_err(|error: io::Error| TrainError::io(&config_path, error))?;
        let metrics_path = directory.file("metrics.jsonl");
        let metrics = OpenOptions::new().create(true).append(true).open(&metrics_path);
        let mut run = Self {
            config,
            toml,
            layout,
            best: None,
            learner,
            window: VecDeque::new(),
            earlier: state.elapsed,
            state,
            resumed,
            started: Instant::now(),
            since_checkpoint: Instant::now(),
            metrics: metrics.map_err(|error| TrainError::io(&metrics_path, error))?,
            directory,
        };
        run.load_best()?;
        run.load_window()?;
        Ok(run)
    }

    /// The best weights as the checkpoint knows them. Those of the checkpoint's own generation may not have been saved yet.
    fn load_best(&mut self) -> Result<(), TrainError> {
        let path = self.directory.file("best.fsw");
        self.best = match self.state.best {
            None => None,
            Some(generation) if generation == self.state.generation => {
                let best = self.weights();
                best.save(&path)?;
                Some(best)
            }
            Some(generation) => match WeightFile::load(&path)? {
                best if best.provenance.generations == u64::from(generation) => Some(best),
                _ => return Err(TrainError::Damaged(path)),
            },
        };
        Ok(())
    }

    /// The replay window as it was at the checkpoint.
    fn load_window(&mut self) -> Result<(), TrainError> {
        let first = self.state.generation.saturating_sub(self.config.window - 1);
        for generation in first..self.state.generation {
            let path = self.directory.journal(generation);
            let mut journal = Journal::open(&path).map_err(|error| TrainError::io(&path, error))?;
            let mut samples = SampleSet::default();
            for _ in batches(self.config.phase(generation)) {
                let batch = journal.next().ok_or_else(|| TrainError::Damaged(path.clone()))?;
                samples.append(&batch);
            }
            self.window.push_back(samples);
        }
        Ok(())
    }

    fn elapsed(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }

    fn is_over(&self, budget: &Budget) -> bool {
        budget.seconds.is_some_and(|seconds| self.elapsed() >= seconds)
            || budget.generations.is_some_and(|generations| self.state.generation >= generations)
            || budget.games.is_some_and(|games| self.state.games >= games)
    }

    fn tell(&mut self, sink: &mut dyn FnMut(&TrainEvent), event: &TrainEvent) -> Result<(), TrainError> {
        tell(&mut self.metrics, &self.directory, sink, event)
    }

    /// Says how the run begins; a new one learns its records and writes its first checkpoint. False if it was stopped before
    /// that: it will begin anew.
    fn start(&mut self, stop: &AtomicBool, sink: &mut dyn FnMut(&TrainEvent)) -> Result<bool, TrainError> {
        let event = TrainEvent::Start {
            generation: self.state.generation,
            resumed: self.resumed,
            threads: rayon::current_num_threads(),
            patterns: self.layout.set().name.clone(),
            weights: self.layout.weights(),
            elo: self.state.best.map(|_| self.state.elo),
        };
        self.tell(sink, &event)?;
        if self.resumed {
            return Ok(true);
        }
        if let Some(config) = &self.config.records {
            let tell = &mut |event: &TrainEvent| tell(&mut self.metrics, &self.directory, sink, event);
            let Some(updates) = records::learn(config, &mut self.learner, stop, tell)? else { return Ok(false) };
            self.state.updates += updates;
        }
        self.checkpoint(sink).map(|()| true)
    }

    fn end(&mut self, finished: bool, sink: &mut dyn FnMut(&TrainEvent)) -> Result<(), TrainError> {
        let event = TrainEvent::End { generation: self.state.generation, finished, elapsed: self.elapsed() };
        self.tell(sink, &event)
    }

    /// Plays and learns one generation. False if it was stopped before all games were played; the journal keeps those that were.
    fn generation(&mut self, stop: &AtomicBool, sink: &mut dyn FnMut(&TrainEvent)) -> Result<bool, TrainError> {
        let generation = self.state.generation;
        let phase = *self.config.phase(generation);
        let stages = self.config.stages(&phase);
        if &stages != self.learner.stages() {
            self.learner.set_stages(stages);
        }
        self.learner.set_overlap(phase.overlap);
        let Some(newest) = self.play(generation, &phase, stop, sink)? else { return Ok(false) };
        let positions = newest.len() as u64;
        self.window.push_back(newest);
        while self.window.len() > self.config.window as usize {
            self.window.pop_front();
        }

        let began = Instant::now();
        let newest = self.window.back().expect("just put there");
        let loss = self.learner.pass(newest, 1.0)?;
        let mut updates = loss.samples;
        for _ in 1..self.config.passes {
            for samples in &self.window {
                let PassLoss { samples, .. } = self.learner.pass(samples, 1.0)?;
                updates += samples;
            }
        }
        self.state.generation += 1;
        self.state.games += u64::from(phase.games);
        self.state.positions += positions;
        self.state.updates += updates;
        let event = TrainEvent::Learned {
            generation,
            loss: loss.rmse(),
            games: self.state.games,
            positions: self.state.positions,
            updates,
            seconds: began.elapsed().as_secs_f64(),
            elapsed: self.elapsed(),
        };
        self.tell(sink, &event)?;
        Ok(true)
    }

    /// The games of a generation, from its journal as far as it goes.
    fn play(
        &mut self,
        generation: u32,
        phase: &Phase,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(&TrainEvent),
    ) -> Result<Option<SampleSet>, TrainError> {
        let path = self.directory.journal(generation);
        let io = |error| TrainError::io(&path, error);
        let mut journal = Journal::open(&path).map_err(io)?;
        let model = self.config.model(&self.learner);
        let evaluator = PatternEvaluator::with_layout(&model, self.layout.clone()).expect("the learner's model fits");
        // Made when it is needed: before they play, selective players measure.
        let mut players = None;
        let never = AtomicBool::new(false);
        let mut samples = SampleSet::default();
        for (first, count) in batches(phase) {
            if stop.load(Relaxed) {
                return Ok(None);
            }
            let began = Instant::now();
            let (batch, replayed) = match journal.next() {
                Some(batch) => (batch, true),
                None => {
                    let players = players.get_or_insert_with(|| SelfPlay::new(&evaluator, phase.self_play));
                    let games = players.play_games(self.config.seed, generation, first, count, &never);
                    let games = games.expect("a batch is played to its end");
                    let labelled: Vec<Vec<Sample>> =
                        games.par_iter().map(|game| lambda_returns(&game.replay(), phase.lambda)).collect();
                    let labelled = labelled.concat();
                    journal.append(&labelled).map_err(io)?;
                    let mut batch = SampleSet::default();
                    labelled.into_iter().for_each(|sample| batch.push(sample));
                    (batch, false)
                }
            };
            samples.append(&batch);
            let event = TrainEvent::Batch {
                generation,
                played: first + count,
                games: phase.games,
                positions: batch.len() as u64,
                replayed,
                seconds: began.elapsed().as_secs_f64(),
            };
            self.tell(sink, &event)?;
        }
        journal.sync().map_err(io)?;
        Ok(Some(samples))
    }

    /// Measures the newest weights and keeps them as the best if they are.
    fn gate(&mut self, sink: &mut dyn FnMut(&TrainEvent)) -> Result<(), TrainError> {
        let began = Instant::now();
        let generation = self.state.generation.saturating_sub(1);
        let newest = self.weights();
        let seed = self.config.seed.wrapping_add(u64::from(generation));
        let best_model = self.best.as_ref().map(|best| &best.model);
        let (best, baseline) = gate::measure(&newest.model, best_model, &self.layout, &self.config.gate, seed);
        let promoted = best.is_none_or(|result| result.score > 0.5);
        if promoted {
            self.state.best = Some(self.state.generation);
            // A whitewash has no finite Elo; it counts as a thousand.
            self.state.elo += best.map_or(0.0, |result| result.elo[0].min(1000.0));
        }
        let seconds = began.elapsed().as_secs_f64();
        self.tell(sink, &TrainEvent::Gate { generation, best, baseline, promoted, elo: self.state.elo, seconds })?;
        // The checkpoint first: it can make these weights again, should best.fsw not be written any more.
        self.checkpoint(sink)?;
        if promoted {
            newest.save(&self.directory.file("best.fsw"))?;
            self.best = Some(newest);
        }
        Ok(())
    }

    fn weights(&self) -> WeightFile {
        let provenance = Provenance {
            config: self.toml.clone(),
            seed: Some(self.config.seed),
            generations: u64::from(self.state.generation),
            games: self.state.games,
            samples: self.state.updates,
            parent: self.state.parent.clone(),
            ..Provenance::of_this_program("trained")
        };
        WeightFile::new(self.config.model(&self.learner), provenance)
    }

    /// Writes `last.fsw` and the checkpoint.
    fn checkpoint(&mut self, sink: &mut dyn FnMut(&TrainEvent)) -> Result<(), TrainError> {
        let began = Instant::now();
        self.weights().save(&self.directory.file("last.fsw"))?;
        let learner = self.learner.state();
        self.state.elapsed = self.elapsed();
        self.state.stages = (0..=60).map(|empties| learner.stages.of_empties(empties) as u8).collect();
        self.state.cells = learner.cells;
        // Before the first generation, journals can only be left over from something else.
        let oldest = match self.state.generation {
            0 => u32::MAX,
            generation => generation.saturating_sub(self.config.window - 1),
        };
        self.directory.save_checkpoint(&self.state, oldest)?;
        self.state.cells = Vec::new();
        self.since_checkpoint = Instant::now();
        let seconds = began.elapsed().as_secs_f64();
        self.tell(sink, &TrainEvent::Checkpoint { generation: self.state.generation, seconds })
    }
}

/// Tells the sink of an event, and adds it to the directory's metrics.
fn tell(
    metrics: &mut File,
    directory: &RunDirectory,
    sink: &mut dyn FnMut(&TrainEvent),
    event: &TrainEvent,
) -> Result<(), TrainError> {
    sink(event);
    let mut line = serde_json::to_string(event).expect("events are plain data");
    line.push('\n');
    metrics.write_all(line.as_bytes()).map_err(|error| TrainError::io(&directory.file("metrics.jsonl"), error))
}

fn new_state(config: String, parent: Option<String>) -> Checkpoint {
    Checkpoint {
        config,
        generation: 0,
        games: 0,
        positions: 0,
        updates: 0,
        elo: 0.0,
        best: None,
        parent,
        elapsed: 0.0,
        stages: Vec::new(),
        cells: Vec::new(),
    }
}

/// First game and number of games of each batch of a generation.
fn batches(phase: &Phase) -> impl Iterator<Item = (u32, u32)> + use<> {
    let games = phase.games;
    (0..games).step_by(BATCH as usize).map(move |first| (first, BATCH.min(games - first)))
}

/// The first key of a configuration that another has otherwise or only one of them has.
fn first_difference(old: &str, new: &str) -> Option<String> {
    let parse = |text: &str| text.parse().map(toml::Value::Table);
    match (parse(old), parse(new)) {
        (Ok(old), Ok(new)) => differing_key(&old, &new, "configuration"),
        _ => Some("configuration".to_owned()),
    }
}

/// The key of the innermost values that differ; `key` is that of these two.
fn differing_key(old: &toml::Value, new: &toml::Value, key: &str) -> Option<String> {
    use toml::Value::{Array, Table};
    match (old, new) {
        (Table(old), Table(new)) => old.keys().chain(new.keys()).find_map(|key| match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => differing_key(old, new, key),
            _ => Some(key.clone()),
        }),
        (Array(old), Array(new)) if old.len() == new.len() => {
            old.iter().zip(new).find_map(|(old, new)| differing_key(old, new, key))
        }
        _ => (old != new).then(|| key.to_owned()),
    }
}
