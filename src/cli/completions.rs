//! `flipside completions` and `flipside man`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::error::{CliError, Context};
use super::input::STANDARD_STREAM;
use super::output::Output;

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
    pub fn run(self, mut program: Command, out: &mut dyn Write) -> Result<(), CliError> {
        let mut script = Vec::new();
        generate(self.shell, &mut program, "flipside", &mut script);
        Ok(out.write_all(&script)?)
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
