//! How to learn.

use serde::{Deserialize, Serialize};

use crate::learn::{Loss, StepRule};
use crate::schema::{Kind, schema};

/// The weights that learning begins from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// None.
    #[default]
    Nothing,
    /// The current weights, in steps a tenth as large as those of new weights.
    Weights,
    /// The current weights, in steps that go on shrinking with each weight's visits.
    Visits,
}

/// The largest number of empties that may be asked to be solved.
pub(crate) const MOST_EXACT: u64 = 24;

schema! {
    /// Everything besides the games that decides what is learned from them. Weight files hold it as [`LearnConfig::to_toml`] writes it.
    pub struct LearnConfig {
        /// The weights to begin from: none; the current ones, in steps a tenth as large as those of new weights; or the current ones, in
        /// steps that go on shrinking with each weight's visits.
        from: Start = Start::Nothing, Kind::OneOf(&["nothing", "weights", "visits"]);
        /// The number of newest generations to learn.
        #[serde(skip_serializing_if = "Option::is_none")]
        generations: Option<u32> = None, Kind::Whole(1, u32::MAX as u64, "generations"), "all";
        /// The first generation to learn, counted from 0: the earliest games were played knowing nothing. If the run ends before it, nothing
        /// is learned.
        since: u32 = 0, Kind::Whole(0, u32::MAX as u64, "generation");
        /// Files of recorded games and scored positions to learn instead of the run's games: all formats that `convert` reads. Relative paths
        /// begin in the current folder.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<String> = Vec::new(), Kind::Texts;
        /// The SHA-256 of each of the files in hexadecimal; a run fills it in. Files that differ are refused.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sha256: Vec<String> = Vec::new(), Kind::Texts;
        /// Positions of recorded games with at most N empty squares are solved; earlier ones take the value of the first that is.
        exact_empties: u32 = 12, Kind::Whole(0, MOST_EXACT, "empty squares");
        /// How much a recorded position counts relative to one of self-play: its error is multiplied by this.
        record_importance: f32 = 1.0, Kind::Number(0.00001, 1.0, "share");
        /// How far labels trust the game's result (1) rather than the search (0).
        lambda: f32 = 0.9, Kind::Number(0.0, 1.0, "");
        /// Passes over all games.
        epochs: u32 = 3, Kind::Whole(1, 1000, "passes");
        /// Plies in a stage: wide stages spread values quickly, stages of one ply are the most exact.
        #[serde(skip_serializing_if = "Option::is_none")]
        stage_plies: Option<u32> = None, Kind::Whole(1, 60, "plies"), "1; 6 with a hidden layer";
        /// Plies before and after a stage that it also learns from, one in d + 1 positions d plies away.
        #[serde(skip_serializing_if = "Option::is_none")]
        overlap: Option<u32> = None, Kind::Whole(0, 60, "plies"), "2; 4 with a hidden layer";
        /// The step of a new weight, as a share of the error: `rate` / (1 + visits / `half`), at least `floor`.
        rate: f32 = 1.0, Kind::Number(0.000001, 1000.0, "share of the error");
        /// Visits after which a weight's steps are half as large.
        half: f32 = 100.0, Kind::Number(0.001, 1e9, "visits");
        /// The smallest step.
        floor: f32 = 0.0003, Kind::Number(0.0, 1.0, "share of the error");
        /// The last part of the work, over which steps shrink to zero.
        anneal: f32 = 0.3, Kind::Number(0.0, 1.0, "share of the work");
        /// Positions in memory, which are learned together, by all stages in parallel, 25 bytes each. Trees take as much again.
        block: u32 = 1 << 21, Kind::Whole(1 << 12, 1 << 30, "positions");
        /// One game in N is held out to measure the loss, the same games whenever it is the same N; 2 or more, or 0 for none. Of scored
        /// positions each counts as a game: if neighbours from one game are among them, the loss is too low.
        hold_out: u32 = 200, Kind::Whole(0, u32::MAX as u64, "games");
        /// Depth of searches by the current weights, or a teacher's, whose trees are learned beside the games, one search per game; 0 for
        /// none, else 2 or more.
        tree_depth: u32 = 0, Kind::Whole(0, 8, "plies");
        /// Only for `flipside fit`: depth of searches by the weights to begin from whose leaves are learned instead of games; 0 for none,
        /// else 2 or more.
        leaf_depth: u32 = 0, Kind::Whole(0, 8, "plies");
        /// Whether to learn a small hidden layer beside the sum of weights. Such weights are stronger, but other engines cannot use them, so
        /// an engine's pattern set never gets a layer.
        hidden_layer: bool = false, Kind::Flag;
        /// Learn the cross entropy of winning chances instead of the square of the error: a value of v discs is a chance of
        /// (1 + tanh(v / N)) / 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        cross_entropy: Option<f32> = None, Kind::Number(0.01, 1000.0, "discs"), "the square";
    }
}

/// Values that make no sense together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {reason}")]
pub struct ConfigFault {
    /// The key.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ConfigFault {
    /// A fault of a key.
    pub fn new(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { key: key.into(), reason: reason.into() }
    }
}

impl LearnConfig {
    /// Plies in a stage. By default one without a hidden layer, and six with one, which sees more of a position.
    pub fn stage_plies(&self) -> u32 {
        self.stage_plies.unwrap_or(if self.hidden_layer { 6 } else { 1 })
    }

    /// Plies before and after a stage that it also learns from. By default two without a hidden layer and four with one.
    pub fn overlap(&self) -> u32 {
        self.overlap.unwrap_or(if self.hidden_layer { 4 } else { 2 })
    }

    /// How far weights move.
    pub fn step(&self) -> StepRule {
        StepRule { rate: self.rate, half: self.half, floor: self.floor }
    }

    /// What an error costs.
    pub fn loss(&self) -> Loss {
        self.cross_entropy.map_or(Loss::Squared, |scale| Loss::CrossEntropy { scale })
    }

    /// The configuration as TOML, with the defaults of stages and overlap filled in.
    pub fn to_toml(&self) -> String {
        let full = Self { stage_plies: Some(self.stage_plies()), overlap: Some(self.overlap()), ..self.clone() };
        toml::to_string(&full).expect("a configuration is a TOML table")
    }

    /// Checks that values go together. Their ranges are those of the keys.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), ConfigFault> {
        let require =
            |holds: bool, key: &str, reason: &str| if holds { Ok(()) } else { Err(ConfigFault::new(key, reason)) };
        require(self.hold_out != 1, "hold-out", "is 1, and nothing would be left: 2 or more, or 0 for none")?;
        require(self.tree_depth != 1, "tree-depth", "is 1: 2 or more, or 0 for none")?;
        require(self.leaf_depth != 1, "leaf-depth", "is 1: 2 or more, or 0 for none")?;
        // Weights with a layer got weaker from leaves.
        let is_linear = self.leaf_depth == 0 || !self.hidden_layer;
        require(is_linear, "leaf-depth", "is for weights without a hidden layer")?;
        let one_each = self.sha256.is_empty() || self.sha256.len() == self.files.len();
        require(one_each, "sha256", "must have a checksum for each file, or none")
    }
}
