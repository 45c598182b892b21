//! Files of recorded games and scored positions, labelled as they are read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::labeller::{is_lesson, label_all};
use crate::learn::Sample;
use crate::record::{Format, RecordError, Records, read};

/// Positions with up to this many empties are solved in a few milliseconds.
const EASY_EMPTIES: u32 = 16;

/// Labels the records of a file, a batch at a time.
pub struct RecordFile<'b> {
    path: PathBuf,
    format: Format,
    records: Records<'b>,
    /// The number of the next record, from 1.
    number: usize,
    exact_empties: u32,
}

/// Why nothing can be learned from a file of records.
#[derive(Debug, thiserror::Error)]
pub enum RecordFileError {
    /// It cannot be read in the format it looks like.
    #[error("cannot read {} as {format}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The format it looks like.
        format: Format,
        /// What is wrong.
        error: RecordError,
    },
    /// It has no record to learn from.
    #[error(
        "{} (it looks like {format}) has nothing to learn from: no game with a result, no position with a score in which somebody can \
         move", path.display()
    )]
    NoLesson {
        /// The file.
        path: PathBuf,
        /// The format it looks like.
        format: Format,
    },
}

impl fmt::Debug for RecordFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFile")
            .field("path", &self.path)
            .field("format", &self.format)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<'b> RecordFile<'b> {
    /// Reads `bytes`, the content of the file at `path`. For `exact_empties` see [`Labeller::new`](super::Labeller::new).
    ///
    /// # Errors
    /// [`RecordFileError::Unreadable`].
    pub fn new(path: &Path, bytes: &'b [u8], exact_empties: u32) -> Result<Self, RecordFileError> {
        let (path, format) = (path.to_owned(), Format::detect(bytes));
        match read(bytes, format) {
            Ok(records) => Ok(Self { path, format, records, number: 1, exact_empties }),
            Err(error) => Err(RecordFileError::Unreadable { path, format, error }),
        }
    }

    /// The next batch: each record's samples, or why it has none, made on the threads of the current rayon pool. Empty at the end
    /// of the file; `None` if `stop` was set before the batch was done.
    pub fn next(&mut self, stop: &AtomicBool) -> Option<Vec<Result<Vec<Sample>, RecordError>>> {
        // A stop loses a batch, so batches that may take long to solve are small.
        let at_once = if self.exact_empties > EASY_EMPTIES { 1 << 6 } else { 1 << 12 };
        let records: Vec<_> = self.records.by_ref().take(at_once).collect();
        let first = self.number;
        self.number += records.len();
        label_all(records, first, self.exact_empties, stop)
    }

    /// Checks that there is a record left to learn from, without solving anything.
    ///
    /// # Errors
    /// [`RecordFileError::NoLesson`].
    pub fn has_lesson(mut self) -> Result<(), RecordFileError> {
        let exact_empties = self.exact_empties;
        let has_one = self.records.any(|record| record.is_ok_and(|record| is_lesson(&record, exact_empties)));
        if has_one { Ok(()) } else { Err(self.no_lesson()) }
    }

    /// The error for a file from which nothing could be learned.
    pub fn no_lesson(self) -> RecordFileError {
        RecordFileError::NoLesson { path: self.path, format: self.format }
    }
}
