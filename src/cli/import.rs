//! `flipside import`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::error::{CliError, Context};
use super::session::Session;
use crate::export::{Engine, import};

/// Make a weight file of another engine's weights, without loss
///
/// The result evaluates as the engine does. It has the engine's pattern set, and every command can use it.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside import --from zebra coeffs2.bin -o zebra.fsw")]
pub struct ImportArguments {
    /// Whose weights they are
    #[arg(long, value_name = "ENGINE", value_parser = PossibleValuesParser::new(Engine::ALL.map(Engine::name))
        .try_map(|name| name.parse::<Engine>()))]
    from: Engine,

    /// The engine's file: eval.dat, eval.egev2, coeffs2.bin; for NTest JAa.cof to JAj.cof or their folder
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The weight file to write
    #[arg(short, long, value_name = "WEIGHTS")]
    output: PathBuf,
}

impl ImportArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, _: &mut dyn Write) -> Result<(), CliError> {
        let weights = import(self.from, &self.files).context(|| format!("cannot import {}'s weights", self.from))?;
        weights.save(&self.output).context(|| "cannot write the weights".to_owned())?;
        let stages = weights.model.stages.count();
        session.say(format!("{}: weights of {}, {stages} stages", self.output.display(), self.from));
        Ok(())
    }
}
