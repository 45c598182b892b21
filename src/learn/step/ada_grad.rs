//! Steps that shrink with the errors so far.

use serde::{Deserialize, Serialize};
use wide::f32x8;

use super::{BadParameter, Step, check_rate};

/// `rate` / sqrt(sum of squared errors), in discs (John Duchi, Elad Hazan and Yoram Singer, "Adaptive subgradient methods for online
/// learning and stochastic optimization", 2011).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaGrad {
    /// A weight's first step, in discs.
    pub rate: f32,
}

impl Step<2> for AdaGrad {
    #[inline]
    fn apply(self, [weights, squares]: &mut [f32x8; 2], error: f32) {
        *squares += f32x8::splat(error * error);
        *weights += f32x8::splat(self.rate * error) / (*squares + 1e-6).sqrt();
    }

    fn prepared(self, _: usize, scale: f32) -> Self {
        Self { rate: self.rate * scale }
    }

    /// As after a hundred visits with errors of 8 discs, a usual size.
    fn learned(self) -> [f32; 2] {
        [0.0, 100.0 * 64.0]
    }

    fn check(self) -> Result<(), BadParameter> {
        check_rate(self.rate)
    }
}
