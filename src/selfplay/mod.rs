//! Self-play: one game from one seed, many games on all cores, and the positions that selective search is calibrated on.

mod calibration;
mod game;
mod pieces;
mod record;

pub use calibration::{measured_calibration, varied_positions};
pub use game::{SelfPlay, SelfPlayConfig, Stopped, UpdateTarget};
pub use pieces::{FRAME, frames};
pub(crate) use record::leaf;
pub use record::{GameError, GameRecord, Label, Ply, PlyKind, Replay};
