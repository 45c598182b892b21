//! The formats that have one game or position a line: f5d6 transcripts, OBF, and Egaroucid's training lines.

use std::io::{self, Write};

use super::game::Game;
use super::{Place, RecordError};
use crate::board::{Diagram, ScoredDiagram, Side, Transcript};

/// The lines of a text that hold data, with their numbers from 1: not empty, not starting with `#` or `%`.
fn data_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '%']))
}

/// The games of a text of f5d6 transcripts, each or why it cannot be read.
pub fn read_transcripts(text: &str) -> impl Iterator<Item = Result<Game, RecordError>> {
    data_lines(text).map(|(line, text)| {
        let transcript = text.parse::<Transcript>();
        let game = transcript.map(|transcript| Game::from_transcript(&transcript));
        game.map_err(|reason| RecordError { place: Place::Line(line), fault: reason.into() })
    })
}

/// The positions of a text of diagrams, with bare scores or OBF data, each or why it cannot be read.
pub fn read_positions(text: &str) -> impl Iterator<Item = Result<ScoredDiagram, RecordError>> {
    data_lines(text).map(|(line, text)| {
        // OBF comments start anywhere on the line.
        let data = text.split('%').next().unwrap_or_default();
        data.parse().map_err(|reason: crate::board::NotationError| RecordError {
            place: Place::Line(line),
            fault: reason.into(),
        })
    })
}

/// Writes a position as an OBF line, `<board> <side>; F5:+2; D3:-4;`; without scored moves, with a bare score instead.
///
/// # Errors
/// What the writer reports.
pub fn write_position(out: &mut impl Write, scored: &ScoredDiagram) -> io::Result<()> {
    write!(out, "{}", scored.diagram)?;
    match (scored.moves.as_slice(), scored.score) {
        ([], Some(score)) => write!(out, " {score}")?,
        ([], None) => {}
        (moves, _) => {
            write!(out, ";")?;
            for (square, score) in moves {
                write!(out, " {}:{score:+};", square.to_string().to_ascii_uppercase())?;
            }
        }
    }
    writeln!(out)
}

/// Writes a position as Egaroucid's training data has it: 64 characters in which X is the side to move, a space, and the
/// score in discs for that side.
///
/// # Errors
/// What the writer reports.
pub fn write_egaroucid(out: &mut impl Write, diagram: &Diagram, score: i32) -> io::Result<()> {
    let as_black = Diagram { side: Side::Black, ..*diagram }.to_string();
    let (board, _side) = as_black.split_at(64);
    writeln!(out, "{board} {score}")
}
