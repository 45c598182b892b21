//! Files of games, `.fsg`: a header, then frames, each a block of games with its checksum.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::block::{self, MAX_GAMES};
use crate::selfplay::GameRecord;
use crate::storage::only_zeros_left;

const MAGIC: [u8; 8] = *b"\x89FSG\r\n\x1a\n";
const VERSION: u32 = 1;
const CHECKSUM: usize = 8;
/// Magic 8, version 4, generation 4, run 16, and the checksum of these.
const HEADER: usize = 32 + CHECKSUM;
/// Magic 4, first game 4, number of games 4, bytes of the block 4.
const FRAME_HEADER: usize = 16;
const FRAME_MAGIC: [u8; 4] = *b"FSGB";
/// Limit in bytes of a frame's block: more than [`MAX_GAMES`] games take even if they cannot be deflated.
const MAX_BLOCK: usize = 1 << 28;

/// Whose games a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GamesHeader {
    /// The run that played them.
    pub run: [u8; 16],
    /// The generation, from 0.
    pub generation: u32,
}

/// What is wrong with a file of games.
#[derive(Debug, thiserror::Error)]
pub enum GamesError {
    /// An error of the file system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not a file of games that this program reads.
    #[error("bytes 0 to 39 are not the header of a file of games: {0}")]
    Foreign(&'static str),
    /// A header or a last frame that is cut off, or only zeros in its place, as a crash or a power cut leaves it.
    #[error("the frame at byte {at} was cut off")]
    Torn {
        /// Offset of the frame.
        at: u64,
    },
    /// Bytes that are not what was written.
    #[error("the frame at byte {at} is damaged: {reason}; take another copy of the file")]
    Damaged {
        /// Offset of the frame, 0 for the header.
        at: u64,
        /// What is wrong.
        reason: String,
    },
}

impl GamesHeader {
    /// The header as bytes, with its checksum: what a file of games begins with.
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.run);
        let checksum = checksum_of(&bytes[..32], &[]);
        bytes[32..].copy_from_slice(&checksum);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, GamesError> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(GamesError::Torn { at: 0 });
        }
        if bytes.iter().zip(&MAGIC).any(|(found, expected)| found != expected) {
            return Err(GamesError::Foreign("this is another kind of file, or a transfer in text mode damaged it"));
        }
        if bytes.len() < HEADER {
            return Err(GamesError::Torn { at: 0 });
        }
        if bytes[8..12] != VERSION.to_le_bytes() {
            return Err(GamesError::Foreign("it is of another version; use the program that wrote it"));
        }
        if bytes[32..] != checksum_of(&bytes[..32], &[]) {
            return Err(damaged(0, "its checksum is wrong"));
        }
        let generation = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes"));
        Ok(Self { run: bytes[16..32].try_into().expect("sixteen bytes"), generation })
    }
}

/// Whether bytes begin as a file of games does.
pub fn is_games_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Reads a file of games frame by frame, with one frame in memory.
#[derive(Debug)]
pub struct GamesReader<R = BufReader<File>> {
    file: R,
    header: GamesHeader,
    at: u64,
    /// Number of the first game of the next frame; none before the first frame.
    next: Option<u32>,
}

impl GamesReader {
    /// Opens a file and checks its header.
    ///
    /// # Errors
    /// See [`Self::new`]. They do not name the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GamesError> {
        Self::new(BufReader::with_capacity(1 << 16, File::open(path)?))
    }
}

impl<R: Read> GamesReader<R> {
    /// Reads and checks the header.
    ///
    /// # Errors
    /// The file system's, or no header; [`GamesError::Torn`] if the file ends within it or has zeros in its place.
    pub fn new(mut file: R) -> Result<Self, GamesError> {
        let mut header = Vec::with_capacity(HEADER);
        file.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
        let header = GamesHeader::from_bytes(&header)?;
        Ok(Self { file, header, at: HEADER as u64, next: None })
    }

    /// Whose games these are.
    pub fn header(&self) -> GamesHeader {
        self.header
    }

    /// Bytes of the header and of the frames read so far: where the next frame begins.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The next frame, its checksum checked, not yet decoded; none at the end of the file. Its games follow those of the frame before.
    ///
    /// # Errors
    /// [`GamesError::Torn`] if the file ends within the frame, [`GamesError::Damaged`] if anything else is there than what was written:
    /// bytes after the last frame that do not begin another one, or a frame twice.
    pub fn next_frame(&mut self) -> Result<Option<RawFrame>, GamesError> {
        let frame = read_frame(&mut self.file, self.at, self.next)?;
        if let Some(frame) = &frame {
            self.at = frame.end();
            self.next = frame.first.checked_add(frame.count as u32);
        }
        Ok(frame)
    }
}

/// Games in the whole frames of a file that may be growing, up to the first bad one; 0 if it cannot be opened.
pub fn games_in(path: &Path) -> u32 {
    let Ok(mut reader) = GamesReader::open(path) else { return 0 };
    let mut games = 0;
    while let Ok(Some(frame)) = reader.next_frame() {
        games += frame.len() as u32;
    }
    games
}

/// The whole frames of a file, not yet decoded, and whether nothing follows them: a crash may have cut off the last frame.
///
/// # Errors
/// The file system's, or a file that does not hold what it should.
pub fn whole_frames(file: impl Read) -> Result<(Vec<RawFrame>, bool), GamesError> {
    let mut frames = Vec::new();
    let read = || {
        let mut reader = GamesReader::new(file)?;
        while let Some(frame) = reader.next_frame()? {
            frames.push(frame);
        }
        Ok(())
    };
    match read() {
        Ok(()) => Ok((frames, true)),
        Err(GamesError::Torn { .. }) => Ok((frames, false)),
        Err(error) => Err(error),
    }
}

/// The frames that bytes consist of, their checksums checked, not yet decoded.
///
/// # Errors
/// [`GamesError::Torn`] or [`GamesError::Damaged`] if the bytes are anything but frames one after another.
pub fn raw_frames(mut bytes: &[u8]) -> Result<Vec<RawFrame>, GamesError> {
    let length = bytes.len();
    let mut frames = Vec::new();
    loop {
        let at = (length - bytes.len()) as u64;
        match read_frame(&mut bytes, at, None)? {
            Some(frame) => frames.push(frame),
            None => return Ok(frames),
        }
    }
}

/// The frame that begins at byte `at`, with game `next` if that is known; none at the end.
pub(super) fn read_frame(from: &mut impl Read, at: u64, next: Option<u32>) -> Result<Option<RawFrame>, GamesError> {
    let mut header = Vec::with_capacity(FRAME_HEADER);
    from.by_ref().take(FRAME_HEADER as u64).read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(None);
    }
    // A power cut may leave zeros at the end of a file that grew.
    if header.iter().all(|&byte| byte == 0) {
        return Err(if only_zeros_left(from)? {
            GamesError::Torn { at }
        } else {
            damaged(at, "no frame begins there")
        });
    }
    let expected = [&FRAME_MAGIC[..], &next.map_or(Vec::new(), |next| next.to_le_bytes().to_vec())].concat();
    if header.iter().zip(&expected).any(|(found, expected)| found != expected) {
        let reason = match next {
            Some(next) if header.starts_with(&FRAME_MAGIC) => format!("it does not begin with game {next}"),
            _ => "no frame begins there".to_owned(),
        };
        return Err(damaged(at, &reason));
    }
    let Ok(header) = <[u8; FRAME_HEADER]>::try_from(header) else { return Err(GamesError::Torn { at }) };
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let (first, count, length) = (word(4), word(8) as usize, word(12) as usize);
    if count > MAX_GAMES || length > MAX_BLOCK {
        return Err(damaged(at, "it claims to be larger than frames are"));
    }
    // Memory grows with what is there, not with what is claimed.
    let mut bytes = Vec::new();
    from.by_ref().take((length + CHECKSUM) as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length + CHECKSUM {
        // A frame that was cut off is the last one, and has no checksum at its end.
        let is_whole = ends_a_frame(&header, &bytes) || has_frame(&bytes);
        return Err(if is_whole { damaged(at, "its length is wrong") } else { GamesError::Torn { at } });
    }
    let checksum = bytes.split_off(length);
    if checksum[..] != checksum_of(&header, &bytes) {
        return Err(damaged(at, "its checksum is wrong"));
    }
    Ok(Some(RawFrame { at, first, count, bytes }))
}

fn damaged(at: u64, reason: &str) -> GamesError {
    GamesError::Damaged { at, reason: reason.to_owned() }
}

/// The checksum of a header and what follows it.
fn checksum_of(header: &[u8], block: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::new_with_prefix(header).chain_update(block).finalize();
    digest[..CHECKSUM].try_into().expect("a digest is longer")
}

/// Whether bytes are the rest of a frame, apart from the length in its header.
fn ends_a_frame(header: &[u8; FRAME_HEADER], bytes: &[u8]) -> bool {
    let Some((block, checksum)) = bytes.split_last_chunk::<CHECKSUM>() else { return false };
    let mut header = *header;
    header[12..].copy_from_slice(&(block.len() as u32).to_le_bytes());
    *checksum == checksum_of(&header, block)
}

/// Whether a whole frame begins anywhere in some bytes.
fn has_frame(bytes: &[u8]) -> bool {
    // Bytes that pretend to be many frames are not all hashed.
    let mut left = 4 * bytes.len();
    let mut is_frame = |bytes: &[u8]| {
        let (header, rest) = bytes.split_first_chunk::<FRAME_HEADER>()?;
        let length = u32::from_le_bytes(*header.last_chunk()?) as usize;
        let (block, rest) = rest.split_at_checked(length)?;
        left = left.checked_sub(length)?;
        rest.starts_with(&checksum_of(header, block)).then_some(())
    };
    let mut fours = bytes.windows(FRAME_MAGIC.len()).enumerate();
    fours.any(|(start, four)| four == FRAME_MAGIC && is_frame(&bytes[start..]).is_some())
}

/// A frame as it is in the file, whole and undamaged: its games are still deflated.
#[derive(Clone, Debug)]
pub struct RawFrame {
    at: u64,
    first: u32,
    count: usize,
    bytes: Vec<u8>,
}

impl RawFrame {
    /// Offset of its end.
    pub fn end(&self) -> u64 {
        self.at + (FRAME_HEADER + self.bytes.len() + CHECKSUM) as u64
    }

    /// Number of its first game in the generation, from 0.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Number of games.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no games.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The block: its games, deflated.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of labelled positions of each game, without decoding the games.
    ///
    /// # Errors
    /// A block that ends before these numbers.
    pub fn labels(&self) -> Result<Vec<u8>, GamesError> {
        block::labels(&self.bytes, self.count).map_err(|reason| damaged(self.at, &reason.to_string()))
    }

    /// The games, in order.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(&self) -> Result<Vec<GameRecord>, GamesError> {
        block::decode(&self.bytes, self.count).map_err(|reason| damaged(self.at, &reason.to_string()))
    }
}

/// A frame as bytes, as in a file and between machines.
///
/// # Panics
/// If there are more than [`MAX_GAMES`].
pub fn frame(first: u32, games: &[GameRecord]) -> Vec<u8> {
    let block = block::encode(games);
    let mut bytes = Vec::with_capacity(FRAME_HEADER + block.len() + CHECKSUM);
    bytes.extend_from_slice(&FRAME_MAGIC);
    for word in [first, games.len() as u32, block.len() as u32] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let checksum = checksum_of(&bytes, &block);
    bytes.extend_from_slice(&block);
    bytes.extend_from_slice(&checksum);
    bytes
}
