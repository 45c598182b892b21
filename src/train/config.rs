//! What a run is told to do.

use serde::{Deserialize, Serialize};

use crate::fit::{FitConfig, FitConfigError};
use crate::learn::StepRule;
use crate::pattern::{PatternSet, PatternSetError};
use crate::search::Strength;
use crate::selfplay::SelfPlayConfig;

/// Everything that decides a run's weights. [`TrainConfig::to_toml`] is what stands in the run directory and in weight files.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainConfig {
    /// A built-in pattern set's name, or the path of a TOML file.
    pub patterns: String,
    /// The seed of all chance.
    pub seed: u64,
    /// Learning goes over the samples of this many generations, the newest included.
    pub window: u32,
    /// Passes over the newest samples and, from the second on, over the whole window.
    pub passes: u32,
    /// How far weights move.
    pub step: StepRule,
    /// When and how strength is measured.
    pub gate: GateConfig,
    /// Whether the games of all generations are kept, and not only those of the window.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub keep_games: bool,
    /// How weights are fitted to all kept games: at the end of the run, and before each phase that says so. `false`, or left out: not
    /// at all.
    #[serde(default, with = "or_false")]
    pub fit: Option<FitConfig>,
    /// What is learned before the first generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordsConfig>,
    /// What the generations do, in order; the last phase goes on for ever.
    pub phases: Vec<Phase>,
}

/// Recorded games and scored positions, learned before the first generation in the stages of the first phase.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecordsConfig {
    /// The files, in the order in which they are learned: GGF, WTHOR, f5d6, OBF or Egaroucid's training lines.
    pub files: Vec<String>,
    /// Passes over the samples.
    #[serde(default = "two_passes")]
    pub passes: u32,
    /// Positions of games with this number of empties or fewer are solved; see [`Labeller`](crate::learn::Labeller).
    #[serde(default = "solved_empties")]
    pub exact_empties: u32,
    /// The SHA-256 of each file in hexadecimal: other contents are refused. A run fills it in where it is left out.
    #[serde(default)]
    pub sha256: Vec<String>,
}

/// A part of a configuration, or `false` where there is none, so that a file can do without a part that its preset has.
mod or_false {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(part: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        match part {
            Some(part) => part.serialize(serializer),
            None => serializer.serialize_bool(false),
        }
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        match value {
            toml::Value::Boolean(false) => Ok(None),
            part => part.try_into().map(Some).map_err(D::Error::custom),
        }
    }
}

fn yes() -> bool {
    true
}

fn is_yes(is: &bool) -> bool {
    *is
}

fn two_passes() -> u32 {
    2
}

fn solved_empties() -> u32 {
    12
}

/// A stretch of generations that are alike.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Phase {
    /// How many; the last phase's number is not looked at.
    pub generations: u32,
    /// Games a generation.
    pub games: u32,
    /// How far samples trust the game's outcome (1) rather than the search (0).
    pub lambda: f32,
    /// Plies to a stage: wide stages spread value quickly, stages of one ply are the most exact. See [`StageMap::for_set`](crate::eval::StageMap::for_set).
    pub stage_plies: u32,
    /// Plies before and after a stage whose samples it learns too, less of them the farther they are. 0, or left out, for none.
    /// Records are learned without.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overlap: u32,
    /// Whether weights are fitted from nothing to all games kept so far before the phase begins; see [`TrainConfig::fit`].
    #[serde(default, skip_serializing_if = "is_no")]
    pub refit: bool,
    /// Whether each generation is learned once it is played. If not, its games are kept for the next fit.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub learn: bool,
    /// How games are played.
    pub self_play: SelfPlayConfig,
}

fn is_no(is: &bool) -> bool {
    !*is
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// When and how strength is measured. The newest weights become the best if they beat the best so far.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateConfig {
    /// Generations from gate to gate; 0 for none but the last.
    pub every: u32,
    /// Pairs of games in each match.
    pub pairs: u32,
    /// How strongly the players think, at full width.
    #[serde(flatten)]
    pub strength: Strength,
}

/// The built-in configurations: name, TOML text and the minutes they are meant for.
pub const PRESETS: [(&str, &str, f64); 3] = [
    ("quick", include_str!("../../data/presets/quick.toml"), 2.0),
    ("evening", include_str!("../../data/presets/evening.toml"), 120.0),
    ("overnight", include_str!("../../data/presets/overnight.toml"), 600.0),
];

/// A configuration that cannot be run, and why.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// TOML that cannot be read, an unknown key, or a value of the wrong kind.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A value that makes no sense.
    #[error("`{key}` is {value}: {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The part on fits.
    #[error("fit: {0}")]
    Fit(#[from] FitConfigError),
    /// A pattern set that is neither built in nor a file, or malformed.
    #[error(transparent)]
    Patterns(#[from] PatternSetError),
}

impl TrainConfig {
    /// A configuration from layers of TOML, each key of a later layer replacing that of earlier ones.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_layers(layers: &[toml::Table]) -> Result<Self, ConfigError> {
        let mut merged = toml::Table::new();
        for layer in layers {
            overlay(&mut merged, layer);
        }
        let config: Self = merged.try_into()?;
        config.check()?;
        Ok(config)
    }

    /// The configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is a TOML table")
    }

    /// What a generation does, counted from 0.
    pub fn phase(&self, generation: u32) -> &Phase {
        self.phase_and_first(generation).0
    }

    /// Whether weights are fitted to all kept games before a generation.
    pub fn is_refitted_before(&self, generation: u32) -> bool {
        let (phase, first) = self.phase_and_first(generation);
        phase.refit && first == generation
    }

    /// The phase of a generation, and its first generation.
    fn phase_and_first(&self, generation: u32) -> (&Phase, u32) {
        let mut first = 0u32;
        let (last, others) = self.phases.split_last().expect("checked: there is a phase");
        for phase in others {
            let next = first.saturating_add(phase.generations);
            if generation < next {
                return (phase, first);
            }
            first = next;
        }
        (last, first)
    }

    /// The pattern set: built in, or read from a file.
    ///
    /// # Errors
    /// Neither, or a malformed file.
    pub fn pattern_set(&self) -> Result<PatternSet, ConfigError> {
        Ok(PatternSet::load(&self.patterns)?)
    }

    fn check(&self) -> Result<(), ConfigError> {
        require(!self.phases.is_empty(), "phases", "empty".into(), "there is at least one phase")?;
        require((1..=1000).contains(&self.window), "window", self.window.to_string(), "1 to 1000 generations")?;
        require((1..=100).contains(&self.passes), "passes", self.passes.to_string(), "1 to 100")?;
        let GateConfig { pairs, strength: Strength { depth, selectivity, exact_empties }, .. } = self.gate;
        require((1..=100_000).contains(&pairs), "gate.pairs", pairs.to_string(), "1 to 100,000")?;
        require((1..=20).contains(&depth), "gate.depth", depth.to_string(), "1 to 20 plies")?;
        require(exact_empties <= 24, "gate.exact-empties", exact_empties.to_string(), "at most 24")?;
        let full_width = "left out: gates are played at full width";
        require(selectivity.is_none(), "gate.selectivity", selectivity.unwrap_or(0.0).to_string(), full_width)?;
        if let Some(fit) = &self.fit {
            fit.check()?;
            let same = fit.step.numbers() == self.step.numbers();
            require(same, "fit.step", format!("{:?}", fit.step), "the same rule as `step`")?;
            require(self.keep_games, "keep-games", "false".into(), "true, since weights are fitted to kept games")?;
        }
        if let Some(records) = &self.records {
            let RecordsConfig { files, passes, exact_empties, sha256 } = records;
            require(!files.is_empty(), "records.files", "empty".into(), "at least one file")?;
            require((1..=100).contains(passes), "records.passes", passes.to_string(), "1 to 100")?;
            require(*exact_empties <= 24, "records.exact-empties", exact_empties.to_string(), "at most 24")?;
            let one_each = sha256.is_empty() || sha256.len() == files.len();
            require(one_each, "records.sha256", format!("{} checksums", sha256.len()), "one for each file, or none")?;
        }
        let mut before = 0u32;
        for phase in &self.phases {
            let needs_fit = (phase.refit || !phase.learn) && self.fit.is_none();
            require(!needs_fit, "fit", "left out".into(), "given where a phase has `refit = true` or `learn = false`")?;
            let has_games = self.fit.is_none_or(|fit| before > fit.first_generation);
            require(
                has_games || !phase.refit,
                "refit",
                "true".into(),
                "false where `fit.first-generation` is not yet played",
            )?;
            before = before.saturating_add(phase.generations);
            let play = &phase.self_play;
            require((1..=100_000_000).contains(&phase.games), "games", phase.games.to_string(), "1 to 100,000,000")?;
            require((0.0..=1.0).contains(&phase.lambda), "lambda", phase.lambda.to_string(), "0 to 1")?;
            let stage_plies = phase.stage_plies;
            require((1..=60).contains(&stage_plies), "stage-plies", stage_plies.to_string(), "1 to 60")?;
            require(phase.overlap <= 60, "overlap", phase.overlap.to_string(), "at most 60 plies")?;
            check_self_play(play)?;
        }
        self.step.check().map_err(|(key, value, expected)| ConfigError::Value {
            key,
            value: value.to_string(),
            expected,
        })
    }
}

fn require(holds: bool, key: &'static str, value: String, expected: &'static str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::Value { key, value, expected }) }
}

/// Whether games can be played so, in a time that one would wait.
///
/// # Errors
/// What is wrong.
pub fn check_self_play(play: &SelfPlayConfig) -> Result<(), ConfigError> {
    let Strength { depth, selectivity, exact_empties } = play.strength;
    require((1..=20).contains(&depth), "depth", depth.to_string(), "1 to 20 plies")?;
    if let Some(deviations) = selectivity {
        let expected = "0 to 100 standard deviations, or left out for full width";
        require((0.0..=100.0).contains(&deviations), "selectivity", deviations.to_string(), expected)?;
        // Shallower searches have nothing to cut; the measuring for deeper ones, at full width, would take for ever.
        require((3..=12).contains(&depth), "depth", depth.to_string(), "3 to 12 plies with selectivity")?;
    }
    let expected = "at most 24 (more would take for ever)";
    require(exact_empties <= 24, "exact-empties", exact_empties.to_string(), expected)?;
    require(play.opening_plies <= 59, "opening-plies", play.opening_plies.to_string(), "at most 59")?;
    let exploration = play.exploration;
    require((0.0..=1.0).contains(&exploration), "exploration", exploration.to_string(), "a chance, 0 to 1")
}

/// Replaces what `layer` has; tables are gone into, everything else is replaced whole.
fn overlay(base: &mut toml::Table, layer: &toml::Table) {
    for (key, value) in layer {
        match (base.get_mut(key), value) {
            // A rule of another name has other keys: nothing of the old one may stay.
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) if !above.contains_key("rule") => {
                overlay(below, above);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}
