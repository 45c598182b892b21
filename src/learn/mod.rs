//! Learning weights by temporal differences.
//!
//! [`lambda_returns`] turns a game record into [`Sample`]s; [`Learner`] moves the weights towards them, stage by stage, each
//! weight by its own [`StepRule`]. No input or output, no search: samples in, weights out.

mod learner;
mod returns;
mod samples;
mod step;

pub use learner::{Diverged, Learner, LearnerState, PassLoss, StartError};
pub use returns::lambda_returns;
pub use samples::{Sample, SampleSet};
pub use step::{AdaGrad, Decayed, Fixed, StepRule, TemporalCoherence};
