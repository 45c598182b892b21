//! Learning a hidden layer: a learner written from the definitions, and layers that are kept, split and resumed.

use std::sync::Arc;

use flipside::board::Position;
use flipside::eval::{Evaluator, HiddenLayer, Model, PatternEvaluator, Score, StageMap, UNITS};
use flipside::learn::{Learner, LearnerState, Sample, SampleSet, StepRule};
use flipside::pattern::{Layout, Pattern, PatternSet, Scalar, Seen};

use super::{random_samples, small_set};

/// Floats of a row: its numbers, and the sum of squared gradients.
const ROW: usize = UNITS + 1;

fn learner(set: &PatternSet, stages: StageMap, rule: StepRule) -> Learner {
    Learner::new(Arc::new(Layout::new(set).unwrap()), stages, rule).with_hidden_layer()
}

/// The state of a learner that goes on learning.
fn state_of(learner: &Learner) -> LearnerState<'static> {
    let LearnerState { stages, cells, hidden } = learner.state();
    LearnerState { stages, cells: cells.into_owned().into(), hidden }
}

/// The values of a stage's weights; each is followed by how often it was learned.
fn values(cells: &[f32]) -> Vec<f32> {
    cells.iter().step_by(2).copied().collect()
}

/// One pass by the definitions, in double precision and with fixed steps: linear weights, rows by AdaGrad, and heads by Adam.
struct Naive {
    layout: Layout,
    stages: StageMap,
    overlap: u32,
    rate: f64,
    /// By stage, the value of each weight.
    cells: Vec<Vec<f64>>,
    /// As in [`LearnerState`].
    rows: Vec<Vec<f64>>,
    heads: Vec<Vec<f64>>,
}

impl Naive {
    fn new(layout: Layout, state: &LearnerState, overlap: u32, rate: f64) -> Self {
        let wide = |floats: &Vec<f32>| floats.iter().map(|&number| f64::from(number)).collect::<Vec<_>>();
        let (heads, rows) = state.hidden.split_last().unwrap();
        let heads = wide(heads);
        let heads = heads.chunks(heads.len() / state.stages.count()).map(<[f64]>::to_vec).collect();
        let cells = state.cells.iter().map(|cells| wide(&values(cells))).collect();
        let rows = rows.iter().map(wide).collect();
        Self { layout, stages: state.stages.clone(), overlap, rate, cells, rows, heads }
    }

    /// The numbers of a position's weights.
    fn features(&self, position: &Position) -> Vec<usize> {
        let (indices, layout) = (self.layout.lanes().indices(position), &self.layout);
        let weight = |slot: usize| layout.weight_of_slot()[slot] as usize;
        let of_lane = |lane: usize| weight((layout.centres()[lane] as i32 + i32::from(indices.lanes()[lane])) as usize);
        let scalars = layout.scalars().iter().map(|(scalar, first)| weight(first + scalar.of(&Seen::new(position))));
        (0..layout.lanes().count()).map(of_lane).chain(scalars).collect()
    }

    /// The samples of a stage in one of 64 turns.
    fn of_turn<'s>(&self, samples: &'s SampleSet, stage: usize, turn: usize) -> Vec<&'s Sample> {
        let mut found = Vec::new();
        for empties in (0..=60).rev() {
            let own = self.stages.empties_of(stage);
            let distance = own.iter().map(|&other| other.abs_diff(empties)).min().unwrap();
            let all = samples.with_empties(empties);
            let of_turn = all.len() * turn / 64..all.len() * (turn + 1) / 64;
            let wanted = |i: &usize| distance <= self.overlap && i.is_multiple_of(distance as usize + 1);
            found.extend(of_turn.filter(wanted).map(|i| &all[i]));
        }
        found
    }

    fn pass(&mut self, samples: &SampleSet, scale: f64) -> f64 {
        let (mut squared, mut count) = (0.0, 0.0);
        for turn in 0..64 {
            for stage in 0..self.stages.count() {
                let mut gradients = Vec::new();
                for sample in self.of_turn(samples, stage, turn) {
                    let (error, gradient) = self.learn(stage, sample, scale);
                    squared += error * error;
                    count += 1.0;
                    gradients.push(gradient);
                    if gradients.len() == 256 {
                        self.move_head(stage, &std::mem::take(&mut gradients), scale);
                    }
                }
                if !gradients.is_empty() {
                    self.move_head(stage, &gradients, scale);
                }
            }
        }
        f64::sqrt(squared / count)
    }

    /// Moves weights and rows; returns the error before that and the gradients of the stage's biases and outputs.
    fn learn(&mut self, stage: usize, sample: &Sample, scale: f64) -> (f64, [f64; 2 * UNITS]) {
        let weights = self.features(&sample.position);
        let (head, table) = (&self.heads[stage], self.heads[stage][6 * UNITS + 2] as usize);
        let rows = &mut self.rows[table];
        let sum = |unit: usize| head[unit] + weights.iter().map(|row| rows[ROW * row + unit]).sum::<f64>();
        let sums: [f64; UNITS] = std::array::from_fn(sum);
        let outputs = &head[3 * UNITS..4 * UNITS];
        let added: f64 = (0..UNITS).map(|unit| 8.0 * sums[unit].clamp(0.0, 1.0) * outputs[unit]).sum();
        let cells = &mut self.cells[stage];
        let error = f64::from(sample.target.discs()) - weights.iter().map(|&weight| cells[weight]).sum::<f64>() - added;
        let mut once = weights.clone();
        once.sort_unstable();
        once.dedup();
        once.iter().for_each(|&weight| cells[weight] += self.rate * scale / weights.len() as f64 * error);
        let mut gradient = [0.0; 2 * UNITS];
        for unit in 0..UNITS {
            let is_between = sums[unit] > 0.0 && sums[unit] < 1.0;
            gradient[unit] = if is_between { error / 8.0 * outputs[unit] } else { 0.0 };
            gradient[UNITS + unit] = error / 8.0 * sums[unit].clamp(0.0, 1.0);
        }
        let square = gradient[..UNITS].iter().map(|g| g * g).sum::<f64>() / UNITS as f64;
        // A row that the position has twice moves twice.
        for row in weights {
            let row = &mut rows[ROW * row..][..ROW];
            row[UNITS] += square;
            let step = 0.012 * scale / row[UNITS].sqrt();
            let limit = 127.0 / 256.0;
            (0..UNITS).for_each(|unit| row[unit] = (row[unit] + step * gradient[unit]).clamp(-limit, limit));
        }
        (error, gradient)
    }

    fn move_head(&mut self, stage: usize, gradients: &[[f64; 2 * UNITS]], scale: f64) {
        let head = &mut self.heads[stage];
        let steps = 6 * UNITS;
        head[steps] *= 0.9;
        head[steps + 1] *= 0.999;
        for number in 0..2 * UNITS {
            let mean = gradients.iter().map(|gradient| gradient[number]).sum::<f64>() / gradients.len() as f64;
            // Values, means and squares of the biases, then those of the outputs.
            let at = number / UNITS * 3 * UNITS + number % UNITS;
            head[at + UNITS] = 0.9 * head[at + UNITS] + 0.1 * mean;
            head[at + 2 * UNITS] = 0.999 * head[at + 2 * UNITS] + 0.001 * mean * mean;
            let deviation = (head[at + 2 * UNITS] / (1.0 - head[steps + 1])).sqrt();
            head[at] += 0.001 * scale * head[at + UNITS] / (1.0 - head[steps]) / (deviation + 1e-8);
        }
    }
}

/// The largest difference of two numbers, relative for those above 1.
fn distance(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    found
        .iter()
        .zip(expected)
        .map(|(&found, expected)| (f64::from(found) - expected).abs() / expected.abs().max(1.0))
        .fold(0.0, f64::max)
}

#[test]
fn a_pass_equals_a_naive_one() {
    let (samples, stages, rate) = (random_samples(10_000, 1), StageMap::uniform(6), 0.05);
    let mut learner = learner(&small_set(), stages, StepRule::fixed(rate as f32));
    learner.set_overlap(1);
    let before = state_of(&learner);
    let mut naive = Naive::new(Layout::new(&small_set()).unwrap(), &before, 1, rate);
    for scale in [1.0f32, 0.5] {
        let found = learner.pass(&samples, scale).unwrap().rmse();
        let expected = naive.pass(&samples, scale.into());
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
    let after = learner.state();
    let (heads, rows) = after.hidden.split_last().unwrap();
    for (table, rows) in rows.iter().enumerate() {
        let moves = rows.iter().zip(&before.hidden[table]).map(|(new, old)| (new - old).abs()).enumerate();
        let moved = moves.filter(|(i, _)| i % ROW < UNITS).map(|(_, moved)| moved).fold(0.0, f32::max);
        assert!(moved > 0.02, "table {table} was not learned: {moved}");
        let off = distance(rows, &naive.rows[table]);
        assert!(off < 2e-3, "table {table}: {off}");
    }
    let off = distance(heads, &naive.heads.concat());
    assert!(off < 2e-3, "{off}");
    for (stage, cells) in after.cells.iter().enumerate() {
        let off = distance(&values(cells), &naive.cells[stage]);
        assert!(off < 2e-2, "stage {stage}: {off}");
    }
}

#[test]
fn threads_change_nothing() {
    let samples = random_samples(10_000, 2);
    let learned = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let rule = StepRule { rate: 1.0, half: 30.0, floor: 0.01 };
        let mut learner = learner(&small_set(), StageMap::uniform(2), rule);
        learner.set_overlap(2);
        let loss = pool.install(|| learner.pass(&samples, 1.0)).unwrap();
        (loss, state_of(&learner))
    };
    let one = learned(1);
    assert!([2, 5].map(learned).iter().all(|other| *other == one));
}

/// Samples whose value is a square of a sum over the corners, and a learner of corners.
fn curved() -> (SampleSet, PatternSet) {
    let corners = 0x8100_0000_0000_0081u64;
    let mut samples = SampleSet::default();
    let random = random_samples(40_000, 3);
    for sample in (0..=30).flat_map(|empties| random.with_empties(empties)) {
        let Position { player, opponent, .. } = sample.position;
        let lead = (player & corners).count_ones() as i32 - (opponent & corners).count_ones() as i32;
        samples.push(Sample { target: Score::from_discs(2 * lead * lead - 6), ..*sample });
    }
    // None sees two corners.
    let patterns =
        ["a1", "a1 b1", "a1 c1", "a1 d1", "a1 b2"].map(|squares| Pattern::new(squares, squares).unwrap()).to_vec();
    let set = PatternSet { patterns, scalars: vec![Scalar::Constant], ..small_set() };
    (samples, set)
}

#[test]
fn what_no_sum_of_weights_can_express_is_learned_stored_and_resumed() {
    let (samples, set) = curved();
    let rule = StepRule { rate: 1.0, half: 100.0, floor: 0.001 };
    let layout = Arc::new(Layout::new(&set).unwrap());
    let learned = |mut learner: Learner| {
        for _ in 0..20 {
            learner.pass(&samples, 1.0).unwrap();
        }
        learner
    };
    let rmse = |learner: &Learner, samples: &SampleSet| learner.validate(samples, 1).rmse().unwrap();
    let linear = learned(Learner::new(layout.clone(), StageMap::uniform(20), rule));
    let learner = learned(learner(&set, StageMap::uniform(20), rule));
    let (without, with) = (rmse(&linear, &samples), rmse(&learner, &samples));
    assert!(without > 3.0 && with < without / 2.0, "{without} {with}");

    // How far a learner's values are from those of its weights as they are stored.
    let model = learner.model();
    let stored = valued(&samples, &model);
    let off = rmse(&learner, &stored);
    // Rows are stored in 1/256, and the same few of them are in all four corners.
    assert!(off < 0.25, "{off}");
    let again = Learner::from_model(layout, &model, rule).unwrap();
    // Half a unit of what the layer adds in whole numbers.
    let off = rmse(&again, &stored);
    assert!(off < 0.5 / 128.0, "{off}");
    assert_eq!(again.model(), model);
    let further = rmse(&learned(again), &samples);
    assert!(further < 1.1 * with, "{further} {with}");
}

/// The samples with the values that a model gives them.
fn valued(samples: &SampleSet, model: &Model) -> SampleSet {
    let evaluator = PatternEvaluator::new(model).unwrap();
    let mut valued = SampleSet::default();
    for sample in (0..=60).flat_map(|empties| samples.with_empties(empties)) {
        valued.push(Sample { target: evaluator.evaluate_unlimited(&sample.position), ..*sample });
    }
    valued
}

/// Numbers that a file cannot hold are not learned with, or what is validated would not be what is stored.
#[test]
fn rows_stay_within_what_a_file_holds() {
    let (samples, set) = curved();
    let (layout, rule) = (Arc::new(Layout::new(&set).unwrap()), StepRule::fixed(0.01));
    let mut state = state_of(&learner(&set, StageMap::uniform(20), rule));
    let (_, rows) = state.hidden.split_last_mut().unwrap();
    for (number, row) in rows.iter_mut().flat_map(|rows| rows.chunks_mut(ROW)).enumerate() {
        (0..UNITS).for_each(|unit| row[unit] = if (number + unit).is_multiple_of(2) { 0.49 } else { -0.49 });
    }
    let mut learner = Learner::from_state(layout, rule, state).unwrap();
    learner.pass(&samples, 1.0).unwrap();

    let limit = 127.0 / 256.0;
    let after = learner.state();
    let (_, rows) = after.hidden.split_last().unwrap();
    let largest =
        rows.iter().flat_map(|rows| rows.chunks(ROW)).flat_map(|row| &row[..UNITS]).map(|number| number.abs());
    assert_eq!(largest.fold(0.0, f32::max), limit);
    let off = learner.validate(&valued(&samples, &learner.model()), 1).rmse().unwrap();
    assert!(off < 0.25, "{off}");
}

/// Rows that occur in no sample contribute nothing, neither in validation nor when stored.
#[test]
fn rows_that_were_never_learned_are_nothing() {
    let learner = learner(&small_set(), StageMap::uniform(6), StepRule::fixed(0.1));
    let samples = valued(&random_samples(500, 4), &learner.model());
    assert_eq!(learner.validate(&samples, 1).rmse(), Some(0.0));
}

/// In a file, stages may share rows in any way, not only as in a new layer.
#[test]
fn stored_layers_of_any_tables_are_learned_further() {
    let stages = StageMap::uniform(6);
    let rule = StepRule::fixed(0.1);
    let layout = Arc::new(Layout::new(&small_set()).unwrap());
    let samples = random_samples(2_000, 5);
    let mut first = learner(&small_set(), stages.clone(), rule);
    first.pass(&samples, 1.0).unwrap();
    let mut model = first.model();
    for tables in [11, 3, 1] {
        let HiddenLayer { rows_of_stage, rows, .. } = model.hidden.as_mut().unwrap();
        *rows = (0..tables).map(|table| rows[table % rows.len()].clone()).collect();
        *rows_of_stage = (0..stages.count()).map(|stage| (stage * 7 % tables) as u8).collect();
        let mut again = Learner::from_model(layout.clone(), &model, rule).unwrap();
        assert_eq!(again.model(), model);
        again.pass(&samples, 1.0).unwrap();
        assert_ne!(again.model(), model);
        again.validate(&samples, 1);
        let state = again.state();
        assert_eq!(Learner::from_state(layout.clone(), rule, state.clone()).unwrap().state(), state);
    }
}

#[test]
fn a_state_is_resumed_seamlessly_and_others_are_refused() {
    let rule = StepRule { rate: 1.0, half: 30.0, floor: 0.01 };
    let (set, samples) = (small_set(), random_samples(3_000, 6));
    let layout = Arc::new(Layout::new(&set).unwrap());
    let mut learner = learner(&set, StageMap::uniform(6), rule);
    learner.pass(&samples, 1.0).unwrap();
    let state = state_of(&learner);
    let mut again = Learner::from_state(layout.clone(), rule, state.clone()).unwrap();
    let losses = [&mut learner, &mut again].map(|learner| learner.pass(&samples, 0.5).unwrap());
    assert_eq!(losses[0], losses[1]);
    assert_eq!((learner.state(), learner.model()), (again.state(), again.model()));

    let changed = |change: &dyn Fn(&mut LearnerState)| {
        let mut state = state.clone();
        change(&mut state);
        Learner::from_state(layout.clone(), rule, state)
    };
    let heads = state.hidden.len() - 1;
    assert!(changed(&|_| ()).is_some() && changed(&|state| state.hidden.clear()).is_some());
    assert!(changed(&|state| drop(state.hidden.pop())).is_none());
    assert!(changed(&|state| drop(state.hidden.remove(0))).is_none(), "the rows of some stages are missing");
    assert!(changed(&|state| state.hidden[0].truncate(ROW)).is_none());
    assert!(changed(&|state| state.hidden[0].push(0.0)).is_none());
    assert!(changed(&|state| state.hidden[heads].truncate(6 * UNITS)).is_none());
    assert!(changed(&|state| *state.hidden[heads].last_mut().unwrap() = 5.0).is_none());
    assert!(changed(&|state| state.hidden[heads].extend([0.0; 6 * UNITS + 3])).is_none());
}
