//! The journal of a generation: its samples, batch by batch, as they were played.
//!
//! A batch is a frame: the magic, the batch's number, the number of samples (u32 each, little-endian), 18 bytes a sample
//! (player's discs, opponent's discs, target in 1/128 disc), and the first 8 bytes of the SHA-256 of all before. A frame that
//! was cut off by a crash is not taken and is written anew.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::board::Position;
use crate::eval::Score;
use crate::learn::{Sample, SampleSet};

const MAGIC: &[u8; 4] = b"FSJ1";
const HEADER: usize = 12;
const SAMPLE: usize = 18;
const CHECKSUM: usize = 8;

/// The journal of one generation, open for reading what there is and appending what comes.
pub(super) struct Journal {
    file: File,
    /// Frames that were found whole and are not yet taken, as bytes from `at` on.
    found: Vec<u8>,
    at: usize,
    batch: u32,
}

/// Where a generation's journal is.
pub(super) fn path(directory: &Path, generation: u32) -> PathBuf {
    directory.join(format!("{generation:08}.fsj"))
}

impl Journal {
    /// Opens a generation's journal, making it where there is none. What follows the last whole frame is cut off.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut found = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut whole = 0;
        let mut batch = 0;
        while let Some(length) = frame_length(&found[whole..], batch) {
            whole += length;
            batch += 1;
        }
        found.truncate(whole);
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(whole as u64)?;
        Ok(Self { file, found, at: 0, batch: 0 })
    }

    /// The next batch, if it was played before.
    pub(super) fn next(&mut self) -> Option<SampleSet> {
        let length = frame_length(&self.found[self.at..], self.batch)?;
        let samples = &self.found[self.at + HEADER..self.at + length - CHECKSUM];
        let mut set = SampleSet::default();
        for bytes in samples.chunks_exact(SAMPLE) {
            let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            let target = i16::from_le_bytes([bytes[16], bytes[17]]);
            let position = Position { player: word(0), opponent: word(8) };
            set.push(Sample { position, target: Score(i32::from(target)) });
        }
        self.at += length;
        self.batch += 1;
        Some(set)
    }

    /// Appends the next batch, given in the order of play.
    pub(super) fn append(&mut self, samples: &[Sample]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(HEADER + SAMPLE * samples.len() + CHECKSUM);
        frame.extend_from_slice(MAGIC);
        frame.extend_from_slice(&self.batch.to_le_bytes());
        frame.extend_from_slice(&(samples.len() as u32).to_le_bytes());
        for sample in samples {
            frame.extend_from_slice(&sample.position.player.to_le_bytes());
            frame.extend_from_slice(&sample.position.opponent.to_le_bytes());
            frame.extend_from_slice(&(sample.target.0 as i16).to_le_bytes());
        }
        let checksum = Sha256::digest(&frame);
        frame.extend_from_slice(&checksum[..CHECKSUM]);
        self.file.write_all(&frame)?;
        self.batch += 1;
        Ok(())
    }

    /// Makes sure that a checkpoint which relies on the journal finds it even after a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The length of the frame at the front, if it is the batch wanted, whole, and undamaged.
fn frame_length(bytes: &[u8], batch: u32) -> Option<usize> {
    let header = bytes.get(..HEADER)?;
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    if &header[..4] != MAGIC || word(4) != batch {
        return None;
    }
    let body = HEADER + SAMPLE * word(8) as usize;
    let frame = bytes.get(..body + CHECKSUM)?;
    (Sha256::digest(&frame[..body])[..CHECKSUM] == frame[body..]).then_some(body + CHECKSUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(n: i32) -> Vec<Sample> {
        (0..n).map(|i| Sample { position: Position::START, target: Score(100 * i - 500) }).collect()
    }

    #[test]
    fn a_torn_frame_is_cut_off_and_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = path(directory.path(), 3);
        let mut journal = Journal::open(&path).unwrap();
        assert!(journal.next().is_none());
        journal.append(&samples(5)).unwrap();
        journal.append(&samples(7)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // However much of the second frame is missing, the first stays and the second can be appended again.
        for cut in [1, 8, 60, 7 * SAMPLE + HEADER + CHECKSUM - 1] {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            assert_eq!(journal.next().unwrap().with_empties(60), samples(5));
            assert!(journal.next().is_none());
            journal.append(&samples(7)).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        let mut damaged = whole.clone();
        damaged[20] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        assert!(Journal::open(&path).unwrap().next().is_none());
    }
}
