//! Egaroucid's `.egbk3`: a header of 14 bytes, then positions of 25 bytes, little-endian.
//!
//! The most significant bit is a1 there. That is the board turned by half, one of its symmetries: the bits of a canonical position are
//! the same.

use std::io::{Read, Write};

use super::{Entry, ExportError, Exported, Source, Stop, level_of, level_of_all};
use crate::board::{Position, Square};
use crate::book::derive::open_leaf;
use crate::book::rebuild::with_children;
use crate::book::store::Book;

pub(super) const MAGIC: [u8; 9] = *b"DICUORAGE";
const VERSION: u8 = 3;
/// Where a position has no leaf: its value, its move and its level.
const NO_LEAF: [u8; 3] = [-126i8 as u8, 65, -1i8 as u8];

pub(super) fn read(
    source: &mut Source<impl Read>,
    take: &mut impl FnMut(Entry) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let magic: [u8; 9] = source.must("a header")?;
    if magic != MAGIC {
        return Err(Stop::At(0, "these are not the first bytes of an Egaroucid book".into()));
    }
    let [version] = source.must("a version")?;
    if version != VERSION {
        return Err(Stop::At(9, format!("an Egaroucid book of version {version}; version {VERSION} (.egbk3) is read")));
    }
    let announced = i32::from_le_bytes(source.must("the number of positions")?);
    let mut read = 0i64;
    while let Some(bytes) = source.next::<25>("a position")? {
        let [player, opponent] =
            [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")));
        let [value, level] = [16, 17].map(|at| bytes[at] as i8);
        let [leaf, _, leaf_level] = [22, 23, 24].map(|at| bytes[at] as i8);
        let to = (bytes[23] < 64).then(|| Square::new(bytes[23]));
        let is_score = |score: i8| (-64..=64).contains(&score);
        // Egaroucid looks a few plies ahead for leaves, and its values do not follow from them: those that were searched less deep than
        // their position tell nothing.
        let (to, score, level) = match to {
            Some(to) if is_score(leaf) && (leaf_level >= level || !is_score(value)) => (Some(to), leaf, leaf_level),
            _ => (None, value, level),
        };
        let level = level.clamp(0, 60) as u8;
        take(Entry { position: Position { player, opponent }, to, score: Some(score.into()), level })?;
        read += 1;
    }
    if read != i64::from(announced) {
        let reason = format!("the header announces {announced} positions, the file has {read}");
        return Err(Stop::At(10, reason));
    }
    Ok(())
}

pub(super) fn write(book: &mut Book, out: &mut dyn Write) -> Result<Exported, ExportError> {
    let level = level_of_all(book)?;
    let mut positions = 0u64;
    for record in book.scan(0..65) {
        positions += u64::from(record?.derived.value.is_some());
    }
    let number = i32::try_from(positions)
        .map_err(|_| std::io::Error::other("more positions than an Egaroucid book can count"))?;
    out.write_all(&MAGIC)?;
    out.write_all(&[VERSION])?;
    out.write_all(&number.to_le_bytes())?;
    with_children(book, |record, children| {
        let Some(value) = record.derived.value else { return Ok(()) };
        let leaf = open_leaf(&record, &children)
            .and_then(|leaf| Some([leaf.score.rounded_discs() as i8 as u8, leaf.to?.index() as u8, leaf.depth]));
        out.write_all(&record.position.player.to_le_bytes())?;
        out.write_all(&record.position.opponent.to_le_bytes())?;
        out.write_all(&[value.rounded_discs() as i8 as u8, level_of(&record, level)])?;
        out.write_all(&1u32.to_le_bytes())?;
        Ok::<_, ExportError>(out.write_all(&leaf.unwrap_or(NO_LEAF))?)
    })?;
    Ok(Exported { positions, left_out: book.len() - positions })
}
