//! The learner: every stage is a linear model of its own, plus, with a hidden layer, rows that it shares with its neighbours.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::features::{FEATURES, Features};
use super::hidden::LearnedLayer;
use super::loss::Loss;
use super::pass::{Diverged, LIMIT, Pass};
use super::samples::SampleSet;
use super::step::StepRule;
use super::validation::{PassLoss, Sums, Validation};
use crate::eval::{Clipping, HiddenLayer, Model, Score, StageMap};
use crate::memory::prefer_huge_pages;
use crate::pattern::Layout;

/// Why a learner cannot start from weights.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(String);

/// The whole state of a learner, for checkpoints.
#[derive(Clone, PartialEq, Debug)]
pub struct LearnerState<'l> {
    /// The stage map.
    pub stages: StageMap,
    /// By stage: for each weight in turn its value in discs, then what the step rule keeps of its history.
    pub cells: Cow<'l, [Vec<f32>]>,
    /// The hidden layer's numbers; empty without one.
    pub hidden: Vec<Vec<f32>>,
}

/// Learns the weights of a pattern set.
#[derive(Clone, Debug)]
pub struct Learner {
    features: Features,
    stages: StageMap,
    /// See [`Self::set_overlap`].
    overlap: u32,
    /// See [`Self::set_loss`].
    loss: Loss,
    rule: StepRule,
    /// By stage, two floats a weight, its value in discs first.
    cells: Vec<Vec<f32>>,
    hidden: Option<LearnedLayer>,
}

impl Learner {
    /// A learner that knows nothing: all weights are zero.
    pub fn new(layout: Arc<Layout>, stages: StageMap, rule: StepRule) -> Self {
        let cells = (0..stages.count()).map(|_| zeros(StepRule::NUMBERS * layout.weights())).collect();
        Self::of(layout, stages, rule, cells, None)
    }

    fn of(
        layout: Arc<Layout>,
        stages: StageMap,
        rule: StepRule,
        cells: Vec<Vec<f32>>,
        hidden: Option<LearnedLayer>,
    ) -> Self {
        Self { features: Features::new(layout), stages, overlap: 0, loss: Loss::default(), rule, cells, hidden }
    }

    /// Adds a new hidden layer, if there is none.
    #[must_use]
    pub fn with_hidden_layer(mut self) -> Self {
        let new = || LearnedLayer::new(self.features.layout(), &self.stages);
        self.hidden = self.hidden.or_else(|| Some(new()));
        self
    }

    /// A learner that starts from a model's weights. Weights that are not zero count as learned: they move in small steps.
    ///
    /// # Errors
    /// If the model has another pattern set than the layout, does not fit it, or has absurdly large weights.
    pub fn from_model(layout: Arc<Layout>, model: &Model, rule: StepRule) -> Result<Self, StartError> {
        if !layout.set().is_like(&model.set) {
            let (weights, learned) = (model.set.name.clone(), layout.set().name.clone());
            return Err(StartError(format!(
                "they belong to the pattern set `{weights}`, not to the one being learned, `{learned}`: `--patterns` chooses the set"
            )));
        }
        model.check(&layout).map_err(|error| StartError(error.to_string()))?;
        let learned = rule.learned();
        let discs = |weight: i16| f32::from(weight) / f32::from(model.scale);
        for (stage, weights) in model.weights.iter().enumerate() {
            if let Some(weight) = weights.iter().position(|&weight| discs(weight).abs() > LIMIT) {
                return Err(StartError(format!(
                    "weight {weight} of stage {stage} is {:.2} discs, and learning allows at most {LIMIT} either way. No configuration \
                     is worth that much: the weights may be damaged, or imported as those of the wrong engine",
                    discs(weights[weight])
                )));
            }
        }
        let learn_stage = |weights: &Vec<i16>| {
            let mut cells = zeros(StepRule::NUMBERS * weights.len());
            for (cell, &weight) in
                cells.chunks_exact_mut(StepRule::NUMBERS).zip(weights).filter(|(_, weight)| **weight != 0)
            {
                cell.copy_from_slice(&learned);
                cell[0] = discs(weight);
            }
            cells
        };
        let cells = model.weights.iter().map(learn_stage).collect();
        let hidden = model.hidden.as_ref().map(|layer| LearnedLayer::from_stored(layer, model.scale));
        Ok(Self::of(layout, model.stages.clone(), rule, cells, hidden))
    }

    /// The layout of its pattern set.
    pub fn layout(&self) -> &Arc<Layout> {
        self.features.layout()
    }

    /// The stage map.
    pub fn stages(&self) -> &StageMap {
        &self.stages
    }

    /// Changes the stage map: each new stage starts as a copy of the old one that holds its middle number of empties.
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

    /// Changes the parameters of the step rule. Not part of [`Self::state`].
    pub fn set_rule(&mut self, rule: StepRule) {
        self.rule = rule;
    }

    /// Lets each stage also learn samples from up to `plies` plies before and after it, one in d + 1 of those d plies away. The values
    /// of neighbouring stages are much alike, and a rare weight gains more from more samples than it loses by the difference.
    /// 0, the default, is its own samples only. Not part of [`Self::state`].
    pub fn set_overlap(&mut self, plies: u32) {
        self.overlap = plies;
    }

    /// Sets the loss, squared by default. Not part of [`Self::state`].
    pub fn set_loss(&mut self, loss: Loss) {
        self.loss = loss;
    }

    /// One pass over samples: the stages in parallel, each stage's samples in order, with steps `scale` times as large as the rule's. The
    /// result does not depend on the number of threads.
    ///
    /// # Errors
    /// If a weight is NaN or has become too large; the learner is useless then.
    pub fn pass(&mut self, samples: &SampleSet, scale: f32) -> Result<PassLoss, Diverged> {
        let loss = self.pass_in_parts(samples, [scale; 2], &AtomicBool::new(false), &mut Vec::new())?;
        Ok(loss.expect("nothing stops this pass"))
    }

    /// [`Self::pass`] with steps that change from the first of `scales` to the second. Returns `None` soon after `stop` is set; `learned`
    /// then holds each stage's progress, and the same call with it continues the pass. It is empty before and after a pass.
    ///
    /// # Errors
    /// As [`Self::pass`].
    ///
    /// # Panics
    /// If `learned` is from another number of stages or from other samples.
    pub fn pass_in_parts(
        &mut self,
        samples: &SampleSet,
        scales: [f32; 2],
        stop: &AtomicBool,
        learned: &mut Vec<PassLoss>,
    ) -> Result<Option<PassLoss>, Diverged> {
        let Self { features, stages, overlap, loss, rule, cells, hidden } = self;
        let pass = Pass { features, stages, overlap: *overlap, loss: *loss, rule: *rule, scales, samples, stop };
        pass.learn(cells, hidden.as_mut(), learned)
    }

    /// Errors on samples, without learning them: on one in `every` of each number of empties. The result does not depend on the number
    /// of threads.
    ///
    /// # Panics
    /// If `every` is 0.
    pub fn validate(&self, samples: &SampleSet, every: usize) -> Validation {
        let numbers = StepRule::NUMBERS;
        let of_empties = |empties: u32| {
            let stage = self.stages.of_empties(empties);
            let cells = &self.cells[stage];
            let mut weights = [0; FEATURES];
            let mut sums = Sums::default();
            for sample in samples.with_empties(empties).iter().step_by(every) {
                let weights = self.features.weights(&sample.position, &mut weights, |_| ());
                let value: f32 = weights.iter().map(|&weight| cells[numbers * weight as usize]).sum();
                let layer = self.hidden.as_ref().map(|layer| layer.value(stage, weights));
                sums.add(sample, value + layer.unwrap_or(0.0));
            }
            sums
        };
        Validation::new((0..=60u32).into_par_iter().map(of_empties).collect())
    }

    /// Sets weights beyond the range of [`Self::model`] to its nearer end, so that what [`Self::validate`] finds is true of what is written.
    pub fn clip(&mut self) -> Clipping {
        let (scale, range) = self.units();
        let (units, range) = (f64::from(scale), range.0..=range.1);
        let of_stage = |cells: &mut Vec<f32>| {
            let mut clipping = Clipping::default();
            for cell in cells.chunks_exact_mut(StepRule::NUMBERS) {
                let before = clipping.weights;
                let fitting = clipping.fit(f64::from(cell[0]) * units, units, &range);
                if clipping.weights > before {
                    cell[0] = f32::from(fitting) / f32::from(scale);
                }
            }
            clipping
        };
        self.cells.par_iter_mut().map(of_stage).reduce(Clipping::default, Clipping::and)
    }

    /// Units a disc of the stored weights, and their range.
    fn units(&self) -> (u16, (i16, i16)) {
        let engine = self.features.layout().set().engine.as_ref();
        let (scale, range) =
            engine.map_or((Score::DISC as u16, (i16::MIN, i16::MAX)), |engine| (engine.scale, engine.range));
        (scale, (range.0, range.1.min(HiddenLayer::largest_weight(self.hidden.is_some()))))
    }

    /// The weights as a model, rounded to 1/128 disc; or, if the pattern set is an engine's, rounded to its units and clamped to its
    /// range, of which [`Self::clip`] tells. With a hidden layer none is above [`HiddenLayer::MAX_WEIGHT`].
    pub fn model(&self) -> Model {
        let (scale, range) = self.units();
        let (low, high) = (f32::from(range.0), f32::from(range.1));
        let stored = |cell: &[f32]| (cell[0] * f32::from(scale)).round().clamp(low, high) as i16;
        let numbers = StepRule::NUMBERS;
        Model {
            set: self.features.layout().set().of_model(),
            stages: self.stages.clone(),
            scale,
            weights: self.cells.par_iter().map(|cells| cells.chunks_exact(numbers).map(stored).collect()).collect(),
            hidden: self.hidden.as_ref().map(|layer| layer.stored(scale)),
        }
    }

    /// The learner's whole state.
    pub fn state(&self) -> LearnerState<'_> {
        let hidden = self.hidden.as_ref().map_or(Vec::new(), LearnedLayer::floats);
        LearnerState { stages: self.stages.clone(), cells: self.cells.as_slice().into(), hidden }
    }

    /// A learner that continues from a state; `None` if the state does not fit the layout.
    pub fn from_state(layout: Arc<Layout>, rule: StepRule, state: LearnerState<'_>) -> Option<Self> {
        let fits = |cells: &Vec<f32>| cells.len() == StepRule::NUMBERS * layout.weights();
        if state.cells.len() != state.stages.count() || !state.cells.iter().all(fits) {
            return None;
        }
        let hidden = match &state.hidden[..] {
            [] => None,
            floats => Some(LearnedLayer::from_floats(floats, state.cells.len(), layout.weights())?),
        };
        let LearnerState { stages, cells, .. } = state;
        Some(Self::of(layout, stages, rule, cells.into_owned(), hidden))
    }
}

/// Zeros, in large pages.
fn zeros(count: usize) -> Vec<f32> {
    let mut zeros = vec![0.0; count];
    prefer_huge_pages(&mut zeros);
    zeros
}
