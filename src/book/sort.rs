//! Records in any order, sorted outside of memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::error::BookError;
use super::file::Hash;
use super::rebuild::{combine, rebuild, temporary};
use super::record::{BYTES, Key, Record};

/// Records that are sorted in memory at once.
const RUN: usize = 1 << 20;

/// Bytes of a run that are read ahead.
const AHEAD: usize = 1 << 16;

/// Takes records in any order, and makes a book of them.
pub(super) struct Sorter<'p> {
    path: &'p Path,
    records: Vec<Record>,
    store: File,
    /// The number of discs of the first record that each run has, and where: a run for each number of discs in a part.
    runs: Vec<(u32, u64, u64)>,
    written: u64,
}

impl<'p> Sorter<'p> {
    /// Keeps what does not fit into memory beside the book that is to be.
    pub fn new(path: &'p Path) -> Result<Self, BookError> {
        Ok(Self { path, records: Vec::new(), store: temporary(path)?, runs: Vec::new(), written: 0 })
    }

    /// Adds a record.
    pub fn push(&mut self, record: Record) -> Result<(), BookError> {
        self.records.push(record);
        if self.records.len() >= RUN { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), BookError> {
        self.records.sort_by_key(|record| Key::of(record.position));
        let io = BookError::io(self.path);
        for ply in self.records.chunk_by(|a, b| a.position.discs() == b.position.discs()) {
            let bytes: Vec<u8> = ply.iter().flat_map(Record::encode).collect();
            self.runs.push((ply[0].position.discs(), self.written, ply.len() as u64));
            self.store.write_all(&bytes).map_err(&io)?;
            self.written += bytes.len() as u64;
        }
        self.records.clear();
        Ok(())
    }

    /// Writes the book; records of the same position are combined. Answers with the number of its positions.
    pub fn finish(mut self, weights: &[Hash]) -> Result<u64, BookError> {
        self.spill()?;
        let Self { path, mut store, runs, .. } = self;
        let io = BookError::io(path);
        let (count, _) = rebuild(path, weights, |discs, sink| {
            let of_ply = runs.iter().filter(|(first, ..)| *first == discs);
            let mut runs: Vec<Run> =
                of_ply.map(|&(_, offset, left)| Run { offset, left, bytes: Vec::new(), at: 0 }).collect();
            let mut heap = BinaryHeap::new();
            let mut open = |run: usize, heap: &mut BinaryHeap<_>, runs: &mut Vec<Run>| {
                let next = runs[run].next(&mut store).map_err(&io)?;
                heap.extend(next.map(|bytes| Reverse((super::file::key_of(&bytes), run, bytes))));
                Ok::<_, BookError>(())
            };
            (0..runs.len()).try_for_each(|run| open(run, &mut heap, &mut runs))?;
            let mut last: Option<Record> = None;
            while let Some(Reverse((_, run, bytes))) = heap.pop() {
                let record = Record::decode(&bytes).map_err(|reason| BookError::damage(path, 0, reason))?;
                match &mut last {
                    Some(last) if last.position == record.position => combine(last, &record),
                    _ => last.replace(record).map_or(Ok(()), &mut *sink)?,
                }
                open(run, &mut heap, &mut runs)?;
            }
            last.map_or(Ok(()), sink)
        })?;
        Ok(count)
    }
}

/// A sorted run in a file.
struct Run {
    offset: u64,
    left: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl Run {
    fn next(&mut self, file: &mut File) -> std::io::Result<Option<[u8; BYTES]>> {
        if self.at == self.bytes.len() {
            let records = self.left.min((AHEAD / BYTES) as u64);
            if records == 0 {
                return Ok(None);
            }
            self.bytes.resize(records as usize * BYTES, 0);
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_exact(&mut self.bytes)?;
            self.offset += self.bytes.len() as u64;
            self.left -= records;
            self.at = 0;
        }
        let record = self.bytes[self.at..].first_chunk().copied();
        self.at += BYTES;
        Ok(record)
    }
}
