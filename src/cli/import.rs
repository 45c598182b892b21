//! `flipside import`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::{CliError, Context};
use super::output::Output;
use super::session::Session;
use flipside::export::{Engine, import, import_files};
use flipside::text::counted;

/// Turn another engine's weights into a weight file, without loss
///
/// The result is an ordinary weight file with the engine's pattern set: every command takes it, and `train --from` can tune it further.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside import --from edax eval.dat -o imported.fsw")]
pub struct ImportArguments {
    /// The engine: edax, egaroucid, ntest or zebra
    #[arg(long, value_name = "ENGINE")]
    from: Engine,

    /// The engine's file; for ntest the ten files of a set, such as JAa.cof to JAj.cof, or their folder
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The weight file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl ImportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let cannot = || format!("cannot import weights of {}", self.from);
        let files = import_files(self.from, &self.files).context(cannot)?;
        let output = Output::check(&self.output, files.iter().map(PathBuf::as_path))?;
        let file = import(self.from, &files).context(cannot)?;
        output.write_and_name(out, |writer| writer.write_all(&file.to_bytes()))?;
        let model = &file.model;
        let weights: usize = model.weights.iter().map(Vec::len).sum();
        let stages = model.stages.count();
        session.say(format_args!("{} in {}", counted(weights as u64, "weight"), counted(stages as u64, "stage")));
        Ok(())
    }
}
