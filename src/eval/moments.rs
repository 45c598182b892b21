//! Means, variances and the least-squares line of pairs of numbers.

use std::ops::Add;

/// The first and second moments of points `(x, y)`.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The mean of x.
    pub x: f64,
    /// The mean of y.
    pub y: f64,
    /// The variance of x.
    pub xx: f64,
    /// The variance of y.
    pub yy: f64,
    /// The covariance.
    pub xy: f64,
}

impl Moments {
    /// Those of some points, all 0 if there are none. What is summed is the deviations from the means, which loses no digits.
    pub fn of(points: &[(f64, f64)]) -> Self {
        let mean = |of: &dyn Fn(f64, f64) -> f64| mean(points, of);
        let (x, y) = (mean(&|x, _| x), mean(&|_, y| y));
        Self {
            x,
            y,
            xx: mean(&|one, _| (one - x) * (one - x)),
            yy: mean(&|_, one| (one - y) * (one - y)),
            xy: mean(&|one, other| (one - x) * (other - y)),
        }
    }

    /// The slope of the least-squares line that predicts y from x; `None` if all x are equal.
    pub fn slope(&self) -> Option<f64> {
        (self.xx > 0.0).then(|| self.xy / self.xx)
    }

    /// Pearson's correlation of x and y, -1 to 1; `None` if all x or all y are equal.
    pub fn correlation(&self) -> Option<f64> {
        (self.xx > 0.0 && self.yy > 0.0).then(|| self.xy / (self.xx * self.yy).sqrt())
    }
}

/// The mean of a function of points, summed in their order; 0 if there are none.
pub fn mean(points: &[(f64, f64)], of: impl Fn(f64, f64) -> f64) -> f64 {
    // The `sum` of nothing would be -0.
    points.iter().map(|&(x, y)| of(x, y)).fold(0.0, Add::add) / points.len().max(1) as f64
}
