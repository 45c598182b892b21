//! Results as JSON: `--json`.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::error::CliError;

/// The option of commands that can print their results as JSON.
#[derive(Args, Clone, Copy, Debug)]
pub struct JsonArgument {
    /// Print JSON, one object per line, with unrounded numbers
    #[arg(long)]
    pub json: bool,
}

/// Writes something as a line of JSON.
///
/// # Errors
/// The output's.
pub fn write_json(value: &impl Serialize, out: &mut dyn Write) -> Result<(), CliError> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}
