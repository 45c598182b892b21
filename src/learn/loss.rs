//! What an error costs, and so how hard it pulls.

use serde::{Deserialize, Deserializer, Serialize};

/// A loss: what a fit makes small. The names are those in configurations; all numbers are in discs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// The square of the error: values go to the mean.
    #[default]
    #[serde(deserialize_with = "no_parameters")]
    Squared,
    /// The square of the error up to `beyond`, and in proportion to the error from there on: one that is far off pulls no harder than
    /// one that is `beyond` off (Peter Huber, "Robust estimation of a location parameter", 1964). With a small `beyond` it is the
    /// absolute error, and values go to the median.
    Huber {
        /// Where the square ends, in discs.
        beyond: f32,
    },
    /// The cross entropy of two chances to win, that of the target and that of the value, where a value of v discs wins with
    /// (1 + tanh(v / scale)) / 2: an error matters where the game is close.
    CrossEntropy {
        /// Discs ahead with which 88% of games are won.
        scale: f32,
    },
}

/// What is left of a loss without parameters.
fn no_parameters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(deserializer).map(|Nothing {}| ())
}

impl Loss {
    /// How hard a target pulls at a value, both in discs: half the derivative of the loss, so scaled that a small error near 0 discs pulls
    /// by itself.
    #[inline]
    pub fn pull(self, target: f32, value: f32) -> f32 {
        match self {
            Self::Squared => target - value,
            Self::Huber { beyond } => (target - value).clamp(-beyond, beyond),
            Self::CrossEntropy { scale } => scale * (libm::tanhf(target / scale) - libm::tanhf(value / scale)),
        }
    }

    /// Whether its parameters make sense: the key that does not, its value, and what it should be.
    ///
    /// # Errors
    /// The first parameter that does not.
    pub fn check(self) -> Result<(), (&'static str, f32, &'static str)> {
        let (key, number) = match self {
            Self::Squared => return Ok(()),
            Self::Huber { beyond } => ("loss.beyond", beyond),
            Self::CrossEntropy { scale } => ("loss.scale", scale),
        };
        if number > 0.0 && number.is_finite() { Ok(()) } else { Err((key, number, "above 0")) }
    }
}
