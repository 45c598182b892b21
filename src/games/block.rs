//! A block of games as bytes: moves and labels in columns, deflated.

use std::io::Read;

use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use sha2::{Digest, Sha256};

use crate::board::Square;
use crate::eval::Score;
use crate::selfplay::{GameRecord, Label, PlyKind};

/// The largest number of games in a block.
pub const MAX_GAMES: usize = 1 << 16;

/// Limit in bytes of a game before it is deflated: the numbers of moves and of labels, and for each of 60 plies a move, a kind, a
/// value of 16 bits, the length of a line, and its moves, at most to the end of the game.
const MAX_GAME_BYTES: usize = 2 + 60 * (1 + 1 + 2 + 1) + 60 * 61 / 2;

/// zlib's level: higher ones take twice the time to save 1% of the bytes.
const LEVEL: Compression = Compression::new(6);

/// Why bytes are not a block of games.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BlockError(String);

/// Games as deflated bytes, in columns, so that similar bytes are together: the number of moves of each game, the number of labels of
/// each game, then all moves (0 to 63), kinds, values, lengths of lines, and moves of lines.
///
/// Values are in 1/128 disc, seen from one side of the board, and stored as differences from the value before in the game, most of
/// which are near 0. Two columns hold the low and the high bytes of these differences.
///
/// # Panics
/// If there are more than [`MAX_GAMES`].
pub fn encode(games: &[GameRecord]) -> Vec<u8> {
    let mut deflated = Vec::new();
    DeflateEncoder::new(&columns(games)[..], LEVEL).read_to_end(&mut deflated).expect("memory can be read");
    deflated
}

/// SHA-256 of games before they are deflated, because machines may deflate differently.
///
/// # Panics
/// As [`encode`] does.
pub fn digest(games: &[GameRecord]) -> [u8; 32] {
    Sha256::digest(columns(games)).into()
}

fn columns(games: &[GameRecord]) -> Vec<u8> {
    assert!(games.len() <= MAX_GAMES, "{} games in a block", games.len());
    let labels = || games.iter().flat_map(GameRecord::labels);
    let mut bytes: Vec<u8> = games.iter().map(|game| game.moves().len() as u8).collect();
    bytes.extend(games.iter().map(|game| game.labels().len() as u8));
    bytes.extend(games.iter().flat_map(GameRecord::moves).map(|square| square.index() as u8));
    bytes.extend(labels().map(|label| label.kind as u8));
    let differences: Vec<u16> = games.iter().flat_map(differences).collect();
    bytes.extend(differences.iter().map(|&difference| difference as u8));
    bytes.extend(differences.iter().map(|&difference| (difference >> 8) as u8));
    bytes.extend(labels().map(|label| label.line.len() as u8));
    bytes.extend(labels().flat_map(|label| &label.line).map(|square| square.index() as u8));
    bytes
}

/// The difference of each value of a game from the one before. Signs alternate at every ply, as if nobody passed: at a pass the
/// difference is large but still correct.
fn differences(game: &GameRecord) -> impl Iterator<Item = u16> {
    let mut before = 0i16;
    game.labels().iter().enumerate().map(move |(i, label)| {
        let value = i16::try_from(label.value.0).expect("values are within 64 discs");
        let value = if i % 2 == 0 { value } else { value.wrapping_neg() };
        let difference = value.wrapping_sub(before);
        before = value;
        // Small differences of either sign become small numbers.
        ((difference << 1) ^ (difference >> 15)) as u16
    })
}

/// The games of a block of `count` games.
///
/// # Errors
/// The first thing that is wrong. No more is allocated than `count` games take.
pub fn decode(deflated: &[u8], count: usize) -> Result<Vec<GameRecord>, BlockError> {
    let max_bytes = count.min(MAX_GAMES) * MAX_GAME_BYTES;
    let mut bytes = Vec::new();
    let inflated = DeflateDecoder::new(deflated).take(max_bytes as u64 + 1).read_to_end(&mut bytes);
    inflated.map_err(|error| BlockError(format!("the games cannot be inflated: {error}")))?;
    let mut columns = Columns { bytes: &bytes, at: 0, games: count };
    let moves = columns.take(count)?;
    let labels = columns.take(count)?;
    let sum = |lengths: &[u8]| lengths.iter().map(|&length| usize::from(length)).sum::<usize>();
    let all_labels = sum(labels);
    let squares_at = columns.at;
    let squares = columns.take(sum(moves))?;
    let kinds_at = columns.at;
    let kinds = columns.take(all_labels)?;
    let (low, high) = (columns.take(all_labels)?, columns.take(all_labels)?);
    let lengths = columns.take(all_labels)?;
    let lines_at = columns.at;
    let lines = columns.take(sum(lengths))?;
    columns.end()?;
    check(squares, squares_at, 64, "square")?;
    check(kinds, kinds_at, KINDS.len() as u8, "kind of label")?;
    check(lines, lines_at, 64, "square")?;

    let mut squares = squares.iter().map(|&square| Square::new(square));
    let mut lines = lines.iter().map(|&square| Square::new(square));
    let differences = low.iter().zip(high).map(|(&low, &high)| u16::from_le_bytes([low, high]));
    let mut parts = kinds.iter().zip(differences).zip(lengths);
    let mut games = Vec::with_capacity(count);
    for (game, (&moves, &labels)) in moves.iter().zip(labels).enumerate() {
        let mut before = 0i16;
        let label = |(i, ((&kind, difference), &length)): (usize, ((&u8, u16), &u8))| {
            before = before.wrapping_add((difference >> 1) as i16 ^ -((difference & 1) as i16));
            let value = if i % 2 == 0 { before } else { before.wrapping_neg() };
            Label {
                value: Score(i32::from(value)),
                kind: KINDS[usize::from(kind)],
                line: lines.by_ref().take(usize::from(length)).collect(),
            }
        };
        let labels = parts.by_ref().take(usize::from(labels)).enumerate().map(label).collect();
        let moves = squares.by_ref().take(usize::from(moves)).collect();
        let reason = |reason| BlockError(format!("game {} of the block: {reason}", game + 1));
        games.push(GameRecord::new(moves, labels).map_err(reason)?);
    }
    Ok(games)
}

/// The number of labels of each of a block's `count` games: of the deflated bytes, only the beginning is read.
///
/// # Errors
/// A block that ends before these numbers.
pub(super) fn labels(deflated: &[u8], count: usize) -> Result<Vec<u8>, BlockError> {
    let expected = 2 * count;
    let mut bytes = Vec::new();
    let inflated = DeflateDecoder::new(deflated).take(expected as u64).read_to_end(&mut bytes);
    inflated.map_err(|error| BlockError(format!("it does not inflate: {error}")))?;
    if bytes.len() < expected {
        return Err(BlockError(format!("{} bytes where {count} games take at least {expected}", bytes.len())));
    }
    Ok(bytes.split_off(count))
}

/// The kinds of labels by their number.
const KINDS: [PlyKind; 3] = [PlyKind::Greedy, PlyKind::Exploratory, PlyKind::Exact];

fn check(column: &[u8], start: usize, end: u8, what: &str) -> Result<(), BlockError> {
    match column.iter().position(|&value| value >= end) {
        Some(i) => Err(BlockError(format!("byte {} ({}) stands for no {what}", start + i, column[i]))),
        None => Ok(()),
    }
}

/// A reader of a block's columns.
struct Columns<'b> {
    bytes: &'b [u8],
    at: usize,
    games: usize,
}

impl<'b> Columns<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], BlockError> {
        let column = self.bytes.get(self.at..self.at + length).ok_or_else(|| self.wrong(self.at + length))?;
        self.at += length;
        Ok(column)
    }

    fn end(&self) -> Result<(), BlockError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.wrong(self.at)) }
    }

    fn wrong(&self, expected: usize) -> BlockError {
        BlockError(format!("{} bytes where {} games take {expected}", self.bytes.len(), self.games))
    }
}
