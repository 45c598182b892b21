//! How far a weight moves.

use wide::f32x8;

/// Moves weights. While it is learned, a weight is `NUMBERS` floats: its value in discs, then what the rule keeps of its history. All are
/// zero at first.
pub(super) trait Step<const NUMBERS: usize>: Copy + Sync {
    /// Moves eight weights, a vector for each of their numbers, for a sample whose value was too low by `error` discs.
    fn apply(self, weights: &mut [f32x8; NUMBERS], error: f32);

    /// The rule for positions with `features` weights each, with steps `scale` times as large.
    #[must_use]
    fn prepared(self, features: usize, scale: f32) -> Self;
}

/// `rate / (1 + visits / half)`, by the weight's own visits, but at least `floor`, as a share of the error: 1 would remove a sample's whole
/// error at once if all its weights moved alike (Herbert Robbins and Sutton Monro, "A stochastic approximation method", 1951).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepRule {
    /// Share of the error at the first visit.
    pub rate: f32,
    /// Visits after which the step is halved.
    pub half: f32,
    /// Smallest step.
    pub floor: f32,
}

impl Default for StepRule {
    fn default() -> Self {
        Self { rate: 1.0, half: 100.0, floor: 0.0003 }
    }
}

impl StepRule {
    /// Floats kept for a weight: its value and its visits.
    pub(crate) const NUMBERS: usize = 2;

    /// A rule whose steps never shrink.
    pub const fn fixed(rate: f32) -> Self {
        Self { rate, half: 1.0, floor: rate }
    }

    /// The floats of a weight that was learned elsewhere: its steps are a tenth of a new weight's.
    pub(super) fn learned(self) -> [f32; Self::NUMBERS] {
        [0.0, 9.0 * self.half]
    }
}

impl Step<{ StepRule::NUMBERS }> for StepRule {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_the_formula() {
        let weights = |rule: StepRule, visits: f32, errors: &[f32]| {
            let mut numbers = [0.0, visits].map(f32x8::splat);
            let mut apply = |&error: &f32| {
                rule.apply(&mut numbers, error);
                numbers[0].to_array()[3]
            };
            errors.iter().map(&mut apply).collect::<Vec<f32>>()
        };
        let close = |found: &[f32], expected: &[f32]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{found:?}");
        };
        close(&weights(StepRule { rate: 1.0, half: 1.0, floor: 0.4 }, 0.0, &[1.0; 3]), &[1.0, 1.5, 1.9]);
        close(&weights(StepRule::fixed(0.5), 0.0, &[2.0, -1.0]), &[1.0, 0.5]);
        // Those of weights that were learned elsewhere are a tenth.
        let rule = StepRule { rate: 1.0, half: 30.0, floor: 0.01 };
        close(&weights(rule, rule.learned()[1], &[1.0]), &[0.1]);
    }
}
