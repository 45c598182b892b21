//! Self-play: one game from one seed, and many games on all cores.

mod calibration;
mod game;

pub use calibration::varied_positions;
pub use game::{GameRecord, Ply, PlyKind, SelfPlay, SelfPlayConfig, UpdateTarget};
