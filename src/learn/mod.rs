//! Learning weights by temporal differences.
//!
//! [`lambda_returns`] turns a self-play game into [`Sample`]s. A [`Learner`] moves the weights towards their targets, stage by stage, by a
//! [`StepRule`]. No input or output.

mod features;
mod hidden;
mod learner;
mod loss;
mod pass;
mod returns;
mod samples;
mod step;
mod validation;

pub(crate) use hidden::{ROW_FLOATS, ROW_TABLES};
pub use learner::{Learner, LearnerState, StartError};
pub use loss::{BadParameter, Loss};
pub use pass::Diverged;
pub use returns::{lambda_returns, returns};
pub use samples::{Bound, Importance, Sample, SampleSet};
pub use step::{AdaGrad, Decayed, Fixed, StepRule, TemporalCoherence};
pub use validation::{PassLoss, Validation};
