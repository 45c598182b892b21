//! The pattern evaluator: a sum of table entries, and a hidden layer over rows of them if the model has one.
#![allow(unsafe_code)] // Two unchecked table accesses, the innermost of the program; see `sum_lanes` and `Rows::value`.

use std::sync::Arc;

use rayon::prelude::*;
use wide::{i16x16, i32x8};

use super::hidden::{Head, HiddenLayer, Row, UNITS};
use super::model::{Model, ModelError};
use super::{Calibration, Evaluator, Score};
use crate::board::{Bitboard, Position, Square};
use crate::memory::prefer_huge_pages;
use crate::pattern::{Indices, LANES, Layout, Scalar, Seen};

/// Unused entries before and after the table, so that a centre plus any `i16` whatever stays inside.
const MARGIN: usize = 1 << 15;

/// What the number of empty squares alone decides.
#[derive(Clone, Copy, Debug)]
struct Phase {
    /// Where the stage's entries, with a margin on either side, start in the table.
    at: usize,
    /// The sum of the weights of [`Scalar::Constant`] and [`Scalar::Parity`].
    base: i32,
}

/// Evaluates positions by a [`Model`]: for each stage a flat table with an entry for every slot of the layout.
#[derive(Clone, Debug)]
pub struct PatternEvaluator {
    layout: Arc<Layout>,
    scale: i32,
    /// By the number of empty squares.
    phases: Box<[Phase; 65]>,
    /// [`MARGIN`] unused entries, `stride` entries a stage, [`MARGIN`] unused entries.
    table: Vec<i16>,
    /// Entries of a stage: one for each slot, and a 0 for lanes without a pattern.
    stride: usize,
    /// [`MARGIN`] and the entry in its stage that a lane's index counts from, below `stride`.
    origins: Box<[i32x8; LANES / WIDTH]>,
    /// The first entries of the scalars [`Scalar::Mobility`] and [`Scalar::OpponentMobility`], where the set has both.
    mobilities: Option<[usize; 2]>,
    /// The first entries of the scalars that neither `mobilities` nor `phases` cover.
    scalars: Vec<(Scalar, usize)>,
    hidden: Option<Rows>,
    calibration: Option<Calibration>,
}

/// A hidden layer made ready: its rows lie as the weights do.
#[derive(Clone, Debug)]
struct Rows {
    /// By the number of empty squares.
    phases: Box<[RowPhase; 65]>,
    /// [`MARGIN`] unused rows, `stride` rows for each table of them, [`MARGIN`] unused rows.
    table: Vec<Row>,
    stride: usize,
    /// The groups of [`QUAD`] lanes that have rows other than zeros.
    quads: Vec<usize>,
}

/// What the number of empty squares alone decides of a hidden layer.
#[derive(Clone, Copy, Debug)]
struct RowPhase {
    /// Where the rows, with a margin on either side, start in the table.
    at: usize,
    /// The biases and the rows of [`Scalar::Constant`] and [`Scalar::Parity`].
    base: [i16; UNITS],
    head: Head,
}

/// Lanes of a vector of entries.
const WIDTH: usize = 8;

/// Lanes whose rows are added together: most patterns have as many instances.
const QUAD: usize = 4;

/// Vectors that most sets get by with.
const FEW: usize = 6;

/// The pattern indices of a position.
#[derive(Clone, Debug)]
pub struct PatternState(Indices);

impl PatternEvaluator {
    /// Makes a model ready for evaluating.
    ///
    /// # Errors
    /// A model whose parts do not fit each other.
    pub fn new(model: &Model) -> Result<Self, ModelError> {
        Self::with_layout(model, Arc::new(Layout::new(&model.set)?))
    }

    /// [`Self::new`] with the layout of the model's pattern set already at hand.
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
        let table = by_slot(&layout, &model.weights);

        let mut origins = [(MARGIN + slots) as i32; LANES];
        for (origin, &centre) in origins.iter_mut().zip(&layout.centres()[..layout.instances()]) {
            *origin = MARGIN as i32 + centre as i32;
        }
        let first = |scalar| layout.scalars().iter().find(|&&(other, _)| other == scalar).map(|&(_, first)| first);
        let mobilities = first(Scalar::Mobility).zip(first(Scalar::OpponentMobility)).map(|(own, other)| [own, other]);
        let mut scalars = layout.scalars().to_vec();
        scalars.retain(|&(scalar, _)| match scalar {
            Scalar::Constant | Scalar::Parity => false,
            Scalar::Mobility | Scalar::OpponentMobility => mobilities.is_none(),
            _ => true,
        });
        let phase = |empties: usize| {
            let at = stride * model.stages.of_empties(empties as u32);
            let weight = |scalar, value| first(scalar).map_or(0, |first| i32::from(table[at + MARGIN + first + value]));
            Phase { at, base: weight(Scalar::Constant, 0) + weight(Scalar::Parity, empties % 2) }
        };
        let phases = Box::new(std::array::from_fn(phase));
        let hidden = model.hidden.as_ref().map(|hidden| Rows::new(hidden, model, &layout));
        let (origins, scale) = (Box::new(bytemuck::cast(origins)), i32::from(model.scale));
        Ok(Self { layout, scale, phases, table, stride, origins, mobilities, scalars, hidden, calibration: None })
    }

    /// The same with the calibration of its model, if there is one.
    pub fn with_calibration(self, calibration: Option<Calibration>) -> Self {
        Self { calibration, ..self }
    }

    /// The layout of its pattern set.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The sum of the position's weights and what the hidden layer adds, in the model's own units, before scaling and clamping.
    #[inline]
    pub fn sum(&self, position: &Position, state: &PatternState) -> i32 {
        let seen =
            if self.looks_at_moves() { Seen::new(position) } else { Seen { position: *position, moves: [0; 2] } };
        if self.layout.instances() <= FEW * WIDTH {
            self.sum_lanes::<FEW>(&seen, &state.0)
        } else {
            self.sum_lanes::<{ LANES / WIDTH }>(&seen, &state.0)
        }
    }

    /// Whether the moves of a position count, beside its discs.
    fn looks_at_moves(&self) -> bool {
        self.mobilities.is_some() || !self.scalars.is_empty()
    }

    /// The sum with [`WIDTH`] lanes for each of `USED` vectors.
    #[inline(always)]
    fn sum_lanes<const USED: usize>(&self, seen: &Seen, indices: &Indices) -> i32 {
        let Phase { at, base } = self.phases[seen.position.empties() as usize];
        let table = &self.table[at..at + self.stride + 2 * MARGIN];
        let indices = indices.vectors();
        let entries: [i32x8; USED] = std::array::from_fn(|i| self.origins[i] + i32x8::from_i16x8(indices[i]));
        let weight_of = |entry: i32| {
            debug_assert!((MARGIN..MARGIN + self.stride).contains(&(entry as usize)));
            // SAFETY: an origin is MARGIN or more and below `MARGIN + stride`; an `i16` is at least -MARGIN and below MARGIN.
            // So `entry` is below `stride + 2 * MARGIN`, the length of `table`, whatever state or position came in. The read
            // is volatile to be one plain load: the compiler's way of loading into the lanes of vectors takes longer.
            i32::from(unsafe { table.as_ptr().add(entry as usize).read_volatile() })
        };
        // From memory, each entry is at hand with one load more; out of the vectors' lanes it would take two or three steps.
        let entries: &[i32x8; USED] = std::hint::black_box(&entries);
        let (mut sum, mut other) = (base, 0);
        for &[a, b, c, d, e, f, g, h] in entries.iter().map(i32x8::as_array) {
            sum += weight_of(a) + weight_of(b) + weight_of(c) + weight_of(d);
            other += weight_of(e) + weight_of(f) + weight_of(g) + weight_of(h);
        }
        sum += other;
        if let Some(firsts) = self.mobilities {
            for (first, moves) in firsts.into_iter().zip(seen.moves) {
                sum += i32::from(table[MARGIN + first + (moves.count_ones() as usize).min(63)]);
            }
        }
        for &(scalar, first) in &self.scalars {
            sum += i32::from(table[MARGIN + first + scalar.of(seen)]);
        }
        match &self.hidden {
            Some(rows) => sum + rows.value(entries, seen, self.mobilities, &self.scalars),
            None => sum,
        }
    }

    /// A sum as a score, not yet limited.
    #[inline]
    fn score(&self, sum: i32) -> Score {
        // The common scale needs no arithmetic.
        Score(if self.scale == Score::DISC { sum } else { rescale(sum, self.scale) })
    }
}

impl Rows {
    /// The rows of a model's hidden layer, the model checked.
    fn new(hidden: &HiddenLayer, model: &Model, layout: &Layout) -> Self {
        let (stride, table) = (layout.slots() + 1, by_slot(layout, &hidden.rows));
        let phase = |empties: usize| {
            let stage = model.stages.of_empties(empties as u32);
            let (at, head) = (stride * usize::from(hidden.rows_of_stage[stage]), hidden.heads[stage]);
            let mut base = head.bias;
            for &(scalar, first) in layout.scalars() {
                let value = match scalar {
                    Scalar::Constant => 0,
                    Scalar::Parity => empties % 2,
                    _ => continue,
                };
                let row = table[at + MARGIN + first + value];
                base.iter_mut().zip(row).for_each(|(sum, number)| *sum += i16::from(number));
            }
            RowPhase { at, base, head }
        };
        let patterns = 0..layout.set().patterns.len();
        let has_rows: Vec<bool> = patterns.map(|pattern| hidden.has_rows(layout, pattern)).collect();
        let lanes = (0..layout.instances()).filter(|&lane| has_rows[layout.instance(lane).0]);
        let mut quads: Vec<usize> = lanes.map(|lane| lane / QUAD).collect();
        quads.dedup();
        Self { phases: Box::new(std::array::from_fn(phase)), table, stride, quads }
    }

    /// What the layer adds for the entries of a position's lanes and scalars.
    #[inline(never)]
    fn value<const USED: usize>(
        &self,
        entries: &[i32x8; USED],
        seen: &Seen,
        mobilities: Option<[usize; 2]>,
        scalars: &[(Scalar, usize)],
    ) -> i32 {
        let RowPhase { at, base, head } = &self.phases[seen.position.empties() as usize];
        let table = &self.table[*at..at + self.stride + 2 * MARGIN];
        let row_of = |entry: i32| {
            debug_assert!((MARGIN..MARGIN + self.stride).contains(&(entry as usize)));
            // SAFETY: as in `sum_lanes`, `entry` is below `stride + 2 * MARGIN`, the length of `table`.
            unsafe { *table.get_unchecked(entry as usize) }
        };
        let mut pairs = i16x16::ZERO;
        let mut add = |one, other| pairs += i16x16::from_i8x16(bytemuck::cast([one, other]));
        let entries: &[[i32; QUAD]] = bytemuck::cast_slice(entries);
        for &quad in &self.quads {
            let [a, b, c, d] = entries[quad];
            add(row_of(a), row_of(b));
            add(row_of(c), row_of(d));
        }
        if let Some(firsts) = mobilities {
            let [own, other] = seen.moves.map(|moves| (moves.count_ones() as usize).min(63));
            add(table[MARGIN + firsts[0] + own], table[MARGIN + firsts[1] + other]);
        }
        let row_of_scalar = |&(scalar, first): &(Scalar, usize)| table[MARGIN + first + scalar.of(seen)];
        for two in scalars.chunks(2) {
            add(row_of_scalar(&two[0]), two.get(1).map_or(Row::default(), row_of_scalar));
        }
        let [even, odd]: [[i16; UNITS]; 2] = bytemuck::cast(pairs);
        let sums = std::array::from_fn(|unit| base[unit] + even[unit] + odd[unit]);
        head.value(&sums)
    }
}

/// Tables with an entry for each slot, and one of zero for lanes without a pattern, from tables with one for each weight, one after the
/// other between [`MARGIN`] unused entries.
fn by_slot<T: Copy + Default + Send + Sync>(layout: &Layout, by_weight: &[Vec<T>]) -> Vec<T> {
    let stride = layout.slots() + 1;
    let entries = stride * by_weight.len();
    let mut table = vec![T::default(); MARGIN + entries + MARGIN];
    prefer_huge_pages(&mut table);
    // On all threads, which would wait for it otherwise.
    table[MARGIN..MARGIN + entries].par_chunks_exact_mut(stride).zip(by_weight).for_each(|(table, by_weight)| {
        let entries = layout.weight_of_slot().iter().map(|&weight| by_weight[weight as usize]);
        table.iter_mut().zip(entries).for_each(|(slot, entry)| *slot = entry);
    });
    table
}

impl Evaluator for PatternEvaluator {
    type State = PatternState;

    #[inline]
    fn state(&self, position: &Position) -> PatternState {
        PatternState(self.layout.indices(position))
    }

    #[inline]
    fn play(&self, before: &PatternState, to: Square, flips: Bitboard) -> PatternState {
        PatternState(self.layout.play(&before.0, to, flips))
    }

    #[inline]
    fn pass(&self, before: &PatternState) -> PatternState {
        PatternState(before.0.pass())
    }

    #[inline]
    fn evaluate(&self, position: &Position, state: &PatternState) -> Score {
        self.score(self.sum(position, state)).clamp_eval()
    }

    #[inline]
    fn evaluate_move(&self, before: &PatternState, to: Square, flips: Bitboard, after: &Position) -> Option<Score> {
        let seen =
            if self.looks_at_moves() { Seen::new(after) } else { Seen { position: *after, moves: [after.moves(), 0] } };
        if seen.moves[0] == 0 {
            return None;
        }
        let sum = if self.layout.instances() <= FEW * WIDTH {
            self.sum_lanes::<FEW>(&seen, &self.layout.play(&before.0, to, flips))
        } else {
            self.sum_lanes::<{ LANES / WIDTH }>(&seen, &self.layout.play(&before.0, to, flips))
        };
        Some(self.score(sum).clamp_eval())
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    fn evaluate_unlimited(&self, position: &Position) -> Score {
        self.score(self.sum(position, &self.state(position)))
    }
}

/// A sum in 1/`scale` disc as a score, rounded to the nearest, halves away from zero. A sum of 64 patterns, all scalars and the
/// units of a hidden layer, an `i16` each, leaves room for the factor.
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
        /// From all that are allowed.
        Any,
        /// As learned ones are: most units are between off and on.
        Moderate,
        /// The largest, and so the largest sums.
        Largest,
        /// The smallest.
        Smallest,
    }

    /// Three tables of rows, which stages share as it happens, and some patterns without any.
    fn random_layer(model: &Model, numbers: Numbers, rng: &mut ChaCha8Rng) -> HiddenLayer {
        let largest = HiddenLayer::MAX_BIAS;
        let mut number = |any: RangeInclusive<i16>, moderate: i16| match numbers {
            Numbers::Any => rng.random_range(any),
            Numbers::Moderate => rng.random_range(-moderate..=moderate),
            Numbers::Largest => *any.end(),
            Numbers::Smallest => *any.start(),
        };
        let mut row = || std::array::from_fn(|_| number(-128..=127, 30) as i8);
        let mut rows: Vec<Vec<Row>> = (0..3).map(|_| model.weights[0].iter().map(|_| row()).collect()).collect();
        let mut head = |_| Head {
            bias: std::array::from_fn(|_| number(-largest..=largest, 300)),
            output: std::array::from_fn(|_| number(i16::MIN..=i16::MAX, 1000)),
        };
        let heads = (0..model.weights.len()).map(&mut head).collect();
        let rows_of_stage = (0..model.weights.len()).map(|_| rng.random_range(0..3)).collect();
        let layout = Layout::new(&model.set).unwrap();
        let is_extreme = matches!(numbers, Numbers::Largest | Numbers::Smallest);
        for pattern in (0..model.set.patterns.len()).filter(|_| !is_extreme && rng.random_bool(0.3)) {
            rows.iter_mut().for_each(|rows| rows[layout.weights_of(pattern)].fill(Row::default()));
        }
        HiddenLayer { rows_of_stage, rows, heads }
    }

    /// The sum by its definition: digit by digit, weight by weight, unit by unit.
    fn naive_sum(model: &Model, layout: &Layout, position: &Position) -> i32 {
        let digit = |square: &Square| {
            (position.player & square.bit() != 0) as i32 - (position.opponent & square.bit() != 0) as i32
        };
        let of_lane = |lane: usize| {
            let index = layout.instance(lane).1.iter().rev().fold(0, |index, square| 3 * index + digit(square));
            (layout.centres()[lane] as i32 + index) as usize
        };
        let scalars = layout.scalars().iter().map(|(scalar, first)| first + scalar.of(&Seen::new(position)));
        let slots = (0..layout.instances()).map(of_lane).chain(scalars);
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
                // The distance from the exact value, and the side of it where two scores are equally near.
                let over = (score * scale - exact) * exact.signum();
                assert!((1 - scale..=scale).contains(&(2 * over)), "{sum} at {scale}");
            }
        }
    }

    /// Sets of all kinds, and one of as many features as a set may have.
    fn sets() -> Vec<PatternSet> {
        let mut sets: Vec<_> = BUILT_IN.iter().map(|(name, _)| PatternSet::built_in(name).unwrap()).collect();
        // One of the numbers of moves alone, and other scalars.
        let mut odd = PatternSet::built_in("classic").unwrap();
        odd.scalars = vec![Scalar::PlayerDiscs, Scalar::OpponentMobility, Scalar::CornerMoves, Scalar::Parity];
        let squares = ["a1 b1", "a1 c1", "a1 d1", "b1 c1", "b1 d1", "c1 d1", "a1 b3", "b2 c2"];
        let patterns = squares.map(|squares| Pattern::new(squares, squares).unwrap()).to_vec();
        let full =
            PatternSet { name: "full".into(), patterns, scalars: Scalar::ALL.to_vec(), hidden: vec![], engine: None };
        sets.extend([odd, full]);
        sets
    }

    /// Compares everything that an evaluator says along a random game with the definition.
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
            compare_with_naive(&random_model(&set, &mut rng), &mut rng);
        }
    }

    #[test]
    fn a_hidden_layer_adds_what_the_definition_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for set in sets() {
            let mut model = random_model(&set, &mut rng);
            // What the layer adds must not drown in what is cut.
            model.weights.iter_mut().flatten().for_each(|weight| *weight /= 128);
            for numbers in [Numbers::Moderate, Numbers::Any] {
                model.hidden = Some(random_layer(&model, numbers, &mut rng));
                compare_with_naive(&model, &mut rng);
            }
        }
    }

    /// With as many features as a set may have, no sum leaves its type.
    #[test]
    fn the_largest_numbers_of_a_hidden_layer_do_not_overflow() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let set = sets().pop().unwrap();
        let mut model = random_model(&set, &mut rng);
        assert_eq!(Layout::new(&set).unwrap().instances(), LANES);
        for numbers in [Numbers::Largest, Numbers::Smallest] {
            let layer = random_layer(&model, numbers, &mut rng);
            // Units that are on or off, with outputs of one sign or the other.
            for flip in [false, true] {
                let mut layer = layer.clone();
                if flip {
                    layer.heads.iter_mut().for_each(|head| head.output = head.output.map(|output| !output));
                }
                let extreme = if numbers == Numbers::Largest { i16::MAX } else { i16::MIN };
                model.weights.iter_mut().flatten().for_each(|weight| *weight = extreme);
                model.hidden = Some(layer);
                compare_with_naive(&model, &mut rng);
            }
        }
    }
}
