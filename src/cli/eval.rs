//! `flipside eval`.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::error::CliError;
use super::evaluator::Positions;
use super::input::read_positions;
use super::results::FormatArgument;
use super::session::Session;
use flipside::board::ScoredDiagram;
use flipside::eval::unlimited_static_value;

/// Evaluate positions without searching, in discs for the side to move
///
/// Prints one number per line, with --json the position too. If the side to move must pass, the value is the opponent's, negated; if the
/// game is over, it is the result. Values beyond 64 discs are shown as they are; a search limits them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside eval data/bench/midgame.txt\n  flipside eval -w mobility f5d6c3d3c4")]
pub struct EvalArguments {
    #[command(flatten)]
    inputs: Positions,

    #[command(flatten)]
    format: FormatArgument,
}

#[derive(Serialize)]
struct Evaluated {
    value: f32,
    position: String,
}

impl EvalArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let (weights, positions) = (self.inputs.weights.choice(), &self.inputs.positions);
        let evaluator = weights.load()?;
        let positions = read_positions(positions, session)?;
        let value = |scored: &ScoredDiagram| unlimited_static_value(&evaluator, &scored.diagram.position);
        if self.format.json {
            let row = |scored: &ScoredDiagram| Evaluated {
                value: value(scored).discs(),
                position: scored.diagram.to_string(),
            };
            return self.format.to(out).table(&positions.iter().map(row).collect::<Vec<_>>());
        }
        // No more than the numbers, for other programs.
        Ok(positions.iter().try_for_each(|scored| writeln!(out, "{:.3}", value(scored)))?)
    }
}
