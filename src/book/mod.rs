//! Opening books that learn.
//!
//! A [`Book`] is a file of positions up to symmetry. Each has its best *unplayed* move with a score, the results of the games through
//! it, and derived values: its negamax value over the book, the error of that value, and how close to best play the next position to
//! search lies (Michael Buro, "Toward opening book learning", 1999). [`Grow`] adds the positions nearest to best play, [`learn_game`]
//! those of a game; [`Book::choose`] and [`BookPlayer`] play from the book. [`check`] and [`fix`] check and repair a whole file,
//! [`merge`] and [`prune()`] make new books from books, [`import`] and [`export`] convert other programs' books. Docs: `docs/BOOK.md`;
//! bytes: `docs/FILES.md`.

mod choose;
mod derive;
mod error;
mod foreign;
mod grow;
mod leaf;
mod learn;
mod measure;
mod pages;
mod player;
mod prune;
mod record;
mod salvage;
mod store;
mod whole;

pub use choose::{BookMove, Choice};
pub use error::BookError;
pub use foreign::{BookFormat, Exported, Imported, detect, export, import, is_book};
pub use grow::{Grow, Growth, GrowthEnd};
pub use leaf::LeafSearch;
pub use learn::{GameCounts, count_games, learn_game, search_missing};
pub use measure::Errors;
pub use player::{BookPlayer, BookUse};
pub use prune::{Keep, prune};
pub use record::{Derived, Deviation, Games, Hash, Leaf, Link, Record, Valued, links};
pub use store::Book;
pub use whole::{Faults, check, fix, merge};
