//! A hidden layer in learning.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::eval::{Head, HiddenLayer, Row, StageMap, UNITS};
use crate::memory::prefetch;
use crate::pattern::Layout;

/// The fewest empties of the stages that share rows: a configuration is met often enough to have its rows learned, and means much the
/// same all the while.
const GROUPS: [u32; 5] = [0, 13, 25, 37, 49];

/// The unit, in discs, of what the layer adds.
const UNIT: f32 = 8.0;

/// Rows start at random within plus and minus this, or all units would learn the same.
const START: f32 = 0.03;

/// What a row's sum of squared gradients starts with, and what it is for a row that comes learned from elsewhere.
const SQUARES: [f32; 2] = [0.5, 50.0];

/// The first step of a row, and the step of a stage's own numbers.
const RATES: [f32; 2] = [0.012, 0.003];

/// Samples after which a stage's own numbers move.
const BATCH: usize = 256;

/// A row in learning: its numbers, and the sum of the squared gradients so far. Steps shrink as it grows (AdaGrad, one sum a row).
pub(super) type LearnedRow = [f32; UNITS + 1];

type Numbers = [f32; UNITS];

/// Numbers moved by Adam (Diederik Kingma and Jimmy Ba, "Adam: a method for stochastic optimization", 2015).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Adam {
    value: Numbers,
    mean: Numbers,
    square: Numbers,
}

/// The share of the past in a mean gradient and in a mean square.
const DECAYS: [f32; 2] = [0.9, 0.999];

impl Adam {
    fn new(value: Numbers) -> Self {
        Self { value, ..Self::default() }
    }

    /// `missing` is the share of the two means that stands for the time before the first step.
    fn step(&mut self, gradient: &Numbers, missing: [f32; 2], rate: f32) {
        for (unit, &gradient) in gradient.iter().enumerate() {
            self.mean[unit] += (1.0 - DECAYS[0]) * (gradient - self.mean[unit]);
            self.square[unit] += (1.0 - DECAYS[1]) * (gradient * gradient - self.square[unit]);
            let deviation = (self.square[unit] / (1.0 - missing[1])).sqrt();
            self.value[unit] += rate * self.mean[unit] / (1.0 - missing[0]) / (deviation + 1e-8);
        }
    }
}

/// What a stage has of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LearnedHead {
    bias: Adam,
    output: Adam,
    /// See [`Adam::step`].
    missing: [f32; 2],
}

/// Floats of a head in a [`LearnerState`](super::LearnerState).
const HEAD_FLOATS: usize = 6 * UNITS + 2;

impl LearnedHead {
    fn new(bias: Numbers, output: Numbers) -> Self {
        Self { bias: Adam::new(bias), output: Adam::new(output), missing: [1.0; 2] }
    }

    fn floats(&self) -> Vec<f32> {
        let Self { bias, output, missing } = self;
        let arrays = [bias, output].map(|adam| [adam.value, adam.mean, adam.square]);
        arrays.as_flattened().as_flattened().iter().chain(missing).copied().collect()
    }

    fn from_floats(floats: &[f32; HEAD_FLOATS]) -> Self {
        let (numbers, missing) = floats.as_chunks::<UNITS>();
        let adam = |first: usize| Adam { value: numbers[first], mean: numbers[first + 1], square: numbers[first + 2] };
        Self { bias: adam(0), output: adam(3), missing: [missing[0], missing[1]] }
    }

    /// What the layer adds, in discs.
    fn value(&self, sums: &Numbers) -> f32 {
        UNIT * sums.iter().zip(&self.output.value).map(|(sum, output)| sum.clamp(0.0, 1.0) * output).sum::<f32>()
    }

    /// The sums of the units for the rows of a position's features.
    #[inline]
    fn sums(&self, rows: &[LearnedRow], features: &[u8], weights: &[u32]) -> Numbers {
        // Two partial sums, always the same two: quick, and the same result everywhere.
        let mut partial = [self.bias.value, Numbers::default()];
        for (i, &feature) in features.iter().enumerate() {
            let row = &rows[weights[usize::from(feature)] as usize];
            (0..UNITS).for_each(|unit| partial[i % 2][unit] += row[unit]);
        }
        std::array::from_fn(|unit| partial[0][unit] + partial[1][unit])
    }
}

/// A hidden layer in learning.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LearnedLayer {
    /// By group of stages.
    pub rows: Vec<Vec<LearnedRow>>,
    /// By stage.
    pub heads: Vec<LearnedHead>,
    /// The features that have rows, by their number: pattern instances and scalars.
    pub features: Vec<u8>,
}

/// The features that have rows.
fn features(layout: &Layout) -> Vec<u8> {
    let (instances, set) = (layout.instances(), layout.set());
    let has_rows = |&feature: &usize| feature >= instances || set.has_rows(layout.instance(feature).0);
    (0..instances + layout.scalars().len()).filter(has_rows).map(|feature| feature as u8).collect()
}

impl LearnedLayer {
    /// A layer that knows nothing, for so many stages.
    pub fn new(layout: &Layout, stages: usize) -> Self {
        let of_group = |group: usize| {
            let mut rng = ChaCha8Rng::seed_from_u64(group as u64);
            let mut row = || std::array::from_fn(|i| if i < UNITS { rng.random_range(-START..START) } else { SQUARES[0] });
            (0..layout.weights()).map(|_| row()).collect()
        };
        let output = std::array::from_fn(|unit| if unit % 2 == 0 { 0.5 } else { -0.5 });
        let heads = vec![LearnedHead::new([0.5; UNITS], output); stages];
        Self { rows: (0..GROUPS.len()).map(of_group).collect(), heads, features: features(layout) }
    }

    /// The number of the rows that each stage uses.
    pub fn rows_of_stages(stages: &StageMap) -> Vec<u8> {
        let of_stage = |stage| {
            let empties = stages.empties_of(stage);
            let middle = empties[empties.len() / 2];
            GROUPS.iter().rposition(|&fewest| fewest <= middle).expect("the first group begins at 0") as u8
        };
        (0..stages.count()).map(of_stage).collect()
    }

    /// A layer as it was stored: what its rows have learned counts, and they move in small steps. The stages must be those of
    /// [`Self::rows_of_stages`].
    pub fn from_stored(layer: &HiddenLayer, scale: u16, layout: &Layout) -> Self {
        let of_row = |row: &Row| {
            let history = SQUARES[usize::from(row.iter().any(|&number| number != 0))];
            std::array::from_fn(|i| row.get(i).map_or(history, |&number| f32::from(number) / f32::from(HiddenLayer::ON)))
        };
        let of_head = |head: &Head| {
            let bias = head.bias.map(|bias| f32::from(bias) / f32::from(HiddenLayer::ON));
            LearnedHead::new(bias, head.output.map(|output| f32::from(output) / f32::from(scale) / UNIT))
        };
        Self {
            rows: layer.rows.iter().map(|rows| rows.iter().map(of_row).collect()).collect(),
            heads: layer.heads.iter().map(of_head).collect(),
            features: features(layout),
        }
    }

    /// The layer as it is stored, `scale` units of a weight in a disc. A row that was never learned is 0.
    pub fn stored(&self, stages: &StageMap, scale: u16) -> HiddenLayer {
        let on = f32::from(HiddenLayer::ON);
        let of_row = |row: &LearnedRow| {
            let number = |unit: usize| (row[unit] * on).round().clamp(-127.0, 127.0) as i8;
            if row[UNITS] == SQUARES[0] { Row::default() } else { std::array::from_fn(number) }
        };
        let limit = f32::from(HiddenLayer::MAX_BIAS);
        let of_head = |head: &LearnedHead| Head {
            bias: head.bias.value.map(|bias| (bias * on).round().clamp(-limit, limit) as i16),
            output: head.output.value.map(|output| (output * UNIT * f32::from(scale)).round() as i16),
        };
        HiddenLayer {
            rows_of_stage: Self::rows_of_stages(stages),
            rows: self.rows.iter().map(|rows| rows.iter().map(of_row).collect()).collect(),
            heads: self.heads.iter().map(of_head).collect(),
        }
    }

    /// All that it knows: by group the rows, then the heads.
    pub fn floats(&self) -> Vec<Vec<f32>> {
        let heads = self.heads.iter().flat_map(LearnedHead::floats).collect();
        self.rows.iter().map(|rows| rows.as_flattened().to_vec()).chain([heads]).collect()
    }

    /// The reverse of [`Self::floats`], or `None` where there are other numbers of stages and weights.
    pub fn from_floats(floats: &[Vec<f32>], stages: usize, layout: &Layout) -> Option<Self> {
        let (heads, rows) = floats.split_last()?;
        let (heads, rest) = heads.as_chunks();
        if rows.len() != GROUPS.len() || heads.len() != stages || !rest.is_empty() {
            return None;
        }
        let rows = rows.iter().map(|rows| match rows.as_chunks() {
            (rows, []) if rows.len() == layout.weights() => Some(rows.to_vec()),
            _ => None,
        });
        let heads = heads.iter().map(LearnedHead::from_floats).collect();
        Some(Self { rows: rows.collect::<Option<_>>()?, heads, features: features(layout) })
    }

    /// What it adds for the weights of a position's features, in discs.
    pub fn value(&self, group: u8, stage: usize, weights: &[u32]) -> f32 {
        let head = &self.heads[stage];
        head.value(&head.sums(&self.rows[usize::from(group)], &self.features, weights))
    }
}

/// What a stage learns of a layer: the rows of its group, and its own numbers.
pub(super) struct Layer<'l> {
    rows: &'l mut [LearnedRow],
    /// See [`LearnedLayer::features`].
    features: &'l [u8],
    head: &'l mut LearnedHead,
    /// See [`Learner::pass`](super::Learner::pass).
    scale: f32,
    /// Samples since the head moved, and the sums of their gradients for biases and outputs.
    waiting: usize,
    gradients: [Numbers; 2],
}

impl<'l> Layer<'l> {
    pub fn new(rows: &'l mut [LearnedRow], features: &'l [u8], head: &'l mut LearnedHead, scale: f32) -> Self {
        Self { rows, features, head, scale, waiting: 0, gradients: [[0.0; UNITS]; 2] }
    }

    /// Has the rows of a position fetched into the cache.
    #[inline]
    pub fn prefetch(&self, weights: &[u32]) {
        for &feature in self.features {
            let row = &self.rows[weights[usize::from(feature)] as usize];
            prefetch(&row[0]);
            prefetch(&row[UNITS]);
        }
    }

    /// The sums of the units, and what they add in discs.
    #[inline]
    pub fn value(&self, weights: &[u32]) -> (Numbers, f32) {
        let sums = self.head.sums(self.rows, self.features, weights);
        (sums, self.head.value(&sums))
    }

    /// Moves the rows of a sample whose value was too low by `error` discs.
    #[inline]
    pub fn learn(&mut self, weights: &[u32], sums: &Numbers, error: f32) {
        let error = error / UNIT;
        let output = &self.head.output.value;
        let moves = |unit: usize| sums[unit] > 0.0 && sums[unit] < 1.0;
        let gradient: Numbers = std::array::from_fn(|unit| if moves(unit) { error * output[unit] } else { 0.0 });
        let square = gradient.iter().map(|g| g * g).sum::<f32>() / UNITS as f32;
        for &feature in self.features {
            let row = &mut self.rows[weights[usize::from(feature)] as usize];
            row[UNITS] += square;
            let step = RATES[0] * self.scale / row[UNITS].sqrt();
            (0..UNITS).for_each(|unit| row[unit] += step * gradient[unit]);
        }
        for unit in 0..UNITS {
            self.gradients[0][unit] += gradient[unit];
            self.gradients[1][unit] += error * sums[unit].clamp(0.0, 1.0);
        }
        self.waiting += 1;
        if self.waiting == BATCH {
            self.move_head();
        }
    }

    /// Moves the stage's own numbers for the samples since they moved last.
    pub fn move_head(&mut self) {
        if self.waiting == 0 {
            return;
        }
        let mean = |sums: &Numbers| sums.map(|sum| sum / self.waiting as f32);
        let [bias, output] = [mean(&self.gradients[0]), mean(&self.gradients[1])];
        let LearnedHead { missing, .. } = self.head;
        missing.iter_mut().zip(DECAYS).for_each(|(missing, decay)| *missing *= decay);
        let (missing, rate) = (*missing, RATES[1] * self.scale);
        self.head.bias.step(&bias, missing, rate);
        self.head.output.step(&output, missing, rate);
        (self.waiting, self.gradients) = (0, [[0.0; UNITS]; 2]);
    }
}
