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
}

/// A weight in learning: its value in discs and two numbers whose meaning is the rule's.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub(super) struct Cell {
    pub weight: f32,
    pub a: f32,
    pub b: f32,
}

/// A rule made ready for one stage: `share` is one over the number of features of a position.
pub(super) trait Step: Copy + Sync {
    /// Moves a weight for a sample whose value was too low by `error` discs.
    fn apply(self, cell: &mut Cell, error: f32);
}

#[derive(Clone, Copy)]
pub(super) struct Fixed {
    pub step: f32,
}

impl Step for Fixed {
    #[inline]
    fn apply(self, cell: &mut Cell, error: f32) {
        cell.weight += self.step * error;
    }
}

#[derive(Clone, Copy)]
pub(super) struct Decayed {
    pub step: f32,
    pub per_visit: f32,
    pub floor: f32,
}

impl Step for Decayed {
    #[inline]
    fn apply(self, cell: &mut Cell, error: f32) {
        let step = (self.step / (1.0 + cell.a * self.per_visit)).max(self.floor);
        cell.weight += step * error;
        // Counting stops long before an f32 stops counting.
        cell.a = (cell.a + 1.0).min(1e7);
    }
}

#[derive(Clone, Copy)]
pub(super) struct TemporalCoherence {
    pub step: f32,
}

impl Step for TemporalCoherence {
    #[inline]
    fn apply(self, cell: &mut Cell, error: f32) {
        let coherence = if cell.b > 0.0 { cell.a.abs() / cell.b } else { 1.0 };
        cell.weight += self.step * coherence * error;
        cell.a += error;
        cell.b += error.abs();
    }
}

#[derive(Clone, Copy)]
pub(super) struct AdaGrad {
    pub rate: f32,
}

impl Step for AdaGrad {
    #[inline]
    fn apply(self, cell: &mut Cell, error: f32) {
        cell.a += error * error;
        cell.weight += self.rate * error / (cell.a + 1e-6).sqrt();
    }
}
