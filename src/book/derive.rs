//! Derived values: negamax values, and where a book should grow.
//!
//! Values come from the leaves: each position has its best unplayed move with a score, and moves in the book are worth what their
//! positions are (Michael Buro, "Toward opening book learning", 1999). Where to grow is decided in the same way: a deviation
//! from best play costs its shortfall in measured standard deviations, each ply costs [`PLY`], and the position with the smallest sum
//! is next (after Thomas Lincke, "Strategies for the automatic construction of opening books", 2000).

use std::collections::BTreeSet;

use super::error::BookError;
use super::record::{Derived, Deviation, Key, Leaf, Link, Record, Valued, as_played, is_lost, links};
use super::store::{Book, View};
use crate::board::{Position, Square, squares};
use crate::eval::Score;

/// The cost of a ply in a priority, in 1/256 standard deviations. The higher, the broader and less deep the book.
pub(super) const PLY: u32 = 64;

/// A move that leads to a position of the book.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub to: Square,
    pub position: Position,
    /// The derived values there, seen by the player who makes the move.
    pub derived: Derived,
}

impl Child {
    fn new(to: Square, position: Position, turn: bool, mut derived: Derived) -> Self {
        if turn {
            derived.value = derived.value.map(|value| -value);
            derived.play = -derived.play;
        }
        Self { to, position, derived }
    }
}

/// The moves of a position that lead into the book.
///
/// # Errors
/// Those of `lookup`.
pub(super) fn children<E>(
    position: Position,
    mut lookup: impl FnMut(Position) -> Result<Option<Derived>, E>,
) -> Result<Vec<Child>, E> {
    let mut children = Vec::new();
    for (to, link) in links(position) {
        if let Link::To { position, turn } = link
            && let Some(derived) = lookup(position)?
        {
            children.push(Child::new(to, position, turn, derived));
        }
    }
    Ok(children)
}

/// The moves of a book's position that lead to other positions of the book.
pub(super) fn children_in(view: &View<'_>, position: Position) -> Result<Vec<Child>, BookError> {
    children(position, |position| Ok(view.find(position)?.map(|record| record.derived)))
}

/// The leaf of a record, if it still counts: not once the book has a value for its move.
pub(super) fn open_leaf(record: &Record, children: &[Child]) -> Option<Valued> {
    let Leaf::Best(valued) = record.leaf else { return None };
    let known = |child: &Child| child.derived.value.is_some();
    let taken = match valued.to {
        _ if valued.exact => false,
        Some(to) => children.iter().any(|child| child.to == to && known(child)),
        None => children.iter().any(known),
    };
    (!taken).then_some(valued)
}

/// Derives the values of a record from its leaf and the moves that lead into the book.
pub(super) fn derive(record: &Record, children: &[Child]) -> Derived {
    let leaf = open_leaf(record, children);
    if let Some(Valued { score, exact: true, .. }) = leaf {
        let play = as_played(score, true);
        return Derived { value: Some(score), play, error: Deviation::EXACT, priority: Derived::NEVER };
    }
    let mut best: Option<(Score, Deviation)> = None;
    let mut play = i16::MIN;
    let leaf_option = leaf.map(|leaf| (leaf.score, leaf.error, leaf.play()));
    let child_options =
        children.iter().filter_map(|Child { derived, .. }| Some((derived.value?, derived.error, derived.play)));
    for (value, error, as_play) in leaf_option.into_iter().chain(child_options) {
        if best.is_none_or(|(least, than)| value > least || value == least && error < than) {
            best = Some((value, error));
        }
        play = play.max(as_play);
    }
    // That all known moves lose does not prove that the others do.
    let known = children.iter().filter(|child| child.derived.value.is_some()).count() + usize::from(leaf.is_some());
    if is_lost(play) && known < record.position.moves().count_ones() as usize {
        play = best.map_or(play, |(value, _)| as_played(value, false));
    }
    let priority = derive_priority(record, children, best.map(|(value, _)| value));
    match best {
        Some((value, error)) => Derived { value: Some(value), play, error, priority },
        None => Derived { priority, ..Derived::NOTHING },
    }
}

fn derive_priority(record: &Record, children: &[Child], value: Option<Score>) -> u16 {
    let own = own_cost(record, children, value);
    let through = children
        .iter()
        .filter_map(|child| step_cost(child, value).map(|cost| cost + u32::from(child.derived.priority)));
    let least = own.into_iter().chain(through).min();
    least.map_or(Derived::NEVER, |least| (least + PLY).min(u32::from(Derived::NEVER)) as u16)
}

/// The cost of the search that a position itself needs: of its best unplayed move, or to find that move. None if it needs none.
pub(super) fn own_cost(record: &Record, children: &[Child], value: Option<Score>) -> Option<u32> {
    let short = |valued: &Valued| value.map_or(0, |value| valued.error.shortfall((value - valued.score).0));
    match &record.leaf {
        Leaf::Best(valued) if valued.exact => None,
        // There is nothing to add after the end of the game.
        Leaf::Best(Valued { to: Some(to), .. }) if matches!(Link::after(record.position, *to), Link::End(_)) => None,
        Leaf::Best(valued) if valued.to.is_some() => Some(short(valued)),
        Leaf::Best(_) | Leaf::Unsearched => Some(0),
        Leaf::AllPlayed => record.lacks_moves(children.len()).then_some(0),
    }
}

/// The cost of a move of the book. None if nothing is left to search after it.
pub(super) fn step_cost(child: &Child, value: Option<Score>) -> Option<u32> {
    let Derived { value: own, error, priority, .. } = child.derived;
    let short = own.zip(value).map_or(0, |(own, value)| error.shortfall((value - own).0));
    (priority != Derived::NEVER).then_some(short)
}

/// Updates the derived values of some canonical positions of a book, and those of the positions before them as far as they change.
///
/// # Errors
/// Same as [`Book::get`].
pub(super) fn update(book: &mut Book, targets: &[Position]) -> Result<(), BookError> {
    let targets: BTreeSet<Key> = targets.iter().map(|&position| Key::of(position)).collect();
    let mut open = targets.clone();
    // Most discs first: parents have fewer.
    while let Some(key) = open.pop_last() {
        let (view, position) = (book.view()?, key.position());
        let Some(record) = view.find(position)? else { continue };
        let derived = derive(&record, &children_in(&view, position)?);
        let is_new = derived != record.derived;
        if is_new {
            book.put(Record { derived, ..record })?;
        }
        if is_new || targets.contains(&key) {
            open.extend(parents(&book.view()?, position)?);
        }
    }
    Ok(())
}

/// The positions of a book that have a move to a position.
fn parents(view: &View<'_>, position: Position) -> Result<Vec<Key>, BookError> {
    let occupied = position.player | position.opponent;
    let before: BTreeSet<_> = squares(occupied).map(|last| Key::on(occupied & !last.bit()).into_inner()).collect();
    let mut found = Vec::new();
    for (first, last) in before {
        let leads_here = |record: &Record| {
            links(record.position).any(|(_, link)| matches!(link, Link::To { position: next, .. } if next == position))
        };
        let parents = view.between(first..=last)?.into_iter().filter(leads_here);
        found.extend(parents.map(|record| Key::of(record.position)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::record::Leaf;

    #[test]
    fn moves_that_lose_prove_nothing_of_moves_that_nobody_searched() {
        let position = Position::START;
        let lost = Derived { value: Some(Score(-640)), play: as_played(Score(-640), true), ..Derived::NOTHING };
        let child = |to: Square| Child { to, position: position.play(to), derived: lost };
        let all: Vec<_> = squares(position.moves()).map(child).collect();
        let valued =
            Valued { to: Some(all[0].to), score: Score(5), depth: Some(4), exact: false, error: Deviation::UNKNOWN };
        let record = Record { leaf: Leaf::Best(valued), ..Record::new(position) };
        assert_eq!(derive(&record, &all[..1]).play, -640);
        assert_eq!(derive(&record, &all).play, lost.play);
    }
}
