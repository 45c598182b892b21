//! Positions as neural-reversi's `datagen` writes them: records of 24 bytes, little-endian.
//!
//! u64 player's discs and u64 opponent's (bit 0 is a1), f32 score of the search in discs for the player, i8 result of the game for the
//! player, u8 ply, u8 1 for a random move, u8 the move played. The score is kept, rounded to whole discs; the rest is not.

use super::RecordError;
use super::game::Record;
use crate::board::{Diagram, Position, ScoredDiagram, Side};

const RECORD: usize = 24;

/// The positions of a file, the player to move as black, with an error for each record that cannot be right.
pub fn read(bytes: &[u8]) -> impl Iterator<Item = Result<Record, RecordError>> + Send + '_ {
    bytes.chunks(RECORD).enumerate().map(|(i, record)| {
        let record = record.first_chunk().ok_or("the last record of 24 bytes is cut off");
        let position = record.and_then(position).map(Record::Position);
        position.map_err(|reason| RecordError::new(format_args!("byte {}", i * RECORD), reason))
    })
}

/// Whether most of the first records are such records: what must agree in them hardly ever does elsewhere.
pub fn looks_like(bytes: &[u8]) -> bool {
    let (records, _) = bytes.as_chunks::<RECORD>();
    let first = &records[..records.len().min(100)];
    2 * first.iter().filter(|record| position(record).is_ok()).count() > first.len()
}

fn position(record: &[u8; RECORD]) -> Result<ScoredDiagram, &'static str> {
    let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| record[at + i]));
    let score = f32::from_le_bytes(std::array::from_fn(|i| record[16 + i]));
    let (ply, random, played) = (record[21], record[22], record[23]);
    let position = Position::new(eight(0), eight(8)).ok_or("a square has discs of both players")?;
    if position.discs() != u32::from(ply) + 4 || random > 1 || played > 64 {
        return Err("not a record of neural-reversi: discs, ply, random flag and move do not fit together");
    }
    let score = score.round();
    if !(-64.0..=64.0).contains(&score) {
        return Err("the score is not from -64 to 64 discs");
    }
    let diagram = Diagram { position, side: Side::Black };
    Ok(ScoredDiagram { diagram, score: Some(score as i32), moves: Vec::new() })
}
