//! Other programs as players.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::error::CliError;
use flipside::protocol::{Dialect, ExternalSpec, ProcessLimits};
use flipside::record::log::Settings;

/// The options for players that are other programs.
#[derive(Args, Debug)]
pub struct ExternalArguments {
    /// Seconds another program may take per move [default: 60] and, if more than 10, to start [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    move_time: Option<u64>,
}

impl ExternalArguments {
    /// The limits for the programs.
    ///
    /// # Errors
    /// An option that applies to none of the players.
    pub fn limits(&self, programs: &[&ExternalChoice]) -> Result<ProcessLimits, CliError> {
        if self.move_time.is_some() && programs.is_empty() {
            let message = "--move-time is for players of the form gtp:COMMAND or nboard:COMMAND, and there is none";
            return Err(CliError::Usage(format!("{message}; for our own search it is `default:time=10ms`")));
        }
        let default = ProcessLimits::default();
        let move_time = self.move_time.map(Duration::from_secs);
        Ok(ProcessLimits {
            start: move_time.map_or(default.start, |time| time.max(default.start)),
            per_move: move_time.unwrap_or(default.per_move),
            depth: None,
        })
    }
}

/// Another program as typed; an NBoard engine may have a depth of its own, as in `nboard:COMMAND:depth=8`.
#[derive(Clone, PartialEq, Debug)]
pub struct ExternalChoice {
    typed: String,
    spec: ExternalSpec,
    depth: Option<u32>,
}

impl ExternalChoice {
    /// Whether a text is meant to be one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("gtp:") || text.starts_with("nboard:")
    }

    /// How to start the program, its limits, and both for a log of games.
    pub fn load(&self, limits: ProcessLimits) -> (ExternalSpec, ProcessLimits, Settings) {
        let limits = ProcessLimits { depth: self.depth, ..limits };
        let settings = Settings::from([
            ("engine".into(), self.spec.to_string().into()),
            ("move-time".into(), limits.per_move.as_secs_f64().into()),
            ("nboard-depth".into(), self.depth.into()),
        ]);
        (self.spec.clone(), limits, settings)
    }
}

impl FromStr for ExternalChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let own_depth = text.rsplit_once(":depth=").and_then(|(rest, depth)| Some((rest, depth.parse::<u32>().ok()?)));
        let (rest, depth) = own_depth.map_or((text, None), |(rest, depth)| (rest, Some(depth)));
        let spec: ExternalSpec = rest.parse()?;
        match depth {
            Some(_) if spec.dialect == Dialect::Gtp => {
                Err("GTP has no command for a depth; give it in the engine's own options".to_owned())
            }
            Some(depth) if !(1..=60).contains(&depth) => {
                Err(format!("`depth={depth}`: expected a number from 1 to 60"))
            }
            _ => Ok(Self { typed: text.to_owned(), spec, depth }),
        }
    }
}

impl fmt::Display for ExternalChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_may_take_as_long_to_start_as_for_a_move_but_at_least_ten_seconds() {
        let program = "gtp:engine".parse().unwrap();
        for (move_time, start) in [(None, 10), (Some(2), 10), (Some(300), 300)] {
            let arguments = ExternalArguments { move_time };
            assert_eq!(arguments.limits(&[&program]).unwrap().start, Duration::from_secs(start));
        }
    }
}
