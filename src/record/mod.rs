//! Games and positions as other programs write them down.
//!
//! [`Game`] is one game with all a record may say about it. [`ggf`], [`wthor`], [`lines`] and [`log`] read and write the formats;
//! [`convert`](convert()) converts between them. Readers are iterators of [`Record`]s: a bad game is an error with its place, and reading
//! continues after it. They trust no length that a file claims.

mod convert;
mod format;
mod game;
pub mod ggf;
pub mod lines;
pub mod log;
mod read;
pub mod wthor;

use crate::board::NotationError;

pub use convert::{ConvertError, Converted, convert};
pub use format::Format;
pub use game::{Finish, Game, GameResult, MoveNote};
pub use read::{Record, Records, read};

/// Limit in bytes of a file of records.
pub const MAX_BYTES: u64 = 1 << 30;

/// How many bad records of a file are reported one by one.
pub(crate) const MAX_REPORTED: u64 = 20;

/// Something in a record that cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct RecordError {
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub fault: Fault,
}

impl RecordError {
    /// Whether it is only the cut-off end of a log, which its next match or league drops.
    pub fn is_cut_off_end(&self) -> bool {
        self.fault == Fault::CutOff
    }
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Line number, from 1.
    Line(usize),
    /// Offset in bytes, from 0.
    Byte(usize),
    /// Number of the game or position, from 1.
    Item(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Item(number) => write!(f, "number {number}"),
        }
    }
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A move, a board or a score.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// The text ends within a game.
    #[error("the game does not end: expected `;)`")]
    Unterminated,
    /// Something that is not a property.
    #[error("expected a property such as `PB[name]`")]
    Property,
    /// An invalid value of a property.
    #[error("{property}[{value}]: {expected}")]
    Value {
        /// The property's name.
        property: String,
        /// Its value.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A WTHOR file too short for its header.
    #[error("{0} bytes are too few for a WTHOR header (16 bytes)")]
    WthorHeader(usize),
    /// A WTHOR file of another kind.
    #[error("not a WTHOR file of 8x8 games: {0}")]
    WthorKind(String),
    /// A WTHOR file that holds more or less than its header says.
    #[error("the header announces {announced} games ({expected} bytes), the file has {found} bytes")]
    WthorLength {
        /// Games by the header.
        announced: u32,
        /// The length with that many games.
        expected: u64,
        /// The file's length.
        found: usize,
    },
    /// A line of a log of games.
    #[error("{0}")]
    Log(String),
    /// The unfinished last line of a log, as a kill leaves it: all games before it are there.
    #[error("this line was cut off: the file ends within it")]
    CutOff,
    /// A game that cannot be written as a transcript.
    #[error("the game does not begin at the start position, and an f5d6 line cannot say so")]
    NotFromStart,
    /// A game without moves, for a format that has only the moves or their positions.
    #[error("the game has no moves")]
    NoMoves,
    /// A game or a position that cannot be written with a score.
    #[error("its value is unknown: it has no score, or no result in discs")]
    NoScore,
    /// A record to learn from, in none of whose positions anybody can move.
    #[error("nobody can move: there is nothing to learn")]
    NobodyCanMove,
    /// A byte of a WTHOR record out of range.
    #[error("{what} {value} is out of range")]
    WthorByte {
        /// What it stands for.
        what: &'static str,
        /// Its value.
        value: u8,
    },
}
