//! Who plays.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, EvaluatorChoice, with_evaluator};
use crate::arena::{Player, PlayerError, SearchPlayer, SearchSettings};
use crate::board::{Diagram, Square};
use crate::protocol::{ExternalPlayer, ExternalSpec, Limits, SpecError};
use crate::record::MoveNote;

/// A player as typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayerChoice {
    /// Our own search with an evaluation.
    Own(EvaluatorChoice),
    /// Another program.
    External(ExternalSpec),
}

impl FromStr for PlayerChoice {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.starts_with("gtp:") || text.starts_with("nboard:") {
            return text.parse().map(Self::External);
        }
        let Ok(choice) = text.parse();
        Ok(Self::Own(choice))
    }
}

impl fmt::Display for PlayerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(choice) => choice.fmt(f),
            Self::External(spec) => spec.fmt(f),
        }
    }
}

/// How our own search plays.
#[derive(Args, Clone, Copy, Debug)]
pub struct ThinkingArguments {
    /// Plies to look ahead
    #[arg(short, long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=60))]
    pub depth: u32,

    /// Play exactly from so many empty squares on
    #[arg(long, default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=30))]
    pub exact: u32,
}

impl ThinkingArguments {
    /// The search player's settings, its hash tables having 2^`log2_table` entries.
    pub fn settings(&self, log2_table: u32) -> SearchSettings {
        SearchSettings { depth: self.depth, exact_empties: self.exact, log2_table }
    }
}

/// What every thread makes its player from.
pub enum PlayerMaker {
    /// Searches with an evaluator.
    Own(AnyEvaluator, SearchSettings),
    /// Starts a program.
    External(ExternalSpec, Limits),
}

impl PlayerChoice {
    /// Loads what the player needs.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load(&self, settings: SearchSettings, limits: Limits) -> Result<PlayerMaker, CliError> {
        Ok(match self {
            Self::Own(choice) => PlayerMaker::Own(choice.load()?, settings),
            Self::External(spec) => PlayerMaker::External(spec.clone(), limits),
        })
    }
}

impl PlayerMaker {
    /// A player.
    ///
    /// # Errors
    /// The program does not start.
    pub fn make(&self) -> Result<AnyPlayer<'_>, PlayerError> {
        Ok(AnyPlayer(match self {
            Self::Own(evaluator, settings) => {
                with_evaluator!(evaluator, evaluator => Box::new(SearchPlayer::new(evaluator, *settings)))
            }
            Self::External(spec, limits) => Box::new(ExternalPlayer::start(spec, *limits)?),
        }))
    }
}

/// A player of any kind.
pub struct AnyPlayer<'e>(Box<dyn Player + 'e>);

impl Player for AnyPlayer<'_> {
    fn new_game(&mut self) {
        self.0.new_game();
    }

    fn choose(&mut self, diagram: &Diagram) -> Result<Square, PlayerError> {
        self.0.choose(diagram)
    }

    fn observe(&mut self, diagram: &Diagram, square: Square) {
        self.0.observe(diagram, square);
    }

    fn note(&self) -> MoveNote {
        self.0.note()
    }
}
