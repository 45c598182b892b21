//! The identity of a run, and its marker.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::config::TrainConfig;
use super::directory::{MARKER, read_if_there};
use super::error::TrainError;
use crate::pattern::PatternSet;
use crate::storage::{hex, sha256};

/// Everything that decides a run's games and weights. Two runs that agree in it are the same run, whenever and wherever they are
/// made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The configuration as TOML, with the checksums of its records.
    pub config: String,
    /// SHA-256 of the pattern set in hexadecimal; the configuration may only name a file.
    pub patterns: String,
    /// Hash of the weights the run began with, if any.
    pub parent: Option<String>,
    /// The runs that this one continues, the first of them first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continues: Vec<Earlier>,
}

/// The generations of an earlier run that a run continues from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Earlier {
    /// Where that run was. Not a part of the identity: runs may be moved.
    pub directory: PathBuf,
    /// Its name.
    pub run: String,
    /// The first of the generations.
    pub first: u32,
    /// By generation, the number of games and the SHA-256 of their file.
    pub games: Vec<(u32, String)>,
}

impl Earlier {
    /// The generation after its last one.
    pub fn end(&self) -> u32 {
        self.first + self.games.len() as u32
    }

    /// Where that run is, seen from the directory of a run that continues it: where it was, or else beside this one, if both were moved.
    pub fn found_from(&self, directory: &Path) -> PathBuf {
        let beside = || {
            let folder = std::fs::canonicalize(directory).ok()?.parent()?.to_owned();
            Some(folder.join(self.directory.file_name()?)).filter(|beside| beside.is_dir())
        };
        let moved = if self.directory.is_dir() { None } else { beside() };
        moved.unwrap_or_else(|| self.directory.clone())
    }
}

impl Identity {
    /// The run's name in its files.
    pub fn run(&self) -> [u8; 16] {
        let Self { config, patterns, parent, continues } = self;
        let continues: Vec<_> = continues.iter().map(|Earlier { run, first, games, .. }| (run, first, games)).collect();
        let bytes = serde_json::to_vec(&(config, patterns, parent, continues)).expect("texts can be written as JSON");
        *Sha256::digest(bytes).first_chunk().expect("a checksum has 32 bytes")
    }

    /// [`Self::run`] in hexadecimal.
    pub fn run_name(&self) -> String {
        hex(&self.run())
    }

    /// What decides another run and not this one, in words.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let parsed = |text: &str| text.parse::<toml::Table>().unwrap_or_default();
        let mut found = Vec::new();
        compare_tables(&parsed(&self.config), &parsed(&other.config), "", &mut found);
        let mut note = |differs: bool, what: &str| {
            if differs {
                found.push(what.to_owned());
            }
        };
        note(self.patterns != other.patterns, "the patterns or scalars of its pattern set have changed");
        note(self.parent != other.parent, "it began with other weights, or from nothing (`--from`)");
        let games = |earlier: &Earlier| (earlier.run.clone(), earlier.games.clone());
        let same = self.continues.iter().map(games).eq(other.continues.iter().map(games));
        note(!same, "it continues another run, or none (`--continue`)");
        found
    }
}

/// What `flipside-run.json` holds: the identity of the run, and its pattern set, whose file may change or go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    /// The run's name.
    run: String,
    #[serde(flatten)]
    pub identity: Identity,
    pub set: PatternSet,
}

/// Limit in bytes of a marker.
const LIMIT: u64 = 1 << 24;

impl Marker {
    pub fn new(identity: &Identity, set: &PatternSet) -> Self {
        Self { run: identity.run_name(), identity: identity.clone(), set: set.clone() }
    }

    /// The marker of a directory, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or somebody changed it.
    pub fn find(directory: &Path) -> Result<Option<Self>, TrainError> {
        let path = directory.join(MARKER);
        let Some(bytes) = read_if_there(&path, "marker", LIMIT)? else { return Ok(None) };
        let marker: Self = serde_json::from_slice(&bytes).map_err(|error| TrainError::damaged(&path, error))?;
        let is_whole = marker.run == marker.identity.run_name() && hash_of(&marker.set) == marker.identity.patterns;
        if is_whole { Ok(Some(marker)) } else { Err(TrainError::damaged(&path, "it was changed")) }
    }

    /// The marker of the run in a directory.
    ///
    /// # Errors
    /// There is no run, or its marker cannot be read.
    pub fn read(directory: &Path) -> Result<Self, TrainError> {
        Self::find(directory)?.ok_or_else(|| TrainError::NoRun(directory.to_owned()))
    }

    /// The run's configuration.
    ///
    /// # Errors
    /// This program cannot follow it.
    pub fn config(&self, directory: &Path) -> Result<TrainConfig, TrainError> {
        TrainConfig::from_toml(&self.identity.config)
            .map_err(|error| TrainError::damaged(&directory.join(MARKER), error))
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("texts and numbers can be written as JSON");
        bytes.push(b'\n');
        bytes
    }
}

/// What a run is, as it was begun, whether it is running or not, and whatever its `config.toml` says.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredRun {
    /// Its configuration.
    pub config: TrainConfig,
    /// Its pattern set.
    pub set: PatternSet,
    /// The hash of the weights it began with, if any.
    pub parent: Option<String>,
    /// The directories of the runs that it continues, the first of them first.
    pub continues: Vec<PathBuf>,
    /// The generations of those runs, and their games: they count as this run's own.
    pub before: (u32, u64),
}

impl StoredRun {
    /// Reads what the run in a directory is.
    ///
    /// # Errors
    /// There is no run, or it cannot be read.
    pub fn read(directory: &Path) -> Result<Self, TrainError> {
        let marker = Marker::read(directory)?;
        let config = marker.config(directory)?;
        let Marker { identity: Identity { parent, continues, .. }, set, .. } = marker;
        let games = continues.iter().flat_map(|earlier| &earlier.games).map(|(games, _)| u64::from(*games)).sum();
        let before = (continues.last().map_or(0, Earlier::end), games);
        let continues = continues.iter().map(|earlier| earlier.found_from(directory)).collect();
        Ok(Self { config, set, parent, continues, before })
    }
}

/// A run's directory as text, to be written into a file of texts.
///
/// # Errors
/// It is none.
pub fn text_of(directory: &Path) -> Result<&str, TrainError> {
    directory.to_str().ok_or_else(|| TrainError::NotText(directory.to_owned()))
}

/// The paths, before each run those that it continues: it has learned their games too. `tell` hears which games count too, and, as warnings,
/// which are left out.
pub fn with_continued(paths: &[PathBuf], tell: &mut dyn FnMut(&str, bool)) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        let run = path.display();
        let continues = match Marker::find(path) {
            Ok(Some(marker)) => marker.identity.continues,
            Err(error) if path.is_dir() => {
                tell(&format!("{error}: if `{run}` continues other runs, their games are left out"), true);
                Vec::new()
            }
            Ok(None) | Err(_) => Vec::new(),
        };
        for earlier in continues.iter().map(|earlier| earlier.found_from(path)) {
            let shown = earlier.display();
            if !earlier.is_dir() {
                tell(&format!("`{run}` continues `{shown}`, which is not there: its games are left out"), true);
            } else if !all.iter().chain(paths).any(|known| known.canonicalize().is_ok_and(|known| known == earlier)) {
                tell(&format!("`{run}` continues `{shown}`, whose games count too"), false);
                all.push(earlier);
            }
        }
        all.push(path.clone());
    }
    all
}

/// The pattern set that a name stands for: built in, a TOML file, or the directory of a run.
///
/// # Errors
/// It is none of these, or cannot be read.
pub fn set_named(name: &str) -> Result<PatternSet, TrainError> {
    let directory = Path::new(name);
    if PatternSet::built_in(name).is_none() && directory.is_dir() {
        return Ok(Marker::read(directory)?.set);
    }
    Ok(PatternSet::load(name)?)
}

impl TrainConfig {
    /// The pattern set.
    ///
    /// # Errors
    /// See [`set_named`].
    pub fn pattern_set(&self) -> Result<PatternSet, TrainError> {
        set_named(&self.patterns)
    }
}

/// SHA-256 of a pattern set in hexadecimal. Comments in its file do not count.
pub(super) fn hash_of(set: &PatternSet) -> String {
    sha256(&serde_json::to_vec(set).expect("pattern sets are plain data"))
}

/// The keys in which two configurations differ, as sentences.
fn compare_tables(old: &toml::Table, new: &toml::Table, path: &str, found: &mut Vec<String>) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        compare(old.get(key), new.get(key), &path, found);
    }
}

fn compare(old: Option<&toml::Value>, new: Option<&toml::Value>, key: &str, found: &mut Vec<String>) {
    use toml::Value::{Array, Table};
    match (old, new) {
        (Some(Table(old)), Some(Table(new))) => compare_tables(old, new, key, found),
        (Some(Array(old)), Some(Array(new))) => {
            for i in 0..old.len().max(new.len()) {
                compare(old.get(i), new.get(i), &format!("{key}[{}]", i + 1), found);
            }
        }
        _ if old == new => {}
        _ => {
            let shown = |value: Option<&toml::Value>| {
                value.map_or("left out".to_owned(), |value| value.to_string().trim().to_owned())
            };
            found.push(format!("`{key}` was {} and is {}", shown(old), shown(new)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_innermost_key_and_both_values() {
        let identity = |config: &str| Identity {
            config: config.to_owned(),
            patterns: String::new(),
            parent: None,
            continues: Vec::new(),
        };
        let old = identity("seed = 1\nwindow = 4\n[gate]\npairs = 200\n[[phases]]\ngames = 10\nlambda = 0.5");
        let new = identity(
            "seed = 1\n[gate]\npairs = 300\n[[phases]]\ngames = 10\nlambda = 0.5\noverlap = 2\n[[phases]]\ngames = 7",
        );
        let expected = [
            "`window` was 4 and is left out",
            "`gate.pairs` was 200 and is 300",
            "`phases[1].overlap` was left out and is 2",
            "`phases[2]` was left out and is { games = 7 }",
        ];
        assert_eq!(old.differences(&new), expected);
        assert!(old.differences(&old).is_empty());
    }
}
