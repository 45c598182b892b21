//! The strength of an engine, as typed.

use clap::Args;
use serde_json::Value;

use flipside::search::{Deviations, Strength};

/// The strength of our own players unless something else is typed.
pub const DEFAULT_STRENGTH: Strength = Strength::new(4, 12);

/// The options of a whole [`Strength`].
#[derive(Args, Clone, Copy, Debug)]
pub struct StrengthArguments {
    /// Plies to look ahead
    #[arg(short, long, default_value_t = DEFAULT_STRENGTH.depth, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(Strength::MAX_DEPTH)))]
    depth: u32,

    #[command(flatten)]
    selective: SelectivityArgument,

    /// Solve positions with at most N empty squares; with a limit of time or nodes, all that it allows
    #[arg(long, alias = "exact", default_value_t = DEFAULT_STRENGTH.exact_empties, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(Strength::MAX_EXACT_EMPTIES)))]
    exact_empties: u32,
}

impl StrengthArguments {
    /// As if they were typed.
    pub fn new(depth: u32, selective: SelectivityArgument, exact_empties: u32) -> Self {
        Self { depth, selective, exact_empties }
    }

    /// The strength typed: full width unless a selectivity was.
    pub fn strength(&self) -> Strength {
        let selectivity = self.selective.or_full_width();
        Strength { depth: self.depth, selectivity, exact_empties: self.exact_empties }
    }

    /// The selectivity, if one was typed.
    pub fn selectivity(&self) -> Option<Deviations> {
        self.selective.selectivity
    }
}

/// The option `--selectivity`.
#[derive(Args, Clone, Copy, PartialEq, Debug)]
pub struct SelectivityArgument {
    /// Cut subtrees that a shallow search puts T standard deviations beyond the window (multi-ProbCut). Useful values are about 0.8
    /// to 2; smaller is faster but less reliable, `off` is full width. Needs weights calibrated by `calibrate`
    /// [default: off; in play, gtp and nboard, and with a limit of time or nodes, 0.8 if the weights are calibrated]
    #[arg(long, value_name = "T", value_parser = parse_selectivity)]
    selectivity: Option<Deviations>,
}

impl SelectivityArgument {
    /// The selectivity typed, or full width.
    pub fn or_full_width(self) -> Deviations {
        self.selectivity.flatten()
    }
}

/// A selectivity as typed: a number of standard deviations, or `off`.
///
/// # Errors
/// What was expected.
pub fn parse_selectivity(text: &str) -> Result<Deviations, String> {
    if text == "off" {
        return Ok(None);
    }
    let deviations = text.parse().ok().filter(|deviations| (0.0..=100.0).contains(deviations));
    deviations.map(Some).ok_or_else(|| {
        format!("`{text}`: expected a number of standard deviations from 0 to 100, such as 1.5, or `off`")
    })
}

/// A selectivity for a log of games: a number with the digits that were typed, or `off`.
pub fn setting(selectivity: Deviations) -> Value {
    match selectivity {
        None => Value::from("off"),
        Some(deviations) => Value::from(deviations.to_string().parse::<f64>().expect("a number is written as one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_says_is_what_was_typed() {
        assert_eq!(setting(parse_selectivity("1.1").unwrap()).to_string(), "1.1");
        for hundredths in 0..=10_000 {
            let selectivity = parse_selectivity(&format!("{}", f64::from(hundredths) / 100.0)).unwrap();
            let text = setting(selectivity).to_string();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), setting(selectivity), "{text}");
        }
    }
}
