//! Steps that shrink with a weight's visits.

use serde::{Deserialize, Serialize};
use wide::f32x8;

use super::{BadParameter, Step, check_rate};

/// `rate / (1 + visits / half)`, by the weight's own visits, but at least `floor` (Herbert Robbins and Sutton Monro, "A stochastic
/// approximation method", 1951).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decayed {
    /// Share of the error at the first visit.
    pub rate: f32,
    /// Visits after which the step is halved.
    pub half: f32,
    /// Smallest step.
    pub floor: f32,
}

impl Step<2> for Decayed {
    #[inline]
    fn apply(self, [weights, visits]: &mut [f32x8; 2], error: f32) {
        let step = f32x8::splat(self.rate * self.half) / (*visits + self.half);
        *weights += step.fast_max(self.floor.into()) * error;
        // Stops long before an f32 is too coarse to count.
        *visits = (*visits + 1.0).fast_min(1e7.into());
    }

    fn prepared(self, features: usize, scale: f32) -> Self {
        let share = scale / features as f32;
        Self { rate: self.rate * share, floor: self.floor * share, ..self }
    }

    fn learned(self) -> [f32; 2] {
        [0.0, 9.0 * self.half]
    }

    fn check(self) -> Result<(), BadParameter> {
        let Self { rate, half, floor } = self;
        if !(half.is_finite() && half > 0.0) {
            return Err(BadParameter { key: "step.half", value: half, expected: "above 0" });
        }
        if !(floor.is_finite() && floor >= 0.0) {
            return Err(BadParameter { key: "step.floor", value: floor, expected: "0 or above" });
        }
        check_rate(rate)
    }
}
