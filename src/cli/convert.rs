//! `flipside convert`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::input::{Input, STANDARD_STREAM, refuse_own_files};
use super::output::Output;
use super::session::Session;
use flipside::record::{ConvertError, Converted, Format, MAX_REPORTED, RecordError, convert, read};

/// Convert records of games and positions from one format to another
///
/// Game formats: ggf, sgf, f5d6 and, for reading only, wthor and log (from `match --games`). Position formats: obf, egaroucid. Also reads the
/// games that a run keeps (RUN/games/*.fsg). When games are converted to positions, each position gets the game's result as its score.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside convert games.jsonl --to f5d6 -o games.txt\n  \
    flipside convert runs/latest/games/00000000.fsg --to egaroucid -o positions.txt")]
pub struct ConvertArguments {
    /// The records; `-` is standard input
    file: PathBuf,

    /// Input format [default: detected]
    #[arg(long, value_name = "FORMAT")]
    from: Option<Format>,

    /// Output format
    #[arg(long, value_name = "FORMAT")]
    to: Format,

    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = STANDARD_STREAM)]
    output: PathBuf,

    /// Skip records that cannot be read or written instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,
}

const NAME_FORMAT: &str = "Name the right format with --from.";

impl ConvertArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let output = Output::check(&self.output, [&*self.file])?;
        refuse_own_files([&*self.file], true)?;
        let input = Input::read(&self.file, self.from, session)?;
        let (name, from, bytes) = (&input.name, input.format, input.bytes());
        if bytes.is_empty() {
            return Err(CliError::failure(match input.is_kept {
                true => format!("there are no games in {name} yet"),
                false => format!("there are no records in {name}: it is empty"),
            }));
        }
        if !self.skip_bad && !output.is_replaced() {
            // Before anything is written: standard output cannot be taken back.
            let mut on_bad = |error: RecordError| if error.is_cut_off_end { Ok(()) } else { Err(error) };
            convert(bytes, from, self.to, &mut io::sink(), &mut on_bad)
                .map_err(|error| self.explain(error, name, from))?;
        }
        let nothing =
            |error: String| CliError::failure(error).hint_if_any(self.may_be_other(from).then_some(NAME_FORMAT));
        let is_nothing = |record: Result<_, RecordError>| record.is_err_and(|error| error.is_cut_off_end);
        if read(bytes, from).is_ok_and(|mut records| records.all(is_nothing)) {
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
            let done = convert(bytes, from, self.to, &mut writer, &mut on_bad);
            match done.map_err(|error| self.explain(error, name, from))? {
                // What the output was before is worth more.
                Converted { written: 0, .. } => {
                    let to = self.to;
                    Err(nothing(format!("no record in {name}, which was read as {from}, can be converted to {to}")))
                }
                done => Ok(done),
            }
        })?;
        out.flush()?;
        let found = if input.is_kept { "kept games" } else { from.name() };
        session.say(format_args!("{found} to {}: {read} read, {written} written, {skipped} left out", self.to));
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
