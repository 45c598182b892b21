//! Text that has a game or position a line, and boards in eight lines.

use std::borrow::Cow;
use std::io::{self, Write};
use std::iter::Peekable;

use super::RecordError;
use super::game::{Game, Record};
use crate::board::{Diagram, NotationError, ScoredDiagram, Side, begins_with_move, is_cell, parse_moves};

/// A text without the UTF-8 byte order mark that some editors put before it.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// A line with its number, from 1.
type NumberedLine<'t> = (usize, Cow<'t, str>);

/// The lines of a text that hold data: not empty, not starting with `#` or `%`.
pub(super) fn data_lines(text: &[u8]) -> impl Iterator<Item = NumberedLine<'_>> + Send {
    let lines = without_mark(text).split(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(i, line)| (i + 1, String::from_utf8_lossy(line.trim_ascii())));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '%']))
}

/// The games and positions of a text, with an error for each that cannot be read. A line is a game's moves (see
/// [`Transcript`](crate::board::Transcript)), or a board with a bare score or OBF data (see [`ScoredDiagram`]); a board may also stand in
/// eight lines, with or without file letters and rank digits, and the side to move behind it or on the next line.
pub fn read(text: &[u8]) -> impl Iterator<Item = Result<Record, RecordError>> + Send {
    LineReader(data_lines(text).peekable())
}

struct LineReader<'t, L: Iterator<Item = NumberedLine<'t>>>(Peekable<L>);

impl<'t, L: Iterator<Item = NumberedLine<'t>>> Iterator for LineReader<'t, L> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.0.next_if(|(_, text)| is_file_letters(text)).is_some() {}
        let (line, text) = self.0.next()?;
        let text = match row(&text, 1) {
            Some((first, _)) => self.board(line, first),
            None => Ok(text.into_owned()),
        };
        Some(text.and_then(|text| parse(&text).map_err(|reason| RecordError::on_line(line, reason))))
    }
}

impl<'t, L: Iterator<Item = NumberedLine<'t>>> LineReader<'t, L> {
    /// The rest of a board, as one line: its rows, and the side to move with what follows it.
    fn board(&mut self, first_line: usize, first_row: String) -> Result<String, RecordError> {
        let (mut board, mut line, mut behind) = (first_row, first_line, String::new());
        for rank in 2..=8 {
            let next = self.0.next_if(|(_, text)| row(text, rank).is_some());
            let Some((number, text)) = next else {
                let expected = format!("expected row {rank} of the board in the next line, eight squares");
                return Err(RecordError::on_line(line, expected));
            };
            let (cells, rest) = row(&text, rank).expect("just looked at");
            (line, behind) = (number, rest.to_owned());
            board += &cells;
        }
        if !begins_with_side(&behind) {
            while self.0.next_if(|(_, text)| is_file_letters(text)).is_some() {}
            let side = self.0.next_if(|(_, text)| begins_with_side(text));
            let expected = "expected the side to move behind the board, such as `X to move`";
            behind = side.ok_or_else(|| RecordError::on_line(line, expected))?.1.into_owned();
        }
        Ok(format!("{board} {}", without_label(&behind)))
    }
}

/// One game or position.
fn parse(text: &str) -> Result<Record, String> {
    let is_board = text.starts_with(is_cell) && !begins_with_move(text);
    if is_board {
        // OBF comments start anywhere on the line.
        let data = text.split(['%', '#']).next().unwrap_or_default();
        return data.parse().map(Record::Position).map_err(|error: NotationError| error.to_string());
    }
    let moves = parse_moves(text).map_err(|error| error.to_string())?;
    Game::from_moves(&moves).map(Record::Game)
}

fn is_file_letters(text: &str) -> bool {
    let letters: String = text.split_whitespace().collect();
    letters.eq_ignore_ascii_case("abcdefgh")
}

/// The eight squares of a board's row, and what stands behind them. They may have their rank's digit before them or behind; other text may
/// follow only behind that, or behind the last row.
fn row(text: &str, rank: u8) -> Option<(String, &str)> {
    let digit = char::from(b'0' + rank);
    let cells = |text: &str| {
        let mut end = 0;
        for _ in 0..8 {
            let next = text[end..].find(|c: char| c != ' ' && c != '|')?;
            end += next + text[end + next..].chars().next().filter(|&c| is_cell(c))?.len_utf8();
        }
        Some(end)
    };
    // A digit that is a square's may look like the rank's: with it, eight squares must be left.
    let numbered = text.strip_prefix(digit).and_then(|rest| Some((rest, cells(rest)?)));
    let (row, end) = numbered.or_else(|| Some((text, cells(text)?)))?;
    let (cells, rest) = row.split_at(end);
    let cells: String = cells.chars().filter(|&c| is_cell(c)).collect();
    let rest = rest.trim_start_matches([' ', '\t', '|']);
    let is_apart = |rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace);
    match rest.strip_prefix(digit).filter(|rest| is_apart(rest)) {
        Some(rest) => Some((cells, rest.trim_start())),
        None => (rest.is_empty() || rank == 8 && begins_with_side(rest)).then_some((cells, rest)),
    }
}

/// A text without `side to move:` before the side.
fn without_label(text: &str) -> &str {
    const LABEL: &str = "side to move";
    let labelled = text.get(..LABEL.len()).is_some_and(|start| start.eq_ignore_ascii_case(LABEL));
    if labelled { text[LABEL.len()..].trim_start_matches([':', ' ', '=']) } else { text }
}

fn begins_with_side(text: &str) -> bool {
    let word = without_label(text).split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or_default();
    matches!(word, "1" | "2") || word.parse::<Side>().is_ok()
}

/// All positions of a text, those at the end of its games included, or an error for the first line that cannot be read.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn parse_positions(text: &str) -> Result<Vec<ScoredDiagram>, RecordError> {
    read(text.as_bytes()).map(|record| record.map(Record::into_position)).collect()
}

/// The positions of a text of Egaroucid's training data, with an error for each that cannot be read. The side to move becomes black.
pub(super) fn read_egaroucid(text: &[u8]) -> impl Iterator<Item = Result<Record, RecordError>> + Send {
    data_lines(text).map(|(line, text)| {
        let (board, score) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        parse(&format!("{board} X {score}")).map_err(|reason| RecordError::on_line(line, reason))
    })
}

/// Whether a line begins a board, and if so, whether it is one of Egaroucid's training data: a score follows it, not a side to move.
pub(super) fn begins_board(text: &str) -> Option<bool> {
    if begins_with_move(text) {
        return None;
    }
    let board = text.get(..64).filter(|board| board.chars().all(is_cell));
    let has_score =
        text.get(64..).is_some_and(|rest| rest.trim_start().starts_with(|c: char| "+-0123456789".contains(c)));
    match board {
        Some(board) => Some(has_score && !board.contains(['1', '2'])),
        None => (row(text, 1).is_some() || is_file_letters(text)).then_some(false),
    }
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
