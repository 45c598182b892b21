//! Converting from one record format to another.

use std::io::{self, Write};

use super::format::Format;
use super::game::Game;
use super::read::{Record, read};
use super::{Fault, Place, RecordError, ggf, lines};
use crate::board::ScoredDiagram;

/// Why records could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A format that is only read.
    #[error("{0} can be read, not written")]
    OnlyRead(Format),
    /// Positions where games are wanted.
    #[error("the input holds positions, and {0} is for games; convert to obf or egaroucid")]
    PositionsToGames(Format),
    /// The input as a whole is not what it should be.
    #[error(transparent)]
    File(RecordError),
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
    /// Games or positions that could not be read, or not written in the new format.
    pub skipped: usize,
}

/// Converts the records of a file. Games become positions, each scored with the game's result.
///
/// `on_bad` decides on every record that cannot be read or written: `Ok` skips it.
///
/// # Errors
/// Formats that cannot be converted into each other, an error that `on_bad` returns, or a failing output.
pub fn convert(
    bytes: &[u8],
    from: Format,
    to: Format,
    out: &mut impl Write,
    on_bad: &mut dyn FnMut(RecordError) -> Result<(), RecordError>,
) -> Result<Converted, ConvertError> {
    if matches!(to, Format::Wthor | Format::Log) {
        return Err(ConvertError::OnlyRead(to));
    }
    if from.is_of_positions() && !to.is_of_positions() {
        return Err(ConvertError::PositionsToGames(to));
    }
    let mut done = Converted::default();
    for record in read(bytes, from).map_err(ConvertError::File)? {
        done.read += 1;
        let written = record.map(|record| match &record {
            Record::Game(game) => write_game(out, to, game),
            Record::Position(position) => write_position(out, to, position),
        });
        let bad = match written {
            Ok(Ok(count)) => {
                done.written += count;
                continue;
            }
            Ok(Err(WriteError::Output(error))) => return Err(error.into()),
            Ok(Err(WriteError::Fault(fault))) => RecordError { place: Place::Item(done.read), fault },
            Err(error) => error,
        };
        done.skipped += 1;
        on_bad(bad)?;
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

/// Writes a game, or its positions; returns the number of records written.
fn write_game(out: &mut impl Write, to: Format, game: &Game) -> Result<usize, WriteError> {
    match to {
        Format::Ggf => ggf::write(out, game)?,
        _ if game.moves().is_empty() => return Err(WriteError::Fault(Fault::NoMoves)),
        Format::F5d6 => writeln!(out, "{}", game.transcript().ok_or(WriteError::Fault(Fault::NotFromStart))?)?,
        _ if game.exact_discs().is_none() => return Err(WriteError::Fault(Fault::NoScore)),
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
