//! Playing from a book and learning from the games: the option `--book`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};

use super::books::{Searching, cannot_change, edit_unless_no_learn, open};
use super::error::CliError;
use super::evaluator::{AnyEvaluator, Loaded};
use super::session::Session;
use flipside::board::{Diagram, Square};
use flipside::book::{BookUse, Choice, learn_game};
use flipside::clock::since_1970;
use flipside::protocol::Engine;
use flipside::search::{self, Analysis, Limits, Strength};

/// Which of a book's moves to play, as typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ChoiceName {
    /// The best
    #[default]
    Best,
    /// A random one within --book-within of the best
    Varied,
    /// The least played within --book-within of the best
    Surprising,
}

impl ChoiceName {
    /// The choice among moves within a number of discs of the best, by default one.
    pub fn within(self, within: Option<f32>) -> Choice {
        let within = within.unwrap_or(1.0);
        match self {
            Self::Best => Choice::Best,
            Self::Varied => Choice::Varied { within },
            Self::Surprising => Choice::Surprising { within },
        }
    }
}

/// The options for a book that an engine plays from.
#[derive(Args, Debug)]
pub struct WithBookArguments {
    /// Play from this book while it knows a move, and let it learn from each finished game: a line that lost is not repeated until
    /// every alternative is proved to lose as well. A missing book is created
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,

    /// Which of the book's moves to play
    #[arg(long, value_enum, value_name = "CHOICE", default_value = "best", requires = "book")]
    book_choice: ChoiceName,

    /// Discs by which a move may be worse than the best, if the choice is not `best` [default: 1]
    #[arg(long, value_name = "DISCS", requires = "book", value_parser = super::input::parse_discs)]
    book_within: Option<f32>,

    /// Do not change the book
    #[arg(long, requires = "book")]
    no_learn: bool,
}

/// A book that an engine plays from.
pub struct WithBook {
    moves: BookUse,
    /// What it learns with.
    learning: Option<Searching>,
    session: Session,
}

/// Limits of the searches for a book after a game: plies to look ahead, and empty squares to solve.
const LEARN_DEPTH: u32 = 6;
const LEARN_EXACT: u32 = 16;

impl WithBookArguments {
    /// Opens the book, if one was given, for an engine with this evaluation.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(
        &self,
        loaded: &Arc<Loaded>,
        strength: Strength,
        session: &Session,
    ) -> Result<Option<WithBook>, CliError> {
        let Some(path) = &self.book else { return Ok(None) };
        if self.book_within.is_some() && self.book_choice == ChoiceName::Best {
            return Err(CliError::Usage("--book-within needs --book-choice varied or --book-choice surprising".into()));
        }
        let seed = since_1970().as_nanos() as u64;
        let choice = self.book_choice.within(self.book_within);
        let learning = (!self.no_learn).then(|| {
            let strength = Strength {
                depth: strength.depth.min(LEARN_DEPTH),
                exact_empties: strength.exact_empties.min(LEARN_EXACT),
                ..strength
            };
            Searching::new(Arc::clone(loaded), strength, strength.log2_entries())
        });
        let book = if learning.is_some() { edit_unless_no_learn(path)? } else { open(path)? };
        Ok(Some(WithBook { moves: BookUse::new(book, choice, seed), learning, session: *session }))
    }
}

impl WithBook {
    /// Learns a finished game, if the book learns.
    ///
    /// # Errors
    /// The book cannot be written.
    pub fn learn(&self, steps: &[(Diagram, Square)], black_discs: i32) -> Result<(), CliError> {
        let Some(searching) = &self.learning else { return Ok(()) };
        let never = AtomicBool::new(false);
        let mut searcher = searching.searcher();
        let learned =
            self.moves.with(|book| learn_game(book, steps, black_discs, &mut searcher, &searching.hash(), &never));
        learned.map_err(cannot_change)
    }

    /// The book's best move in a position, if it knows one. A book that cannot be read is reported and ignored.
    pub fn think(&self, diagram: &Diagram) -> Option<Analysis> {
        self.ask(&self.moves.with_choice(Choice::Best), diagram)
    }

    /// The move to play in a position, by the book's choice.
    pub fn choose(&self, diagram: &Diagram) -> Option<Analysis> {
        self.ask(&self.moves, diagram)
    }

    fn ask(&self, moves: &BookUse, diagram: &Diagram) -> Option<Analysis> {
        let found = moves.choose(diagram.position).unwrap_or_else(|error| {
            self.session.say(format_args!("the book cannot be read: {error}"));
            None
        });
        found.map(Analysis::from)
    }
}

/// Our engine with a book, to be served.
pub struct BookEngine<'e> {
    engine: search::Engine<'e, AnyEvaluator>,
    book: Option<WithBook>,
}

impl<'e> BookEngine<'e> {
    /// An engine that plays from a book, if there is one.
    pub fn new(engine: search::Engine<'e, AnyEvaluator>, book: Option<WithBook>) -> Self {
        Self { engine, book }
    }
}

impl Engine for BookEngine<'_> {
    fn strength(&self) -> Strength {
        self.engine.strength()
    }

    fn new_game(&mut self) {
        self.engine.forget();
        if let Some(book) = &mut self.book {
            book.moves.reseed();
        }
    }

    fn think(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis {
        let known = self.book.as_ref().and_then(|book| book.think(diagram));
        known.unwrap_or_else(|| self.engine.think(diagram, limits))
    }

    fn choose(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis {
        let known = self.book.as_ref().and_then(|book| book.choose(diagram));
        known.unwrap_or_else(|| self.engine.choose(diagram, limits))
    }

    fn learn(&mut self, steps: &[(Diagram, Square)], black_discs: i32) {
        if let Some(book) = &self.book
            && let Err(error) = book.learn(steps, black_discs)
        {
            book.session.say(error.report());
        }
    }
}
