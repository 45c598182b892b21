//! `flipside import`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::{CliError, Context};
use super::output::Output;
use super::session::Session;
use flipside::export::{Target, import, import_files, import_open};
use flipside::text::counted;
use flipside::train::set_named;

/// Turn another engine's or another trainer's weights into a weight file, without loss
///
/// The result is an ordinary weight file: every command takes it, and `train --from` can tune it further. Engines (edax, egaroucid, ntest,
/// zebra) have pattern sets of their own. npz, safetensors and json are read as `export` writes them, whatever has changed the numbers: any
/// floating-point or whole numbers, which are rounded to units of the file's `scale`. A number that is none or too large, and an array
/// that is missing, unknown or of another shape, is an error. The result is not calibrated (see `flipside calibrate`).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside import --from edax eval.dat -o imported.fsw\n  \
    flipside import --from npz weights.npz -o imported.fsw")]
pub struct ImportArguments {
    /// What to read: edax, egaroucid, ntest, zebra; npz, safetensors, json
    #[arg(long, value_name = "FORMAT")]
    from: Target,

    /// The file; for ntest the ten files of a set, such as JAa.cof to JAj.cof, or their folder
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// For npz, safetensors and json: the pattern set, a built-in name, a TOML file, or a run [default: the one that the file's metadata
    /// describe]
    #[arg(long, value_name = "SET")]
    patterns: Option<String>,

    /// The weight file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl ImportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let cannot = || format!("cannot import weights of {}", self.from);
        let (output, file) = match self.from {
            Target::Engine(engine) => {
                if self.patterns.is_some() {
                    let message = format!("--patterns is for npz, safetensors and json: {engine} has a set of its own");
                    return Err(CliError::Usage(message));
                }
                let files = import_files(engine, &self.files).context(cannot)?;
                let output = Output::check(&self.output, files.iter().map(PathBuf::as_path))?;
                (output, import(engine, &files).context(cannot)?)
            }
            Target::Open(layout) => {
                let [file] = &*self.files else {
                    return Err(CliError::Usage(format!("weights in {layout} are one file")));
                };
                let output = Output::check(&self.output, [&**file])?;
                let set = self.patterns.as_deref().map(set_named).transpose();
                let set = set.context(|| "cannot use the pattern set")?;
                (output, import_open(layout, file, set.as_ref()).context(cannot)?)
            }
        };
        output.write_and_name(out, |writer| writer.write_all(&file.to_bytes()))?;
        let model = &file.model;
        let weights: usize = model.weights.iter().map(Vec::len).sum();
        let stages = model.stages.count();
        session.say(format_args!("{} in {}", counted(weights as u64, "weight"), counted(stages as u64, "stage")));
        Ok(())
    }
}
