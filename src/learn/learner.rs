//! The learner: every stage a linear model of its own, or with rows of a hidden layer that it shares with its neighbours.

use std::mem::discriminant;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::hidden::LearnedLayer;
use super::loss::Loss;
use super::pass::{Diverged, FEATURES, LIMIT, Pass, slots};
use super::samples::SampleSet;
use super::step::{Step, StepRule, with_step};
use super::validation::{PassLoss, Sums, Validation};
use crate::eval::{HiddenLayer, Model, ModelError, Score, StageMap};
use crate::memory::prefer_huge_pages;
use crate::pattern::Layout;

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
#[derive(Clone, PartialEq, Debug)]
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

    /// Whether it has a hidden layer.
    pub fn has_hidden_layer(&self) -> bool {
        self.hidden.is_some()
    }

    /// The same with a hidden layer that knows nothing, if it has none.
    #[must_use]
    pub fn with_hidden_layer(mut self) -> Self {
        let new = || LearnedLayer::new(&self.layout, &self.stages);
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
        let hidden = model.hidden.as_ref().map(|layer| LearnedLayer::from_stored(layer, model.scale));
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
            hidden.set_stages((0..stages.count()).map(source));
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
        self.pass_in_parts(samples, [scale; 2], stop, &mut Vec::new())
    }

    /// [`Self::pass`] with steps that grow or shrink from the first of `scales` to the second, interrupted with `None` soon after `stop` is
    /// set. `learned` then has by stage what was learned of the samples; the
    /// same call with it goes on. It is empty before and after a pass.
    ///
    /// # Errors
    /// As of [`Self::pass`].
    ///
    /// # Panics
    /// If `learned` is of another number of stages, or of other samples.
    pub fn pass_in_parts(
        &mut self,
        samples: &SampleSet,
        scales: [f32; 2],
        stop: &AtomicBool,
        learned: &mut Vec<PassLoss>,
    ) -> Result<Option<PassLoss>, Diverged> {
        let Self { layout, stages, overlap, loss, rule, cells, hidden } = self;
        with_step!(*rule, rule => {
            let pass = Pass { layout, stages, overlap: *overlap, loss: *loss, rule, scales, samples, stop };
            pass.learn(cells, hidden.as_mut(), learned)
        })
    }

    /// Errors on samples that are not learned: on one in `every` of each number of empties. The result does not depend on the number
    /// of threads.
    ///
    /// # Panics
    /// If `every` is 0.
    pub fn validate(&self, samples: &SampleSet, every: usize) -> Validation {
        let numbers = self.rule.numbers();
        let of_empties = |empties: u32| {
            let stage = self.stages.of_empties(empties);
            let cells = &self.cells[stage];
            let mut weights = [0; FEATURES];
            let mut sums = Sums::default();
            for sample in samples.with_empties(empties).iter().step_by(every) {
                slots(&self.layout, &sample.position, &mut weights);
                let weights = &mut weights[..self.layout.features()];
                weights.iter_mut().for_each(|slot| *slot = self.layout.weight_of_slot()[*slot as usize]);
                let value: f32 = weights.iter().map(|&weight| cells[numbers * weight as usize]).sum();
                let layer = self.hidden.as_ref().map(|layer| layer.value(stage, weights));
                sums.add(sample, value + layer.unwrap_or(0.0));
            }
            sums
        };
        Validation::new((0..=60u32).into_par_iter().map(of_empties).collect())
    }

    /// The weights as a model, rounded to the nearest of 1/128 disc; or in the units of the engine that the pattern set is for, and
    /// cut to its range. Beside a hidden layer none is above [`HiddenLayer::MAX_WEIGHT`].
    pub fn model(&self) -> Model {
        let engine = self.layout.set().engine.as_ref();
        let (scale, range) =
            engine.map_or((Score::DISC as u16, (i16::MIN, i16::MAX)), |engine| (engine.scale, engine.range));
        let largest = if self.hidden.is_some() { HiddenLayer::MAX_WEIGHT } else { i16::MAX };
        let (low, high) = (f32::from(range.0), f32::from(range.1.min(largest)));
        let stored = |cell: &[f32]| (cell[0] * f32::from(scale)).round().clamp(low, high) as i16;
        let numbers = self.rule.numbers();
        Model {
            set: self.layout.set().of_model(),
            stages: self.stages.clone(),
            scale,
            weights: self.cells.par_iter().map(|cells| cells.chunks_exact(numbers).map(stored).collect()).collect(),
            hidden: self.hidden.as_ref().map(|layer| layer.stored(scale)),
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
            floats => Some(LearnedLayer::from_floats(floats, state.cells.len(), layout.weights())?),
        };
        let LearnerState { stages, cells, .. } = state;
        Some(Self { layout, stages, overlap: 0, loss: Loss::default(), rule, cells, hidden })
    }
}

/// Zeros, in large pages.
fn zeros(count: usize) -> Vec<f32> {
    let mut zeros = vec![0.0; count];
    prefer_huge_pages(&mut zeros);
    zeros
}
