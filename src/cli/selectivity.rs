//! How selectively our own search searches.

use std::str::FromStr;

use clap::Args;
use serde_json::Value;

/// The option `--selectivity`.
#[derive(Args, Clone, Copy, PartialEq, Debug)]
pub struct SelectivityArgument {
    /// Cut subtrees whose value a shallow search puts T standard deviations beyond the window (multi-ProbCut): about 1 to 2, the
    /// smaller the faster and the less sure; `off` searches with full width. Takes weights that `calibrate` wrote
    #[arg(long, value_name = "T", default_value = "off")]
    selectivity: SelectivityChoice,
}

/// How selective, as typed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SelectivityChoice {
    /// Full width.
    Off,
    /// Cuts are so many standard deviations sure.
    Deviations(f32),
}

impl FromStr for SelectivityChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let deviations = text.parse().ok().filter(|deviations| (0.0..=100.0).contains(deviations));
        deviations.map(Self::Deviations).ok_or_else(|| {
            format!("`{text}`: expected a number of standard deviations from 0 to 100, such as 1.5, or `off`")
        })
    }
}

impl SelectivityChoice {
    /// As it stands in a log of games: a number with the digits that were typed, or `off`.
    pub fn setting(self) -> Value {
        match self {
            Self::Off => Value::from("off"),
            Self::Deviations(deviations) => {
                Value::from(deviations.to_string().parse::<f64>().expect("a number is written as one"))
            }
        }
    }
}

impl SelectivityArgument {
    /// What was typed.
    pub fn choice(self) -> SelectivityChoice {
        self.selectivity
    }
}

impl From<SelectivityChoice> for SelectivityArgument {
    fn from(selectivity: SelectivityChoice) -> Self {
        Self { selectivity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_says_is_what_was_typed() {
        assert_eq!("1.1".parse::<SelectivityChoice>().unwrap().setting().to_string(), "1.1");
        for hundredths in 0..=10_000 {
            let choice: SelectivityChoice = format!("{}", f64::from(hundredths) / 100.0).parse().unwrap();
            let text = choice.setting().to_string();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), choice.setting(), "{text}");
        }
    }
}
