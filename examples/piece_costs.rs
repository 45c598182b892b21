//! What games, and what is done with them, cost on this machine: the input of `scaling`.
//!
//! Times are processor time of one thread, so that other programs disturb little. `cargo run --release --example piece_costs`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flipside::eval::PatternEvaluator;
use flipside::games::{decode, encode, frame};
use flipside::learn::{SampleSet, lambda_returns};
use flipside::pattern::Layout;
use flipside::selfplay::{SelfPlay, SelfPlayConfig};
use flipside::train::{PRESETS, TrainConfig};
use flipside::weights::{Provenance, WeightFile};
use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = processor_time();
    let done = work();
    (done, processor_time() - began)
}

/// Mean and coefficient of variation.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt() / mean)
}

fn main() {
    // All work must be done by this one thread, or its time would not be counted.
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread").install(measure);
}

fn measure() {
    let preset = PRESETS.iter().find(|(name, ..)| *name == "overnight").expect("a preset").1;
    let config = TrainConfig::from_toml(preset).expect("a preset can be run");
    let play: SelfPlayConfig =
        config.steps.iter().rev().find_map(|step| step.play).expect("a step that plays").self_play();
    let file = WeightFile::embedded();
    let stop = AtomicBool::new(false);
    let layout = Arc::new(Layout::new(&file.model.set).expect("a layout"));
    let (evaluator, building) = timed(|| PatternEvaluator::with_layout(&file.model, layout).expect("they fit"));
    println!("an evaluator of the weights\t{:.1} ms", 1e3 * building);
    let players = SelfPlay::new(&evaluator, play);
    let mut games = Vec::new();
    for (size, pieces) in [(256u32, 3), (128, 6), (64, 12), (32, 24), (16, 24), (8, 32), (4, 48), (1, 96)] {
        let mut costs = Vec::new();
        for piece in 0..pieces {
            let numbers = size * piece..size * (piece + 1);
            let (played, seconds) = timed(|| players.play_here(1, 1, numbers, &stop).expect("nothing stops it"));
            costs.push(1e3 * seconds / f64::from(size));
            if size == 32 {
                games.push(played);
            }
        }
        let (mean, variation) = spread(&costs);
        println!("pieces of {size} games\t{mean:.3} ms a game\tvariation {:.1}%", 100.0 * variation);
    }
    let count = (32 * games.len()) as f64;
    let microseconds = |seconds: f64| 1e6 * seconds / count;
    let (blocks, encoding) = timed(|| games.iter().map(|games| encode(games)).collect::<Vec<_>>());
    let (_, framing) = timed(|| games.iter().map(|games| frame(0, games)).collect::<Vec<_>>());
    let (_, decoding) = timed(|| blocks.iter().map(|block| decode(block, 32)).collect::<Vec<_>>());
    let (samples, sampling) = timed(|| {
        let mut samples = SampleSet::default();
        games
            .iter()
            .flatten()
            .flat_map(|game| lambda_returns(&game.replay(), 0.9))
            .for_each(|sample| samples.push(sample));
        samples
    });
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    println!("a game on the wire\t{:.0} bytes, {:.0} positions", bytes as f64 / count, samples.len() as f64 / count);
    println!("encoding a game\t{:.1} us; as a frame {:.1} us", microseconds(encoding), microseconds(framing));
    println!("decoding and replaying a game\t{:.1} us", microseconds(decoding));
    println!("samples of a game\t{:.1} us", microseconds(sampling));
    let file = WeightFile::new(file.model.clone(), Provenance::default());
    let (bytes, packing) = timed(|| file.to_bytes());
    let (_, unpacking) = timed(|| WeightFile::from_bytes(&bytes));
    println!(
        "weights as a file\t{:.1} MB, {:.0} ms to write, {:.0} ms to read",
        bytes.len() as f64 / 1e6,
        1e3 * packing,
        1e3 * unpacking
    );
}
