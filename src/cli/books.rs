//! Opening books, and what they are searched with.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, Loaded, WeightsArgument, own_engine};
use super::memory::check_tables;
use super::session::Session;
use super::strength::StrengthArguments;
use flipside::book::{Book, BookError, Errors, Hash, LeafSearch};
use flipside::eval::Evaluator;
use flipside::search::Strength;
use flipside::storage::FileError;

/// Opens a book to read it.
pub fn open(path: &Path) -> Result<Book, CliError> {
    Book::open(path).map_err(cannot_read)
}

/// Opens a book to change it.
pub fn edit(path: &Path, create: bool) -> Result<Book, CliError> {
    let book = if create { Book::edit_or_create(path) } else { Book::edit(path) };
    book.map_err(cannot_read)
}

/// Opens a book to play from it and to change it, for a command that only reads it with `--no-learn`.
pub fn edit_unless_no_learn(path: &Path) -> Result<Book, CliError> {
    Book::edit_or_create(path).map_err(|error| cannot_use(error, true))
}

/// Why a book cannot be read.
pub fn cannot_read(error: BookError) -> CliError {
    cannot_use(error, false)
}

fn cannot_use(error: BookError, learns: bool) -> CliError {
    let is_read_only = |kind| matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem);
    let hint = match &error {
        BookError::Locked(_) if learns => {
            "Wait until it has ended. Any number of processes can read the book: with `--no-learn` it is only read."
        }
        BookError::Locked(_) => "Wait until it has ended.",
        BookError::File(FileError::Io { path, source })
            if learns && is_read_only(source.kind()) && File::open(path).is_ok() =>
        {
            "It may be read, and not changed: with `--no-learn` it is only read."
        }
        error if error.is_damage() => "`flipside book check FILE` lists all faults, `book fix` saves what is intact.",
        _ => return CliError::because("cannot use the book", error),
    };
    CliError::because("cannot use the book", error).hint(hint)
}

/// What went wrong in work on a book.
pub fn cannot_change(error: BookError) -> CliError {
    match error {
        BookError::Stopped => CliError::Stopped("stopped".into()),
        error => CliError::because("cannot change the book", error),
    }
}

/// How positions of a book are searched.
#[derive(Args, Debug)]
#[command(mut_arg("depth", |depth| depth.default_value("10")), mut_arg("exact_empties", |empties| empties.default_value("16")))]
pub struct SearchArguments {
    #[command(flatten)]
    weights: WeightsArgument,

    #[command(flatten)]
    strength: StrengthArguments,

    /// Size of each hash table of each thread: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

/// An evaluation to search with, and its measured errors.
pub struct Searching {
    pub loaded: Arc<Loaded>,
    errors: Errors,
    strength: Strength,
    log2_hash: u32,
}

impl SearchArguments {
    /// Loads the evaluation.
    ///
    /// # Errors
    /// What is wrong with the weights, or tables that do not fit into memory.
    pub fn load(&self, session: &Session) -> Result<Searching, CliError> {
        check_tables(2 * session.threads as u64, self.log2_hash)?;
        let strength = self.strength.strength();
        let loaded = self.weights.choice().load_named()?;
        loaded.choice.check_calibrated(&loaded.evaluator, strength.selectivity)?;
        Ok(Searching::new(loaded, strength, self.log2_hash))
    }
}

impl Searching {
    /// Searches with an evaluation.
    pub fn new(loaded: Arc<Loaded>, strength: Strength, log2_hash: u32) -> Self {
        let errors = Errors::new(loaded.evaluator.calibration());
        Self { loaded, errors, strength, log2_hash }
    }

    /// The name of the weights in a book; all zeros for evaluations without weights.
    pub fn hash(&self) -> Hash {
        let text = self.loaded.weights.as_deref().unwrap_or_default();
        let mut hash = Hash::default();
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).expect("hexadecimal digits");
            *byte = u8::from_str_radix(digits, 16).expect("hexadecimal digits");
        }
        hash
    }

    /// Refuses weights whose errors have not been measured.
    ///
    /// # Errors
    /// They are not calibrated.
    pub fn must_be_calibrated(&self) -> Result<(), CliError> {
        match self.errors.are_known() {
            true => Ok(()),
            false => Err(self.loaded.choice.not_calibrated(", so the errors of its values are not known")),
        }
    }

    /// A searcher for a thread.
    pub fn searcher(&self) -> LeafSearch<'_, AnyEvaluator> {
        LeafSearch::new(own_engine(&self.loaded.evaluator, self.strength, self.log2_hash), self.errors.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_options_is_only_for_commands_that_have_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let report = |error, learns| cannot_use(error, learns).report();
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem, ErrorKind::NotADirectory] {
            let error = || BookError::File(FileError::io(file.path())(kind.into()));
            let is_advised = report(error(), true).contains("with `--no-learn` it is only read.");
            assert_eq!(is_advised, kind != ErrorKind::NotADirectory);
            assert!(!report(error(), false).contains("only read"));
        }
        let locked = || BookError::Locked(file.path().to_owned());
        assert!(report(locked(), true).contains("with `--no-learn` it is only read."));
        assert!(report(locked(), false).ends_with("\n  Wait until it has ended."));
    }
}
