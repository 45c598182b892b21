//! The loop of epochs and blocks.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use super::checkpoint::{Checkpoint, UnfinishedFit};
use super::config::{FitConfig, FitConfigError};
use super::games::{GameFiles, GameFilesError};
use super::reader::Reader;
use super::teacher::Teacher;
use crate::eval::{Clipping, ModelError, StageMap};
use crate::games::{MAX_GAMES, is_held_out};
use crate::learn::{Diverged, Learner, LearnerState, PassLoss, SampleSet, StartError, Validation};
use crate::pattern::{Layout, LayoutError, PatternSet};
use crate::weights::{Provenance, WeightFile};

/// Seconds between checkpoints: writing one takes a second or two, and a crash costs at most this.
const CHECKPOINT_SECONDS: f64 = 120.0;

/// A fit to do.
#[derive(Clone, Copy, Debug)]
pub struct FitRequest<'r> {
    /// How to learn.
    pub config: &'r FitConfig,
    /// The patterns whose weights to learn.
    pub patterns: &'r PatternSet,
    /// The games to learn from.
    pub games: &'r GameFiles,
    /// Weights to begin with; `None` to begin from nothing.
    pub from: Option<&'r WeightFile>,
    /// The teacher's weights, for searches; `None` without [`FitConfig::tree_depth`].
    pub teacher: Option<&'r WeightFile>,
    /// The file of the checkpoint, to resume from after a stop. It is left there at the end: the caller removes it once the weights
    /// are saved.
    pub checkpoint: &'r Path,
    /// Set to stop the work soon.
    pub stop: &'r AtomicBool,
}

/// What happens in a fit.
#[derive(Clone, PartialEq, Debug)]
pub enum FitEvent {
    /// It begins or resumes.
    Start {
        /// Kept games, those held out included.
        games: u64,
        /// Records, those held out included.
        records: u64,
        /// Positions of an epoch.
        positions: u64,
        /// Weights of one stage.
        weights: usize,
        /// Share of the work already done.
        done: f64,
    },
    /// A block was learned.
    Block {
        /// The epoch, from 1.
        epoch: u32,
        /// Share of all the work done.
        done: f64,
        /// Root mean square error in discs over the last whole epoch, each sample before it was learned; in the first epoch of a session,
        /// so far.
        loss: f64,
        /// Positions of games gone through in this session, those held out included.
        positions: u64,
        /// Seconds of this session.
        seconds: f64,
    },
    /// The checkpoint could not be written; the work continues.
    NotSaved {
        /// Why.
        reason: String,
    },
    /// An epoch is over.
    Epoch {
        /// The epoch, from 1.
        epoch: u32,
        /// Root mean square error in discs, each sample before it was learned.
        loss: f64,
        /// Errors and slopes on the games held out; after the last epoch those of the weights that are written.
        held_out: Validation,
        /// What making the weights fit their range has changed, after the last epoch.
        clipped: Clipping,
    },
}

/// How a fit ended.
#[derive(Debug)]
pub enum FitOutcome {
    /// The weights, and the learner that holds them.
    Finished(Box<WeightFile>, Box<Learner>),
    /// It was stopped; the same request resumes it.
    Stopped,
}

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] FitConfigError),
    /// The pattern set has no layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The weights to begin with.
    #[error("cannot begin with these weights: {0}")]
    From(StartError),
    /// The weights to begin with have a hidden layer, and none is wanted.
    #[error("the weights to begin with have a hidden layer: `hidden-layer = true` (`--hidden-layer`) keeps it")]
    HiddenLayer,
    /// The weights to begin with have a hidden layer, and leaves are wanted.
    #[error(
        "the weights to begin with have a hidden layer, and only weights without one can learn leaves (`leaf-depth`)"
    )]
    LeavesOfLayer,
    /// A depth and no weights, or weights and no depth.
    #[error("`tree-depth` and a teacher belong together: `tree-depth` says how deep the teacher searches")]
    Teacher,
    /// Leaves without weights to begin with or without a teacher.
    #[error(
        "`leaf-depth` needs weights to begin with (`--from`), which search, and a teacher (`--teacher`), which values the leaves"
    )]
    Leaves,
    /// A teacher, and only records.
    #[error(
        "a teacher searches from positions of kept games, and there are none: name a run, or files of games (.fsg), or leave the \
         teacher out"
    )]
    NoGames,
    /// The weights that search.
    #[error("cannot search with the weights of the teacher, or those to begin with: {0}")]
    TeacherModel(ModelError),
    /// The games.
    #[error(transparent)]
    Games(#[from] GameFilesError),
    /// The checkpoint of another fit.
    #[error(
        "{} belongs to a fit of other games, with another configuration or from other weights: remove it to start over, or run the \
         command it belongs to", .0.display()
    )]
    OtherFit(PathBuf),
    /// The checkpoint.
    #[error(transparent)]
    Unfinished(#[from] UnfinishedFit),
    /// Learning.
    #[error(transparent)]
    Diverged(#[from] Diverged),
}

/// Learns weights from games, on the threads of the current rayon pool. Resumes from the request's checkpoint if there is one.
///
/// # Errors
/// See [`FitError`].
pub fn fit(request: &FitRequest, sink: &mut dyn FnMut(&FitEvent)) -> Result<FitOutcome, FitError> {
    let mut work = Work::open(request)?;
    let config = request.config;
    sink(&FitEvent::Start {
        games: request.games.games,
        records: request.games.records,
        positions: request.games.positions,
        weights: work.layout.weights(),
        done: work.share(),
    });
    let Some(held_out) = work.held_out()? else { return Ok(FitOutcome::Stopped) };
    let (began, mut saved, before) = (Instant::now(), Instant::now(), work.state.positions);
    let mut last = None;
    if work.blocks_of_epoch() == 0 && work.state.loss.samples > 0 {
        // It was stopped after the last block of an epoch.
        last = Some(work.end_epoch(&held_out, sink));
    }
    while work.epoch() < config.epochs {
        let epoch = work.epoch() + 1;
        let mut reader = work.reader()?;
        let mut blocks = 0;
        let first = work.blocks_of_epoch();
        while let Some((samples, positions)) = work.next_block(&mut reader, blocks >= first)? {
            if request.stop.load(Relaxed) || blocks >= first && !work.learn(&samples, positions)? {
                work.save_or_tell(sink);
                return Ok(FitOutcome::Stopped);
            }
            blocks += 1;
            if blocks <= first {
                continue;
            }
            sink(&FitEvent::Block {
                epoch,
                done: work.share(),
                // An epoch's first blocks alone say little: their games are of other generations than those that follow.
                loss: last.unwrap_or_else(|| work.state.loss.rmse()),
                positions: work.state.positions - before,
                seconds: began.elapsed().as_secs_f64(),
            });
            if saved.elapsed().as_secs_f64() >= CHECKPOINT_SECONDS {
                work.save_or_tell(sink);
                saved = Instant::now();
            }
        }
        if !reader.is_complete() {
            return Err(GameFilesError::Changed.into());
        }
        work.state.blocks_an_epoch = Some(blocks);
        last = Some(work.end_epoch(&held_out, sink));
    }
    Ok(FitOutcome::Finished(Box::new(work.weights()), Box::new(work.learner)))
}

/// Checks everything but the games, to fail before these are read and records are solved.
///
/// # Errors
/// What is wrong with the configuration, the pattern set, the weights to begin with or the teacher.
pub fn check(
    config: &FitConfig,
    patterns: &PatternSet,
    from: Option<&WeightFile>,
    teacher: Option<&WeightFile>,
) -> Result<(), FitError> {
    Beginning::new(config, patterns, from, teacher).map(drop)
}

/// What a fit begins with, besides games.
struct Beginning {
    layout: Arc<Layout>,
    teacher: Option<Teacher>,
    learner: Learner,
}

impl Beginning {
    fn new(
        config: &FitConfig,
        patterns: &PatternSet,
        from: Option<&WeightFile>,
        teacher: Option<&WeightFile>,
    ) -> Result<Self, FitError> {
        config.check()?;
        let student = if config.leaf_depth > 0 { Some(from.ok_or(FitError::Leaves)?) } else { None };
        let teacher = match (teacher, config.tree_depth) {
            (None, _) if student.is_some() => return Err(FitError::Leaves),
            (None, 0) => None,
            (Some(weights), 1..) => Some(Teacher::new(weights, student, config).map_err(FitError::TeacherModel)?),
            _ => return Err(FitError::Teacher),
        };
        let layout = Arc::new(Layout::new(patterns)?);
        let stages = StageMap::for_set(config.stage_plies(), patterns);
        let learner = match from {
            Some(from) if from.model.hidden.is_some() && !config.hidden_layer => {
                return Err(if config.leaf_depth > 0 { FitError::LeavesOfLayer } else { FitError::HiddenLayer });
            }
            Some(from) => {
                let learner = Learner::from_model(layout.clone(), &from.model, config.step);
                let mut learner = learner.map_err(FitError::From)?;
                learner.set_stages(stages);
                learner
            }
            None => Learner::new(layout.clone(), stages, config.step),
        };
        let learner = if config.hidden_layer { learner.with_hidden_layer() } else { learner };
        Ok(Self { layout, teacher, learner })
    }
}

/// A fit in progress.
struct Work<'r> {
    request: &'r FitRequest<'r>,
    layout: Arc<Layout>,
    teacher: Option<Teacher>,
    learner: Learner,
    /// The cells and the hidden layer in it stay empty until it is written.
    state: Checkpoint<'static>,
}

impl<'r> Work<'r> {
    fn open(request: &'r FitRequest<'r>) -> Result<Self, FitError> {
        let &FitRequest { config, patterns, games, from, teacher, checkpoint, .. } = request;
        let Beginning { layout, teacher, mut learner } = Beginning::new(config, patterns, from, teacher)?;
        if teacher.is_some() && games.games == 0 {
            return Err(FitError::NoGames);
        }
        let state = match Checkpoint::load(checkpoint)? {
            Some(mut state) => {
                let other = || FitError::OtherFit(checkpoint.to_owned());
                let stages = StageMap::for_set(config.stage_plies(), patterns);
                let same = state.config == described(request)
                    && state.games_sha256 == games.sha256
                    && [0, stages.count()].contains(&state.block.len());
                if !same {
                    return Err(other());
                }
                let (cells, hidden) = (std::mem::take(&mut state.cells), std::mem::take(&mut state.hidden));
                let begun = Learner::from_state(layout.clone(), config.step, LearnerState { stages, cells, hidden });
                learner = begun.ok_or_else(other)?;
                state
            }
            None => Checkpoint {
                config: described(request),
                games_sha256: games.sha256.clone(),
                named: games.named.clone(),
                files: games.files.clone(),
                blocks: 0,
                blocks_an_epoch: None,
                positions: 0,
                updates: 0,
                loss: PassLoss::default(),
                block: Vec::new(),
                samples: Vec::new(),
                cells: Cow::default(),
                hidden: Vec::new(),
            },
        };
        learner.set_overlap(config.overlap());
        learner.set_loss(config.loss);
        Ok(Self { request, layout, teacher, learner, state })
    }

    /// Epochs done.
    fn epoch(&self) -> u32 {
        self.state.blocks_an_epoch.map_or(0, |blocks| (self.state.blocks / blocks) as u32)
    }

    /// Blocks learned in this epoch.
    fn blocks_of_epoch(&self) -> u64 {
        self.state.blocks_an_epoch.map_or(self.state.blocks, |blocks| self.state.blocks % blocks)
    }

    /// The share of all the work that is done.
    fn share(&self) -> f64 {
        self.share_of(self.state.positions)
    }

    /// The share of all the work that `positions` make up, each counted once per epoch.
    fn share_of(&self, positions: u64) -> f64 {
        positions as f64 / (self.request.games.positions as f64 * f64::from(self.request.config.epochs))
    }

    /// Reads the games from the beginning, in chunks that are a part of a block.
    fn reader(&self) -> Result<Reader<'r>, GameFilesError> {
        // A game has some fifty positions: a tenth of a block.
        let at_once = (self.request.config.block as usize / 512).clamp(1, MAX_GAMES);
        Reader::new(self.request.games, at_once)
    }

    /// By the number of a game or record ([`Chunk`](super::reader::Chunk)).
    fn is_held_out(&self, number: u64) -> bool {
        is_held_out(number, self.request.config.hold_out)
    }

    /// The samples of the games held out; `None` if stopped.
    fn held_out(&self) -> Result<Option<SampleSet>, FitError> {
        let mut set = SampleSet::default();
        let FitRequest { config, stop, .. } = self.request;
        if config.hold_out == 0 {
            return Ok(Some(set));
        }
        let mut reader = self.reader()?;
        while let Some((first, chunk)) = reader.next()? {
            chunk.add_to(first, &mut set, config, stop, None, |number| self.is_held_out(number));
            if stop.load(Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(set))
    }

    /// The next block and the number of its positions, those held out included; without samples if they are not `wanted`. `None` at
    /// the end of the games. Incomplete if stopped.
    fn next_block(&self, reader: &mut Reader, wanted: bool) -> Result<Option<(SampleSet, u64)>, FitError> {
        let (mut samples, mut positions) = (SampleSet::default(), 0);
        let FitRequest { config, stop, .. } = self.request;
        let teacher = self.teacher.as_ref().map(|teacher| (teacher, self.epoch()));
        while positions < u64::from(config.block) && !stop.load(Relaxed) {
            let Some((first, chunk)) = reader.next()? else { break };
            positions += chunk.positions();
            if wanted {
                chunk.add_to(first, &mut samples, config, stop, teacher, |number| !self.is_held_out(number));
            }
        }
        Ok((positions > 0 || stop.load(Relaxed)).then_some((samples, positions)))
    }

    /// Learns a block, or the rest of one; false if stopped meanwhile. Steps shrink to nothing towards the end of all the work.
    fn learn(&mut self, samples: &SampleSet, positions: u64) -> Result<bool, FitError> {
        // Another version of the program may find other samples in a teacher's searches.
        let counts: Vec<_> = (0..=60).map(|empties| samples.with_empties(empties).len() as u64).collect();
        let before = std::mem::replace(&mut self.state.samples, counts);
        if !self.state.block.is_empty() && before != self.state.samples {
            return Err(FitError::OtherFit(self.request.checkpoint.to_owned()));
        }
        let scale = |done| scale(self.share_of(done), self.request.config.anneal);
        let scales = [self.state.positions, self.state.positions + positions].map(scale);
        let loss = self.learner.pass_in_parts(samples, scales, self.request.stop, &mut self.state.block)?;
        let Some(loss) = loss else { return Ok(false) };
        self.state.loss = self.state.loss + loss;
        self.state.updates += loss.samples;
        self.state.positions += positions;
        self.state.blocks += 1;
        Ok(true)
    }

    /// Reports the epoch that is over, and returns its loss.
    fn end_epoch(&mut self, held_out: &SampleSet, sink: &mut dyn FnMut(&FitEvent)) -> f64 {
        let loss = std::mem::take(&mut self.state.loss).rmse();
        let is_last = self.epoch() == self.request.config.epochs;
        let clipped = if is_last { self.learner.clip() } else { Clipping::default() };
        sink(&FitEvent::Epoch { epoch: self.epoch(), loss, held_out: self.learner.validate(held_out, 1), clipped });
        loss
    }

    /// Writes the checkpoint, or reports that it cannot be written.
    fn save_or_tell(&self, sink: &mut dyn FnMut(&FitEvent)) {
        let LearnerState { cells, hidden, .. } = self.learner.state();
        let whole = Checkpoint { cells, hidden, ..self.state.clone() };
        if let Err(error) = whole.save(self.request.checkpoint) {
            sink(&FitEvent::NotSaved { reason: error.to_string() });
        }
    }

    /// The learned weights with their provenance.
    fn weights(&self) -> WeightFile {
        let FitRequest { config, patterns, games, .. } = self.request;
        let records = if games.records > 0 { format!("records = {}\n", games.records) } else { String::new() };
        let origin = if config.leaf_depth > 0 { "fitted to leaves of searches" } else { "fitted to games" };
        let teacher = self.request.teacher.map(|teacher| format!("\n[teacher]\nhash = \"{}\"\n", teacher.hash()));
        let provenance = Provenance {
            config: format!(
                "patterns = {}\n{}\n[games]\nsha256 = \"{}\"\npositions = {}\n{records}{}",
                toml::Value::from(&*patterns.name),
                config.to_toml(),
                games.sha256,
                games.positions,
                teacher.unwrap_or_default()
            ),
            games: games.games,
            samples: self.state.updates,
            parent: self.request.from.map(WeightFile::hash),
            ..Provenance::of_this_program(origin)
        };
        WeightFile::new(self.learner.model(), provenance)
    }
}

/// How large steps are once a share of all the work is done: they shrink to nothing in the last `anneal` of it.
fn scale(done: f64, anneal: f32) -> f32 {
    ((1.0 - done as f32) / anneal).min(1.0)
}

/// What distinguishes a fit from others of the same games.
fn described(request: &FitRequest) -> String {
    let patterns = serde_json::to_string(request.patterns).expect("pattern sets are plain data");
    // Without the provenance, which has the program's version.
    let hash = |file: &WeightFile| WeightFile::new(file.model.clone(), Provenance::default()).hash();
    let named =
        |name, file: Option<&WeightFile>| file.map_or(String::new(), |file| format!("{name} = \"{}\"\n", hash(file)));
    let (from, teacher) = (named("from", request.from), named("teacher", request.teacher));
    format!("{patterns}\n{}{from}{teacher}", request.config.to_toml())
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn steps_shrink_to_nothing_in_the_last_part() {
        assert_eq!([0.0, 0.25, 0.75].map(|done| scale(done, 0.25)), [1.0; 3]);
        assert_eq!([0.875, 1.0].map(|done| scale(done, 0.25)), [0.5, 0.0]);
        assert_eq!([0.0, 0.5, 1.0].map(|done| scale(done, 1.0)), [1.0, 0.5, 0.0]);
    }
}
