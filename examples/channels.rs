//! Is a non-linear term worth its cost? Fits the pattern set `night` to kept games, with and without a small hidden layer, prints the
//! loss on games held out and the error on scored positions, and plays the two against each other at equal depth.
//!
//! Every configuration has, beside its weight, `CHANNELS` numbers, which all stages of a group share. A position's are summed as
//! the weights are, cut to 0..1, and each stage adds what they are worth to it. `docs/TRAINING.md` has figures.
//!
//! ```console
//! $ cargo run --release --example channels -- scored-positions.txt games.fsg more-games.fsg
//! ```

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flipside::arena::{Match, SearchPlayer, select_openings, xot_openings};
use flipside::board::{Bitboard, Position, Square, parse_scored_diagrams};
use flipside::eval::{Evaluator, Score, accuracy};
use flipside::games::GamesReader;
use flipside::learn::{Sample, SampleSet, lambda_returns};
use flipside::pattern::{Indices, LANES, Layout, PatternSet, Scalar, Seen};
use flipside::search::{Engine, Strength};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Numbers of a configuration, and so units of the hidden layer.
const CHANNELS: usize = 16;
/// The fewest empties of each group of stages.
const GROUPS: [usize; 6] = [0, 13, 22, 31, 40, 49];
const LAMBDA: f32 = 0.9;
const EPOCHS: usize = 3;
/// One game in this many is held out.
const HOLD_OUT: u64 = 200;
/// Plies on either side whose samples a stage's weights learn too, fewer the farther they are.
const OVERLAP: usize = 2;
/// Samples of one stage after which the hidden layer's own parameters move.
const BATCH: usize = 256;
/// The unit, in discs, of what the hidden layer adds.
const UNIT: f32 = 8.0;
/// The first step of a channel, and of the hidden layer's own parameters.
const RATES: [f32; 2] = [0.012, 0.003];
/// The features of a position at most.
const FEATURES: usize = LANES + Scalar::ALL.len();

type Channels = [f32; CHANNELS];

/// The weights of a position's features; what is beyond their number is 0.
type Weights = [u32; FEATURES];

/// Parameters moved by Adam (Diederik Kingma and Jimmy Ba, "Adam: a method for stochastic optimization", 2015).
#[derive(Clone)]
struct Adam {
    value: Channels,
    moments: [Channels; 2],
    steps: i32,
}

impl Adam {
    fn new(value: Channels) -> Self {
        Self { value, moments: [[0.0; CHANNELS]; 2], steps: 0 }
    }

    fn step(&mut self, gradient: &Channels, rate: f32) {
        self.steps += 1;
        let [first, second] = &mut self.moments;
        let unbiased = [0.9f32, 0.999].map(|decay| 1.0 - decay.powi(self.steps));
        for c in 0..CHANNELS {
            first[c] += 0.1 * (gradient[c] - first[c]);
            second[c] += 0.001 * (gradient[c].powi(2) - second[c]);
            self.value[c] += rate * first[c] / unbiased[0] / ((second[c] / unbiased[1]).sqrt() + 1e-8);
        }
    }
}

/// What belongs to one number of empties.
struct Stage {
    /// Each weight in discs, and its visits.
    weights: Vec<[f32; 2]>,
    bias: Adam,
    output: Adam,
}

impl Stage {
    fn linear(&self, weights: &[u32]) -> f32 {
        weights.iter().map(|&weight| self.weights[weight as usize][0]).sum()
    }

    /// Moves the weights by the step rule `decayed`, rate 1, half 100, floor 0.0003. One that is there twice moves once.
    fn learn(&mut self, weights: &[u32], error: f32, scale: f32) {
        let share = error * scale / weights.len() as f32;
        let mut moved = [[0.0; 2]; FEATURES];
        for (moved, &weight) in moved.iter_mut().zip(weights) {
            let [value, visits] = self.weights[weight as usize];
            *moved = [value + share * (100.0 / (100.0 + visits)).max(0.0003), visits + 1.0];
        }
        moved.iter().zip(weights).for_each(|(moved, &weight)| self.weights[weight as usize] = *moved);
    }
}

/// Stages that share channels, and learn by themselves.
struct Group {
    /// The fewest empties.
    lowest: usize,
    stages: Vec<Stage>,
    /// The channels of each weight.
    channels: Vec<Channels>,
    /// By weight, the sum of squared gradients: steps shrink as it grows (AdaGrad, one number a row).
    squares: Vec<f32>,
}

impl Group {
    fn new(number: usize, weights: usize) -> Self {
        let lowest = GROUPS[number];
        let end = GROUPS.get(number + 1).copied().unwrap_or(61);
        let output = std::array::from_fn(|c| if c % 2 == 0 { 0.5 } else { -0.5 });
        let stage =
            || Stage { weights: vec![[0.0; 2]; weights], bias: Adam::new([0.5; CHANNELS]), output: Adam::new(output) };
        let mut rng = ChaCha8Rng::seed_from_u64(number as u64);
        let channels = (0..weights).map(|_| std::array::from_fn(|_| rng.random_range(-0.03..0.03))).collect();
        let stages = (lowest..end).map(|_| stage()).collect();
        Self { lowest, stages, channels, squares: vec![0.5; weights] }
    }

    fn hidden(&self, stage: usize, weights: &[u32]) -> Channels {
        let mut sum = self.stages[stage].bias.value;
        for &weight in weights {
            let channels = &self.channels[weight as usize];
            (0..CHANNELS).for_each(|c| sum[c] += channels[c]);
        }
        sum
    }

    /// What a hidden layer adds, in discs.
    fn added(&self, stage: usize, hidden: &Channels) -> f32 {
        let output = &self.stages[stage].output.value;
        UNIT * (0..CHANNELS).map(|c| output[c] * hidden[c].clamp(0.0, 1.0)).sum::<f32>()
    }

    /// An epoch over the samples of its stages, batches of the stages in turns.
    fn learn(&mut self, layout: &Layout, samples: &SampleSet, epoch: usize, with_channels: bool) {
        let stages = 0..self.stages.len();
        let mut batches: Vec<(usize, &[Sample])> = stages
            .flat_map(|stage| samples.with_empties((self.lowest + stage) as u32).chunks(BATCH).map(move |b| (stage, b)))
            .collect();
        batches.shuffle(&mut ChaCha8Rng::seed_from_u64(epoch as u64));
        let count = batches.len();
        for (i, (stage, batch)) in batches.into_iter().enumerate() {
            let left = 1.0 - (epoch as f32 + i as f32 / count as f32) / EPOCHS as f32;
            self.learn_batch(layout, stage, batch, left, with_channels);
        }
    }

    /// `left` is the share of all the work that is not done; towards the end steps shrink to nothing.
    fn learn_batch(&mut self, layout: &Layout, stage: usize, batch: &[Sample], left: f32, with_channels: bool) {
        let (scale, channels_scale) = ((left / 0.3).min(1.0), (left / 0.7).min(1.0));
        let [mut of_bias, mut of_output] = [[0.0; CHANNELS]; 2];
        for (number, sample) in batch.iter().enumerate() {
            let (weights, used) = weights_of(layout, &layout.indices(&sample.position), &Seen::new(&sample.position));
            let weights = &weights[..used];
            let mut added = 0.0;
            if with_channels {
                let hidden = self.hidden(stage, weights);
                added = self.added(stage, &hidden);
                let error = (sample.target.discs() - self.stages[stage].linear(weights) - added) / UNIT;
                let output = &self.stages[stage].output.value;
                let is_open = |c: usize| hidden[c] > 0.0 && hidden[c] < 1.0;
                let gradient: Channels = std::array::from_fn(|c| if is_open(c) { error * output[c] } else { 0.0 });
                let square = gradient.iter().map(|g| g * g).sum::<f32>() / CHANNELS as f32;
                for c in 0..CHANNELS {
                    of_bias[c] += gradient[c] / batch.len() as f32;
                    of_output[c] += error * hidden[c].clamp(0.0, 1.0) / batch.len() as f32;
                }
                for &weight in weights {
                    let (row, squares) = (&mut self.channels[weight as usize], &mut self.squares[weight as usize]);
                    *squares += square;
                    let step = RATES[0] * channels_scale / squares.sqrt();
                    (0..CHANNELS).for_each(|c| row[c] += step * gradient[c]);
                }
            }
            for other in stage.saturating_sub(OVERLAP)..=(stage + OVERLAP).min(self.stages.len() - 1) {
                if number.is_multiple_of(other.abs_diff(stage) + 1) {
                    let error = sample.target.discs() - added - self.stages[other].linear(weights);
                    self.stages[other].learn(weights, error, scale);
                }
            }
        }
        if with_channels {
            let Stage { bias, output, .. } = &mut self.stages[stage];
            bias.step(&of_bias, RATES[1] * channels_scale);
            output.step(&of_output, RATES[1] * channels_scale);
        }
    }
}

/// The weights of a position's features, and their number.
fn weights_of(layout: &Layout, indices: &Indices, seen: &Seen) -> (Weights, usize) {
    let mut weights = [0; FEATURES];
    let instances = layout.instances();
    for (lane, weight) in weights[..instances].iter_mut().enumerate() {
        *weight = layout.centres()[lane].wrapping_add_signed(i32::from(indices.lanes()[lane]));
    }
    for (weight, (scalar, first)) in weights[instances..].iter_mut().zip(layout.scalars()) {
        *weight = (first + scalar.of(seen)) as u32;
    }
    let used = instances + layout.scalars().len();
    weights[..used].iter_mut().for_each(|weight| *weight = layout.weight_of_slot()[*weight as usize]);
    (weights, used)
}

/// A fit, linear or with channels.
struct Fitted<'l> {
    layout: &'l Layout,
    groups: Vec<Group>,
    with_channels: bool,
}

impl<'l> Fitted<'l> {
    fn new(layout: &'l Layout, samples: &SampleSet, with_channels: bool) -> Self {
        let mut groups: Vec<Group> = (0..GROUPS.len()).map(|number| Group::new(number, layout.weights())).collect();
        for epoch in 0..EPOCHS {
            let learn = |group: &mut Group| group.learn(layout, samples, epoch, with_channels);
            groups.par_iter_mut().with_max_len(1).for_each(learn);
        }
        Self { layout, groups, with_channels }
    }

    /// In discs.
    fn value(&self, seen: &Seen, indices: &Indices) -> f32 {
        let (weights, used) = weights_of(self.layout, indices, seen);
        let (weights, empties) = (&weights[..used], seen.position.empties() as usize);
        let number = GROUPS.iter().rposition(|&lowest| lowest <= empties).expect("the last group begins at 0");
        let group = &self.groups[number];
        let stage = (empties - group.lowest).min(group.stages.len() - 1);
        let linear = group.stages[stage].linear(weights);
        if self.with_channels { linear + group.added(stage, &group.hidden(stage, weights)) } else { linear }
    }

    /// Root mean square error in discs on samples of `lowest` to `highest` empties.
    fn loss(&self, samples: &SampleSet, lowest: u32, highest: u32) -> f64 {
        let samples: Vec<&Sample> = (lowest..=highest).flat_map(|empties| samples.with_empties(empties)).collect();
        let error = |sample: &&Sample| {
            let value = self.value(&Seen::new(&sample.position), &self.layout.indices(&sample.position));
            f64::from(sample.target.discs() - value).powi(2)
        };
        (samples.iter().map(error).sum::<f64>() / samples.len() as f64).sqrt()
    }
}

impl Evaluator for Fitted<'_> {
    type State = Indices;

    fn state(&self, position: &Position) -> Indices {
        self.layout.indices(position)
    }

    fn play(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        self.layout.play(before, to, flips)
    }

    fn pass(&self, before: &Indices) -> Indices {
        before.pass()
    }

    fn evaluate(&self, position: &Position, state: &Indices) -> Score {
        Score((self.value(&Seen::new(position), state) * Score::DISC as f32).round() as i32).clamp_eval()
    }
}

/// The samples of all games but those held out, and of these.
fn read(files: &[String]) -> Result<[SampleSet; 2], Box<dyn Error>> {
    let mut sets = [SampleSet::default(), SampleSet::default()];
    let mut games = 0u64;
    for file in files {
        let mut reader = GamesReader::open(Path::new(file))?;
        while let Some(block) = reader.next_block()? {
            for game in block.decode()?.games {
                games += 1;
                let set = &mut sets[usize::from(games.is_multiple_of(HOLD_OUT))];
                lambda_returns(&game.replay(), LAMBDA).into_iter().for_each(|sample| set.push(sample));
            }
        }
    }
    Ok(sets)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [positions, games @ ..] = &arguments[..] else { return Err("usage: channels POSITIONS GAMES...".into()) };
    let positions = parse_scored_diagrams(&std::fs::read_to_string(positions)?)?;
    let layout = Layout::new(&PatternSet::built_in("night").expect("it is built in"))?;
    let [samples, held_out] = read(games)?;
    println!("{} positions, {} held out", samples.len(), held_out.len());

    let [linear, with_channels] = [false, true].map(|with_channels| Fitted::new(&layout, &samples, with_channels));
    for (name, fitted) in [("linear", &linear), ("with channels", &with_channels)] {
        print!("{name}: loss {:.3}, by empties ", fitted.loss(&held_out, 0, 60));
        for empties in [10, 20, 30, 40, 50] {
            print!(" {empties}: {:.2}", fitted.loss(&held_out, empties, empties));
        }
        print!("; error after slope ");
        let known = positions.iter().filter_map(|known| Some((known.diagram.position, known.score?)));
        for (empties, row) in accuracy(fitted, known).into_iter().flat_map(|table| table.rows) {
            print!(" {empties}: {:.2}", row.sd_after_slope);
        }
        println!();
    }
    let plan = Match { openings: select_openings(&xot_openings(), 400, 1), sprt: None, held: Vec::new() };
    for depth in [1, 4, 6] {
        let player =
            |fitted| Ok(SearchPlayer::new(Engine::new(fitted, Strength::new(depth, 12), 16).expect("full width")));
        let report = plan.run(|| player(&with_channels), || player(&linear), &AtomicBool::new(false), |_| {})?;
        let elo = report.tally.elo();
        println!("depth {depth}: channels v linear {:+.0} Elo, {:+.0} to {:+.0}", elo.value, elo.low, elo.high);
    }
    Ok(())
}
