//! From one record format to another.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use super::game::Game;
use super::{Fault, Place, RecordError, ggf, lines, wthor};
use crate::board::ScoredDiagram;

/// A record format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Games in the Generic Game Format.
    Ggf,
    /// Games in the WTHOR database format (only read).
    Wthor,
    /// Games as f5d6 transcripts, one a line.
    F5d6,
    /// Positions, with OBF data or a bare score.
    Obf,
    /// Positions as Egaroucid's training data (only written).
    Egaroucid,
}

/// The names that [`Format`] parses, in the order of its variants.
const NAMES: [(&str, Format); 5] = [
    ("ggf", Format::Ggf),
    ("wthor", Format::Wthor),
    ("f5d6", Format::F5d6),
    ("obf", Format::Obf),
    ("egaroucid", Format::Egaroucid),
];

impl Format {
    /// The format that a file's content looks like; f5d6 where nothing else fits.
    pub fn detect(bytes: &[u8]) -> Self {
        if wthor::looks_like(bytes) {
            return Self::Wthor;
        }
        let data = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let first =
            data.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%"));
        let first = first.unwrap_or_default();
        if first.windows(2).any(|two| two == b"(;") {
            Self::Ggf
        } else if first.len() >= 64 && first[..64].iter().all(|byte| b"XxOo*-.".contains(byte)) {
            Self::Obf
        } else {
            Self::F5d6
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, format)| format == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Format {
    type Err = ConvertError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        found.map(|&(_, format)| format).ok_or_else(|| ConvertError::UnknownFormat(text.to_owned()))
    }
}

/// Why records could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// No such format.
    #[error("`{0}` is no record format; there are ggf, wthor, f5d6, obf and egaroucid")]
    UnknownFormat(String),
    /// A format that is only written.
    #[error("{0} can be written, not read")]
    OnlyWritten(Format),
    /// A format that is only read.
    #[error("{0} can be read, not written")]
    OnlyRead(Format),
    /// Positions where games are wanted.
    #[error("the input holds positions, and {0} is for games; convert to obf or egaroucid")]
    PositionsToGames(Format),
    /// Something in the input.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The output could not be written.
    #[error("writing the output: {0}")]
    Output(#[from] io::Error),
}

/// What a conversion did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Converted {
    /// Games or positions read.
    pub read: usize,
    /// Games or positions written.
    pub written: usize,
    /// Games or positions that could not be read, or not be written in the new format.
    pub skipped: usize,
}

/// The games of a file in any format that holds games, each or why it cannot be read.
///
/// # Errors
/// The format holds no games, or the file as a whole cannot be read.
pub fn read_games(bytes: &[u8], format: Format) -> Result<Vec<Result<Game, RecordError>>, ConvertError> {
    match format {
        Format::Ggf => Ok(ggf::read(bytes).collect()),
        Format::Wthor => Ok(wthor::read(bytes)?.collect()),
        Format::F5d6 => Ok(lines::read_transcripts(&String::from_utf8_lossy(bytes)).collect()),
        Format::Obf => Err(ConvertError::PositionsToGames(format)),
        Format::Egaroucid => Err(ConvertError::OnlyWritten(format)),
    }
}

/// Converts the records of a file. Games become positions by scoring each of their positions with the result.
///
/// `on_bad` decides on every record that cannot be read or written: `Ok` skips it.
///
/// # Errors
/// Formats that cannot be converted into each other, a record that `on_bad` gives back, or a failing output.
pub fn convert(
    bytes: &[u8],
    from: Format,
    to: Format,
    out: &mut impl Write,
    on_bad: &mut dyn FnMut(RecordError) -> Result<(), RecordError>,
) -> Result<Converted, ConvertError> {
    if to == Format::Wthor {
        return Err(ConvertError::OnlyRead(to));
    }
    let mut done = Converted::default();
    if from == Format::Obf {
        if matches!(to, Format::Ggf | Format::F5d6) {
            return Err(ConvertError::PositionsToGames(to));
        }
        let text = String::from_utf8_lossy(bytes);
        for record in lines::read_positions(&text) {
            write_each(record, &mut done, on_bad, |position| write_position(out, to, position))?;
        }
    } else {
        for record in read_games(bytes, from)? {
            write_each(record, &mut done, on_bad, |game| write_game(out, to, game))?;
        }
    }
    Ok(done)
}

/// Why one record was not written.
enum WriteError {
    Fault(Fault),
    Output(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes a record if it was read, and keeps the books.
fn write_each<T>(
    record: Result<T, RecordError>,
    done: &mut Converted,
    on_bad: &mut dyn FnMut(RecordError) -> Result<(), RecordError>,
    write: impl FnOnce(&T) -> Result<usize, WriteError>,
) -> Result<(), ConvertError> {
    done.read += 1;
    let bad = match record.map(|item| write(&item)) {
        Ok(Ok(count)) => {
            done.written += count;
            return Ok(());
        }
        Ok(Err(WriteError::Output(error))) => return Err(error.into()),
        Ok(Err(WriteError::Fault(fault))) => RecordError { place: Place::Item(done.read), fault },
        Err(error) => error,
    };
    done.skipped += 1;
    Ok(on_bad(bad)?)
}

/// Writes a game, or its positions; gives the number of records that makes.
fn write_game(out: &mut impl Write, to: Format, game: &Game) -> Result<usize, WriteError> {
    match to {
        Format::Ggf => ggf::write(out, game)?,
        Format::F5d6 => writeln!(out, "{}", game.transcript().ok_or(WriteError::Fault(Fault::NotFromStart))?)?,
        _ if game.result.is_none() => return Err(WriteError::Fault(Fault::NoScore)),
        _ => return game.scored_positions().map(|position| write_position(out, to, &position)).sum(),
    }
    Ok(1)
}

fn write_position(out: &mut impl Write, to: Format, scored: &ScoredDiagram) -> Result<usize, WriteError> {
    match (to, scored.score) {
        (Format::Egaroucid, Some(score)) => lines::write_egaroucid(out, &scored.diagram, score)?,
        (Format::Egaroucid, None) => return Err(WriteError::Fault(Fault::NoScore)),
        _ => lines::write_position(out, scored)?,
    }
    Ok(1)
}
