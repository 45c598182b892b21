//! Edax's `book.dat`, version 4: a header of 42 bytes, then positions with their links, little-endian.

use std::io::Write;

use super::linked::{Linked, linked};
use super::{Entry, Exported, Source, Values, before_pass, level, position_of};
use crate::board::{Position, Square};
use crate::book::error::BookError;
use crate::eval::Score;

pub(super) const MAGIC: [u8; 8] = *b"XADEKOOB";
/// As a big-endian machine writes it.
pub(super) const FOREIGN_MAGIC: [u8; 8] = *b"EDAXBOOK";
const VERSION: u8 = 4;
const PASS: u8 = 64;
const NO_MOVE: u8 = 65;
const NO_SCORE: i8 = -127;

pub(super) fn read(
    source: &mut Source<'_>,
    take: &mut impl FnMut(Entry) -> Result<(), BookError>,
) -> Result<(), BookError> {
    let magic: [u8; 8] = source.must("a header")?;
    if magic == FOREIGN_MAGIC {
        return Err(source.wrong(0, "an Edax book written by a big-endian machine; export it as text there"));
    }
    if magic != MAGIC {
        return Err(source.wrong(0, "these are not the first bytes of an Edax book"));
    }
    let [version, _release]: [u8; 2] = source.must("a version")?;
    if version != VERSION {
        return Err(source.wrong(8, format!("an Edax book of version {version}; only {VERSION} is read")));
    }
    let _date: [u8; 8] = source.must("a date")?;
    let _options: [u8; 20] = source.must("options")?;
    let announced = u32::from_le_bytes(source.must("the number of positions")?);
    let mut read = 0;
    while let Some(discs) = source.next::<16>("a position")? {
        let _games: [u8; 16] = source.must("the rest of a position")?;
        let [low, high, _, _, _, _, links, searched] = source.must::<8>("the rest of a position")?;
        for _ in 0..links {
            let _link: [u8; 2] = source.must("a link")?;
        }
        let [score, to] = source.must::<2>("a leaf")?;
        let to = (to < PASS).then(|| Square::new(to));
        // Without a link or a leaf there is only the value of the position.
        let score = match to {
            Some(_) => Some(i32::from(score as i8)),
            None => (links == 0).then(|| i16::from_le_bytes([low, high]).into()),
        };
        take(Entry { position: position_of(&discs), to, score, level: level(searched.into()) })?;
        read += 1;
    }
    if read != u64::from(announced) {
        return Err(source.wrong(38, format!("the header announces {announced} positions, the file has {read}")));
    }
    Ok(())
}

pub(super) fn write(book: &Values<'_>, out: &mut dyn Write) -> Result<Exported, BookError> {
    let (mut positions, mut passes, mut least) = (0u64, 0u64, 60);
    linked(book, |Linked { record, .. }| {
        positions += 1;
        passes += u64::from(before_pass(record.position).is_some());
        least = least.min(record.position.empties());
        Ok(())
    })?;
    let number = u32::try_from(positions + passes)
        .map_err(|_| std::io::Error::other("more positions than an Edax book can count"))?;
    out.write_all(&MAGIC)?;
    out.write_all(&[VERSION, 4])?;
    out.write_all(&[0; 8])?;
    for option in [i32::from(book.level), least as i32, 2, 1, 1] {
        out.write_all(&option.to_le_bytes())?;
    }
    out.write_all(&number.to_le_bytes())?;
    linked(book, |position| Ok(write_position(&position, book, out)?))?;
    Ok(Exported { positions, left_out: book.view.len()? - positions })
}

fn write_position(linked: &Linked, book: &Values<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let Linked { record, value, links, leaf } = linked;
    let scored = |&(to, score): &(Square, Score)| (whole(score), to.index() as u8);
    let links: Vec<_> = links.iter().map(scored).collect();
    let leaf = leaf.as_ref().map_or((NO_SCORE, NO_MOVE), scored);
    let value = value.map_or(NO_SCORE, whole);
    let level = book.level(record).unwrap_or(0);
    let games = [record.games.wins, record.games.draws, record.games.losses];
    put(record.position, games, value, level, &links, leaf, out)?;
    if let Some(before) = before_pass(record.position) {
        let games = [games[2], games[1], games[0]];
        put(before, games, -value, level, &[(-value, PASS)], (NO_SCORE, NO_MOVE), out)?;
    }
    Ok(())
}

fn whole(score: Score) -> i8 {
    score.rounded_discs() as i8
}

fn put(
    position: Position,
    games: [u32; 3],
    value: i8,
    level: u8,
    links: &[(i8, u8)],
    leaf: (i8, u8),
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(42 + 2 * links.len());
    bytes.extend_from_slice(&position.player.to_le_bytes());
    bytes.extend_from_slice(&position.opponent.to_le_bytes());
    // The last is the number of lines, which Edax recounts by `negamax`.
    games.into_iter().chain([1]).for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
    // The value, and its bounds.
    [value; 3].iter().for_each(|&value| bytes.extend_from_slice(&i16::from(value).to_le_bytes()));
    bytes.extend([links.len() as u8, level]);
    links.iter().chain([&leaf]).for_each(|&(score, to)| bytes.extend([score as u8, to]));
    out.write_all(&bytes)
}
