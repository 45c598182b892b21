//! How far a weight moves: the step rules, each in a file of its own.

mod ada_grad;
mod decayed;
mod fixed;
mod temporal_coherence;

use serde::{Deserialize, Serialize};
use wide::f32x8;

pub use ada_grad::AdaGrad;
pub use decayed::Decayed;
pub use fixed::Fixed;
pub use temporal_coherence::TemporalCoherence;

use super::loss::BadParameter;

/// A rule for the step of each weight. While it is learned, a weight is `NUMBERS` floats: its value in discs, then what the rule keeps
/// of its history. All are zero at first.
pub trait Step<const NUMBERS: usize>: Copy + Sync {
    /// Moves eight weights, a vector for each of their numbers, for a sample whose value was too low by `error` discs.
    fn apply(self, weights: &mut [f32x8; NUMBERS], error: f32);

    /// The rule for positions with `features` weights each, with steps `scale` times as large.
    #[must_use]
    fn prepared(self, features: usize, scale: f32) -> Self;

    /// The floats of a weight that was learned elsewhere. If the rule's steps depend on history, they are a tenth of a new weight's.
    fn learned(self) -> [f32; NUMBERS];

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first bad one.
    fn check(self) -> Result<(), BadParameter>;
}

/// Checks a rate.
fn check_rate(rate: f32) -> Result<(), BadParameter> {
    if rate.is_finite() && rate > 0.0 {
        Ok(())
    } else {
        Err(BadParameter { key: "step.rate", value: rate, expected: "above 0" })
    }
}

/// The list of rules: a rule is a file and a line here.
macro_rules! step_rules {
    ($($rule:ident)*) => {
        /// The step rules, named as in configurations. `rate` is a share of the error: 1 would remove a sample's whole error at once
        /// if all its weights moved alike. That of [`AdaGrad`] is in discs.
        #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(tag = "rule", rename_all = "kebab-case")]
        pub enum StepRule {
            $(#[doc = concat!("See [`", stringify!($rule), "`].")] $rule($rule),)*
        }

        /// Compiles an expression for each rule.
        macro_rules! with_step {
            ($value:expr, $name:ident => $work:expr) => {
                match $value { $($crate::learn::step::StepRule::$rule($name) => $work,)* }
            };
        }
    };
}

step_rules! { Fixed Decayed TemporalCoherence AdaGrad }

pub(super) use with_step;

impl StepRule {
    /// The rule with another rate.
    #[must_use]
    pub fn with_rate(mut self, rate: f32) -> Self {
        with_step!(&mut self, rule => rule.rate = rate);
        self
    }

    /// Floats kept for a weight: its value and its history.
    pub fn numbers(&self) -> usize {
        with_step!(*self, rule => rule.learned().len())
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first bad one.
    pub fn check(&self) -> Result<(), BadParameter> {
        with_step!(*self, rule => rule.check())
    }
}
