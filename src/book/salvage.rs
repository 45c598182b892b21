//! Reading what is intact in a damaged book.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::error::BookError;
use super::pages::Fault;
use super::record::{Hash, Key, Record};
use super::store::Book;

/// How often a gap in which nothing was read is halved to look for more in it.
const HALVINGS: u32 = 6;

/// A book that may be damaged, and the damage met so far.
pub(super) struct Salvage {
    path: PathBuf,
    announced: u64,
    weights: Vec<Hash>,
    damage: BTreeSet<Fault>,
}

impl Salvage {
    /// Opens a book.
    ///
    /// # Errors
    /// I/O errors, a file that is not a book, or one of which nothing is intact.
    pub fn open(path: &Path) -> Result<Self, BookError> {
        let (book, fault) = Book::open_without_names(path)?;
        let (announced, weights) = (book.len(), book.weights().to_vec());
        drop(book);
        let damage = fault.into_iter().chain(Book::fault_of_changes(path)?).collect();
        Ok(Self { path: path.to_owned(), announced, weights, damage })
    }

    /// The positions that the book should have.
    pub fn announced(&self) -> u64 {
        self.announced
    }

    /// The names of weights that can be read.
    pub fn weights(&self) -> &[Hash] {
        &self.weights
    }

    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty()
    }

    /// The damaged places, in order.
    pub fn into_damage(self) -> Vec<Fault> {
        self.damage.into_iter().collect()
    }

    /// What can be read of the records of a ply, all at once: nothing if the range begins within the ply.
    pub fn ply(&mut self, keys: &RangeInclusive<Key>) -> Result<Vec<Record>, BookError> {
        let mut found = Vec::new();
        if keys == &Key::ply(keys.start().discs()) {
            self.read(keys.clone(), HALVINGS, &mut found)?;
        }
        Ok(found)
    }

    /// Reads from both ends as far as the damage, then looks for more between.
    fn read(&mut self, keys: RangeInclusive<Key>, halvings: u32, found: &mut Vec<Record>) -> Result<(), BookError> {
        let before = found.len();
        if self.read_until_damage(&keys, false, found)? {
            return Ok(());
        }
        let first = found.get(before..).and_then(|read| read.last()).map(|last| Key::of(last.position).next());
        let mut from_end = Vec::new();
        let mut keys = first.unwrap_or(*keys.start())..=*keys.end();
        self.read_until_damage(&keys, true, &mut from_end)?;
        if let Some(last) = from_end.last() {
            keys = *keys.start()..=Key::of(last.position).before();
        }
        let has_read = found.len() > before || !from_end.is_empty();
        let halvings = if has_read { HALVINGS } else { halvings };
        if halvings > 0 && keys.start() < keys.end() {
            let middle = Key::between(*keys.start(), *keys.end());
            self.read(*keys.start()..=middle, halvings - 1, found)?;
            self.read(middle.next()..=*keys.end(), halvings - 1, found)?;
        }
        found.extend(from_end.into_iter().rev());
        Ok(())
    }

    /// Reads records from one end of a range on. Returns whether there was no damage.
    fn read_until_damage(
        &mut self,
        keys: &RangeInclusive<Key>,
        from_end: bool,
        found: &mut Vec<Record>,
    ) -> Result<bool, BookError> {
        // The database reads no more after damage: it is opened again each time.
        let (book, _) = Book::open_without_names(&self.path)?;
        match book.view()?.read_until_damage(keys, from_end, found) {
            Ok(()) => Ok(true),
            Err(BookError::Damage { offset, reason, .. }) => {
                self.damage.insert((offset, reason));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}
