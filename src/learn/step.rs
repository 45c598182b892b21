//! How far a weight moves: the step size rules.

use serde::{Deserialize, Serialize};

/// A rule for the step of each weight. `rate` is a share of the error: 1 would remove a sample's whole error at once, were all
/// its weights to move alike.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepRule {
    /// Always `rate`.
    Fixed {
        /// Share of the error.
        rate: f32,
    },
    /// `rate / (1 + visits / half)`, by the weight's own visits, but at least `floor` (Herbert Robbins and Sutton Monro, "A
    /// stochastic approximation method", 1951).
    Decayed {
        /// Share of the error at the first visit.
        rate: f32,
        /// Visits after which the step is halved.
        half: f32,
        /// Smallest step.
        floor: f32,
    },
    /// `rate` x |sum of errors| / sum of |errors|: full steps while errors agree, small ones when they only scatter (Don Beal and
    /// Martin Smith, "Temporal coherence and prediction decay in TD learning", 1999).
    TemporalCoherence {
        /// Share of the error while all errors agree.
        rate: f32,
    },
    /// `rate` / sqrt(sum of squared errors), in discs (John Duchi, Elad Hazan and Yoram Singer, "Adaptive subgradient methods",
    /// 2011).
    AdaGrad {
        /// Movement of a weight, in discs, at its first visit.
        rate: f32,
    },
}

impl StepRule {
    /// Its `rate`.
    pub const fn rate(&self) -> f32 {
        match *self {
            Self::Fixed { rate }
            | Self::Decayed { rate, .. }
            | Self::TemporalCoherence { rate }
            | Self::AdaGrad { rate } => rate,
        }
    }

    /// Floats kept for a weight: its value and what the rule remembers of its history.
    pub(super) const fn numbers(&self) -> usize {
        match self {
            Self::Fixed { .. } => 1,
            Self::Decayed { .. } | Self::AdaGrad { .. } => 2,
            Self::TemporalCoherence { .. } => 3,
        }
    }

    /// The history of a weight that comes learned from elsewhere: its steps are a tenth of a new weight's.
    pub(super) const fn seasoned(&self) -> [f32; 2] {
        match *self {
            Self::Fixed { .. } => [0.0, 0.0],
            Self::Decayed { half, .. } => [9.0 * half, 0.0],
            Self::TemporalCoherence { .. } => [1.0, 10.0],
            // A hundred visits with errors of 8 discs, which is usual.
            Self::AdaGrad { .. } => [100.0 * 64.0, 0.0],
        }
    }
}

/// A rule made ready for a pass. A weight in learning is `NUMBERS` floats: its value in discs, then what the rule keeps of its
/// history, all zeros at first.
pub(super) trait Step<const NUMBERS: usize>: Copy + Sync {
    /// Moves a weight for a sample whose value was too low by `error` discs.
    fn apply(self, weight: &mut [f32; NUMBERS], error: f32);
}

#[derive(Clone, Copy)]
pub(super) struct Fixed {
    pub step: f32,
}

impl Step<1> for Fixed {
    #[inline]
    fn apply(self, [weight]: &mut [f32; 1], error: f32) {
        *weight += self.step * error;
    }
}

#[derive(Clone, Copy)]
pub(super) struct Decayed {
    pub step: f32,
    pub per_visit: f32,
    pub floor: f32,
}

impl Step<2> for Decayed {
    #[inline]
    fn apply(self, [weight, visits]: &mut [f32; 2], error: f32) {
        let step = (self.step / (1.0 + *visits * self.per_visit)).max(self.floor);
        *weight += step * error;
        // Counting stops long before an f32 stops counting.
        *visits = (*visits + 1.0).min(1e7);
    }
}

#[derive(Clone, Copy)]
pub(super) struct TemporalCoherence {
    pub step: f32,
}

impl Step<3> for TemporalCoherence {
    #[inline]
    fn apply(self, [weight, sum, sum_of_sizes]: &mut [f32; 3], error: f32) {
        let coherence = if *sum_of_sizes > 0.0 { sum.abs() / *sum_of_sizes } else { 1.0 };
        *weight += self.step * coherence * error;
        *sum += error;
        *sum_of_sizes += error.abs();
    }
}

#[derive(Clone, Copy)]
pub(super) struct AdaGrad {
    pub rate: f32,
}

impl Step<2> for AdaGrad {
    #[inline]
    fn apply(self, [weight, squares]: &mut [f32; 2], error: f32) {
        *squares += error * error;
        *weight += self.rate * error / (*squares + 1e-6).sqrt();
    }
}
