//! `flipside export`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::engine_weights::of_engine;
use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::input::STANDARD_STREAM;
use super::output::Output;
use super::session::Session;
use flipside::eval::Clipping;
use flipside::export::{Engine, Quantisation, Target, encode, ntest_names, write_open};
use flipside::storage::read_bounded;
use flipside::text::counted;
use flipside::weights::WeightFile;

/// Limit in bytes of a file of NTest's that is copied.
const LIMIT: u64 = 1 << 26;

/// Write weights as another engine's file, or in an open layout for any program
///
/// Engines: edax, egaroucid, ntest (a folder of ten files), zebra. Without WEIGHTS, each gets the weights that ship for it; weights of
/// its patterns are also made by `fit` and `train` with `--patterns ENGINE`. Open layouts take any weights: npz (NumPy), safetensors,
/// json, c (a C99 header with an evaluator), rust (a module with an evaluator). Weights with a hidden layer can only go to open layouts.
/// Prints the files written.
///
/// NTest checks its own weights when it starts, so its files are written as a second set, JBa.cof to JBj.cof. If they are written to
/// NTest's folder of coefficients, the parameters of its selective search are copied for the new set.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside export --to zebra -o coeffs2.bin\n  \
    flipside export --to edax runs/edax/best.fsw -o eval.dat\n  \
    flipside export --to npz default -o weights.npz")]
pub struct ExportArguments {
    /// Engine or open layout
    #[arg(long, value_name = "TARGET")]
    to: Target,

    /// A weight file, or `default` [default: for an engine the weights that ship for it, for an open layout `default`]
    #[arg(value_name = "WEIGHTS")]
    weights: Option<EvaluatorChoice>,

    /// The file to write (for ntest the folder); `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// For ntest: average the weights of stages that share one of its tables
    #[arg(long)]
    merge_stages: bool,
}

impl ExportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let is_ntest = self.to == Target::Engine(Engine::Ntest);
        if self.merge_stages && !is_ntest {
            let message =
                format!("--merge-stages is for ntest, which has one table for several stages; {} keeps all", self.to);
            return Err(CliError::Usage(message));
        }
        let inputs: Vec<_> = self.weights.as_ref().and_then(EvaluatorChoice::path).into_iter().collect();
        match self.to {
            Target::Open(layout) => {
                let output = Output::check(&self.output, inputs)?;
                let file = self.weights.as_ref().unwrap_or(&EvaluatorChoice::Default).weight_file()?;
                output.write_and_name(out, |writer| write_open(layout, &file, writer))
            }
            Target::Engine(engine) => {
                let output = EngineOutput::check(engine, &self.output, inputs, self.merge_stages)?;
                let (weights, shown) = match &self.weights {
                    Some(typed) => (typed.weight_file()?, typed.to_string()),
                    None => (of_engine(engine)?, format!("{engine}.fsw")),
                };
                output.write(&weights, &shown, session, out)
            }
        }
    }
}

/// Where an engine's weights go: a file, or for NTest a folder of ten. Checked before the work begins.
pub struct EngineOutput<'a> {
    engine: Engine,
    path: &'a Path,
    /// Files that must not be overwritten.
    inputs: Vec<&'a Path>,
    /// See `--merge-stages`.
    merge_stages: bool,
    outputs: Vec<Output>,
    /// Dropped after the files, so that it is removed if none of them came.
    _folder: Option<NewFolder>,
}

/// A folder that was made, and is removed if it is still empty at the end.
struct NewFolder(PathBuf);

impl NewFolder {
    /// Makes a folder, but none above it; `None` if it was there.
    fn make(path: &Path) -> Result<Option<Self>, CliError> {
        if path.is_dir() {
            return Ok(None);
        }
        fs::create_dir(path).context(|| format!("cannot write to `{}`", path.display()))?;
        Ok(Some(Self(path.to_owned())))
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // Fails if it is not empty.
        let _ = fs::remove_dir(&self.0);
    }
}

impl<'a> EngineOutput<'a> {
    /// Checks the files to be written, see [`Output::check`]. NTest's folder is made.
    pub fn check(engine: Engine, path: &'a Path, inputs: Vec<&'a Path>, merge_stages: bool) -> Result<Self, CliError> {
        let (folder, paths): (_, Vec<_>) = match engine {
            Engine::Ntest if path == Path::new(STANDARD_STREAM) => {
                return Err(CliError::Usage("ntest has ten files: name a folder for them with -o".to_owned()));
            }
            Engine::Ntest => (NewFolder::make(path)?, ntest_names().map(|name| path.join(name)).collect()),
            _ => (None, vec![path.to_owned()]),
        };
        let outputs = paths.iter().map(|path| Output::check(path, inputs.iter().copied())).collect::<Result<_, _>>()?;
        Ok(Self { engine, path, inputs, merge_stages, outputs, _folder: folder })
    }

    /// Where the state of unfinished work is kept, see [`Output::unfinished`].
    pub fn unfinished(&self) -> PathBuf {
        self.outputs[0].unfinished()
    }

    /// Writes weights, which errors call `shown`, and says what rounding changed.
    pub fn write(
        &self,
        weights: &WeightFile,
        shown: &str,
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let encoded = encode(self.engine, &weights.model, self.merge_stages);
        let encoded = encoded.context(|| format!("cannot export `{shown}` to {}", self.engine))?;
        session.say(account(&encoded.quantisation));
        if self.engine != Engine::Ntest {
            let [(_, content)] = &encoded.files[..] else { unreachable!("but for NTest, engines have one file") };
            return self.outputs[0].write_and_name(out, |writer| writer.write_all(content));
        }
        let write = |outputs: &[Output], files: &[(String, Vec<u8>)], out: &mut dyn Write| {
            Output::write_together(out, outputs, |number, writer| Ok(writer.write_all(&files[number].1)?))
        };
        write(&self.outputs, &encoded.files, out)?;
        let copies = probcut_copies(self.path).context(|| format!("cannot write to `{}`", self.path.display()))?;
        let check = |(name, _): &(String, Vec<u8>)| Output::check(&self.path.join(name), self.inputs.iter().copied());
        write(&copies.iter().map(check).collect::<Result<Vec<_>, _>>()?, &copies, out)?;
        session.say(NTEST_ADVICE);
        Ok(())
    }
}

const NTEST_ADVICE: &str = "To use them in NTest: put these files into its folder `coefficients`, copy each mpcJA_*.txt there to \
    mpcJB_*.txt unless that was done here (without these, it searches at full width), and change JA to JB at the beginning of the line \
    in parameters.txt.";

/// Copies of the parameters of NTest's selective search for its own weights, if the folder has them, for the exported set: their names
/// and contents. A copy that is there is left alone.
fn probcut_copies(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix("mpcJA_")) else { continue };
        let copy = format!("mpcJB_{rest}");
        if fs::symlink_metadata(folder.join(&copy)).is_err() {
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
