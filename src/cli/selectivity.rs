//! The selectivity of commands that take no whole [`Strength`](crate::search::Strength).

use clap::Args;
use serde_json::Value;

use crate::search::{Deviations, parse_selectivity};

/// The option `--selectivity`.
#[derive(Args, Clone, Copy, PartialEq, Debug)]
pub struct SelectivityArgument {
    /// Cut subtrees whose value a shallow search puts T standard deviations beyond the window (multi-ProbCut): about 1 to 2, the
    /// smaller the faster and the less sure; `off` searches with full width. Takes weights that `calibrate` wrote
    #[arg(long, value_name = "T", default_value = "off", value_parser = parse_selectivity)]
    pub selectivity: Deviations,
}

/// A selectivity as it stands in a log of games: a number with the digits that were typed, or `off`.
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
