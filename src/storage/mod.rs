//! Reading and writing files without trusting what they hold or that writing succeeds.
//!
//! [`atomic_write`] replaces a file at once or not at all, [`Container`] is the checked envelope of every binary file,
//! [`read_bounded`] and [`read_text`] refuse files that are too large, [`blob`] stores long vectors of numbers at the speed of
//! memory, and long jobs change their files through a [`Disk`]. `docs/FILES.md` describes the bytes for readers in other languages.

mod atomic;
pub mod blob;
mod container;
mod deflated;
mod disk;
mod error;
mod hex;
mod links;
mod lock;
mod read;

pub use atomic::{
    atomic_create, atomic_replace, atomic_replace_together, atomic_write, claim, discard_temporaries, is_temporary,
    remove_temporaries,
};
pub use container::{Container, Packing, write_whole};
pub use disk::{Disk, LocalDisk, is_transient};
pub use error::{FileError, FormatError};
pub use hex::{hex, sha256};
pub use links::folder_of;
pub use lock::{file_id, is_at, open_locked};
pub use read::{
    MAX_TOML_BYTES, check_lasting, decode_text, only_zeros_left, read_bounded, read_start, read_stream, read_text,
};
