//! Learning weights by temporal differences.
//!
//! [`lambda_returns`] turns a self-play game into [`Sample`]s, and a [`Labeller`] gives the positions of recorded games their
//! values. A [`Learner`] moves the weights towards these targets, stage by stage, by a [`StepRule`]. No input or output.

mod hidden;
mod labeller;
mod learner;
mod loss;
mod pass;
mod record_file;
mod returns;
mod samples;
mod step;
mod validation;

pub use hidden::{ROW_FLOATS, ROW_TABLES};
pub use labeller::Labeller;
pub use learner::{Learner, LearnerState, StartError};
pub use loss::{BadParameter, Loss};
pub use pass::Diverged;
pub use record_file::{RecordFile, RecordFileError};
pub use returns::lambda_returns;
pub use samples::{Bound, Importance, Sample, SampleSet};
pub use step::{AdaGrad, Decayed, Fixed, StepRule, TemporalCoherence};
pub use validation::{PassLoss, Validation};
