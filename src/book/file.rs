//! The bytes of a book: a sorted part that never changes, then the batches added since (`batch.rs`).

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::BookError;
use super::record::{BYTES, Key, Record};
use crate::board::Position;
use crate::storage::FileError;

pub(super) const MAGIC: [u8; 8] = *b"\x89FSB\r\n\x1a\n";
const VERSION: u32 = 1;
/// Bytes of the header: magic 8, version 4, records in a block 4, records 8, bytes of the trailer 8, SHA-256 of the trailer 32, and the
/// first 8 bytes of the SHA-256 of all that.
pub(super) const HEADER: u64 = 72;
/// Records in every block but the last.
pub(super) const BLOCK: usize = 128;
/// Bytes of a checksum: the first bytes of a SHA-256.
pub(super) const CHECK: usize = 8;
/// Bytes of a full block.
pub(super) const BLOCK_BYTES: u64 = (BLOCK * BYTES + CHECK) as u64;
/// A SHA-256.
pub type Hash = [u8; 32];
/// How many weights a book can name.
pub(super) const MAX_WEIGHTS: usize = 255;

/// An offset and what is wrong there.
pub(super) type Fault = (u64, String);

/// Why something could not be read.
pub(super) enum ReadError {
    Io(io::Error),
    Fault(Fault),
    /// What was read could not be put into a book.
    Book(BookError),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl ReadError {
    pub fn at(offset: u64, reason: impl Into<String>) -> Self {
        Self::Fault((offset, reason.into()))
    }

    /// The same with the file's name.
    pub fn in_file(self, path: &Path) -> BookError {
        match self {
            Self::Io(error) => FileError::io(path)(error).into(),
            Self::Fault((offset, reason)) => BookError::damage(path, offset, reason),
            Self::Book(error) => error,
        }
    }
}

pub(super) fn check_of(bytes: &[u8]) -> [u8; CHECK] {
    *Sha256::digest(bytes).first_chunk().expect("a hash is longer")
}

/// Writes the sorted part into an empty file.
pub(super) struct BaseWriter<'f> {
    out: BufWriter<&'f mut File>,
    block: Vec<u8>,
    count: u64,
    index: Vec<u8>,
}

impl<'f> BaseWriter<'f> {
    pub fn new(file: &'f mut File) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        out.write_all(&[0; HEADER as usize])?;
        Ok(Self { out, block: Vec::with_capacity(BLOCK * BYTES), count: 0, index: Vec::new() })
    }

    /// Adds a record. Records must come in order.
    pub fn push(&mut self, record: &[u8; BYTES]) -> io::Result<()> {
        if self.block.is_empty() {
            self.index.extend_from_slice(&record[..16]);
        }
        self.block.extend_from_slice(record);
        self.count += 1;
        if self.block.len() == BLOCK * BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        self.out.write_all(&check_of(&self.block))?;
        self.block.clear();
        Ok(())
    }

    /// Writes what is left, the index and the header.
    pub fn finish(mut self, weights: &[Hash]) -> io::Result<()> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let mut trailer = (weights.len() as u32).to_le_bytes().to_vec();
        trailer.extend(weights.iter().flatten());
        trailer.extend_from_slice(&self.index);
        self.out.write_all(&trailer)?;
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(BLOCK as u32).to_le_bytes());
        header.extend_from_slice(&self.count.to_le_bytes());
        header.extend_from_slice(&(trailer.len() as u64).to_le_bytes());
        header.extend_from_slice(&Sha256::digest(&trailer));
        let check = check_of(&header);
        header.extend_from_slice(&check);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        self.out.flush()
    }
}

/// The sorted part of a file.
pub(super) struct Base {
    file: File,
    /// Records.
    pub count: u64,
    /// Records before the file was cut off.
    pub announced: u64,
    pub weights: Vec<Hash>,
    /// The key of each block's first position.
    index: Vec<Key>,
    /// Where the batches begin.
    pub end: u64,
    /// Recently read blocks, by block number modulo the length.
    cache: Vec<Option<(u64, Vec<u8>)>>,
}

/// Blocks in the cache.
const CACHED: usize = 4096;

/// Reads the header and checks that it is that of a book of this version, or a damaged one.
fn read_header(file: &mut File, length: u64) -> Result<[u8; HEADER as usize], ReadError> {
    let mut header = [0; HEADER as usize];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut header[..length.min(HEADER) as usize])?;
    if !MAGIC.starts_with(&header[..length.min(8) as usize]) {
        let reason =
            "these are not the first bytes of a book (.fsb); `flipside book import` reads those of other programs";
        return Err(ReadError::at(0, reason));
    }
    if length < HEADER {
        let reason = format!("only {length} bytes: a book has a header of {HEADER}; the file is empty or was cut off");
        return Err(ReadError::at(0, reason));
    }
    let version = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
    let (fields, check) = header.split_at(HEADER as usize - CHECK);
    if version != VERSION && check_of(fields) == check {
        return Err(ReadError::at(8, format!("a book of version {version}; this program reads version {VERSION}")));
    }
    Ok(header)
}

impl Base {
    pub(super) fn new(file: File, count: u64) -> Self {
        let mut cache = Vec::new();
        cache.resize_with(CACHED, || None);
        Self { file, count, announced: count, weights: Vec::new(), index: Vec::new(), end: HEADER, cache }
    }

    /// Reads header and index. With `damaged`, a damaged index is rebuilt, blocks are found without a damaged header, and both faults are
    /// reported there.
    pub fn open(mut file: File, damaged: Option<&mut Vec<Fault>>) -> Result<Self, ReadError> {
        let length = file.metadata()?.len();
        let header = read_header(&mut file, length)?;
        let (fields, check) = header.split_at(HEADER as usize - CHECK);
        let u64_at = |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().expect("eight bytes"));
        let is_right = check_of(fields) == check && fields[12..16] == (BLOCK as u32).to_le_bytes();
        let (count, trailer_length) = (u64_at(16), u64_at(24));
        let blocks = count.div_ceil(BLOCK as u64);
        let size = count.checked_mul(BYTES as u64).and_then(|size| size.checked_add(blocks * CHECK as u64));
        let start = size.and_then(|size| size.checked_add(HEADER)).filter(|&start| start <= length);
        let end = start.and_then(|start| start.checked_add(trailer_length)).filter(|&end| end <= length);
        let (true, Some(start), Some(end)) = (is_right, start, end) else {
            let (fault, announced) = if is_right {
                let reason =
                    format!("{count} positions are announced, too many for {length} bytes: the file was cut off");
                ((16, reason), Some(count))
            } else {
                ((64, "the header's checksum is wrong: the file is damaged".to_owned()), None)
            };
            let Some(damaged) = damaged else { return Err(ReadError::Fault(fault)) };
            damaged.push(fault.clone());
            return Self::without_header(file, fault, announced);
        };
        let mut base = Self::new(file, count);
        base.end = end;
        match (base.read_trailer(start, trailer_length, blocks, &fields[32..64]), damaged) {
            (Err(ReadError::Fault(fault)), Some(damaged)) => {
                damaged.push(fault);
                // Weights without names keep their numbers, as the batches count on from them.
                let names = trailer_length.saturating_sub(4 + 16 * blocks) as usize / 32;
                base.weights = vec![Hash::default(); names.min(MAX_WEIGHTS)];
                base.make_index(blocks)?;
            }
            (result, _) => result?,
        }
        Ok(base)
    }

    fn read_trailer(&mut self, start: u64, length: u64, blocks: u64, hash: &[u8]) -> Result<(), ReadError> {
        let wrong = || ReadError::at(start, "the index is damaged: `flipside book fix` rebuilds it");
        let most = 4 + 32 * MAX_WEIGHTS as u64 + 16 * blocks;
        if length > most {
            return Err(wrong());
        }
        let trailer = self.read_at(start, length as usize)?;
        if Sha256::digest(&trailer)[..] != *hash {
            return Err(wrong());
        }
        let (number, rest) = trailer.split_first_chunk().ok_or_else(wrong)?;
        let names = 32 * u64::from(u32::from_le_bytes(*number));
        if names + 16 * blocks != rest.len() as u64 || names > 32 * MAX_WEIGHTS as u64 {
            return Err(wrong());
        }
        let (names, index) = rest.split_at(names as usize);
        self.weights = names.as_chunks().0.to_vec();
        self.index = index.as_chunks().0.iter().map(|bytes| Key::of(position_of(bytes))).collect();
        let is_bad = |Key(.., position): &Key| position.player & position.opponent != 0;
        if self.index.iter().any(is_bad) || !self.index.is_sorted() {
            return Err(ReadError::at(start, "the index is not in order"));
        }
        Ok(())
    }

    /// Rebuilds the index from the blocks; an unreadable block gets the entry before it.
    pub(super) fn make_index(&mut self, blocks: u64) -> Result<(), ReadError> {
        self.index = Vec::new();
        let mut last = Key::first(0);
        for number in 0..blocks {
            if let Ok(block) = self.read_block(number) {
                last = Key::of(position_of(block.first_chunk().expect("no block is empty")));
            }
            self.index.push(last);
        }
        Ok(())
    }

    /// Whether the bytes are those of the index, apart from unreadable blocks.
    pub(super) fn is_index(&self, bytes: &[u8]) -> bool {
        let named = bytes.as_chunks().0.iter().map(|bytes| Key::of(position_of(bytes)));
        let mut last = Key::first(0);
        named.zip(&self.index).all(|(named, &found)| {
            // An unreadable block has the entry before it.
            let before = std::mem::replace(&mut last, found);
            found == named || found == before
        })
    }

    /// The length of the file.
    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Reads bytes of the file.
    pub(super) fn read_at(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.index.len() as u64
    }

    /// Where a block begins.
    pub fn offset(block: u64) -> u64 {
        HEADER + block * BLOCK_BYTES
    }

    /// The last block that begins at or before a key, or the first block if none does. Of several blocks with the same entry the first,
    /// as only that one really has it ([`Self::make_index`]).
    pub fn block_of(&self, key: Key) -> u64 {
        let after = self.index.partition_point(|first| *first <= key);
        let last = self.index[..after].last();
        last.map_or(0, |last| self.index.partition_point(|first| first < last)) as u64
    }

    /// The bytes of a block's records.
    pub fn read_block(&mut self, block: u64) -> Result<Vec<u8>, ReadError> {
        let records = (self.count - block * BLOCK as u64).min(BLOCK as u64) as usize;
        let offset = Self::offset(block);
        let mut bytes = self.read_at(offset, records * BYTES + CHECK)?;
        let check = bytes.split_off(records * BYTES);
        if check_of(&bytes)[..] != check {
            return Err(ReadError::at(
                offset,
                format!("a block of {records} positions is damaged: `flipside book fix` saves the others"),
            ));
        }
        Ok(bytes)
    }

    /// The records of a block, from the cache if it has them.
    fn cached(&mut self, number: u64) -> Result<&[[u8; BYTES]], ReadError> {
        let slot = (number % CACHED as u64) as usize;
        if self.cache[slot].as_ref().is_none_or(|(cached, _)| *cached != number) {
            let block = self.read_block(number)?;
            self.cache[slot] = Some((number, block));
        }
        let (_, block) = self.cache[slot].as_ref().expect("just read");
        Ok(block.as_chunks().0)
    }

    /// The record of a position.
    pub fn get(&mut self, key: Key) -> Result<Option<Record>, ReadError> {
        if self.index.is_empty() {
            return Ok(None);
        }
        let number = self.block_of(key);
        let records = self.cached(number)?;
        let Key(.., position) = key;
        let found = records.iter().position(|record| position_in(record) == position);
        found.map_or(Ok(None), |i| decode(&records[i], Self::offset(number) + (i * BYTES) as u64).map(Some))
    }

    /// The records with keys in a range.
    pub fn range(&mut self, keys: &RangeInclusive<Key>) -> Result<Vec<Record>, ReadError> {
        let mut found = Vec::new();
        let mut number = self.block_of(*keys.start());
        while self.index.get(number as usize).is_some_and(|first| first <= keys.end()) {
            let records = self.cached(number)?;
            let first = records.partition_point(|record| key_of(record) < *keys.start());
            for (i, record) in records.iter().enumerate().skip(first) {
                if key_of(record) > *keys.end() {
                    return Ok(found);
                }
                found.push(decode(record, Self::offset(number) + (i * BYTES) as u64)?);
            }
            number += 1;
        }
        Ok(found)
    }
}

/// The number that stands for weights in records: their place in a list, from 1, to which new ones are added. 0 (unknown) if it is full.
pub(super) fn number_in(list: &mut Vec<Hash>, weights: &Hash) -> u8 {
    match list.iter().position(|known| known == weights) {
        Some(known) => known as u8 + 1,
        None if list.len() < MAX_WEIGHTS => {
            list.push(*weights);
            list.len() as u8
        }
        None => 0,
    }
}

/// The record at an offset.
pub(super) fn decode(bytes: &[u8; BYTES], offset: u64) -> Result<Record, ReadError> {
    Record::decode(bytes).map_err(|reason| ReadError::at(offset, reason))
}

/// The key of a record's bytes.
pub(super) fn key_of(record: &[u8; BYTES]) -> Key {
    Key::of(position_in(record))
}

fn position_in(record: &[u8; BYTES]) -> Position {
    position_of(record.first_chunk().expect("a record is longer"))
}

/// The player's discs, then the opponent's, little-endian.
pub(super) fn position_of(bytes: &[u8; 16]) -> Position {
    let [player, opponent] =
        [&bytes[..8], &bytes[8..]].map(|half| u64::from_le_bytes(half.try_into().expect("eight bytes")));
    Position { player, opponent }
}
