//! `flipside gtp` and `flipside nboard`.

use std::io::{self, BufReader, Write};

use clap::Args;

use super::error::CliError;
use super::evaluator::with_evaluator;
use super::player::EngineArguments;
use super::session::Session;
use super::with_book::{BookEngine, WithBookArguments};
use crate::protocol::{gtp, nboard};

/// Serve the engine to a referee or a GUI over the Go Text Protocol, on standard input and output
///
/// Under a clock (`time_settings`) it thinks as long as that allows, whatever --depth says. Once the input has ended, it thinks no longer
/// than a second about each command that is left.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  printf 'genmove b\\nshowboard\\nquit\\n' | flipside gtp --depth 8")]
pub struct GtpArguments {
    #[command(flatten)]
    served: ServedArguments,
}

/// Serve the engine to NBoard or a referee over the NBoard protocol, on standard input and output
///
/// Once the input has ended, it thinks no longer than a second about each command that is left.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  printf 'nboard 2\\nset depth 8\\ngo\\n' | flipside nboard")]
pub struct NboardArguments {
    #[command(flatten)]
    served: ServedArguments,
}

/// What is served, over either protocol.
#[derive(Args, Debug)]
struct ServedArguments {
    #[command(flatten)]
    engine: EngineArguments,

    #[command(flatten)]
    book: WithBookArguments,
}

enum Protocol {
    Gtp,
    Nboard,
}

impl GtpArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        self.served.serve(Protocol::Gtp, session, out)
    }
}

impl NboardArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        self.served.serve(Protocol::Nboard, session, out)
    }
}

impl ServedArguments {
    fn serve(self, protocol: Protocol, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.engine.load()?;
        let book = self.book.load(&self.engine.weights()?, self.engine.strength(), session)?;
        with_evaluator!(&evaluator, evaluator => {
            let mut engine = BookEngine::new(self.engine.served(evaluator, session)?, book);
            let input = BufReader::new(io::stdin());
            match protocol {
                Protocol::Gtp => gtp::serve(&mut engine, input, out)?,
                Protocol::Nboard => nboard::serve(&mut engine, input, out)?,
            }
        });
        Ok(())
    }
}
