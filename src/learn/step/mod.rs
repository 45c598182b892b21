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

#[cfg(test)]
mod tests {
    use super::*;

    /// The weight after each of some errors.
    fn weights<const NUMBERS: usize>(rule: impl Step<NUMBERS>, from: [f32; NUMBERS], errors: &[f32]) -> Vec<f32> {
        let mut numbers = from.map(f32x8::splat);
        let mut apply = |&error: &f32| {
            rule.apply(&mut numbers, error);
            numbers[0].to_array()[3]
        };
        errors.iter().map(&mut apply).collect()
    }

    #[test]
    fn steps_are_those_of_the_formulas() {
        let close = |found: &[f32], expected: &[f32]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{found:?}");
        };
        close(&weights(Fixed { rate: 0.5 }, [0.0], &[2.0, -1.0]), &[1.0, 0.5]);
        close(&weights(Decayed { rate: 1.0, half: 1.0, floor: 0.4 }, [0.0; 2], &[1.0; 3]), &[1.0, 1.5, 1.9]);
        // Steps of 1, 2/2, 1/3 and 2/4 of the errors.
        let coherence = weights(TemporalCoherence { rate: 1.0 }, [0.0; 3], &[2.0, -1.0, 1.0, 2.0]);
        close(&coherence, &[2.0, 1.0, 4.0 / 3.0, 7.0 / 3.0]);
        // Of 1/3 and 1/5.
        close(&weights(AdaGrad { rate: 0.5 }, [0.0; 2], &[3.0, -4.0]), &[0.5, 0.1]);
    }

    #[test]
    fn steps_of_weights_that_were_learned_are_a_tenth() {
        fn first<const NUMBERS: usize>(rule: impl Step<NUMBERS>, error: f32) -> f32 {
            weights(rule, rule.learned(), &[error])[0]
        }
        assert_eq!(first(TemporalCoherence { rate: 1.0 }, 1.0), 0.1);
        assert!((first(Decayed { rate: 1.0, half: 30.0, floor: 0.01 }, 1.0) - 0.1).abs() < 1e-6);
        // Of the first step with an error of 8 discs.
        assert!((first(AdaGrad { rate: 0.5 }, 8.0) - 0.05).abs() < 1e-3);
    }
}
