//! `flipside book`.

mod games;
mod grow;
mod show;
mod whole;

use std::io::Write;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::session::Session;

/// Create, grow, inspect and repair opening books
///
/// A book is a file (.fsb) of positions, each with its negamax value and the best of its moves that lead out of the book. It grows by
/// itself and learns from games; `play`, `gtp` and `nboard` play from it with --book, players of `match` and `league` with `book=`.
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
        matches!(self.command, BookCommand::Grow(_) | BookCommand::Add(_))
    }

    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        match self.command {
            BookCommand::Grow(arguments) => arguments.run(session, out),
            BookCommand::Add(arguments) => arguments.run(session, out),
            BookCommand::Show(arguments) => arguments.run(session, out),
            BookCommand::Check(arguments) => arguments.run(session, out),
            BookCommand::Fix(arguments) => arguments.run(session, out),
            BookCommand::Prune(arguments) => arguments.run(session, out),
            BookCommand::Merge(arguments) => arguments.run(session, out),
            BookCommand::Import(arguments) => arguments.run(session, out),
            BookCommand::Export(arguments) => arguments.run(session, out),
        }
    }
}
