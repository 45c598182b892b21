//! The learner: every stage a linear model of its own, or with rows of a hidden layer that it shares with its neighbours. Stages that
//! share nothing are learned by a task each, those that do by one, in the order of their samples.

use std::mem::discriminant;
use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::hidden::{Layer, LearnedHead, LearnedLayer, LearnedRow};
use super::loss::Loss;
use super::samples::{Sample, SampleSet, TURNS};
use super::step::{Step, StepRule, with_step};
use super::validation::{PassLoss, Sums, Validation};
use crate::board::Position;
use crate::eval::{Model, ModelError, Score, StageMap};
use crate::memory::{prefer_huge_pages, prefetch};
use crate::pattern::{LANES, Layout, Scalar, Seen};

/// Weights may not leave plus and minus this many discs: beyond any sense, and near the end of the stored range.
const LIMIT: f32 = 250.0;

/// Learning went wrong: a weight is not a number or has run away.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "learning diverged: weight {weight} of stage {stage} is {value} discs. Lower the step's `rate`; the weights saved last are \
     good"
)]
pub struct Diverged {
    /// The stage.
    pub stage: usize,
    /// The weight's number in the stage.
    pub weight: usize,
    /// Its value in discs.
    pub value: f32,
}

/// Weights that a learner cannot start from.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    /// They are of other patterns than those that are learned.
    #[error(
        "they are of the pattern set `{weights}`, and what is learned is of `{learned}`: `--patterns` chooses the set"
    )]
    OtherSet {
        /// The name of their set.
        weights: String,
        /// The name of the set that is learned.
        learned: String,
    },
    /// Their hidden layer has rows for patterns that the learned one has none for.
    #[error("their hidden layer has rows for the pattern `{0}`, and `hidden` of the pattern set that is learned does not name it")]
    OtherRows(String),
    /// They do not fit together.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A weight beyond all sense.
    #[error(
        "weight {weight} of stage {stage} is {value:.2} discs, and learning keeps weights within {LIMIT} discs either way. No \
         configuration is worth as much: the weights may be damaged, or imported as another engine's than they are"
    )]
    TooLarge {
        /// The stage.
        stage: usize,
        /// The weight's number in the stage.
        weight: usize,
        /// Its value in discs.
        value: f32,
    },
}

/// All that a learner knows, for checkpoints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LearnerState {
    /// The stage map.
    pub stages: StageMap,
    /// By stage: for each weight in turn its value in discs, then what the step rule keeps of its history.
    pub cells: Vec<Vec<f32>>,
    /// The hidden layer's numbers; empty where there is none.
    pub hidden: Vec<Vec<f32>>,
}

/// Learns the weights of a pattern set.
#[derive(Clone, Debug)]
pub struct Learner {
    layout: Arc<Layout>,
    stages: StageMap,
    /// See [`Self::set_overlap`].
    overlap: u32,
    /// See [`Self::set_loss`].
    loss: Loss,
    rule: StepRule,
    /// By stage, `rule.numbers()` floats a weight, its value in discs first.
    cells: Vec<Vec<f32>>,
    hidden: Option<LearnedLayer>,
}

impl Learner {
    /// A learner that knows nothing: all weights are zero.
    pub fn new(layout: Arc<Layout>, stages: StageMap, rule: StepRule) -> Self {
        let cells = (0..stages.count()).map(|_| zeros(rule.numbers() * layout.weights())).collect();
        Self { layout, stages, overlap: 0, loss: Loss::default(), rule, cells, hidden: None }
    }

    /// The same with a hidden layer that knows nothing, if it has none.
    #[must_use]
    pub fn with_hidden_layer(mut self) -> Self {
        let new = || LearnedLayer::new(&self.layout, self.stages.count());
        self.hidden = self.hidden.or_else(|| Some(new()));
        self
    }

    /// A learner that starts from a model's weights. Weights other than zero count as learned already: they move in small steps.
    ///
    /// # Errors
    /// A model of another set than the layout's, that does not fit it, or that has weights beyond all sense.
    pub fn from_model(layout: Arc<Layout>, model: &Model, rule: StepRule) -> Result<Self, StartError> {
        if !layout.set().is_like(&model.set) {
            let (weights, learned) = (model.set.name.clone(), layout.set().name.clone());
            return Err(StartError::OtherSet { weights, learned });
        }
        model.check(&layout)?;
        let learned: Vec<f32> = with_step!(rule, rule => rule.learned().to_vec());
        let discs = |weight: i16| f32::from(weight) / f32::from(model.scale);
        for (stage, weights) in model.weights.iter().enumerate() {
            if let Some(weight) = weights.iter().position(|&weight| discs(weight).abs() > LIMIT) {
                return Err(StartError::TooLarge { stage, weight, value: discs(weights[weight]) });
            }
        }
        let learn_stage = |weights: &Vec<i16>| {
            let mut cells = zeros(rule.numbers() * weights.len());
            for (cell, &weight) in
                cells.chunks_exact_mut(rule.numbers()).zip(weights).filter(|(_, weight)| **weight != 0)
            {
                cell.copy_from_slice(&learned);
                cell[0] = discs(weight);
            }
            cells
        };
        let cells = model.weights.iter().map(learn_stage).collect();
        if let Some(layer) = &model.hidden {
            let patterns = layout.set().patterns.iter().enumerate();
            let mut other = patterns.filter(|&(number, _)| !layout.set().has_rows(number) && layer.has_rows(&layout, number));
            if let Some((_, pattern)) = other.next() {
                return Err(StartError::OtherRows(pattern.name.clone()));
            }
        }
        let hidden = model.hidden.as_ref().map(|layer| LearnedLayer::from_stored(layer, model.scale, &layout));
        Ok(Self { layout, stages: model.stages.clone(), overlap: 0, loss: Loss::default(), rule, cells, hidden })
    }

    /// The stage map.
    pub fn stages(&self) -> &StageMap {
        &self.stages
    }

    /// Changes the stage map: each new stage starts from the old stage of its middle number of empties.
    pub fn set_stages(&mut self, stages: StageMap) {
        let source = |stage| {
            let empties = stages.empties_of(stage);
            self.stages.of_empties(empties[empties.len() / 2])
        };
        self.cells = (0..stages.count()).map(|stage| self.cells[source(stage)].clone()).collect();
        if let Some(hidden) = &mut self.hidden {
            hidden.heads = (0..stages.count()).map(|stage| hidden.heads[source(stage)]).collect();
        }
        self.stages = stages;
    }

    /// Changes the parameters of the step rule.
    ///
    /// # Panics
    /// A rule of another name.
    pub fn set_rule(&mut self, rule: StepRule) {
        assert_eq!(discriminant(&rule), discriminant(&self.rule), "a rule with a history of another kind");
        self.rule = rule;
    }

    /// Lets each stage also learn samples from `plies` plies before and after it, one in d + 1 of those d plies away: the values
    /// of neighbouring stages are much alike, and a weight that is seldom met gains more from more samples than it loses by the
    /// difference. 0, as at first, is its own samples only. Not part of [`Self::state`].
    pub fn set_overlap(&mut self, plies: u32) {
        self.overlap = plies;
    }

    /// What an error costs; the square, as at first. Not part of [`Self::state`].
    pub fn set_loss(&mut self, loss: Loss) {
        self.loss = loss;
    }

    /// One pass over samples: the stages in parallel, each stage's samples in order, with steps `scale` times as large as the rule's. The
    /// result does not depend on the number of threads.
    ///
    /// # Errors
    /// Weights that are not numbers or have run away; the learner is of no use then.
    pub fn pass(&mut self, samples: &SampleSet, scale: f32) -> Result<PassLoss, Diverged> {
        let loss = self.pass_until(samples, scale, &AtomicBool::new(false))?;
        Ok(loss.expect("nothing stops this pass"))
    }

    /// [`Self::pass`], given up with `None` soon after `stop` is set; the learner is of no use then.
    ///
    /// # Errors
    /// As of [`Self::pass`].
    pub fn pass_until(
        &mut self,
        samples: &SampleSet,
        scale: f32,
        stop: &AtomicBool,
    ) -> Result<Option<PassLoss>, Diverged> {
        self.pass_in_parts(samples, scale, stop, &mut Vec::new())
    }

    /// [`Self::pass`], interrupted with `None` soon after `stop` is set. `learned` then has by stage what was learned of the samples; the
    /// same call with it goes on. It is empty before and after a pass.
    ///
    /// # Errors
    /// As of [`Self::pass`].
    ///
    /// # Panics
    /// If `learned` is of another number of stages.
    pub fn pass_in_parts(
        &mut self,
        samples: &SampleSet,
        scale: f32,
        stop: &AtomicBool,
        learned: &mut Vec<PassLoss>,
    ) -> Result<Option<PassLoss>, Diverged> {
        with_step!(self.rule, rule => self.pass_with(samples, rule.prepared(self.features(), scale), scale, stop, learned))
    }

    /// Features of a position: pattern instances and scalars.
    fn features(&self) -> usize {
        self.layout.instances() + self.layout.scalars().len()
    }

    fn pass_with<const NUMBERS: usize>(
        &mut self,
        samples: &SampleSet,
        step: impl Step<NUMBERS>,
        scale: f32,
        stop: &AtomicBool,
        learned: &mut Vec<PassLoss>,
    ) -> Result<Option<PassLoss>, Diverged> {
        let (layout, stages, overlap, loss) = (&*self.layout, &self.stages, self.overlap, self.loss);
        if learned.is_empty() {
            learned.resize(self.cells.len(), PassLoss::default());
        }
        assert_eq!(learned.len(), self.cells.len(), "a pass of other stages");
        let parts = self.cells.iter_mut().zip(learned.iter_mut()).enumerate();
        let parts = parts.map(|(stage, (cells, learned))| Part { stage, cells, learned, head: None });
        let mut tasks: Vec<Task> = match &mut self.hidden {
            None => parts.map(|part| Task { parts: vec![part], rows: &mut [], features: &[] }).collect(),
            Some(hidden) => Task::of_groups(parts, stages, hidden),
        };
        let learn_task = |Task { parts, rows, features }: &mut Task| {
            let mut learned: u64 = parts.iter().map(|part| part.learned.samples).sum();
            for turn in 0..TURNS {
                let of_part = |part: &Part| samples.of_turn(stages, part.stage, overlap, turn);
                if learned > 0 {
                    learned -= parts.iter().map(|part| of_part(part).count() as u64).sum::<u64>();
                    continue;
                }
                if stop.load(Relaxed) {
                    break;
                }
                for part in parts.iter_mut() {
                    let samples = of_part(part);
                    let layer = part.head.as_mut().map(|head| Layer::new(rows, features, head, scale));
                    let cells = part.cells.as_chunks_mut::<NUMBERS>().0;
                    *part.learned = learn_samples(layout, cells, layer, samples, loss, step, *part.learned);
                }
            }
            parts.iter().try_for_each(|part| part.check::<NUMBERS>())
        };
        // The slowest tasks have the most samples; one job each lets the threads share them out.
        tasks.par_iter_mut().with_max_len(1).try_for_each(learn_task)?;
        if stop.load(Relaxed) {
            return Ok(None);
        }
        Ok(Some(learned.drain(..).fold(PassLoss::default(), PassLoss::add)))
    }

    /// Errors on samples that are not learned: on one in `every` of each number of empties. The result does not depend on the number
    /// of threads.
    ///
    /// # Panics
    /// If `every` is 0.
    pub fn validate(&self, samples: &SampleSet, every: usize) -> Validation {
        let numbers = self.rule.numbers();
        let groups = LearnedLayer::rows_of_stages(&self.stages);
        let of_empties = |empties: u32| {
            let stage = self.stages.of_empties(empties);
            let cells = &self.cells[stage];
            let mut weights = [0; FEATURES];
            let mut sums = Sums::default();
            for sample in samples.with_empties(empties).iter().step_by(every) {
                slots(&self.layout, &sample.position, &mut weights);
                let weights = &mut weights[..self.features()];
                weights.iter_mut().for_each(|slot| *slot = self.layout.weight_of_slot()[*slot as usize]);
                let value: f32 = weights.iter().map(|&weight| cells[numbers * weight as usize]).sum();
                let layer = self.hidden.as_ref().map(|layer| layer.value(groups[stage], stage, weights));
                sums.add(sample, value + layer.unwrap_or(0.0));
            }
            sums
        };
        Validation::new((0..=60u32).into_par_iter().map(of_empties).collect())
    }

    /// The weights as a model, rounded to the nearest of 1/128 disc; or in the units of the engine that the pattern set is for, and
    /// cut to its range.
    pub fn model(&self) -> Model {
        let engine = self.layout.set().engine.as_ref();
        let (scale, range) =
            engine.map_or((Score::DISC as u16, (i16::MIN, i16::MAX)), |engine| (engine.scale, engine.range));
        let (low, high) = (f32::from(range.0), f32::from(range.1));
        let stored = |cell: &[f32]| (cell[0] * f32::from(scale)).round().clamp(low, high) as i16;
        let numbers = self.rule.numbers();
        Model {
            set: self.layout.set().of_model(),
            stages: self.stages.clone(),
            scale,
            weights: self.cells.par_iter().map(|cells| cells.chunks_exact(numbers).map(stored).collect()).collect(),
            hidden: self.hidden.as_ref().map(|layer| layer.stored(&self.stages, scale)),
        }
    }

    /// All that the learner knows.
    pub fn state(&self) -> LearnerState {
        let hidden = self.hidden.as_ref().map_or(Vec::new(), LearnedLayer::floats);
        LearnerState { stages: self.stages.clone(), cells: self.cells.clone(), hidden }
    }

    /// A learner that goes on from a state, or `None` where the state does not fit the layout or the rule.
    pub fn from_state(layout: Arc<Layout>, rule: StepRule, state: LearnerState) -> Option<Self> {
        let fits = |cells: &Vec<f32>| cells.len() == rule.numbers() * layout.weights();
        if state.cells.len() != state.stages.count() || !state.cells.iter().all(fits) {
            return None;
        }
        let hidden = match &state.hidden[..] {
            [] => None,
            floats => Some(LearnedLayer::from_floats(floats, state.cells.len(), &layout)?),
        };
        let LearnerState { stages, cells, .. } = state;
        Some(Self { layout, stages, overlap: 0, loss: Loss::default(), rule, cells, hidden })
    }
}

/// A stage in a pass.
struct Part<'l> {
    stage: usize,
    cells: &'l mut [f32],
    /// What was learned of the samples.
    learned: &'l mut PassLoss,
    head: Option<&'l mut LearnedHead>,
}

impl Part<'_> {
    fn check<const NUMBERS: usize>(&self) -> Result<(), Diverged> {
        let cells = self.cells.as_chunks::<NUMBERS>().0;
        match cells.iter().position(|cell| cell[0].is_nan() || cell[0].abs() > LIMIT) {
            Some(weight) => Err(Diverged { stage: self.stage, weight, value: cells[weight][0] }),
            None => Ok(()),
        }
    }
}

/// Stages that are learned in turns, since they share rows of a hidden layer; or one that has none.
struct Task<'l> {
    parts: Vec<Part<'l>>,
    rows: &'l mut [LearnedRow],
    /// See [`LearnedLayer::features`].
    features: &'l [u8],
}

impl<'l> Task<'l> {
    fn of_groups(
        parts: impl Iterator<Item = Part<'l>>,
        stages: &StageMap,
        hidden: &'l mut LearnedLayer,
    ) -> Vec<Self> {
        let features = &hidden.features;
        let mut tasks: Vec<Self> =
            hidden.rows.iter_mut().map(|rows| Self { parts: Vec::new(), rows, features }).collect();
        let groups = LearnedLayer::rows_of_stages(stages);
        for (part, head) in parts.zip(&mut hidden.heads) {
            tasks[usize::from(groups[part.stage])].parts.push(Part { head: Some(head), ..part });
        }
        tasks
    }
}

/// Zeros, in large pages.
fn zeros(count: usize) -> Vec<f32> {
    let mut zeros = vec![0.0; count];
    prefer_huge_pages(&mut zeros);
    zeros
}

/// The largest number of features of a position: pattern instances and scalars.
const FEATURES: usize = LANES + Scalar::ALL.len();

/// Samples that are on their way at once: while one is learned, the memory brings what the next ones need.
const BATCH: usize = 16;

/// Moves the weights for each sample in turn, and adds the errors before each to those so far.
fn learn_samples<'s, const NUMBERS: usize>(
    layout: &Layout,
    cells: &mut [[f32; NUMBERS]],
    mut layer: Option<Layer>,
    mut samples: impl Iterator<Item = &'s Sample>,
    loss: Loss,
    step: impl Step<NUMBERS>,
    mut losses: PassLoss,
) -> PassLoss {
    let features = layout.instances() + layout.scalars().len();
    let weight_of_slot = layout.weight_of_slot();
    let mut batch = [([0u32; FEATURES], Sample::new(Position::START, Score(0))); BATCH];
    loop {
        let mut filled = 0;
        for ((slots_of, sample), next) in batch.iter_mut().zip(&mut samples) {
            slots(layout, &next.position, slots_of);
            slots_of[..features].iter().for_each(|&slot| prefetch(&weight_of_slot[slot as usize]));
            *sample = *next;
            filled += 1;
        }
        let batch = &mut batch[..filled];
        for (weights, _) in batch.iter_mut() {
            for weight in &mut weights[..features] {
                *weight = weight_of_slot[*weight as usize];
                prefetch(&cells[*weight as usize]);
            }
            layer.iter().for_each(|layer| layer.prefetch(weights));
        }
        for (weights, sample) in batch.iter() {
            let error = learn_sample(cells, layer.as_mut(), &weights[..features], sample, loss, step);
            losses.squared += f64::from(error * error);
        }
        losses.samples += filled as u64;
        if filled < BATCH {
            layer.iter_mut().for_each(Layer::move_head);
            return losses;
        }
    }
}

/// Moves the weights of one sample and returns its error before, in discs. A weight that the position has twice, in mirrored
/// places, counts twice in the value and moves once.
#[inline]
fn learn_sample<const NUMBERS: usize>(
    cells: &mut [[f32; NUMBERS]],
    layer: Option<&mut Layer>,
    weights: &[u32],
    sample: &Sample,
    loss: Loss,
    step: impl Step<NUMBERS>,
) -> f32 {
    let mut copies = [[0f32; NUMBERS]; FEATURES];
    let copies = &mut copies[..weights.len()];
    // Four partial sums, always the same four: quick, and the same result everywhere.
    let mut partial = [0f32; 4];
    for (i, (copy, &weight)) in copies.iter_mut().zip(weights).enumerate() {
        *copy = cells[weight as usize];
        partial[i % 4] += copy[0];
    }
    let mut value = (partial[0] + partial[1]) + (partial[2] + partial[3]);
    let layer = layer.map(|layer| {
        let (sums, added) = layer.value(weights);
        value += added;
        (layer, sums)
    });
    let target = sample.target.discs();
    let error = target - value;
    if sample.bound.allows(error) {
        return 0.0;
    }
    let pull = sample.importance.share() * loss.pull(target, value);
    for copy in copies.iter_mut() {
        step.apply(copy, pull);
    }
    for (copy, &weight) in copies.iter().zip(weights) {
        cells[weight as usize] = *copy;
    }
    if let Some((layer, sums)) = layer {
        layer.learn(weights, &sums, pull);
    }
    error
}

/// The slots of a position's features: patterns first, then scalars.
#[inline]
fn slots(layout: &Layout, position: &Position, slots: &mut [u32; FEATURES]) {
    let indices = layout.indices(position);
    let lanes = &indices.lanes()[..layout.instances()];
    for ((slot, &index), &centre) in slots.iter_mut().zip(lanes).zip(layout.centres()) {
        *slot = centre.wrapping_add_signed(i32::from(index));
    }
    let seen = Seen::new(position);
    for (slot, (scalar, first)) in slots[lanes.len()..].iter_mut().zip(layout.scalars()) {
        *slot = (first + scalar.of(&seen)) as u32;
    }
}
