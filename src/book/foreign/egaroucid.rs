//! Egaroucid's `.egbk3`: a header of 14 bytes, then positions of 25 bytes, little-endian.
//!
//! There the most significant bit is a1. That is the board rotated by 180 degrees, one of its symmetries, so the bits of a canonical
//! position are the same.

use std::io::Write;

use super::{Entry, Exported, Source, Values, level, position_of};
use crate::board::{Position, Square};
use crate::book::error::BookError;
use crate::book::whole::with_children;
use crate::eval::Score;

pub(super) const MAGIC: [u8; 9] = *b"DICUORAGE";
const VERSION: u8 = 3;
/// Value, move and level of the leaf of a position without one.
const NO_LEAF: [u8; 3] = [-126i8 as u8, 65, -1i8 as u8];

pub(super) fn read(
    source: &mut Source<'_>,
    take: &mut impl FnMut(Entry) -> Result<(), BookError>,
) -> Result<(), BookError> {
    let magic: [u8; 9] = source.must("a header")?;
    if magic != MAGIC {
        return Err(source.wrong(0, "these are not the first bytes of an Egaroucid book"));
    }
    let [version] = source.must("a version")?;
    if version != VERSION {
        return Err(source.wrong(9, format!("an Egaroucid book of version {version}; only {VERSION} (.egbk3) is read")));
    }
    let announced = i32::from_le_bytes(source.must("the number of positions")?);
    let mut read = 0i64;
    while let Some(bytes) = source.next::<25>("a position")? {
        let position = position_of(bytes.first_chunk().expect("a position is longer"));
        let [value, searched] = [16, 17].map(|at| bytes[at] as i8);
        let [leaf, _, leaf_level] = [22, 23, 24].map(|at| bytes[at] as i8);
        let to = (bytes[23] < 64).then(|| Square::new(bytes[23]));
        let is_score = |score: i8| (-64..=64).contains(&score);
        // Egaroucid searches leaves only a few plies deep and does not derive its values from them: leaves searched less deeply than
        // their position are useless.
        let (to, score, searched) = match to {
            Some(to) if is_score(leaf) && (leaf_level >= searched || !is_score(value)) => (Some(to), leaf, leaf_level),
            _ => (None, value, searched),
        };
        take(Entry { position, to, score: Some(score.into()), level: level(searched.into()) })?;
        read += 1;
    }
    if read != i64::from(announced) {
        let reason = format!("the header announces {announced} positions, the file has {read}");
        return Err(source.wrong(10, reason));
    }
    Ok(())
}

pub(super) fn write(book: &Values<'_>, out: &mut dyn Write) -> Result<Exported, BookError> {
    let mut done = Exported::default();
    for record in book.view.all() {
        let is_known = record?.derived.value.is_some();
        done.positions += u64::from(is_known);
        done.left_out += u64::from(!is_known);
    }
    let number = i32::try_from(done.positions)
        .map_err(|_| std::io::Error::other("more positions than an Egaroucid book can count"))?;
    out.write_all(&MAGIC)?;
    out.write_all(&[VERSION])?;
    out.write_all(&number.to_le_bytes())?;
    with_children(&book.view, |record, children| {
        let Some(value) = book.of(&record) else { return Ok(()) };
        let is_known = |to| children.iter().any(|child| child.to == to && child.derived.value.is_some());
        let leaf = book.leaf(&record, &children).and_then(|leaf| Some((leaf.to?, leaf.score, leaf.depth)));
        let leaf = leaf.filter(|&(to, ..)| !is_known(to));
        Ok::<_, BookError>(out.write_all(&entry(record.position, value, book.level(&record), leaf))?)
    })?;
    Ok(done)
}

/// The bytes of a position and its leaf: move, value and level.
fn entry(position: Position, value: Score, level: Option<u8>, leaf: Option<(Square, Score, Option<u8>)>) -> [u8; 25] {
    let number = |level: Option<u8>| level.unwrap_or(NO_LEAF[2]);
    let discs = |score: Score| score.rounded_discs() as i8 as u8;
    let mut bytes = [0; 25];
    bytes[..8].copy_from_slice(&position.player.to_le_bytes());
    bytes[8..16].copy_from_slice(&position.opponent.to_le_bytes());
    bytes[16..18].copy_from_slice(&[discs(value), number(level)]);
    // The number of lines, which Egaroucid recounts.
    bytes[18..22].copy_from_slice(&1u32.to_le_bytes());
    let leaf = leaf.map_or(NO_LEAF, |(to, score, level)| [discs(score), to.index() as u8, number(level)]);
    bytes[22..].copy_from_slice(&leaf);
    bytes
}
