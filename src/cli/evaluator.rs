//! Which evaluation a command works with.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::error::{CliError, Context};
use super::input::STANDARD_STREAM;
use flipside::board::{Bitboard, Position, Square};
use flipside::eval::{Calibration, Evaluator, MobilityEvaluator, PatternEvaluator, Score, SquareEvaluator};
use flipside::pattern::Indices;
use flipside::search::{Deviations, Engine, Strength};
use flipside::train::weights_at;
use flipside::weights::WeightFile;

/// An evaluation as typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvaluatorChoice {
    /// The weights that ship with flipside.
    Default,
    /// The table of square values.
    Squares,
    /// The combination of mobilities.
    Mobility,
    /// A weight file.
    File(PathBuf),
}

/// By this an argument is parsed: a file's name may be any bytes.
impl From<OsString> for EvaluatorChoice {
    fn from(typed: OsString) -> Self {
        Self::from(Path::new(&typed))
    }
}

impl From<&Path> for EvaluatorChoice {
    fn from(typed: &Path) -> Self {
        match typed.to_str() {
            Some("default") => Self::Default,
            Some("squares") => Self::Squares,
            Some("mobility") => Self::Mobility,
            _ => Self::File(weights_at(typed)),
        }
    }
}

/// An evaluation that several parts of a command use.
pub struct Loaded {
    /// The evaluator.
    pub evaluator: AnyEvaluator,
    /// The hash of its weights in hexadecimal, if it has weights.
    pub weights: Option<String>,
    /// What was typed for it.
    pub choice: EvaluatorChoice,
}

/// The option `-w`.
#[derive(Args, Debug)]
pub struct WeightsArgument {
    /// Evaluation: a weight file, `default` (the weights that ship with flipside), or `squares` or `mobility` (no weights)
    /// [default: default]
    #[arg(short, long, env = "FLIPSIDE_WEIGHTS", hide_env_values = true, value_name = "FILE")]
    weights: Option<EvaluatorChoice>,
}

/// Positions as an argument, and weights by `-w`.
#[derive(Args, Debug)]
pub struct Positions {
    /// File of positions or games in any format that `convert` reads, `-` for standard input, or a position or list of moves
    /// (f5d6c3) itself
    #[arg(value_name = "POSITIONS", default_value = STANDARD_STREAM)]
    pub positions: PathBuf,

    #[command(flatten)]
    pub weights: WeightsArgument,
}

/// An evaluator of any kind. All commands search with this one, so that a search is compiled once.
pub enum AnyEvaluator {
    /// Pattern tables.
    Patterns(PatternEvaluator),
    /// The table of square values, or the combination of mobilities.
    Baseline(Box<dyn Evaluator<State = ()> + Send>),
}

impl Evaluator for AnyEvaluator {
    /// Only pattern tables use it.
    type State = Indices;

    #[inline]
    fn state(&self, position: &Position) -> Indices {
        match self {
            Self::Patterns(evaluator) => evaluator.state(position),
            Self::Baseline(_) => Indices::default(),
        }
    }

    #[inline]
    fn play(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        match self {
            Self::Patterns(evaluator) => evaluator.play(before, to, flips),
            Self::Baseline(_) => Indices::default(),
        }
    }

    #[inline]
    fn pass(&self, before: &Indices) -> Indices {
        match self {
            Self::Patterns(evaluator) => evaluator.pass(before),
            Self::Baseline(_) => Indices::default(),
        }
    }

    #[inline]
    fn evaluate(&self, position: &Position, state: &Indices) -> Score {
        match self {
            Self::Patterns(evaluator) => evaluator.evaluate(position, state),
            Self::Baseline(evaluator) => evaluator.evaluate(position, &()),
        }
    }

    #[inline(always)]
    fn evaluate_move(&self, before: &Indices, to: Square, flips: Bitboard, after: &Position) -> Option<Score> {
        match self {
            Self::Patterns(evaluator) => evaluator.evaluate_move(before, to, flips, after),
            Self::Baseline(evaluator) => evaluator.evaluate_move(&(), to, flips, after),
        }
    }

    fn calibration(&self) -> Option<&Calibration> {
        match self {
            Self::Patterns(evaluator) => evaluator.calibration(),
            Self::Baseline(_) => None,
        }
    }

    fn evaluate_unlimited(&self, position: &Position) -> Score {
        match self {
            Self::Patterns(evaluator) => evaluator.evaluate_unlimited(position),
            Self::Baseline(evaluator) => evaluator.evaluate_unlimited(position),
        }
    }
}

impl EvaluatorChoice {
    /// The weight file's path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Default | Self::Squares | Self::Mobility => None,
        }
    }

    /// The weight file.
    ///
    /// # Errors
    /// What is wrong with it, or that the evaluation has no weights.
    pub fn weight_file(&self) -> Result<WeightFile, CliError> {
        let read = self.read().map_err(|error| error.or_hint("Expected a weight file or `default`."));
        read.map(|(file, _)| file)
    }

    /// The weight file and the hash of its weights.
    fn read(&self) -> Result<(WeightFile, String), CliError> {
        match self {
            Self::Squares | Self::Mobility => {
                Err(CliError::failure(format!("`{self}` is an evaluation without weights")))
            }
            Self::Default => Ok(WeightFile::embedded_with_hash()),
            Self::File(path) => WeightFile::load_with_hash(path).context(|| "cannot use the weights"),
        }
    }

    /// The evaluator, ready for use.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load(&self) -> Result<AnyEvaluator, CliError> {
        let loaded = self.load_named()?;
        Ok(Arc::into_inner(loaded).expect("nobody else has it").evaluator)
    }

    /// The evaluator, ready for searches of a selectivity.
    ///
    /// # Errors
    /// What is wrong with the weight file, or that it is not calibrated and selective searches are wanted.
    pub fn load_for(&self, selectivity: Deviations) -> Result<AnyEvaluator, CliError> {
        let evaluator = self.load()?;
        self.check_calibrated(&evaluator, selectivity)?;
        Ok(evaluator)
    }

    /// The evaluator, ready for use, and what it is.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load_named(&self) -> Result<Arc<Loaded>, CliError> {
        self.load_expecting("Expected a weight file, `default`, `squares` or `mobility`.")
    }

    /// [`Self::load_named`] with a hint at what may be typed.
    pub fn load_expecting(&self, hint: &str) -> Result<Arc<Loaded>, CliError> {
        let (evaluator, weights) = match self {
            Self::Squares => (AnyEvaluator::Baseline(Box::new(SquareEvaluator::default())), None),
            Self::Mobility => (AnyEvaluator::Baseline(Box::new(MobilityEvaluator)), None),
            Self::Default | Self::File(_) => {
                let (file, hash) = self.read().map_err(|error| error.or_hint(hint))?;
                let evaluator = file.evaluator().context(|| format!("cannot use the weights `{self}`"))?;
                (AnyEvaluator::Patterns(evaluator), Some(hash))
            }
        };
        Ok(Arc::new(Loaded { evaluator, weights, choice: self.clone() }))
    }

    /// Checks that searches with the evaluator can be as selective as wanted.
    ///
    /// # Errors
    /// It is not calibrated and selective searches are wanted.
    pub fn check_calibrated(&self, evaluator: &AnyEvaluator, selectivity: Deviations) -> Result<(), CliError> {
        if selectivity.is_none() || evaluator.calibration().is_some() {
            return Ok(());
        }
        Err(self.not_calibrated(" for a selective search"))
    }

    /// The error for an evaluation whose errors have not been measured.
    pub fn not_calibrated(&self, consequence: &str) -> CliError {
        let hint = match self {
            Self::Squares | Self::Mobility => "Only weights can be: use a calibrated file or `default`.",
            Self::Default | Self::File(_) => "`flipside calibrate WEIGHTS -o FILE` calibrates weights.",
        };
        CliError::failure(format!("`{self}` is not calibrated{consequence}")).hint(hint)
    }
}

impl WeightsArgument {
    /// What was typed.
    pub fn choice(&self) -> EvaluatorChoice {
        self.weights.clone().unwrap_or(EvaluatorChoice::Default)
    }
}

/// An engine with an evaluator that is calibrated if the strength is selective.
pub fn own_engine(evaluator: &AnyEvaluator, strength: Strength, log2_entries: u32) -> Engine<'_, AnyEvaluator> {
    Engine::new(evaluator, strength, log2_entries).expect("checked when the weights were loaded")
}

impl fmt::Display for EvaluatorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Squares => f.write_str("squares"),
            Self::Mobility => f.write_str("mobility"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}
