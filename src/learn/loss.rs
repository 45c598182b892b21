//! What an error costs, and hence how hard it pulls.

/// The loss that learning minimizes. All numbers are in discs.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Loss {
    /// The square of the error: values tend to the mean.
    #[default]
    Squared,
    /// The cross entropy of the winning chances of target and value, where v discs win with a chance of
    /// (1 + tanh(v / scale)) / 2: errors matter in close games.
    CrossEntropy {
        /// The lead in discs that wins 88% of games.
        scale: f32,
    },
}

impl Loss {
    /// How hard a target pulls at a value, both in discs: half the derivative of the loss, scaled so that for small errors near 0 discs
    /// the pull is the error.
    #[inline]
    pub fn pull(self, target: f32, value: f32) -> f32 {
        match self {
            Self::Squared => target - value,
            Self::CrossEntropy { scale } => scale * (libm::tanhf(target / scale) - libm::tanhf(value / scale)),
        }
    }
}
