//! The openings of matches and leagues.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::input::{Input, name_of, refuse_own_files};
use super::session::Session;
use flipside::arena::{hash_openings, openings_of, select_openings, short_openings, xot_openings};
use flipside::board::Transcript;
use flipside::record::Format;
use flipside::record::log::Settings;
use flipside::text::counted;

/// The options for openings.
#[derive(Args, Debug)]
pub struct OpeningsArguments {
    /// File of openings (`-` is standard input): games such as f5d6c3, one per line, positions, GGF or SGF [default: the 10,784 XOT openings]
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,

    /// Use all different positions after N moves instead
    #[arg(long, value_name = "N", conflicts_with = "openings", value_parser = clap::value_parser!(u32).range(0..=7))]
    opening_plies: Option<u32>,

    /// Random seed for the choice of openings
    #[arg(long, env = "FLIPSIDE_SEED", hide_env_values = true, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl OpeningsArguments {
    /// An opening for each pair, and their settings for a log of games. If there are not enough different openings, says so and returns
    /// fewer.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn select(&self, pairs: u32, session: &Session) -> Result<(Vec<Transcript>, Settings), CliError> {
        let all = self.all(session)?;
        let openings = select_openings(&all, pairs as usize, self.seed);
        if openings.len() < pairs as usize {
            let found = counted(openings.len() as u64, "pair");
            session.say(format_args!("{found} instead of {pairs}: there are no more different openings"));
        }
        let settings = [("openings".into(), hash_openings(&all).into()), ("seed".into(), self.seed.into())];
        Ok((openings, Settings::from(settings)))
    }

    /// Where the openings come from, and the seed that chooses among them.
    pub fn described(&self) -> (String, u64) {
        let from = match (&self.openings, self.opening_plies) {
            (_, Some(plies)) => format!("all positions after {}", flipside::text::plies(plies)),
            (Some(path), None) => name_of(path).trim_matches('`').to_owned(),
            (None, None) => "XOT".to_owned(),
        };
        (from, self.seed)
    }

    fn all(&self, session: &Session) -> Result<Vec<Transcript>, CliError> {
        if let Some(plies) = self.opening_plies {
            return Ok(short_openings(plies));
        }
        let Some(path) = &self.openings else { return Ok(xot_openings()) };
        refuse_own_files([&**path], false)?;
        let mut input = Input::read(path, None, session)?;
        // A position among games must not make positions of them.
        input.format = if input.format == Format::Obf { Format::F5d6 } else { input.format };
        let cannot = |error| CliError::because(format!("cannot read openings from {}", input.name), error);
        openings_of(input.records()?).map_err(cannot)
    }
}
