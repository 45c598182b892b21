//! Steps that are large while errors agree.

use serde::{Deserialize, Serialize};
use wide::f32x8;

use super::{BadParameter, Step, check_rate};

/// `rate` x |sum of errors| / sum of |errors|: full steps while errors agree, small ones when they only scatter (Don Beal and Martin
/// Smith, "Temporal coherence and prediction decay in TD learning", 1999).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemporalCoherence {
    /// Share of the error while all errors agree.
    pub rate: f32,
}

impl Step<3> for TemporalCoherence {
    #[inline]
    fn apply(self, [weights, sum, sum_of_sizes]: &mut [f32x8; 3], error: f32) {
        let coherence = sum_of_sizes.simd_gt(f32x8::ZERO).bitselect(sum.abs() / *sum_of_sizes, f32x8::ONE);
        *weights += self.rate * coherence * error;
        *sum += error;
        *sum_of_sizes += error.abs();
    }

    fn prepared(self, features: usize, scale: f32) -> Self {
        Self { rate: self.rate * scale / features as f32 }
    }

    fn learned(self) -> [f32; 3] {
        [0.0, 1.0, 10.0]
    }

    fn check(self) -> Result<(), BadParameter> {
        check_rate(self.rate)
    }
}
