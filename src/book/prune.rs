//! Taking out of a book what it is not worth having.

use std::collections::HashSet;

use super::derive::children_in;
use super::error::BookError;
use super::rebuild::{hand_over, rebuild};
use super::record::{Leaf, Record, Valued, as_played};
use super::store::Book;
use crate::board::{Position, canonical};
use crate::eval::Score;

/// What stays in a book.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Keep {
    /// Positions that can be reached from the start by moves each of which is at most this number of discs worse than the best.
    pub within: f32,
    /// Positions with at least this number of empty squares.
    pub min_empties: u32,
}

/// Writes a book of what is to stay of another. Moves whose positions go are unplayed again, and keep what was known of them. Answers with
/// the number of positions that stay.
///
/// # Errors
/// The file system's, or damage in the book.
pub fn prune(book: &mut Book, keep: Keep, path: &std::path::Path) -> Result<u64, BookError> {
    let kept = reachable(book, keep)?;
    let weights = book.weights().to_vec();
    let (count, _) = rebuild(path, &weights, |discs, sink| {
        let mut kept_here = Vec::new();
        hand_over(book, discs, &mut |record| {
            if kept.contains(&record.position) {
                kept_here.push(record);
            }
            Ok(())
        })?;
        kept_here.into_iter().try_for_each(|record| sink(unplayed_again(book, record, &kept)?))
    })?;
    Ok(count)
}

/// The positions that stay.
fn reachable(book: &mut Book, keep: Keep) -> Result<HashSet<Position>, BookError> {
    let margin = Score((keep.within * Score::DISC as f32) as i32);
    let start = canonical(Position::START);
    let (mut kept, mut open) = (HashSet::from([start]), vec![start]);
    while let Some(position) = open.pop() {
        let Some(record) = book.find(position)? else { continue };
        if position.empties() <= keep.min_empties {
            continue;
        }
        for child in children_in(book, position)? {
            let near = child.derived.value.zip(record.derived.value).is_none_or(|(own, best)| own + margin >= best);
            if near && kept.insert(child.position) {
                open.push(child.position);
            }
        }
    }
    Ok(kept)
}

/// A record whose best unplayed move may be one whose position goes.
fn unplayed_again(book: &mut Book, record: Record, kept: &HashSet<Position>) -> Result<Record, BookError> {
    let children = children_in(book, record.position)?;
    let gone = children.iter().filter(|child| !kept.contains(&child.position));
    let mut best = None;
    for child in gone {
        let Some(score) = child.derived.value else { continue };
        let depth = match book.find(child.position)?.map(|there| there.leaf) {
            Some(Leaf::Best(valued)) => valued.depth.saturating_add(1).min(63),
            _ => 0,
        };
        let valued = Valued { to: Some(child.to), score, depth, exact: false, error: child.derived.error };
        if best.is_none_or(|best: Valued| as_played(score, false) > as_played(best.score, false)) {
            best = Some(valued);
        }
    }
    let taken = |to| children.iter().any(|child| Some(child.to) == to && kept.contains(&child.position));
    let leaf = match (record.leaf, best) {
        (leaf, None) => leaf,
        (Leaf::Best(own), Some(_)) if own.exact => Leaf::Best(own),
        (Leaf::Best(own), Some(best)) if !taken(own.to) && own.to.is_some() && own.score >= best.score => {
            Leaf::Best(own)
        }
        (_, Some(best)) => Leaf::Best(best),
    };
    Ok(Record { leaf, ..record })
}
