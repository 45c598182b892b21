//! Kept games: about 130 bytes each, in checksummed frames, read as a stream.
//!
//! A `.fsg` file is [`GamesHeader::to_bytes`], then one [`frame()`] after another. [`GamesReader`] reads them one by one; if a crash cut
//! the file off, up to the cut. `docs/FILES.md` describes the bytes.

mod block;
mod file;
mod folder;

pub use block::{BlockError, MAX_GAMES, decode, digest, encode};
pub use file::{
    Block, Frame, GamesError, GamesHeader, GamesReader, blocks, frame, games_in, is_games_file, whole_blocks,
};
pub use folder::{games_file, games_folder, games_of_run, generations_of_run, has_games_name};
