//! Egaroucid's `.egbk3`: a header of 14 bytes, then positions of 25 bytes, little-endian.
//!
//! There the most significant bit is a1. That is the board rotated by 180 degrees, one of its symmetries, so the bits of a canonical
//! position are the same.

use std::collections::HashSet;
use std::io::{Read, Write};

use super::{Entry, ExportError, Exported, Source, level_of, level_of_all};
use crate::board::{Position, Square};
use crate::book::derive::{Child, open_leaf};
use crate::book::file::{ReadError, position_of};
use crate::book::rebuild::with_children;
use crate::book::record::Link;
use crate::book::store::Book;
use crate::eval::Score;

pub(super) const MAGIC: [u8; 9] = *b"DICUORAGE";
const VERSION: u8 = 3;
/// Value, move and level of the leaf of a position without one.
const NO_LEAF: [u8; 3] = [-126i8 as u8, 65, -1i8 as u8];

pub(super) fn read(
    source: &mut Source<impl Read>,
    take: &mut impl FnMut(Entry) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let magic: [u8; 9] = source.must("a header")?;
    if magic != MAGIC {
        return Err(ReadError::at(0, "these are not the first bytes of an Egaroucid book"));
    }
    let [version] = source.must("a version")?;
    if version != VERSION {
        return Err(ReadError::at(
            9,
            format!("an Egaroucid book of version {version}; only {VERSION} (.egbk3) is read"),
        ));
    }
    let announced = i32::from_le_bytes(source.must("the number of positions")?);
    let mut read = 0i64;
    while let Some(bytes) = source.next::<25>("a position")? {
        let position = position_of(bytes.first_chunk().expect("a position is longer"));
        let [value, level] = [16, 17].map(|at| bytes[at] as i8);
        let [leaf, _, leaf_level] = [22, 23, 24].map(|at| bytes[at] as i8);
        let to = (bytes[23] < 64).then(|| Square::new(bytes[23]));
        let is_score = |score: i8| (-64..=64).contains(&score);
        // Egaroucid searches leaves only a few plies deep and does not derive its values from them: leaves searched less deeply than
        // their position are useless.
        let (to, score, level) = match to {
            Some(to) if is_score(leaf) && (leaf_level >= level || !is_score(value)) => (Some(to), leaf, leaf_level),
            _ => (None, value, level),
        };
        let level = level.clamp(0, 60) as u8;
        take(Entry { position, to, score: Some(score.into()), level })?;
        read += 1;
    }
    if read != i64::from(announced) {
        let reason = format!("the header announces {announced} positions, the file has {read}");
        return Err(ReadError::at(10, reason));
    }
    Ok(())
}

pub(super) fn write(book: &mut Book, out: &mut dyn Write) -> Result<Exported, ExportError> {
    let level = level_of_all(book)?;
    let mut positions = 0u64;
    let left_out = entries(book, level, |_| {
        positions += 1;
        Ok(())
    })?;
    let number = i32::try_from(positions)
        .map_err(|_| std::io::Error::other("more positions than an Egaroucid book can count"))?;
    out.write_all(&MAGIC)?;
    out.write_all(&[VERSION])?;
    out.write_all(&number.to_le_bytes())?;
    entries(book, level, |entry| Ok(out.write_all(&entry)?))?;
    Ok(Exported { positions, left_out })
}

/// Hands over the positions of a book as Egaroucid has them; returns the number of those without a value.
///
/// Egaroucid plays only moves to positions of its book, whose values make that of the position before. So a leaf that is better than
/// those becomes a position. `level` is for positions whose moves are all in the book.
fn entries(
    book: &mut Book,
    level: u8,
    mut each: impl FnMut([u8; 25]) -> Result<(), ExportError>,
) -> Result<u64, ExportError> {
    let (mut left_out, mut added, mut discs) = (0, HashSet::new(), 0);
    with_children(book, |record, children| {
        if std::mem::replace(&mut discs, record.position.discs()) != record.position.discs() {
            added.clear();
        }
        let Some(value) = record.derived.value else {
            left_out += 1;
            return Ok(());
        };
        let known = |child: &Child| child.derived.value.map(|value| (child.to, value));
        let is_linked = |to| children.iter().filter_map(known).any(|(linked, _)| linked == to);
        let leaf = open_leaf(&record, &children).and_then(|leaf| Some((leaf.to?, leaf.score, leaf.depth)));
        let leaf = leaf.filter(|&(to, ..)| !is_linked(to));
        let best = children.iter().filter_map(known).map(|(_, value)| value).max();
        let level = level_of(&record, level);
        match leaf {
            Some((to, score, depth)) if best.is_some_and(|best| best < score) => {
                each(entry(record.position, value, level, None))?;
                if let Link::To { position, turn } = Link::after(record.position, to)
                    && added.insert(position)
                {
                    each(entry(position, if turn { -score } else { score }, depth, None))?;
                }
                Ok(())
            }
            leaf => each(entry(record.position, value, level, leaf)),
        }
    })?;
    Ok(left_out)
}

/// The bytes of a position and its leaf: move, value and level.
fn entry(position: Position, value: Score, level: u8, leaf: Option<(Square, Score, u8)>) -> [u8; 25] {
    let discs = |score: Score| score.rounded_discs() as i8 as u8;
    let mut bytes = [0; 25];
    bytes[..8].copy_from_slice(&position.player.to_le_bytes());
    bytes[8..16].copy_from_slice(&position.opponent.to_le_bytes());
    bytes[16..18].copy_from_slice(&[discs(value), level]);
    // The number of lines, which Egaroucid recounts.
    bytes[18..22].copy_from_slice(&1u32.to_le_bytes());
    let leaf = leaf.map_or(NO_LEAF, |(to, score, level)| [discs(score), to.index() as u8, level]);
    bytes[22..].copy_from_slice(&leaf);
    bytes
}
