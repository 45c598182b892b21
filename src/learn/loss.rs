//! What an error costs, and so how hard it pulls.

use serde::{Deserialize, Serialize};

/// A loss: what a fit makes small. The names are those in configurations; all numbers are in discs.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// The square of the error: values go to the mean.
    #[default]
    Squared,
    /// The square of the error up to `beyond`, and in proportion to the error from there on: one that is far off pulls no harder than
    /// one that is `beyond` off (Peter Huber, "Robust estimation of a location parameter", 1964). With a small `beyond` it is the
    /// absolute error, and values go to the median.
    Huber {
        /// Where the square ends, in discs.
        beyond: f32,
    },
}

impl Loss {
    /// The pull of an error, in discs: half the derivative of the square, where the loss is one.
    #[inline]
    pub fn pull(self, error: f32) -> f32 {
        match self {
            Self::Squared => error,
            Self::Huber { beyond } => error.clamp(-beyond, beyond),
        }
    }

    /// Whether its parameters make sense: the key that does not, its value, and what it should be.
    ///
    /// # Errors
    /// The first parameter that does not.
    pub fn check(self) -> Result<(), (&'static str, f32, &'static str)> {
        match self {
            Self::Huber { beyond } if !(beyond > 0.0 && beyond.is_finite()) => Err(("loss.beyond", beyond, "above 0")),
            Self::Squared | Self::Huber { .. } => Ok(()),
        }
    }
}
