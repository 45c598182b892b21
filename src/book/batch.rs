//! What was added to a book since it was sorted: batches after the sorted part, each present as a whole or not at all.

use std::collections::BTreeMap;
use std::io;

use super::file::{Base, CHECK, Fault, Hash, MAX_WEIGHTS, ReadError, check_of, decode};
use super::record::{BYTES, Key, Record};

/// The first bytes of a batch.
const BATCH: [u8; 4] = *b"FSBB";
/// Bytes of a batch before its content: magic 4, weights 4, records 4.
const BATCH_HEADER: usize = 12;

/// The bytes of a batch.
pub(super) fn encode_batch(weights: &[Hash], records: &[Record]) -> Vec<u8> {
    let mut bytes = BATCH.to_vec();
    bytes.extend_from_slice(&(weights.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(records.len() as u32).to_le_bytes());
    bytes.extend(weights.iter().flatten());
    records.iter().for_each(|record| bytes.extend_from_slice(&record.encode()));
    let check = check_of(&bytes);
    bytes.extend_from_slice(&check);
    bytes
}

/// What was added to the sorted part.
#[derive(Default)]
pub(super) struct Batches {
    pub weights: Vec<Hash>,
    /// The newest record of each position.
    pub records: BTreeMap<Key, Record>,
    /// Where the next batch goes.
    pub end: u64,
    /// Bytes after that, of a batch that was cut off.
    pub dropped: u64,
}

impl Base {
    /// Reads the batches. With `damaged`, damaged ones are reported there and skipped.
    pub fn batches(&mut self, mut damaged: Option<&mut Vec<Fault>>) -> Result<Batches, ReadError> {
        let length = self.length()?;
        let mut all = Batches { weights: self.weights.clone(), end: self.end, ..Batches::default() };
        // Numbers of weights are reliable up to this one.
        let mut known = MAX_WEIGHTS;
        while all.end < length {
            match self.batch(all.end, length, known, &mut all) {
                Ok(Some(end)) => all.end = end,
                Ok(None) => {
                    all.dropped = length - all.end;
                    break;
                }
                Err(ReadError::Fault(fault)) if damaged.is_some() => {
                    let from = all.end + 1;
                    damaged.as_deref_mut().expect("just seen").push(fault);
                    // It may have named weights, which later batches count: numbers beyond those read so far are unreliable.
                    known = known.min(all.weights.len());
                    match self.next_batch(from, length)? {
                        Some(next) => all.end = next,
                        None => break,
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Reads a batch and returns its end, or none if it was cut off and nothing follows. Weights with numbers above `known` are unknown.
    fn batch(&mut self, start: u64, length: u64, known: usize, all: &mut Batches) -> Result<Option<u64>, ReadError> {
        let Some((weights, content)) = self.whole_batch(start, length)? else {
            return self.cut_off(start, length).map(|()| None);
        };
        let size = (BATCH_HEADER + content.len() + CHECK) as u64;
        let (names, content) = content.split_at(32 * weights);
        if all.weights.len() + weights > MAX_WEIGHTS {
            return Err(ReadError::at(start, format!("more than {MAX_WEIGHTS} weights")));
        }
        let first = start + (BATCH_HEADER + names.len()) as u64;
        let records = content.as_chunks::<BYTES>().0.iter().enumerate();
        let read = |(i, record)| {
            let mut record = decode(record, first + (i * BYTES) as u64)?;
            record.weights = if usize::from(record.weights) > known { 0 } else { record.weights };
            Ok(record)
        };
        let read: Vec<_> = records.map(read).collect::<Result<_, ReadError>>()?;
        all.weights.extend(names.as_chunks().0);
        all.records.extend(read.into_iter().map(|record| (Key::of(record.position), record)));
        Ok(Some(start + size))
    }

    /// The number of weights and the content of a batch, if it is whole.
    fn whole_batch(&mut self, start: u64, length: u64) -> io::Result<Option<(usize, Vec<u8>)>> {
        let room = length - start;
        if room < (BATCH_HEADER + CHECK) as u64 {
            return Ok(None);
        }
        let header = self.read_at(start, BATCH_HEADER)?;
        let [weights, records] =
            [4, 8].map(|at| u64::from(u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"))));
        let content = 32 * weights + BYTES as u64 * records;
        if header[..4] != BATCH || content > room - (BATCH_HEADER + CHECK) as u64 {
            return Ok(None);
        }
        let mut bytes = self.read_at(start, BATCH_HEADER + content as usize + CHECK)?;
        let check = bytes.split_off(BATCH_HEADER + content as usize);
        Ok((check_of(&bytes)[..] == check).then(|| (weights as usize, bytes.split_off(BATCH_HEADER))))
    }

    /// Checks that what begins at `start` can be what a kill or a power cut left of the last batch.
    fn cut_off(&mut self, start: u64, length: u64) -> Result<(), ReadError> {
        let there = (length - start).min(BATCH.len() as u64) as usize;
        let magic = self.read_at(start, there)?;
        // A power cut may leave zeros in the place of the last bytes.
        if magic != BATCH[..there] && magic.iter().any(|byte| *byte != 0) {
            return Err(ReadError::at(start, "what follows is not a batch of positions: the file is damaged"));
        }
        if self.has_batch(start + 1, length)? {
            return Err(ReadError::at(start, "a batch of positions is damaged: `flipside book fix` saves the others"));
        }
        Ok(())
    }

    /// Whether a whole batch follows at or after an offset.
    pub(super) fn has_batch(&mut self, mut from: u64, length: u64) -> Result<bool, ReadError> {
        while let Some(next) = self.next_batch(from, length)? {
            if self.whole_batch(next, length)?.is_some() {
                return Ok(true);
            }
            from = next + 1;
        }
        Ok(false)
    }

    /// The next offset from `from` on at which a batch seems to begin.
    fn next_batch(&mut self, from: u64, length: u64) -> io::Result<Option<u64>> {
        const STEP: usize = 1 << 16;
        let mut start = from;
        while start < length {
            let bytes = self.read_at(start, (length - start).min(STEP as u64) as usize)?;
            if let Some(at) = bytes.windows(BATCH.len()).position(|window| window == BATCH) {
                return Ok(Some(start + at as u64));
            }
            start += (bytes.len() - (BATCH.len() - 1).min(bytes.len() - 1)) as u64;
            if bytes.len() < STEP {
                break;
            }
        }
        Ok(None)
    }
}
