//! Is it stronger? Paired matches between players, and what their results prove.
//!
//! A [`Player`] chooses moves; [`play_game`] is the referee; a [`Match`] plays colour-swapped pairs of games from openings on
//! all threads and hands every pair to its caller in order; [`stats`] turns the results into Elo with error bars. A [`League`] does
//! that for many players at once, and [`Ratings`] are fitted to all its results together. A [`SearchPlayer`] plays what the engine
//! finds, to a depth or for a time; a [`GameLog`] keeps games on disk so that an interrupted match can be resumed.
//!
//! The result of a match depends on the players, the openings and the test, not on the number of threads: pairs count in the order of
//! their openings, and those played after the one that decided a test are dropped.

mod game;
mod league;
mod log;
mod match_;
mod openings;
mod player;
pub mod ratings;
mod search_player;
pub mod stats;

pub use game::{Forfeit, PlayedGame, play_game};
pub use league::{League, LeagueEvent, gauntlet, round_robin};
pub use log::{GameLog, GameLogError};
pub use match_::{Ending, HeldPair, Match, MatchReport, Pair, PairEvent};
pub use openings::{hash_openings, openings_of, parse_openings, select_openings, short_openings, xot_openings};
pub use player::{Player, PlayerError};
pub use ratings::{PairPoints, Ratings};
pub use search_player::SearchPlayer;
pub use stats::{Estimate, Hypothesis, Sprt, SprtError, Tally};
