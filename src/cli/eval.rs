//! `flipside eval`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::error::CliError;
use super::evaluator::{WeightsArgument, with_evaluator};
use super::input::read_positions;
use super::json::{JsonArgument, write_json};
use super::session::Session;
use crate::eval::unlimited_static_value;

/// Evaluate positions without searching: one number a line, in discs for the side to move
///
/// Where the side to move must pass, the value is the opponent's, negated; where the game is over, it is the result. Values
/// beyond 64 discs are shown as they are; searching limits them.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside eval data/bench/midgame.txt")]
pub struct EvalArguments {
    /// Positions or the moves that lead to them (f5d6c3), one a line; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,

    #[command(flatten)]
    weights: WeightsArgument,

    #[command(flatten)]
    json: JsonArgument,
}

impl EvalArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load()?;
        let positions = read_positions(&self.file, session)?;
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
