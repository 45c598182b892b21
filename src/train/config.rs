//! The configuration of a run.

use std::mem::discriminant;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::identity::stored_set;
use super::invalid::ConfigError;
use super::keys::{Kind, check_table, check_whole};
use crate::fit::{FitConfig, is_default};
use crate::learn::{BadParameter, StepRule};
use crate::pattern::PatternSet;
use crate::search::Strength;
use crate::selfplay::SelfPlayConfig;

/// Everything that decides a run's weights. The run directory and weight files hold it as [`TrainConfig::to_toml`] writes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainConfig {
    /// A built-in pattern set's name, or the path of a TOML file.
    pub patterns: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// Generations in the replay window, the newest included.
    pub window: u32,
    /// Passes over the newest samples and, from the second on, over the whole window.
    pub passes: u32,
    /// How far weights move.
    pub step: StepRule,
    /// When and how strength is measured.
    pub gate: GateConfig,
    /// How weights are fitted to all kept games: at the end of the run, and before each phase that says so. `false`, or left out: not
    /// at all.
    #[serde(default, with = "or_false")]
    pub fit: Option<FitConfig>,
    /// How a fit that continues from weights with a hidden layer differs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tune: TuneConfig,
    /// Where events are written, besides `metrics.jsonl`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub events: EventsConfig,
    /// What is learned before the first generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordsConfig>,
    /// What the generations do, in order; the last phase lasts until the run ends.
    pub phases: Vec<Phase>,
}

/// Where events are written, besides `metrics.jsonl`. Does not affect the weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EventsConfig {
    /// Whether the program writes event files of TensorBoard.
    #[serde(default)]
    pub tensorboard: bool,
}

/// The settings of a fit that continues from weights with a hidden layer; others are those of [`TrainConfig::fit`]. Small steps keep what
/// the weights know.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TuneConfig {
    /// Passes over the games.
    pub epochs: u32,
    /// The rate of the step rule.
    pub rate: f32,
}

impl Default for TuneConfig {
    fn default() -> Self {
        Self { epochs: 2, rate: 0.08 }
    }
}

/// A fit before a phase, or at the end of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FitPlan {
    /// How to learn, and from which generation's games on.
    pub config: FitConfig,
    /// Whether it continues from the current weights; otherwise it begins from nothing.
    pub tunes: bool,
}

/// Recorded games and scored positions, learned before the first generation, in the stages of the first phase or of the weights that the
/// run begins with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecordsConfig {
    /// The files, in the order in which they are learned: GGF, WTHOR, f5d6, OBF or Egaroucid's training lines.
    pub files: Vec<String>,
    /// Passes over the samples.
    #[serde(default = "two_passes")]
    pub passes: u32,
    /// Positions of games with this number of empties or fewer are solved; see [`Labeller`](crate::label::Labeller).
    #[serde(default = "solved_empties")]
    pub exact_empties: u32,
    /// The SHA-256 of each file in hexadecimal: other contents are refused. If left out, a run fills it in.
    #[serde(default)]
    pub sha256: Vec<String>,
}

/// A part of a configuration, or `false` for none, so that a file can remove a part that its preset has.
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

/// A number of generations with the same settings.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Phase {
    /// How many; ignored in the last phase.
    pub generations: u32,
    /// Games per generation.
    pub games: u32,
    /// How far samples trust the game's outcome (1) rather than the search (0).
    pub lambda: f32,
    /// Plies in a stage: wide stages spread value quickly, stages of one ply are the most exact. See
    /// [`StageMap::for_set`](crate::eval::StageMap::for_set).
    pub stage_plies: u32,
    /// Plies before and after a stage that it also learns from, one in d + 1 samples d plies away. 0, or left out, for none. Records
    /// are learned without overlap.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overlap: u32,
    /// Whether weights are fitted to the games kept so far before the phase begins: from nothing, to all of them, as
    /// [`TrainConfig::fit`] says, unless both this phase and the one before have a hidden layer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refit: bool,
    /// Whether the weights that play have a hidden layer, if those at the end have one. The first such phase gets it with its refit.
    /// The refits of later ones, and the fit at the end, continue from the current weights as [`TrainConfig::tune`] says, and learn
    /// only the games that were played with a layer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hidden_layer: bool,
    /// Whether each generation is learned once it is played. If not, its games are kept for the next fit.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub learn: bool,
    /// How games are played.
    pub self_play: SelfPlayConfig,
}

/// When and how strength is measured. The newest weights become the best if they beat the best so far.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateConfig {
    /// Generations from gate to gate; 0 for gates only after fits and at the end.
    pub every: u32,
    /// Pairs of games in each match.
    pub pairs: u32,
    /// How strongly the players search, at full width.
    #[serde(flatten)]
    pub strength: Strength,
}

/// Both `evening` and `overnight`, so that an evening can be extended to a whole night.
const NIGHT: &str = include_str!("../../data/presets/night.toml");

/// The built-in configurations: name, TOML text and the minutes they are meant for.
pub const PRESETS: [(&str, &str, f64); 3] = [
    ("quick", include_str!("../../data/presets/quick.toml"), 2.0),
    ("evening", NIGHT, 120.0),
    ("overnight", NIGHT, 600.0),
];

/// The name of a configuration without layers.
const WHOLE: &str = "the configuration";

impl TrainConfig {
    /// A configuration from TOML.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_named_layers(&[(WHOLE.to_owned(), text.parse()?)])
    }

    /// A configuration from layers of TOML, each with a name for error messages. Each key of a later layer replaces that of earlier ones.
    ///
    /// # Errors
    /// What is wrong with it, and in which layer.
    pub fn from_named_layers(layers: &[(String, toml::Table)]) -> Result<Self, ConfigError> {
        let mut merged = toml::Table::new();
        for (name, layer) in layers {
            check_table(name, layer, "")?;
            overlay(&mut merged, layer);
        }
        let origin = |key: &str| origin(layers, key);
        check_whole(&merged, &origin)?;
        check_kinds(&merged).map_err(|(key, reason)| ConfigError::Key { file: origin(&key), key, reason })?;
        let config: Self = merged.try_into()?;
        config.check().map_err(|(key, reason)| ConfigError::Key { file: origin(&key), key, reason })?;
        Ok(config)
    }

    /// Checks that a configuration that was made in code has no values that a file could not have.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match toml::Table::try_from(self) {
            Ok(table) => Self::from_named_layers(&[(WHOLE.to_owned(), table)]).map(drop),
            Err(_) => {
                // The one number that can be too large for TOML.
                let reason = format!("is {}: {} is expected", self.seed, Kind::Seed);
                Err(ConfigError::Key { file: WHOLE.to_owned(), key: "seed".to_owned(), reason })
            }
        }
    }

    /// The configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is a TOML table")
    }

    /// The phase of a generation, counted from 0.
    pub fn phase(&self, generation: u32) -> &Phase {
        self.phase_and_first(generation).0
    }

    /// How weights are fitted before a generation, or at the end of a run of that many. `has_layer` says whether the current weights
    /// have a hidden layer; an engine's pattern set gets none.
    pub(super) fn fit_plan(&self, generation: u32, at_end: bool, set: &PatternSet, has_layer: bool) -> Option<FitPlan> {
        let fit = self.fit?;
        let phase = self.phase(if at_end { generation.saturating_sub(1) } else { generation });
        let hidden_layer = (phase.hidden_layer || at_end) && self.has_hidden_layer(set);
        let layered = self.layered_before(generation).filter(|_| hidden_layer && has_layer);
        let config = match layered {
            Some(first) => FitConfig {
                hidden_layer,
                epochs: self.tune.epochs,
                first_generation: first.max(fit.first_generation),
                step: fit.step.with_rate(self.tune.rate),
                ..fit
            },
            None => FitConfig { hidden_layer, ..fit },
        };
        Some(FitPlan { config, tunes: layered.is_some() })
    }

    /// The first generation of the unbroken series before `generation` that is played with a hidden layer, if there is one.
    fn layered_before(&self, generation: u32) -> Option<u32> {
        let played = &self.phases[..=self.phase_number(generation.checked_sub(1)?)];
        let layered = played.iter().rev().take_while(|phase| phase.hidden_layer).count();
        let before = &played[..played.len() - layered];
        (layered > 0).then(|| before.iter().map(|phase| phase.generations).sum())
    }

    /// Whether weights of the run have a hidden layer at some point.
    pub(super) fn has_hidden_layer(&self, set: &PatternSet) -> bool {
        set.engine.is_none() && self.fit.is_some_and(|fit| fit.hidden_layer)
    }

    /// Whether weights are fitted to kept games before a generation.
    pub(super) fn is_refitted_before(&self, generation: u32) -> bool {
        let (phase, first) = self.phase_and_first(generation);
        phase.refit && first == generation
    }

    /// Which of the phases a generation is in, from 0.
    pub fn phase_number(&self, generation: u32) -> usize {
        self.number_and_first(generation).0
    }

    /// Generations left in a phase from one of them on, it included; `None` if the phase lasts until the run ends.
    pub(super) fn left_of_phase(&self, generation: u32) -> Option<u32> {
        let (number, first) = self.number_and_first(generation);
        let is_last = number + 1 == self.phases.len();
        (!is_last).then(|| first.saturating_add(self.phases[number].generations) - generation)
    }

    /// Games of some generations in a row.
    pub fn games_of(&self, generations: Range<u32>) -> u64 {
        let Range { start: mut next, end } = generations;
        let mut games = 0u64;
        while next < end {
            let of_phase = self.left_of_phase(next).unwrap_or(u32::MAX).min(end - next);
            games = games.saturating_add(u64::from(of_phase) * u64::from(self.phase(next).games));
            next += of_phase;
        }
        games
    }

    /// The phase of a generation, and its first generation.
    fn phase_and_first(&self, generation: u32) -> (&Phase, u32) {
        let (number, first) = self.number_and_first(generation);
        (&self.phases[number], first)
    }

    fn number_and_first(&self, generation: u32) -> (usize, u32) {
        let mut first = 0u32;
        let last = self.phases.len().checked_sub(1).expect("checked: there is a phase");
        for (number, phase) in self.phases[..last].iter().enumerate() {
            let next = first.saturating_add(phase.generations);
            if generation < next {
                return (number, first);
            }
            first = next;
        }
        (last, first)
    }

    /// The pattern set: built in, read from a file, or that of a run.
    ///
    /// # Errors
    /// See [`set_named`].
    pub fn pattern_set(&self) -> Result<PatternSet, ConfigError> {
        set_named(&self.patterns)
    }

    /// Whether a generation or one after it may learn games of generations before it, in its replay window.
    pub(super) fn learns_window(&self, generation: u32) -> bool {
        self.passes > 1 && (generation..).take(self.window as usize - 1).any(|generation| self.phase(generation).learn)
    }

    /// Checks that values go together. An error is the key, and what is wrong with it.
    fn check(&self) -> Result<(), (String, String)> {
        let require = |holds: bool, key: &str, reason: &str| {
            if holds { Ok(()) } else { Err((key.to_owned(), reason.to_owned())) }
        };
        if let Some(fit) = &self.fit {
            fit.check().map_err(|error| ("fit".to_owned(), format!("has a value that makes no sense: {error}")))?;
            let same = discriminant(&fit.step) == discriminant(&self.step);
            require(same, "step", "must have the same rule as `fit.step`: give both")?;
            let tuned = fit.step.with_rate(self.tune.rate).check();
            tuned.map_err(|BadParameter { value, expected, .. }| {
                ("tune.rate".to_owned(), format!("is {value}: {expected} is expected"))
            })?;
        }
        if let Some(RecordsConfig { files, sha256, .. }) = &self.records {
            require(!files.is_empty(), "records.files", "is empty: at least one file is expected")?;
            let one_each = sha256.is_empty() || sha256.len() == files.len();
            require(one_each, "records.sha256", "must have a checksum for each file, or none")?;
        }
        let mut before = 0u32;
        for (number, phase) in (1..).zip(&self.phases) {
            let key = |name: &str| format!("phases[{number}].{name}");
            let has_fit = self.fit.is_some();
            let needs = |is_needed, what| {
                let reason = format!("is false or missing, but `{}` needs a fit", key(what));
                if is_needed && !has_fit { Err(("fit".to_owned(), reason)) } else { Ok(()) }
            };
            needs(phase.refit, "refit = true")?;
            needs(!phase.learn, "learn = false")?;
            let has_games = !phase.refit || self.fit.is_some_and(|fit| before > fit.first_generation);
            require(has_games, &key("refit"), "is true, but `fit.first-generation` is not played by then")?;
            before = before.saturating_add(phase.generations);
            check_thinking(&phase.self_play).map_err(|reason| (key("self-play.depth"), reason))?;
        }
        let step = self.step.check();
        step.map_err(|bad| (bad.key.to_owned(), format!("is {}: {} is expected", bad.value, bad.expected)))
    }
}

/// The pattern set that a name stands for: built in, a TOML file, or the directory of a run.
///
/// # Errors
/// It is none of these, or cannot be read.
pub fn set_named(name: &str) -> Result<PatternSet, ConfigError> {
    let directory = Path::new(name);
    if PatternSet::built_in(name).is_none() && directory.is_dir() {
        return stored_set(directory).map_err(|error| ConfigError::Run(Box::new(error)));
    }
    Ok(PatternSet::load(name)?)
}

/// Checks that step rules and losses have their own keys. An error is the key of the table, and what is wrong with it.
fn check_kinds(merged: &toml::Table) -> Result<(), (String, String)> {
    let wrong =
        |key: String| move |error: toml::de::Error| (key, format!("cannot be used: {}", error.message().trim_end()));
    if let Some(step) = merged.get("step") {
        step.clone().try_into::<StepRule>().map_err(wrong("step".to_owned()))?;
    }
    let fit = merged.get("fit").and_then(toml::Value::as_table);
    for (key, value) in fit.into_iter().flatten() {
        let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
        alone.try_into::<FitConfig>().map_err(wrong(format!("fit.{key}")))?;
    }
    Ok(())
}

/// Checks that games can be played this way in a reasonable time.
///
/// # Errors
/// What is wrong.
pub fn check_self_play(play: &SelfPlayConfig) -> Result<(), ConfigError> {
    let table = toml::Table::try_from(play).expect("a configuration is a TOML table");
    check_table("the job", &table, "phases.self-play")?;
    let bad = |reason| ConfigError::Key { file: "the job".to_owned(), key: "depth".to_owned(), reason };
    check_thinking(play).map_err(bad)
}

/// Shallower searches have nothing to cut; calibrating deeper ones, at full width, would take forever.
fn check_thinking(play: &SelfPlayConfig) -> Result<(), String> {
    let Strength { depth, selectivity, .. } = play.strength;
    let can_cut = selectivity.is_none() || (3..=12).contains(&depth);
    if can_cut { Ok(()) } else { Err(format!("is {depth}: with `selectivity` 3 to 12 plies are expected")) }
}

/// The name of the last layer that has the outermost table of a key; of the last layer if none has it.
pub fn origin(layers: &[(String, toml::Table)], key: &str) -> String {
    let outermost = key.split(['.', '[']).next().unwrap_or(key);
    let layer = layers.iter().rev().find(|(_, layer)| layer.contains_key(outermost)).or(layers.last());
    layer.map_or(String::new(), |(name, _)| name.clone())
}

/// Replaces what `layer` has; tables are merged, everything else is replaced whole.
fn overlay(base: &mut toml::Table, layer: &toml::Table) {
    for (key, value) in layer {
        match (base.get_mut(key), value) {
            // A rule or loss of another name has other keys: nothing of the old one may stay.
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if !["rule", "kind"].iter().any(|name| above.contains_key(*name)) =>
            {
                overlay(below, above);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_with_a_layer_are_tuned_to_the_games_played_with_one() {
        let config: TrainConfig = TrainConfig::from_toml(PRESETS[2].1).unwrap();
        let (fit, set) = (config.fit.unwrap(), PatternSet::built_in("night").unwrap());
        let first = |number: usize| config.phases[..number].iter().map(|phase| phase.generations).sum::<u32>();
        let layered = config.phases.iter().position(|phase| phase.hidden_layer).unwrap();
        let from_nothing = |hidden_layer| Some(FitPlan { config: FitConfig { hidden_layer, ..fit }, tunes: false });
        assert_eq!(config.fit_plan(first(2), false, &set, false), from_nothing(false));
        assert_eq!(config.fit_plan(first(layered), false, &set, false), from_nothing(true));
        let TuneConfig { epochs, rate } = config.tune;
        let step = fit.step.with_rate(rate);
        assert!(epochs != fit.epochs && step != fit.step);
        let tuned = FitConfig { hidden_layer: true, epochs, step, first_generation: first(layered), ..fit };
        let later = first(layered + 1);
        assert_eq!(config.fit_plan(later, false, &set, true), Some(FitPlan { config: tuned, tunes: true }));
        // At the end too; but without a layer to go on from, from nothing.
        assert_eq!(config.fit_plan(later, true, &set, true), Some(FitPlan { config: tuned, tunes: true }));
        assert_eq!(config.fit_plan(later, false, &set, false), from_nothing(true));
    }
}
