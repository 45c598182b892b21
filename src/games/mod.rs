//! Kept games: some hundred bytes each, in checksummed frames, read as a stream.
//!
//! [`GamesWriter`] appends frames to a `.fsg` file, [`GamesReader`] reads them one by one; a file that a crash cut off is read up
//! to there and gone on with. `docs/FILES.md` describes the bytes.

mod block;
mod file;

pub use block::{BlockError, MAX_GAMES, decode, encode};
pub use file::{Block, Frame, GamesError, GamesHeader, GamesReader, GamesWriter, frame, is_games_file};
