//! Opening books that learn.
//!
//! A [`Book`] is a file of positions up to symmetry. Each has its best *unplayed* move with a score, the results of the games through
//! it, and derived values: its negamax value over the book, the error of that value, and how close to best play the next position to
//! search lies (Michael Buro, "Toward opening book learning", 1999). [`Grow`] adds the positions nearest to best play, [`learn_game`]
//! those of a game; [`Book::choose`] and [`BookPlayer`] play from the book. [`check`] and [`fix`] check and repair a whole file,
//! [`merge`] and [`prune()`] make new books from books, [`import`] and [`export`] convert other programs' books. Docs: `docs/BOOK.md`;
//! bytes: `docs/FILES.md`.

mod batch;
mod choose;
mod derive;
mod error;
mod file;
mod foreign;
mod grow;
mod leaf;
mod learn;
mod lock;
mod measure;
mod player;
mod prune;
mod rebuild;
mod record;
mod salvage;
mod sort;
mod store;

pub use choose::{BookMove, Choice};
pub use error::{BookError, ExportError};
pub use file::Hash;
pub use foreign::{BookFormat, Exported, Imported, detect, export, import, is_book};
pub use grow::{Grow, Growth, GrowthEnd};
pub use leaf::LeafSearch;
pub use learn::{GameCounts, count_games, learn_game, search_missing};
pub use measure::Errors;
pub use player::{BookPlayer, BookUse};
pub use prune::{Keep, prune};
pub use rebuild::{Faults, check, fix, merge};
pub use record::{Derived, Deviation, Games, Leaf, Link, Record, Valued, links};
pub use store::Book;
