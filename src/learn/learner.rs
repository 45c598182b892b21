//! The learner: every stage a linear model of its own, learned by one task in the order of its samples.

use std::ops::{Add, RangeInclusive};
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::samples::{Sample, SampleSet};
use super::step::{AdaGrad, Decayed, Fixed, Step, StepRule, TemporalCoherence};
use crate::board::Position;
use crate::eval::{Model, ModelError, Score, StageMap};
use crate::pattern::{LANES, Layout};

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

/// The errors of a pass, each taken before the sample was learned.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PassLoss {
    /// Samples learned; one that several stages learn counts for each.
    pub samples: u64,
    /// Sum of squared errors, in square discs.
    pub squared: f64,
}

impl PassLoss {
    /// Root mean square error in discs; 0 without samples.
    pub fn rmse(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { (self.squared / self.samples as f64).sqrt() }
    }
}

impl Add for PassLoss {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { samples: self.samples + other.samples, squared: self.squared + other.squared }
    }
}

/// All that a learner knows, for checkpoints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LearnerState {
    /// The stage map.
    pub stages: StageMap,
    /// By stage: for each weight in turn its value in discs, then what the step rule keeps of its history.
    pub cells: Vec<Vec<f32>>,
}

/// Learns the weights of a pattern set.
#[derive(Clone, Debug)]
pub struct Learner {
    layout: Arc<Layout>,
    stages: StageMap,
    /// See [`Self::set_overlap`].
    overlap: u32,
    rule: StepRule,
    /// By stage, `rule.numbers()` floats a weight, its value in discs first.
    cells: Vec<Vec<f32>>,
}

impl Learner {
    /// A learner that knows nothing: all weights are zero.
    pub fn new(layout: Arc<Layout>, stages: StageMap, rule: StepRule) -> Self {
        let cells = vec![vec![0.0; rule.numbers() * layout.weights()]; stages.count()];
        Self { layout, stages, overlap: 0, rule, cells }
    }

    /// A learner that starts from a model's weights. Weights other than zero count as learned already: they move in small steps.
    ///
    /// # Errors
    /// A model that does not fit the layout, or that has weights beyond all sense.
    pub fn from_model(layout: Arc<Layout>, model: &Model, rule: StepRule) -> Result<Self, StartError> {
        model.check(&layout)?;
        let discs = |weight: i16| f32::from(weight) / f32::from(model.scale);
        for (stage, weights) in model.weights.iter().enumerate() {
            if let Some(weight) = weights.iter().position(|&weight| discs(weight).abs() > LIMIT) {
                return Err(StartError::TooLarge { stage, weight, value: discs(weights[weight]) });
            }
        }
        let history = &rule.seasoned()[..rule.numbers() - 1];
        let learn_stage = |weights: &Vec<i16>| {
            let mut cells = vec![0.0; rule.numbers() * weights.len()];
            for (cell, &weight) in
                cells.chunks_exact_mut(rule.numbers()).zip(weights).filter(|(_, weight)| **weight != 0)
            {
                cell[0] = discs(weight);
                cell[1..].copy_from_slice(history);
            }
            cells
        };
        let cells = model.weights.iter().map(learn_stage).collect();
        Ok(Self { layout, stages: model.stages.clone(), overlap: 0, rule, cells })
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
        self.stages = stages;
    }

    /// Lets each stage also learn samples from so many plies before and after it, one in d + 1 of those d plies away: the values
    /// of neighbouring stages are much alike, and a weight that is seldom met gains more from more samples than it loses by the
    /// difference. 0, as at first, is its own samples only. Not part of [`Self::state`].
    pub fn set_overlap(&mut self, plies: u32) {
        self.overlap = plies;
    }

    /// One pass over samples: the stages in parallel, each stage's samples in order. The result does not depend on the number of
    /// threads.
    ///
    /// # Errors
    /// Weights that are not numbers or have run away; the learner is of no use then.
    pub fn pass(&mut self, samples: &SampleSet) -> Result<PassLoss, Diverged> {
        let share = 1.0 / (self.layout.instances() + self.layout.scalars().len()) as f32;
        match self.rule {
            StepRule::Fixed { rate } => self.pass_with(samples, Fixed { step: rate * share }),
            StepRule::Decayed { rate, half, floor } => {
                self.pass_with(samples, Decayed { step: rate * share, per_visit: 1.0 / half, floor: floor * share })
            }
            StepRule::TemporalCoherence { rate } => self.pass_with(samples, TemporalCoherence { step: rate * share }),
            StepRule::AdaGrad { rate } => self.pass_with(samples, AdaGrad { rate }),
        }
    }

    fn pass_with<const NUMBERS: usize>(
        &mut self,
        samples: &SampleSet,
        step: impl Step<NUMBERS>,
    ) -> Result<PassLoss, Diverged> {
        let (layout, stages, overlap) = (&*self.layout, &self.stages, self.overlap);
        let learn_stage = |(stage, cells): (usize, &mut Vec<f32>)| {
            let cells = cells.as_chunks_mut::<NUMBERS>().0;
            let mut squared = 0.0;
            let mut count = 0;
            for sample in samples.of_stage(stages, stage, overlap) {
                let error = learn_sample(layout, cells, sample, step);
                squared += f64::from(error * error);
                count += 1;
            }
            match cells.iter().position(|cell| cell[0].is_nan() || cell[0].abs() > LIMIT) {
                Some(weight) => Err(Diverged { stage, weight, value: cells[weight][0] }),
                None => Ok(PassLoss { samples: count, squared }),
            }
        };
        // The slowest stages have the most samples; one task each lets the threads share them out.
        let losses: Result<Vec<_>, _> =
            self.cells.par_iter_mut().with_max_len(1).enumerate().map(learn_stage).collect();
        Ok(losses?.into_iter().fold(PassLoss::default(), PassLoss::add))
    }

    /// The weights as a model, in 1/128 disc.
    pub fn model(&self) -> Model {
        self.model_in(Score::DISC as u16, i16::MIN..=i16::MAX)
    }

    /// The weights as a model, in 1/`scale` disc, rounded to the nearest and cut to a range.
    pub fn model_in(&self, scale: u16, range: RangeInclusive<i16>) -> Model {
        let (low, high) = (f32::from(*range.start()), f32::from(*range.end()));
        let stored = |cell: &[f32]| (cell[0] * f32::from(scale)).round().clamp(low, high) as i16;
        let numbers = self.rule.numbers();
        Model {
            set: self.layout.set().clone(),
            stages: self.stages.clone(),
            scale,
            weights: self.cells.par_iter().map(|cells| cells.chunks_exact(numbers).map(stored).collect()).collect(),
        }
    }

    /// All that the learner knows.
    pub fn state(&self) -> LearnerState {
        LearnerState { stages: self.stages.clone(), cells: self.cells.clone() }
    }

    /// A learner that goes on from a state, or `None` where the state does not fit the layout or the rule.
    pub fn from_state(layout: Arc<Layout>, rule: StepRule, state: LearnerState) -> Option<Self> {
        let fits = |cells: &Vec<f32>| cells.len() == rule.numbers() * layout.weights();
        if state.cells.len() != state.stages.count() || !state.cells.iter().all(fits) {
            return None;
        }
        Some(Self { layout, stages: state.stages, overlap: 0, rule, cells: state.cells })
    }
}

/// Most features of a position: pattern instances and scalars.
const FEATURES: usize = LANES + 8;

/// Moves the weights of one sample and returns its error before, in discs. A weight that the position has twice, in mirrored
/// places, counts twice in the value and moves once.
#[inline]
fn learn_sample<const NUMBERS: usize>(
    layout: &Layout,
    cells: &mut [[f32; NUMBERS]],
    sample: &Sample,
    step: impl Step<NUMBERS>,
) -> f32 {
    let mut weights = [0u32; FEATURES];
    let features = features(layout, &sample.position, &mut weights);
    let weights = &weights[..features];
    let mut copies = [[0f32; NUMBERS]; FEATURES];
    let copies = &mut copies[..features];
    // Four partial sums, always the same four: quick, and the same result everywhere.
    let mut partial = [0f32; 4];
    for (i, (copy, &weight)) in copies.iter_mut().zip(weights).enumerate() {
        *copy = cells[weight as usize];
        partial[i % 4] += copy[0];
    }
    let error = sample.target.discs() - ((partial[0] + partial[1]) + (partial[2] + partial[3]));
    for copy in copies.iter_mut() {
        step.apply(copy, error);
    }
    for (copy, &weight) in copies.iter().zip(weights) {
        cells[weight as usize] = *copy;
    }
    error
}

/// The numbers of a position's weights, and how many they are.
#[inline]
fn features(layout: &Layout, position: &Position, weights: &mut [u32; FEATURES]) -> usize {
    let weight_of_slot = layout.weight_of_slot();
    let indices = layout.indices(position);
    let lanes = &indices.lanes()[..layout.instances()];
    for ((weight, &index), &centre) in weights.iter_mut().zip(lanes).zip(layout.centres()) {
        *weight = weight_of_slot[centre.wrapping_add_signed(i32::from(index)) as usize];
    }
    for (weight, (scalar, first)) in weights[lanes.len()..].iter_mut().zip(layout.scalars()) {
        *weight = weight_of_slot[first + scalar.of(position)];
    }
    lanes.len() + layout.scalars().len()
}
