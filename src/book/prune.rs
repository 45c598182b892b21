//! Taking out of a book what it is not worth having.

use std::collections::HashSet;
use std::path::Path;

use super::derive::Child;
use super::error::BookError;
use super::lock::Lock;
use super::rebuild::{PLIES, Ply, Spool, rebuild};
use super::record::{Leaf, Record, Valued};
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
/// the number of positions that stay. The book is read ply by ply; in memory are one ply, and which positions of two stay.
///
/// # Errors
/// The file system's, damage in the book, or [`BookError::Locked`] where another process changes a book at `path`.
pub fn prune(book: &mut Book, keep: Keep, path: &Path) -> Result<u64, BookError> {
    let mut lock = Lock::of_output(path)?;
    let margin = Score((keep.within * Score::DISC as f32) as i32);
    let mut kept = HashSet::from([canonical(Position::START)]);
    let mut spool = Spool::new(path)?;
    for discs in PLIES {
        let below = Ply::read(book, discs + 1, |record| (record.derived, depth_of(record)))?;
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
                let depth = |position| below.get(position).map_or(0, |(_, depth)| depth);
                spool.push(&unplayed_again(record, &children(&record), &kept_below, depth))?;
            }
        }
        kept = kept_below;
    }
    let weights = book.weights().to_vec();
    let (count, _) = rebuild(&mut lock, &weights, |discs, sink| spool.read(discs, sink))?;
    Ok(count)
}

/// Plies that a position's best unplayed move was searched, and the one that leads to the position.
fn depth_of(record: &Record) -> u8 {
    match record.leaf {
        Leaf::Best(valued) => valued.depth.saturating_add(1).min(63),
        _ => 0,
    }
}

/// A record whose best unplayed move may be one whose position goes.
fn unplayed_again(
    record: Record,
    children: &[Child],
    kept: &HashSet<Position>,
    depth: impl Fn(Position) -> u8,
) -> Record {
    let mut best: Option<Valued> = None;
    for child in children.iter().filter(|child| !kept.contains(&child.position)) {
        let Some(score) = child.derived.value else { continue };
        if best.is_none_or(|best| score > best.score) {
            let (to, error) = (Some(child.to), child.derived.error);
            best = Some(Valued { to, score, depth: depth(child.position), exact: false, error });
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
    Record { leaf, ..record }
}
