//! Players: as typed, what they need (loaded once), and those of each thread.

mod engine;
mod maker;
mod shelf;
mod typed;

pub use engine::EngineArguments;
pub use maker::PlayerMaker;
pub use shelf::Shelf;
pub use typed::{OwnPlayer, PlayerChoice};
