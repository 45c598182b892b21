//! The formats that have one game or position a line: f5d6 transcripts, OBF, and Egaroucid's training lines.

use std::borrow::Cow;
use std::io::{self, Write};

use super::game::Game;
use super::{Place, RecordError};
use crate::board::{Diagram, NotationError, ScoredDiagram, Side, Transcript};

/// A text without the UTF-8 byte order mark that some editors put before it.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The lines of a text that hold data, with their numbers from 1: not empty, not starting with `#` or `%`.
pub(crate) fn data_lines(text: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, str>)> + Send {
    let lines = without_mark(text).split(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(i, line)| (i + 1, String::from_utf8_lossy(line.trim_ascii())));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '%']))
}

/// An error on a line.
fn error(line: usize) -> impl Fn(NotationError) -> RecordError {
    move |reason| RecordError { place: Place::Line(line), fault: reason.into() }
}

/// The games of a text of f5d6 transcripts, with an error for each that cannot be read.
pub fn read_transcripts(text: &[u8]) -> impl Iterator<Item = Result<Game, RecordError>> + Send {
    data_lines(text).map(|(line, text)| {
        let transcript = text.parse::<Transcript>();
        transcript.map(|transcript| Game::from_transcript(&transcript)).map_err(error(line))
    })
}

/// The positions of a text of diagrams with bare scores or OBF data, with an error for each that cannot be read.
pub fn read_positions(text: &[u8]) -> impl Iterator<Item = Result<ScoredDiagram, RecordError>> + Send {
    data_lines(text).map(|(line, text)| {
        // OBF comments start anywhere on the line.
        let data = text.split('%').next().unwrap_or_default();
        data.parse().map_err(error(line))
    })
}

/// All positions of a text of diagrams, or an error for the first line that cannot be read.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn parse_positions(text: &str) -> Result<Vec<ScoredDiagram>, RecordError> {
    read_positions(text.as_bytes()).collect()
}

/// The positions of a text of Egaroucid's training data, with an error for each that cannot be read. The side to move becomes black.
pub fn read_egaroucid(text: &[u8]) -> impl Iterator<Item = Result<ScoredDiagram, RecordError>> + Send {
    data_lines(text).map(|(line, text)| {
        let (board, score) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        format!("{board} X {score}").parse().map_err(error(line))
    })
}

/// Writes a position as an OBF line, `<board> <side>; F5:+2; D3:-4;`. Without scored moves, the line has a bare score instead.
///
/// # Errors
/// Errors of the writer.
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
/// Errors of the writer.
pub fn write_egaroucid(out: &mut impl Write, diagram: &Diagram, score: i32) -> io::Result<()> {
    let as_black = Diagram { side: Side::Black, ..*diagram }.to_string();
    let (board, _side) = as_black.split_at(64);
    writeln!(out, "{board} {score}")
}
