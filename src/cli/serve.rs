//! `flipside gtp` and `flipside nboard`.

use std::io::{self, BufReader, Write};

use clap::Args;

use super::error::CliError;
use super::player::EngineArguments;
use super::session::Session;
use super::with_book::{BookEngine, WithBookArguments};
use flipside::protocol::{gtp, nboard};

/// The options of an engine that is served, over either protocol.
#[derive(Args, Debug)]
pub struct ServedArguments {
    #[command(flatten)]
    engine: EngineArguments,

    #[command(flatten)]
    book: WithBookArguments,
}

/// What a server speaks.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    Gtp,
    Nboard,
}

impl ServedArguments {
    /// Runs the command.
    pub fn run(self, protocol: Protocol, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let loaded = self.engine.load()?;
        let book = self.book.load(&loaded, self.engine.strength(), session)?;
        let mut engine = BookEngine::new(self.engine.engine(&loaded.evaluator, session)?, book);
        let input = BufReader::new(io::stdin());
        match protocol {
            Protocol::Gtp => gtp::serve(&mut engine, input, out)?,
            Protocol::Nboard => nboard::serve(&mut engine, input, out)?,
        }
        Ok(())
    }
}
