//! The record formats, and which of them a file looks like.

use super::lines::{begins_board, data_lines, without_mark};
use super::{log, neural, wthor};
use crate::names::names;

/// A record format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Games in the Generic Game Format.
    Ggf,
    /// Games in the Smart Game Format, `GM[2]`.
    Sgf,
    /// Games in the WTHOR database format (only read).
    Wthor,
    /// Games as f5d6 transcripts, one a line.
    F5d6,
    /// Games as `match` and `league` keep them (only read).
    Log,
    /// Positions, with OBF data or a bare score. Games are read as the positions at their end.
    Obf,
    /// Positions as Egaroucid's training data.
    Egaroucid,
    /// Positions as neural-reversi's training data (only read).
    NeuralReversi,
}

names! { Format, "a record format":
    Ggf = "ggf"
    Sgf = "sgf"
    Wthor = "wthor"
    F5d6 = "f5d6"
    Log = "log"
    Obf = "obf"
    Egaroucid = "egaroucid"
    NeuralReversi = "neural-reversi"
}

impl Format {
    /// The format that a file's content looks like; f5d6 where nothing else fits.
    pub fn detect(bytes: &[u8]) -> Self {
        if neural::looks_like(bytes) {
            return Self::NeuralReversi;
        }
        // No text has zeros: this may be a WTHOR file that was cut off, and is reported as one.
        if wthor::looks_like(bytes) || bytes.iter().take(16).any(|&byte| byte == 0) {
            return Self::Wthor;
        }
        let text = without_mark(bytes);
        if log::looks_like(text) {
            return Self::Log;
        }
        let first = data_lines(text).next().map(|(_, line)| line).unwrap_or_default();
        if first.contains("(;") || text.trim_ascii_start().starts_with(b"(") {
            // Both are read by the same rules.
            let head = &text[..text.len().min(1 << 12)];
            let has = |part: &[u8]| head.windows(part.len()).any(|found| found.eq_ignore_ascii_case(part));
            return if has(b"GM[Othello]") || has(b";)") && !has(b"GM[2]") { Self::Ggf } else { Self::Sgf };
        }
        match begins_board(&first) {
            Some(true) => Self::Egaroucid,
            Some(false) => Self::Obf,
            None => Self::F5d6,
        }
    }

    /// Whether it has positions, not games.
    pub fn is_of_positions(self) -> bool {
        matches!(self, Self::Obf | Self::Egaroucid | Self::NeuralReversi)
    }
}
