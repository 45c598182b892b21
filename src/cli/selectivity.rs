//! How selectively our own search searches.

use std::str::FromStr;

use clap::Args;

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
    /// The number of deviations; none for full width.
    pub fn deviations(self) -> Option<f32> {
        match self {
            Self::Off => None,
            Self::Deviations(deviations) => Some(deviations),
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
