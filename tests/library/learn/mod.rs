//! Returns against hand-computed ones, and the learner against a learner written from the definitions.

mod hidden;

use std::collections::HashMap;
use std::sync::Arc;

use flipside::board::{Position, Side, Symmetry, Transcript};
use flipside::eval::{Evaluator, HiddenLayer, Model, PatternEvaluator, Score, StageMap};
use flipside::learn::{Bound, Importance, Learner, Loss, Sample, SampleSet, StepRule, lambda_returns};
use flipside::pattern::{Layout, Pattern, PatternSet, Scalar};
use flipside::selfplay::{Ply, PlyKind, Replay};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn ply(side: Side, discs: i32, kind: PlyKind) -> Ply {
    Ply { position: Position::START, side, value: Score::from_discs(discs), kind, leaf: None }
}

fn targets(plies: Vec<Ply>, result: i32, lambda: f32) -> Vec<f32> {
    let game = Replay { plies, result: Score::from_discs(result) };
    lambda_returns(&game, lambda).iter().map(|sample| sample.target.discs()).collect()
}

#[test]
fn returns_follow_the_definition() {
    use PlyKind::{Exact, Exploratory, Greedy};
    use Side::{Black, White};
    // White moves twice running: no change of sign between the second and the third ply.
    let game = || vec![ply(Black, 2, Greedy), ply(White, 4, Greedy), ply(White, 8, Greedy), ply(Black, -10, Exact)];
    assert_eq!(targets(game(), -10, 0.0), [2.0, 4.0, 8.0, -10.0]);
    assert_eq!(targets(game(), -10, 1.0), [-10.0, 10.0, 10.0, -10.0]);
    // 8/2 + 10/2 = 9; 4/2 + 9/2 = 6.5; 2/2 - 6.5/2 = -2.25.
    assert_eq!(targets(game(), -10, 0.5), [-2.25, 6.5, 9.0, -10.0]);
    // What follows an exploratory move says nothing about the plies before it.
    let mut explored = game();
    explored[1].kind = Exploratory;
    assert_eq!(targets(explored, -10, 1.0), [-4.0, 4.0, 10.0, -10.0]);
    // Without an exact ply the result of the game is the last word.
    assert_eq!(targets(vec![ply(Black, 2, Greedy), ply(White, 3, Greedy)], 20, 1.0), [-20.0, 20.0]);
}

#[test]
fn a_principal_leaf_is_learned_with_the_sign_of_its_side() {
    let leaf = |side| Some((Position::START.play("f5".parse().unwrap()), side));
    for (side, sign) in [(Side::Black, 1.0), (Side::White, -1.0)] {
        let plies = vec![Ply { leaf: leaf(side), ..ply(Side::Black, 6, PlyKind::Greedy) }];
        let game = Replay { plies, result: Score::from_discs(6) };
        let samples = lambda_returns(&game, 0.0);
        assert_eq!(samples[0].position, leaf(side).unwrap().0);
        assert_eq!(samples[0].target.discs(), sign * 6.0);
    }
}

fn random_samples(count: usize, seed: u64) -> SampleSet {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut set = SampleSet::default();
    while set.len() < count {
        for (diagram, _) in Transcript::random(&mut rng).steps() {
            set.push(Sample::new(diagram.position, Score(rng.random_range(-3000..3000))));
        }
    }
    set
}

/// Patterns small enough for configurations to recur, with and without symmetries of their own, and a scalar.
fn small_set() -> PatternSet {
    let pattern = |name, squares| Pattern::new(name, squares).unwrap();
    PatternSet {
        name: "small".into(),
        patterns: vec![pattern("edge", "a1 b1 c1 d1 e1 f1 g1 h1"), pattern("corner", "a1 b1 b2 c1")],
        scalars: vec![Scalar::Constant, Scalar::Mobility],
        engine: None,
    }
}

#[test]
fn weights_for_an_engine_are_learned_in_its_stages_and_units() {
    let tables: Vec<u8> = (0..61).map(|played| if played < 20 { 0 } else { 1 + played % 2 }).collect();
    let text = format!(
        "name = 'own'\nscalars = ['constant']\npatterns = {{ corner = 'a1' }}\n\
        [engine]\nscale = 10\nrange = [-50, 60]\ntables = {tables:?}"
    );
    let set = PatternSet::from_toml(&text).unwrap();
    let stages = StageMap::for_set(1, &set);
    assert_eq!(stages.count(), 3);
    assert_eq!([60, 41, 40, 39, 38].map(|empties| stages.of_empties(empties)), [0, 0, 1, 2, 1]);
    assert_eq!(StageMap::for_set(20, &set).count(), 2, "wider stages keep the engine's tables whole");

    let layout = Arc::new(Layout::new(&set).unwrap());
    let mut model = Model::zero(&set.of_model(), &stages, 1).unwrap();
    model.weights[1] = vec![-7, 3, 7, 2];
    let learner = Learner::from_model(layout, &model, StepRule::fixed(1.0)).unwrap();
    let kept = learner.model();
    assert_eq!((kept.scale, &kept.weights[1]), (10, &vec![-50, 30, 60, 20]));
    // The model's own scale and stages say it all.
    assert_eq!((kept.set, kept.stages), (set.of_model(), stages));

    // With a hidden layer there is no room for the largest numbers.
    let text = text.replace("scale = 10\nrange = [-50, 60]", "scale = 5000\nrange = [-32768, 32767]");
    let layout = Arc::new(Layout::new(&PatternSet::from_toml(&text).unwrap()).unwrap());
    let learner = Learner::from_model(layout, &model, StepRule::fixed(1.0)).unwrap();
    assert_eq!(learner.model().weights[1], [-32768, 15000, 32767, 10000]);
    assert_eq!(learner.with_hidden_layer().model().weights[1], [-32768, 15000, HiddenLayer::MAX_WEIGHT, 10000]);
}

/// What a learner should do, from the definitions: a weight is named by the smallest of the texts that its configuration gives
/// under the symmetries of the board.
#[derive(Default)]
struct Naive {
    weights: HashMap<(usize, String), (f64, f64)>,
}

impl Naive {
    fn features(set: &PatternSet, stage: usize, position: &Position) -> Vec<(usize, String)> {
        let mut features = Vec::new();
        for pattern in &set.patterns {
            let squares: Vec<_> = pattern.squares().collect();
            let text_under = |symmetry: Symmetry, at: Symmetry| -> (u64, String) {
                // The pattern at one place of the board, its squares read in the order that `at` and then `symmetry` give them.
                let places: Vec<_> = squares.iter().map(|&square| at.square(symmetry.square(square))).collect();
                let mask = places.iter().fold(0, |mask, square| mask | square.bit());
                let text = places.iter().map(|square| match () {
                    () if position.player & square.bit() != 0 => 'X',
                    () if position.opponent & square.bit() != 0 => 'O',
                    () => '-',
                });
                (mask, text.collect())
            };
            let mut seen = Vec::new();
            for at in Symmetry::ALL {
                let (mask, _) = text_under(Symmetry::ALL[0], at);
                if seen.contains(&mask) {
                    continue;
                }
                seen.push(mask);
                let readings = Symmetry::ALL.iter().map(|&symmetry| text_under(symmetry, at));
                let text = readings.filter(|(own, _)| *own == mask).map(|(_, text)| text).min().unwrap();
                features.push((stage, format!("{} {text}", pattern.name)));
            }
        }
        features.push((stage, "constant".into()));
        features.push((stage, format!("mobility {}", position.moves().count_ones())));
        features
    }

    /// Learns one sample by the step rule; features that occur twice move once.
    fn learn(&mut self, features: &[(usize, String)], sample: &Sample, rule: StepRule, loss: Loss) -> f64 {
        let [rate, half, floor] = [rule.rate, rule.half, rule.floor].map(f64::from);
        let value: f64 = features.iter().map(|feature| self.weights.entry(feature.clone()).or_default().0).sum();
        let target = f64::from(sample.target.discs());
        let error = target - value;
        if sample.bound == Bound::Lower && error <= 0.0 || sample.bound == Bound::Upper && error >= 0.0 {
            return 0.0;
        }
        let wins = |discs: f64, scale: f64| 1.0 / (1.0 + (-2.0 * discs / scale).exp());
        let pull = match loss {
            Loss::Squared => error,
            Loss::CrossEntropy { scale } => {
                2.0 * f64::from(scale) * (wins(target, scale.into()) - wins(value, scale.into()))
            }
        };
        let pull = f64::from(sample.importance.share()) * pull;
        let mut moved = features.to_vec();
        moved.sort();
        moved.dedup();
        for feature in moved {
            let (weight, visits) = self.weights.get_mut(&feature).unwrap();
            *weight += (rate / (1.0 + *visits / half)).max(floor) / features.len() as f64 * pull;
            *visits += 1.0;
        }
        error
    }
}

#[test]
fn the_learner_equals_a_naive_one() {
    compare_with_naive(&random_samples(4_000, 1), Loss::Squared);
}

#[test]
fn bounds_importance_and_the_loss_do_what_they_say() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut samples = SampleSet::default();
    let random = random_samples(4_000, 1);
    for sample in (0..=60).flat_map(|empties| random.with_empties(empties)) {
        let bound = [Bound::Exact, Bound::Lower, Bound::Upper][rng.random_range(0..3)];
        let importance = Importance::new(rng.random_range(0.01..=1.0)).unwrap();
        samples.push(Sample { bound, importance, ..*sample });
    }
    compare_with_naive(&samples, Loss::Squared);
    compare_with_naive(&samples, Loss::CrossEntropy { scale: 20.0 });
    assert_eq!(Importance::new(1.0), Some(Importance::FULL));
    assert!(Importance::FULL.share() == 1.0 && Importance::new(1e-9).unwrap().share() > 0.0);
    assert!([0.0, -1.0, 1.1, f32::NAN].iter().all(|&share| Importance::new(share).is_none()));
}

fn compare_with_naive(samples: &SampleSet, loss: Loss) {
    let (set, stages) = (small_set(), StageMap::uniform(10));
    let layout = Arc::new(Layout::new(&set).unwrap());
    let rule = StepRule { rate: 0.8, half: 20.0, floor: 0.1 };
    let mut learner = Learner::new(layout, stages.clone(), rule);
    learner.set_loss(loss);
    let mut naive = Naive::default();
    for _ in 0..2 {
        let found = learner.pass(samples, 1.0).unwrap();
        let mut squared = 0.0;
        for stage in 0..stages.count() {
            for sample in samples.of_stage(&stages, stage, 0) {
                let features = Naive::features(&set, stage, &sample.position);
                let error = naive.learn(&features, sample, rule, loss);
                squared += error * error;
            }
        }
        assert_eq!(found.samples, samples.len() as u64);
        let rmse = (squared / samples.len() as f64).sqrt();
        assert!((found.rmse() - rmse).abs() < 1e-3, "{} {rmse}", found.rmse());
    }
    let evaluator = PatternEvaluator::new(&learner.model()).unwrap();
    for empties in 0..=60 {
        for sample in samples.with_empties(empties).iter().take(20) {
            let features = Naive::features(&set, stages.of(&sample.position), &sample.position);
            let value: f64 = features.iter().map(|feature| naive.weights[feature].0).sum();
            let found = f64::from(evaluator.evaluate_position(&sample.position).discs());
            // Weights are stored in 1/128 disc: half a unit for each of the features.
            assert!((found - value).abs() < 0.5 / 128.0 * features.len() as f64 + 1e-3, "{found} {value}");
        }
    }
}

#[test]
fn overlapping_stages_learn_some_of_their_neighbours_samples() {
    let samples = random_samples(2_000, 4);
    let count = |empties: u32| samples.with_empties(empties).len();
    let stages = StageMap::uniform(10);
    let stage = stages.of_empties(35);
    assert_eq!(stages.empties_of(stage), (31..=40).rev().collect::<Vec<_>>());
    let own: usize = (31..=40).map(count).sum();
    let halves = count(41).div_ceil(2) + count(30).div_ceil(2);
    let thirds = count(42).div_ceil(3) + count(29).div_ceil(3);
    assert!(halves > 30 && thirds > 20, "{halves} {thirds}");
    let layout = Arc::new(Layout::new(&small_set()).unwrap());
    for (overlap, expected) in [(0, own), (1, own + halves), (2, own + halves + thirds)] {
        assert_eq!(samples.of_stage(&stages, stage, overlap).count(), expected);
        let mut learner = Learner::new(layout.clone(), stages.clone(), StepRule::fixed(0.1));
        learner.set_overlap(overlap);
        let of_all_stages = (0..stages.count()).map(|stage| samples.of_stage(&stages, stage, overlap).count());
        assert_eq!(learner.pass(&samples, 1.0).unwrap().samples, of_all_stages.sum::<usize>() as u64);
    }
}

#[test]
fn fixed_and_shrinking_steps_learn_a_linear_truth() {
    let (set, stages) = (small_set(), StageMap::uniform(60));
    let layout = Arc::new(Layout::new(&set).unwrap());
    // The truth is an evaluation of the same kind: the count of corners.
    let corners = 0x8100_0000_0000_0081u64;
    let truth =
        |p: &Position| 4 * ((p.player & corners).count_ones() as i32 - (p.opponent & corners).count_ones() as i32);
    let mut samples = SampleSet::default();
    let random = random_samples(20_000, 2);
    for empties in 0..=60 {
        for sample in random.with_empties(empties) {
            samples.push(Sample { target: Score::from_discs(truth(&sample.position)), ..*sample });
        }
    }
    for rule in [StepRule::fixed(0.5), StepRule { rate: 1.0, half: 30.0, floor: 0.01 }] {
        let mut learner = Learner::new(layout.clone(), stages.clone(), rule);
        let first = learner.pass(&samples, 1.0).unwrap().rmse();
        let losses: Vec<f64> = (0..4).map(|_| learner.pass(&samples, 1.0).unwrap().rmse()).collect();
        assert!(losses[3] < 0.25 && losses[3] < first / 3.0, "{rule:?}: {first} {losses:?}");
    }
}

#[test]
fn splitting_stages_keeps_what_was_learned() {
    let layout = Arc::new(Layout::new(&small_set()).unwrap());
    let rule = StepRule { rate: 1.0, half: 30.0, floor: 0.01 };
    // The widest stages are divided among all the tables of rows that narrow ones would have.
    for (plies, with_layer) in [(10, false), (10, true), (30, true)] {
        let mut learner = Learner::new(layout.clone(), StageMap::uniform(plies), rule);
        if with_layer {
            learner = learner.with_hidden_layer();
        }
        let samples = random_samples(3_000, 3);
        learner.pass(&samples, 1.0).unwrap();
        let before = PatternEvaluator::new(&learner.model()).unwrap();
        learner.set_stages(StageMap::uniform(1));
        let after = PatternEvaluator::new(&learner.model()).unwrap();
        let game: Transcript = "f5d6c3d3c4f4f6f3e6e7d7c5".parse().unwrap();
        let late = (0..=60).flat_map(|empties| samples.with_empties(empties).first()).map(|sample| sample.position);
        for position in game.steps().iter().map(|(diagram, _)| diagram.position).chain(late) {
            assert_eq!(before.evaluate_position(&position), after.evaluate_position(&position));
        }
        learner.pass(&samples, 1.0).unwrap();
    }
}
