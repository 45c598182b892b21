//! A pass over samples: tasks that run in parallel and share nothing, each in a fixed order.
#![allow(unsafe_code)] // Unchecked accesses to the cells of a sample's weights: see `gather` and `scatter`.

use std::ops::Add;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;
use wide::{f32x4, f32x8};

use super::features::{FEATURES, Features};
use super::hidden::{LearnedHead, LearnedLayer, LearnedRow, StageLayer};
use super::loss::Loss;
use super::samples::{Sample, SampleSet, TURNS};
use super::step::Step;
use super::validation::PassLoss;
use crate::board::Position;
use crate::eval::{Score, StageMap};
use crate::memory::prefetch;

/// No weight may exceed this many discs either way: far more than makes sense, and near the end of the stored range.
pub(super) const LIMIT: f32 = 250.0;

/// Learning diverged: a weight is NaN or too large.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("learning diverged: weight {weight} of stage {stage} is {value} discs. Lower the step's `rate`")]
pub struct Diverged {
    /// The stage.
    pub stage: usize,
    /// The weight's number in the stage.
    pub weight: usize,
    /// Its value in discs.
    pub value: f32,
}

/// Weights that are processed at once.
const VECTOR: usize = 8;

/// Samples in flight: while one is learned, the weights of the next are being fetched.
const BATCH: usize = 16;

/// The part of a pass that is the same for all stages.
pub(super) struct Pass<'p, S, const NUMBERS: usize> {
    pub features: &'p Features,
    pub stages: &'p StageMap,
    pub overlap: u32,
    pub loss: Loss,
    pub rule: S,
    /// See [`Learner::pass_in_parts`](super::Learner::pass_in_parts).
    pub scales: [f32; 2],
    pub samples: &'p SampleSet,
    pub stop: &'p AtomicBool,
}

/// A stage in a pass.
struct Part<'l, const NUMBERS: usize> {
    stage: usize,
    cells: &'l mut [[f32; NUMBERS]],
    /// The samples learned so far, and their errors.
    learned: &'l mut PassLoss,
    /// Whether a step left a weight beyond [`LIMIT`].
    left_range: bool,
    head: Option<&'l mut LearnedHead>,
}

/// Stages that are learned in turns, since they share rows of a hidden layer; or one stage without a layer.
struct Task<'l, const NUMBERS: usize> {
    parts: Vec<Part<'l, NUMBERS>>,
    rows: &'l mut [LearnedRow],
}

impl<'l, const NUMBERS: usize> Task<'l, NUMBERS> {
    fn of_all(
        cells: &'l mut [Vec<f32>],
        hidden: Option<&'l mut LearnedLayer>,
        learned: &'l mut [PassLoss],
    ) -> Vec<Self> {
        let parts = cells.iter_mut().zip(learned).enumerate().map(|(stage, (cells, learned))| {
            let cells = cells.as_chunks_mut().0;
            Part { stage, cells, learned, left_range: false, head: None }
        });
        let Some(hidden) = hidden else {
            return parts.map(|part| Self { parts: vec![part], rows: &mut [] }).collect();
        };
        let LearnedLayer { rows, heads } = hidden;
        let mut tasks: Vec<Self> = rows.iter_mut().map(|rows| Self { parts: Vec::new(), rows }).collect();
        for (part, head) in parts.zip(heads) {
            tasks[head.rows()].parts.push(Part { head: Some(head), ..part });
        }
        tasks
    }
}

impl<S: Step<NUMBERS>, const NUMBERS: usize> Pass<'_, S, NUMBERS> {
    /// See [`Learner::pass_in_parts`](super::Learner::pass_in_parts).
    pub fn learn(
        &self,
        cells: &mut [Vec<f32>],
        hidden: Option<&mut LearnedLayer>,
        learned: &mut Vec<PassLoss>,
    ) -> Result<Option<PassLoss>, Diverged> {
        if learned.is_empty() {
            learned.resize(cells.len(), PassLoss::default());
        }
        assert_eq!(learned.len(), cells.len(), "a pass of other stages");
        let mut tasks = Task::of_all(cells, hidden, learned);
        // The slowest tasks have the most samples; one job each lets the threads share them out.
        tasks.par_iter_mut().with_max_len(1).try_for_each(|task| self.learn_task(task))?;
        if self.stop.load(Relaxed) {
            return Ok(None);
        }
        Ok(Some(learned.drain(..).fold(PassLoss::default(), PassLoss::add)))
    }

    /// Learns what is left of a task. It is interrupted only between two turns.
    fn learn_task(&self, Task { parts, rows }: &mut Task<NUMBERS>) -> Result<(), Diverged> {
        let mut before: u64 = parts.iter().map(|part| part.learned.samples).sum();
        for turn in 0..TURNS {
            let of_part = |part: &Part<NUMBERS>| self.samples.of_turn(self.stages, part.stage, self.overlap, turn);
            if before > 0 {
                let of_turn = parts.iter().map(|part| of_part(part).count() as u64).sum();
                before = before.checked_sub(of_turn).expect("a pass over the same samples");
                continue;
            }
            if self.stop.load(Relaxed) {
                break;
            }
            let scale = self.scale_of(turn);
            let step = self.rule.prepared(self.features.layout().features(), scale);
            for part in parts.iter_mut() {
                let samples = of_part(part);
                let layer = part.head.as_mut().map(|head| StageLayer::new(rows, head, scale));
                part.left_range |= self.learn_samples(part.cells, step, layer, samples, part.learned);
            }
        }
        parts.iter().filter(|part| part.left_range).try_for_each(Part::check)
    }

    fn scale_of(&self, turn: usize) -> f32 {
        let [first, last] = self.scales;
        first + (last - first) * (turn as f32 + 0.5) / TURNS as f32
    }

    /// Moves the weights of a stage for each sample in turn, and adds its error before that to `losses`. Returns whether a step left
    /// a weight beyond [`LIMIT`].
    fn learn_samples<'s>(
        &self,
        cells: &mut [[f32; NUMBERS]],
        step: S,
        mut layer: Option<StageLayer>,
        mut samples: impl Iterator<Item = &'s Sample>,
        losses: &mut PassLoss,
    ) -> bool {
        assert_eq!(cells.len(), self.features.layout().weights(), "a cell for each weight");
        let features = self.features.layout().features();
        let mut batch = [([0; FEATURES], Sample::new(Position::START, Score(0))); BATCH];
        let mut left_range = false;
        loop {
            let mut filled = 0;
            for ((weights, sample), next) in batch.iter_mut().zip(&mut samples) {
                let fetch = |weight| prefetch(cells.as_ptr().wrapping_add(weight as usize));
                let weights = self.features.weights(&next.position, weights, fetch);
                layer.iter().for_each(|layer| layer.prefetch(weights));
                *sample = *next;
                filled += 1;
            }
            for (weights, sample) in &batch[..filled] {
                let weights = &weights[..features];
                // SAFETY: features have weights of the layout, and each has a cell.
                let (error, left) = unsafe { learn_sample(cells, layer.as_mut(), weights, sample, self.loss, step) };
                left_range |= left;
                losses.squared += f64::from(error * error);
            }
            losses.samples += filled as u64;
            if filled < BATCH {
                layer.iter_mut().for_each(StageLayer::move_head);
                return left_range;
            }
        }
    }
}

impl<const NUMBERS: usize> Part<'_, NUMBERS> {
    fn check(&self) -> Result<(), Diverged> {
        match self.cells.iter().position(|cell| cell[0].is_nan() || cell[0].abs() > LIMIT) {
            Some(weight) => Err(Diverged { stage: self.stage, weight, value: self.cells[weight][0] }),
            None => Ok(()),
        }
    }
}

/// Moves the weights of one sample. Returns its error before that, in discs, and whether a weight is beyond [`LIMIT`] now. A weight
/// that the position has twice, in mirrored places, counts twice in the value and moves once.
///
/// # Safety
/// Every weight has a cell.
#[inline(never)] // Alone it has registers enough.
unsafe fn learn_sample<const NUMBERS: usize>(
    cells: &mut [[f32; NUMBERS]],
    layer: Option<&mut StageLayer>,
    weights: &[u32],
    sample: &Sample,
    loss: Loss,
    step: impl Step<NUMBERS>,
) -> (f32, bool) {
    let mut numbers = [[f32x8::ZERO; NUMBERS]; FEATURES.div_ceil(VECTOR)];
    let (whole, rest) = weights.as_chunks::<VECTOR>();
    // SAFETY: as for this function.
    let gather = |weights: &[u32]| unsafe { gather(cells, weights) };
    numbers.iter_mut().zip(whole).for_each(|(numbers, eight)| *numbers = gather(eight));
    if !rest.is_empty() {
        numbers[whole.len()] = gather(rest);
    }
    let numbers = &mut numbers[..weights.len().div_ceil(VECTOR)];
    // Four partial sums, always the same four: quick, and the same result everywhere.
    let mut partial = f32x4::ZERO;
    for numbers in numbers.iter() {
        let [low, high]: [f32x4; 2] = bytemuck::cast(numbers[0]);
        partial = partial + low + high;
    }
    let partial = partial.to_array();
    let mut value = (partial[0] + partial[1]) + (partial[2] + partial[3]);
    let layer = layer.map(|layer| {
        let (sums, added) = layer.value(weights);
        value += added;
        (layer, sums)
    });
    let target = sample.target.discs();
    let error = target - value;
    if sample.bound.allows(error) {
        return (0.0, false);
    }
    let pull = sample.importance.share() * loss.pull(target, value);
    let mut left_range = f32x8::ZERO;
    for numbers in numbers.iter_mut() {
        step.apply(numbers, pull);
        left_range |= !numbers[0].abs().simd_le(f32x8::splat(LIMIT));
    }
    // SAFETY: as for this function.
    let mut scatter = |weights: &[u32], numbers| unsafe { scatter(cells, weights, numbers) };
    whole.iter().zip(&*numbers).for_each(|(eight, numbers)| scatter(eight, numbers));
    if !rest.is_empty() {
        scatter(rest, &numbers[whole.len()]);
    }
    if let Some((layer, sums)) = layer {
        layer.learn(weights, &sums, pull);
    }
    (error, left_range.any())
}

/// The numbers of up to eight weights; zeros after the last one.
///
/// # Safety
/// Every weight has a cell.
#[inline(always)]
unsafe fn gather<const NUMBERS: usize>(cells: &[[f32; NUMBERS]], weights: &[u32]) -> [f32x8; NUMBERS] {
    let mut numbers = [[0.0; VECTOR]; NUMBERS];
    for (i, &weight) in weights.iter().enumerate() {
        // SAFETY: the weight has a cell.
        let cell = unsafe { *cells.get_unchecked(weight as usize) };
        (0..NUMBERS).for_each(|number| numbers[number][i] = cell[number]);
    }
    numbers.map(f32x8::new)
}

/// The reverse of [`gather`].
///
/// # Safety
/// Every weight has a cell.
#[inline(always)]
unsafe fn scatter<const NUMBERS: usize>(cells: &mut [[f32; NUMBERS]], weights: &[u32], numbers: &[f32x8; NUMBERS]) {
    let numbers = numbers.map(f32x8::to_array);
    for (i, &weight) in weights.iter().enumerate() {
        // SAFETY: the weight has a cell.
        let cell = unsafe { cells.get_unchecked_mut(weight as usize) };
        *cell = std::array::from_fn(|number| numbers[number][i]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::Transcript;
    use crate::learn::StepRule;
    use crate::pattern::{Layout, PatternSet};

    /// A rule that stops its pass after some steps.
    #[derive(Clone, Copy)]
    struct Stopping<'s> {
        rule: StepRule,
        left: &'s AtomicU64,
        stop: &'s AtomicBool,
    }

    impl Step<2> for Stopping<'_> {
        fn apply(self, weights: &mut [f32x8; 2], error: f32) {
            self.rule.apply(weights, error);
            if self.left.fetch_sub(1, Relaxed) == 1 {
                self.stop.store(true, Relaxed);
            }
        }

        fn prepared(self, features: usize, scale: f32) -> Self {
            Self { rule: self.rule.prepared(features, scale), ..self }
        }
    }

    #[test]
    fn a_pass_that_is_stopped_at_any_turn_goes_on_there() {
        let set =
            PatternSet::from_toml("name = 's'\nscalars = ['constant']\npatterns = { edge = 'a1 b1 c1 d1' }").unwrap();
        let layout = Arc::new(Layout::new(&set).unwrap());
        let features = Features::new(layout.clone());
        let stages = &StageMap::uniform(5);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut samples = SampleSet::default();
        // Few late positions: in many turns, the first and the last among them, some stages have nothing to learn.
        for game in 0..150 {
            for (diagram, _) in Transcript::random(&mut rng).steps() {
                if diagram.position.empties() > 20 || game < 5 {
                    samples.push(Sample::new(diagram.position, Score(rng.random_range(-3000..3000))));
                }
            }
        }
        for with_layer in [false, true] {
            // A pass that is stopped again and again after this many more steps.
            let learned = |steps: u64| {
                let (left, stop) = (AtomicU64::new(steps), AtomicBool::new(false));
                let step = Stopping { rule: StepRule { rate: 0.5, half: 10.0, floor: 0.01 }, left: &left, stop: &stop };
                let pass = Pass {
                    features: &features,
                    stages,
                    overlap: 2,
                    loss: Loss::Squared,
                    rule: step,
                    scales: [1.0, 0.0],
                    samples: &samples,
                    stop: &stop,
                };
                let mut cells = vec![vec![0.0; 2 * layout.weights()]; stages.count()];
                let mut layer = with_layer.then(|| LearnedLayer::new(&layout, stages));
                let (mut learned, mut stops) = (Vec::new(), 0);
                loop {
                    if let Some(loss) = pass.learn(&mut cells, layer.as_mut(), &mut learned).unwrap() {
                        assert!(learned.is_empty());
                        break (loss, cells, layer, stops);
                    }
                    stops += 1;
                    left.store(steps, Relaxed);
                    stop.store(false, Relaxed);
                }
            };
            let whole = learned(u64::MAX);
            assert_eq!(whole.3, 0);
            for steps in [1, 25, 700, 4_500] {
                let stopped = learned(steps);
                assert!(stopped.3 > if steps == 1 { 50 } else { 1 }, "{} stops", stopped.3);
                assert!((stopped.0, &stopped.1, &stopped.2) == (whole.0, &whole.1, &whole.2), "{steps}");
            }
        }
    }
}
