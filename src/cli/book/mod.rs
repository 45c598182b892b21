//! `flipside book`.

mod games;
mod grow;
mod matching;
mod searching;
mod show;
mod whole;

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::session::Session;
use crate::book::{Book, BookError};
pub use searching::Searching;
pub use whole::parse_discs;

/// Make, grow, look at and repair opening books
///
/// A book is a file (.fsb) of positions with the best move of each that leads nowhere in the book, and with values by negamax. It grows
/// by itself, learns from games, and serves `play`, `gtp`, `nboard`, `match` and `league` by their option --book.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside book grow book.fsb --minutes 10\n  flipside book show book.fsb f5\n  \
    flipside play --book book.fsb")]
pub struct BookArguments {
    #[command(subcommand)]
    command: BookCommand,
}

#[derive(Subcommand, Debug)]
enum BookCommand {
    Grow(grow::GrowArguments),
    Add(games::AddArguments),
    Show(show::ShowArguments),
    Match(matching::BookMatchArguments),
    Check(whole::CheckArguments),
    Fix(whole::FixArguments),
    Prune(whole::PruneArguments),
    Merge(whole::MergeArguments),
    Import(whole::ImportArguments),
    Export(whole::ExportArguments),
}

impl BookArguments {
    /// Whether it searches or plays, for minutes or hours as a rule.
    pub fn works_long(&self) -> bool {
        matches!(self.command, BookCommand::Grow(_) | BookCommand::Add(_) | BookCommand::Match(_))
    }

    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        match self.command {
            BookCommand::Grow(arguments) => arguments.run(session, out),
            BookCommand::Add(arguments) => arguments.run(session, out),
            BookCommand::Show(arguments) => arguments.run(session, out),
            BookCommand::Match(arguments) => arguments.run(session, out),
            BookCommand::Check(arguments) => arguments.run(session, out),
            BookCommand::Fix(arguments) => arguments.run(session, out),
            BookCommand::Prune(arguments) => arguments.run(session, out),
            BookCommand::Merge(arguments) => arguments.run(session, out),
            BookCommand::Import(arguments) => arguments.run(session, out),
            BookCommand::Export(arguments) => arguments.run(session, out),
        }
    }
}

/// A book to be read.
pub fn open(path: &Path) -> Result<Book, CliError> {
    Book::open(path).map_err(cannot_read)
}

/// A book to be changed, with what was lost of it said.
pub fn edit(path: &Path, create: bool, session: &Session) -> Result<Book, CliError> {
    let book = if create { Book::edit_or_create(path) } else { Book::edit(path) }.map_err(cannot_read)?;
    if book.dropped() > 0 {
        let (path, bytes) = (path.display(), book.dropped());
        session.say(format_args!("`{path}`: the last batch was cut off; its {bytes} bytes are dropped"));
    }
    Ok(book)
}

fn cannot_read(error: BookError) -> CliError {
    let hint = match &error {
        BookError::Locked(_) => {
            Some("Wait until it has ended. Any number of others can read the book: `--no-learn` plays by it.")
        }
        error if error.is_damage() => {
            Some("`flipside book check FILE` tells all that is wrong, `book fix` saves what is whole.")
        }
        _ => None,
    };
    let failure = CliError::because("cannot use the book", error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What went wrong in work on a book.
pub fn cannot_change(error: BookError) -> CliError {
    match error {
        BookError::Stopped => CliError::Stopped("stopped".into()),
        error => CliError::because("cannot change the book", error),
    }
}
