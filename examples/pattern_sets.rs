//! Which patterns are worth their cost? Plays games with the weights that ship with flipside, fits pattern sets to these
//! games from scratch, and prints the error of each fit on scored positions, by number of empties.
//!
//! ```console
//! $ cargo run --release --example pattern_sets -- 100000 scored-positions.txt classic edax my-set.toml
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flipside::eval::{PatternEvaluator, StageMap, accuracy};
use flipside::learn::{Learner, SampleSet, StepRule, lambda_returns};
use flipside::pattern::{Layout, PatternSet};
use flipside::record::lines::parse_positions;
use flipside::search::Strength;
use flipside::selfplay::{SelfPlay, SelfPlayConfig};
use flipside::weights::WeightFile;

const GAMES: SelfPlayConfig = SelfPlayConfig::new(Strength::new(2, 10), 30, 0.02);
const LAMBDA: f32 = 0.5;
const STEP: StepRule = StepRule { rate: 1.0, half: 100.0, floor: 0.01 };

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: pattern_sets GAMES POSITIONS SET...";
    let games: u32 = arguments.next().ok_or(usage)?.parse()?;
    let positions = parse_positions(&std::fs::read_to_string(arguments.next().ok_or(usage)?)?)?;

    let teacher = PatternEvaluator::new(&WeightFile::embedded().model)?;
    let played = SelfPlay::new(&teacher, GAMES).play_games(1, 0, 0, games, &AtomicBool::new(false));
    let mut samples = SampleSet::default();
    for game in &played.expect("nothing stops it") {
        lambda_returns(&game.replay(), LAMBDA).into_iter().for_each(|sample| samples.push(sample));
    }
    println!("{games} games, {} positions; root mean square error less bias, in discs, by empties", samples.len());

    for name in arguments {
        let set = match PatternSet::built_in(&name) {
            Some(set) => set,
            None => PatternSet::from_toml(&std::fs::read_to_string(&name)?)?,
        };
        let layout = Arc::new(Layout::new(&set)?);
        let mut learner = Learner::new(layout.clone(), StageMap::uniform(1), STEP);
        for _ in 0..2 {
            learner.pass(&samples, 1.0)?;
        }
        let evaluator = PatternEvaluator::with_layout(&learner.model(), layout.clone())?;
        print!("{name} ({} instances)", layout.lanes().count());
        let known = positions.iter().filter_map(|known| Some((known.diagram.position, known.score?)));
        for (empties, row) in accuracy(&evaluator, known).into_iter().flat_map(|table| table.rows) {
            print!("  {empties}: {:.2}", row.sd);
        }
        println!();
    }
    Ok(())
}
