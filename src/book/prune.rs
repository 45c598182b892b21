//! Removing from a book what is not worth keeping.

use std::collections::HashSet;
use std::path::Path;

use super::derive::{Child, open_leaf};
use super::error::BookError;
use super::lock::Lock;
use super::rebuild::{PLIES, Ply, RecordSpool, rebuild};
use super::record::{Leaf, Record, Valued};
use super::store::Book;
use crate::board::{Position, canonical};
use crate::eval::Score;

/// What stays in a book.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Keep {
    /// Positions that can be reached from the start by moves at most this number of discs worse than the best.
    pub within: f32,
    /// Positions with at least this number of empty squares.
    pub min_empties: u32,
}

/// Writes the part of a book that is to be kept as a new book. Moves to dropped positions are unplayed again, with the values that the
/// book had for them. Returns the number of positions kept. The book is read ply by ply; memory holds one ply, and which positions of
/// two plies are kept.
///
/// # Errors
/// I/O errors, damage in the book, or [`BookError::Locked`] if another process is changing a book at `path`.
pub fn prune(book: &mut Book, keep: Keep, path: &Path) -> Result<u64, BookError> {
    let mut lock = Lock::of_output(path)?;
    let margin = Score((keep.within * Score::DISC as f32) as i32);
    let mut kept = HashSet::from([canonical(Position::START)]);
    let mut spool = RecordSpool::new(path)?;
    for discs in PLIES {
        if kept.is_empty() {
            break;
        }
        let below = Ply::read(book, discs + 1, |record| (record.derived, searched(record)))?;
        let children = |record: &Record| below.children(record.position, |(derived, _)| derived);
        let goes_on = 64 - discs > keep.min_empties;
        let mut kept_below = HashSet::new();
        for record in book.scan(discs..discs + 1) {
            let record = record?;
            if goes_on && kept.contains(&record.position) {
                let near = |child: &Child| {
                    let both = child.derived.value.zip(record.derived.value);
                    both.is_none_or(|(own, best)| own + margin >= best)
                };
                kept_below.extend(children(&record).iter().filter(|child| near(child)).map(|child| child.position));
            }
        }
        for record in book.scan(discs..discs + 1) {
            let record = record?;
            if kept.contains(&record.position) {
                let searched = |position| below.get(position).map_or((0, 0), |(_, searched)| searched);
                spool.push(&unplayed_again(record, &children(&record), &kept_below, searched))?;
            }
        }
        kept = kept_below;
    }
    let weights = book.weights().to_vec();
    let (count, _) = rebuild(&mut lock, &weights, |discs, sink| spool.read(discs, sink))?;
    Ok(count)
}

/// The search depth of a position's leaf, plus one for the move to the position; and the number of the weights.
fn searched(record: &Record) -> (u8, u8) {
    match record.leaf {
        Leaf::Best(valued) => (valued.depth.saturating_add(1).min(63), record.weights),
        _ => (0, 0),
    }
}

/// A record whose best unplayed move may now be one to a dropped position.
fn unplayed_again(
    record: Record,
    children: &[Child],
    kept: &HashSet<Position>,
    searched: impl Fn(Position) -> (u8, u8),
) -> Record {
    let goes = children.iter().filter(|child| !kept.contains(&child.position));
    let valued = goes.filter_map(|child| Some((child.derived.value?, child)));
    let Some((score, child)) = valued.reduce(|best, next| if next.0 > best.0 { next } else { best }) else {
        return record;
    };
    // The score that a move had before it was in the book counts less than what the book knows.
    let own = open_leaf(&record, children).filter(|own| own.exact || own.to.is_some() && own.score >= score);
    if own.is_some() {
        return record;
    }
    let (depth, weights) = searched(child.position);
    let leaf = Leaf::Best(Valued { to: Some(child.to), score, depth, exact: false, error: child.derived.error });
    Record { leaf, weights, ..record }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::record::{Derived, Deviation};

    #[test]
    fn a_move_that_goes_is_worth_what_the_book_learned_of_it() {
        let position = Position::START;
        let to = crate::board::squares(position.moves()).next().unwrap();
        let derived = Derived { value: Some(Score(-100)), play: -100, ..Derived::NOTHING };
        let child = Child { to, position: position.play(to), derived };
        let refuted = Valued { to: Some(to), score: Score(200), depth: 4, exact: false, error: Deviation::UNKNOWN };
        let record = Record { leaf: Leaf::Best(refuted), weights: 1, ..Record::new(position) };
        let pruned = unplayed_again(record, &[child], &HashSet::new(), |_| (7, 2));
        let Leaf::Best(leaf) = pruned.leaf else { panic!("{pruned:?}") };
        assert_eq!((leaf.to, leaf.score, leaf.depth, pruned.weights), (Some(to), Score(-100), 7, 2));
    }
}
