//! The learner: every stage a linear model of its own, learned by one task in the order of its samples.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::samples::{Sample, SampleSet};
use super::step::{AdaGrad, Cell, Decayed, Fixed, Step, StepRule, TemporalCoherence};
use crate::eval::{Model, ModelError, Score, StageMap};
use crate::pattern::{LANES, Layout, PatternSet};

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

/// The errors of a pass, each taken before the sample was learned.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PassLoss {
    /// Samples seen.
    pub samples: u64,
    /// Sum of squared errors, in square discs.
    pub squared: f64,
}

impl PassLoss {
    /// Root mean square error in discs; 0 without samples.
    pub fn rmse(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { (self.squared / self.samples as f64).sqrt() }
    }

    fn add(self, other: Self) -> Self {
        Self { samples: self.samples + other.samples, squared: self.squared + other.squared }
    }
}

/// All that a learner knows, for checkpoints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LearnerState {
    /// The stage map.
    pub stages: StageMap,
    /// By stage: weight in discs, and the step rule's two numbers, for each weight in turn.
    pub cells: Vec<Vec<f32>>,
}

/// Learns the weights of a pattern set.
#[derive(Clone, Debug)]
pub struct Learner {
    layout: Arc<Layout>,
    stages: StageMap,
    rule: StepRule,
    cells: Vec<Vec<Cell>>,
}

impl Learner {
    /// A learner that knows nothing: all weights are zero.
    pub fn new(layout: Arc<Layout>, stages: StageMap, rule: StepRule) -> Self {
        let cells = vec![vec![Cell::default(); layout.weights()]; stages.count()];
        Self { layout, stages, rule, cells }
    }

    /// A learner that starts from a model's weights.
    ///
    /// # Errors
    /// A model that does not fit the layout.
    pub fn from_model(layout: Arc<Layout>, model: &Model, rule: StepRule) -> Result<Self, ModelError> {
        model.check(&layout)?;
        let in_discs = |&weight: &i16| Cell { weight: f32::from(weight) / f32::from(model.scale), a: 0.0, b: 0.0 };
        let cells = model.weights.iter().map(|stage| stage.iter().map(in_discs).collect()).collect();
        Ok(Self { layout, stages: model.stages.clone(), rule, cells })
    }

    /// The stage map.
    pub fn stages(&self) -> &StageMap {
        &self.stages
    }

    /// The pattern set.
    pub fn set(&self) -> &PatternSet {
        self.layout.set()
    }

    /// Changes the stage map: each new stage starts from the old stage of its middle number of empties.
    pub fn set_stages(&mut self, stages: StageMap) {
        let source = |stage| {
            let (low, high) = stages.empties_of(stage);
            self.stages.of_empties((low + high) / 2)
        };
        self.cells = (0..stages.count()).map(|stage| self.cells[source(stage)].clone()).collect();
        self.stages = stages;
    }

    /// Changes the step rule. The per-weight numbers of another kind of rule are forgotten.
    pub fn set_rule(&mut self, rule: StepRule) {
        if std::mem::discriminant(&rule) != std::mem::discriminant(&self.rule) {
            for cell in self.cells.iter_mut().flatten() {
                (cell.a, cell.b) = (0.0, 0.0);
            }
        }
        self.rule = rule;
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

    fn pass_with(&mut self, samples: &SampleSet, step: impl Step) -> Result<PassLoss, Diverged> {
        let (layout, stages) = (&*self.layout, &self.stages);
        let learn_stage = |(stage, cells): (usize, &mut Vec<Cell>)| {
            let mut squared = 0.0;
            let mut count = 0;
            for sample in samples.of_stage(stages, stage) {
                let error = learn_sample(layout, cells, sample, step);
                squared += f64::from(error * error);
                count += 1;
            }
            match cells.iter().position(|cell| cell.weight.is_nan() || cell.weight.abs() > LIMIT) {
                Some(weight) => Err(Diverged { stage, weight, value: cells[weight].weight }),
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
        let stored = |cell: &Cell| (cell.weight * Score::DISC as f32).round() as i16;
        Model {
            set: self.layout.set().clone(),
            stages: self.stages.clone(),
            scale: Score::DISC as u16,
            weights: self.cells.par_iter().map(|cells| cells.iter().map(stored).collect()).collect(),
        }
    }

    /// All that the learner knows.
    pub fn state(&self) -> LearnerState {
        let flat = |cells: &Vec<Cell>| cells.iter().flat_map(|cell| [cell.weight, cell.a, cell.b]).collect();
        LearnerState { stages: self.stages.clone(), cells: self.cells.iter().map(flat).collect() }
    }

    /// A learner that goes on from a state, or `None` where the state does not fit the layout.
    pub fn from_state(layout: Arc<Layout>, rule: StepRule, state: &LearnerState) -> Option<Self> {
        let fits = |cells: &Vec<f32>| cells.len() == 3 * layout.weights();
        if state.cells.len() != state.stages.count() || !state.cells.iter().all(fits) {
            return None;
        }
        let cell = |numbers: &[f32]| Cell { weight: numbers[0], a: numbers[1], b: numbers[2] };
        let cells = state.cells.iter().map(|flat| flat.chunks_exact(3).map(cell).collect()).collect();
        Some(Self { layout, stages: state.stages.clone(), rule, cells })
    }
}

/// Moves the weights of one sample and returns its error before, in discs.
#[inline]
fn learn_sample(layout: &Layout, cells: &mut [Cell], sample: &Sample, step: impl Step) -> f32 {
    let indices = layout.indices(&sample.position);
    let lanes = &indices.lanes()[..layout.instances()];
    let weight_of_slot = layout.weight_of_slot();
    let mut weights = [0u32; LANES];
    for ((weight, &index), &centre) in weights.iter_mut().zip(lanes).zip(layout.centres()) {
        *weight = weight_of_slot[centre.wrapping_add_signed(i32::from(index)) as usize];
    }
    let weights = &weights[..lanes.len()];
    // Four partial sums, always the same four: quick, and the same result everywhere.
    let mut partial = [0f32; 4];
    for (i, &weight) in weights.iter().enumerate() {
        partial[i % 4] += cells[weight as usize].weight;
    }
    let mut value = (partial[0] + partial[1]) + (partial[2] + partial[3]);
    for &(scalar, first) in layout.scalars() {
        value += cells[weight_of_slot[first + scalar.of(&sample.position)] as usize].weight;
    }
    let error = sample.target.discs() - value;
    for &weight in weights {
        step.apply(&mut cells[weight as usize], error);
    }
    for &(scalar, first) in layout.scalars() {
        step.apply(&mut cells[weight_of_slot[first + scalar.of(&sample.position)] as usize], error);
    }
    error
}
