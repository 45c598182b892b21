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

/// Create, grow, inspect and repair opening books
///
/// A book is a file (.fsb) of positions, each with its negamax value and the best of its moves that lead out of the book. It grows by
/// itself and learns from games; `play`, `gtp`, `nboard`, `match` and `league` play from it with --book.
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
    /// Whether it usually runs for minutes or hours.
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

/// Opens a book to read it.
pub fn open(path: &Path) -> Result<Book, CliError> {
    Book::open(path).map_err(cannot_read)
}

/// Opens a book to change it, and reports a cut-off end.
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
            Some("Wait until it has ended. Any number of processes can read the book: `--no-learn` only reads it.")
        }
        error if error.is_damage() => {
            Some("`flipside book check FILE` lists all faults, `book fix` saves what is intact.")
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
