//! Kept games: about 130 bytes each, in checksummed frames, read as a stream.
//!
//! A `.fsg` file is [`GamesHeader::to_bytes`], then one [`frame()`] after another. [`GamesReader`] reads them one by one, up to the point
//! where a crash cut the file off. `docs/FILES.md` describes the bytes.
//!
//! # Example
//! ```no_run
//! use flipside::games::GamesReader;
//!
//! let mut reader = GamesReader::open("runs/latest/games/00000100.fsg")?;
//! while let Some(frame) = reader.next_frame()? {
//!     for game in frame.decode()? {
//!         let replay = game.replay();
//!         println!("{} labelled positions, {} discs", replay.plies.len(), replay.result);
//!     }
//! }
//! # Ok::<(), flipside::games::GamesError>(())
//! ```

mod block;
mod file;
mod folder;
mod index;

pub use block::{BlockError, MAX_GAMES, decode, digest, encode};
pub use file::{
    GamesError, GamesHeader, GamesReader, RawFrame, frame, games_in, is_games_file, raw_frames, whole_frames,
};
pub use folder::has_games_name;
pub use folder::{games_file, games_folder, games_of_run, generations_of_run};
pub use index::{BadGames, KeptFrame, KeptGames, Part, is_held_out, number_of_game};
