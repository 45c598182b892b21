//! Books as Edax exports them to text: `board,level,move,score` on each line, with X to move.

use std::io::{BufRead, Read, Write};

use super::linked::{Linked, linked};
use super::{Entry, Exported, Source, Values, level};
use crate::board::{Diagram, ScoredDiagram, Side, Square, is_pass};
use crate::book::error::BookError;
use crate::record::lines::write_position;
use crate::storage::FileError;

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 10;

pub(super) fn read(
    source: &mut Source<'_>,
    take: &mut impl FnMut(Entry) -> Result<(), BookError>,
) -> Result<(), BookError> {
    let mut line = Vec::new();
    // Whether the next bytes belong to a comment that is longer than a line may be.
    let mut in_comment = false;
    loop {
        line.clear();
        let read = source.stream.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        let count = read.map_err(FileError::io(source.path))? as u64;
        if count == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim().trim_start_matches('\u{feff}');
        let is_comment = in_comment || text.starts_with(['#', '%']);
        if !is_comment && !text.is_empty() {
            let wrong = |reason| source.wrong(source.offset, format!("`{}`: {reason}", shown(text)));
            take(parse(text).map_err(wrong)?)?;
        }
        in_comment = is_comment && !line.ends_with(b"\n");
        source.offset += count;
    }
}

fn shown(text: &str) -> String {
    text.chars().take(90).collect()
}

fn parse(text: &str) -> Result<Entry, String> {
    const EXPECTED: &str = "expected board,level,move,score";
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let &[board, searched, to, score] = &fields[..] else { return Err(EXPECTED.to_owned()) };
    // Some files leave out the side to move, which is X.
    let board = if board.contains(' ') { board.to_owned() } else { format!("{board} X") };
    let diagram: Diagram = board.parse().map_err(|error| format!("{error}"))?;
    let searched: i32 = searched.parse().map_err(|_| format!("the level `{searched}` is not a number; {EXPECTED}"))?;
    let score: i32 = score.parse().map_err(|_| format!("the score `{score}` is not a number; {EXPECTED}"))?;
    let to: Option<Square> =
        if is_pass(to) { None } else { Some(to.parse().map_err(|error| format!("{error}; {EXPECTED}"))?) };
    // Without a move the score is that of the position, or -127.
    Ok(Entry { position: diagram.position, to, score: Some(score), level: level(searched) })
}

pub(super) fn write(book: &Values<'_>, out: &mut dyn Write) -> Result<Exported, BookError> {
    let mut positions = 0;
    linked(book, |Linked { record, leaf, .. }| {
        let level = book.level(&record).unwrap_or(0);
        let (to, score) = leaf.map_or(("--".to_owned(), -127), |(to, score)| (to.to_string(), score.rounded_discs()));
        let diagram = Diagram { position: record.position, side: Side::Black };
        positions += 1;
        Ok(writeln!(out, "{diagram},{level},{to},{score}")?)
    })?;
    Ok(Exported { positions, left_out: book.view.len()? - positions })
}

/// Positions with their values, as OBF lines.
pub(super) fn write_obf(book: &Values<'_>, mut out: &mut dyn Write) -> Result<Exported, BookError> {
    let mut done = Exported::default();
    for record in book.view.all() {
        let record = record?;
        let Some(value) = book.of(&record) else {
            done.left_out += 1;
            continue;
        };
        let diagram = Diagram { position: record.position, side: Side::Black };
        let scored = ScoredDiagram { diagram, score: Some(value.rounded_discs()), moves: Vec::new() };
        write_position(&mut out, &scored)?;
        done.positions += 1;
    }
    Ok(done)
}
