//! The pages of the database in a book's file, each with a checksum: what is damaged is found when it is read.
//!
//! The database (`redb`) reads and writes pages of [`PAGE`] bytes and a header; it checks neither when it reads. Here the header has a
//! sector of its own, which is written at once, and each page is followed by its checksum.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use crc::{CRC_64_XZ, Crc, Table};
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

/// The first bytes of a book.
pub(super) const MAGIC: [u8; 8] = *b"\x89FSB\r\n\x1a\n";
/// The version of the format.
const VERSION: u32 = 1;
/// Bytes of the header: magic 8, version 4, the database's header, zeros, checksum 8.
pub(super) const SECTOR: usize = 512;
/// Where the database's header begins.
const INNER: usize = 12;
/// Bytes of a page. The database's first page holds only its header.
const PAGE: usize = 4096;
/// Bytes of a checksum.
const CHECK: usize = 8;
/// Bytes of a page and its checksum.
const BLOCK: usize = PAGE + CHECK;

/// What is wrong with a file: the offset in bytes, and why.
pub(super) type Fault = (u64, String);

/// The first damage that was met in a file.
pub(super) type FirstFault = Arc<OnceLock<Fault>>;

/// A file of pages with checksums.
#[derive(Debug)]
pub(super) struct Pages {
    file: FileBackend,
    fault: FirstFault,
}

impl Pages {
    /// The pages of a file, which may be empty. Damage goes into the second value when it is met.
    pub fn new(file: File) -> Result<(Self, FirstFault), redb::DatabaseError> {
        let fault = FirstFault::default();
        Ok((Self { file: FileBackend::new(file)?, fault: Arc::clone(&fault) }, fault))
    }

    fn damaged(&self, offset: u64, reason: &str) -> io::Error {
        let _ = self.fault.set((offset, reason.to_owned()));
        io::Error::new(io::ErrorKind::InvalidData, reason)
    }

    fn header(&self) -> io::Result<[u8; SECTOR]> {
        let mut header = [0; SECTOR];
        self.file.read(0, &mut header)?;
        let (content, check) = header.split_at(SECTOR - CHECK);
        match check == checksum(0, content) {
            true => Ok(header),
            false => Err(self.damaged(0, "the header's checksum is wrong")),
        }
    }

    fn write_header(&self, offset: usize, data: &[u8]) -> io::Result<()> {
        // A new file has zeros there.
        let mut header = [0; SECTOR];
        self.file.read(0, &mut header)?;
        if header == [0; SECTOR] {
            header[..8].copy_from_slice(&MAGIC);
            header[8..INNER].copy_from_slice(&VERSION.to_le_bytes());
        } else {
            header = self.header()?;
        }
        within(&mut header, offset, data.len())?.copy_from_slice(data);
        let check = checksum(0, &header[..SECTOR - CHECK]);
        header[SECTOR - CHECK..].copy_from_slice(&check);
        self.file.write(0, &header)
    }
}

/// The part of a header with the database's bytes in a range.
fn within(header: &mut [u8; SECTOR], offset: usize, len: usize) -> io::Result<&mut [u8]> {
    let part = header[INNER..SECTOR - CHECK].get_mut(offset..offset + len);
    part.ok_or_else(|| io::Error::other("the database's header does not fit into a sector"))
}

/// The checksum of a page by its number; 0 is the header.
fn checksum(number: u64, content: &[u8]) -> [u8; CHECK] {
    const CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_XZ);
    let mut digest = CRC.digest();
    digest.update(&number.to_le_bytes());
    digest.update(content);
    digest.finalize().to_le_bytes()
}

/// Where a page begins in the file.
fn place(number: u64) -> u64 {
    SECTOR as u64 + (number - 1) * BLOCK as u64
}

/// The number of the page at an offset of the database; 0 for its header.
fn number_at(offset: u64, len: usize) -> io::Result<u64> {
    let is_whole = offset < PAGE as u64 || offset.is_multiple_of(PAGE as u64) && len.is_multiple_of(PAGE);
    is_whole.then_some(offset / PAGE as u64).ok_or_else(|| io::Error::other("a part of a page"))
}

/// Where the first bytes of a file (at most [`SECTOR`]) are not those of a book, and what is wrong.
pub(super) fn fault_of_start(start: &[u8]) -> Option<Fault> {
    let fault = |offset: usize, reason: String| Some((offset as u64, reason));
    match start {
        _ if !MAGIC.starts_with(&start[..start.len().min(8)]) => {
            let reason =
                "these are not the first bytes of a book (.fsb); `flipside book import` reads those of other programs";
            fault(0, reason.to_owned())
        }
        _ if start.len() < SECTOR => fault(0, format!("only {} bytes: the file is empty or was cut off", start.len())),
        _ if start[SECTOR - CHECK..] != checksum(0, &start[..SECTOR - CHECK]) => {
            fault(INNER, "the header's checksum is wrong: the file is damaged, or of another version".to_owned())
        }
        _ if start[8..INNER] != VERSION.to_le_bytes() => {
            let version = u32::from_le_bytes(start[8..INNER].try_into().expect("four bytes"));
            fault(8, format!("a book of version {version}; this program reads version {VERSION}"))
        }
        _ => None,
    }
}

impl StorageBackend for Pages {
    fn len(&self) -> io::Result<u64> {
        let pages = self.file.len()?.saturating_sub(SECTOR as u64) / BLOCK as u64;
        Ok(if self.file.len()? == 0 { 0 } else { (pages + 1) * PAGE as u64 })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let pages = len.div_ceil(PAGE as u64).saturating_sub(1);
        self.file.set_len(SECTOR as u64 + pages * BLOCK as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let first = number_at(offset, out.len())?;
        if first == 0 {
            let mut header = self.header()?;
            out.copy_from_slice(within(&mut header, offset as usize, out.len())?);
            return Ok(());
        }
        let mut block = [0; BLOCK];
        for (number, page) in (first..).zip(out.chunks_mut(PAGE)) {
            if self.file.len()? < place(number) + BLOCK as u64 {
                return Err(self.damaged(place(number), "the file was cut off"));
            }
            self.file.read(place(number), &mut block)?;
            let (content, check) = block.split_at(PAGE);
            if check != checksum(number, content) {
                return Err(self.damaged(place(number), "the checksum of this page is wrong"));
            }
            page.copy_from_slice(content);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let first = number_at(offset, data.len())?;
        if first == 0 {
            return self.write_header(offset as usize, data);
        }
        let mut block = [0; BLOCK];
        for (number, page) in (first..).zip(data.chunks(PAGE)) {
            block[..PAGE].copy_from_slice(page);
            block[PAGE..].copy_from_slice(&checksum(number, page));
            self.file.write(place(number), &block)?;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
