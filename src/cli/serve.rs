//! `flipside gtp` and `flipside nboard`.

use std::io::{self, BufReader, Write};

use clap::Args;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, WeightsArgument, with_evaluator};
use super::player::ThinkingArguments;
use crate::arena::{SearchPlayer, SearchSettings};
use crate::eval::Evaluator;
use crate::protocol::{SearchEngine, gtp, nboard};

/// Options of both servers.
#[derive(Args, Debug)]
struct EngineArguments {
    #[command(flatten)]
    weights: WeightsArgument,

    #[command(flatten)]
    thinking: ThinkingArguments,

    /// Size of each hash table: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 18, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

/// Serve the engine to a referee or a GUI over the Go Text Protocol, on standard input and output
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  printf 'genmove b\\nshowboard\\nquit\\n' | flipside gtp --depth 8")]
pub struct GtpArguments {
    #[command(flatten)]
    engine: EngineArguments,
}

/// Serve the engine to NBoard or a referee over the NBoard protocol, on standard input and output
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  printf 'nboard 2\\nset depth 8\\ngo\\nquit\\n' | flipside nboard")]
pub struct NboardArguments {
    #[command(flatten)]
    engine: EngineArguments,
}

impl EngineArguments {
    fn load(&self) -> Result<(AnyEvaluator, SearchSettings), CliError> {
        self.thinking.load(self.weights.choice(), Some(self.log2_hash))
    }
}

fn engine<E: Evaluator>(evaluator: &E, settings: SearchSettings) -> SearchEngine<'_, E> {
    SearchEngine::new(SearchPlayer::new(evaluator, settings), "flipside")
}

impl GtpArguments {
    /// Runs the command.
    pub fn run(self, out: &mut dyn Write) -> Result<(), CliError> {
        let (evaluator, settings) = self.engine.load()?;
        with_evaluator!(&evaluator, evaluator => {
            Ok(gtp::serve(&mut engine(evaluator, settings), io::stdin().lock(), out)?)
        })
    }
}

impl NboardArguments {
    /// Runs the command.
    pub fn run(self, out: &mut dyn Write) -> Result<(), CliError> {
        let (evaluator, settings) = self.engine.load()?;
        with_evaluator!(&evaluator, evaluator => {
            Ok(nboard::serve(&mut engine(evaluator, settings), BufReader::new(io::stdin()), out)?)
        })
    }
}
