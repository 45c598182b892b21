//! The record formats, and which of them a file looks like.

use super::lines::{data_lines, without_mark};
use super::{log, wthor};
use crate::names::names;

/// A record format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Games in the Generic Game Format.
    Ggf,
    /// Games in the WTHOR database format (only read).
    Wthor,
    /// Games as f5d6 transcripts, one a line.
    F5d6,
    /// Games as `match` and `league` keep them (only read).
    Log,
    /// Positions, with OBF data or a bare score.
    Obf,
    /// Positions as Egaroucid's training data.
    Egaroucid,
}

names! { Format, "a record format":
    Ggf = "ggf"
    Wthor = "wthor"
    F5d6 = "f5d6"
    Log = "log"
    Obf = "obf"
    Egaroucid = "egaroucid"
}

impl Format {
    /// The format that a file's content looks like; f5d6 where nothing else fits.
    pub fn detect(bytes: &[u8]) -> Self {
        // No text has zeros: this may be a WTHOR file that was cut off, and is reported as one.
        if wthor::looks_like(bytes) || bytes.iter().take(16).any(|&byte| byte == 0) {
            return Self::Wthor;
        }
        let text = without_mark(bytes);
        if log::looks_like(text) {
            return Self::Log;
        }
        let first = data_lines(text).next().map(|(_, line)| line).unwrap_or_default();
        let first = first.as_bytes();
        if first.windows(2).any(|two| two == b"(;") {
            Self::Ggf
        } else if first.len() >= 64 && first[..64].iter().all(|byte| b"XxOo*-.".contains(byte)) {
            let side_or_score = first[64..].trim_ascii_start().first();
            if side_or_score.is_some_and(|byte| b"+-0123456789".contains(byte)) { Self::Egaroucid } else { Self::Obf }
        } else {
            Self::F5d6
        }
    }

    /// Whether it has positions, not games.
    pub fn is_of_positions(self) -> bool {
        matches!(self, Self::Obf | Self::Egaroucid)
    }
}
