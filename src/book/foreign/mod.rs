//! Books of other programs.

mod edax;
mod egaroucid;
mod linked;
mod text;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::error::{BookError, ExportError};
use super::file::{self, ReadError};
use super::lock::Lock;
use super::measure::Errors;
use super::record::{Deviation, Leaf, Record, Valued};
use super::sort::Sorter;
use super::store::Book;
use crate::board::{Position, Square, Symmetry, canonical};
use crate::eval::Score;
use crate::names::names;
use crate::storage::{FileError, read_start};

/// A format of books.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BookFormat {
    /// Edax's `book.dat`, version 4.
    Edax,
    /// Egaroucid's `.egbk3`.
    Egaroucid,
    /// Text as Edax exports it: `board,level,move,score` on each line.
    Text,
    /// Positions with their values in whole discs, one a line, from which `train --records` learns. Only written.
    Obf,
}

names! { BookFormat, "a format of books":
    Edax = "edax"
    Egaroucid = "egaroucid"
    Text = "text"
    Obf = "obf"
}

/// What an import did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Imported {
    /// Positions read.
    pub read: u64,
    /// Positions of the new book. Those with a pass are not stored.
    pub positions: u64,
    /// Positions left out because they or their moves are impossible.
    pub left_out: u64,
}

/// An entry of a foreign book: a position and the best of its moves that lead to no other entry.
struct Entry {
    position: Position,
    /// The move, if it is known.
    to: Option<Square>,
    /// Its score in discs; none if all moves lead to entries.
    score: Option<i32>,
    level: u8,
}

/// A stream that knows how far it has been read.
struct Source<R> {
    stream: R,
    offset: u64,
}

impl<R: Read> Source<R> {
    /// The next bytes; none at the end.
    fn next<const N: usize>(&mut self, what: &str) -> Result<Option<[u8; N]>, ReadError> {
        let mut bytes = [0; N];
        let mut there = 0;
        while there < N {
            match self.stream.read(&mut bytes[there..]) {
                Ok(0) => break,
                Ok(count) => there += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if there != 0 && there < N {
            return Err(ReadError::at(self.offset, format!("the file ends within {what}: it was cut off")));
        }
        self.offset += there as u64;
        Ok((there == N).then_some(bytes))
    }

    fn must<const N: usize>(&mut self, what: &str) -> Result<[u8; N], ReadError> {
        let at = self.offset;
        self.next(what)?.ok_or_else(|| ReadError::at(at, format!("the file ends where {what} is expected")))
    }
}

/// The format of another program's book, by its first bytes.
///
/// # Errors
/// I/O errors, or a file of no known format.
pub fn detect(path: &Path) -> Result<BookFormat, BookError> {
    let start = read_start(path)?;
    if let Some(format) = binary_format(&start) {
        Ok(format)
    } else if start.starts_with(&file::MAGIC) {
        Err(BookError::damage(path, 0, "this is one of flipside's own books (.fsb): use it as it is"))
    } else if start.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace()) {
        let known =
            "these are not the first bytes of a known book: expected Edax's book.dat or text, or Egaroucid's .egbk3";
        Err(BookError::damage(path, 0, known))
    } else {
        Ok(BookFormat::Text)
    }
}

/// Whether bytes begin as a book does: flipside's own, Edax's `book.dat` or Egaroucid's.
pub fn is_book(bytes: &[u8]) -> bool {
    bytes.starts_with(&file::MAGIC) || binary_format(bytes).is_some()
}

fn binary_format(start: &[u8]) -> Option<BookFormat> {
    if start.starts_with(&egaroucid::MAGIC) {
        Some(BookFormat::Egaroucid)
    } else if start.starts_with(&edax::MAGIC) || start.starts_with(&edax::FOREIGN_MAGIC) {
        Some(BookFormat::Edax)
    } else {
        None
    }
}

/// Makes a book of another program's, which is streamed. A level counts as a search depth, and `errors` gives its error.
///
/// Impossible positions are left out and counted.
///
/// # Errors
/// I/O errors, where the file is damaged and why, or [`BookError::Locked`] if another process is changing a book at `to`.
pub fn import(from: &Path, format: BookFormat, to: &Path, errors: &Errors) -> Result<Imported, BookError> {
    let file = File::open(from).map_err(FileError::io(from))?;
    let mut lock = Lock::of_output(to)?;
    let mut sorter = Sorter::new(to)?;
    let mut done = Imported::default();
    let mut take = |entry: Entry| {
        done.read += 1;
        match record(&entry, errors) {
            Ok(Some(record)) => sorter.push(record).map_err(ReadError::Book)?,
            // A pass follows from the position after it.
            Ok(None) => {}
            Err(Impossible) => done.left_out += 1,
        }
        Ok(())
    };
    let mut source = Source { stream: BufReader::with_capacity(1 << 20, file), offset: 0 };
    let read = match format {
        BookFormat::Edax => edax::read(&mut source, &mut take),
        BookFormat::Egaroucid => egaroucid::read(&mut source, &mut take),
        BookFormat::Text => text::read(&mut source.stream, &mut take),
        BookFormat::Obf => Err(ReadError::at(0, "obf is only written: it cannot be imported as a book")),
    };
    read.map_err(|error| error.in_file(from))?;
    if done.read == 0 {
        return Err(BookError::damage(from, 0, "there is no position in it"));
    }
    done.positions = sorter.finish(&mut lock, &[])?;
    Ok(done)
}

/// An entry whose position or move cannot be.
struct Impossible;

/// The record of an entry; none if the player has to pass there.
fn record(entry: &Entry, errors: &Errors) -> Result<Option<Record>, Impossible> {
    let Entry { position, to, score, level } = *entry;
    if position.player & position.opponent != 0 || position.discs() < 4 {
        return Err(Impossible);
    }
    if position.moves() == 0 {
        return Ok(None);
    }
    let is_possible = |score: i32| (-64..=64).contains(&score);
    if to.is_some_and(|to| position.moves() & to.bit() == 0 || score.is_some_and(|score| !is_possible(score))) {
        return Err(Impossible);
    }
    let book = canonical(position);
    let to_book = |symmetry: &Symmetry| symmetry.position(position) == book;
    let symmetry = Symmetry::ALL.into_iter().find(to_book).expect("the canonical form is one of the eight");
    let leaf = match score.filter(|&score| is_possible(score)) {
        // A score without a move is the value of the whole position.
        Some(score) => {
            let (empties, depth) = (position.empties(), level.min(60));
            let error = errors.of(empties, depth.into());
            Leaf::Best(Valued {
                to: to.map(|to| symmetry.square(to)),
                score: Score::from_discs(score),
                depth,
                // A level may be selective to the end, and the move only the best of those that are not entries.
                exact: false,
                error: if error == Deviation::EXACT { Deviation::from_discs(0.5) } else { error },
            })
        }
        None => Leaf::AllPlayed,
    };
    Ok(Some(Record { leaf, ..Record::new(book) }))
}

/// What an export did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exported {
    /// Positions written, including leaves that become positions for Egaroucid, but not positions with a pass that Edax needs.
    pub positions: u64,
    /// Positions left out: those without a value or, for Edax, without a move whose value is known.
    pub left_out: u64,
}

/// Writes a book in another program's format.
///
/// # Errors
/// Errors of the writer, or damage in the book.
pub fn export(book: &mut Book, format: BookFormat, out: &mut dyn Write) -> Result<Exported, ExportError> {
    match format {
        BookFormat::Edax => edax::write(book, out),
        BookFormat::Egaroucid => egaroucid::write(book, out),
        BookFormat::Text => text::write(book, out),
        BookFormat::Obf => text::write_obf(book, out),
    }
}

/// The level of a record; `all` if all its moves are in the book.
fn level_of(record: &Record, all: u8) -> u8 {
    match record.leaf {
        Leaf::Best(valued) => valued.depth,
        Leaf::AllPlayed => all,
        Leaf::Unsearched => 0,
    }
}

/// The level of a book: the highest of its positions.
fn level_of_all(book: &mut Book) -> Result<u8, BookError> {
    book.scan(0..65).try_fold(0, |level, record| Ok(level_of(&record?, 0).max(level)))
}

/// The position before a position of the book in which the other player has to pass, if there is one.
fn before_pass(position: Position) -> Option<Position> {
    let before = position.pass();
    (before.moves() == 0).then(|| canonical(before))
}
