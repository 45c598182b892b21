//! `flipside book`.

mod games;
mod grow;
mod matching;
mod searching;
mod show;
mod whole;

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::session::Session;
use crate::book::{Book, BookError};
use crate::storage::FileError;
pub use searching::Searching;
pub use whole::parse_discs;

/// Create, grow, inspect and repair opening books
///
/// A book is a file (.fsb) of positions, each with its negamax value and the best of its moves that lead out of the book. It grows by
/// itself and learns from games; `play`, `gtp`, `nboard`, `match` and `league` play from it with --book.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book grow book.fsb --minutes 10\n  flipside book show book.fsb f5\n  \
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
    edit_unless(None, path, create, session)
}

/// [`edit`], for a command that only reads the book with another choice of options, such as "with `--no-learn`".
pub fn edit_unless(read_only: Option<&str>, path: &Path, create: bool, session: &Session) -> Result<Book, CliError> {
    let book = if create { Book::edit_or_create(path) } else { Book::edit(path) };
    let book = book.map_err(|error| cannot_use(error, read_only))?;
    if book.dropped() > 0 {
        let (path, bytes) = (path.display(), book.dropped());
        session.say(format_args!("`{path}`: the last batch was cut off; its {bytes} bytes are dropped"));
    }
    Ok(book)
}

fn cannot_read(error: BookError) -> CliError {
    cannot_use(error, None)
}

fn cannot_use(error: BookError, read_only: Option<&str>) -> CliError {
    let is_read_only = |kind| matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
    let hint = match (&error, read_only) {
        (BookError::Locked(_), Some(how)) => {
            Some(format!("Wait until it has ended. Any number of processes can read the book: {how} it is only read."))
        }
        (BookError::Locked(_), None) => Some("Wait until it has ended.".to_owned()),
        (BookError::File(FileError::Io { path, source }), Some(how))
            if is_read_only(source.kind()) && File::open(path).is_ok() =>
        {
            Some(format!("It may be read, and not changed: {how} it is only read."))
        }
        (error, _) if error.is_damage() => {
            Some("`flipside book check FILE` lists all faults, `book fix` saves what is intact.".to_owned())
        }
        _ => None,
    };
    CliError::because("cannot use the book", error).hint_if_any(hint)
}

/// What went wrong in work on a book.
pub fn cannot_change(error: BookError) -> CliError {
    match error {
        BookError::Stopped => CliError::Stopped("stopped".into()),
        error => CliError::because("cannot change the book", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_options_is_only_for_commands_that_have_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let report = |error, read_only| cannot_use(error, read_only).report();
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotADirectory] {
            let error = || BookError::File(FileError::io(file.path())(kind.into()));
            assert_eq!(
                report(error(), Some("with `--no-learn`")).contains("with `--no-learn` it is only read."),
                kind != ErrorKind::NotADirectory
            );
            assert!(!report(error(), None).contains("only read"));
        }
        let locked = || BookError::Locked(file.path().to_owned());
        assert!(report(locked(), Some("without `--learn`")).contains("without `--learn` it is only read."));
        assert!(report(locked(), None).ends_with("\n  Wait until it has ended."));
    }
}
