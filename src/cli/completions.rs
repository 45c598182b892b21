//! `flipside completions` and `flipside man`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::error::{CliError, Context};
use super::input::STANDARD_STREAM;
use super::output::Output;
use flipside::pattern::BUILT_IN;

/// Print a script that completes flipside's commands and options in a shell
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside completions bash > flipside.bash\n  \
    flipside completions zsh > _flipside")]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages, one per command: flipside.1, flipside-train.1 and so on
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside man man1")]
pub struct ManArguments {
    /// Folder to write them to; created if missing
    folder: PathBuf,
}

impl CompletionsArguments {
    pub fn run(self, program: Command, out: &mut dyn Write) -> Result<(), CliError> {
        let mut script = Vec::new();
        generate(self.shell, &mut with_hints(program), "flipside", &mut script);
        Ok(out.write_all(&script)?)
    }
}

/// The names of values that are paths, or may be.
const PATHS: [&str; 13] = [
    "BOOK",
    "DIR",
    "FILE",
    "FILES",
    "FIRST",
    "FOLDER",
    "GAMES",
    "PLAYER",
    "POSITIONS",
    "RUN",
    "RUN|FILE",
    "SECOND",
    "WEIGHTS",
];

/// A command whose values are completed by paths only where they may be paths, and by names where they are names.
fn with_hints(command: Command) -> Command {
    command.mut_args(with_hint).mut_subcommands(with_hints)
}

fn with_hint(value: Arg) -> Arg {
    let is_known = value.get_value_hint() != ValueHint::Unknown || !value.get_possible_values().is_empty();
    if is_known || !value.get_action().takes_values() {
        return value;
    }
    let shown = value.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    match &*shown.unwrap_or_else(|| value.get_id().as_str().to_uppercase()) {
        "SET" => value.value_parser(PossibleValuesParser::new(BUILT_IN.map(|(name, _)| name))),
        name if PATHS.contains(&name) => value.value_hint(ValueHint::AnyPath),
        _ => value.value_hint(ValueHint::Other),
    }
}

impl ManArguments {
    pub fn run(self, mut program: Command, out: &mut dyn Write) -> Result<(), CliError> {
        if self.folder == Path::new(STANDARD_STREAM) {
            return Err(CliError::Usage("there is a page for each command: name a folder for them".to_owned()));
        }
        fs::create_dir_all(&self.folder).context(|| format!("cannot make `{}`", self.folder.display()))?;
        program.build();
        write_pages(&self.folder, program, "flipside", out)
    }
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(folder: &Path, command: Command, name: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let commands: Vec<_> = command.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect();
    write_page(folder, command, name, out)?;
    for command in commands {
        let name = format!("{name}-{}", command.get_name());
        write_pages(folder, command, &name, out)?;
    }
    Ok(())
}

fn write_page(folder: &Path, command: Command, name: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let path = folder.join(format!("{name}.1"));
    let command = command.display_name(name.to_owned());
    Output::check(&path, [])?.write_and_name(out, |mut file| Man::new(command).render(&mut file))
}
