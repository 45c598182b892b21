//! Our own engine, for `play`, `gtp` and `nboard`.

use std::sync::Arc;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::evaluator::{AnyEvaluator, Loaded, WeightsArgument, own_engine};
use crate::cli::memory::check_tables;
use crate::cli::session::{Session, started};
use crate::cli::strength::StrengthArguments;
use flipside::search::{Engine, Selectivity, Strength};

/// The options of our own engine.
#[derive(Args, Debug)]
pub struct EngineArguments {
    #[command(flatten)]
    weights: WeightsArgument,

    #[command(flatten)]
    strength: StrengthArguments,

    /// Size of each hash table: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

impl EngineArguments {
    /// The strength typed: full width unless a selectivity was.
    pub fn strength(&self) -> Strength {
        self.strength.strength()
    }

    /// The evaluator of the weights.
    ///
    /// # Errors
    /// What is wrong with the weight file, or hash tables that do not fit into memory.
    pub fn load(&self) -> Result<Arc<Loaded>, CliError> {
        // One for searching, one for solving.
        check_tables(2, self.log2_hash)?;
        let loaded = self.weights.choice().load_named()?;
        loaded.choice.check_calibrated(&loaded.evaluator, self.strength().selectivity)?;
        Ok(loaded)
    }

    /// The engine, with an evaluator of the weights. Unless a selectivity was typed, it is the strongest one.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub fn engine<'e>(
        &self,
        evaluator: &'e AnyEvaluator,
        session: &Session,
    ) -> Result<Engine<'e, AnyEvaluator>, CliError> {
        let selectivity = self.strength.selectivity().unwrap_or_else(|| Selectivity::strongest(evaluator));
        let engine = own_engine(evaluator, Strength { selectivity, ..self.strength() }, self.log2_hash);
        started(session.threads, engine.with_threads(session.threads))
    }
}
