//! flipside: a self-play evaluation-weight tuner for Othello.
//!
//! The library behind the program of the same name: everything the program does can be done from Rust. Modules depend on each
//! other in one direction only (ARCHITECTURE.md); read them in this order.
//!
//! | module | contents |
//! |---|---|
//! | [`board`] | rules: [`Position`](board::Position), moves, symmetries, notation, perft |
//! | [`pattern`] | pattern sets as data, and the indices of a position's patterns |
//! | [`eval`] | static evaluation: the [`Evaluator`](eval::Evaluator) interface, [`Model`](eval::Model)s, baselines |
//! | [`search`] | searching: [`Searcher`](search::Searcher), [`EndgameSolver`](search::EndgameSolver) |
//! | [`selfplay`] | games of an evaluator against itself |
//! | [`games`] | games kept in files |
//! | [`record`] | games and positions in other programs' formats |
//! | [`learn`] | temporal differences: samples in, weights out |
//! | [`label`] | values for recorded games and scored positions |
//! | [`names`] | names that users type |
//! | [`storage`] | atomic writing and checked reading of files |
//! | [`weights`] | weight files |
//! | [`fit`] | fitting any pattern set to kept games and records |
//! | [`arena`] | is it stronger? Paired matches and their statistics |
//! | [`export`] | weights to and from other engines' files, and open layouts |
//! | [`protocol`] | serving the engine, and playing against other programs |
//! | [`book`] | opening books that learn |
//! | [`train`] | the main job: generations of self-play and learning in a run directory |
//! | [`report`] | reports on runs |
//! | [`verify`] | proof of a run afterwards |
//! | `cluster` | playing games on many machines (cargo feature `cluster`) |
//!
//! Values are [`Score`](eval::Score)s in 1/128 disc, for the player to move; whole discs are `i32`. The same seed gives the same
//! bytes for any number of threads.
//!
//! # Example
//! Search four plies with a pattern evaluation that knows only that a corner is worth ten discs:
//! ```
//! use flipside::board::{Position, Transcript};
//! use flipside::eval::{Model, PatternEvaluator, StageMap};
//! use flipside::pattern::PatternSet;
//! use flipside::search::Searcher;
//!
//! let set = PatternSet::from_toml("name = 'corner'\npatterns = { corner = 'a1' }")?;
//! let mut model = Model::zero(&set, &StageMap::uniform(60), 128)?;
//! // One weight each for a corner with an opponent's disc, an empty corner, and one with a disc of the player.
//! model.weights[0] = vec![-10 * 128, 0, 10 * 128];
//! let evaluator = PatternEvaluator::new(&model)?;
//!
//! let game: Transcript = "f5d6c3d3c4f4f6f3e6e7".parse()?;
//! let position: Position = game.last().position;
//! let found = Searcher::new(&evaluator, 16).search(&position, 4);
//! assert!(position.moves() & found.best.unwrap().bit() != 0);
//! println!("{} is worth {} discs", found.best.unwrap(), found.score);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod arena;
pub mod board;
pub mod book;
pub mod clock;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod eval;
pub mod export;
pub mod fit;
pub mod games;
pub mod label;
pub mod learn;
pub mod memory;
pub mod names;
mod npy;
pub mod pattern;
pub mod protocol;
pub mod record;
pub mod report;
pub mod schema;
pub mod search;
pub mod selfplay;
pub mod storage;
pub mod text;
pub mod threads;
pub mod train;
pub mod verify;
pub mod weights;

/// The README's examples, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
