//! Files that hold what they should or say that they do not.
//!
//! [`atomic_write`] replaces a file at once or not at all, [`Container`] is the checked envelope of every binary file,
//! [`read_bounded`] reads no more than a file of its kind may have, and [`blob`] stores long vectors of numbers at the speed of
//! memory, and a [`Disk`] is what a long job changes files by. `docs/FILES.md` describes the bytes for readers in other languages.

mod atomic;
pub mod blob;
mod container;
mod disk;

pub use atomic::{atomic_write, is_temporary, remove_temporaries};
pub use container::{Container, FileError, FormatError, read_bounded, write_whole};
pub use disk::{Disk, LocalDisk, is_transient};
