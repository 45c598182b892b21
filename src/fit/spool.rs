//! Labelled positions of records in a temporary file: they are solved once, read in every pass, and take no memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::board::Position;
use crate::eval::Score;
use crate::learn::{Bound, Sample};

/// Bytes of a position: own discs 8, opponent's discs 8, value 4, bound 1.
const BYTES: usize = 21;

const BOUNDS: [Bound; 3] = [Bound::Exact, Bound::Lower, Bound::Upper];

/// The samples of each record: a byte with their number, then the samples. Nobody else sees the file, and it vanishes when closed, even
/// by a crash.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
}

/// Writes a [`Spool`].
pub(super) struct SpoolWriter(BufWriter<File>);

impl SpoolWriter {
    /// A new file in a folder.
    pub fn new_in(folder: &Path) -> io::Result<Self> {
        Ok(Self(BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(folder)?)))
    }

    /// Adds the samples of a record.
    pub fn push(&mut self, samples: &[Sample]) -> io::Result<()> {
        let count = u8::try_from(samples.len()).expect("a game has no more than 64 moves");
        self.0.write_all(&[count])?;
        for sample in samples {
            self.0.write_all(&sample.position.player.to_le_bytes())?;
            self.0.write_all(&sample.position.opponent.to_le_bytes())?;
            self.0.write_all(&sample.target.0.to_le_bytes())?;
            self.0.write_all(&[sample.bound as u8])?;
        }
        Ok(())
    }

    pub fn finish(self) -> io::Result<Spool> {
        Ok(Spool { file: self.0.into_inner().map_err(io::IntoInnerError::into_error)? })
    }
}

impl Spool {
    /// Reads from the beginning. The file has one cursor: only the newest reader is valid.
    pub fn read(&self) -> io::Result<SpoolReader> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(SpoolReader(BufReader::with_capacity(1 << 16, file)))
    }
}

/// Reads a [`Spool`].
pub(super) struct SpoolReader(BufReader<File>);

impl SpoolReader {
    /// The samples of the next record.
    pub fn next(&mut self) -> io::Result<Vec<Sample>> {
        let mut count = [0];
        self.0.read_exact(&mut count)?;
        (0..count[0]).map(|_| self.sample()).collect()
    }

    fn sample(&mut self) -> io::Result<Sample> {
        let mut bytes = [0; BYTES];
        self.0.read_exact(&mut bytes)?;
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes"));
        let position = Position { player: word(0), opponent: word(8) };
        let target = Score(i32::from_le_bytes(*bytes[16..].first_chunk().expect("four bytes")));
        let bound = BOUNDS.get(usize::from(bytes[20])).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Sample { bound: *bound, ..Sample::new(position, target) })
    }
}
