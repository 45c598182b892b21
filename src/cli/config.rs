//! `flipside config`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::layers::{Layers, Preset};
use super::runs::unreadable;
use super::session::Session;

/// Print a complete `train` configuration with every key explained
///
/// The output is a file for `train --config`. Keys that are not set appear in comments with their defaults. The configuration is
/// checked as in `train`: errors name the file and the key, and for an unknown key the closest known one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside config --preset quick\n  \
    flipside config --preset overnight > my.toml\n  \
    flipside config --run runs/latest")]
pub struct ConfigArguments {
    /// Print this preset
    #[arg(long, value_enum, default_value_t = Preset::Evening, conflicts_with = "run")]
    preset: Preset,

    /// Print this run's configuration
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,

    /// TOML file with keys that override those of the preset or run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let mut layers = match &self.run {
            Some(run) => Layers::of_run(run).map_err(unreadable)?,
            None => Layers::of_preset(self.preset)?.0,
        };
        if let Some(path) = &self.config {
            layers.add_file(path)?;
        }
        Ok(out.write_all(layers.config()?.to_commented_toml().as_bytes())?)
    }
}
