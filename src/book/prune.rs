//! Removing from a book what is not worth keeping.

use std::collections::HashSet;
use std::path::Path;

use super::derive::{Child, open_leaf};
use super::error::BookError;
use super::record::{Derived, Deviation, Leaf, Record, Valued, is_proved};
use super::store::{Book, Filling, PLIES, View};
use super::whole::{Ply, build, derive_all};
use crate::board::{Position, canonical};
use crate::eval::Score;

/// What stays in a book.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Keep {
    /// Positions that can be reached from the start by moves at most this number of discs worse than the best; below 0 counts as 0.
    pub within: f32,
    /// Positions with at least this number of empty squares.
    pub min_empties: u32,
}

/// Writes the part of a book that is to be kept as a new book. Moves to dropped positions are unplayed again, with the values that the
/// book had for them: the best of them becomes the leaf. A win that a move proves stays proved with it, but of a loss, which takes all moves
/// to prove, only the values stay. Returns the number of positions kept. The book is read ply by ply; memory holds one ply, and which
/// positions of two plies are kept.
///
/// # Errors
/// I/O errors, damage in the book, [`BookError::NoStart`], or [`BookError::Locked`] if another process is changing a book at `path`.
pub fn prune(book: &Book, keep: Keep, path: &Path) -> Result<u64, BookError> {
    let view = book.view()?;
    let start = canonical(Position::START);
    if view.find(start)?.is_none() {
        return Err(BookError::NoStart);
    }
    build(path, book.weights().to_vec(), |filling| {
        let mut kept = HashSet::from([start]);
        for discs in PLIES {
            kept = prune_ply(&view, keep, discs, &kept, filling)?;
        }
        derive_all(filling)
    })
}

/// Puts the kept positions with a number of discs into a new book. Returns those that are kept with one disc more.
fn prune_ply(
    view: &View<'_>,
    keep: Keep,
    discs: u32,
    kept: &HashSet<Position>,
    filling: &mut Filling<'_, '_>,
) -> Result<HashSet<Position>, BookError> {
    let mut kept_below = HashSet::new();
    if kept.is_empty() {
        return Ok(kept_below);
    }
    let margin = Score::margin(keep.within);
    let below = Ply::read(view, discs + 1, |record| (record.derived, searched(record)))?;
    let children = |record: &Record| below.children(record.position, |(derived, _)| derived);
    let is_kept = |record: &Result<Record, BookError>| match record {
        Ok(record) => kept.contains(&record.position),
        Err(_) => true,
    };
    if 64 - discs > keep.min_empties {
        for record in view.ply(discs).filter(is_kept) {
            let record = record?;
            let near = |child: &Child| {
                let both = child.derived.value.zip(record.derived.value);
                // A proved win is played even if an estimate is higher.
                child.derived.play == record.derived.play || both.is_none_or(|(own, best)| own + margin >= best)
            };
            kept_below.extend(children(&record).iter().filter(|child| near(child)).map(|child| child.position));
        }
    }
    for record in view.ply(discs).filter(is_kept) {
        let record = record?;
        let searched = |position| below.get(position).map_or((None, 0), |(_, searched)| searched);
        filling.put(&unplayed_again(record, &children(&record), &kept_below, searched))?;
    }
    Ok(kept_below)
}

/// The search depth of a position's leaf, plus one for the move to the position; and the number of the weights.
fn searched(record: &Record) -> (Option<u8>, u32) {
    match record.leaf {
        Leaf::Best(valued) => (valued.depth.map(|depth| (depth + 1).min(Valued::MAX_DEPTH)), record.weights),
        _ => (None, 0),
    }
}

/// A record whose best unplayed move may now be one to a dropped position.
fn unplayed_again(
    record: Record,
    children: &[Child],
    kept: &HashSet<Position>,
    searched: impl Fn(Position) -> (Option<u8>, u32),
) -> Record {
    let own = open_leaf(&record, children);
    if own.is_some_and(|own| own.exact) {
        return record;
    }
    let gone = children.iter().filter(|child| !kept.contains(&child.position));
    let leaves = gone.filter_map(|child| as_leaf(child, &searched));
    let best = leaves.reduce(|best, next| if next.0.play() > best.0.play() { next } else { best });
    match best {
        // The score that a move had before it was in the book counts less than what the book knows.
        Some((leaf, weights)) if own.is_none_or(|own| own.play() < leaf.play()) => {
            Record { leaf: Leaf::Best(leaf), weights, ..record }
        }
        _ => record,
    }
}

/// A move of the book as an unplayed one, and the number of the weights that searched it. A value that is not proved stays an estimate.
fn as_leaf(child: &Child, searched: impl Fn(Position) -> (Option<u8>, u32)) -> Option<(Valued, u32)> {
    let Derived { value, play, error, .. } = child.derived;
    let score = value?;
    let error = if is_proved(score, play, error) { error } else { error.max(Deviation::SMALLEST) };
    let (depth, weights) = searched(child.position);
    Some((Valued { to: Some(child.to), score, depth, exact: false, error }, weights))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::derive::derive;
    use crate::book::record::as_played;

    #[test]
    fn a_move_that_goes_is_worth_what_the_book_learned_of_it() {
        let position = Position::START;
        let to = crate::board::squares(position.moves()).next().unwrap();
        let derived = Derived { value: Some(Score(-100)), play: -100, ..Derived::NOTHING };
        let child = Child { to, position: position.play(to), derived };
        let refuted =
            Valued { to: Some(to), score: Score(200), depth: Some(4), exact: false, error: Deviation::UNKNOWN };
        let record = Record { leaf: Leaf::Best(refuted), weights: 1, ..Record::new(position) };
        let pruned = unplayed_again(record, &[child], &HashSet::new(), |_| (Some(7), 2));
        let Leaf::Best(leaf) = pruned.leaf else { panic!("{pruned:?}") };
        assert_eq!((leaf.to, leaf.score, leaf.depth, pruned.weights), (Some(to), Score(-100), Some(7), 2));
    }

    /// The start with its four moves, which no symmetry joins here, worth these scores; true stands for proved.
    fn pruned(own: Option<i32>, known: [(i32, bool); 4], kept: usize) -> Record {
        let position = Position::START;
        let squares: Vec<_> = crate::board::squares(position.moves()).collect();
        let child = |(&to, (score, exact)): (&crate::board::Square, (i32, bool))| {
            let play = as_played(Score(score), exact);
            let error = if exact { Deviation::EXACT } else { Deviation::UNKNOWN };
            Child {
                to,
                position: position.play(to),
                derived: Derived { value: Some(Score(score)), play, error, ..Derived::NOTHING },
            }
        };
        let children: Vec<_> = squares.iter().zip(known).map(child).take(4 - usize::from(own.is_some())).collect();
        let valued = |own| Valued {
            to: Some(squares[3]),
            score: Score(own),
            depth: Some(4),
            exact: false,
            error: Deviation::UNKNOWN,
        };
        let leaf = own.map_or(Leaf::AllPlayed, |own| Leaf::Best(valued(own)));
        let record = Record { leaf, ..Record::new(position) };
        let record = Record { derived: derive(&record, &children), ..record };
        let stay: HashSet<_> = children[..kept].iter().map(|child| child.position).collect();
        let pruned = unplayed_again(record, &children, &stay, |_| (Some(7), 2));
        let left: Vec<_> = children.into_iter().filter(|child| stay.contains(&child.position)).collect();
        Record { derived: derive(&pruned, &left), ..pruned }
    }

    #[test]
    fn a_move_proves_a_win_and_only_all_moves_a_loss() {
        let lost = [(-900, true), (-400, true), (-500, true), (-600, true)];
        for kept in 0..4 {
            let Derived { value, play, .. } = pruned(None, lost, kept).derived;
            assert_eq!((value, play), (Some(Score(-400)), as_played(Score(-400), kept == 3)));
        }
        for kept in 0..4 {
            // A win of four discs is played although an estimate is higher.
            let won = pruned(None, [(2000, false), (512, true), (-500, false), (-600, true)], kept);
            assert_eq!(won.derived.play, as_played(Score(512), true));
            assert_eq!(won.derived.value, Some(Score(if kept == 0 { 512 } else { 2000 })));
            assert!(matches!(won.leaf, Leaf::Best(leaf) if !leaf.exact), "{won:?}");
        }
    }

    #[test]
    fn a_value_that_is_not_proved_stays_an_estimate() {
        // The best move is solved, but nobody knows whether the opponent has a better one.
        let to = crate::board::squares(Position::START.moves()).next().unwrap();
        let derived = Derived { value: Some(Score(640)), play: 640, error: Deviation::EXACT, ..Derived::NOTHING };
        let child = Child { to, position: Position::START.play(to), derived };
        let (leaf, _) = as_leaf(&child, |_| (Some(7), 2)).unwrap();
        assert!(!leaf.is_proved() && leaf.error < Deviation::from_discs(0.5), "{leaf:?}");
    }

    #[test]
    fn a_move_that_is_proved_to_lose_does_not_replace_one_that_may_not() {
        let lost = [(-100, true), (-200, true), (-300, true), (0, false)];
        let own = pruned(Some(-800), lost, 0);
        assert!(matches!(own.leaf, Leaf::Best(leaf) if leaf.score == Score(-800) && !leaf.exact), "{own:?}");
        let open = pruned(None, [(-100, true), (-900, false), (-300, true), (-400, true)], 0);
        assert_eq!((open.derived.value, open.derived.play), (Some(Score(-900)), -900));
    }
}
