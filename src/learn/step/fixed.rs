//! Steps of one size.

use serde::{Deserialize, Serialize};
use wide::f32x8;

use super::{BadParameter, Step, check_rate};

/// Always `rate`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Share of the error.
    pub rate: f32,
}

impl Step<1> for Fixed {
    #[inline]
    fn apply(self, [weights]: &mut [f32x8; 1], error: f32) {
        *weights += f32x8::splat(self.rate * error);
    }

    fn prepared(self, features: usize, scale: f32) -> Self {
        Self { rate: self.rate * scale / features as f32 }
    }

    fn learned(self) -> [f32; 1] {
        [0.0]
    }

    fn check(self) -> Result<(), BadParameter> {
        check_rate(self.rate)
    }
}
