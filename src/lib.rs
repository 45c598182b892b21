//! flipside: a self-play evaluation-weight tuner for Othello.
//!
//! The library behind the program of the same name: everything the program does can be done from Rust. Modules build on each
//! other in one direction; read them in this order.
//!
//! | module | what it has |
//! |---|---|
//! | [`board`] | rules: [`Position`](board::Position), moves, symmetries, notation, perft |
//! | [`pattern`] | pattern sets as data, and the indices of a position's patterns |
//! | [`eval`] | static evaluation: the [`Evaluator`](eval::Evaluator) interface, [`Model`](eval::Model)s, baselines |
//! | [`search`] | looking ahead: [`Searcher`](search::Searcher), [`EndgameSolver`](search::EndgameSolver) |
//! | [`textbook`] | the searches of the literature, to check and to compare with |
//! | [`selfplay`] | games of an evaluator against itself |
//! | [`games`] | games kept in files |
//! | [`record`] | games and positions as other programs write them |
//! | [`learn`] | temporal differences: samples in, weights out |
//! | [`storage`] | files that are whole or say that they are not |
//! | [`weights`] | weight files |
//! | [`fit`] | any pattern set, learned from kept games and records |
//! | [`arena`] | is it stronger? Paired matches and their statistics |
//! | [`export`] | weights from and for other engines, and open layouts |
//! | [`protocol`] | serving the engine, and playing against other programs |
//! | [`book`] | opening books that learn |
//! | [`train`] | the main job: generations of self-play and learning in a run directory |
//! | [`report`] | how runs went |
//! | `cluster` | games from many machines (cargo feature `cluster`) |
//! | [`cli`] | the command line |
//!
//! Values are [`Score`](eval::Score)s, 1/128 disc, for the player to move; whole discs are `i32`. The same seed gives the same
//! bytes, whatever the number of threads.
//!
//! # Example
//! Look four plies ahead with an evaluation by patterns, here one that has learned nothing but that a corner is worth ten discs:
//! ```
//! use flipside::board::{Position, Transcript};
//! use flipside::eval::{Model, PatternEvaluator, StageMap};
//! use flipside::pattern::PatternSet;
//! use flipside::search::Searcher;
//!
//! let set = PatternSet::from_toml("name = 'corner'\npatterns = { corner = 'a1' }")?;
//! let mut model = Model::zero(&set, &StageMap::uniform(60), 128)?;
//! // One weight for a corner with an opponent's disc, an empty one, and one with a disc of the player's.
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
pub mod cli;
mod clock;
mod closest;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod eval;
pub mod export;
pub mod fit;
pub mod games;
pub mod learn;
mod memory;
pub mod pattern;
pub mod protocol;
pub mod record;
pub mod report;
pub mod search;
pub mod selfplay;
pub mod storage;
pub mod textbook;
mod threads;
pub mod train;
pub mod weights;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
