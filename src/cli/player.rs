//! Who plays.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, EvaluatorChoice, WeightsArgument, with_evaluator};
use super::session::{Session, start_threads};
use crate::arena::{Player, PlayerError, SearchPlayer, SearchSettings};
use crate::board::{Diagram, Square};
use crate::eval::Evaluator;
use crate::protocol::{Dialect, ExternalPlayer, ExternalSpec, Limits, SearchEngine, SpecError};
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
    #[arg(short, long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60))]
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

/// Our own engine, to play or to be served.
#[derive(Args, Debug)]
pub struct EngineArguments {
    #[command(flatten)]
    pub weights: WeightsArgument,

    #[command(flatten)]
    pub thinking: ThinkingArguments,

    /// Size of each hash table: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 18, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

impl EngineArguments {
    /// The engine, with an evaluator of the weights.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub fn engine<'e, E: Evaluator>(
        &self,
        evaluator: &'e E,
        session: &Session,
    ) -> Result<SearchEngine<'e, E>, CliError> {
        let player = SearchPlayer::new(evaluator, self.thinking.settings(self.log2_hash));
        let player = start_threads(session.threads, |threads| player.with_threads(threads))?;
        Ok(SearchEngine::new(player, "flipside"))
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
    /// Whether it is a program driven over the NBoard protocol.
    pub fn speaks_nboard(&self) -> bool {
        matches!(self, Self::External(spec) if spec.dialect == Dialect::NBoard)
    }

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
