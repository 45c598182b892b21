//! A book's positions as Edax has them: a move is a link to another position, the leaf (the best of the other moves), or one of the rest.
//!
//! Edax treats a position with neither links nor a leaf as one without a value, and must search one that has unlinked moves but no leaf.

use super::Values;
use crate::board::Square;
use crate::book::derive::Child;
use crate::book::error::BookError;
use crate::book::record::{Derived, Record};
use crate::book::whole::{Ply, walk};
use crate::eval::Score;

/// A position with a known move.
pub(super) struct Linked {
    pub record: Record,
    /// Its value.
    pub value: Option<Score>,
    /// The moves that lead to other such positions, with their values.
    pub links: Vec<(Square, Score)>,
    /// The best of the other moves with a value.
    pub leaf: Option<(Square, Score)>,
}

/// The positions a ply later: their values, and whether they have a known move.
type Below = Ply<(Option<Score>, bool)>;

impl Linked {
    /// None if no move is known: the position is then a leaf of its parents.
    fn of(book: &Values<'_>, record: Record, value: Option<Score>, below: &Below) -> Option<Self> {
        let children = below.children(record.position, |(value, _)| Derived { value, ..Derived::NOTHING });
        let valued = |child: &Child| child.derived.value.map(|value| (child.to, value));
        let is_linked = |child: &&Child| below.get(child.position).is_some_and(|(_, linked)| linked);
        let mut links: Vec<_> = children.iter().filter(is_linked).filter_map(valued).collect();
        let own = book.leaf(&record, &children).and_then(|leaf| Some((leaf.to?, leaf.score)));
        let others = children.iter().filter(|child| !is_linked(child)).filter_map(valued).chain(own);
        let others = others.filter(|(to, _)| links.iter().all(|(linked, _)| linked != to));
        let mut leaf = others.reduce(|best, other| if other.1 > best.1 { other } else { best });
        if leaf.is_none() && links.len() < record.position.moves().count_ones() as usize {
            let worst = (0..links.len()).min_by_key(|&i| links[i].1);
            leaf = worst.map(|i| links.remove(i));
        }
        (leaf.is_some() || !links.is_empty()).then_some(Self { record, value, links, leaf })
    }
}

/// Hands over the positions of a book with a known move, most discs first.
pub(super) fn linked(
    book: &Values<'_>,
    mut each: impl FnMut(Linked) -> Result<(), BookError>,
) -> Result<(), BookError> {
    let follow = |record: &Record, below: &Below| {
        let value = book.of(record);
        let linked = Linked::of(book, *record, value, below);
        ((value, linked.is_some()), linked)
    };
    walk(&mut (), |(), keys| book.view.chunk(keys), follow, |(), _, linked| linked.map_or(Ok(()), &mut each))
}
