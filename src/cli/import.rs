//! `flipside import`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::{CliError, Context};
use super::session::Session;
use crate::export::{Engine, import};

/// Make a weight file of another engine's weights, without loss
///
/// The result is an ordinary weight file with the engine's pattern set: every command takes it, and `train --from` goes on tuning
/// it.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside import --from zebra coeffs2.bin -o zebra.fsw")]
pub struct ImportArguments {
    /// The engine: edax, egaroucid, ntest or zebra
    #[arg(long, value_name = "ENGINE")]
    from: Engine,

    /// Its file; for ntest the ten files JAa.cof to JAj.cof, or their folder
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The weight file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl ImportArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let file = import(self.from, &self.files).context(|| format!("cannot import weights of {}", self.from))?;
        file.save(&self.output).context(|| "cannot write the weights".to_owned())?;
        let model = &file.model;
        session.say(format_args!(
            "{} weights in {} stages",
            model.weights.iter().map(Vec::len).sum::<usize>(),
            model.stages.count()
        ));
        writeln!(out, "{}", self.output.display())?;
        Ok(())
    }
}
