//! The pattern evaluator: a sum of table entries (Michael Buro, "From simple features to sophisticated evaluation functions", 1998), and a
//! hidden layer over their rows if the model has one.
#![allow(unsafe_code)] // Unchecked accesses to tables, the innermost of the program; see `sum_weights` and `sum_rows`.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use rayon::prelude::*;
use wide::{i8x16, i16x16, i32x8};

use super::digits::{NearDigits, reordered};
use super::hidden::{Head, HiddenLayer, Row, UNITS};
use super::model::{Model, ModelError};
use super::{Calibration, Evaluator, Score};
use crate::board::{Bitboard, Position, Square};
use crate::memory::prefer_huge_pages;
use crate::pattern::{Indices, LANES, Lanes, Layout, Scalar, Seen};

/// Unused entries before and after the table, so that a centre plus or minus any `i16` stays inside, and one entry follows.
const MARGIN: usize = (1 << 15) + 1;

/// What depends on the number of empty squares alone.
#[derive(Clone, Copy, Debug)]
struct Phase {
    /// Where the stage's entries, with a margin on either side, start in the table.
    at: usize,
    /// The sum of the weights of [`Scalar::Constant`] and [`Scalar::Parity`]; not used if the table has rows.
    base: i32,
}

/// Evaluates positions with a [`Model`]: for each stage a flat table with an entry for every slot of the layout.
#[derive(Clone)]
pub struct PatternEvaluator {
    layout: Arc<Layout>,
    /// The lanes of the layout, with the digits of their indices in the order of the table.
    lanes: Lanes,
    scale: i32,
    /// By the number of empty squares.
    phases: Box<[Phase; 65]>,
    table: Table,
    /// Entries of a stage: one for each slot, and a 0 for lanes without a pattern.
    stride: usize,
    /// By lane, in the order of [`place_of`], [`MARGIN`] plus the entry within a stage that the lane's index counts from, which is below
    /// `stride`; in bytes if the table has rows.
    origins: Box<[i32x8; LANES / WIDTH]>,
    /// The first entries of the scalars [`Scalar::Mobility`] and [`Scalar::OpponentMobility`], if the set has both.
    mobilities: Option<[usize; 2]>,
    /// The same for [`Scalar::CornerMoves`] and [`Scalar::OddQuadrants`].
    corners_and_quadrants: Option<[usize; 2]>,
    /// The first entries of all other scalars that `phases` do not cover. Each takes a call.
    scalars: Vec<(Scalar, usize)>,
    calibration: Option<Calibration>,
}

/// [`MARGIN`] unused entries, `stride` entries per stage, [`MARGIN`] unused entries.
#[derive(Clone)]
enum Table {
    /// The weights, and whether they are narrow: whether the weights of the eight lanes of a vector add up to an `i16` for any
    /// position.
    Weights(Vec<i16>, bool),
    /// With a hidden layer: its rows beside the weights, and by number of empty squares the rest of it.
    Rows(Vec<WeightedRow>, Box<[RowPhase; 65]>),
}

/// A row of the hidden layer, then the weight of the same entry as two digits: weights and rows are summed together.
type WeightedRow = i8x16;

const ROW_BYTES: usize = size_of::<WeightedRow>();

/// What depends on the number of empty squares alone in a hidden layer.
#[derive(Clone, Copy, Debug)]
struct RowPhase {
    /// The biases plus the weighted rows of [`Scalar::Constant`] and [`Scalar::Parity`].
    base: i16x16,
    /// What each unit adds when fully on; [`HiddenLayer::ON`] for the low digit of the weight, 0 for the high one.
    output: i16x16,
}

/// Lanes of a vector of entries.
const WIDTH: usize = 8;

/// The vector of entries that a lane belongs to, and its place there: of each sixteen lanes, the even ones are in one vector and the odd
/// ones in the next.
fn place_of(lane: usize) -> (usize, usize) {
    let (sixteen, lane) = (lane / (2 * WIDTH), lane % (2 * WIDTH));
    (2 * sixteen + lane % 2, lane / 2)
}

/// Vectors that are enough for most sets.
const FEW: usize = 6;

impl fmt::Debug for PatternEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PatternEvaluator").field("set", &self.layout.set().name).finish_non_exhaustive()
    }
}

impl PatternEvaluator {
    /// Makes a model ready for evaluating.
    ///
    /// # Errors
    /// A model whose parts do not fit each other.
    pub fn new(model: &Model) -> Result<Self, ModelError> {
        Self::with_layout(model, Arc::new(Layout::new(&model.set)?))
    }

    /// [`Self::new`], given the layout of the model's pattern set.
    ///
    /// # Errors
    /// A model whose parts do not fit each other.
    ///
    /// # Panics
    /// If the layout is that of another set.
    pub fn with_layout(model: &Model, layout: Arc<Layout>) -> Result<Self, ModelError> {
        assert!(layout.set().is_like(&model.set), "the layout belongs to the model's set");
        model.check(&layout)?;
        let (slots, stride) = (layout.slots(), layout.slots() + 1);
        let unit = if model.hidden.is_some() { ROW_BYTES } else { 1 };
        let mut origins = Box::new([i32x8::ZERO; LANES / WIDTH]);
        for (lane, &centre) in layout.centres().iter().enumerate() {
            let entry = if lane < layout.lanes().count() { centre as usize } else { slots };
            let (vector, place) = place_of(lane);
            origins[vector].as_mut_array()[place] = (unit * (MARGIN + entry)) as i32;
        }
        let both = |a, b| Some([layout.first_slot(a)?, layout.first_slot(b)?]);
        let mobilities = both(Scalar::Mobility, Scalar::OpponentMobility);
        let corners_and_quadrants = both(Scalar::CornerMoves, Scalar::OddQuadrants);
        let mut scalars = layout.scalars().to_vec();
        scalars.retain(|&(scalar, _)| match scalar {
            Scalar::Constant | Scalar::Parity => false,
            Scalar::Mobility | Scalar::OpponentMobility => mobilities.is_none(),
            Scalar::CornerMoves | Scalar::OddQuadrants => corners_and_quadrants.is_none(),
            _ => true,
        });
        // The numbers of the weights that depend on the number of empty squares alone.
        let fixed = |empties: usize| {
            let parity = layout.first_weight(Scalar::Parity).map(|first| first + empties % 2);
            layout.first_weight(Scalar::Constant).into_iter().chain(parity)
        };
        let phase = |empties: usize| {
            let stage = model.stages.of_empties(empties as u32);
            let weights = &model.weights[stage];
            Phase { at: stride * stage, base: fixed(empties).map(|weight| i32::from(weights[weight])).sum() }
        };
        let phases = Box::new(std::array::from_fn(phase));
        let near = if model.hidden.is_some() { NearDigits::SecondRing } else { NearDigits::Inner };
        let (lanes, weight_of_slot) = reordered(&layout, near);
        let table = match &model.hidden {
            None => {
                let of_stage = |stage: usize, weight| model.weights[stage][weight];
                Table::Weights(
                    by_slot(&weight_of_slot, model.weights.len(), of_stage),
                    is_narrow(&layout, &model.weights),
                )
            }
            Some(hidden) => {
                let of_stage = |stage, weight| weighted(hidden.rows_of(stage)[weight], model.weights[stage][weight]);
                let phase = |empties| {
                    let stage = model.stages.of_empties(empties as u32);
                    RowPhase::new(&hidden.heads[stage], fixed(empties).map(|weight| of_stage(stage, weight)))
                };
                let table = by_slot(&weight_of_slot, model.weights.len(), of_stage);
                Table::Rows(table, Box::new(std::array::from_fn(phase)))
            }
        };
        let scale = i32::from(model.scale);
        Ok(Self {
            layout,
            lanes,
            scale,
            phases,
            table,
            stride,
            origins,
            mobilities,
            corners_and_quadrants,
            scalars,
            calibration: None,
        })
    }

    /// The same with the calibration of its model, if there is one.
    #[must_use]
    pub fn with_calibration(self, calibration: Option<Calibration>) -> Self {
        Self { calibration, ..self }
    }

    /// The layout of its pattern set.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The sum of the position's weights and what the hidden layer adds, in the model's own units, before scaling and clamping.
    #[inline]
    pub fn sum(&self, position: &Position, state: &Indices) -> i32 {
        let seen =
            if self.looks_at_moves() { Seen::new(position) } else { Seen { position: *position, moves: [0; 2] } };
        self.sum_seen(&seen, state, 1)
    }

    /// The sum, given the indices as the player sees them, or times a sign of -1 as the opponent does.
    #[inline(always)]
    fn sum_seen(&self, seen: &Seen, indices: &Indices, sign: i16) -> i32 {
        let few = self.lanes.count() <= FEW * WIDTH;
        match &self.table {
            Table::Weights(table, true) if few => self.sum_weights::<FEW, true>(table, seen, indices, sign),
            Table::Weights(table, true) => self.sum_weights::<{ LANES / WIDTH }, true>(table, seen, indices, sign),
            Table::Weights(table, false) if few => self.sum_weights::<FEW, false>(table, seen, indices, sign),
            Table::Weights(table, false) => self.sum_weights::<{ LANES / WIDTH }, false>(table, seen, indices, sign),
            Table::Rows(table, phases) if few => self.sum_rows::<FEW>(table, phases, seen, indices, sign),
            Table::Rows(table, phases) => self.sum_rows::<{ LANES / WIDTH }>(table, phases, seen, indices, sign),
        }
    }

    /// Whether the moves of a position count besides its discs.
    fn looks_at_moves(&self) -> bool {
        self.mobilities.is_some() || self.corners_and_quadrants.is_some() || !self.scalars.is_empty()
    }

    /// The entries of the lanes in the first `USED` vectors, counted from the start of the stage in the table, in the order and the units
    /// of `origins`. An index counts times `step`.
    #[inline(always)]
    fn entries<const USED: usize>(&self, indices: &Indices, step: i16) -> [i32x8; USED] {
        // One instruction widens every other lane and multiplies it.
        let every_other = |first| i16x16::new(std::array::from_fn(|i| if i % 2 == first { step } else { 0 }));
        let steps = [every_other(0), every_other(1)];
        std::array::from_fn(|i| self.origins[i] + indices.vectors()[i / 2].dot(steps[i % 2]))
    }

    /// Folds `add` over the entries of the scalars that `phases` do not cover.
    #[inline(always)]
    fn add_scalars<T>(&self, seen: &Seen, mut sum: T, add: impl Fn(T, usize) -> T) -> T {
        if let Some([own, opponent]) = self.mobilities {
            sum = add(sum, scalar_entry(Scalar::Mobility, own, seen));
            sum = add(sum, scalar_entry(Scalar::OpponentMobility, opponent, seen));
        }
        if let Some([corners, quadrants]) = self.corners_and_quadrants {
            sum = add(sum, scalar_entry(Scalar::CornerMoves, corners, seen));
            sum = add(sum, scalar_entry(Scalar::OddQuadrants, quadrants, seen));
        }
        if self.scalars.is_empty() { sum } else { self.add_other_scalars(seen, sum, add) }
    }

    /// Out of line, or vectors would be saved for its calls even if there are none.
    #[inline(never)]
    fn add_other_scalars<T>(&self, seen: &Seen, sum: T, add: impl Fn(T, usize) -> T) -> T {
        self.scalars.iter().fold(sum, |sum, &(scalar, first)| add(sum, scalar_entry(scalar, first, seen)))
    }

    /// The sum of the weights.
    #[inline(always)]
    fn sum_weights<const USED: usize, const NARROW: bool>(
        &self,
        table: &[i16],
        seen: &Seen,
        indices: &Indices,
        sign: i16,
    ) -> i32 {
        let Phase { at, base } = self.phases[seen.position.empties() as usize];
        let table = &table[at..at + self.stride + 2 * MARGIN];
        let pointer_to = |entry: usize| {
            debug_assert!((MARGIN..MARGIN + self.stride).contains(&entry));
            // SAFETY: an origin is MARGIN or more and below `MARGIN + stride`; an `i16` and its negation are between -MARGIN and MARGIN.
            // So `entry` is below `stride + 2 * MARGIN - 1`, and at least one entry of `table` follows it, for any state and position.
            // `scalar_entry` has the same limits.
            unsafe { table.as_ptr().add(entry) }
        };
        // Through memory, each pair of entries costs one more load; extracting them from a vector would take two or three steps.
        let entries = self.entries::<USED>(indices, sign);
        let entries = black_box(&entries);
        // SAFETY: see `pointer_to`.
        let mut sum = self.add_scalars(seen, base, move |sum, entry| sum + i32::from(unsafe { *pointer_to(entry) }));
        for entries in entries.iter().map(unpack) {
            sum += if NARROW {
                // Adding a weight and the one after it as one number takes one instruction; the lower half is the sum.
                // SAFETY: see `pointer_to`.
                let two = |entry| unsafe { pointer_to(entry).cast::<u32>().read_unaligned() };
                i32::from(entries.into_iter().map(two).fold(0, u32::wrapping_add) as i16)
            } else {
                // Volatile, so that it is one plain load: the compiler would load into lanes of vectors, which takes longer.
                // SAFETY: see `pointer_to`.
                entries.into_iter().map(|entry| i32::from(unsafe { pointer_to(entry).read_volatile() })).sum()
            };
        }
        sum
    }

    /// The sum of the weights, plus the value of the hidden layer for the sum of the rows.
    #[inline(always)]
    fn sum_rows<const USED: usize>(
        &self,
        table: &[WeightedRow],
        phases: &[RowPhase; 65],
        seen: &Seen,
        indices: &Indices,
        sign: i16,
    ) -> i32 {
        let empties = seen.position.empties() as usize;
        let at = self.phases[empties].at;
        let table = &table[at..at + self.stride + 2 * MARGIN];
        let row_at = |byte: usize| {
            debug_assert!((MARGIN..MARGIN + self.stride).contains(&(byte / ROW_BYTES)));
            // SAFETY: every entry is within `table`, as in `sum_weights`, and `byte` is the offset of one, which cannot overflow: 64
            // patterns of 3^10 rows take less than 2^27 bytes.
            i16x16::from_i8x16(unsafe { *table.as_ptr().byte_add(byte) })
        };
        let starts = self.entries::<USED>(indices, sign * ROW_BYTES as i16);
        let starts = black_box(&starts);
        let scalars = self.add_scalars(seen, i16x16::ZERO, move |sums, entry| sums + row_at(ROW_BYTES * entry));
        let (mut sums, mut other) = (scalars, i16x16::ZERO);
        for starts in starts.iter().map(unpack) {
            for &[even, odd] in starts.as_chunks().0 {
                sums += row_at(even);
                other += row_at(odd);
            }
        }
        phases[empties].value(sums + other)
    }

    /// A sum as a score, not yet limited.
    #[inline]
    fn score(&self, sum: i32) -> Score {
        // The common scale needs no arithmetic.
        Score(if self.scale == Score::DISC { sum } else { rescale(sum, self.scale) })
    }
}

impl RowPhase {
    /// The phase of a stage, with some rows added to its biases.
    fn new(Head { bias, output }: &Head, rows: impl Iterator<Item = WeightedRow>) -> Self {
        let units = |numbers: &[i16; UNITS]| i16x16::new(std::array::from_fn(|i| numbers.get(i).copied().unwrap_or(0)));
        let mut output = units(output);
        output.as_mut_array()[UNITS] = HiddenLayer::ON;
        Self { base: rows.fold(units(bias), |sum, row| sum + i16x16::from_i8x16(row)), output }
    }

    /// The sum of the weights and what the layer adds to it, given the sums of the other rows, in the units of the model's weights.
    #[inline(always)]
    fn value(&self, sums: i16x16) -> i32 {
        let lanes = |units, digits: [i16; 2]| {
            i16x16::new(std::array::from_fn(|i| if i < UNITS { units } else { digits[i - UNITS] }))
        };
        // The weight's digits are not clipped.
        let (min, max) = (lanes(0, [i16::MIN; 2]), lanes(HiddenLayer::ON, [i16::MAX; 2]));
        let on = (self.base + sums).max(min).min(max);
        // In 1/ON of a weight's unit; the high digit counts 256 times.
        let total: i32x8 = on.dot(self.output) + (on.dot(lanes(0, [0, HiddenLayer::ON])) << 8u32);
        let total: i32 = total.to_array().into_iter().sum();
        (total + i32::from(HiddenLayer::ON) / 2) >> HiddenLayer::ON.ilog2()
    }
}

/// A row with its weight, which is [`HiddenLayer::MAX_WEIGHT`] or less, as a low digit of -128 to 127 and a high one.
fn weighted(row: Row, weight: i16) -> WeightedRow {
    let low = weight as i8;
    let high = ((i32::from(weight) - i32::from(low)) / 256) as i8;
    i8x16::new(std::array::from_fn(|i| if i < UNITS { row[i] } else { [low, high][i - UNITS] }))
}

/// The numbers of a vector, none of which is negative, read from memory two at a time.
#[inline(always)]
fn unpack(vector: &i32x8) -> [usize; WIDTH] {
    let pairs: &[u64; WIDTH / 2] = bytemuck::cast_ref(vector);
    let [a, b, c, d] = *pairs;
    let lower = |pair: u64| (pair & u64::from(u32::MAX)) as usize;
    let upper = |pair: u64| (pair >> 32) as usize;
    [lower(a), upper(a), lower(b), upper(b), lower(c), upper(c), lower(d), upper(d)]
}

/// The entry of a scalar, whose first one is `first` within a stage. It is less than [`MARGIN`] further whatever the value; that costs
/// nothing where the compiler knows that the value is small.
#[inline(always)]
fn scalar_entry(scalar: Scalar, first: usize, seen: &Seen) -> usize {
    MARGIN + first + scalar.of(seen) % MARGIN
}

/// Whether the weights of the lanes of a vector add up to an `i16` whatever the position. Never on big-endian machines, where the sum of
/// several weights read with the one behind is not in the lower half.
fn is_narrow(layout: &Layout, weights: &[Vec<i16>]) -> bool {
    let lanes = layout.lanes();
    let patterns: Vec<usize> = (0..lanes.count()).map(|lane| lanes.instance(lane).0).collect();
    let fits = |stage: &Vec<i16>| {
        let largest =
            |number| stage[layout.weights_of(number)].iter().fold(0, |most, weight| weight.unsigned_abs().max(most));
        let largest: Vec<u32> = (0..layout.set().patterns.len()).map(|number| largest(number).into()).collect();
        let mut sums = [0; LANES / WIDTH];
        patterns.iter().enumerate().for_each(|(lane, &number)| sums[place_of(lane).0] += largest[number]);
        sums.into_iter().all(|sum| sum <= i16::MAX as u32)
    };
    cfg!(target_endian = "little") && weights.par_iter().all(fits)
}

/// A table with an entry for each slot, which `entry` makes from the stage and the number of the slot's weight, and one zero per stage
/// for lanes without a pattern.
fn by_slot<T: Copy + Default + Send + Sync>(
    weight_of_slot: &[u32],
    stages: usize,
    entry: impl Fn(usize, usize) -> T + Sync,
) -> Vec<T> {
    let stride = weight_of_slot.len() + 1;
    let entries = stride * stages;
    let mut table = Vec::with_capacity(MARGIN + entries + MARGIN);
    prefer_huge_pages(table.spare_capacity_mut());
    table.resize(MARGIN + entries + MARGIN, T::default());
    // In parallel: the other threads would be idle.
    table[MARGIN..MARGIN + entries].par_chunks_exact_mut(stride).enumerate().for_each(|(stage, table)| {
        table.iter_mut().zip(weight_of_slot).for_each(|(slot, &weight)| *slot = entry(stage, weight as usize));
    });
    table
}

impl Evaluator for PatternEvaluator {
    type State = Indices;

    #[inline]
    fn state(&self, position: &Position) -> Indices {
        self.lanes.indices(position)
    }

    #[inline]
    fn play(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        self.lanes.play(before, to, flips)
    }

    #[inline]
    fn pass(&self, before: &Indices) -> Indices {
        before.pass()
    }

    #[inline]
    fn evaluate(&self, position: &Position, state: &Indices) -> Score {
        self.score(self.sum(position, state)).clamp_eval()
    }

    #[inline(always)]
    fn evaluate_move(&self, before: &Indices, to: Square, flips: Bitboard, after: &Position) -> Option<Score> {
        let seen =
            if self.looks_at_moves() { Seen::new(after) } else { Seen { position: *after, moves: [after.moves(), 0] } };
        if seen.moves[0] == 0 {
            return None;
        }
        Some(self.score(self.sum_seen(&seen, &self.lanes.place(before, to, flips), -1)).clamp_eval())
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    fn evaluate_unlimited(&self, position: &Position) -> Score {
        self.score(self.sum(position, &self.state(position)))
    }
}

/// A sum in 1/`scale` disc as a score, rounded to the nearest, halves away from zero. A sum of 64 patterns, all scalars and the
/// units of a hidden layer, an `i16` each, times the factor fits in an `i32`.
fn rescale(sum: i32, scale: i32) -> i32 {
    let scaled = sum * Score::DISC;
    (scaled + scale / 2 * scaled.signum()) / scale
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::squares;
    use crate::eval::StageMap;
    use crate::pattern::{BUILT_IN, Pattern, PatternSet};

    fn random_model(set: &PatternSet, rng: &mut ChaCha8Rng) -> Model {
        let mut model = Model::zero(set, &StageMap::uniform(7), 128).unwrap();
        model.weights.iter_mut().flatten().for_each(|weight| *weight = rng.random());
        model
    }

    /// The numbers of a layer.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Numbers {
        /// Any that are allowed.
        Any,
        /// Like learned ones: most units are between off and on.
        Moderate,
        /// The largest, and so the largest sums.
        Largest,
        /// The smallest.
        Smallest,
    }

    /// Three tables of rows, which stages share at random.
    fn random_layer(model: &Model, numbers: Numbers, rng: &mut ChaCha8Rng) -> HiddenLayer {
        let largest = HiddenLayer::MAX_BIAS;
        let mut number = |any: RangeInclusive<i16>, moderate: i16| match numbers {
            Numbers::Any => rng.random_range(any),
            Numbers::Moderate => rng.random_range(-moderate..=moderate),
            Numbers::Largest => *any.end(),
            Numbers::Smallest => *any.start(),
        };
        let mut row = || std::array::from_fn(|_| number(-128..=127, 30) as i8);
        let rows: Vec<Vec<Row>> = (0..3).map(|_| model.weights[0].iter().map(|_| row()).collect()).collect();
        let mut head = |_| Head {
            bias: std::array::from_fn(|_| number(-largest..=largest, 300)),
            output: std::array::from_fn(|_| number(i16::MIN..=i16::MAX, 1000)),
        };
        let heads = (0..model.weights.len()).map(&mut head).collect();
        let rows_of_stage = (0..model.weights.len()).map(|_| rng.random_range(0..3)).collect();
        HiddenLayer { rows_of_stage, rows, heads }
    }

    /// The sum by its definition: digit by digit, weight by weight, unit by unit.
    fn naive_sum(model: &Model, layout: &Layout, position: &Position) -> i32 {
        let digit = |square: &Square| {
            (position.player & square.bit() != 0) as i32 - (position.opponent & square.bit() != 0) as i32
        };
        let of_lane = |lane: usize| {
            let index = layout.lanes().instance(lane).1.iter().rev().fold(0, |index, square| 3 * index + digit(square));
            (layout.centres()[lane] as i32 + index) as usize
        };
        let scalars = layout.scalars().iter().map(|(scalar, first)| first + scalar.of(&Seen::new(position)));
        let slots = (0..layout.lanes().count()).map(of_lane).chain(scalars);
        let features: Vec<usize> = slots.map(|slot| layout.weight_of_slot()[slot] as usize).collect();
        let stage = model.stages.of(position);
        let sum: i32 = features.iter().map(|&feature| i32::from(model.weights[stage][feature])).sum();
        let Some(hidden) = &model.hidden else { return sum };
        let (rows, head) = (&hidden.rows[usize::from(hidden.rows_of_stage[stage])], hidden.heads[stage]);
        let worth = |unit: usize| {
            let sum: f64 = features.iter().map(|&feature| f64::from(rows[feature][unit])).sum();
            ((sum + f64::from(head.bias[unit])) / 256.0).clamp(0.0, 1.0) * f64::from(head.output[unit])
        };
        // To the nearest, halves up.
        sum + ((0..UNITS).map(worth).sum::<f64>() + 0.5).floor() as i32
    }

    #[test]
    fn every_possible_sum_is_rescaled_to_the_nearest() {
        // As many features as a set may have, each with the largest weight.
        let max = ((LANES + Scalar::ALL.len() + UNITS) as i32) << 15;
        for scale in [1, 2, 99, 100, 127, 1000, 65_535] {
            for sum in -max..=max {
                let (exact, scale) = (i64::from(sum) * 128, i64::from(scale));
                let score = i64::from(rescale(sum, scale as i32));
                // The distance from the exact value, positive if away from zero, as ties must be.
                let over = (score * scale - exact) * exact.signum();
                assert!((1 - scale..=scale).contains(&(2 * over)), "{sum} at {scale}");
            }
        }
    }

    /// Sets of all kinds, the last with as many features as a set may have.
    fn sets() -> Vec<PatternSet> {
        let mut sets: Vec<_> = BUILT_IN.iter().map(|(name, _)| PatternSet::built_in(name).unwrap()).collect();
        // Only one of the two mobilities, and other scalars.
        let mut odd = PatternSet::built_in("classic").unwrap();
        odd.scalars = vec![Scalar::PlayerDiscs, Scalar::OpponentMobility, Scalar::CornerMoves, Scalar::Parity];
        let squares = ["a1 b1", "a1 c1", "a1 d1", "b1 c1", "b1 d1", "c1 d1", "a1 b3", "b2 c2"];
        let patterns = squares.map(|squares| Pattern::new(squares, squares).unwrap()).to_vec();
        let full = PatternSet { name: "full".into(), patterns, scalars: Scalar::ALL.to_vec(), engine: None };
        sets.extend([odd, full]);
        sets
    }

    /// Compares an evaluator with the definition along a random game.
    fn compare_with_naive(model: &Model, rng: &mut ChaCha8Rng) {
        let (evaluator, name) = (PatternEvaluator::new(model).unwrap(), &model.set.name);
        let layout = evaluator.layout();
        let mut position = Position::START;
        while !position.is_game_over() {
            let state = evaluator.state(&position);
            assert_eq!(evaluator.sum(&position, &state), naive_sum(model, layout, &position), "{name}");
            let moves = position.moves();
            if moves == 0 {
                position = position.pass();
                continue;
            }
            for to in squares(moves) {
                let flips = position.flips(to);
                let after = position.play_unchecked(to, flips);
                let value = Score(naive_sum(model, layout, &after)).clamp_eval();
                let movable = (after.moves() != 0).then_some(value);
                assert_eq!(evaluator.evaluate_move(&state, to, flips, &after), movable, "{name}");
                assert_eq!(evaluator.evaluate(&after, &evaluator.play(&state, to, flips)), value, "{name}");
            }
            let choice = rng.random_range(0..moves.count_ones() as usize);
            position = position.play(squares(moves).nth(choice).unwrap());
        }
    }

    #[test]
    fn the_sum_is_that_of_the_definition_before_and_after_every_move() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for set in sets() {
            let mut model = random_model(&set, &mut rng);
            let narrow = |model: &Model| match PatternEvaluator::new(model).unwrap().table {
                Table::Weights(_, narrow) => narrow,
                Table::Rows(..) => unreachable!("the model has no layer"),
            };
            assert!(!narrow(&model));
            compare_with_naive(&model, &mut rng);
            // The largest that are narrow in any set: eight lanes of one pattern.
            let limit = i16::MAX / WIDTH as i16;
            model.weights.iter_mut().flatten().for_each(|weight| *weight = (*weight).clamp(-limit, limit));
            for weights in [None, Some(limit), Some(-limit)] {
                if let Some(extreme) = weights {
                    model.weights.iter_mut().flatten().for_each(|weight| *weight = extreme);
                }
                assert!(narrow(&model));
                compare_with_naive(&model, &mut rng);
            }
        }
    }

    #[test]
    fn a_hidden_layer_adds_what_the_definition_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for set in sets() {
            let mut model = random_model(&set, &mut rng);
            model.weights.iter_mut().flatten().for_each(|weight| *weight = HiddenLayer::MAX_WEIGHT.min(*weight));
            for numbers in [Numbers::Any, Numbers::Moderate] {
                model.hidden = Some(random_layer(&model, numbers, &mut rng));
                compare_with_naive(&model, &mut rng);
                // Smaller weights, or clamping would hide what the layer adds.
                model.weights.iter_mut().flatten().for_each(|weight| *weight /= 128);
            }
        }
    }

    /// With as many features as a set may have, no sum overflows.
    #[test]
    fn the_largest_numbers_of_a_hidden_layer_do_not_overflow() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let set = sets().pop().unwrap();
        let mut model = random_model(&set, &mut rng);
        assert_eq!(Layout::new(&set).unwrap().lanes().count(), LANES);
        for numbers in [Numbers::Largest, Numbers::Smallest] {
            let layer = random_layer(&model, numbers, &mut rng);
            // Units that are on or off, with outputs of one sign or the other.
            for flip in [false, true] {
                let mut layer = layer.clone();
                if flip {
                    layer.heads.iter_mut().for_each(|head| head.output = head.output.map(|output| !output));
                }
                let extreme = if numbers == Numbers::Largest { HiddenLayer::MAX_WEIGHT } else { i16::MIN };
                model.weights.iter_mut().flatten().for_each(|weight| *weight = extreme);
                model.hidden = Some(layer);
                compare_with_naive(&model, &mut rng);
            }
        }
    }
}
