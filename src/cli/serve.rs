//! `flipside gtp` and `flipside nboard`.

use std::io::{self, BufReader, Write};

use clap::Args;

use super::error::CliError;
use super::evaluator::with_evaluator;
use super::player::EngineArguments;
use super::session::Session;
use super::with_book::{BookEngine, WithBookArguments};
use crate::protocol::{gtp, nboard};

/// Run as a GTP (Go Text Protocol) engine for a referee or a GUI, on standard input and output
///
/// With a clock (`time_settings`), the engine uses the time available and ignores --depth. After the end of the input, it thinks at most
/// a second about each remaining command.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  printf 'genmove b\\nshowboard\\nquit\\n' | flipside gtp --depth 8")]
pub struct GtpArguments {
    #[command(flatten)]
    served: ServedArguments,
}

/// Run as an engine for NBoard or a referee over the NBoard protocol, on standard input and output
///
/// After the end of the input, the engine thinks at most a second about each remaining command.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  printf 'nboard 2\\nset depth 8\\ngo\\n' | flipside nboard")]
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
