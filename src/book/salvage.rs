//! Reading a book whose header is damaged, or that was cut off.
//!
//! Blocks all have the same size and a checksum, so the sorted part can be found without the header.

use std::fs::File;

use super::file::{BLOCK, BLOCK_BYTES, Base, CHECK, Fault, HEADER, MAX_WEIGHTS, ReadError, check_of};
use super::record::BYTES;

impl Base {
    /// The sorted part of a file whose header cannot be trusted, as `fault` says. `announced` is how many records it should have, if
    /// that is known.
    ///
    /// # Errors
    /// I/O errors, or `fault` if no block and no batch of the file is intact.
    pub(super) fn without_header(file: File, fault: Fault, announced: Option<u64>) -> Result<Self, ReadError> {
        let length = file.metadata()?.len();
        let most = length.saturating_sub(HEADER) / BLOCK_BYTES;
        let mut base = Self::new(file, most * BLOCK as u64);
        let mut blocks = 0;
        for block in 0..most {
            blocks = if base.is_whole(block)? { block + 1 } else { blocks };
        }
        let start = Self::offset(blocks);
        let last = base.last_block(start, length)?;
        base.count = blocks * BLOCK as u64 + last;
        if base.count == 0 && !base.has_batch(start, length)? {
            return Err(ReadError::Fault(fault));
        }
        base.announced = announced.unwrap_or(base.count).max(base.count);
        base.end = if last == 0 { start } else { start + last * BYTES as u64 + CHECK as u64 };
        let blocks = base.count.div_ceil(BLOCK as u64);
        base.make_index(blocks)?;
        base.take_names(blocks, length)?;
        Ok(base)
    }

    /// Whether a block's checksum is right.
    fn is_whole(&mut self, block: u64) -> Result<bool, ReadError> {
        match self.read_block(block) {
            Ok(_) => Ok(true),
            Err(ReadError::Fault(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The number of records of the last block, which has fewer than the others; 0 if there is none.
    fn last_block(&mut self, start: u64, length: u64) -> Result<u64, ReadError> {
        let room = length.saturating_sub(start).min(BLOCK_BYTES) as usize;
        let bytes = self.read_at(start, room)?;
        let is_there = |records: &usize| {
            let (content, rest) = bytes.split_at(records * BYTES);
            rest.len() >= CHECK && check_of(content) == rest[..CHECK]
        };
        Ok((1..BLOCK).take_while(|records| records * BYTES <= room).find(is_there).unwrap_or(0) as u64)
    }

    /// Takes the names of the weights from the trailer and skips it, if one follows that matches the index.
    fn take_names(&mut self, blocks: u64, length: u64) -> Result<(), ReadError> {
        let room = length - self.end;
        let number = self.read_at(self.end, room.min(4) as usize)?;
        let Ok(number) = number.try_into().map(u32::from_le_bytes) else { return Ok(()) };
        let size = 4 + 32 * u64::from(number) + 16 * blocks;
        if number as usize > MAX_WEIGHTS || size > room {
            return Ok(());
        }
        let trailer = self.read_at(self.end, size as usize)?;
        let (names, index) = trailer[4..].split_at(32 * number as usize);
        if self.is_index(index) {
            self.weights = names.as_chunks().0.to_vec();
            self.end += size;
        }
        Ok(())
    }
}
