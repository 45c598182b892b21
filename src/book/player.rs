//! A player with a book.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::choose::{BookMove, Choice};
use super::error::BookError;
use super::store::Book;
use crate::arena::{Player, PlayerError};
use crate::board::{Diagram, Position, Square};
use crate::record::MoveNote;

/// A book that the players of all threads read at once, and how they choose moves.
#[derive(Clone, Debug)]
pub struct BookUse {
    book: Arc<RwLock<Book>>,
    choice: Choice,
    seed: u64,
}

impl BookUse {
    /// Moves from a book. Random choices depend on the seed and the position.
    pub fn new(book: Book, choice: Choice, seed: u64) -> Self {
        Self { book: Arc::new(RwLock::new(book)), choice, seed }
    }

    /// The same book, with another choice.
    #[must_use]
    pub fn with_choice(&self, choice: Choice) -> Self {
        Self { choice, ..self.clone() }
    }

    /// Changes the seed, so that random choices differ.
    pub fn reseed(&mut self) {
        self.seed = self.seed.wrapping_add(1);
    }

    /// The move to play in a position, if the book knows one.
    ///
    /// # Errors
    /// Same as [`Book::choose`].
    pub fn choose(&self, position: Position) -> Result<Option<BookMove>, BookError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(position.hash64());
        self.book.read().unwrap_or_else(PoisonError::into_inner).choose(position, self.choice, &mut random)
    }

    /// Runs `work` with exclusive access to the book.
    pub fn with<R>(&self, work: impl FnOnce(&mut Book) -> R) -> R {
        work(&mut self.book.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Plays from a book as long as it knows a move, then as another player.
#[derive(Debug)]
pub struct BookPlayer<P> {
    inner: P,
    book: BookUse,
    found: Option<BookMove>,
}

impl<P: Player> BookPlayer<P> {
    /// A player with a book.
    pub fn new(inner: P, book: BookUse) -> Self {
        Self { inner, book, found: None }
    }
}

impl<P: Player> Player for BookPlayer<P> {
    fn new_game(&mut self) {
        self.inner.new_game();
    }

    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        self.found = self.book.choose(diagram.position).map_err(|error| PlayerError::Broken(broken(&error)))?;
        match self.found {
            Some(found) => Ok(found.to),
            None => self.inner.choose(diagram, stop),
        }
    }

    fn observe(&mut self, diagram: &Diagram, square: Square) {
        self.inner.observe(diagram, square);
    }

    fn note(&self) -> MoveNote {
        match self.found {
            Some(found) => MoveNote { evaluation: Some(found.value.discs()), seconds: None },
            None => self.inner.note(),
        }
    }
}

/// Why a broken book ends a match.
fn broken(error: &BookError) -> String {
    let remedy = if error.is_damage() { "; `flipside book fix` saves what is whole" } else { "" };
    format!("{error}{remedy}")
}
