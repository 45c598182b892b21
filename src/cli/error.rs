//! The errors that end a command, and how they are reported.

use std::error::Error;
use std::fmt::Write;
use std::io;

use super::escape::on_lines;
use flipside::protocol::ServeError;

type Cause = Box<dyn Error + Send + Sync>;

/// The exit code of work that was stopped early and can be resumed (EX_TEMPFAIL of sysexits.h).
pub const STOPPED_EARLY: u8 = 75;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Arguments that contradict each other or the data: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Anything else that went wrong: exit code 1.
    #[error("{message}")]
    Failure {
        /// What could not be done.
        message: String,
        /// Why.
        source: Option<Cause>,
        /// What to do about it, if that is not obvious.
        hint: Option<String>,
    },
    /// Stopped early on request, to be resumed: exit code 75.
    #[error("{0}")]
    Stopped(String),
    /// Standard output does not take the data.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Input(error) => Self::because("cannot read standard input", error),
            ServeError::Output(error) => Self::Output(error),
        }
    }
}

impl CliError {
    /// A failure without a deeper cause.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::Failure { message: message.into(), source: None, hint: None }
    }

    /// A failure and its cause.
    pub fn because(message: impl Into<String>, error: impl Into<Cause>) -> Self {
        Self::Failure { message: message.into(), source: Some(error.into()), hint: None }
    }

    /// Adds what to do about it; usage errors have clap's own hint.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Failure { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// [`Self::hint`], unless the error has one.
    #[must_use]
    pub fn or_hint(self, text: impl Into<String>) -> Self {
        if matches!(self, Self::Failure { hint: Some(_), .. }) { self } else { self.hint(text) }
    }

    /// [`Self::hint`], if there is one.
    #[must_use]
    pub fn hint_if_any(self, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.hint(text),
            None => self,
        }
    }

    /// Whether the reader of standard output went away, which is no error of ours.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Stopped(_) => STOPPED_EARLY,
            _ if self.is_broken_pipe() => 0,
            _ => 1,
        }
    }

    /// The message with the chain of its causes, and the hint on a line of its own.
    pub fn report(&self) -> String {
        let mut report = format!("flipside: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            let text = text.trim_end();
            // Some errors repeat their cause in their own text.
            if !report.ends_with(text) {
                write!(report, ": {text}").expect("writing to a string");
            }
            cause = error.source();
        }
        let report = on_lines(&report);
        match self {
            Self::Failure { hint: Some(hint), .. } => report + "\n  " + hint,
            Self::Usage(_) => report + "\n  For more information, try '--help'.",
            _ => report,
        }
    }
}

/// Adds to an error what could not be done because of it.
pub trait Context<T> {
    /// Turns an error into a [`CliError::Failure`] with the error as its cause.
    fn context<M: Into<String>>(self, message: impl FnOnce() -> M) -> Result<T, CliError>;
}

impl<T, E: Into<Cause>> Context<T> for Result<T, E> {
    fn context<M: Into<String>>(self, message: impl FnOnce() -> M) -> Result<T, CliError> {
        self.map_err(|error| CliError::because(message(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flipside::record::lines::parse_positions;

    #[test]
    fn reports_hold_causes_once_and_hints() {
        let error = parse_positions("XOQ").context(|| "cannot read a.txt").unwrap_err();
        let report = error.hint("Write better.").report();
        assert!(report.starts_with("flipside: cannot read a.txt: line 1: "), "{report}");
        assert!(report.ends_with("\n  Write better."), "{report}");
        assert_eq!(report.matches("not a square").count(), 1, "{report}");
    }

    #[test]
    fn exit_codes() {
        let output = |kind: io::ErrorKind| CliError::Output(kind.into());
        assert_eq!(output(io::ErrorKind::BrokenPipe).exit_code(), 0);
        assert_eq!(output(io::ErrorKind::StorageFull).exit_code(), 1);
        assert_eq!(CliError::failure("no").exit_code(), 1);
        assert_eq!(CliError::Usage("no".into()).exit_code(), 2);
    }
}
