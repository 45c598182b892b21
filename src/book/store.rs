//! A book as a file that is read and changed position by position.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::batch::encode_batch;
use super::error::BookError;
use super::file::{BLOCK, Base, Fault, Hash, ReadError, decode, key_of, number_in};
use super::lock::Lock;
use super::record::{BYTES, Key, Record};
use crate::board::{Position, canonical};
use crate::storage::{FileError, check_lasting, hex};

/// How many positions are added before the file is sorted again: some 130 MB of memory.
const MOST_ADDED: usize = 1 << 20;

/// An opening book in a file (`.fsb`).
///
/// The file is a sorted part followed by the batches added since. Memory holds the batches and the index of the sorted part; the
/// rest is read on demand. [`Self::commit`] appends a batch. If the process is killed, only uncommitted changes are lost.
pub struct Book {
    path: PathBuf,
    base: Base,
    /// What was added to the sorted part.
    added: BTreeMap<Key, Record>,
    /// What was changed since the last commit, with what `added` had there before.
    changed: BTreeMap<Key, Option<Record>>,
    /// Added positions that are not in the sorted part.
    new: u64,
    /// How many of them are in the file.
    known_new: u64,
    weights: Vec<Hash>,
    /// How many of `weights` are in the file.
    known_weights: usize,
    /// Where the next batch goes.
    end: u64,
    dropped: u64,
    /// Held if the book may be changed.
    lock: Option<Lock>,
    /// The book is sorted once `added` has more positions than this.
    sort_beyond: usize,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").field("path", &self.path).field("positions", &self.len()).finish_non_exhaustive()
    }
}

impl Book {
    /// Opens a book to read it.
    ///
    /// # Errors
    /// I/O errors, or what is wrong with the file and where.
    pub fn open(path: &Path) -> Result<Self, BookError> {
        Self::read(path, None, None)
    }

    /// Opens a book to change it. No other process can change it until it is dropped.
    ///
    /// # Errors
    /// Same as [`Self::open`], plus [`BookError::Locked`].
    pub fn edit(path: &Path) -> Result<Self, BookError> {
        Self::read(path, Some(Lock::of_book(path)?), None)
    }

    /// [`Self::edit`], making an empty book if there is no file.
    ///
    /// # Errors
    /// Same as [`Self::edit`].
    pub fn edit_or_create(path: &Path) -> Result<Self, BookError> {
        Self::read(path, Some(Lock::of_book_or_new(path)?), None)
    }

    /// Opens the intact parts of a damaged book; the damage goes into `damaged`. With `edit`, the book may be changed.
    ///
    /// # Errors
    /// I/O errors, [`BookError::Locked`], or a file of which nothing is intact.
    pub(super) fn salvage(path: &Path, edit: bool, damaged: &mut Vec<Fault>) -> Result<Self, BookError> {
        let lock = edit.then(|| Lock::of_book(path)).transpose()?;
        Self::read(path, lock, Some(damaged))
    }

    fn read(path: &Path, lock: Option<Lock>, mut damaged: Option<&mut Vec<Fault>>) -> Result<Self, BookError> {
        check_lasting(path)?;
        let file = File::open(path).map_err(FileError::io(path))?;
        let wrong = |error: ReadError| error.in_file(path);
        let mut base = Base::open(file, damaged.as_deref_mut()).map_err(wrong)?;
        let salvaged = damaged.is_some();
        let batches = base.batches(damaged).map_err(wrong)?;
        let (weights, added, end, dropped) = (batches.weights, batches.records, batches.end, batches.dropped);
        let mut new = 0;
        for (key, record) in &added {
            if record.weights as usize > weights.len() && !salvaged {
                return Err(BookError::damage(path, base.end, "a position has weights that the book does not name"));
            }
            // A position in an unreadable block is counted there.
            new += u64::from(matches!(base.get(*key), Ok(None)));
        }
        Ok(Self {
            path: path.to_owned(),
            base,
            added,
            sort_beyond: MOST_ADDED,
            changed: BTreeMap::new(),
            new,
            known_new: new,
            known_weights: weights.len(),
            weights,
            end,
            dropped,
            lock,
        })
    }

    /// The number of positions.
    pub fn len(&self) -> u64 {
        self.base.count + self.new
    }

    /// The number of positions before the file was cut off.
    pub(super) fn announced(&self) -> u64 {
        self.base.announced.saturating_add(self.new)
    }

    /// Whether it has no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The SHA-256 of the whole file, in hexadecimal.
    ///
    /// # Errors
    /// I/O errors.
    pub fn hash(&self) -> Result<String, BookError> {
        let mut file = File::open(&self.path).map_err(FileError::io(&self.path))?;
        let (mut hash, mut bytes) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut bytes).map_err(FileError::io(&self.path))? {
                0 => return Ok(hex(&hash.finalize())),
                count => hash.update(&bytes[..count]),
            }
        }
    }

    /// Bytes of a batch cut off at the end of the file, which the next commit overwrites.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The hashes of the weights that searched its positions; number 1 in a record is the first.
    pub fn weights(&self) -> &[Hash] {
        &self.weights
    }

    /// The number that stands for `weights` in records; new weights are added to the list. 0 (unknown) if it is full.
    pub fn number_of(&mut self, weights: &Hash) -> u8 {
        number_in(&mut self.weights, weights)
    }

    /// What is known about a position, in any orientation.
    ///
    /// # Errors
    /// I/O errors, or damage.
    pub fn get(&mut self, position: Position) -> Result<Option<Record>, BookError> {
        self.find(canonical(position))
    }

    /// What is known about a canonical position.
    pub(super) fn find(&mut self, position: Position) -> Result<Option<Record>, BookError> {
        let key = Key::of(position);
        if let Some(record) = self.added.get(&key) {
            return Ok(Some(*record));
        }
        self.base.get(key).map_err(|error| error.in_file(&self.path))
    }

    /// The records with keys in a range.
    pub(super) fn between(&mut self, keys: RangeInclusive<Key>) -> Result<Vec<Record>, BookError> {
        let mut found = self.base.range(&keys).map_err(|error| error.in_file(&self.path))?;
        found.retain(|record| !self.added.contains_key(&Key::of(record.position)));
        found.extend(self.added.range(keys).map(|(_, record)| *record));
        Ok(found)
    }

    /// Adds or changes a position.
    ///
    /// # Errors
    /// Same as [`Self::get`].
    pub(super) fn put(&mut self, record: Record) -> Result<(), BookError> {
        let key = Key::of(record.position);
        if !self.added.contains_key(&key) && self.find(record.position)?.is_none() {
            self.new += 1;
        }
        let before = self.added.insert(key, record);
        self.changed.entry(key).or_insert(before);
        Ok(())
    }

    /// Takes back all changes of positions since the last commit.
    pub(super) fn revert(&mut self) {
        for (key, before) in std::mem::take(&mut self.changed) {
            match before {
                Some(record) => self.added.insert(key, record),
                None => self.added.remove(&key),
            };
        }
        self.new = self.known_new;
    }

    /// Writes all changes to the file, as one batch.
    ///
    /// # Errors
    /// [`BookError::ReadOnly`]; I/O errors and [`BookError::Replaced`]: the file is then unchanged, and the changes can be committed again.
    pub fn commit(&mut self) -> Result<(), BookError> {
        let new_weights = &self.weights[self.known_weights..];
        if self.changed.is_empty() && new_weights.is_empty() {
            return Ok(());
        }
        let records: Vec<_> = self.changed.keys().map(|key| self.added[key]).collect();
        let batch = encode_batch(new_weights, &records);
        let end = self.end;
        let mut file = self.own_lock()?.file()?;
        let written = file
            .set_len(end)
            .and_then(|()| file.seek(SeekFrom::Start(end)))
            .and_then(|_| file.write_all(&batch))
            .and_then(|()| file.sync_data());
        if let Err(error) = written {
            // A partial batch would be dropped anyway.
            let _ = file.set_len(end);
            return Err(FileError::io(&self.path)(error).into());
        }
        self.end += batch.len() as u64;
        self.dropped = 0;
        self.known_weights = self.weights.len();
        self.known_new = self.new;
        self.changed.clear();
        // Without room for a second copy of the book, it grows unsorted for a while.
        if self.added.len() > self.sort_beyond && self.sort().is_err() {
            self.sort_beyond = self.added.len() + MOST_ADDED;
        }
        Ok(())
    }

    /// Commits, and sorts everything into a new file that replaces the old one: equal books then have equal bytes.
    ///
    /// # Errors
    /// Same as [`Self::commit`].
    pub fn sort(&mut self) -> Result<(), BookError> {
        self.commit()?;
        if self.end == self.base.end && self.dropped == 0 {
            return Ok(());
        }
        let (mut lock, weights) = (self.share_lock()?, self.weights.clone());
        lock.replace(&weights, |push| self.scan(0..65).try_for_each(|record| push(&record?)))?;
        self.reopen(lock)
    }

    /// The right to change the book.
    pub(super) fn own_lock(&self) -> Result<&Lock, BookError> {
        self.lock.as_ref().ok_or_else(|| BookError::ReadOnly(self.path.clone()))
    }

    /// The right to replace the book, for [`Self::reopen`].
    pub(super) fn share_lock(&self) -> Result<Lock, BookError> {
        self.own_lock()?.share()
    }

    /// Reopens the file, which was replaced.
    pub(super) fn reopen(&mut self, lock: Lock) -> Result<(), BookError> {
        *self = Self::read(&self.path, Some(lock), None)?;
        Ok(())
    }

    /// The records of positions with numbers of discs in a range, in order.
    pub(super) fn scan(&mut self, discs: Range<u32>) -> Scan<'_> {
        let first = Key::first(discs.start);
        let added: Vec<Key> = self.added.range(first..Key::first(discs.end)).map(|(key, _)| *key).collect();
        let block = self.base.block_of(first);
        Scan {
            book: self,
            discs,
            added: added.into_iter().peekable(),
            block,
            records: Vec::new().into_iter(),
            next: None,
            last: None,
            damaged: None,
        }
    }
}

/// Iterates over the records of a book in order.
pub(super) struct Scan<'b> {
    book: &'b mut Book,
    discs: Range<u32>,
    added: std::iter::Peekable<std::vec::IntoIter<Key>>,
    /// The next block to read.
    block: u64,
    records: std::vec::IntoIter<(u64, [u8; BYTES])>,
    /// The next record of the sorted part.
    next: Option<(u64, [u8; BYTES])>,
    /// The last record taken from it.
    last: Option<Key>,
    damaged: Option<&'b mut Vec<Fault>>,
}

impl<'b> Scan<'b> {
    /// Skips what is damaged, and reports it.
    pub fn over_damage(mut self, damaged: &'b mut Vec<Fault>) -> Self {
        self.damaged = Some(damaged);
        self
    }

    /// Puts the next record of the sorted part into `next`, if one is in range.
    fn fill(&mut self) -> Result<(), ReadError> {
        while self.next.is_none() {
            if let Some(record) = self.records.next() {
                self.next = (key_of(&record.1).0 >= self.discs.start).then_some(record);
                continue;
            }
            if self.block >= self.book.base.blocks() {
                break;
            }
            let block = self.block;
            self.block += 1;
            let bytes = self.book.base.read_block(block)?;
            let numbered = bytes.as_chunks::<BYTES>().0.iter().enumerate();
            let offset = |i: usize| Base::offset(block) + (i * BYTES) as u64;
            self.records = numbered.map(|(i, record)| (offset(i), *record)).collect::<Vec<_>>().into_iter();
            debug_assert!(self.records.len() <= BLOCK);
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Record>, ReadError> {
        self.fill()?;
        let sorted = self.next.as_ref().map(|(_, record)| key_of(record)).filter(|key| key.0 < self.discs.end);
        match (sorted, self.added.peek().copied()) {
            (None, None) => Ok(None),
            (Some(sorted), added) if added.is_none_or(|added| sorted < added) => {
                let (offset, record) = self.next.take().expect("there is one");
                if self.last >= Some(sorted) {
                    return Err(ReadError::Fault((offset, "a position out of order".to_owned())));
                }
                self.last = Some(sorted);
                decode(&record, offset).map(Some)
            }
            (sorted, Some(added)) => {
                if sorted == Some(added) {
                    self.next = None;
                }
                self.added.next();
                Ok(Some(self.book.added[&added]))
            }
            (Some(_), None) => unreachable!("the case before has it"),
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<Record, BookError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(record) => return record.map(Ok),
                Err(ReadError::Fault(fault)) if self.damaged.is_some() => {
                    self.damaged.as_deref_mut().expect("just seen").push(fault);
                }
                Err(error) => {
                    self.block = u64::MAX;
                    self.discs.end = 0;
                    return Some(Err(error.in_file(&self.book.path)));
                }
            }
        }
    }
}
