//! A book as a file that is read and changed position by position.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redb::{
    Builder, ConcurrencyMode, Database, Durability, ReadOnlyDatabase, ReadOnlyTable, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, TableDefinition, WriteTransaction,
};
use sha2::{Digest, Sha256};

use super::error::BookError;
use super::pages::{Fault, FirstFault, Pages, SECTOR, fault_of_start};
use super::record::{Hash, KEY, Key, Record, VALUE};
use crate::board::{Position, canonical};
use crate::storage::{FileError, atomic_create, check_lasting, hex, is_at};

/// What is known about positions.
const POSITIONS: TableDefinition<[u8; KEY], [u8; VALUE]> = TableDefinition::new("positions");
/// The weights that searched them, by number.
const WEIGHTS: TableDefinition<u32, Hash> = TableDefinition::new("weights");

/// Bytes of the file in memory.
const CACHE: usize = 96 << 20;
/// The numbers of discs that a book's positions can have.
pub(super) const PLIES: std::ops::Range<u32> = 4..64;

/// Records that are read at once.
pub(super) const CHUNK: usize = 1 << 15;
/// Records that are collected before they are put into a file in order.
const COLLECTED: usize = 1 << 18;

/// The positions in a file, to be changed.
pub(super) type Table<'t> = redb::Table<'t, [u8; KEY], [u8; VALUE]>;

/// An opening book in a file (`.fsb`).
///
/// Changes are in memory until [`Self::commit`]. If the process is killed, only uncommitted changes are lost. One process may change a
/// book while any number of others read it.
pub struct Book {
    store: Store,
    /// Changed since the last commit.
    changed: BTreeMap<Key, Record>,
    /// Positions in the file.
    committed: u64,
    /// Changed positions that are not in the file.
    new: u64,
    weights: Vec<Hash>,
    /// How many of `weights` are in the file.
    known_weights: usize,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").field("path", &self.store.path).field("positions", &self.len()).finish_non_exhaustive()
    }
}

/// The database in a file.
struct Store {
    path: PathBuf,
    access: Access,
    fault: FirstFault,
}

enum Access {
    Reads(ReadOnlyDatabase),
    /// With the positions of the last commit, and the file, which must stay at its path; none for a file that has no path yet.
    Changes(Database, Arc<Committed>, Option<File>),
}

/// The positions of a commit. They stay as they are, whatever is committed after it.
type Committed = ReadOnlyTable<[u8; KEY], [u8; VALUE]>;

/// A book as it is at a moment.
pub(super) struct View<'b> {
    committed: Arc<Committed>,
    book: &'b Book,
}

impl Store {
    fn builder() -> Builder {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE).set_concurrency_mode(ConcurrencyMode::SingleWriter);
        builder
    }

    /// Opens a file that is read.
    fn read(path: &Path) -> Result<Self, BookError> {
        check_lasting(path)?;
        check_start(path)?;
        let file = File::open(path).map_err(FileError::io(path))?;
        let (pages, fault) = Pages::new(file).map_err(|error| BookError::of_database(path, None, error.into()))?;
        match Self::builder().open_read_only_with_backend(pages) {
            Ok(database) => Ok(Self { path: path.to_owned(), access: Access::Reads(database), fault }),
            // The process that changed it was killed.
            Err(redb::DatabaseError::RepairAborted) => match Self::change(path) {
                Ok(_) | Err(BookError::Locked(_)) => Self::read(path),
                Err(error) => Err(error),
            },
            Err(error) => Err(BookError::of_database(path, fault.get(), error.into())),
        }
    }

    /// Opens a file that is changed. Waits briefly for other processes.
    fn change(path: &Path) -> Result<Self, BookError> {
        const PATIENCE: Duration = Duration::from_millis(500);
        const PAUSE: Duration = Duration::from_millis(20);
        check_lasting(path)?;
        let began = Instant::now();
        loop {
            check_start(path)?;
            // Opened each time: who changes it may replace it.
            let io = FileError::io(path);
            let file = File::options().read(true).write(true).open(path).map_err(&io)?;
            match Self::on(file.try_clone().map_err(&io)?, path) {
                Ok(mut store) if is_at(&file, path).map_err(&io)? => {
                    if let Access::Changes(.., own) = &mut store.access {
                        *own = Some(file);
                    }
                    return Ok(store);
                }
                Ok(_) => {}
                Err(BookError::Locked(_)) if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
    }

    /// The database in an open file, which is made if the file is empty.
    fn on(file: File, path: &Path) -> Result<Self, BookError> {
        let (pages, fault) = Pages::new(file).map_err(|error| BookError::of_database(path, None, error.into()))?;
        let wrong = |error: redb::Error| BookError::of_database(path, fault.get(), error);
        let database = Self::builder().create_with_backend(pages).map_err(|error| wrong(error.into()))?;
        let table = match committed(&database) {
            Err(redb::Error::TableDoesNotExist(_)) => {
                make_tables(&database).and_then(|()| committed(&database)).map_err(wrong)?
            }
            table => table.map_err(wrong)?,
        };
        let access = Access::Changes(database, Arc::new(table), None);
        Ok(Self { path: path.to_owned(), access, fault })
    }

    /// What an error of the database means.
    fn wrong(&self, error: impl Into<redb::Error>) -> BookError {
        BookError::of_database(&self.path, self.fault.get(), error.into())
    }

    /// The positions of the last commit.
    fn committed(&self) -> Result<Arc<Committed>, BookError> {
        match &self.access {
            Access::Reads(database) => committed(database).map(Arc::new).map_err(|error| self.wrong(error)),
            Access::Changes(_, table, _) => Ok(Arc::clone(table)),
        }
    }

    fn weights(&self) -> Result<Vec<Hash>, BookError> {
        let read = || {
            let table = match &self.access {
                Access::Reads(database) => database.begin_read()?.open_table(WEIGHTS)?,
                Access::Changes(database, ..) => database.begin_read()?.open_table(WEIGHTS)?,
            };
            table.iter()?.map(|entry| Ok(entry?.1.value())).collect::<Result<_, redb::Error>>()
        };
        read().map_err(|error| self.wrong(error))
    }

    /// Changes the file at once or not at all. Returns its number of positions.
    fn transact(
        &mut self,
        weights: &[Hash],
        work: impl FnOnce(&mut Table<'_>) -> Result<(), BookError>,
    ) -> Result<u64, BookError> {
        let database = self.database()?;
        let transaction = begin(database).map_err(|error| self.wrong(error))?;
        let len = {
            let mut named = transaction.open_table(WEIGHTS).map_err(|error| self.wrong(error))?;
            for (number, hash) in weights.iter().enumerate() {
                named.insert(number as u32 + 1, hash).map_err(|error| self.wrong(error))?;
            }
            let mut table = transaction.open_table(POSITIONS).map_err(|error| self.wrong(error))?;
            work(&mut table)?;
            table.len().map_err(|error| self.wrong(error))?
        };
        // Changes of a transaction that is not committed are taken back.
        self.database()?;
        transaction.commit().map_err(|error| self.wrong(error))?;
        let table = committed(self.database()?).map_err(|error| self.wrong(error))?;
        if let Access::Changes(_, last, _) = &mut self.access {
            *last = Arc::new(table);
        }
        Ok(len)
    }

    /// The database, if the file may be changed.
    fn database(&self) -> Result<&Database, BookError> {
        let Access::Changes(database, _, file) = &self.access else {
            return Err(BookError::refused(&self.path, "this book was opened only to be read"));
        };
        let is_gone = file.as_ref().map(|file| is_at(file, &self.path).map(|is_there| !is_there)).transpose();
        if is_gone.map_err(FileError::io(&self.path))? == Some(true) {
            let why = "this book was replaced or removed while it was being changed; nothing more is written to it";
            return Err(BookError::refused(&self.path, why));
        }
        Ok(database)
    }
}

/// Checks the first bytes of a book.
fn check_start(path: &Path) -> Result<(), BookError> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SECTOR as u64).read_to_end(&mut start));
    read.map_err(FileError::io(path))?;
    fault_of_start(&start).map_or(Ok(()), |(offset, reason)| Err(BookError::damage(path, offset, reason)))
}

fn committed(database: &impl ReadableDatabase) -> Result<Committed, redb::Error> {
    Ok(database.begin_read()?.open_table(POSITIONS)?)
}

/// Begins changes that a kill or a power cut leaves out as a whole, without a slow repair after it.
fn begin(database: &Database) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

fn make_tables(database: &Database) -> Result<(), redb::Error> {
    let transaction = begin(database)?;
    transaction.open_table(POSITIONS)?;
    transaction.open_table(WEIGHTS)?;
    Ok(transaction.commit()?)
}

/// The next records of a table with keys in a range, at most [`CHUNK`].
///
/// # Errors
/// As `wrong` makes them of the database's, or of the reason why a record cannot be.
pub(super) fn chunk<E>(
    table: &impl ReadableTable<[u8; KEY], [u8; VALUE]>,
    keys: &RangeInclusive<Key>,
    wrong: impl Fn(redb::Error) -> E,
) -> Result<Vec<Record>, E> {
    let entries = table.range(keys.start().encode()..=keys.end().encode()).map_err(|error| wrong(error.into()))?;
    let records = entries.take(CHUNK).map(|entry| {
        let (key, value) = entry.map_err(|error| wrong(error.into()))?;
        decode(Key::decode(&key.value()), &value.value()).map_err(&wrong)
    });
    records.collect()
}

pub(super) fn decode(key: Key, value: &[u8; VALUE]) -> Result<Record, redb::Error> {
    Record::decode(key, value).map_err(|reason| redb::Error::Corrupted(reason.to_owned()))
}

impl Book {
    /// Opens a book to read it.
    ///
    /// # Errors
    /// I/O errors, or what is wrong with the file and where.
    pub fn open(path: &Path) -> Result<Self, BookError> {
        Self::new(Store::read(path)?)
    }

    /// Opens a book to change it. No other process can change it until it is dropped.
    ///
    /// # Errors
    /// Same as [`Self::open`], plus [`BookError::Locked`].
    pub fn edit(path: &Path) -> Result<Self, BookError> {
        Self::new(Store::change(path)?)
    }

    /// [`Self::edit`], making an empty book if there is no file.
    ///
    /// # Errors
    /// Same as [`Self::edit`].
    pub fn edit_or_create(path: &Path) -> Result<Self, BookError> {
        if !path.try_exists().map_err(FileError::io(path))? {
            let made = atomic_create(path, |file| Self::on(file.try_clone()?, path).map(drop));
            match made {
                // Another process was first.
                Err(BookError::Output(error)) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(BookError::Output(error)) => return Err(FileError::io(path)(error).into()),
                made => made?,
            }
        }
        Self::edit(path)
    }

    /// The book in an open file, which is made if the file is empty. `path` is for messages.
    pub(super) fn on(file: File, path: &Path) -> Result<Self, BookError> {
        Self::new(Store::on(file, path)?)
    }

    /// Damage in what only a change of the book needs. None is found while another process is changing it.
    pub(super) fn fault_of_changes(path: &Path) -> Result<Option<Fault>, BookError> {
        let file = File::open(path).map_err(FileError::io(path))?;
        let (pages, fault) = Pages::new(file).map_err(|error| BookError::of_database(path, None, error.into()))?;
        let opened = Builder::new().set_cache_size(CACHE).open_read_only_with_backend(pages);
        match opened {
            // Without a fault, what the next change has to put in order is no damage.
            Ok(_) | Err(redb::DatabaseError::RepairAborted) => Ok(fault.get().cloned()),
            Err(error) => match BookError::of_database(path, fault.get(), error.into()) {
                BookError::Damage { offset, reason, .. } => Ok(Some((offset, reason))),
                BookError::Locked(_) => Ok(None),
                error => Err(error),
            },
        }
    }

    /// A book whose names of weights may be damaged, and that damage.
    pub(super) fn open_without_names(path: &Path) -> Result<(Self, Option<Fault>), BookError> {
        let store = Store::read(path)?;
        let (weights, fault) = match store.weights() {
            Err(BookError::Damage { offset, reason, .. }) => (Vec::new(), Some((offset, reason))),
            weights => (weights?, None),
        };
        // The database reads no more after damage.
        let store = if fault.is_some() { Store::read(path)? } else { store };
        Ok((Self::with_weights(store, weights)?, fault))
    }

    fn new(store: Store) -> Result<Self, BookError> {
        let weights = store.weights()?;
        Self::with_weights(store, weights)
    }

    fn with_weights(store: Store, weights: Vec<Hash>) -> Result<Self, BookError> {
        let committed = store.committed()?.len().map_err(|error| store.wrong(error))?;
        let known_weights = weights.len();
        Ok(Self { store, changed: BTreeMap::new(), committed, new: 0, weights, known_weights })
    }

    /// The number of positions.
    pub fn len(&self) -> u64 {
        self.committed + self.new
    }

    /// Whether it has no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The SHA-256 of the content, in hexadecimal: of the weights and of the positions, in order. The bytes of files with the same content
    /// may differ.
    ///
    /// # Errors
    /// I/O errors, or damage.
    pub fn hash(&self) -> Result<String, BookError> {
        let mut hash = Sha256::new();
        self.weights.iter().for_each(|weights| hash.update(weights));
        for record in self.view()?.all() {
            let record = record?;
            hash.update(Key::of(record.position).encode());
            hash.update(record.encode());
        }
        Ok(hex(&hash.finalize()))
    }

    /// The hashes of the weights that searched its positions; number 1 in a record is the first.
    pub fn weights(&self) -> &[Hash] {
        &self.weights
    }

    /// The number that stands for `weights` in records; new weights are added to the list.
    pub fn number_of(&mut self, weights: &Hash) -> u32 {
        number_in(&mut self.weights, weights)
    }

    /// What is known about a position, in any orientation.
    ///
    /// # Errors
    /// I/O errors, or damage.
    pub fn get(&self, position: Position) -> Result<Option<Record>, BookError> {
        self.view()?.find(canonical(position))
    }

    /// The book as it is now.
    pub(super) fn view(&self) -> Result<View<'_>, BookError> {
        Ok(View { committed: self.store.committed()?, book: self })
    }

    /// Adds or changes a position.
    ///
    /// # Errors
    /// Same as [`Self::get`].
    pub(super) fn put(&mut self, record: Record) -> Result<(), BookError> {
        let key = Key::of(record.position);
        self.new += u64::from(self.view()?.find(record.position)?.is_none());
        self.changed.insert(key, record);
        Ok(())
    }

    /// Takes back all changes of positions since the last commit.
    pub(super) fn revert(&mut self) {
        self.changed.clear();
        self.new = 0;
    }

    /// Writes all changes to the file, at once.
    ///
    /// # Errors
    /// I/O errors, damage, and a book that is only read or was replaced: the file is then as it was.
    pub fn commit(&mut self) -> Result<(), BookError> {
        if self.changed.is_empty() && self.weights.len() == self.known_weights {
            return Ok(());
        }
        self.rewrite(|_| Ok(()))
    }

    /// [`Self::commit`], with changes of many positions by `work`.
    pub(super) fn rewrite(
        &mut self,
        work: impl FnOnce(&mut Filling<'_, '_>) -> Result<(), BookError>,
    ) -> Result<(), BookError> {
        let (path, fault, changed) = (self.store.path.clone(), Arc::clone(&self.store.fault), &self.changed);
        let len = self.store.transact(&self.weights, |table| {
            let mut filling = Filling { table, collected: BTreeMap::new(), path: &path, fault: &fault };
            changed.values().try_for_each(|record| filling.put(record))?;
            work(&mut filling)?;
            filling.flush()
        })?;
        self.revert();
        (self.committed, self.known_weights) = (len, self.weights.len());
        Ok(())
    }

    /// Refuses a book that must not be changed.
    pub(super) fn must_be_ours(&self) -> Result<(), BookError> {
        self.store.database().map(drop)
    }

    /// Names the weights of a new book.
    pub(super) fn set_weights(&mut self, weights: Vec<Hash>) {
        self.weights = weights;
    }
}

/// The number that stands for weights in records: their place in a list, from 1, to which new ones are added.
pub(super) fn number_in(list: &mut Vec<Hash>, weights: &Hash) -> u32 {
    let known = list.iter().position(|known| known == weights);
    let place = known.unwrap_or_else(|| {
        list.push(*weights);
        list.len() - 1
    });
    place as u32 + 1
}

impl View<'_> {
    /// The number of committed positions.
    pub fn len(&self) -> Result<u64, BookError> {
        self.committed.len().map_err(|error| self.book.store.wrong(error))
    }

    /// What is known about a canonical position.
    pub fn find(&self, position: Position) -> Result<Option<Record>, BookError> {
        let key = Key::of(position);
        if let Some(record) = self.book.changed.get(&key) {
            return Ok(Some(*record));
        }
        let value = self.committed.get(key.encode()).map_err(|error| self.book.store.wrong(error))?;
        let record = value.map(|value| decode(key, &value.value())).transpose();
        record.map_err(|error| self.book.store.wrong(error))
    }

    /// The records with keys in a range.
    pub fn between(&self, keys: RangeInclusive<Key>) -> Result<Vec<Record>, BookError> {
        let changed = &self.book.changed;
        let mut found = self.committed(keys.clone()).collect::<Result<Vec<_>, _>>()?;
        found.retain(|record| !changed.contains_key(&Key::of(record.position)));
        found.extend(changed.range(keys).map(|(_, record)| *record));
        Ok(found)
    }

    /// The next committed records with keys in a range, at most [`CHUNK`].
    pub fn chunk(&self, keys: &RangeInclusive<Key>) -> Result<Vec<Record>, BookError> {
        chunk(&*self.committed, keys, |error| self.book.store.wrong(error))
    }

    /// The committed records of a ply, in order.
    pub fn ply(&self, discs: u32) -> impl Iterator<Item = Result<Record, BookError>> {
        self.committed(Key::ply(discs))
    }

    /// The committed records with keys in a range, in order.
    fn committed(&self, keys: RangeInclusive<Key>) -> impl Iterator<Item = Result<Record, BookError>> {
        let mut keys = Some(keys);
        let mut records = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if records.len() == 0
                && let Some(range) = keys.take()
            {
                match self.chunk(&range) {
                    Ok(read) => {
                        let last = read.last().filter(|_| read.len() == CHUNK);
                        keys = last.map(|last| Key::of(last.position).next()..=*range.end());
                        records = read.into_iter();
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
            records.next().map(Ok)
        })
    }

    /// All committed records, in order.
    pub fn all(&self) -> impl Iterator<Item = Result<Record, BookError>> {
        PLIES.flat_map(|discs| self.ply(discs))
    }

    /// Adds the records with keys in a range to a list, from one of its ends on, until there is damage.
    pub fn read_until_damage(
        &self,
        keys: &RangeInclusive<Key>,
        from_end: bool,
        found: &mut Vec<Record>,
    ) -> Result<(), BookError> {
        let wrong = |error: redb::StorageError| self.book.store.wrong(error);
        let mut entries = self.committed.range(keys.start().encode()..=keys.end().encode()).map_err(wrong)?;
        while let Some(entry) = if from_end { entries.next_back() } else { entries.next() } {
            let (key, value) = entry.map_err(wrong)?;
            let record = decode(Key::decode(&key.value()), &value.value());
            found.push(record.map_err(|error| self.book.store.wrong(error))?);
        }
        Ok(())
    }
}

/// Many changes of a book, which are committed at once.
pub(super) struct Filling<'f, 't> {
    table: &'f mut Table<'t>,
    /// What is added, to be put into the table in order.
    collected: BTreeMap<Key, Record>,
    path: &'f Path,
    fault: &'f FirstFault,
}

impl Filling<'_, '_> {
    fn wrong(&self, error: impl Into<redb::Error>) -> BookError {
        BookError::of_database(self.path, self.fault.get(), error.into())
    }

    /// Sets what is known about a position.
    pub fn put(&mut self, record: &Record) -> Result<(), BookError> {
        let put = self.table.insert(Key::of(record.position).encode(), record.encode()).map(drop);
        put.map_err(|error| self.wrong(error))
    }

    /// Adds to what is known about a position: games add up, and the exact or deeper search counts.
    pub fn add(&mut self, record: &Record) -> Result<(), BookError> {
        let known = self.collected.entry(Key::of(record.position)).or_insert_with(|| Record::new(record.position));
        known.combine(record);
        if self.collected.len() < COLLECTED { Ok(()) } else { self.flush() }
    }

    /// Puts what was added into the table.
    pub fn flush(&mut self) -> Result<(), BookError> {
        for (key, added) in std::mem::take(&mut self.collected) {
            let value = self.table.get(key.encode()).map_err(|error| self.wrong(error))?.map(|value| value.value());
            let known = value.map(|value| decode(key, &value).map_err(|error| self.wrong(error))).transpose()?;
            let mut record = known.unwrap_or_else(|| Record::new(added.position));
            record.combine(&added);
            self.put(&record)?;
        }
        Ok(())
    }

    /// The next records with keys in a range, at most [`CHUNK`].
    pub fn chunk(&self, keys: &RangeInclusive<Key>) -> Result<Vec<Record>, BookError> {
        chunk(self.table, keys, |error| self.wrong(error))
    }
}
