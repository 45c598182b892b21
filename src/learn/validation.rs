//! How well weights predict labels: errors in a pass, each before the sample was learned, and on samples that are not learned.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::samples::{Bound, Sample};

/// The errors of a pass, each taken before the sample was learned. A sample's importance makes no difference. An error within its
/// bound is 0.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PassLoss {
    /// Samples learned; one that several stages learn counts once for each.
    pub samples: u64,
    /// Sum of squared errors, in square discs.
    pub squared: f64,
}

impl PassLoss {
    /// Root mean square error in discs; 0 without samples.
    pub fn rmse(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { (self.squared / self.samples as f64).sqrt() }
    }
}

impl Add for PassLoss {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { samples: self.samples + other.samples, squared: self.squared + other.squared }
    }
}

/// Errors and slopes on samples that were not learned.
#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    /// By number of empties, 0 to 60.
    sums: Vec<Sums>,
}

impl Validation {
    pub(super) fn new(sums: Vec<Sums>) -> Self {
        Self { sums }
    }

    /// The loss on all samples.
    pub fn loss(&self) -> PassLoss {
        self.sums.iter().map(|sums| sums.loss).fold(PassLoss::default(), PassLoss::add)
    }

    /// Root mean square error in discs on all samples; `None` without samples.
    pub fn rmse(&self) -> Option<f64> {
        Some(self.loss()).filter(|loss| loss.samples > 0).map(|loss| loss.rmse())
    }

    /// Root mean square errors in discs by number of empties, 0 to 60, rounded to thousandths; `None` without samples.
    pub fn errors(&self) -> Vec<Option<f64>> {
        let error = |sums: &Sums| (sums.loss.samples > 0).then(|| thousandths(sums.loss.rmse()));
        self.sums.iter().map(error).collect()
    }

    /// By number of empties, 0 to 60, the slope of the least-squares line that predicts the labels from the values: above 1 if values
    /// are too small. Rounded to thousandths; `None` for fewer than two exact labels, or if all values are equal.
    pub fn slopes(&self) -> Vec<Option<f64>> {
        self.sums.iter().map(|sums| sums.slope().map(thousandths)).collect()
    }
}

fn thousandths(number: f64) -> f64 {
    (1000.0 * number).round() / 1000.0
}

/// Sums over the samples of a number of empties.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Sums {
    loss: PassLoss,
    /// The number of samples with exact targets, and the sums of their values, targets, squared values, and values times targets.
    exact: f64,
    values: f64,
    targets: f64,
    squares: f64,
    products: f64,
}

impl Sums {
    /// Adds a sample and its value in discs.
    pub fn add(&mut self, sample: &Sample, value: f32) {
        let target = sample.target.discs();
        let error = target - value;
        self.loss.samples += 1;
        self.loss.squared += if sample.bound.allows(error) { 0.0 } else { f64::from(error).powi(2) };
        if sample.bound == Bound::Exact {
            let (value, target) = (f64::from(value), f64::from(target));
            self.exact += 1.0;
            self.values += value;
            self.targets += target;
            self.squares += value * value;
            self.products += value * target;
        }
    }

    fn slope(&self) -> Option<f64> {
        let variance = self.squares - self.values * self.values / self.exact;
        let covariance = self.products - self.values * self.targets / self.exact;
        (self.exact >= 2.0 && variance > 1e-9 * self.squares).then(|| covariance / variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Position;
    use crate::eval::Score;

    #[test]
    fn errors_and_slopes_are_those_of_least_squares() {
        let sample = |discs| Sample::new(Position::START, Score::from_discs(discs));
        let mut sums = Sums::default();
        // Deviations of the values -6 -2 1 7, of the targets -13 -3 0 16: the slope is 196 / 90.
        for (value, target) in [(-3.0, -8), (1.0, 2), (4.0, 5), (10.0, 21)] {
            sums.add(&sample(target), value);
        }
        assert!((sums.slope().unwrap() - 196.0 / 90.0).abs() < 1e-12);
        assert_eq!(sums.loss, PassLoss { samples: 4, squared: 25.0 + 1.0 + 1.0 + 121.0 });
        // A value within the bound is no error, and says nothing about a slope.
        let slope = sums.slope();
        sums.add(&Sample { bound: Bound::Lower, ..sample(3) }, 50.0);
        assert_eq!((sums.slope(), sums.loss.samples, sums.loss.squared), (slope, 5, 148.0));
        let mut constant = Sums::default();
        (0..5).for_each(|target| constant.add(&sample(target), 0.1));
        assert_eq!((constant.slope(), Sums::default().slope()), (None, None));
        let validation = Validation::new(vec![Sums::default(), sums]);
        assert_eq!((validation.slopes(), validation.errors()), (vec![None, Some(2.178)], vec![None, Some(5.441)]));
        assert_eq!(validation.rmse(), Some((148.0f64 / 5.0).sqrt()));
    }
}
