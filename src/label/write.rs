//! Labelled positions as files for other trainers.

use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::vec;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zip::CompressionMethod;

use super::positions::{LabelledPosition, Positions};
use crate::board::{Diagram, ScoredDiagram, Side};
use crate::games::BadGames;
use crate::names::names;
use crate::npy;
use crate::record::lines::{write_egaroucid, write_position};

/// A kind of file of labelled positions. `docs/FILES.md` describes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PositionFormat {
    /// A NumPy archive with an array for each field.
    Npz,
    /// A NumPy array of records.
    Npy,
    /// Egaroucid's training data: boards and labels.
    Egaroucid,
    /// OBF: boards and labels.
    Obf,
}

names! { PositionFormat, "a format of positions":
    Npz = "npz"
    Npy = "npy"
    Egaroucid = "egaroucid"
    Obf = "obf"
}

impl LabelledPosition {
    /// Bytes of a [`Self::row`].
    pub const ROW: usize = 32;

    /// The fields of a [`Self::row`] with their types as NumPy writes them; every field is aligned. Values are in discs.
    pub const FIELDS: [(&str, &str); 9] = [
        ("player", "<u8"),
        ("opponent", "<u8"),
        ("label", "<f4"),
        ("search", "<f4"),
        ("game", "<u4"),
        ("result", "|i1"),
        ("ply", "|u1"),
        ("kind", "|u1"),
        ("move", "|i1"),
    ];

    /// The position as bytes.
    pub fn row(&self) -> [u8; Self::ROW] {
        let Self { position: discs, label, search, result, ply, kind, to, game } = self;
        let mut row = [0; Self::ROW];
        row[..8].copy_from_slice(&discs.player.to_le_bytes());
        row[8..16].copy_from_slice(&discs.opponent.to_le_bytes());
        row[16..20].copy_from_slice(&label.discs().to_le_bytes());
        row[20..24].copy_from_slice(&search.discs().to_le_bytes());
        row[24..28].copy_from_slice(&(*game as u32).to_le_bytes());
        row[28..].copy_from_slice(&[result.cast_unsigned(), *ply, *kind as u8, to.index() as u8]);
        row
    }
}

/// Some of the positions, in their order: those with numbers of empties in a range, and of these perhaps a random sample.
#[derive(Debug)]
pub struct Chosen<'p> {
    positions: &'p Positions,
    empties: RangeInclusive<u32>,
    read: u64,
    chunk: vec::IntoIter<LabelledPosition>,
    /// Positions that still come, and how many of them are wanted.
    left: (u64, u64),
    random: ChaCha8Rng,
}

impl<'p> Chosen<'p> {
    /// All positions with numbers of empties in a range, or `sample` of them: any with the same probability, the same with the same `seed`.
    /// They are counted first, which takes reading all of them unless the range is 0 to 60. `tell` gets the number of positions read.
    ///
    /// # Errors
    /// See [`Positions::chunk`].
    pub fn new(
        positions: &'p Positions,
        empties: RangeInclusive<u32>,
        sample: Option<u64>,
        seed: u64,
        mut tell: impl FnMut(u64),
    ) -> Result<Self, BadGames> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // The first ones are for chunks.
        random.set_stream(u64::MAX);
        let left = (u64::MAX, u64::MAX);
        let mut chosen = Self { positions, empties, read: 0, chunk: Vec::new().into_iter(), left, random };
        let mut all = positions.len();
        if chosen.empties != (0..=60) {
            all = 0;
            while chosen.next_chunk()? {
                all += chosen
                    .chunk
                    .by_ref()
                    .filter(|position| chosen.empties.contains(&position.position.empties()))
                    .count() as u64;
                tell(chosen.read);
            }
            chosen.read = 0;
        }
        chosen.left = (all, sample.map_or(all, |sample| sample.min(all)));
        Ok(chosen)
    }

    /// Number of positions to come.
    pub fn left(&self) -> u64 {
        self.left.1
    }

    /// Reads the next chunk. False at the end.
    fn next_chunk(&mut self) -> Result<bool, BadGames> {
        let Some((chunk, _)) = self.positions.chunk_at(self.read) else { return Ok(false) };
        let chunk = self.positions.chunk(chunk, &AtomicBool::new(false))?.expect("nothing stops it");
        self.read += chunk.len() as u64;
        self.chunk = chunk.into_iter();
        Ok(true)
    }
}

impl Iterator for Chosen<'_> {
    type Item = Result<LabelledPosition, BadGames>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left.1 > 0 {
            let Some(position) = self.chunk.next() else {
                match self.next_chunk() {
                    Ok(true) => continue,
                    Ok(false) => return None,
                    Err(error) => return Some(Err(error)),
                }
            };
            if self.empties.contains(&position.position.empties()) {
                let (left, wanted) = self.left;
                // Selection sampling (Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S).
                let is_wanted = left == wanted || self.random.random_range(0..left) < wanted;
                self.left = (left - 1, wanted - u64::from(is_wanted));
                if is_wanted {
                    return Some(Ok(position));
                }
            }
        }
        None
    }
}

/// Writes a file of `count` positions. The positions of an npz are all in memory, at about 100 bytes each.
///
/// # Errors
/// Those of the positions and of the writer.
pub fn write_positions<E: From<io::Error>>(
    format: PositionFormat,
    positions: impl Iterator<Item = Result<LabelledPosition, E>>,
    count: u64,
    mut out: &mut dyn Write,
) -> Result<(), E> {
    let label = |position: &LabelledPosition| {
        (Diagram { position: position.position, side: Side::Black }, position.label.rounded_discs())
    };
    match format {
        PositionFormat::Npz => return write_archive(positions, count, out),
        PositionFormat::Npy => {
            let fields = LabelledPosition::FIELDS.map(|(name, element)| format!("('{name}', '{element}')"));
            out.write_all(&npy::header(&format!("[{}]", fields.join(", ")), &[count as usize]))?;
        }
        PositionFormat::Egaroucid | PositionFormat::Obf => {}
    }
    for position in positions {
        let position = position?;
        match format {
            PositionFormat::Npz | PositionFormat::Npy => out.write_all(&position.row())?,
            PositionFormat::Egaroucid => {
                let (diagram, score) = label(&position);
                write_egaroucid(&mut out, &diagram, score)?;
            }
            PositionFormat::Obf => {
                let (diagram, score) = label(&position);
                write_position(&mut out, &ScoredDiagram { diagram, score: Some(score), moves: Vec::new() })?;
            }
        }
    }
    Ok(())
}

fn write_archive<E: From<io::Error>>(
    positions: impl Iterator<Item = Result<LabelledPosition, E>>,
    count: u64,
    out: &mut dyn Write,
) -> Result<(), E> {
    // The last character of a type is its bytes.
    let sizes = LabelledPosition::FIELDS.map(|(_, element)| usize::from(element.as_bytes()[2] - b'0'));
    let mut columns = sizes.map(|size| Vec::with_capacity(size * count as usize));
    for position in positions {
        let row = position?.row();
        let mut rest = &row[..];
        for (column, size) in columns.iter_mut().zip(sizes) {
            column.extend_from_slice(rest.split_off(..size).expect("a row has all fields"));
        }
    }
    let shape = [count as usize];
    let arrays = LabelledPosition::FIELDS
        .iter()
        .zip(&columns)
        .map(|(&(name, element), column)| (name, element, &shape[..], &**column));
    Ok(out.write_all(&npy::archive(CompressionMethod::Stored, arrays)?)?)
}
