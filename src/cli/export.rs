//! `flipside export`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::session::Session;
use crate::export::{Quantisation, Target, export};

/// Write weights as another engine's file, or in an open layout for any program
///
/// Engines: edax, egaroucid, ntest (a folder of ten files), zebra. They take weights whose patterns they know; `train --patterns` with
/// the engine's name makes such. Open layouts take any: npz (NumPy), safetensors, json, c (a C99 header with an evaluator), rust
/// (a module with an evaluator). Prints the files written.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside export --to edax best.fsw -o eval.dat")]
pub struct ExportArguments {
    /// The engine or the open layout
    #[arg(long, value_name = "TARGET")]
    to: Target,

    /// A weight file, or `default`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// The file or folder to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Average stages where the engine has one table for several of them
    #[arg(long)]
    merge_stages: bool,
}

impl ExportArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let file = self.weights.weight_file()?;
        let exported = export(&file, self.to, &self.output, self.merge_stages);
        let exported = exported.context(|| format!("cannot export `{}` to {}", self.weights, self.to))?;
        if let Some(quantisation) = &exported.quantisation {
            session.say(account(quantisation));
        }
        for path in &exported.files {
            writeln!(out, "{}", path.display())?;
        }
        Ok(())
    }
}

/// What rounding changed, in a sentence.
fn account(quantisation: &Quantisation) -> String {
    if quantisation.is_exact() {
        return "exact: no weight was rounded".to_owned();
    }
    let Quantisation { clipped, largest_weight, mean_weight, positions, largest, mean } = quantisation;
    format!(
        "rounded to the engine's units: a weight changed by up to {largest_weight:.4} discs ({mean_weight:.4} in the mean), a position's \
         value by up to {largest:.4} ({mean:.4} in the mean, {positions} positions); {clipped} weights were beyond the engine's range \
         and were cut to it"
    )
}
