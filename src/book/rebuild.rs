//! Work on whole books, ply by ply from the end: checking, repairing and merging.
//!
//! A move adds one disc, so the derived values of a position follow from positions with one disc more. Two plies are held in memory,
//! 32 bytes a position (48 for a repair); records stream through a temporary file.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use super::derive::{Child, children, derive};
use super::error::BookError;
use super::file::{Fault, Hash, number_in};
use super::lock::Lock;
use super::record::{BYTES, Derived, Key, Leaf, Record};
use super::store::Book;
use crate::board::Position;
use crate::storage::{FileError, folder_of};

/// The numbers of discs that a book's positions can have.
pub(super) const PLIES: std::ops::Range<u32> = 4..64;

/// Records that are derived at once.
const CHUNK: usize = 1 << 15;

/// Takes a record.
pub(super) type Sink<'s, E = BookError> = &'s mut dyn FnMut(Record) -> Result<(), E>;

/// A value for each position of a book with a number of discs.
pub(super) struct Ply<T>(Vec<(Position, T)>);

impl<T: Copy + Send> Ply<T> {
    pub fn new(mut positions: Vec<(Position, T)>) -> Self {
        positions.par_sort_unstable_by_key(|(position, _)| *position);
        Self(positions)
    }

    /// Reads it from a book.
    pub fn read(book: &mut Book, discs: u32, of: impl Fn(&Record) -> T) -> Result<Self, BookError> {
        let known = book.scan(discs..discs + 1).map(|record| record.map(|record| (record.position, of(&record))));
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
    book: &mut Book,
    mut each: impl FnMut(Record, Vec<Child>) -> Result<(), E>,
) -> Result<(), E> {
    for discs in PLIES {
        let below = Ply::read(book, discs + 1, |record| record.derived)?;
        for record in book.scan(discs..discs + 1) {
            let record = record?;
            each(record, below.children(record.position, |derived| derived))?;
        }
    }
    Ok(())
}

/// Goes over the records of each number of discs, most discs first. `ply` hands the records with a number of discs to a sink, in order;
/// `follow` derives from a record and the ply with one disc more what the ply before needs, and what `each` gets, in the same order.
pub(super) fn walk<T: Copy + Send + Sync, F: Send, E: From<BookError>>(
    mut ply: impl FnMut(u32, Sink<'_, E>) -> Result<(), E>,
    follow: impl Fn(&Record, &Ply<T>) -> (T, F) + Sync,
    mut each: impl FnMut(Record, F) -> Result<(), E>,
) -> Result<(), E> {
    let mut below = Ply::new(Vec::new());
    for discs in PLIES.rev() {
        let mut this = Vec::new();
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut end_chunk = |chunk: &mut Vec<Record>, this: &mut Vec<_>| {
            let follows: Vec<_> = chunk.par_iter().map(|record| follow(record, &below)).collect();
            for (record, (known, found)) in chunk.drain(..).zip(follows) {
                this.push((record.position, known));
                each(record, found)?;
            }
            Ok(())
        };
        ply(discs, &mut |record| {
            chunk.push(record);
            if chunk.len() == CHUNK { end_chunk(&mut chunk, &mut this) } else { Ok(()) }
        })?;
        end_chunk(&mut chunk, &mut this)?;
        below = Ply::new(this);
    }
    Ok(())
}

/// The derived values of a record from the ply after it.
fn derive_from(record: &Record, below: &Ply<Derived>) -> Derived {
    derive(record, &below.children(record.position, |derived| derived))
}

/// Records kept in an unnamed temporary file.
pub(super) struct RecordSpool {
    /// See [`temporary`].
    name: PathBuf,
    store: BufWriter<File>,
    /// For each number of discs: how many records, and the number of the first.
    plies: Vec<(u32, u64, u64)>,
    len: u64,
}

impl RecordSpool {
    /// A spool in the folder of a file to be written.
    pub fn new(path: &Path) -> Result<Self, BookError> {
        let (file, name) = temporary(path)?;
        Ok(Self { name, store: BufWriter::with_capacity(1 << 20, file), plies: Vec::new(), len: 0 })
    }

    /// Adds a record. Those with the same number of discs must be added one after another.
    pub fn push(&mut self, record: &Record) -> Result<(), BookError> {
        let discs = record.position.discs();
        match self.plies.last_mut() {
            Some((last, count, _)) if *last == discs => *count += 1,
            _ => self.plies.push((discs, 1, self.len)),
        }
        self.len += 1;
        Ok(self.store.write_all(&record.encode()).map_err(FileError::io(&self.name))?)
    }

    /// Hands over the records with a number of discs, in the order they were added. Nothing may be added after that.
    pub fn read(&mut self, discs: u32, sink: Sink<'_>) -> Result<(), BookError> {
        let io = FileError::io(&self.name);
        let Some(&(_, count, first)) = self.plies.iter().find(|(ply, ..)| *ply == discs) else { return Ok(()) };
        self.store.seek(SeekFrom::Start(first * BYTES as u64)).map_err(&io)?;
        let mut ply = BufReader::with_capacity(1 << 20, self.store.get_ref());
        let mut bytes = [0; BYTES];
        for _ in 0..count {
            ply.read_exact(&mut bytes).map_err(&io)?;
            sink(Record::decode(&bytes).map_err(|reason| io(io::Error::other(reason)))?)?;
        }
        Ok(())
    }
}

/// Makes a book of the records that `ply` gives (see [`walk`]), with their derived values. Returns the number of records, and how many
/// had other derived values before.
pub(super) fn rebuild(
    lock: &mut Lock,
    weights: &[Hash],
    ply: impl FnMut(u32, Sink<'_>) -> Result<(), BookError>,
) -> Result<(u64, u64), BookError> {
    let follow = |record: &Record, below: &Ply<Derived>| {
        let derived = derive_from(record, below);
        (derived, Record { derived, ..*record })
    };
    rebuild_by(lock, weights, ply, follow)
}

/// [`rebuild`] where `follow` makes the new records (see [`walk`]).
fn rebuild_by<T: Copy + Send + Sync>(
    lock: &mut Lock,
    weights: &[Hash],
    ply: impl FnMut(u32, Sink<'_>) -> Result<(), BookError>,
    follow: impl Fn(&Record, &Ply<T>) -> (T, Record) + Sync,
) -> Result<(u64, u64), BookError> {
    let (mut spool, mut changed) = (RecordSpool::new(lock.path())?, 0);
    walk(ply, follow, |record, new| {
        changed += u64::from(record.derived != new.derived);
        spool.push(&new)
    })?;
    lock.replace(weights, |push| PLIES.into_iter().try_for_each(|discs| spool.read(discs, &mut |r| push(&r))))?;
    Ok((spool.len, changed))
}

/// A temporary file in the folder of another file, and what errors call it: it has no name.
pub(super) fn temporary(path: &Path) -> Result<(File, PathBuf), BookError> {
    let folder = folder_of(path);
    let file = tempfile::tempfile_in(folder).map_err(FileError::io(path))?;
    Ok((file, folder.join("(temporary file)")))
}

/// Hands the records of a book with a number of discs to a sink.
pub(super) fn hand_over<E: From<BookError>>(book: &mut Book, discs: u32, sink: Sink<'_, E>) -> Result<(), E> {
    book.scan(discs..discs + 1).try_for_each(|record| sink(record?))
}

/// What is wrong with a book.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Faults {
    /// Positions that can be read.
    pub positions: u64,
    /// Positions that cannot be read, or that are out of order in the sorted part.
    pub lost: u64,
    /// Damaged places of the file: offset and reason.
    pub damage: Vec<(u64, String)>,
    /// Positions whose derived values are wrong.
    pub inconsistent: u64,
    /// One of the inconsistent positions.
    pub example: Option<Position>,
    /// Bytes of a batch cut off at the end, which is not a fault.
    pub dropped: u64,
}

impl Faults {
    /// Whether there are no faults.
    pub fn is_none(&self) -> bool {
        self.lost == 0 && self.damage.is_empty() && self.inconsistent == 0
    }
}

/// Looks for everything that can be wrong with a book.
///
/// # Errors
/// I/O errors, a file that is not a book, or one of which nothing is intact.
pub fn check(path: &Path) -> Result<Faults, BookError> {
    let mut damage = Vec::new();
    let mut book = Book::salvage(path, false, &mut damage)?;
    let mut faults = Faults { dropped: book.dropped(), ..Faults::default() };
    let ply = |discs, sink: Sink<'_>| {
        book.scan(discs..discs + 1).over_damage(&mut damage).try_for_each(|record| sink(record?))
    };
    let follow = |record: &Record, below: &Ply<Derived>| {
        let derived = derive_from(record, below);
        (derived, derived)
    };
    walk(ply, follow, |record, derived| {
        faults.positions += 1;
        if record.derived != derived {
            faults.inconsistent += 1;
            faults.example.get_or_insert(record.position);
        }
        Ok(())
    })?;
    faults.lost = book.announced().saturating_sub(faults.positions);
    faults.damage = tidy(damage);
    Ok(faults)
}

/// Repairs a book: keeps what can be read, and recomputes the derived values. A position that has lost its best move becomes unsearched.
/// Returns what was wrong.
///
/// # Errors
/// Same as [`check`], plus [`BookError::Locked`].
pub fn fix(path: &Path) -> Result<Faults, BookError> {
    let mut damage = Vec::new();
    let mut book = Book::salvage(path, true, &mut damage)?;
    let (mut lock, weights, len) = (book.share_lock()?, book.weights().to_vec(), book.announced());
    let named = weights.len();
    let dropped = book.dropped();
    let is_damaged = AtomicBool::new(false);
    let ply = |discs, sink: Sink<'_>| {
        is_damaged.store(!damage.is_empty(), Relaxed);
        book.scan(discs..discs + 1).over_damage(&mut damage).try_for_each(|record| {
            let record = record?;
            let weights = if usize::from(record.weights) > named { 0 } else { record.weights };
            sink(Record { weights, ..record })
        })
    };
    // A position has lost its best move if its value does not follow from the values that its moves had before.
    let follow = |record: &Record, below: &Ply<(Derived, Derived)>| {
        let before = derive(record, &below.children(record.position, |(before, _)| before));
        let is_whole = Derived { priority: record.derived.priority, ..before } == record.derived;
        let has_lost = is_damaged.load(Relaxed) && !is_whole;
        let kept = if has_lost { Record { leaf: Leaf::Unsearched, weights: 0, ..*record } } else { *record };
        let derived = derive(&kept, &below.children(record.position, |(_, now)| now));
        ((record.derived, derived), Record { derived, ..kept })
    };
    let (positions, inconsistent) = rebuild_by(&mut lock, &weights, ply, follow)?;
    let (lost, damage) = (len.saturating_sub(positions), tidy(damage));
    Ok(Faults { positions, lost, damage, inconsistent, example: None, dropped })
}

/// Each place once, in order.
fn tidy(mut damage: Vec<Fault>) -> Vec<Fault> {
    damage.sort();
    damage.dedup();
    damage
}

/// Merges books into one: games add up, and of two searches of a position the exact or deeper one is kept.
///
/// # Errors
/// I/O errors, damage in one of the books, or [`BookError::Locked`] if another process is changing a book at `path`.
pub fn merge(books: &mut [Book], path: &Path) -> Result<u64, BookError> {
    let mut lock = Lock::of_output(path)?;
    let mut weights: Vec<Hash> = Vec::new();
    let numbers: Vec<Vec<u8>> = books.iter().map(|book| renumber(book.weights(), &mut weights)).collect();
    let (count, _) = rebuild(&mut lock, &weights, |discs, sink| {
        let mut scans: Vec<_> = books.iter_mut().map(|book| book.scan(discs..discs + 1).peekable()).collect();
        loop {
            let mut least: Option<Key> = None;
            for scan in &mut scans {
                if let Some(Ok(record)) = scan.peek() {
                    let key = Key::of(record.position);
                    least = Some(least.map_or(key, |least| least.min(key)));
                } else if let Some(failed) = scan.next() {
                    failed?;
                }
            }
            let Some(Key(.., position)) = least else { return Ok(()) };
            let mut all = Record::new(position);
            for (scan, numbers) in scans.iter_mut().zip(&numbers) {
                if let Some(record) = scan.next_if(|record| record.as_ref().is_ok_and(|r| r.position == position)) {
                    let record = record?;
                    let weights = numbers.get(usize::from(record.weights)).copied().unwrap_or(0);
                    combine(&mut all, &Record { weights, ..record });
                }
            }
            sink(all)?;
        }
    })?;
    Ok(count)
}

/// For each number of a book's weights, from 0 (unknown), the number in the list `all`, to which new weights are added.
fn renumber(own: &[Hash], all: &mut Vec<Hash>) -> Vec<u8> {
    std::iter::once(0).chain(own.iter().map(|hash| number_in(all, hash))).collect()
}

/// Adds what another book knows about a position.
pub(super) fn combine(into: &mut Record, other: &Record) {
    into.games.merge(&other.games);
    if rank(&other.leaf) > rank(&into.leaf) {
        into.leaf = other.leaf;
        into.weights = other.weights;
        into.derived = other.derived;
    }
}

/// The rank of a search: exact ones first, then deeper ones.
fn rank(leaf: &Leaf) -> (u8, u8, bool) {
    match leaf {
        Leaf::Unsearched => (0, 0, false),
        Leaf::Best(valued) => (1 + u8::from(valued.exact), valued.depth, valued.to.is_some()),
        Leaf::AllPlayed => (1, 0, true),
    }
}
