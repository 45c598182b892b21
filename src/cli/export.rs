//! `flipside export`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::input::STANDARD_STREAM;
use super::output::Output;
use super::session::Session;
use crate::eval::Clipping;
use crate::export::{Engine, Quantisation, Target, encode, write_open};
use crate::storage::read_bounded;
use crate::text::counted;
use crate::weights::WeightFile;

/// Limit in bytes of a file of NTest's that is copied.
const LIMIT: u64 = 1 << 26;

/// Write weights as another engine's file, or in an open layout for any program
///
/// Engines: edax, egaroucid, ntest (a folder of ten files), zebra. Each takes weights of its own patterns, as made by `fit` and `train`
/// with `--patterns ENGINE`. Open layouts take any weights: npz (NumPy), safetensors, json, c (a C99 header with an evaluator), rust (a
/// module with an evaluator). Weights with a hidden layer can only go to open layouts. Prints the files written.
///
/// NTest checks its own weights when it starts, so its files are written as a second set, JBa.cof to JBj.cof. If they are written to
/// NTest's folder of coefficients, the parameters of its selective search are copied for the new set.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside export --to edax runs/edax/best.fsw -o eval.dat\n  \
    flipside export --to npz default -o weights.npz")]
pub struct ExportArguments {
    /// Engine or open layout
    #[arg(long, value_name = "TARGET")]
    to: Target,

    /// A weight file, or `default`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// The file to write (for ntest the folder); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// For ntest: average the weights of stages that share one of its tables
    #[arg(long)]
    merge_stages: bool,
}

impl ExportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        if self.to == Target::Engine(Engine::Ntest) {
            return self.run_for_ntest(session, out);
        }
        if self.merge_stages {
            let message =
                format!("--merge-stages is for ntest, which has one table for several stages; {} keeps all", self.to);
            return Err(CliError::Usage(message));
        }
        let output = self.check(&self.output)?;
        let file = self.weights.weight_file()?;
        match self.to {
            Target::Open(layout) => output.write_and_name(out, |writer| write_open(layout, &file, writer)),
            Target::Engine(engine) => {
                let encoded = self.encode(engine, &file, session)?;
                let [(_, content)] = &encoded[..] else { unreachable!("but for NTest, engines have one file") };
                output.write_and_name(out, |writer| writer.write_all(content))
            }
        }
    }

    fn run_for_ntest(&self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let folder = &self.output;
        if folder == Path::new(STANDARD_STREAM) {
            return Err(CliError::Usage("ntest has ten files: name a folder for them with -o".to_owned()));
        }
        let encoded = self.encode(Engine::Ntest, &self.weights.weight_file()?, session)?;
        let cannot = || format!("cannot write to `{}`", folder.display());
        fs::create_dir_all(folder).context(cannot)?;
        let files = encoded.into_iter().map(|(name, content)| Ok((self.check(&folder.join(name))?, content)));
        Output::write_together(out, &files.collect::<Result<Vec<_>, CliError>>()?)?;
        let copies: Result<Vec<_>, CliError> = probcut_copies(folder)
            .context(cannot)?
            .into_iter()
            .map(|(copy, content)| Ok((self.check(&copy)?, content)))
            .collect();
        Output::write_together(out, &copies?)?;
        session.say(NTEST_ADVICE);
        Ok(())
    }

    fn check(&self, path: &Path) -> Result<Output, CliError> {
        Output::check(path, self.weights.path())
    }

    /// An engine's files; says what rounding changed.
    fn encode(&self, engine: Engine, file: &WeightFile, session: &Session) -> Result<Vec<(String, Vec<u8>)>, CliError> {
        let encoded = encode(engine, &file.model, self.merge_stages);
        let encoded = encoded.context(|| format!("cannot export `{}` to {engine}", self.weights))?;
        session.say(account(&encoded.quantisation));
        Ok(encoded.files)
    }
}

const NTEST_ADVICE: &str = "To use them in NTest: put these files into its folder `coefficients`, copy each mpcJA_*.txt there to \
    mpcJB_*.txt unless that was done here (without these, it searches at full width), and change JA to JB at the beginning of the line \
    in parameters.txt.";

/// Copies of the parameters of NTest's selective search for its own weights, if the folder has them, for the exported set: their paths
/// and contents. A copy that is there is left alone.
fn probcut_copies(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("mpcJA_")) else { continue };
        let copy = folder.join(format!("mpcJB_{rest}"));
        if fs::symlink_metadata(&copy).is_err() {
            let content =
                read_bounded(&folder.join(&name), "file of parameters of NTest's", LIMIT).map_err(io::Error::other)?;
            copies.push((copy, content));
        }
    }
    copies.sort();
    Ok(copies)
}

/// What the conversion changed, in a sentence.
fn account(quantisation: &Quantisation) -> String {
    if quantisation.is_exact() {
        return "exact: nothing was changed".to_owned();
    }
    let Quantisation { clipped, largest_weight, mean_weight, positions, largest, mean, .. } = quantisation;
    format!(
        "converted to the engine's stages and units: values of positions changed by up to {largest:.4} discs (mean {mean:.4}, {positions} \
         positions), weights were rounded by up to {largest_weight:.4} (mean {mean_weight:.4}); {}",
        clipping(clipped, "the engine's range")
    )
}

/// What making weights fit a range has changed, in a sentence.
pub fn clipping(clipping: &Clipping, range: &str) -> String {
    match clipping {
        Clipping { weights: 0, .. } => format!("no weight was beyond {range}"),
        Clipping { weights, largest } => {
            format!("{} beyond {range} and clipped, by up to {largest:.2} discs", counted(*weights, "weight"))
        }
    }
}
