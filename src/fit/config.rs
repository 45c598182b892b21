//! The configuration of a fit.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use crate::learn::{BadParameter, Decayed, Importance, Loss, StepRule};

/// Everything besides the games that decides the weights. Weight files hold it as [`FitConfig::to_toml`] writes it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FitConfig {
    /// How far labels trust the game's outcome (1) rather than the search (0).
    pub lambda: f32,
    /// Passes over all games.
    pub epochs: u32,
    /// See [`Self::stage_plies`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_plies: Option<u32>,
    /// See [`Self::overlap`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<u32>,
    /// The share of the work, at its end, over which steps shrink to nothing.
    pub anneal: f32,
    /// Positions in a block. Blocks are learned in the order of the games, each by all stages in parallel.
    pub block: u32,
    /// Games of earlier generations are left out: the first of a run were played knowing nothing.
    pub first_generation: u32,
    /// One game in this many, and one record, is held out: the loss on these is the one to trust. 0 for none. A kept game is held out or
    /// not whatever else is fitted, so that fits with the same number that go on from each other hold out the same games. Of scored
    /// positions each counts as a record: if neighbours from one game are among them, the loss is too low.
    pub hold_out: u32,
    /// Positions of recorded games with this number of empties or fewer are solved; see [`Labeller`](crate::label::Labeller).
    #[serde(skip_serializing_if = "is_default_exact_empties")]
    pub exact_empties: u32,
    /// How much a recorded position counts relative to one of self-play: above 0, at most 1. Its error is multiplied by this.
    #[serde(skip_serializing_if = "is_full")]
    pub record_importance: f32,
    /// Plies of a teacher's searches, whose trees are learned along with the games; 0 for none.
    pub tree_depth: u32,
    /// Plies of searches by the weights to begin with. Their leaves are learned instead of kept games and trees, with values from the
    /// teacher's searches of [`Self::tree_depth`] plies; 0 for none. Records are learned as usual.
    #[serde(skip_serializing_if = "is_default")]
    pub leaf_depth: u32,
    /// Whether to add a [hidden layer](crate::eval::HiddenLayer) to the sum of weights. Only flipside evaluates such weights.
    pub hidden_layer: bool,
    /// What an error costs.
    #[serde(skip_serializing_if = "is_default")]
    pub loss: Loss,
    /// How far weights move.
    #[serde(deserialize_with = "completed")]
    pub step: StepRule,
}

/// A step rule. Keys that are left out are as in the default, unless another rule is named.
fn completed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StepRule, D::Error> {
    let mut step = Table::deserialize(deserializer)?;
    let default = Table::try_from(FitConfig::default().step).map_err(D::Error::custom)?;
    if step.get("rule").is_none_or(|rule| *rule == default["rule"]) {
        for (key, value) in default {
            step.entry(key).or_insert(value);
        }
    }
    step.try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message()))
}

/// The default of [`FitConfig::exact_empties`].
const EXACT_EMPTIES: u32 = 12;

fn is_default_exact_empties(empties: &u32) -> bool {
    *empties == EXACT_EMPTIES
}

fn is_full(importance: &f32) -> bool {
    *importance == 1.0
}

/// Whether a value is the default of its type, as most are that a file may leave out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for FitConfig {
    fn default() -> Self {
        Self {
            lambda: 0.9,
            epochs: 3,
            stage_plies: None,
            overlap: None,
            anneal: 0.3,
            block: 1 << 21,
            first_generation: 0,
            hold_out: 200,
            exact_empties: EXACT_EMPTIES,
            record_importance: 1.0,
            tree_depth: 0,
            leaf_depth: 0,
            hidden_layer: false,
            loss: Loss::default(),
            step: StepRule::Decayed(Decayed { rate: 1.0, half: 100.0, floor: 0.0003 }),
        }
    }
}

/// A value that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is {value}: {expected}")]
pub struct FitConfigError {
    key: String,
    value: String,
    expected: &'static str,
}

/// What [`is_in_range`] asks for.
pub(crate) const RANGE: &str = "the sizes of numbers go from about 1e-45 to 3e38 (single precision)";

/// Whether a number in TOML does not become zero or infinite as an `f32`.
pub(crate) fn is_in_range(number: f64) -> bool {
    let single = number as f32;
    single.is_finite() && (single == 0.0) == (number == 0.0)
}

/// Checks the sizes of the numbers in a configuration of a fit as TOML.
///
/// # Errors
/// The first that cannot be used.
pub fn check_numbers(table: &Table) -> Result<(), FitConfigError> {
    table.iter().try_for_each(|(key, value)| match value {
        Value::Float(number) if !is_in_range(*number) => {
            Err(FitConfigError { key: key.clone(), value: format!("{number:?}"), expected: RANGE })
        }
        Value::Table(inner) => {
            check_numbers(inner).map_err(|error| FitConfigError { key: format!("{key}.{}", error.key), ..error })
        }
        _ => Ok(()),
    })
}

impl FitConfig {
    /// Plies in a stage. By default one without a hidden layer, and six with one, which sees more of a position.
    pub fn stage_plies(&self) -> u32 {
        self.stage_plies.unwrap_or(if self.hidden_layer { 6 } else { 1 })
    }

    /// Plies before and after a stage that it also learns from, one in d + 1 samples d plies away. By default two without a hidden
    /// layer and four with one.
    pub fn overlap(&self) -> u32 {
        self.overlap.unwrap_or(if self.hidden_layer { 4 } else { 2 })
    }

    /// The configuration as TOML, with the defaults of stages and overlap filled in.
    pub fn to_toml(&self) -> String {
        let full = Self { stage_plies: Some(self.stage_plies()), overlap: Some(self.overlap()), ..*self };
        toml::to_string(&full).expect("a configuration is a TOML table")
    }

    /// Checks that all values make sense.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), FitConfigError> {
        let require = |holds: bool, key: &str, value: String, expected| {
            if holds { Ok(()) } else { Err(FitConfigError { key: key.to_owned(), value, expected }) }
        };
        require((0.0..=1.0).contains(&self.lambda), "lambda", self.lambda.to_string(), "0 to 1")?;
        require((1..=1000).contains(&self.epochs), "epochs", self.epochs.to_string(), "1 to 1000")?;
        let (plies, overlap) = (self.stage_plies(), self.overlap());
        require((1..=60).contains(&plies), "stage-plies", plies.to_string(), "1 to 60")?;
        require(overlap <= 60, "overlap", overlap.to_string(), "at most 60 plies")?;
        require((0.0..=1.0).contains(&self.anneal), "anneal", self.anneal.to_string(), "0 to 1")?;
        let block = (1 << 12)..=(1 << 30);
        require(block.contains(&self.block), "block", self.block.to_string(), "4,096 to 2^30 positions")?;
        require(self.hold_out != 1, "hold-out", self.hold_out.to_string(), "2 or more, or 0 for none")?;
        require(self.exact_empties <= 24, "exact-empties", self.exact_empties.to_string(), "at most 24")?;
        let importance = self.record_importance;
        let is_share = Importance::new(importance).is_some();
        require(is_share, "record-importance", importance.to_string(), "above 0, at most 1")?;
        for (key, depth) in [("tree-depth", self.tree_depth), ("leaf-depth", self.leaf_depth)] {
            require(matches!(depth, 0 | 2..=8), key, depth.to_string(), "2 to 8 plies, or 0 for none")?;
        }
        // Weights with a layer got weaker from leaves.
        let is_linear = self.leaf_depth == 0 || !self.hidden_layer;
        require(is_linear, "leaf-depth", self.leaf_depth.to_string(), "0 with a hidden layer")?;
        let checked = self.loss.check().and_then(|()| self.step.check());
        checked.map_err(|BadParameter { key, value, expected }| FitConfigError {
            key: key.to_owned(),
            value: value.to_string(),
            expected,
        })
    }
}
