//! A position with the colour of the player to move.

use std::fmt;
use std::str::FromStr;

use super::position::{IllegalMove, Position};
use super::square::{Square, excerpt};

/// A colour. Black moves first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Side {
    /// `X` in diagrams.
    Black,
    /// `O` in diagrams.
    White,
}

impl Side {
    /// The other colour.
    pub const fn other(self) -> Self {
        match self {
            Self::Black => Self::White,
            Self::White => Self::Black,
        }
    }

    /// 1 for black, -1 for white: turns a result for black into one for this side, and back.
    pub const fn sign(self) -> i32 {
        match self {
            Self::Black => 1,
            Self::White => -1,
        }
    }

    /// `black` or `white`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Black => "black",
            Self::White => "white",
        }
    }
}

/// Why a text is not a position or a game: what was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotationError(pub(super) String);

/// A position and the colour of the player to move. As text it is 64 squares, a1 to h1, then the next row, a space, and the
/// side to move; `X` is black, `O` is white, `-` is empty. Parsing accepts the alphabets `X*` `O`, `B` `W` and `1` `2` (black, white)
/// with `-`, `.` or `_` for an empty square (with the digits also `0`), spaces between rows, and a game's moves, which give the position at
/// their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Diagram {
    /// The discs, as the player to move sees them.
    pub position: Position,
    /// The colour of the player to move.
    pub side: Side,
}

impl Diagram {
    /// The diagram with these discs; `None` if a square has a disc of either side.
    pub const fn from_black_and_white(black: u64, white: u64, side: Side) -> Option<Self> {
        let (player, opponent) = match side {
            Side::Black => (black, white),
            Side::White => (white, black),
        };
        match Position::new(player, opponent) {
            Some(position) => Some(Self { position, side }),
            None => None,
        }
    }

    /// [`Position::final_score`] for black, whoever is to move.
    pub fn final_score_for_black(&self) -> i32 {
        self.side.sign() * self.position.final_score()
    }

    /// The start of every game.
    pub const START: Self = Self { position: Position::START, side: Side::Black };

    /// The start that some programs use instead: its mirror image, with black on d4 and e5.
    pub const MIRRORED_START: Self = Self { position: Position::START.pass(), side: Side::Black };

    /// The diagram after a move, or why it is illegal.
    pub fn try_play(self, to: Square) -> Result<Self, IllegalMove> {
        Ok(Self { position: self.position.try_play(to)?, side: self.side.other() })
    }

    /// The same discs with the other side to move.
    #[must_use]
    pub const fn pass(self) -> Self {
        Self { position: self.position.pass(), side: self.side.other() }
    }

    /// The diagram after a pass if only the opponent can move, else the diagram itself.
    #[must_use]
    pub fn pass_if_needed(self) -> Self {
        if self.position.moves() == 0 && self.position.opponent_moves() != 0 { self.pass() } else { self }
    }

    /// The colour of the disc on a square, if there is one.
    pub const fn disc(self, square: Square) -> Option<Side> {
        let (black, white) = self.black_and_white();
        if black & square.bit() != 0 {
            Some(Side::Black)
        } else if white & square.bit() != 0 {
            Some(Side::White)
        } else {
            None
        }
    }

    /// Black's and white's discs.
    pub const fn black_and_white(self) -> (u64, u64) {
        match self.side {
            Side::Black => (self.position.player, self.position.opponent),
            Side::White => (self.position.opponent, self.position.player),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Black => "X",
            Self::White => "O",
        })
    }
}

impl FromStr for Side {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "x" | "*" | "b" | "black" => Ok(Self::Black),
            "o" | "w" | "white" => Ok(Self::White),
            _ => Err(NotationError(format!(
                "expected the side to move, X or O, after the board; found `{}`",
                excerpt(text)
            ))),
        }
    }
}

impl fmt::Display for Diagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for square in Square::all() {
            match self.disc(square) {
                Some(side) => side.fmt(f)?,
                None => f.write_str("-")?,
            }
        }
        write!(f, " {}", self.side)
    }
}
