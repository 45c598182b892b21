//! How strongly to think.

use clap::Args;
use serde::{Deserialize, Serialize};

/// How strongly an engine thinks: in configurations, on the command line, and as what [`Engine`](super::Engine) is made with.
#[derive(Args, Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "kebab-case")]
pub struct Strength {
    /// Plies to look ahead
    #[arg(short, long, default_value_t = 4, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(Self::MAX_DEPTH)))]
    pub depth: u32,

    /// Cut subtrees whose value a shallow search puts T standard deviations beyond the window (multi-ProbCut): about 1 to 2, the
    /// smaller the faster and the less sure; `off` searches with full width. Takes weights that `calibrate` wrote
    #[arg(long, value_name = "T", default_value = "off", value_parser = parse_selectivity)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectivity: Deviations,

    /// Play exactly with this number of empty squares or fewer
    #[arg(long = "exact", default_value_t = 12, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(Self::MAX_EXACT_EMPTIES)))]
    pub exact_empties: u32,
}

/// How many standard deviations sure a selective cut has to be; none is a full-width search.
pub type Deviations = Option<f32>;

impl Strength {
    /// The largest depth, in plies: that of a whole game.
    pub const MAX_DEPTH: u32 = 60;
    /// The largest number of empty squares to solve from: with more, a move can take hours.
    pub const MAX_EXACT_EMPTIES: u32 = 30;

    /// Full width to a depth, exact with `exact_empties` empty squares or fewer.
    pub const fn new(depth: u32, exact_empties: u32) -> Self {
        Self { depth, selectivity: None, exact_empties }
    }
}

impl Default for Strength {
    /// Depth 4, exact from 12 empty squares on, full width.
    fn default() -> Self {
        Self::new(4, 12)
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
