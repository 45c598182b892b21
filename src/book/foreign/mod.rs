//! Books of other programs.

mod edax;
mod egaroucid;
mod linked;
mod text;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use super::derive::{Child, open_leaf};
use super::error::BookError;
use super::measure::Errors;
use super::pages;
use super::record::{Deviation, Leaf, Link, Record, Valued};
use super::store::{Book, View};
use super::whole::{build, derive_all, with_children};
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
    /// Its score in discs, or without a move that of the position; impossible or none if all moves lead to entries.
    score: Option<i32>,
    /// The level of the search; none if it is unknown.
    level: Option<u8>,
}

/// A level as a search depth, if it can be one: programs mark other origins of a value by other numbers.
fn level(level: i32) -> Option<u8> {
    u8::try_from(level).ok().filter(|&level| level <= 60)
}

/// The player's discs, then the opponent's, little-endian.
fn position_of(bytes: &[u8; 16]) -> Position {
    let [player, opponent] =
        [&bytes[..8], &bytes[8..]].map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")));
    Position { player, opponent }
}

/// A file that knows how far it has been read.
struct Source<'p> {
    path: &'p Path,
    stream: BufReader<File>,
    offset: u64,
}

impl Source<'_> {
    fn wrong(&self, offset: u64, reason: impl Into<String>) -> BookError {
        BookError::damage(self.path, offset, reason)
    }

    /// The next bytes; none at the end.
    fn next<const N: usize>(&mut self, what: &str) -> Result<Option<[u8; N]>, BookError> {
        let mut bytes = Vec::with_capacity(N);
        let there = self.stream.by_ref().take(N as u64).read_to_end(&mut bytes).map_err(FileError::io(self.path))?;
        if there != 0 && there < N {
            return Err(self.wrong(self.offset, format!("the file ends within {what}: it was cut off")));
        }
        self.offset += there as u64;
        Ok(bytes.try_into().ok())
    }

    fn must<const N: usize>(&mut self, what: &str) -> Result<[u8; N], BookError> {
        let at = self.offset;
        self.next(what)?.ok_or_else(|| self.wrong(at, format!("the file ends where {what} is expected")))
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
    } else if start.starts_with(&pages::MAGIC) {
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
    bytes.starts_with(&pages::MAGIC) || binary_format(bytes).is_some()
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
    let mut source = Source { path: from, stream: BufReader::with_capacity(1 << 20, file), offset: 0 };
    let mut done = Imported::default();
    done.positions = build(to, Vec::new(), |filling| {
        let mut take = |entry: Entry| {
            done.read += 1;
            match record(&entry, errors) {
                Ok(Some(record)) => filling.add(&record),
                // A pass follows from the position after it.
                Ok(None) => Ok(()),
                Err(Impossible) => {
                    done.left_out += 1;
                    Ok(())
                }
            }
        };
        match format {
            BookFormat::Edax => edax::read(&mut source, &mut take)?,
            BookFormat::Egaroucid => egaroucid::read(&mut source, &mut take)?,
            BookFormat::Text => text::read(&mut source, &mut take)?,
            BookFormat::Obf => {
                return Err(BookError::damage(from, 0, "obf is only written: it cannot be imported as a book"));
            }
        }
        if done.read == 0 {
            return Err(BookError::damage(from, 0, "there is no position in it"));
        }
        derive_all(filling)
    })?;
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
            let of_depth = |depth: u8| errors.of(position.empties(), depth.into());
            let error = level.map_or(Deviation::UNKNOWN, of_depth);
            Leaf::Best(Valued {
                to: to.map(|to| symmetry.square(to)),
                score: Score::from_discs(score),
                depth: level,
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
    /// Positions written, without those with a pass that Edax needs.
    pub positions: u64,
    /// Positions left out: those without a value or, for Edax, without a move whose value is known.
    pub left_out: u64,
}

/// Writes a book in another program's format.
///
/// # Errors
/// [`BookError::Output`], or damage in the book.
pub fn export(book: &Book, format: BookFormat, out: &mut dyn Write) -> Result<Exported, BookError> {
    let book = Values::new(book.view()?)?;
    match format {
        BookFormat::Edax => edax::write(&book, out),
        BookFormat::Egaroucid => egaroucid::write(&book, out),
        BookFormat::Text => text::write(&book, out),
        BookFormat::Obf => text::write_obf(&book, out),
    }
}

/// A book with values that do not contradict its solved positions, as other programs derive the values of positions from those after them.
struct Values<'b> {
    view: View<'b>,
    /// Positions after solved ones: the least and the greatest value that each can have, for its player.
    limits: HashMap<Position, [Score; 2]>,
    /// The highest level of its positions.
    level: u8,
}

impl<'b> Values<'b> {
    fn new(view: View<'b>) -> Result<Self, BookError> {
        let (mut limits, mut highest) = (HashMap::new(), 0);
        with_children(&view, |record, children| {
            if let Leaf::Best(Valued { depth: Some(depth), .. }) = record.leaf {
                highest = depth.max(highest);
            }
            limit(&mut limits, &record, &children);
            Ok::<_, BookError>(())
        })?;
        Ok(Self { view, limits, level: highest })
    }

    /// The value of a position of the book, for its player.
    fn of(&self, record: &Record) -> Option<Score> {
        let value = record.derived.value?;
        let limits = self.limits.get(&record.position);
        Some(limits.map_or(value, |&[least, greatest]| value.max(least).min(greatest)))
    }

    /// The leaf of a record, if it still counts, within the limits of its position: the lower one is for the best of its moves alone.
    fn leaf(&self, record: &Record, children: &[Child]) -> Option<Valued> {
        let leaf = open_leaf(record, children)?;
        let Some(&[least, greatest]) = self.limits.get(&record.position).filter(|_| !leaf.exact) else {
            return Some(leaf);
        };
        let least = if best_child(Some(leaf), children).is_none() { least } else { Score::MIN };
        Some(Valued { score: leaf.score.max(least).min(greatest), ..leaf })
    }

    /// The level of a record, if it is known.
    fn level(&self, record: &Record) -> Option<u8> {
        match record.leaf {
            Leaf::Best(valued) => valued.depth,
            Leaf::AllPlayed => Some(self.level),
            Leaf::Unsearched => None,
        }
    }
}

/// Limits what follows a position that is solved, or limited itself: no move is better than its value may be, and the best one is as good.
/// Positions come before those that follow them.
fn limit(limits: &mut HashMap<Position, [Score; 2]>, record: &Record, children: &[Child]) {
    let leaf = open_leaf(record, children);
    let solution = leaf.filter(|leaf| leaf.exact);
    let own = solution.map(|Valued { score, .. }| [score; 2]).or_else(|| limits.get(&record.position).copied());
    let Some([least, greatest]) = own else { return };
    let best = solution.map_or_else(|| best_child(leaf, children), |solution| solution.to);
    for child in children {
        let Link::To { turn, .. } = Link::after(record.position, child.to) else { continue };
        let worst = if best == Some(child.to) { least } else { Score::MIN };
        let [low, high] = if turn { [-greatest, -worst] } else { [worst, greatest] };
        let [least, greatest] = limits.entry(child.position).or_insert([Score::MIN, Score::MAX]);
        (*least, *greatest) = (low.max(*least), high.min(*greatest));
    }
}

/// The best move to a position of the book, if it is better than the leaf.
fn best_child(leaf: Option<Valued>, children: &[Child]) -> Option<Square> {
    let known = children.iter().filter_map(|child| Some((child.derived.value?, child.to)));
    let (value, to) = known.max_by_key(|&(value, _)| value)?;
    leaf.is_none_or(|leaf| leaf.score < value).then_some(to)
}

/// The position before a position of the book in which the other player has to pass, if there is one.
fn before_pass(position: Position) -> Option<Position> {
    let before = position.pass();
    (before.moves() == 0).then(|| canonical(before))
}
