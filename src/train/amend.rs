//! The configurations of a run: the one it began with, and those it was given later.

use std::mem::discriminant;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::config::TrainConfig;
use super::directory::{CHECKPOINT, MARKER, read_if_there};
use super::error::TrainError;
use super::identity::{Difference, Identity, differences, hash_of};
use crate::pattern::PatternSet;

/// What `flipside-run.json` holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Marker {
    /// The run's name.
    run: String,
    /// SHA-256 of the pattern set.
    patterns: String,
    /// The pattern set itself, unless it is built in: the file it was read from may change or go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set: Option<PatternSet>,
    /// Hash of the weights the run began with.
    pub parent: Option<String>,
    /// Configurations that replaced the first, by their first generation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amendments: Vec<Amendment>,
}

/// A configuration that a run was given after it had begun.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Amendment {
    /// The first generation that follows it, from 0.
    pub generation: u32,
    /// The whole configuration as TOML.
    pub config: String,
}

/// Limit in bytes of a marker.
const LIMIT: u64 = 1 << 24;

impl Marker {
    pub fn new(identity: &Identity, set: &PatternSet, amendments: Vec<Amendment>) -> Self {
        let Identity { patterns, parent, .. } = identity.clone();
        let set = Some(set).filter(|set| PatternSet::built_in(&set.name).as_ref() != Some(set)).cloned();
        Self { run: identity.run_name(), patterns, set, parent, amendments }
    }

    /// The marker of a directory, if there is one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(directory: &Path) -> Result<Option<Self>, TrainError> {
        let path = directory.join(MARKER);
        let Some(bytes) = read_if_there(&path, "marker", LIMIT)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| TrainError::damaged(&path, error))
    }

    /// The pattern set, if the marker has it and it is the run's.
    pub fn whole_set(self) -> Option<PatternSet> {
        self.set.filter(|set| hash_of(set) == self.patterns)
    }

    /// Whether the run began with a configuration, word for word.
    pub fn began_with(&self, config: &str) -> bool {
        let (patterns, parent) = (self.patterns.clone(), self.parent.clone());
        Identity { config: config.to_owned(), patterns, parent }.run_name() == self.run
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("texts and numbers can be written as JSON");
        bytes.push(b'\n');
        bytes
    }
}

/// A run's configuration from some generation on.
#[derive(Clone)]
struct Stretch {
    first: u32,
    config: TrainConfig,
    text: String,
}

/// The configurations of a run, by the generations that follow them.
#[derive(Clone)]
pub(super) struct Configs(Vec<Stretch>);

impl Configs {
    /// The configuration of a new run.
    pub fn new(config: TrainConfig) -> Self {
        let text = config.to_toml();
        Self(vec![Stretch { first: 0, config, text }])
    }

    /// The configurations of a run that began with one and was amended.
    ///
    /// # Errors
    /// A configuration that this program cannot follow: the name of the file that has it, and why.
    pub fn of(first: &str, amendments: &[Amendment]) -> Result<Self, (&'static str, String)> {
        let stretch = |generation, text: &str| {
            let config = TrainConfig::from_toml(text).map_err(|error| error.to_string())?;
            Ok(Stretch { first: generation, config, text: text.to_owned() })
        };
        let in_file = |name| move |reason: String| (name, reason);
        let mut stretches = vec![stretch(0, first).map_err(in_file(CHECKPOINT))?];
        for Amendment { generation, config } in amendments {
            stretches.push(stretch(*generation, config).map_err(in_file(MARKER))?);
        }
        Ok(Self(stretches))
    }

    fn stretch(&self, generation: u32) -> &Stretch {
        let in_force = self.0.iter().rev().find(|stretch| stretch.first <= generation);
        in_force.unwrap_or(&self.0[0])
    }

    /// The configuration that the run began with.
    pub fn first(&self) -> &TrainConfig {
        &self.0[0].config
    }

    /// The configuration that a generation follows.
    pub fn at(&self, generation: u32) -> &TrainConfig {
        &self.stretch(generation).config
    }

    /// Whether a generation or one after it may learn games of generations before it, in its replay window.
    pub fn learn_again(&self, generation: u32) -> bool {
        let learns_window = |generation| {
            let config = self.at(generation);
            config.passes > 1 && config.phase(generation).learn
        };
        (generation..).take(self.newest().window as usize - 1).any(learns_window)
    }

    /// The newest, whether a generation follows it yet or not.
    pub fn newest(&self) -> &TrainConfig {
        &self.last().config
    }

    /// The newest as TOML.
    pub fn newest_text(&self) -> &str {
        &self.last().text
    }

    fn last(&self) -> &Stretch {
        self.0.last().expect("a run has a configuration")
    }

    /// Whether a configuration is one of the run's, however it is written.
    pub fn know(&self, table: &toml::Table) -> bool {
        self.0.iter().any(|stretch| differences(&parsed(&stretch.text), table).is_empty())
    }

    /// How a configuration differs from the newest.
    pub fn differences(&self, table: &toml::Table) -> Vec<Difference> {
        differences(&parsed(self.newest_text()), table)
    }

    /// The configuration as weights of a generation hold it: the one in force, with a comment for each change before.
    pub fn provenance(&self, generation: u32) -> String {
        let changes = self.changes().filter(|(first, _)| *first <= generation);
        let comments: String = changes
            .flat_map(|(first, changes)| {
                changes.into_iter().map(move |change| format!("# From generation {} on: {change}\n", first + 1))
            })
            .collect();
        comments + &self.stretch(generation).text
    }

    /// The changes, with the first generation that follows them.
    pub fn changes(&self) -> impl Iterator<Item = (u32, Vec<String>)> {
        self.0.windows(2).map(|pair| {
            let differences = differences(&parsed(&pair[0].text), &parsed(&pair[1].text));
            (pair[1].first, differences.iter().map(ToString::to_string).collect())
        })
    }

    /// The amendments, for the marker.
    pub fn amendments(&self) -> Vec<Amendment> {
        let of = |stretch: &Stretch| Amendment { generation: stretch.first, config: stretch.text.clone() };
        self.0[1..].iter().map(of).collect()
    }

    /// Adopts a configuration from a generation on, if it differs. No game of that generation or a later one may have been
    /// played. True if it differs.
    ///
    /// # Errors
    /// The keys that can no longer be changed.
    pub fn amend(&mut self, generation: u32, config: &TrainConfig) -> Result<bool, Vec<Difference>> {
        let text = config.to_toml();
        let mut fixed = self.differences(&parsed(&text));
        if fixed.is_empty() {
            return Ok(false);
        }
        let is_played = |key: &str| {
            let number = key.strip_prefix("phases[").and_then(|rest| rest.split_once(']')?.0.parse::<usize>().ok());
            number.is_some_and(|number| self.is_played(number - 1, generation, config))
        };
        fixed.retain(|difference| FIXED.iter().any(|key| difference.is_of(key)) || is_played(&difference.key));
        if discriminant(&self.newest().step) != discriminant(&config.step) {
            fixed.extend(self.differences(&parsed(&text)).into_iter().filter(|difference| difference.is_of("step")));
        }
        if !fixed.is_empty() {
            return Err(fixed);
        }
        let followed = self.0[1..].partition_point(|stretch| stretch.first < generation);
        self.0.truncate(1 + followed);
        self.0.push(Stretch { first: generation, config: config.clone(), text });
        Ok(true)
    }

    /// Whether `config` changes the phase with this index for a generation that was played.
    fn is_played(&self, index: usize, generation: u32, config: &TrainConfig) -> bool {
        (0..generation).any(|played| {
            let (old, new) = (self.at(played), config);
            let (is, was) = (new.phase_number(played), old.phase_number(played));
            (is == index || was == index)
                && (!new.phase(played).is_alike(old.phase(played))
                    || new.is_refitted_before(played) != old.is_refitted_before(played))
        })
    }
}

/// Keys that are fixed from the first game of a run on. Ratings from matches of different depths could not be compared.
const FIXED: [&str; 7] = ["patterns", "seed", "window", "keep-games", "records", "gate.depth", "gate.exact-empties"];

fn parsed(text: &str) -> toml::Table {
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::PRESETS;

    fn quick() -> TrainConfig {
        TrainConfig::from_toml(PRESETS[0].1).unwrap()
    }

    #[test]
    fn what_is_still_to_come_can_change_and_what_was_played_cannot() {
        let mut configs = Configs::new(quick());
        let mut wanted = quick();
        wanted.gate.pairs = 7;
        wanted.phases[1].lambda = 0.25;
        wanted.phases[2].games = 99;
        // Generation 12 is the first of the second phase.
        assert!(configs.clone().amend(12, &wanted).unwrap());
        let keys: Vec<_> = configs.amend(13, &wanted).unwrap_err().into_iter().map(|change| change.key).collect();
        assert_eq!(keys, ["phases[2].lambda"]);
        // The current phase can be divided.
        wanted.phases[1].lambda = quick().phases[1].lambda;
        wanted.phases[1].generations = 3;
        let later = crate::train::Phase { lambda: 0.25, ..wanted.phases[1] };
        wanted.phases.insert(2, later);
        assert!(configs.amend(15, &wanted).unwrap());
        assert!(!configs.amend(16, &wanted).unwrap());
        assert_eq!((configs.at(14).gate.pairs, configs.at(15).gate.pairs), (200, 7));
        let provenance = configs.provenance(15);
        assert!(provenance.contains("# From generation 16 on: `gate.pairs` was 200 and is 7"), "{provenance}");
        assert_eq!(provenance.parse::<toml::Table>().unwrap(), wanted.to_toml().parse().unwrap());
        assert!(!configs.provenance(14).contains('#'));
        // A change that no generation has followed yet is replaced.
        wanted.gate.pairs = 8;
        assert!(configs.amend(15, &wanted).unwrap());
        assert_eq!(configs.amendments().len(), 1);
        let mut unplayed = Configs::new(quick());
        for pairs in [7, 9] {
            wanted.gate.pairs = pairs;
            assert!(unplayed.amend(0, &wanted).unwrap());
        }
        assert_eq!((unplayed.amendments().len(), unplayed.at(0).gate.pairs), (1, 9));
    }

    #[test]
    fn what_a_run_is_bound_to_is_named() {
        let mut configs = Configs::new(quick());
        let wanted = TrainConfig { seed: 2, window: 6, ..quick() };
        let keys: Vec<_> = configs.amend(1, &wanted).unwrap_err().into_iter().map(|change| change.key).collect();
        assert_eq!(keys, ["seed", "window"]);
        let mut wanted = quick();
        wanted.gate.strength.depth += 1;
        let keys: Vec<_> = configs.amend(1, &wanted).unwrap_err().into_iter().map(|change| change.key).collect();
        assert_eq!(keys, ["gate.depth"]);
    }
}
