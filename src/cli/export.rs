//! `flipside export`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::session::Session;
use crate::export::{Quantisation, Target, export};

/// Write weights for another engine, or in an open layout
///
/// For an engine the weights must fit its patterns; what rounding to its units changes is told. The open layouts (npz,
/// safetensors, json, c, rust) take any weights and round nothing.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside export --to npz best.fsw -o best.npz")]
pub struct ExportArguments {
    /// An engine, or an open layout
    #[arg(long, value_name = "TARGET", value_parser = PossibleValuesParser::new(Target::all().map(Target::name))
        .try_map(|name| name.parse::<Target>()))]
    to: Target,

    /// A weight file, or `default`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// The file to write; for NTest the folder of its ten files
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Average stages that the engine has one table set for, instead of refusing
    #[arg(long)]
    merge_stages: bool,
}

impl ExportArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, _: &mut dyn Write) -> Result<(), CliError> {
        let weights = self.weights.weight_file()?;
        let exported = export(&weights, self.to, &self.output, self.merge_stages)
            .context(|| format!("cannot export `{}` to {}", self.weights, self.to))?;
        exported.files.iter().for_each(|path| session.say(path.display()));
        if let Some(quantisation) = exported.quantisation {
            session.say(account(&quantisation));
        }
        Ok(())
    }
}

/// What rounding changed, in words.
fn account(quantisation: &Quantisation) -> String {
    if quantisation.is_exact() {
        return "exact: no weight was rounded".to_owned();
    }
    let Quantisation { clipped, largest_weight, mean_weight, positions, largest, mean } = quantisation;
    format!(
        "rounding changed the values of {positions} positions of random games by {largest:.4} discs at most and {mean:.4} in the \
         mean, weights by {largest_weight:.4} and {mean_weight:.4}; {clipped} weights were beyond the range and cut"
    )
}
