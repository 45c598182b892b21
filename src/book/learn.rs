//! Adding games to a book.

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::derive::{children_in, open_leaf, update};
use super::error::BookError;
use super::file::Hash;
use super::grow::{complete, has_lost_its_move};
use super::leaf::LeafSearch;
use super::rebuild::{hand_over, rebuild};
use super::record::{Key, Leaf, Record};
use super::sort::Sorter;
use super::store::Book;
use crate::board::{Diagram, Position, Square, canonical};
use crate::eval::Evaluator;

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
    book.own_lock()?;
    let line = line(steps, black_discs, searcher.exact_empties());
    let weights = book.number_of(weights);
    let mut found = Vec::new();
    let on_line = |position: Position| line.iter().any(|(other, _)| *other == position);
    for &(position, _) in line.iter().rev() {
        let record = book.find(position)?.unwrap_or_else(|| Record::new(position));
        let mut played = super::record::moves_where(position, on_line);
        let children = children_in(book, position)?;
        children.iter().for_each(|child| played |= child.to.bit());
        let counts = open_leaf(&record, &children)
            .is_some_and(|leaf| leaf.exact || leaf.to.is_some_and(|to| played & to.bit() == 0));
        if counts || record.leaf == Leaf::AllPlayed && played == position.moves() {
            continue;
        }
        let leaf = searcher.search(&position, played, stop).ok_or(BookError::Stopped)?;
        found.push(Record { leaf, weights, ..record });
    }
    if let Err(error) = enter(book, &line, &found) {
        book.revert();
        return Err(error);
    }
    book.commit()
}

/// Puts what was found and the results of a line into a book, and updates the derived values.
fn enter(book: &mut Book, line: &[(Position, i32)], found: &[Record]) -> Result<(), BookError> {
    for record in found {
        book.put(*record)?;
    }
    for &(position, result) in line {
        let mut record = book.find(position)?.unwrap_or_else(|| Record::new(position));
        record.games.add(result);
        book.put(record)?;
    }
    let positions: Vec<_> = line.iter().map(|(position, _)| *position).collect();
    update(book, &positions)
}

/// Game results by position, to be added to a book all at once. What does not fit in memory is kept in a file beside the book.
pub struct GameCounts {
    positions: Sorter,
    /// Games counted.
    pub games: u64,
}

impl fmt::Debug for GameCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GameCounts").field("games", &self.games).finish_non_exhaustive()
    }
}

impl GameCounts {
    /// No games yet, for the book in a file.
    ///
    /// # Errors
    /// I/O errors.
    pub fn new(book: &Path) -> Result<Self, BookError> {
        Ok(Self { positions: Sorter::new(book)?, games: 0 })
    }

    /// Counts a game's positions with at least `min_empties` empty squares.
    ///
    /// # Errors
    /// I/O errors.
    pub fn add(&mut self, steps: &[(Diagram, Square)], black_discs: i32, min_empties: u32) -> Result<(), BookError> {
        self.games += 1;
        for (position, result) in line(steps, black_discs, 0) {
            if position.empties() >= min_empties {
                let mut record = Record::new(position);
                record.games.add(result);
                self.positions.push(record)?;
            }
        }
        Ok(())
    }
}

/// Adds game counts to a book, at the positions through which at least `min_games` of the games went. New positions are left unsearched.
/// The file is replaced as a whole, so games are counted once or not at all.
///
/// # Errors
/// Same as [`Book::commit`].
pub fn count_games(book: &mut Book, mut counts: GameCounts, min_games: u64) -> Result<(), BookError> {
    book.commit()?;
    let (mut lock, weights) = (book.share_lock()?, book.weights().to_vec());
    rebuild(&mut lock, &weights, |discs, sink| {
        let mut new = Vec::new();
        counts.positions.ply(discs, &mut |record| {
            if record.games.count() >= min_games {
                new.push(record);
            }
            Ok(())
        })?;
        let mut new = new.into_iter().peekable();
        hand_over(book, discs, &mut |mut record| {
            let key = Key::of(record.position);
            while let Some(other) = new.next_if(|other| Key::of(other.position) < key) {
                sink(other)?;
            }
            if let Some(other) = new.next_if(|other| other.position == record.position) {
                record.games.merge(&other.games);
            }
            sink(record)
        })?;
        new.try_for_each(sink)
    })?;
    book.reopen(lock)
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
    book.own_lock()?;
    let weights = book.number_of(weights);
    complete(book, weights, searcher, has_lost_its_move, stop, progress)?;
    book.sort()
}
