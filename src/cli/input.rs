//! Records of games and positions from files and from standard input, and numbers as typed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{CliError, Context};
use super::session::Session;
use flipside::board::ScoredDiagram;
use flipside::book::is_book;
use flipside::games::{GamesError, is_games_file, whole_frames};
use flipside::record::{Format, MAX_BYTES, Record, RecordError, Records, read};
use flipside::storage::{decode_text, read_start, read_stream};
use flipside::train;
use flipside::weights::is_weight_file;

/// Standard input or output, in the place of a file's name.
pub const STANDARD_STREAM: &str = "-";

/// What a file of positions looks like.
pub const FORMAT: &str = "Expected one position per line: 64 characters (X black, O white, - or . empty), a space, the side to move \
                      (X or b, O or w), and optionally a score in discs or OBF data; or the moves that lead to it, such as f5d6c3. \
                      Boards in eight lines, GGF, SGF and other records are read too.";

/// The message about a file of kept games that ends within a frame.
pub const CUT_OFF: &str = "its end is missing (cut off, or not written yet); the games before it are used";

/// The message about a path that is named again.
pub const AGAIN: &str = "is named twice and used once";

/// Hours or minutes of work, as typed.
///
/// # Errors
/// Not a number above 0, or one that is surely a mistake.
pub fn parse_time(text: &str) -> Result<f64, String> {
    let time = text.parse().ok().filter(|&time| time > 0.0 && time <= 100_000.0);
    time.ok_or_else(|| "expected a number above 0, up to 100000, such as 1.5".into())
}

/// A time for a move, as typed: like `50ms` or `1.5s`.
///
/// # Errors
/// What was expected.
pub fn parse_move_time(text: &str) -> Result<Duration, String> {
    let milliseconds = match text.strip_suffix("ms") {
        Some(number) => number.parse().ok(),
        None => text.strip_suffix('s').and_then(|number| Some(1000.0 * number.parse::<f64>().ok()?)),
    };
    let sensible = milliseconds.filter(|milliseconds: &f64| (1.0..=86_400_000.0).contains(milliseconds));
    let time = sensible.map(|milliseconds| Duration::from_secs_f64(milliseconds / 1000.0));
    time.ok_or_else(|| "expected a time from 1ms to 86400s, such as 50ms or 1.5s".to_owned())
}

/// [`parse_move_time`], or seconds without a unit.
///
/// # Errors
/// What was expected.
pub fn parse_move_seconds(text: &str) -> Result<Duration, String> {
    let time = if text.parse::<f64>().is_ok() { parse_move_time(&format!("{text}s")) } else { parse_move_time(text) };
    time.map_err(|_| "expected seconds from 0.001 to 86400, such as 1.5, or a time such as 50ms".to_owned())
}

/// Discs from 0 to 128, as typed.
pub fn parse_discs(text: &str) -> Result<f32, String> {
    let discs = text.parse().ok().filter(|discs| (0.0..=128.0).contains(discs));
    discs.ok_or_else(|| format!("`{text}`: expected a number of discs from 0 to 128, such as 1.5"))
}

/// The name in messages of a path that may be standard input.
pub fn name_of(path: &Path) -> String {
    if path == Path::new(STANDARD_STREAM) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The paths without duplicates, even through links; duplicates are reported.
pub fn each_once<'p>(paths: &'p [PathBuf], session: &Session) -> Vec<&'p Path> {
    let mut named = BTreeSet::new();
    let is_new = |path: &&Path| {
        let is_new = named.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        if !is_new {
            session.say(format_args!("{} {AGAIN}", name_of(path)));
        }
        is_new
    };
    paths.iter().map(PathBuf::as_path).filter(is_new).collect()
}

/// [`train::with_continued`], which is reported.
pub fn with_continued(paths: &[PathBuf], session: &Session) -> Vec<PathBuf> {
    train::with_continued(paths, &mut |text, _| session.say(text))
}

/// The records of a file or of standard input.
pub struct Input {
    /// How messages call it.
    pub name: String,
    /// The format it is read in.
    pub format: Format,
    /// Whether it is a file of kept games, which is read as transcripts.
    pub is_kept: bool,
    bytes: Vec<u8>,
}

impl Input {
    /// Reads a file, or standard input if the path is `-`; without a format in the one that it looks like. Says if its end is missing.
    ///
    /// # Errors
    /// The file system's, too large a file, a file of kept games that is damaged.
    pub fn read(path: &Path, format: Option<Format>, session: &Session) -> Result<Self, CliError> {
        let name = name_of(path);
        let cannot_read = || format!("cannot read {name}");
        let bytes = read_bytes(path, session).context(cannot_read)?;
        if !is_games_file(&bytes) {
            let format = format.unwrap_or_else(|| Format::detect(&bytes));
            return Ok(Self { name, format, is_kept: false, bytes });
        }
        if let Some(format) = format {
            return Err(CliError::Usage(format!("{name} is a file of kept games, not {format}: leave out --from")));
        }
        let (games, are_all) = transcripts(&bytes).context(cannot_read)?;
        if !are_all {
            session.say(format_args!("{name}: {CUT_OFF}"));
        }
        Ok(Self { name, format: Format::F5d6, is_kept: true, bytes: games.into_bytes() })
    }

    /// Its content, as text if it is kept games.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its records.
    ///
    /// # Errors
    /// It is not what its format should be.
    pub fn records(&self) -> Result<Records<'_>, CliError> {
        read(&self.bytes, self.format).map_err(|error| self.explain(error))
    }

    /// The error for a record that cannot be read.
    pub fn explain(&self, error: RecordError) -> CliError {
        CliError::because(format!("cannot read {} as {}", self.name, self.format), error)
    }
}

/// The games of a file of kept games, one transcript per line, and whether the file is complete.
fn transcripts(file: &[u8]) -> Result<(String, bool), GamesError> {
    let mut text = String::new();
    let (frames, are_all) = whole_frames(file)?;
    for frame in frames {
        for game in frame.decode()? {
            let line: String = game.moves().iter().map(ToString::to_string).collect();
            text += &line;
            text.push('\n');
        }
    }
    Ok((text, are_all))
}

/// The content of a file, or of standard input if the path is `-`.
fn read_bytes(path: &Path, session: &Session) -> io::Result<Vec<u8>> {
    const WHAT: &str = "file of records";
    if path != Path::new(STANDARD_STREAM) {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        return read_stream(file, length, WHAT, MAX_BYTES);
    }
    if io::stdin().is_terminal() {
        session.say("Reading from the terminal; end with Ctrl-D on a line of its own.");
    }
    read_stream(io::stdin(), 0, WHAT, MAX_BYTES)
}

/// Refuses books, weight files and (unless they are also wanted) files of kept games where records are wanted.
///
/// # Errors
/// One of the paths is such a file.
pub fn refuse_own_files<'p>(
    records: impl IntoIterator<Item = &'p Path>,
    takes_kept_games: bool,
) -> Result<(), CliError> {
    for path in records.into_iter().filter(|path| path.is_file()) {
        // Errors are reported when the file is read in full.
        let start = read_start(path).unwrap_or_default();
        let (what, hint) = if is_book(&start) {
            (
                "an opening book",
                "`flipside book export BOOK --to obf -o FILE` turns a book into scored positions; `book import` takes other programs' \
                 books, `book merge` our own.",
            )
        } else if is_weight_file(&start) {
            (
                "a weight file",
                "`flipside inspect` shows what is in it; `eval`, `search`, `play` and others take it with -w, `match` and `export` without.",
            )
        } else if is_games_file(&start) && !takes_kept_games {
            (
                "a file of kept games",
                "`flipside fit` and `flipside book add` learn from kept games, and `flipside convert` turns them into records.",
            )
        } else {
            continue;
        };
        let message = format!("`{}` is {what}, not a file of recorded games or positions", path.display());
        return Err(CliError::failure(message).hint(hint));
    }
    Ok(())
}

/// The positions of a file, or of standard input if the path is `-`, those at the end of its games included; or the one typed instead of a
/// file.
///
/// # Errors
/// What cannot be read, what is not a position (with its line), and input without any position.
pub fn read_positions(path: &Path, session: &Session) -> Result<Vec<ScoredDiagram>, CliError> {
    if let Some(text) = path.to_str().filter(|_| path != Path::new(STANDARD_STREAM) && !path.exists()) {
        match text.parse() {
            Ok(typed) => return Ok(vec![typed]),
            // Anything with spaces, or that looks like moves or a board, is hardly a file name.
            Err(error)
                if text.contains(' ') || text.chars().all(|c| "abcdefghABCDEFGH0123456789OXox*-.".contains(c)) =>
            {
                let text = text.trim_start();
                return Err(CliError::because(format!("`{text}` is neither a file nor a position"), error).hint(FORMAT));
            }
            Err(_) => {}
        }
    }
    refuse_own_files([path], false)?;
    let input = Input::read(path, None, session)?;
    let name = &input.name;
    let unreadable = || format!("cannot read positions from {name}");
    let positions = input.records()?.map(|record| record.map(Record::into_position));
    let positions: Result<Vec<_>, _> = positions.collect();
    if positions.is_err() && matches!(input.format, Format::F5d6 | Format::Obf | Format::Egaroucid) {
        // Of a binary file a bad line is not what is wrong.
        decode_text(input.bytes.clone(), "text file").context(unreadable)?;
    }
    let positions = positions.context(unreadable).map_err(|error| error.hint(FORMAT))?;
    if positions.is_empty() {
        return Err(CliError::failure(format!("there are no positions in {name}")).hint(FORMAT));
    }
    Ok(positions)
}
