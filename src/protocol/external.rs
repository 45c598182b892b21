//! Engines of other programs as players.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use super::gtp_client::GtpPlayer;
use super::nboard_client::NBoardPlayer;
use super::process::ProcessLimits;
use crate::arena::{Player, PlayerError};

/// A protocol that engines speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// The Go Text Protocol.
    Gtp,
    /// The NBoard protocol.
    NBoard,
}

/// An external engine as typed: `gtp:COMMAND` or `nboard:COMMAND`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalSpec {
    /// Its protocol.
    pub dialect: Dialect,
    /// The command that starts it: words as in a shell.
    pub command: String,
}

impl ExternalSpec {
    /// Starts the engine in a process of its own and waits for its first answer, or until `stop` is set. After a game in which it failed,
    /// it is restarted in the next.
    ///
    /// # Errors
    /// It does not start, or does not answer as the protocol requires.
    pub fn start(&self, limits: ProcessLimits, stop: &AtomicBool) -> Result<Box<dyn Player + Send>, PlayerError> {
        let command = self.command.clone();
        Ok(match self.dialect {
            Dialect::Gtp => Box::new(GtpPlayer::start(command, limits, stop)?),
            Dialect::NBoard => Box::new(NBoardPlayer::start(command, limits, stop)?),
        })
    }
}

impl FromStr for ExternalSpec {
    /// What is wrong, and what was expected.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let not_one = || format!("`{text}` is not an external engine: expected gtp:COMMAND or nboard:COMMAND");
        let (dialect, command) = match text.split_once(':') {
            Some(("gtp", command)) => (Dialect::Gtp, command),
            Some(("nboard", command)) => (Dialect::NBoard, command),
            _ => return Err(not_one()),
        };
        match shlex::split(command) {
            None => Err(format!("the quotes in `{text}` are not balanced")),
            Some(words) if words.is_empty() => Err(not_one()),
            Some(_) => Ok(Self { dialect, command: command.to_owned() }),
        }
    }
}

impl fmt::Display for ExternalSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dialect = match self.dialect {
            Dialect::Gtp => "gtp",
            Dialect::NBoard => "nboard",
        };
        write!(f, "{dialect}:{}", self.command)
    }
}
