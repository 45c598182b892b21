//! Work on whole books, ply by ply: making them, deriving their values, checking, repairing and merging.
//!
//! A move adds one disc, so the derived values of a position follow from positions with one disc more. Two plies are held in memory,
//! 32 bytes a position (48 for a repair).

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use super::derive::{Child, children, derive};
use super::error::BookError;
use super::pages::Fault;
use super::record::{Derived, Hash, Key, Leaf, Record};
use super::salvage::Salvage;
use super::store::{Book, Filling, PLIES, View, number_in};
use crate::board::Position;
use crate::storage::{FileError, atomic_create, atomic_replace};

/// A value for each position of a book with a number of discs.
pub(super) struct Ply<T>(Vec<(Position, T)>);

impl<T: Copy + Send> Ply<T> {
    pub fn new(mut positions: Vec<(Position, T)>) -> Self {
        positions.par_sort_unstable_by_key(|(position, _)| *position);
        Self(positions)
    }

    /// Reads it from a book.
    pub fn read(view: &View<'_>, discs: u32, of: impl Fn(&Record) -> T) -> Result<Self, BookError> {
        let known = view.ply(discs).map(|record| record.map(|record| (record.position, of(&record))));
        known.collect::<Result<_, _>>().map(Self::new)
    }

    pub fn get(&self, position: Position) -> Option<T> {
        let found = self.0.binary_search_by_key(&position, |(position, _)| *position);
        found.ok().map(|i| self.0[i].1)
    }

    /// The moves of a position that lead to positions of this ply.
    pub fn children(&self, position: Position, derived: impl Fn(T) -> Derived) -> Vec<Child> {
        let lookup = |position| Ok::<_, Infallible>(self.get(position).map(&derived));
        let Ok(children) = children(position, lookup);
        children
    }
}

/// Hands over the records of a book in order, each with its moves that lead into the book. One ply is in memory.
pub(super) fn with_children<E: From<BookError>>(
    view: &View<'_>,
    mut each: impl FnMut(Record, Vec<Child>) -> Result<(), E>,
) -> Result<(), E> {
    for discs in PLIES {
        let below = Ply::read(view, discs + 1, |record| record.derived)?;
        for record in view.ply(discs) {
            let record = record?;
            each(record, below.children(record.position, |derived| derived))?;
        }
    }
    Ok(())
}

/// Goes over the records of each number of discs, most discs first. `chunk` reads the next records with keys in a range, until there are
/// none; `follow` derives from a record and the ply with one disc more what the ply before needs, and what `each` gets, in the same order.
pub(super) fn walk<C, T: Copy + Send + Sync, F: Send>(
    context: &mut C,
    mut chunk: impl FnMut(&mut C, &RangeInclusive<Key>) -> Result<Vec<Record>, BookError>,
    follow: impl Fn(&Record, &Ply<T>) -> (T, F) + Sync,
    mut each: impl FnMut(&mut C, Record, F) -> Result<(), BookError>,
) -> Result<(), BookError> {
    let mut below = Ply::new(Vec::new());
    for discs in PLIES.rev() {
        let mut this = Vec::new();
        let mut keys = Key::ply(discs);
        loop {
            let records = chunk(context, &keys)?;
            let Some(last) = records.last() else { break };
            keys = Key::of(last.position).next()..=*keys.end();
            let follows: Vec<_> = records.par_iter().map(|record| follow(record, &below)).collect();
            for (record, (known, found)) in records.into_iter().zip(follows) {
                this.push((record.position, known));
                each(context, record, found)?;
            }
        }
        below = Ply::new(this);
    }
    Ok(())
}

/// The derived values of a record from the ply after it.
fn derive_from(record: &Record, below: &Ply<Derived>) -> Derived {
    derive(record, &below.children(record.position, |derived| derived))
}

/// Derives the values of all positions of a book that is being changed.
pub(super) fn derive_all(filling: &mut Filling<'_, '_>) -> Result<(), BookError> {
    filling.flush()?;
    let follow = |record: &Record, below: &Ply<Derived>| {
        let derived = derive_from(record, below);
        (derived, derived)
    };
    walk(
        filling,
        |filling, keys| filling.chunk(keys),
        follow,
        |filling, record, derived| match derived {
            _ if derived == record.derived => Ok(()),
            derived => filling.put(&Record { derived, ..record }),
        },
    )
}

/// Writes a book, which may replace another one that no other process is changing. Returns its number of positions.
///
/// # Errors
/// Errors of `fill`, I/O errors, and [`BookError::Locked`].
pub(super) fn build(
    path: &Path,
    weights: Vec<Hash>,
    fill: impl FnOnce(&mut Filling<'_, '_>) -> Result<(), BookError>,
) -> Result<u64, BookError> {
    let replaced = hold(path)?;
    let write = |file: &mut File| {
        let mut book = Book::on(file.try_clone()?, path)?;
        book.set_weights(weights);
        book.rewrite(fill)?;
        // Checked last: another process may have put a book there in the meantime.
        replaced.as_ref().map_or(Ok(()), Book::must_be_ours)?;
        Ok(book.len())
    };
    let is_there = path.try_exists().map_err(FileError::io(path))?;
    let written = if is_there { atomic_replace(path, write) } else { atomic_create(path, write) };
    written.map_err(|error| match error {
        BookError::Output(error) => FileError::io(path)(error).into(),
        error => error,
    })
}

/// Keeps other processes from changing the book in a file, if there is one.
pub(super) fn hold(path: &Path) -> Result<Option<Book>, BookError> {
    match Book::edit(path) {
        Ok(book) => Ok(Some(book)),
        Err(BookError::Damage { .. }) => Ok(None),
        Err(BookError::File(FileError::Io { source, .. })) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is wrong with a book.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Faults {
    /// Positions that can be read.
    pub positions: u64,
    /// Positions that cannot be read.
    pub lost: u64,
    /// Damaged places of the file: offset and reason.
    pub damage: Vec<Fault>,
    /// Positions whose derived values are wrong.
    pub inconsistent: u64,
    /// One of the inconsistent positions.
    pub example: Option<Position>,
}

impl Faults {
    /// Whether there are no faults.
    pub fn is_none(&self) -> bool {
        self.lost == 0 && self.damage.is_empty() && self.inconsistent == 0
    }

    fn count(&mut self, record: &Record, derived: Derived) {
        self.positions += 1;
        if record.derived != derived {
            self.inconsistent += 1;
            self.example.get_or_insert(record.position);
        }
    }

    /// The faults, with what was found as the book was read.
    fn with(mut self, salvage: Salvage) -> Self {
        self.lost = salvage.announced().saturating_sub(self.positions);
        self.damage = salvage.into_damage();
        self
    }
}

/// Looks for everything that can be wrong with a book.
///
/// # Errors
/// I/O errors, a file that is not a book, or one of which nothing is intact.
pub fn check(path: &Path) -> Result<Faults, BookError> {
    let mut salvage = Salvage::open(path)?;
    let mut faults = Faults::default();
    let follow = |record: &Record, below: &Ply<Derived>| {
        let derived = derive_from(record, below);
        (derived, derived)
    };
    walk(&mut salvage, Salvage::ply, follow, |_, record, derived| {
        faults.count(&record, derived);
        Ok(())
    })?;
    Ok(faults.with(salvage))
}

/// Repairs a book: keeps what can be read, and recomputes the derived values. A position that has lost its best move becomes unsearched.
/// Returns what was wrong.
///
/// # Errors
/// Same as [`check`], plus [`BookError::Locked`].
pub fn fix(path: &Path) -> Result<Faults, BookError> {
    drop(hold(path)?);
    let mut salvage = Salvage::open(path)?;
    let weights = salvage.weights().to_vec();
    let named = weights.len();
    let mut faults = Faults::default();
    let is_damaged = AtomicBool::new(salvage.is_damaged());
    // A position has lost its best move if its value does not follow from the values that its moves had before.
    let follow = |record: &Record, below: &Ply<(Derived, Derived)>| {
        let before = derive(record, &below.children(record.position, |(before, _)| before));
        let is_whole = Derived { priority: record.derived.priority, ..before } == record.derived;
        let has_lost = is_damaged.load(Relaxed) && !is_whole;
        let kept = if has_lost { Record { leaf: Leaf::Unsearched, weights: 0, ..*record } } else { *record };
        let derived = derive(&kept, &below.children(record.position, |(_, now)| now));
        ((record.derived, derived), Record { derived, ..kept })
    };
    build(path, weights, |filling| {
        let mut both = (filling, &mut salvage);
        let ply = |(_, salvage): &mut (_, &mut Salvage), keys: &_| {
            let records = salvage.ply(keys);
            is_damaged.store(salvage.is_damaged(), Relaxed);
            records
        };
        walk(&mut both, ply, follow, |(filling, _), record, new| {
            faults.count(&record, new.derived);
            let weights = if new.weights as usize > named { 0 } else { new.weights };
            filling.put(&Record { weights, ..new })
        })
    })?;
    Ok(faults.with(salvage))
}

/// Merges books into one: games add up, and of two searches of a position the exact or deeper one is kept.
///
/// # Errors
/// I/O errors, damage in one of the books, or [`BookError::Locked`] if another process is changing a book at `path`.
pub fn merge(books: &[Book], path: &Path) -> Result<u64, BookError> {
    let mut weights: Vec<Hash> = Vec::new();
    // For each number of a book's weights, from 0 (unknown), the number in the list of all.
    let mut renumber = |book: &Book| -> Vec<u32> {
        std::iter::once(0).chain(book.weights().iter().map(|hash| number_in(&mut weights, hash))).collect()
    };
    let numbers: Vec<_> = books.iter().map(&mut renumber).collect();
    build(path, weights, |filling| {
        for (book, numbers) in books.iter().zip(&numbers) {
            for record in book.view()?.all() {
                let record = record?;
                let weights = numbers.get(record.weights as usize).copied().unwrap_or(0);
                filling.add(&Record { weights, ..record })?;
            }
        }
        derive_all(filling)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::canonical;
    use crate::eval::Score;

    #[test]
    fn wrong_derived_values_are_found_and_fixed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.fsb");
        let start = canonical(Position::START);
        let mut book = Book::edit_or_create(&path).unwrap();
        let mut put = |derived| {
            book.put(Record { derived, ..Record::new(start) }).unwrap();
            book.commit().unwrap();
            book.hash().unwrap()
        };
        let right = put(derive(&Record::new(start), &[]));
        put(Derived { value: Some(Score(5)), ..Derived::NOTHING });
        drop(book);
        let faults = check(&path).unwrap();
        assert_eq!((faults.positions, faults.inconsistent, faults.example), (1, 1, Some(start)));
        assert_eq!(fix(&path).unwrap().inconsistent, 1);
        assert!(check(&path).unwrap().is_none());
        assert_eq!(Book::open(&path).unwrap().hash().unwrap(), right);
    }
}
