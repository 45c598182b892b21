//! The loop of epochs and blocks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use super::checkpoint::{Begun, Unfinished};
use super::config::{ConfigFault, LearnConfig};
use super::games::{GameFiles, GameFilesError};
use super::reader::Reader;
use super::teacher::Teacher;
use crate::eval::{Clipping, ModelError, StageMap};
use crate::games::{MAX_GAMES, is_held_out};
use crate::learn::{Diverged, Learner, SampleSet, StartError, Validation};
use crate::pattern::{Layout, LayoutError};
use crate::selfplay::Stopped;

/// Seconds between checkpoints: writing one takes a second or two, and a crash costs at most this.
const CHECKPOINT_SECONDS: f64 = 120.0;

/// What to learn, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lessons<'r> {
    /// How to learn.
    pub config: &'r LearnConfig,
    /// The games to learn from.
    pub games: &'r GameFiles,
    /// Who searches, if trees or leaves are learned.
    pub teacher: Option<&'r Teacher>,
    /// Set to stop the work soon.
    pub stop: &'r AtomicBool,
}

/// What happens while games are learned.
#[derive(Debug)]
pub enum LearnEvent<'e> {
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
    /// How far it has come is to be saved.
    Save(&'e Learner, &'e Begun),
    /// It could not be saved; the work goes on.
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

/// Takes events, and may end the work.
pub(crate) type OnEvent<'s> = dyn FnMut(LearnEvent<'_>) -> Result<(), Stopped> + 's;

/// Why games could not be learned.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigFault),
    /// The pattern set has no layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The weights to begin with.
    #[error("cannot begin with these weights: {0}")]
    From(StartError),
    /// What was asked for does not go together.
    #[error("{0}")]
    Together(&'static str),
    /// The weights that search.
    #[error("cannot search with the weights of the teacher, or those to begin with: {0}")]
    TeacherModel(ModelError),
    /// The games.
    #[error(transparent)]
    Games(GameFilesError),
    /// How far another fit has come: other games, another configuration or other weights. It is left alone.
    #[error(
        "an unfinished fit of other games, with another configuration or from other weights is there: remove its file to start over, or \
         run the command it belongs to"
    )]
    OtherFit,
    /// The checkpoint.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// Learning.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// It was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<GameFilesError> for FitError {
    fn from(error: GameFilesError) -> Self {
        match error {
            GameFilesError::Stopped(stopped) => Self::Stopped(stopped),
            error => Self::Games(error),
        }
    }
}

/// A learner with the stages and the layer that a configuration wants, from an older one or from nothing.
pub(crate) fn learner_for(config: &LearnConfig, layout: &Arc<Layout>, older: Option<Learner>) -> Learner {
    let stages = StageMap::for_set(config.stage_plies(), layout.set());
    let learner = match older {
        Some(learner) if *learner.stages() == stages => learner,
        Some(mut learner) => {
            learner.set_stages(stages);
            learner
        }
        None => Learner::new(layout.clone(), stages, config.step()),
    };
    let has_layer = config.hidden_layer && layout.set().engine.is_none();
    if has_layer { learner.with_hidden_layer() } else { learner }
}

/// Learns games, on the threads of the current rayon pool, from where `begun` says. If that is an error, learner and `begun` are still a
/// pair from which the work can go on.
///
/// # Errors
/// The games; divergence, which makes the learner useless; a stop.
pub(crate) fn learn(
    lessons: Lessons<'_>,
    learner: &mut Learner,
    begun: &mut Begun,
    on_event: &mut OnEvent<'_>,
) -> Result<(), FitError> {
    let Lessons { config, games, .. } = lessons;
    learner.set_rule(config.step());
    learner.set_overlap(config.overlap());
    learner.set_loss(config.loss());
    let mut work = Work { lessons, learner, begun };
    on_event(LearnEvent::Start {
        games: games.games,
        records: games.records,
        positions: games.positions,
        weights: work.learner.layout().weights(),
        done: work.share_of(work.begun.positions),
    })?;
    let held_out = work.held_out()?;
    let (began, mut saved, before) = (Instant::now(), Instant::now(), work.begun.positions);
    let mut last = None;
    if work.blocks_of_epoch() == 0 && work.begun.loss.samples > 0 {
        // It was stopped after the last block of an epoch.
        last = Some(work.end_epoch(&held_out, on_event)?);
    }
    while work.epoch() < lessons.config.epochs {
        let epoch = work.epoch() + 1;
        let mut reader = work.reader()?;
        let (mut blocks, first) = (0, work.blocks_of_epoch());
        while let Some((samples, positions)) = work.next_block(&mut reader, blocks >= first)? {
            if lessons.stop.load(Relaxed) || blocks >= first && !work.learn(&samples, positions)? {
                on_event(LearnEvent::Save(work.learner, work.begun))?;
                return Err(Stopped.into());
            }
            blocks += 1;
            if blocks <= first {
                continue;
            }
            on_event(LearnEvent::Block {
                epoch,
                done: work.share_of(work.begun.positions),
                // An epoch's first blocks alone say little: their games are of other generations than those that follow.
                loss: last.unwrap_or_else(|| work.begun.loss.rmse()),
                positions: work.begun.positions - before,
                seconds: began.elapsed().as_secs_f64(),
            })?;
            if saved.elapsed().as_secs_f64() >= CHECKPOINT_SECONDS {
                on_event(LearnEvent::Save(work.learner, work.begun))?;
                saved = Instant::now();
            }
        }
        if !reader.is_complete() {
            return Err(GameFilesError::Changed.into());
        }
        work.begun.blocks_an_epoch = Some(blocks);
        last = Some(work.end_epoch(&held_out, on_event)?);
    }
    Ok(())
}

impl Begun {
    /// Work that has not begun, described by its configuration and all else that tells it from other work on the same games.
    pub fn new(config: String, games: &GameFiles) -> Self {
        let bytes = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
        let named = games.named.iter().map(bytes).collect();
        let files = games.files.iter().map(|(path, length)| (bytes(path), *length)).collect();
        Self { config, games: games.identity.clone(), named, files, ..Self::default() }
    }

    /// Whether it is this work.
    pub fn is_of(&self, config: &str, games: &GameFiles) -> bool {
        self.config == config && self.games == games.identity
    }
}

/// Learning in progress.
struct Work<'r, 'l> {
    lessons: Lessons<'r>,
    learner: &'l mut Learner,
    begun: &'l mut Begun,
}

impl<'r> Work<'r, '_> {
    /// Epochs done.
    fn epoch(&self) -> u32 {
        self.begun.blocks_an_epoch.map_or(0, |blocks| (self.begun.blocks / blocks) as u32)
    }

    /// Blocks learned in this epoch.
    fn blocks_of_epoch(&self) -> u64 {
        self.begun.blocks_an_epoch.map_or(self.begun.blocks, |blocks| self.begun.blocks % blocks)
    }

    /// The share of all the work that `positions` make up, each counted once per epoch.
    fn share_of(&self, positions: u64) -> f64 {
        positions as f64 / (self.lessons.games.positions as f64 * f64::from(self.lessons.config.epochs))
    }

    /// Reads the games from the beginning, in chunks that are a part of a block.
    fn reader(&self) -> Result<Reader<'r>, GameFilesError> {
        // A game has some fifty positions: a tenth of a block.
        let at_once = (self.lessons.config.block as usize / 512).clamp(1, MAX_GAMES);
        Reader::new(self.lessons.games, at_once)
    }

    /// By the number of a game or record ([`Chunk`](super::reader::Chunk)).
    fn is_held_out(&self, number: u64) -> bool {
        is_held_out(number, self.lessons.config.hold_out)
    }

    /// The samples of the games held out.
    fn held_out(&self) -> Result<SampleSet, FitError> {
        let mut set = SampleSet::default();
        let Lessons { config, stop, .. } = self.lessons;
        if config.hold_out == 0 {
            return Ok(set);
        }
        let mut reader = self.reader()?;
        while let Some((first, chunk)) = reader.next()? {
            chunk.add_to(first, &mut set, config, stop, None, |number| self.is_held_out(number));
            if stop.load(Relaxed) {
                return Err(Stopped.into());
            }
        }
        Ok(set)
    }

    /// The next block and the number of its positions, those held out included; without samples if they are not `wanted`. `None` at
    /// the end of the games. Incomplete if stopped.
    fn next_block(&self, reader: &mut Reader, wanted: bool) -> Result<Option<(SampleSet, u64)>, FitError> {
        let (mut samples, mut positions) = (SampleSet::default(), 0);
        let Lessons { config, stop, .. } = self.lessons;
        let teacher = self.lessons.teacher.map(|teacher| (teacher, self.epoch()));
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
        let before = std::mem::replace(&mut self.begun.samples, counts);
        if !self.begun.block.is_empty() && before != self.begun.samples {
            return Err(FitError::OtherFit);
        }
        let scale = |done| scale(self.share_of(done), self.lessons.config.anneal);
        let scales = [self.begun.positions, self.begun.positions + positions].map(scale);
        let loss = self.learner.pass_in_parts(samples, scales, self.lessons.stop, &mut self.begun.block)?;
        let Some(loss) = loss else { return Ok(false) };
        self.begun.loss = self.begun.loss + loss;
        self.begun.updates += loss.samples;
        self.begun.positions += positions;
        self.begun.blocks += 1;
        Ok(true)
    }

    /// Reports the epoch that is over, and returns its loss.
    fn end_epoch(&mut self, held_out: &SampleSet, on_event: &mut OnEvent<'_>) -> Result<f64, FitError> {
        let loss = std::mem::take(&mut self.begun.loss).rmse();
        let is_last = self.epoch() == self.lessons.config.epochs;
        let clipped = if is_last { self.learner.clip() } else { Clipping::default() };
        let held_out = self.learner.validate(held_out, 1);
        on_event(LearnEvent::Epoch { epoch: self.epoch(), loss, held_out, clipped })?;
        Ok(loss)
    }
}

/// How large steps are once a share of all the work is done: they shrink to nothing in the last `anneal` of it.
fn scale(done: f64, anneal: f32) -> f32 {
    if anneal == 0.0 { 1.0 } else { ((1.0 - done as f32) / anneal).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn steps_shrink_to_nothing_in_the_last_part() {
        assert_eq!([0.0, 0.25, 0.75].map(|done| scale(done, 0.25)), [1.0; 3]);
        assert_eq!([0.875, 1.0].map(|done| scale(done, 0.25)), [0.5, 0.0]);
        assert_eq!([0.0, 0.5, 1.0].map(|done| scale(done, 1.0)), [1.0, 0.5, 0.0]);
        assert_eq!([0.0, 1.0].map(|done| scale(done, 0.0)), [1.0; 2]);
    }
}
