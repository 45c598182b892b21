//! The commands on whole books: `check`, `fix`, `prune`, `merge`, `import`, `export`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::books::{cannot_change, open};
use crate::cli::error::{CliError, Context};
use crate::cli::evaluator::WeightsArgument;
use crate::cli::input::{each_once, parse_discs};
use crate::cli::output::Output;
use crate::cli::session::Session;
use flipside::board::{Diagram, Side};
use flipside::book::{self, BookError, BookFormat, Errors, Faults, Keep};
use flipside::eval::Evaluator;
use flipside::text::counted;

/// Check a book for damage and inconsistent values
///
/// Prints what was found; exits with 1 if anything is wrong.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book check book.fsb")]
pub struct CheckArguments {
    /// The book
    book: PathBuf,
}

/// Repair a book in place: keep what can be read and recompute all values
///
/// The file is replaced atomically. Prints what was wrong.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book fix book.fsb")]
pub struct FixArguments {
    /// The book
    book: PathBuf,
}

/// Remove positions from a book that good play does not reach
///
/// Keeps the positions reached from the start by moves that are each at most --within discs worse than the best. The best of the moves whose
/// positions are removed keeps its value, as an estimate. A position that was proved to be won or lost stays so; proofs that single
/// moves lose go with their positions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book prune book.fsb -o small.fsb --within 4 --min-empties 40")]
pub struct PruneArguments {
    /// The book
    book: PathBuf,

    /// The book to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Discs by which a move may be worse than the best
    #[arg(long, value_name = "DISCS", default_value_t = 8.0, value_parser = parse_discs)]
    within: f32,

    /// Remove positions with fewer than N empty squares
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=60))]
    min_empties: u32,
}

/// Merge several books into one
///
/// Games add up; of two searches of a position, the exact or deeper one counts. Books are merged ply by ply, with two plies in memory
/// (32 bytes a position).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book merge monday.fsb tuesday.fsb -o both.fsb")]
pub struct MergeArguments {
    /// The books
    #[arg(required = true, num_args = 2.., value_name = "BOOK")]
    books: Vec<PathBuf>,

    /// The book to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Import another program's book: Edax's book.dat (version 4) or its text, or Egaroucid's .egbk3
///
/// Levels count as plies, and the weights' calibration gives the errors of their values. Links are ignored: moves connect the positions.
/// Impossible positions are left out and counted.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  flipside book import book.dat -o book.fsb\n  flipside book import book.egbk3 -o book.fsb"
)]
pub struct ImportArguments {
    /// The other program's book
    file: PathBuf,

    /// Its format: edax, egaroucid or text [default: detected]
    #[arg(long, value_name = "FORMAT")]
    from: Option<BookFormat>,

    /// The book to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    #[command(flatten)]
    weights: WeightsArgument,
}

/// Export a book as edax (book.dat, version 4), egaroucid (.egbk3) or text, or its valued positions as obf
///
/// Values are rounded to whole discs. `train --records` can learn from obf.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book export book.fsb --to edax -o book.dat\n  \
    flipside book export book.fsb --to obf -o positions.obf\n  flipside train --records positions.obf")]
pub struct ExportArguments {
    /// The book
    book: PathBuf,

    /// The format: edax, egaroucid, text or obf
    #[arg(long, value_name = "FORMAT")]
    to: BookFormat,

    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl CheckArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let faults = book::check(&self.book).context(|| "cannot check the book")?;
        let shown = write_faults(&faults, out).and_then(|()| Ok(out.flush()?));
        if faults.is_none() {
            return shown;
        }
        // Even if nobody reads them.
        Err(CliError::failure(format!("`{}` has faults", self.book.display()))
            .hint("`flipside book fix` repairs what it can."))
    }
}

impl FixArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let faults = book::fix(&self.book).map_err(cannot_change)?;
        write_faults(&faults, out)
    }
}

fn write_faults(faults: &Faults, out: &mut dyn Write) -> Result<(), CliError> {
    let Faults { positions, lost, damage, inconsistent, example } = faults;
    writeln!(out, "positions\t{positions}\nlost\t{lost}\ninconsistent\t{inconsistent}")?;
    if let Some(position) = example {
        writeln!(out, "inconsistent at\t{}", Diagram { position: *position, side: Side::Black })?;
    }
    for (offset, reason) in damage {
        writeln!(out, "damage\tbyte {offset}\t{reason}")?;
    }
    Ok(())
}

impl PruneArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        check_output(&self.output, [&*self.book])?;
        let book = open(&self.book)?;
        let keep = Keep { within: self.within, min_empties: self.min_empties };
        let kept = book::prune(&book, keep, &self.output).map_err(|error| match error {
            BookError::NoStart => CliError::because("cannot prune the book", error)
                .hint("`flipside book grow BOOK --positions 1` adds it."),
            error => cannot_change(error),
        })?;
        Ok(writeln!(out, "positions\t{}\nkept\t{kept}", book.len())?)
    }
}

impl MergeArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let paths = each_once(&self.books, session);
        check_output(&self.output, paths.iter().copied())?;
        let books = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
        let count = book::merge(&books, &self.output).map_err(cannot_change)?;
        for (path, book) in paths.iter().zip(&books) {
            writeln!(out, "{}\t{}", path.display(), book.len())?;
        }
        Ok(writeln!(out, "{}\t{count}", self.output.display())?)
    }
}

impl ImportArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let weights = self.weights.choice();
        check_output(&self.output, [Some(&*self.file), weights.path()].into_iter().flatten())?;
        let cannot = || format!("cannot import `{}`", self.file.display());
        let format = match self.from {
            Some(format) => format,
            None if fs::metadata(&self.file).is_ok_and(|there| !there.is_file() && !there.is_dir()) => {
                let message = format!("`{}` can be read only once: name its format with --from", self.file.display());
                return Err(CliError::Usage(message));
            }
            None => book::detect(&self.file).context(cannot)?,
        };
        let evaluator = weights.load()?;
        let done =
            book::import(&self.file, format, &self.output, &Errors::new(evaluator.calibration())).context(cannot)?;
        let book::Imported { read, positions, left_out } = done;
        Ok(writeln!(out, "read\t{read}\nleft out\t{left_out}\npositions\t{positions}")?)
    }
}

impl ExportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let output = Output::check(&self.output, [&*self.book])?;
        let book = open(&self.book)?;
        let explain = |error| match error {
            BookError::Output(error) => error.into(),
            error => CliError::because("cannot export the book", error),
        };
        let book::Exported { positions, left_out } =
            output.write(out, |writer| book::export(&book, self.to, writer).map_err(explain))?;
        session.say(format_args!("{} written as {}, {left_out} left out", counted(positions, "position"), self.to));
        Ok(())
    }
}

/// Checks that a book can be written there.
fn check_output<'p>(path: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), CliError> {
    if Output::check(path, inputs)?.is_standard_output() {
        return Err(CliError::Usage("a book is a file: name one with -o".into()));
    }
    Ok(())
}
