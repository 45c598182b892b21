//! External sorting of records.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::BookError;
use super::file::{Hash, key_of};
use super::lock::Lock;
use super::rebuild::{Sink, combine, rebuild, temporary};
use super::record::{BYTES, Key, Record};
use crate::storage::FileError;

/// Records that are sorted in memory at once.
const RUN: usize = 1 << 20;

/// Bytes of a run that are read ahead.
const AHEAD: usize = 1 << 16;

/// Takes records in any order and hands them out in that of a book, those of the same position combined.
pub(super) struct Sorter {
    records: Vec<Record>,
    store: File,
    /// See [`temporary`].
    name: PathBuf,
    /// For each run: its number of discs, its offset and its length. A part has a run for each number of discs.
    runs: Vec<(u32, u64, u64)>,
    written: u64,
}

impl Sorter {
    /// A sorter that keeps what does not fit in memory beside the book to be written.
    pub fn new(path: &Path) -> Result<Self, BookError> {
        let (store, name) = temporary(path)?;
        Ok(Self { records: Vec::new(), store, name, runs: Vec::new(), written: 0 })
    }

    /// Adds a record.
    pub fn push(&mut self, record: Record) -> Result<(), BookError> {
        self.records.push(record);
        if self.records.len() >= RUN { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), BookError> {
        self.records.sort_by_cached_key(|record| Key::of(record.position));
        self.records.dedup_by(|other, first| {
            let same = first.position == other.position;
            if same {
                combine(first, other);
            }
            same
        });
        self.store.seek(SeekFrom::End(0)).map_err(FileError::io(&self.name))?;
        for ply in self.records.chunk_by(|a, b| a.position.discs() == b.position.discs()) {
            let bytes: Vec<u8> = ply.iter().flat_map(Record::encode).collect();
            self.runs.push((ply[0].position.discs(), self.written, ply.len() as u64));
            self.store.write_all(&bytes).map_err(FileError::io(&self.name))?;
            self.written += bytes.len() as u64;
        }
        self.records.clear();
        Ok(())
    }

    /// Hands over the records with a number of discs, in order.
    pub fn ply(&mut self, discs: u32, sink: Sink<'_>) -> Result<(), BookError> {
        self.spill()?;
        let Self { store, name, runs, .. } = self;
        let io = FileError::io(name);
        let of_ply = runs.iter().filter(|(first, ..)| *first == discs);
        let mut runs: Vec<Run> =
            of_ply.map(|&(_, offset, left)| Run { offset, left, bytes: Vec::new(), at: 0 }).collect();
        let mut heap = BinaryHeap::new();
        let mut open = |run: usize, heap: &mut BinaryHeap<_>, runs: &mut Vec<Run>| {
            let next = runs[run].next(store).map_err(&io)?;
            heap.extend(next.map(|bytes| Reverse((key_of(&bytes), run, bytes))));
            Ok::<_, BookError>(())
        };
        (0..runs.len()).try_for_each(|run| open(run, &mut heap, &mut runs))?;
        let mut last: Option<Record> = None;
        while let Some(Reverse((_, run, bytes))) = heap.pop() {
            let record = Record::decode(&bytes).map_err(|reason| io(io::Error::other(reason)))?;
            match &mut last {
                Some(last) if last.position == record.position => combine(last, &record),
                _ => last.replace(record).map_or(Ok(()), &mut *sink)?,
            }
            open(run, &mut heap, &mut runs)?;
        }
        last.map_or(Ok(()), sink)
    }

    /// Writes the book. Returns the number of its positions.
    pub fn finish(mut self, lock: &mut Lock, weights: &[Hash]) -> Result<u64, BookError> {
        let (count, _) = rebuild(lock, weights, |discs, sink| self.ply(discs, sink))?;
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
    fn next(&mut self, file: &mut File) -> io::Result<Option<[u8; BYTES]>> {
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
