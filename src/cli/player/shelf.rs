//! What players need, loaded once.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::typed::OwnPlayer;
use crate::cli::books::{cannot_read, open};
use crate::cli::error::CliError;
use crate::cli::evaluator::{EvaluatorChoice, Loaded};
use flipside::book::{BookUse, Choice};

/// Evaluations and books, each loaded once.
#[derive(Default)]
pub struct Shelf {
    evaluators: Vec<Arc<Loaded>>,
    /// The players' books, by file.
    books: Vec<(PathBuf, BookUse)>,
}

impl Shelf {
    /// The book of a player, and what it is, for a log of games: its hash and the choice.
    pub(super) fn book_of(&mut self, player: &OwnPlayer) -> Result<Option<(BookUse, Value)>, CliError> {
        let Some(path) = player.book.as_deref().map(PathBuf::from) else {
            let message =
                |_| CliError::Usage(format!("`{}`: `choice` needs a book, and the player has none", player.typed));
            return player.choice.map_or(Ok(None), |choice| Err(message(choice)));
        };
        // One book under two names is one book.
        let path = path.canonicalize().unwrap_or(path);
        let choice = player.choice.unwrap_or(Choice::Best);
        if self.books.iter().all(|(known, _)| *known != path) {
            self.books.push((path.clone(), BookUse::new(open(&path)?, choice, 1)));
        }
        let (_, book) = self.books.iter().find(|(known, _)| *known == path).expect("it is there now");
        let used = book.with_choice(choice);
        let hash = used.with(|book| book.hash()).map_err(cannot_read)?;
        Ok(Some((used, format!("{hash} {choice:?}").into())))
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
