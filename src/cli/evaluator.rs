//! Which evaluation a command works with.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;

use super::error::{CliError, Context};
use super::selectivity::SelectivityChoice;
use crate::eval::{Calibration, MobilityEvaluator, PatternEvaluator, SquareEvaluator};
use crate::search::Selectivity;
use crate::weights::WeightFile;

/// An evaluation as typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvaluatorChoice {
    /// The weights that come with the program.
    Default,
    /// The table of square values.
    Squares,
    /// The combination of mobilities.
    Mobility,
    /// A weight file.
    File(PathBuf),
}

impl FromStr for EvaluatorChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "default" => Self::Default,
            "squares" => Self::Squares,
            "mobility" => Self::Mobility,
            path => Self::File(path.into()),
        })
    }
}

/// The option `-w`.
#[derive(Args, Debug)]
pub struct WeightsArgument {
    /// What to evaluate with: a weight file, `squares` or `mobility` (without weights), or `default`, the weights that come with
    /// the program
    #[arg(
        short,
        long,
        env = "FLIPSIDE_WEIGHTS",
        hide_env_values = true,
        value_name = "FILE",
        default_value = "default"
    )]
    weights: EvaluatorChoice,
}

/// An evaluator of any kind; [`with_evaluator`] gives code the evaluator itself.
#[derive(Clone, Debug)]
pub enum AnyEvaluator {
    /// The table of square values.
    Squares(SquareEvaluator),
    /// The combination of mobilities.
    Mobility(MobilityEvaluator),
    /// Pattern tables.
    Patterns(PatternEvaluator),
}

/// Runs an expression, compiled once for each kind of evaluator, with the evaluator in an [`AnyEvaluator`].
macro_rules! with_evaluator {
    ($any:expr, $evaluator:ident => $body:expr) => {
        match $any {
            $crate::cli::evaluator::AnyEvaluator::Squares($evaluator) => $body,
            $crate::cli::evaluator::AnyEvaluator::Mobility($evaluator) => $body,
            $crate::cli::evaluator::AnyEvaluator::Patterns($evaluator) => $body,
        }
    };
}
pub(super) use with_evaluator;

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
        match self {
            Self::Squares | Self::Mobility => {
                Err(CliError::failure(format!("`{self}` is an evaluation without weights")))
            }
            Self::Default => Ok(WeightFile::embedded()),
            Self::File(path) => {
                let file = WeightFile::load(path).context(|| "cannot use the weights".to_owned());
                file.map_err(|error| error.hint("Weights are a file, or `default`, `squares` or `mobility`."))
            }
        }
    }

    /// The evaluator, ready for use.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load(&self) -> Result<AnyEvaluator, CliError> {
        self.load_selective(SelectivityChoice::Off).map(|(evaluator, _)| evaluator)
    }

    /// The evaluator, ready for use, and what a search with it cuts by.
    ///
    /// # Errors
    /// What is wrong with the weight file, or that it is not calibrated and a selective search is wanted.
    pub fn load_selective(
        &self,
        selectivity: SelectivityChoice,
    ) -> Result<(AnyEvaluator, Option<Selectivity>), CliError> {
        let (evaluator, file) = self.load_with_file()?;
        let calibration = file.as_ref().and_then(|file| file.calibration.as_ref());
        Ok((evaluator, self.selectivity(calibration, selectivity)?))
    }

    /// The evaluator, ready for use, and the weight file it was made from, if any.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load_with_file(&self) -> Result<(AnyEvaluator, Option<WeightFile>), CliError> {
        Ok(match self {
            Self::Squares => (AnyEvaluator::Squares(SquareEvaluator::default()), None),
            Self::Mobility => (AnyEvaluator::Mobility(MobilityEvaluator), None),
            Self::Default | Self::File(_) => {
                let file = self.weight_file()?;
                let evaluator = PatternEvaluator::new(&file.model);
                let evaluator = evaluator.context(|| format!("cannot use the weights `{self}`"))?;
                (AnyEvaluator::Patterns(evaluator.with_calibration(file.calibration.clone())), Some(file))
            }
        })
    }

    /// What a search with the weights cuts by.
    ///
    /// # Errors
    /// They are not calibrated and a selective search is wanted.
    pub fn selectivity(
        &self,
        calibration: Option<&Calibration>,
        selectivity: SelectivityChoice,
    ) -> Result<Option<Selectivity>, CliError> {
        let SelectivityChoice::Deviations(deviations) = selectivity else { return Ok(None) };
        let calibration = calibration.ok_or_else(|| {
            CliError::failure(format!("`{self}` is not calibrated for a selective search"))
                .hint("`flipside calibrate WEIGHTS -o FILE` measures what it takes.")
        })?;
        Ok(Some(Selectivity::new(calibration, deviations)))
    }
}

impl WeightsArgument {
    /// What was typed.
    pub fn choice(&self) -> &EvaluatorChoice {
        &self.weights
    }

    /// The evaluator, ready for use.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(&self) -> Result<AnyEvaluator, CliError> {
        self.weights.load()
    }
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
