//! Records of any format, one after the other.

use super::format::Format;
use super::game::Game;
use super::{RecordError, ggf, lines, log, wthor};
use crate::board::ScoredDiagram;

/// One record of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// A game.
    Game(Game),
    /// A position, with or without a score.
    Position(ScoredDiagram),
}

/// The records of a file.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Record, RecordError>> + Send + 'a>;

/// The records of a file's content, with an error for each that cannot be read. They are read lazily.
///
/// # Errors
/// The file as a whole cannot be read.
pub fn read(bytes: &[u8], format: Format) -> Result<Records<'_>, RecordError> {
    Ok(match format {
        Format::Ggf => Box::new(ggf::read(bytes).map(|game| game.map(Record::Game))),
        Format::Wthor => Box::new(wthor::read(bytes)?.map(|game| game.map(Record::Game))),
        Format::F5d6 => Box::new(lines::read_transcripts(bytes).map(|game| game.map(Record::Game))),
        Format::Log => Box::new(log::read(bytes).map(|game| game.map(Record::Game))),
        Format::Obf => Box::new(lines::read_positions(bytes).map(|position| position.map(Record::Position))),
        Format::Egaroucid => Box::new(lines::read_egaroucid(bytes).map(|position| position.map(Record::Position))),
    })
}
