//! Records of any format, one after the other.

use super::format::Format;
use super::game::Record;
use super::{RecordError, lines, log, neural, tree, wthor};

/// The records of a file.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Record, RecordError>> + Send + 'a>;

/// The records of a file's content, with an error for each that cannot be read. They are read lazily. Lines with games and lines with
/// positions may be mixed; as [`Format::Obf`] all are positions.
///
/// # Errors
/// The file as a whole cannot be read.
pub fn read(bytes: &[u8], format: Format) -> Result<Records<'_>, RecordError> {
    Ok(match format {
        Format::Ggf | Format::Sgf => Box::new(tree::read(bytes).map(|game| game.map(Record::Game))),
        Format::Wthor => Box::new(wthor::read(bytes)?.map(|game| game.map(Record::Game))),
        Format::F5d6 => Box::new(lines::read(bytes)),
        Format::Log => Box::new(log::read(bytes).map(|game| game.map(Record::Game))),
        Format::Obf => Box::new(lines::read(bytes).map(|record| Ok(Record::Position(record?.into_position())))),
        Format::Egaroucid => Box::new(lines::read_egaroucid(bytes)),
        Format::NeuralReversi => Box::new(neural::read(bytes)),
    })
}
