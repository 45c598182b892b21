//! Converting from one record format to another.

use std::io::{self, Write};

use super::format::Format;
use super::game::{Game, Record};
use super::read::read;
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
        let written = match record {
            Ok(Record::Game(game)) => write_game(out, to, &game)?,
            Ok(Record::Position(position)) => write_position(out, to, &position)?,
            Err(error) => {
                done.skipped += 1;
                on_bad(error)?;
                continue;
            }
        };
        match written {
            Ok(count) => done.written += count,
            Err(reason) => {
                done.skipped += 1;
                on_bad(RecordError::new(format_args!("number {}", i + 1), reason))?;
            }
        }
    }
    Ok(done)
}

/// The number of records written, or why the format cannot hold a record.
type Written = Result<usize, &'static str>;

/// Writes a game, or its positions.
fn write_game(out: &mut impl Write, to: Format, game: &Game) -> io::Result<Written> {
    match (to, game.transcript()) {
        (Format::Ggf, _) => ggf::write(out, game)?,
        (Format::Sgf, _) => sgf::write(out, game)?,
        _ if game.moves().is_empty() => return Ok(Err("the game has no moves")),
        (Format::F5d6, Some(transcript)) => writeln!(out, "{transcript}")?,
        (Format::F5d6, None) => {
            return Ok(Err("the game does not begin at the start position, and an f5d6 line cannot say so"));
        }
        _ if game.exact_discs().is_none() => return Ok(Err(NO_SCORE)),
        _ => {
            let positions: Vec<_> = game.scored_positions().collect();
            positions.iter().try_for_each(|position| write_position(out, to, position).map(drop))?;
            return Ok(Ok(positions.len()));
        }
    }
    Ok(Ok(1))
}

fn write_position(out: &mut impl Write, to: Format, scored: &ScoredDiagram) -> io::Result<Written> {
    match (to, scored.score) {
        (Format::Egaroucid, Some(score)) => lines::write_egaroucid(out, &scored.diagram, score)?,
        (Format::Egaroucid, None) => return Ok(Err(NO_SCORE)),
        (Format::Obf, _) => lines::write_position(out, scored)?,
        _ => return Ok(Err("a position, not a game: convert to obf or egaroucid")),
    }
    Ok(Ok(1))
}
