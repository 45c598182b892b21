//! Self-play: one game from one seed, and many games on all cores.

mod game;

pub use game::{GameRecord, Ply, PlyKind, SelfPlay, SelfPlayConfig, UpdateTarget};
