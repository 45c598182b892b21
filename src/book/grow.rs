//! Growing a book: the positions nearest to best play are added, and searched on all threads.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use super::derive::{Child, PLY, children_in, open_leaf, own_cost, step_cost, update};
use super::error::BookError;
use super::leaf::LeafSearch;
use super::record::{Derived, Hash, Key, Leaf, Link, Record, Valued};
use super::store::{Book, View};
use super::whole::with_children;
use crate::board::{Bitboard, Position, canonical};
use crate::eval::Evaluator;
use crate::threads::in_order;

/// Positions searched between two updates of the book. Fixed, so that the book does not depend on the number of threads.
const BATCH: usize = 128;

/// A canonical position to search, and its moves that are in the book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Job {
    position: Position,
    played: Bitboard,
}

/// What a search found.
pub(super) struct Found {
    position: Position,
    leaf: Leaf,
}

/// The state of a growing book.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Growth {
    /// Positions in the book.
    pub positions: u64,
    /// Positions searched so far.
    pub searched: u64,
    /// The derived values of the start position.
    pub start: Derived,
    /// The cost of the next search, in standard deviations, a ply counting as a quarter; none if nothing is left to search.
    pub next: Option<f64>,
}

/// How growing ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrowthEnd {
    /// What was asked for is done.
    Done,
    /// Nothing is left to add.
    Complete,
    /// It was stopped.
    Stopped,
}

/// How a book is to grow.
#[derive(Debug)]
pub struct Grow<'a> {
    /// The hash of the weights that search.
    pub weights: Hash,
    /// The number of positions to grow to.
    pub positions: Option<u64>,
    /// Growing ends soon after this is set; the current batch is dropped, and repeated next time.
    pub stop: &'a AtomicBool,
    /// Growing ends soon after this; what was found is kept.
    pub until: Option<Instant>,
}

impl Grow<'_> {
    /// Grows a book on the threads of the current rayon pool, each with a searcher that `searcher` makes. `progress` is called after each
    /// search and at the end.
    ///
    /// The result depends on the book before and on how far it grew, not on threads or interruptions by [`Self::stop`].
    ///
    /// # Errors
    /// Same as [`Book::commit`].
    pub fn run<'e, E: Evaluator + 'e>(
        &self,
        book: &mut Book,
        searcher: impl Fn() -> LeafSearch<'e, E> + Sync,
        mut progress: impl FnMut(&Growth) + Send,
    ) -> Result<GrowthEnd, BookError> {
        book.must_be_ours()?;
        let start = canonical(Position::START);
        if book.get(start)?.is_none() {
            book.put(Record::new(start))?;
            update(book, &[start])?;
        }
        let weights = book.number_of(&self.weights);
        book.commit()?;
        let mut searched = 0;
        let end = loop {
            if self.stop.load(Relaxed) {
                break GrowthEnd::Stopped;
            }
            if self.time_is_up() {
                break GrowthEnd::Done;
            }
            let new = self.positions.map(|most| most.saturating_sub(book.len()));
            if new == Some(0) {
                let mut growth = growth(book, searched)?;
                let completed = complete(book, weights, &searcher, lacks_move, self.stop, |done, _| {
                    growth.searched = searched + done;
                    progress(&growth);
                });
                searched = growth.searched;
                break match completed {
                    Ok(()) => GrowthEnd::Done,
                    Err(BookError::Stopped) => GrowthEnd::Stopped,
                    Err(error) => return Err(error),
                };
            }
            let jobs = select(&book.view()?, BATCH, new)?;
            if jobs.is_empty() {
                break GrowthEnd::Complete;
            }
            let mut growth = growth(book, searched)?;
            let found = search_all(&jobs, &searcher, self.stop, || {
                growth.searched += 1;
                progress(&growth);
                if self.time_is_up() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if self.stop.load(Relaxed) {
                break GrowthEnd::Stopped;
            }
            searched += found.len() as u64;
            take(book, &found, weights)?;
            book.commit()?;
        };
        book.commit()?;
        progress(&growth(book, searched)?);
        Ok(end)
    }

    fn time_is_up(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Searches the positions of a book that are `wanted`, given their moves in the book, until there are none. A search may give a position its
/// first value, and then the move that leads to it no longer counts as unplayed. `progress` gets the number done and the total so far.
///
/// # Errors
/// Same as [`Book::commit`]; [`BookError::Stopped`] after `stop` is set: what was found until then is in the book.
pub(super) fn complete<'e, E: Evaluator + 'e>(
    book: &mut Book,
    weights: u32,
    searcher: &(impl Fn() -> LeafSearch<'e, E> + Sync),
    wanted: fn(&Record, &[Child]) -> bool,
    stop: &AtomicBool,
    mut progress: impl FnMut(u64, u64) + Send,
) -> Result<(), BookError> {
    let (mut seen, mut done) = (HashSet::new(), 0);
    loop {
        let mut open = Vec::new();
        with_children(&book.view()?, |record, children| {
            if wanted(&record, &children) && seen.insert(record.position) {
                open.push(record.position);
            }
            if stop.load(Relaxed) { Err(BookError::Stopped) } else { Ok(()) }
        })?;
        if open.is_empty() {
            return Ok(());
        }
        // Most discs first, so that a position is searched before those that lead to it.
        open.reverse();
        let all = done + open.len() as u64;
        evaluate(book, &open, weights, searcher, stop, |now| progress(done + now, all))?;
        done = all;
    }
}

/// Whether a position has not been searched, or its best unplayed move is in the book now. Positions of other programs' books that never had
/// such a move are left as they are.
pub(super) fn has_lost_its_move(record: &Record, children: &[Child]) -> bool {
    match record.leaf {
        Leaf::Unsearched => true,
        Leaf::Best(Valued { to: Some(_), .. }) => lacks_move(record, children),
        Leaf::Best(_) | Leaf::AllPlayed => false,
    }
}

/// Whether a position needs a search for another unplayed move.
fn lacks_move(record: &Record, children: &[Child]) -> bool {
    let has_own = own_cost(record, children, record.derived.value).is_some();
    has_own && open_leaf(record, children).and_then(|leaf| leaf.to).is_none()
}

fn growth(book: &Book, searched: u64) -> Result<Growth, BookError> {
    let start = book.get(Position::START)?.map_or(Derived::NOTHING, |record| record.derived);
    let next = (start.priority != Derived::NEVER).then(|| f64::from(start.priority) / 256.0);
    Ok(Growth { positions: book.len(), searched, start, next })
}

/// Searches positions on all threads. Returns the results in order, only the first ones if it is stopped, or if `progress`, which is called
/// after each, breaks off.
fn search_all<'e, E: Evaluator + 'e>(
    jobs: &[Job],
    searcher: &(impl Fn() -> LeafSearch<'e, E> + Sync),
    stop: &AtomicBool,
    mut progress: impl FnMut() -> ControlFlow<()> + Send,
) -> Vec<Found> {
    let mut all = Vec::with_capacity(jobs.len());
    let work = |own: &mut Option<LeafSearch<'e, E>>, index: usize| {
        let Job { position, played } = jobs[index];
        let leaf = own.get_or_insert_with(searcher).search(&position, played, stop);
        Ok::<_, std::convert::Infallible>(leaf.map(|leaf| Found { position, leaf }))
    };
    let Ok(()) = in_order(jobs.len(), stop, work, |_, found| {
        all.push(found);
        progress()
    });
    all
}

/// Puts what was found into the book and updates the derived values.
pub(super) fn take(book: &mut Book, found: &[Found], weights: u32) -> Result<(), BookError> {
    for Found { position, leaf } in found {
        let record = book.get(*position)?.unwrap_or_else(|| Record::new(*position));
        let (leaf, weights) = match (record.leaf, *leaf) {
            // The known value is from a deeper search; the new one only gives its move.
            (Leaf::Best(known), Leaf::Best(new))
                if lacks_only_move(&known, &new) && children_in(&book.view()?, *position)?.is_empty() =>
            {
                (Leaf::Best(Valued { to: new.to, ..known }), record.weights)
            }
            (_, leaf) => (leaf, weights),
        };
        book.put(Record { leaf, weights, ..record })?;
    }
    let positions: Vec<_> = found.iter().map(|found| found.position).collect();
    update(book, &positions)
}

/// Whether the known value lacks a move, but is from a deeper search than the new one.
fn lacks_only_move(known: &Valued, new: &Valued) -> bool {
    known.to.is_none() && !known.exact && !new.exact && known.depth > new.depth
}

/// Searches some positions of a book in batches, and commits each batch.
pub(super) fn evaluate<'e, E: Evaluator + 'e>(
    book: &mut Book,
    positions: &[Position],
    weights: u32,
    searcher: &(impl Fn() -> LeafSearch<'e, E> + Sync),
    stop: &AtomicBool,
    mut progress: impl FnMut(u64) + Send,
) -> Result<(), BookError> {
    let mut done = 0;
    for batch in positions.chunks(BATCH) {
        let view = book.view()?;
        let jobs = batch.iter().map(|&position| job(&view, position)).collect::<Result<Vec<_>, _>>()?;
        let found = search_all(&jobs, searcher, stop, || {
            done += 1;
            progress(done);
            ControlFlow::Continue(())
        });
        take(book, &found, weights)?;
        book.commit()?;
        if stop.load(Relaxed) {
            return Err(BookError::Stopped);
        }
    }
    Ok(())
}

/// The job for a position of the book.
fn job(view: &View<'_>, position: Position) -> Result<Job, BookError> {
    let played = children_in(view, position)?.iter().fold(0, |played, child| played | child.to.bit());
    Ok(Job { position, played })
}

/// A queue entry: a position of the book to expand, or one to search (`job`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    /// The cost of the cheapest search that it leads to.
    total: u32,
    key: Key,
    job: bool,
    /// The cost of the path to it.
    cost: u32,
}

/// The next positions to search, cheapest first: `most`, or fewer that end with the last of `new` ones that are not in the book yet. What
/// else the book lacks then is for [`complete`]: looking for it here would walk the whole book, with all of it in memory.
fn select(view: &View<'_>, most: usize, new: Option<u64>) -> Result<Vec<Job>, BookError> {
    let start = Key::of(canonical(Position::START));
    let mut heap = BinaryHeap::from([Reverse(Open { total: 0, key: start, job: false, cost: 0 })]);
    let mut seen = HashSet::new();
    let mut jobs = Vec::new();
    let mut room = new.unwrap_or(u64::MAX);
    while jobs.len() < most
        && room > 0
        && let Some(Reverse(Open { key, job: is_job, cost, .. })) = heap.pop()
    {
        let position = key.position();
        if !seen.insert((position, is_job)) {
            continue;
        }
        match view.find(position)? {
            record if is_job => {
                room -= u64::from(record.is_none());
                jobs.push(job(view, position)?);
            }
            Some(record) => expand(view, &record, cost + PLY, &mut heap)?,
            None => {}
        }
    }
    Ok(jobs)
}

/// Queues the search that a position itself needs, and the positions after it, each with its cost.
fn expand(view: &View<'_>, record: &Record, cost: u32, heap: &mut BinaryHeap<Reverse<Open>>) -> Result<(), BookError> {
    let children = children_in(view, record.position)?;
    let value = record.derived.value;
    if let Some(own) = own_cost(record, &children, value) {
        let mut search = |position| {
            let cost = cost + own;
            heap.push(Reverse(Open { total: cost, key: Key::of(position), job: true, cost }));
        };
        match open_leaf(record, &children).and_then(|leaf| leaf.to) {
            None => search(record.position),
            // A position that is in the book but unsearched is queued as a child.
            Some(to) if children.iter().any(|child| child.to == to) => {}
            Some(to) => match Link::after(record.position, to) {
                Link::To { position, .. } => search(position),
                Link::End(_) => {}
            },
        }
    }
    for child in &children {
        if let Some(step) = step_cost(child, value) {
            let cost = cost + step;
            let total = cost + u32::from(child.derived.priority);
            heap.push(Reverse(Open { total, key: Key::of(child.position), job: false, cost }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Square;
    use crate::book::record::{Deviation, links};
    use crate::eval::Score;

    #[test]
    fn the_last_batch_ends_with_the_last_new_position() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = Book::edit_or_create(&folder.path().join("b.fsb")).unwrap();
        let start = canonical(Position::START);
        let second = canonical(start.play(Square::lowest(start.moves())));
        let after: Vec<_> = links(second).collect();
        let [(to, Link::To { position: new, .. }), (_, Link::To { position: there, .. }), ..] = after[..] else {
            panic!("{after:?}")
        };
        let valued = Valued { to: Some(to), score: Score(5), depth: Some(4), exact: false, error: Deviation::UNKNOWN };
        let leaves = [(start, Leaf::AllPlayed), (second, Leaf::Best(valued)), (there, Leaf::Unsearched)];
        for (position, leaf) in leaves {
            book.put(Record { leaf, ..Record::new(position) }).unwrap();
        }
        update(&mut book, &leaves.map(|(position, _)| position)).unwrap();
        let select = |room| -> Vec<_> {
            select(&book.view().unwrap(), BATCH, room).unwrap().into_iter().map(|job| job.position).collect()
        };
        assert_eq!(select(Some(1)), [new]);
        assert_eq!(select(Some(2)), [new, there]);
    }
}
