//! The command line: arguments, progress, exit codes. A subcommand has a file or a folder, beside the files that several share; nothing
//! imports this module.
//!
//! The arguments of a command are one type (`...Arguments`), checked before any work starts. A command writes data to the writer
//! it is given (standard output) and messages to its `Session` (standard error). Exit codes: 0 success, 1 failure, 2 usage error,
//! 75 stopped early and resumable.

mod accuracy;
mod bench;
mod book;
mod books;
mod calibrate;
#[cfg(feature = "cluster")]
mod cluster;
mod completions;
mod config;
mod convert;
mod diff;
mod engine_weights;
mod error;
mod escape;
mod eval;
mod evaluator;
mod export;
mod external;
mod fit;
mod import;
mod input;
mod inspect;
mod jobs;
mod labelled;
mod layers;
mod league;
mod match_;
mod memory;
mod meter;
mod openings;
mod output;
mod perft;
mod play;
mod player;
mod progress;
mod report;
mod results;
mod runs;
mod screen;
mod search;
mod serve;
mod session;
mod signals;
mod solve;
mod status;
mod strength;
mod train;
mod verify;
mod with_book;
#[cfg(not(feature = "cluster"))]
mod without_cluster;
#[cfg(feature = "cluster")]
mod work;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use error::CliError;
use session::{CommonArguments, Session};

/// A self-play evaluation-weight tuner for Othello
///
/// Data goes to standard output, messages to standard error. Options override the environment variables named in their help. Exit
/// codes: 0 success, 1 failure, 2 usage error, 75 stopped early and resumable.
#[derive(Parser, Debug)]
#[command(name = "flipside", version = env!("FLIPSIDE_VERSION"), arg_required_else_help = true, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    common: CommonArguments,
}

#[derive(Subcommand, Debug)]
enum Command {
    Train(train::TrainArguments),
    Config(config::ConfigArguments),
    Runs(status::RunsArguments),
    Status(status::StatusArguments),
    Stop(status::StopArguments),
    Report(report::ReportArguments),
    Verify(verify::VerifyArguments),
    #[cfg(feature = "cluster")]
    Work(work::WorkArguments),
    #[cfg(feature = "cluster")]
    Cluster(cluster::ClusterArguments),
    /// Play games for a run on another machine (in builds with the feature `cluster`)
    #[cfg(not(feature = "cluster"))]
    #[command(after_help = without_cluster::EXAMPLES_OF_WORK)]
    Work(without_cluster::AnyArguments),
    /// Set up a broker for runs on many machines (in builds with the feature `cluster`)
    #[cfg(not(feature = "cluster"))]
    #[command(after_help = without_cluster::EXAMPLES_OF_CLUSTER)]
    Cluster(without_cluster::AnyArguments),
    Fit(fit::FitArguments),
    Match(match_::MatchArguments),
    League(league::LeagueArguments),
    Eval(eval::EvalArguments),
    Search(search::SearchArguments),
    Solve(solve::SolveArguments),
    Accuracy(accuracy::AccuracyArguments),
    Calibrate(calibrate::CalibrateArguments),
    Inspect(inspect::InspectArguments),
    Diff(diff::DiffArguments),
    Export(export::ExportArguments),
    Import(import::ImportArguments),
    Convert(convert::ConvertArguments),
    Book(book::BookArguments),
    Play(play::PlayArguments),
    /// Run as a GTP (Go Text Protocol) engine for a referee or a GUI, on standard input and output
    ///
    /// With a clock (`time_settings`), the engine uses the time available and ignores --depth. After the end of the input, it thinks at
    /// most a second about each remaining command.
    #[command(after_help = "Examples:\n  printf 'genmove b\\nshowboard\\nquit\\n' | flipside gtp --depth 8")]
    Gtp(serve::ServedArguments),
    /// Run as an engine for NBoard or a referee over the NBoard protocol, on standard input and output
    ///
    /// After the end of the input, the engine thinks at most a second about each remaining command.
    #[command(after_help = "Examples:\n  printf 'nboard 2\\nset depth 8\\ngo\\n' | flipside nboard")]
    Nboard(serve::ServedArguments),
    Perft(perft::PerftArguments),
    Bench(bench::BenchArguments),
    Completions(completions::CompletionsArguments),
    Man(completions::ManArguments),
}

impl Command {
    /// Whether it usually runs for minutes or hours, so that the speed of the build matters.
    fn works_long(&self) -> bool {
        match self {
            Self::Train(_) | Self::Fit(_) | Self::Match(_) | Self::League(_) | Self::Calibrate(_) | Self::Bench(_) => {
                true
            }
            Self::Verify(_) | Self::Work(_) => true,
            Self::Book(arguments) => arguments.works_long(),
            _ => false,
        }
    }

    fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        match self {
            Self::Train(arguments) => arguments.run(session, out),
            Self::Config(arguments) => arguments.run(session, out),
            Self::Runs(arguments) => arguments.run(session, out),
            Self::Status(arguments) => arguments.run(session, out),
            Self::Stop(arguments) => arguments.run(session),
            Self::Report(arguments) => arguments.run(session, out),
            Self::Verify(arguments) => arguments.run(session, out),
            #[cfg(feature = "cluster")]
            Self::Work(arguments) => arguments.run(session),
            #[cfg(feature = "cluster")]
            Self::Cluster(arguments) => arguments.run(session, out),
            #[cfg(not(feature = "cluster"))]
            Self::Work(_) | Self::Cluster(_) => Err(without_cluster::how_to_get_it()),
            Self::Fit(arguments) => arguments.run(session, out),
            Self::Match(arguments) => arguments.run(session, out),
            Self::League(arguments) => arguments.run(session, out),
            Self::Eval(arguments) => arguments.run(session, out),
            Self::Search(arguments) => arguments.run(session, out),
            Self::Solve(arguments) => arguments.run(session, out),
            Self::Accuracy(arguments) => arguments.run(session, out),
            Self::Calibrate(arguments) => arguments.run(session, out),
            Self::Inspect(arguments) => arguments.run(session, out),
            Self::Diff(arguments) => arguments.run(session, out),
            Self::Import(arguments) => arguments.run(session, out),
            Self::Export(arguments) => arguments.run(session, out),
            Self::Convert(arguments) => arguments.run(session, out),
            Self::Book(arguments) => arguments.run(session, out),
            Self::Play(arguments) => arguments.run(session, out),
            Self::Gtp(arguments) => arguments.run(serve::Protocol::Gtp, session, out),
            Self::Nboard(arguments) => arguments.run(serve::Protocol::Nboard, session, out),
            Self::Perft(arguments) => arguments.run(session, out),
            Self::Bench(arguments) => arguments.run(session, out),
            Self::Completions(arguments) => arguments.run(Arguments::command(), out),
            Self::Man(arguments) => arguments.run(Arguments::command(), out),
        }
    }
}

/// Runs the command named by the program's arguments.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().map(without_hyphen).collect();
    let matches = command(&arguments).try_get_matches_from(arguments);
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return unusable(&error),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let run = |arguments: Arguments, out: &mut dyn Write| {
        signals::listen()?;
        let session = arguments.common.start()?;
        if arguments.command.works_long() {
            session.warn_of_slow_build();
        }
        arguments.command.run(&session, out)
    };
    let done = run(arguments, &mut out);
    // Before an error is reported: lost output is the worse error, unless nobody reads it.
    let flushed = out.flush().map_err(CliError::from);
    let done = if flushed.as_ref().is_err_and(|error| !error.is_broken_pipe()) { flushed } else { done };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// The command line for these arguments. What a run that is resumed or continued has stored counts, whatever the environment says.
fn command(arguments: &[OsString]) -> clap::Command {
    let command =
        with_each_argument(Arguments::command(), |argument| with_negative_numbers(without_empty_variable(argument)));
    let has = |option| {
        arguments.iter().any(|argument| argument.to_str().and_then(|text| text.split('=').next()) == Some(option))
    };
    let stored: &[&str] = match () {
        () if has("--resume") => &["run", "config", "seed", "patterns"],
        () if has("--continue") => &["patterns"],
        () => return command,
    };
    let is_stored = |argument: &Arg| stored.contains(&argument.get_id().as_str());
    let unset = |argument| if is_stored(&argument) { argument.env(Resettable::Reset) } else { argument };
    command.mut_subcommand("train", |train| train.mut_args(unset))
}

/// A command whose arguments, and those of its subcommands, are changed.
fn with_each_argument(command: clap::Command, change: fn(Arg) -> Arg) -> clap::Command {
    command.mut_args(change).mut_subcommands(|subcommand| with_each_argument(subcommand, change))
}

/// An empty environment variable counts as unset.
fn without_empty_variable(argument: Arg) -> Arg {
    let is_empty = |variable: &OsStr| env::var_os(variable).is_some_and(|value| value.is_empty());
    if argument.get_env().is_some_and(is_empty) { argument.env(Resettable::Reset) } else { argument }
}

/// A negative number is a value, not an unknown option: where it is refused, the message says what is expected.
fn with_negative_numbers(argument: Arg) -> Arg {
    if argument.get_action().takes_values() { argument.allow_negative_numbers(true) } else { argument }
}

/// A board given as an argument, perhaps with a mistake in it, may begin with `-` like an option: puts a blank before it, which a board may
/// have as well.
fn without_hyphen(argument: OsString) -> OsString {
    let squares = |text: &str| text.bytes().take(32).filter(|byte| b"-._0XxOo*BbWw12 ".contains(byte)).count();
    match argument.to_str() {
        Some(board) if board.starts_with('-') && squares(board) >= 30 => format!(" {board}").into(),
        _ => argument,
    }
}

fn fail(error: &CliError) -> ExitCode {
    if !error.is_broken_pipe() {
        let _ = writeln!(io::stderr(), "{}", error.report());
    }
    ExitCode::from(error.exit_code())
}

/// Help and version go to standard output; everything else is a usage error.
fn unusable(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return error.print().map_or_else(|error| fail(&error.into()), |()| ExitCode::SUCCESS);
    }
    let text = in_plain_words(error, error.render().to_string());
    let _ = match text.strip_prefix("error: ") {
        Some(text) => write!(io::stderr(), "flipside: {text}"),
        None => error.print(),
    };
    ExitCode::from(2)
}

/// An error's text with what Rust says about numbers in plain words, and the variable that a bad value comes from.
fn in_plain_words(error: &clap::Error, mut text: String) -> String {
    for (rust, plain) in [
        ("invalid digit found in string", "expected a whole number from 0 on"),
        ("cannot parse integer from empty string", "expected a whole number"),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
        ("number too large to fit in target type", "the number is too large"),
    ] {
        text = text.replace(rust, plain);
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let (Some(shown), Some(value)) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue)) else {
        return text;
    };
    let mut command = Arguments::command();
    command.build();
    let mut commands = vec![command];
    while let Some(command) = commands.pop() {
        let is_bad = |argument: &&Arg| argument.to_string() == *shown;
        let variable = command.get_arguments().find(is_bad).and_then(Arg::get_env);
        if let Some(variable) = variable.filter(|variable| env::var_os(variable).is_some_and(|set| set == **value)) {
            let start = format!("invalid value '{value}' ");
            return text.replacen(&start, &format!("{start}of {} ", variable.display()), 1);
        }
        commands.extend(command.get_subcommands().cloned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let call = format!("flipside {}", command.get_name());
            assert!(help.starts_with("Examples:\n") && help.contains(&call), "{}: {help}", command.get_name());
        }
    }
}
