//! What players need, loaded once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::typed::OwnPlayer;
use crate::cli::books::cannot_change;
use crate::cli::error::CliError;
use crate::cli::evaluator::{EvaluatorChoice, Loaded};
use crate::cli::session::Session;
use crate::cli::with_book::{Learner, WithBook};
use flipside::book::{BookUse, Choice};
use flipside::search::Strength;

/// Evaluations and books, each loaded once.
pub struct Shelf {
    evaluators: Vec<Arc<Loaded>>,
    /// The book of players without one of their own.
    book: Option<PathBuf>,
    /// Whether a player took it.
    book_taken: bool,
    /// Whether books learn.
    learn: bool,
    session: Session,
    /// The players' books, by file.
    books: Vec<(PathBuf, WithBook)>,
}

impl Shelf {
    /// A shelf with a book for all of our own players that have none of their own.
    pub fn new(book: Option<&Path>, learn: bool, session: &Session) -> Self {
        let book = book.map(Path::to_owned);
        Self { evaluators: Vec::new(), book, book_taken: false, learn, session: *session, books: Vec::new() }
    }

    /// Checks that some player uses the book for all players.
    ///
    /// # Errors
    /// No player does: each has a book of its own, or `none`.
    pub fn check_book(&self) -> Result<(), CliError> {
        match &self.book {
            Some(_) if !self.book_taken => Err(CliError::Usage(
                "--book is for flipside's own players without a `book=`, and there are none".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Whether any player has a book.
    pub fn has_books(&self) -> bool {
        !self.books.is_empty()
    }

    /// The books of the players.
    pub fn books(&self) -> &[(PathBuf, WithBook)] {
        &self.books
    }

    /// The book of a player, and what it is, for a log of games.
    pub(super) fn book_of(
        &mut self,
        player: &OwnPlayer,
        loaded: &Arc<Loaded>,
        strength: Strength,
    ) -> Result<Option<(BookUse, Value)>, CliError> {
        let path = match player.book.as_deref() {
            Some("none") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => {
                self.book_taken = true;
                self.book.clone()
            }
        };
        let Some(path) = path else {
            let message =
                |_| CliError::Usage(format!("`{}`: `choice` needs a book, and the player has none", player.typed));
            return player.choice.map_or(Ok(None), |choice| Err(message(choice)));
        };
        // One book under two names is one book.
        let mut path = path.canonicalize().unwrap_or(path);
        let choice = player.choice.unwrap_or(Choice::Best);
        if self.books.iter().all(|(known, _)| *known != path) {
            let learner = self.learn.then_some(Learner { loaded, strength, read_only: "without `--learn`" });
            let book = WithBook::open(&path, choice, 1, learner, &self.session)?;
            // It may have been created only now.
            path = path.canonicalize().unwrap_or(path);
            self.books.push((path.clone(), book));
        }
        let (_, book) = self.books.iter().find(|(known, _)| *known == path).expect("it is there now");
        let used = book.moves.with_choice(choice);
        let identity = self.identity(&path, &used, choice)?;
        Ok(Some((used, identity)))
    }

    /// A book in a log of games: its hash, or its file if it learns, and the choice.
    fn identity(&self, path: &Path, used: &BookUse, choice: Choice) -> Result<Value, CliError> {
        let which = if self.learn {
            format!("learning {}", path.display())
        } else {
            used.with(|book| book.hash()).map_err(cannot_change)?
        };
        Ok(format!("{which} {choice:?}").into())
    }

    /// An evaluation, loaded if it is not here yet.
    pub(super) fn get(&mut self, choice: &EvaluatorChoice) -> Result<Arc<Loaded>, CliError> {
        if let Some(loaded) = self.evaluators.iter().find(|loaded| loaded.choice == *choice) {
            return Ok(Arc::clone(loaded));
        }
        let loaded = choice.load_expecting(
            "Expected a weight file, `default`, `squares`, `mobility`, or another program as `gtp:COMMAND` or `nboard:COMMAND`.",
        )?;
        self.evaluators.push(Arc::clone(&loaded));
        Ok(loaded)
    }
}
