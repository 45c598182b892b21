//! `flipside convert`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;

use super::error::CliError;
use super::input::{Input, STANDARD_STREAM, refuse_own_files};
use super::labelled::{LabelledArguments, holds_kept_games};
use super::output::Output;
use super::session::Session;
use flipside::games::games_folder;
use flipside::label::PositionFormat;
use flipside::names::UnknownName;
use flipside::record::{ConvertError, Converted, Format, MAX_REPORTED, RecordError, convert, read};

/// Convert records of games and positions from one format to another, and kept games to positions for any trainer
///
/// Game formats: ggf, sgf, f5d6 and, for reading only, wthor and log (from `match --games`). Position formats: obf, egaroucid and, for
/// reading only, neural-reversi. When games are converted to positions, each position gets the game's result as its score.
///
/// Games that runs keep become labelled positions in npz (an array for each field), npy (records), egaroucid or obf (boards with the label
/// in whole discs); docs/FILES.md describes the fields. Memory does not grow with the games, and the same games and options give the
/// same bytes. If several files are written, all of them appear at the end, or none. A file of kept games also goes to game formats.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside convert games.jsonl --to f5d6 -o games.txt\n  \
    flipside convert runs/latest --to npz --shuffle -o positions.npz\n  \
    flipside convert runs/latest --to obf --label search --empties 10-50 --sample 1000 -o some.obf")]
pub struct ConvertArguments {
    /// Records (`-` is standard input); or runs, with the games of those that they continue, and files of kept games (.fsg)
    #[arg(required = true, value_name = "RUN|FILE")]
    files: Vec<PathBuf>,

    /// Input format [default: detected]
    #[arg(long, value_name = "FORMAT")]
    from: Option<Format>,

    /// Output format
    #[arg(long, value_name = "FORMAT")]
    to: To,

    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = STANDARD_STREAM)]
    output: PathBuf,

    /// Skip records that cannot be read or written instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,

    #[command(flatten)]
    labelled: LabelledArguments,
}

/// A format to convert to.
#[derive(Clone, Copy, Debug)]
enum To {
    /// One of records, which kept games may go to as well.
    Records(Format),
    /// One for kept games alone.
    Positions(PositionFormat),
}

impl FromStr for To {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let records = |mut error: UnknownName| {
            error.known.extend(["npz", "npy"]);
            name.parse().map(Self::Positions).map_err(|_| error)
        };
        name.parse().map(Self::Records).or_else(records)
    }
}

const NAME_FORMAT: &str = "Name the right format with --from.";

impl ConvertArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let has_kept = self.files.iter().any(|path| holds_kept_games(path));
        let positions = match self.to {
            To::Positions(format) => Some(format),
            To::Records(format) => format.name().parse().ok().filter(|_| has_kept),
        };
        if let Some(format) = positions {
            if self.from.is_some() || self.skip_bad {
                return Err(CliError::Usage("--from and --skip-bad are for records, not for kept games".into()));
            }
            return self.labelled.run(&self.files, format, &self.output, session, out);
        }
        let To::Records(to) = self.to else { unreachable!("formats of positions are done") };
        if let Some(option) = self.labelled.given() {
            let message = format!(
                "{option} is for positions of kept games: npz, npy, egaroucid or obf from runs and their files"
            );
            return Err(CliError::Usage(message));
        }
        match &*self.files {
            [file] if file.is_dir() => Err(CliError::Usage(format!(
                "a run's games go to npz, npy, egaroucid or obf; to {to} go the files in `{}`, one at a time",
                games_folder(file).display()
            ))),
            [file] => self.convert(file, to, session, out),
            _ => Err(CliError::Usage(format!("records go to {to} one file at a time"))),
        }
    }

    /// Converts records.
    fn convert(&self, file: &Path, to: Format, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let output = Output::check(&self.output, [file])?;
        refuse_own_files([file], true)?;
        let input = Input::read(file, self.from, session)?;
        if input.is_kept && to.is_of_positions() {
            return Err(CliError::Usage(format!("kept games go to {to} from files, not from {}", input.name)));
        }
        let (name, from, bytes) = (&input.name, input.format, input.bytes());
        if bytes.is_empty() {
            return Err(CliError::failure(match input.is_kept {
                true => format!("there are no games in {name} yet"),
                false => format!("there are no records in {name}: it is empty"),
            }));
        }
        let other = self.may_be_other(from).then_some(NAME_FORMAT);
        let mut records = read(bytes, from)
            .map_err(|error| CliError::because(format!("cannot convert {name} as {from}"), error).hint_if_any(other))?;
        if !self.skip_bad && !output.is_replaced() {
            // Before anything is written: standard output cannot be taken back.
            let mut on_bad = |error: RecordError| if error.is_cut_off_end { Ok(()) } else { Err(error) };
            convert(bytes, from, to, &mut io::sink(), &mut on_bad).map_err(|error| self.explain(error, name, from))?;
        }
        let nothing = |error: String| CliError::failure(error).hint_if_any(other);
        let is_nothing = |record: Result<_, RecordError>| record.is_err_and(|error| error.is_cut_off_end);
        if records.all(is_nothing) {
            return Err(nothing(format!("there are no records in {name}, which was read as {from}")));
        }
        let mut reported = 0;
        let mut on_bad = |error: RecordError| {
            if !self.skip_bad && !error.is_cut_off_end {
                return Err(error);
            }
            reported += 1;
            if reported <= MAX_REPORTED {
                session.say(format_args!("left out: {error}"));
            }
            Ok(())
        };
        let Converted { read, written, skipped } = output.write(out, |mut writer| {
            let done = convert(bytes, from, to, &mut writer, &mut on_bad);
            match done.map_err(|error| self.explain(error, name, from))? {
                // What the output was before is worth more.
                Converted { written: 0, .. } => {
                    Err(nothing(format!("no record in {name}, which was read as {from}, can be converted to {to}")))
                }
                done => Ok(done),
            }
        })?;
        out.flush()?;
        let found = if input.is_kept { "kept games" } else { from.name() };
        session.say(format_args!("{found} to {to}: {read} read, {written} written, {skipped} left out"));
        Ok(())
    }

    /// Whether the input's format was guessed, and perhaps wrongly: nothing else looks like a log.
    fn may_be_other(&self, from: Format) -> bool {
        self.from.is_none() && from != Format::Log
    }

    fn explain(&self, error: ConvertError, name: &str, from: Format) -> CliError {
        let may_skip = matches!(error, ConvertError::Record(_)) && !self.skip_bad;
        let hint = match (self.may_be_other(from), may_skip) {
            (true, true) => Some("Name the right format with --from, or leave such records out with --skip-bad."),
            (true, false) => Some(NAME_FORMAT),
            (false, true) => Some("Leave such records out with --skip-bad."),
            (false, false) => None,
        };
        match error {
            ConvertError::Record(_) => {
                CliError::because(format!("cannot convert {name} as {from}"), error).hint_if_any(hint)
            }
            ConvertError::Output(error) => error.into(),
            other => CliError::Usage(format!("cannot convert {name}: {other}")),
        }
    }
}
