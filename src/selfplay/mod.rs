//! Self-play: one game from one seed, many games on all cores, and the positions that selective search is measured on.

mod calibration;
mod game;

pub use calibration::varied_positions;
pub use game::{GameRecord, Ply, PlyKind, SelfPlay, SelfPlayConfig, UpdateTarget};
