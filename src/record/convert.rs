//! Converting from one record format to another.

use std::io::{self, Write};

use super::format::Format;
use super::game::Game;
use super::read::{Record, read};
use super::{NO_SCORE, RecordError, ggf, lines, sgf};
use crate::board::ScoredDiagram;

/// Why records could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A format that is only read.
    #[error("{0} can be read, not written")]
    OnlyRead(Format),
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
    /// Games or positions that could be read.
    pub read: usize,
    /// Games or positions written.
    pub written: usize,
    /// Games or positions that could not be read, or not written in the new format.
    pub skipped: usize,
}

/// Converts the records of a file. Games become positions, each scored with the game's result.
///
/// `on_bad` decides on every record that cannot be read or written: `Ok` skips it.
///
/// # Errors
/// A format that is only read, an error that `on_bad` returns, or a failing output.
pub fn convert(
    bytes: &[u8],
    from: Format,
    to: Format,
    out: &mut impl Write,
    on_bad: &mut dyn FnMut(RecordError) -> Result<(), RecordError>,
) -> Result<Converted, ConvertError> {
    if matches!(to, Format::Wthor | Format::Log | Format::NeuralReversi) {
        return Err(ConvertError::OnlyRead(to));
    }
    let mut done = Converted::default();
    for (i, record) in read(bytes, from)?.enumerate() {
        done.read += usize::from(record.is_ok());
        let written = record.map_err(ConvertError::from).and_then(|record| {
            let unfit = |reason| RecordError::new(format_args!("number {}", i + 1), reason);
            match &record {
                Record::Game(game) => write_game(out, to, game).map_err(|error| error.place(unfit)),
                Record::Position(position) => write_position(out, to, position).map_err(|error| error.place(unfit)),
            }
        });
        match written {
            Ok(count) => done.written += count,
            Err(ConvertError::Record(error)) => {
                done.skipped += 1;
                on_bad(error)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Why one record was not written.
enum Unwritten {
    /// The format cannot say it.
    Unfit(&'static str),
    Output(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Unwritten {
    fn place(self, unfit: impl FnOnce(&'static str) -> RecordError) -> ConvertError {
        match self {
            Self::Unfit(reason) => unfit(reason).into(),
            Self::Output(error) => error.into(),
        }
    }
}

/// Writes a game, or its positions; returns the number of records written.
fn write_game(out: &mut impl Write, to: Format, game: &Game) -> Result<usize, Unwritten> {
    const ELSEWHERE: &str = "the game does not begin at the start position, and an f5d6 line cannot say so";
    match to {
        Format::Ggf => ggf::write(out, game)?,
        Format::Sgf => sgf::write(out, game)?,
        _ if game.moves().is_empty() => return Err(Unwritten::Unfit("the game has no moves")),
        Format::F5d6 => writeln!(out, "{}", game.transcript().ok_or(Unwritten::Unfit(ELSEWHERE))?)?,
        _ if game.exact_discs().is_none() => return Err(Unwritten::Unfit(NO_SCORE)),
        _ => return game.scored_positions().map(|position| write_position(out, to, &position)).sum(),
    }
    Ok(1)
}

fn write_position(out: &mut impl Write, to: Format, scored: &ScoredDiagram) -> Result<usize, Unwritten> {
    match (to, scored.score) {
        (Format::Egaroucid, Some(score)) => lines::write_egaroucid(out, &scored.diagram, score)?,
        (Format::Egaroucid, None) => return Err(Unwritten::Unfit(NO_SCORE)),
        (Format::Obf, _) => lines::write_position(out, scored)?,
        _ => return Err(Unwritten::Unfit("a position, not a game: convert to obf or egaroucid")),
    }
    Ok(1)
}
