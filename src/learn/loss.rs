//! What an error costs, and hence how hard it pulls.

use serde::{Deserialize, Deserializer, Serialize};

/// The loss that learning minimizes, named as in configurations. All numbers are in discs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// The square of the error: values tend to the mean.
    #[default]
    #[serde(deserialize_with = "no_parameters")]
    Squared,
    /// The square of the error up to `beyond`, and linear from there on: a larger error pulls no harder than one of `beyond` (Peter
    /// Huber, "Robust estimation of a location parameter", 1964). With a small `beyond` it is the absolute error, and values tend
    /// to the median.
    Huber {
        /// Where the square ends, in discs.
        beyond: f32,
    },
    /// The cross entropy of the winning chances of target and value, where v discs win with a chance of
    /// (1 + tanh(v / scale)) / 2: errors matter in close games.
    CrossEntropy {
        /// The lead in discs that wins 88% of games.
        scale: f32,
    },
}

/// A parameter of a loss or a step rule that makes no sense.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("`{key}` is {value}; it has to be {expected}")]
pub struct BadParameter {
    /// Its key in configurations.
    pub key: &'static str,
    /// Its value.
    pub value: f32,
    /// What it should be.
    pub expected: &'static str,
}

/// Refuses parameters where a loss takes none.
fn no_parameters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}

impl Loss {
    /// How hard a target pulls at a value, both in discs: half the derivative of the loss, scaled so that for small errors near 0 discs
    /// the pull is the error.
    #[inline]
    pub fn pull(self, target: f32, value: f32) -> f32 {
        match self {
            Self::Squared => target - value,
            Self::Huber { beyond } => (target - value).clamp(-beyond, beyond),
            Self::CrossEntropy { scale } => scale * (libm::tanhf(target / scale) - libm::tanhf(value / scale)),
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first bad one.
    pub fn check(self) -> Result<(), BadParameter> {
        let (key, value) = match self {
            Self::Squared => return Ok(()),
            Self::Huber { beyond } => ("loss.beyond", beyond),
            Self::CrossEntropy { scale } => ("loss.scale", scale),
        };
        let is_good = value > 0.0 && value.is_finite();
        if is_good { Ok(()) } else { Err(BadParameter { key, value, expected: "above 0" }) }
    }
}
