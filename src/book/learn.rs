//! Adding games to a book.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::derive::{children_in, open_leaf, update};
use super::error::BookError;
use super::grow::{complete, has_lost_its_move};
use super::leaf::LeafSearch;
use super::record::{Hash, Key, Leaf, Record};
use super::store::Book;
use super::whole::derive_all;
use crate::board::{Diagram, Position, Square, canonical};
use crate::eval::Evaluator;
use crate::storage::{FileError, folder_of};

/// Positions of a game with the result for the side to move, in the order of the game, up to the first with at most `last_empties` empty
/// squares.
fn line(steps: &[(Diagram, Square)], black_discs: i32, last_empties: u32) -> Vec<(Position, i32)> {
    let deepest = steps.iter().position(|(diagram, _)| diagram.position.empties() <= last_empties);
    let taken = deepest.map_or(steps.len(), |deepest| deepest + 1);
    steps[..taken].iter().map(|(now, _)| (canonical(now.position), now.side.sign() * black_discs)).collect()
}

/// Learns a finished game: adds all its positions down to the first that is solved, each with the best of the moves not played, and
/// updates the derived values. A line that was lost is then no longer the best, unless every alternative is proved to be lost too.
///
/// # Errors
/// Damage, with the book unchanged; same as [`Book::commit`]; [`BookError::Stopped`] soon after `stop` is set, with the book unchanged.
pub fn learn_game<E: Evaluator>(
    book: &mut Book,
    steps: &[(Diagram, Square)],
    black_discs: i32,
    searcher: &mut LeafSearch<'_, E>,
    weights: &Hash,
    stop: &AtomicBool,
) -> Result<(), BookError> {
    book.must_be_ours()?;
    let line = line(steps, black_discs, searcher.exact_empties());
    let weights = book.number_of(weights);
    let mut found = Vec::new();
    let on_line = |position: Position| line.iter().any(|(other, _)| *other == position);
    for &(position, _) in line.iter().rev() {
        let record = book.get(position)?.unwrap_or_else(|| Record::new(position));
        let mut played = super::record::moves_where(position, on_line);
        let children = children_in(&book.view()?, position)?;
        children.iter().for_each(|child| played |= child.to.bit());
        let counts = open_leaf(&record, &children)
            .is_some_and(|leaf| leaf.exact || leaf.to.is_some_and(|to| played & to.bit() == 0));
        if counts || record.leaf == Leaf::AllPlayed && played == position.moves() {
            continue;
        }
        let leaf = searcher.search(&position, played, stop).ok_or(BookError::Stopped)?;
        found.push(Record { leaf, weights, ..record });
    }
    let entered = enter(book, &line, &found).and_then(|()| book.commit());
    if entered.is_err() {
        book.revert();
    }
    entered
}

/// Puts what was found and the results of a line into a book, and updates the derived values.
fn enter(book: &mut Book, line: &[(Position, i32)], found: &[Record]) -> Result<(), BookError> {
    for record in found {
        book.put(*record)?;
    }
    for &(position, result) in line {
        let mut record = book.get(position)?.unwrap_or_else(|| Record::new(position));
        record.games.add(result);
        book.put(record)?;
    }
    let positions: Vec<_> = line.iter().map(|(position, _)| *position).collect();
    update(book, &positions)
}

/// Game results by position, to be added to a book all at once. What does not fit in memory is kept in a file beside the book.
#[derive(Debug)]
pub struct GameCounts {
    path: PathBuf,
    collected: BTreeMap<Key, Record>,
    spilled: Option<Book>,
    /// Games counted.
    pub games: u64,
}

/// Positions that are counted in memory.
const COLLECTED: usize = 1 << 20;

impl GameCounts {
    /// No games yet, for the book in a file.
    pub fn new(book: &Path) -> Self {
        Self { path: book.to_owned(), collected: BTreeMap::new(), spilled: None, games: 0 }
    }

    /// Counts a game's positions with at least `min_empties` empty squares.
    ///
    /// # Errors
    /// I/O errors.
    pub fn add(&mut self, steps: &[(Diagram, Square)], black_discs: i32, min_empties: u32) -> Result<(), BookError> {
        self.games += 1;
        for (position, result) in line(steps, black_discs, 0) {
            if position.empties() >= min_empties {
                let counted = self.collected.entry(Key::of(position)).or_insert_with(|| Record::new(position));
                counted.games.add(result);
            }
        }
        if self.collected.len() < COLLECTED { Ok(()) } else { self.spill() }
    }

    /// Moves what was counted into the file.
    fn spill(&mut self) -> Result<(), BookError> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => {
                let file = tempfile::tempfile_in(folder_of(&self.path)).map_err(FileError::io(&self.path))?;
                none.insert(Book::on(file, &self.path)?)
            }
        };
        let counted = std::mem::take(&mut self.collected);
        spilled.rewrite(|filling| counted.values().try_for_each(|record| filling.add(record)))
    }
}

/// Adds game counts to a book, at the positions through which at least `min_games` of the games went. New positions are left unsearched.
/// Games are counted once or not at all.
///
/// # Errors
/// Same as [`Book::commit`].
pub fn count_games(book: &mut Book, mut counts: GameCounts, min_games: u64) -> Result<(), BookError> {
    if counts.spilled.is_some() {
        counts.spill()?;
    }
    let GameCounts { collected, spilled, .. } = counts;
    let is_many = |record: &Record| record.games.count() >= min_games;
    book.rewrite(|filling| {
        collected.values().filter(|record| is_many(record)).try_for_each(|record| filling.add(record))?;
        if let Some(spilled) = spilled {
            for record in spilled.view()?.all() {
                record.and_then(|record| if is_many(&record) { filling.add(&record) } else { Ok(()) })?;
            }
        }
        derive_all(filling)
    })
}

/// Searches the positions of a book that have not been searched, and those whose best unplayed move is in the book now. `progress` gets the
/// number done and the total so far.
///
/// # Errors
/// Same as [`Book::commit`]; [`BookError::Stopped`] after `stop` is set: what was found until then is in the book.
pub fn search_missing<'e, E: Evaluator + 'e>(
    book: &mut Book,
    searcher: &(impl Fn() -> LeafSearch<'e, E> + Sync),
    weights: &Hash,
    stop: &AtomicBool,
    progress: impl FnMut(u64, u64) + Send,
) -> Result<(), BookError> {
    book.must_be_ours()?;
    let weights = book.number_of(weights);
    complete(book, weights, searcher, has_lost_its_move, stop, progress)
}
