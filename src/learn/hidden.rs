//! Learning a hidden layer.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::eval::{Head, HiddenLayer, Row, Score, StageMap, UNITS};
use crate::memory::prefetch;
use crate::pattern::Layout;

/// The lower bound, in empties, of each group of stages that share rows: wide enough for configurations to occur often, and narrow
/// enough for them to mean much the same throughout.
const GROUPS: [u32; 5] = [0, 13, 25, 37, 49];

/// Number of tables of rows in a new hidden layer.
pub const ROW_TABLES: usize = GROUPS.len();

/// Discs in a unit of the layer's output.
const UNIT: f32 = 8.0;

/// New rows of scalars are random within plus and minus this, and all others zero: what is random in the row of a rare configuration would
/// stay there as noise.
const START: f32 = 0.1;

/// New biases go from the first to the last of these, two units of opposite outputs at each step: such units reach the ends of their range
/// at different sums.
const BIASES: [f32; 2] = [0.1, 0.9];

/// Rows whose numbers are all closer to 0 than this are stored as zeros. When all rows began random, they took a seventieth of a file, and no
/// match noticed them.
const SMALLEST: f32 = 4.5 / HiddenLayer::ON as f32;

/// The largest number in a row, which is the largest that can be stored. Larger ones would be learned with, but cut off in the end.
const LARGEST: f32 = i8::MAX as f32 / HiddenLayer::ON as f32;

/// The largest bias and output of a stage, likewise.
const LARGEST_OF_STAGE: [f32; 2] =
    [HiddenLayer::MAX_BIAS as f32 / HiddenLayer::ON as f32, i16::MAX as f32 / Score::DISC as f32 / UNIT];

/// The initial sum of squared gradients of a new row, and of a row learned elsewhere.
const SQUARES: [f32; 2] = [0.5, 50.0];

/// The learning rates of rows (AdaGrad; single precision stops adding squares after some ten million visits, when steps are far below what
/// a file tells apart) and of a stage's own numbers (Adam).
const RATES: [f32; 2] = [0.012, 0.001];

/// A stage's own numbers move after this many samples.
const BATCH: usize = 256;

type Numbers = [f32; UNITS];

/// A row while it is learned, alone in a cache line.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C, align(64))]
pub(super) struct LearnedRow {
    numbers: Numbers,
    /// The sum of the squared gradients so far. Steps shrink as it grows (AdaGrad, one sum a row).
    squares: f32,
}

/// Floats of a row of a hidden layer in a [`LearnerState`](super::LearnerState).
pub const ROW_FLOATS: usize = UNITS + 1;

impl LearnedRow {
    fn floats(&self) -> [f32; ROW_FLOATS] {
        std::array::from_fn(|i| self.numbers.get(i).copied().unwrap_or(self.squares))
    }

    fn from_floats(floats: &[f32; ROW_FLOATS]) -> Self {
        Self { numbers: std::array::from_fn(|unit| floats[unit]), squares: floats[UNITS] }
    }

    /// Whether it has moved from its start, and is not all but zero.
    fn counts(&self) -> bool {
        self.squares != SQUARES[0] && self.numbers.iter().any(|number| number.abs() >= SMALLEST)
    }
}

/// Numbers moved by Adam (Diederik Kingma and Jimmy Ba, "Adam: a method for stochastic optimization", 2015).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Adam {
    value: Numbers,
    mean: Numbers,
    square: Numbers,
}

/// Adam's decay rates of the mean gradient and of the mean square.
const DECAYS: [f32; 2] = [0.9, 0.999];

impl Adam {
    fn new(value: Numbers) -> Self {
        Self { value, ..Self::default() }
    }

    /// `beta_powers` are the decay rates to the power of the number of steps: the share that the initial zeros still have in the two means.
    /// No value goes beyond `largest` either way.
    fn step(&mut self, gradient: &Numbers, beta_powers: [f32; 2], rate: f32, largest: f32) {
        for (unit, &gradient) in gradient.iter().enumerate() {
            self.mean[unit] += (1.0 - DECAYS[0]) * (gradient - self.mean[unit]);
            self.square[unit] += (1.0 - DECAYS[1]) * (gradient * gradient - self.square[unit]);
            let deviation = (self.square[unit] / (1.0 - beta_powers[1])).sqrt();
            let step = rate * self.mean[unit] / (1.0 - beta_powers[0]) / (deviation + 1e-8);
            self.value[unit] = (self.value[unit] + step).clamp(-largest, largest);
        }
    }
}

/// A stage's own numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LearnedHead {
    /// The number of its row table.
    rows: u8,
    bias: Adam,
    output: Adam,
    /// See [`Adam::step`].
    beta_powers: [f32; 2],
}

/// Floats of a head in a [`LearnerState`](super::LearnerState).
const HEAD_FLOATS: usize = 6 * UNITS + 3;

impl LearnedHead {
    fn new(rows: u8, bias: Numbers, output: Numbers) -> Self {
        Self { rows, bias: Adam::new(bias), output: Adam::new(output), beta_powers: [1.0; 2] }
    }

    /// The number of its row table.
    pub fn rows(&self) -> usize {
        usize::from(self.rows)
    }

    fn floats(&self) -> Vec<f32> {
        let Self { rows, bias, output, beta_powers } = self;
        let arrays = [bias, output].map(|adam| [adam.value, adam.mean, adam.square]);
        let numbers = arrays.as_flattened().as_flattened().iter().chain(beta_powers).copied();
        numbers.chain([f32::from(*rows)]).collect()
    }

    fn from_floats(floats: &[f32; HEAD_FLOATS]) -> Self {
        let (numbers, rest) = floats.as_chunks::<UNITS>();
        let adam = |first: usize| Adam { value: numbers[first], mean: numbers[first + 1], square: numbers[first + 2] };
        Self { rows: rest[2] as u8, bias: adam(0), output: adam(3), beta_powers: [rest[0], rest[1]] }
    }

    /// What the layer adds, in discs.
    fn value(&self, sums: &Numbers) -> f32 {
        UNIT * sums.iter().zip(&self.output.value).map(|(sum, output)| sum.clamp(0.0, 1.0) * output).sum::<f32>()
    }

    /// The sums of the units for the rows of a position's features.
    #[inline]
    fn sums<'r>(&self, rows: impl Iterator<Item = &'r LearnedRow>) -> Numbers {
        // Two partial sums, always the same two: quick, and the same result everywhere.
        let mut partial = [self.bias.value, Numbers::default()];
        for (i, row) in rows.enumerate() {
            (0..UNITS).for_each(|unit| partial[i % 2][unit] += row.numbers[unit]);
        }
        std::array::from_fn(|unit| partial[0][unit] + partial[1][unit])
    }
}

/// A hidden layer while it is learned.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LearnedLayer {
    /// The tables of rows; see [`LearnedHead::rows`].
    pub rows: Vec<Vec<LearnedRow>>,
    /// By stage.
    pub heads: Vec<LearnedHead>,
}

impl LearnedLayer {
    /// A new layer.
    pub fn new(layout: &Layout, stages: &StageMap) -> Self {
        let of_scalars: usize = layout.scalars().iter().map(|(scalar, _)| scalar.values()).sum();
        let of_group = |group: usize| {
            let new = LearnedRow { numbers: Numbers::default(), squares: SQUARES[0] };
            let mut rows = vec![new; layout.weights()];
            let mut rng = ChaCha8Rng::seed_from_u64(group as u64);
            for row in &mut rows[layout.weights() - of_scalars..] {
                row.numbers.fill_with(|| rng.random_range(-START..START));
            }
            rows
        };
        let output = std::array::from_fn(|unit| if unit % 2 == 0 { 0.5 } else { -0.5 });
        let step = (BIASES[1] - BIASES[0]) / (UNITS / 2 - 1) as f32;
        let bias = std::array::from_fn(|unit| BIASES[0] + step * (unit / 2) as f32);
        let of_stage = |stage| {
            let empties = stages.empties_of(stage);
            let middle = empties[empties.len() / 2];
            let group = GROUPS.iter().rposition(|&fewest| fewest <= middle).expect("the first group begins at 0");
            LearnedHead::new(group as u8, bias, output)
        };
        Self { rows: (0..ROW_TABLES).map(of_group).collect(), heads: (0..stages.count()).map(of_stage).collect() }
    }

    /// A layer from its stored form. Rows that are not zero count as learned and move in small steps.
    pub fn from_stored(layer: &HiddenLayer, scale: u16) -> Self {
        let on = f32::from(HiddenLayer::ON);
        let of_row = |row: &Row| LearnedRow {
            numbers: row.map(|number| f32::from(number) / on),
            squares: SQUARES[usize::from(*row != Row::default())],
        };
        let of_head = |(head, &rows): (&Head, &u8)| {
            let output = head.output.map(|output| f32::from(output) / f32::from(scale) / UNIT);
            LearnedHead::new(rows, head.bias.map(|bias| f32::from(bias) / on), output)
        };
        Self {
            rows: layer.rows.iter().map(|rows| rows.iter().map(of_row).collect()).collect(),
            heads: layer.heads.iter().zip(&layer.rows_of_stage).map(of_head).collect(),
        }
    }

    /// The layer as it is stored, `scale` weight units per disc.
    pub fn stored(&self, scale: u16) -> HiddenLayer {
        let on = f32::from(HiddenLayer::ON);
        let of_row = |row: &LearnedRow| {
            let stored = |number: f32| (number * on).round() as i8;
            if row.counts() { row.numbers.map(stored) } else { Row::default() }
        };
        let of_head = |head: &LearnedHead| Head {
            bias: head.bias.value.map(|bias| (bias * on).round() as i16),
            output: head.output.value.map(|output| (output * UNIT * f32::from(scale)).round() as i16),
        };
        HiddenLayer {
            rows_of_stage: self.heads.iter().map(|head| head.rows).collect(),
            rows: self.rows.par_iter().map(|rows| rows.iter().map(of_row).collect()).collect(),
            heads: self.heads.iter().map(of_head).collect(),
        }
    }

    /// Changes the stages: each new one is a copy of the old one that `sources` gives for it, and shares its rows.
    pub fn set_stages(&mut self, sources: impl Iterator<Item = usize>) {
        self.heads = sources.map(|stage| self.heads[stage]).collect();
    }

    /// Its whole state: the tables of rows, then the heads.
    pub fn floats(&self) -> Vec<Vec<f32>> {
        let heads = self.heads.iter().flat_map(LearnedHead::floats).collect();
        let of_rows = |rows: &Vec<LearnedRow>| rows.iter().flat_map(LearnedRow::floats).collect();
        self.rows.iter().map(of_rows).chain([heads]).collect()
    }

    /// The reverse of [`Self::floats`]; `None` if it is for another number of stages or weights.
    pub fn from_floats(floats: &[Vec<f32>], stages: usize, weights: usize) -> Option<Self> {
        let (heads, rows) = floats.split_last()?;
        let rows = rows.iter().map(|rows| match rows.as_chunks() {
            (rows, []) if rows.len() == weights => Some(rows.iter().map(LearnedRow::from_floats).collect()),
            _ => None,
        });
        let rows: Vec<Vec<LearnedRow>> = rows.collect::<Option<_>>()?;
        let (heads, rest) = heads.as_chunks();
        let heads: Vec<_> = heads.iter().map(LearnedHead::from_floats).collect();
        let fits = heads.len() == stages && rest.is_empty() && heads.iter().all(|head| head.rows() < rows.len());
        fits.then_some(Self { rows, heads })
    }

    /// What it adds to the value of a position with these weights, in discs. Rows that do not count are zero, as they will be
    /// once stored.
    pub fn value(&self, stage: usize, weights: &[u32]) -> f32 {
        let head = &self.heads[stage];
        let rows = &self.rows[head.rows()];
        head.value(&head.sums(rows_of(rows, weights).filter(|row| row.counts())))
    }
}

/// The rows of a position's features.
#[inline]
fn rows_of<'r>(rows: &'r [LearnedRow], weights: &[u32]) -> impl Iterator<Item = &'r LearnedRow> {
    weights.iter().map(|&weight| &rows[weight as usize])
}

/// The part of a layer that one stage learns: rows shared with other stages, and its own numbers.
pub(super) struct StageLayer<'l> {
    rows: &'l mut [LearnedRow],
    head: &'l mut LearnedHead,
    /// Factor of all steps.
    scale: f32,
    /// Samples since the head moved, and the sums of their gradients for biases and outputs.
    waiting: usize,
    gradients: [Numbers; 2],
}

impl<'l> StageLayer<'l> {
    pub fn new(rows: &'l mut [LearnedRow], head: &'l mut LearnedHead, scale: f32) -> Self {
        Self { rows, head, scale, waiting: 0, gradients: [[0.0; UNITS]; 2] }
    }

    /// Prefetches the rows of a position into the cache.
    #[inline]
    pub fn prefetch(&self, weights: &[u32]) {
        for row in rows_of(self.rows, weights) {
            prefetch(row);
        }
    }

    /// The sums of the units, and what they add in discs.
    #[inline]
    pub fn value(&self, weights: &[u32]) -> (Numbers, f32) {
        let sums = self.head.sums(rows_of(self.rows, weights));
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
        for &weight in weights {
            let row = &mut self.rows[weight as usize];
            row.squares += square;
            let step = RATES[0] * self.scale / row.squares.sqrt();
            for (number, gradient) in row.numbers.iter_mut().zip(gradient) {
                *number = (*number + step * gradient).clamp(-LARGEST, LARGEST);
            }
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

    /// Moves the stage's own numbers for the samples since they last moved.
    pub fn move_head(&mut self) {
        if self.waiting == 0 {
            return;
        }
        let mean = |sums: &Numbers| sums.map(|sum| sum / self.waiting as f32);
        let [bias, output] = [mean(&self.gradients[0]), mean(&self.gradients[1])];
        let LearnedHead { beta_powers, .. } = self.head;
        beta_powers.iter_mut().zip(DECAYS).for_each(|(power, decay)| *power *= decay);
        let (beta_powers, rate) = (*beta_powers, RATES[1] * self.scale);
        self.head.bias.step(&bias, beta_powers, rate, LARGEST_OF_STAGE[0]);
        self.head.output.step(&output, beta_powers, rate, LARGEST_OF_STAGE[1]);
        (self.waiting, self.gradients) = (0, [[0.0; UNITS]; 2]);
    }
}
