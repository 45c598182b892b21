//! `flipside accuracy`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::evaluator::{EvaluatorChoice, with_evaluator};
use super::input::{name_of, read_positions};
use super::session::Session;
use crate::eval::{Accuracy, accuracy};

/// Compare static evaluations with known scores, by number of empty squares
///
/// Prints a table, separated by tabs: empty squares, positions, root mean square error, mean absolute error, and bias (mean of
/// evaluation minus score), in discs for the side to move.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside accuracy best.fsw scored-positions.txt")]
pub struct AccuracyArguments {
    /// A weight file, `default`, `squares` or `mobility`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// Positions with scores, one a line; `-` is standard input
    file: PathBuf,
}

impl AccuracyArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load()?;
        let positions = read_positions(&self.file, session)?;
        let known: Vec<_> = positions.iter().filter_map(|p| Some((p.diagram.position, p.score?))).collect();
        if known.is_empty() {
            return Err(CliError::failure(format!("no position in {} has a score", name_of(&self.file)))
                .hint("Write the score in discs for the side to move after it: `<64 squares> X +4`."));
        }
        if known.len() < positions.len() {
            session.say(format_args!("left out, without a score: {}", positions.len() - known.len()));
        }
        writeln!(out, "empties\tpositions\trmse\tmae\tbias")?;
        for row in with_evaluator!(&evaluator, evaluator => accuracy(evaluator, known)) {
            let Accuracy { empties, positions, rmse, mae, bias } = row;
            writeln!(out, "{empties}\t{positions}\t{rmse:.3}\t{mae:.3}\t{bias:+.3}")?;
        }
        Ok(())
    }
}
