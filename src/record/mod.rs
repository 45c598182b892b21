//! Games and positions as other programs write them down.
//!
//! [`Game`] is one game with all a record may say about it. [`read()`] reads any [`Format`], and [`convert`](convert()) converts between
//! them. Reading is lazy: a bad record is an error with its place, and reading continues after it. No length that a file claims is trusted.

mod convert;
mod format;
mod game;
mod ggf;
pub mod lines;
pub mod log;
mod neural;
mod read;
mod result;
mod sgf;
pub mod tree;
mod wthor;

use std::fmt::Display;

pub use convert::{ConvertError, Converted, convert};
pub use format::Format;
pub use game::{Game, MoveNote, Record};
pub use ggf::write as write_ggf;
pub use read::{Records, read};
pub use result::{Finish, GameResult};
pub use sgf::write as write_sgf;

/// Limit in bytes of a file of records.
pub const MAX_BYTES: u64 = 1 << 30;

/// How many bad records of a file are reported one by one.
pub const MAX_REPORTED: u64 = 20;

/// Why a game or a position cannot be scored.
pub(crate) const NO_SCORE: &str = "its value is unknown: it has no score, or no result in discs that can be right";

/// A record that cannot be read or written, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct RecordError {
    /// `line 3` and the like, counted from 1; in binary files `byte 16`, from 0.
    pub place: String,
    /// What is wrong, and what was expected.
    pub reason: String,
    /// Whether it is only the unfinished last line of a log, as a kill leaves it: all games before it are there.
    pub is_cut_off_end: bool,
}

impl RecordError {
    /// An error at a place.
    pub fn new(place: impl Display, reason: impl Display) -> Self {
        Self { place: place.to_string(), reason: reason.to_string(), is_cut_off_end: false }
    }

    /// An error on a line, counted from 1.
    pub(crate) fn on_line(line: usize, reason: impl Display) -> Self {
        Self::new(format_args!("line {line}"), reason)
    }
}
