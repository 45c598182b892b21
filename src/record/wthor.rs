//! WTHOR, the database format of the French Othello federation: a 16-byte header, then records of 68 bytes, little-endian.
//!
//! Names of players and tournaments are in files of their own; here they are numbers. The theoretical score is not kept.

use super::RecordError;
use super::game::{Game, MoveNote};
use super::result::{Finish, GameResult};
use crate::board::{Diagram, Square};

const HEADER: usize = 16;
const RECORD: usize = 68;
const MOVES: usize = 8;

/// The games of a WTHOR file, with an error for each that cannot be read.
///
/// # Errors
/// The file is not a WTHOR file of 8x8 games, or its length is not what its header says.
pub fn read(bytes: &[u8]) -> Result<impl Iterator<Item = Result<Game, RecordError>>, RecordError> {
    let error = |offset: usize, reason: String| RecordError::new(format_args!("byte {offset}"), reason);
    let Some((header, records)) = bytes.split_at_checked(HEADER) else {
        return Err(error(0, format!("{} bytes are too few for a WTHOR header (16 bytes)", bytes.len())));
    };
    let announced = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let expected = HEADER as u64 + u64::from(announced) * RECORD as u64;
    let year = u16::from_le_bytes([header[10], header[11]]);
    match (header[12], header[13]) {
        (0 | 8, 0) => {}
        (0 | 8, kind) => return Err(error(13, format!("expected type 0 (games) in a WTHOR file, found {kind}"))),
        (size, _) => return Err(error(12, format!("expected board size 8 in a WTHOR file, found {size}"))),
    }
    if expected != bytes.len() as u64 {
        let found = bytes.len();
        let reason = format!("the header announces {announced} games ({expected} bytes), the file has {found} bytes");
        return Err(error(4, reason));
    }
    let games = records.chunks_exact(RECORD).enumerate();
    Ok(games.map(move |(i, record)| game(record, year).map_err(|(at, reason)| error(HEADER + i * RECORD + at, reason))))
}

/// Whether bytes have the length that their WTHOR header says: files of other formats hardly ever do.
pub fn looks_like(bytes: &[u8]) -> bool {
    read(bytes).is_ok()
}

/// One record, or the offset in it of what is wrong.
fn game(record: &[u8], year: u16) -> Result<Game, (usize, String)> {
    let number = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
    let mut game = Game::new(Diagram::START);
    game.add_tag("PC", format!("tournament {}", number(0)));
    game.black = format!("player {}", number(2));
    game.white = format!("player {}", number(4));
    if year != 0 {
        game.add_tag("DT", year.to_string());
    }
    let black_discs = record[6];
    if black_discs > 64 {
        return Err((6, format!("black's disc count {black_discs} is out of range")));
    }
    game.result = Some(GameResult { discs: 2 * i32::from(black_discs) - 64, finish: Finish::Played });
    let moves = &record[MOVES..];
    let count = moves.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    for (i, &byte) in moves[..count].iter().enumerate() {
        let (row, column) = (byte / 10, byte % 10);
        if !(1..=8).contains(&row) || !(1..=8).contains(&column) {
            return Err((MOVES + i, format!("move {byte} is out of range")));
        }
        let square = Square::new(8 * (row - 1) + column - 1);
        game.push(square, MoveNote::default()).map_err(|illegal| (MOVES + i, illegal))?;
    }
    Ok(game)
}
