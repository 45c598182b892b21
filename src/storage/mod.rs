//! Files that hold what they should or say that they do not.
//!
//! [`atomic_write`] replaces a file at once or not at all, [`Container`] is the checked envelope of every binary file,
//! [`read_bounded`] and [`read_text`] read no more than a file of its kind may have, [`blob`] stores long vectors of numbers at the
//! speed of memory, and a [`Disk`] is what a long job changes its files by. `docs/FILES.md` describes the bytes for readers in other
//! languages.

mod atomic;
pub mod blob;
mod container;
mod deflated;
mod disk;
mod error;
mod hex;
mod read;

pub use atomic::{
    atomic_create, atomic_replace, atomic_write, check_folder, discard_temporaries, folder_of, is_temporary,
    remove_temporaries,
};
pub use container::{Container, Packing, write_whole};
pub use disk::{Disk, LocalDisk, is_transient};
pub use error::{FileError, FormatError};
pub use hex::{hex, sha256};
pub use read::{MAX_TOML_BYTES, decode_text, only_zeros_left, read_bounded, read_stream, read_text};
