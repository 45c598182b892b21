//! Games as other programs write them down.
mod game;

pub use game::MoveNote;
