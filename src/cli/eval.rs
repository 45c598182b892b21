//! `flipside eval`.

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::error::CliError;
use super::evaluator::{WeightsAndPositions, with_evaluator};
use super::input::read_positions;
use super::json::{JsonArgument, write_json};
use super::session::Session;
use crate::eval::unlimited_static_value;

/// Evaluate positions without searching: one number per line, in discs for the side to move
///
/// If the side to move must pass, the value is the opponent's, negated; if the game is over, it is the result. Values beyond 64
/// discs are shown as they are; a search limits them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside eval data/bench/midgame.txt\n  flipside eval mobility f5d6c3d3c4")]
pub struct EvalArguments {
    #[command(flatten)]
    inputs: WeightsAndPositions,

    #[command(flatten)]
    json: JsonArgument,
}

impl EvalArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let (weights, positions) = self.inputs.parts()?;
        let evaluator = weights.load()?;
        let positions = read_positions(&positions, session)?;
        with_evaluator!(&evaluator, evaluator => {
            for scored in &positions {
                let value = unlimited_static_value(evaluator, &scored.diagram.position);
                if self.json.json {
                    let position = scored.diagram.to_string();
                    write_json(&json!({ "position": position, "value": f64::from(value.discs()) }), out)?;
                } else {
                    writeln!(out, "{value:.3}")?;
                }
            }
        });
        Ok(())
    }
}
