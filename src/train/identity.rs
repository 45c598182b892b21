//! The identity of a run.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::keys::joined;
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
}

impl Identity {
    /// The run's name in its files.
    pub fn run(&self) -> [u8; 16] {
        let bytes = serde_json::to_vec(self).expect("texts can be written as JSON");
        *Sha256::digest(bytes).first_chunk().expect("a checksum has 32 bytes")
    }

    /// [`Self::run`] in hexadecimal.
    pub fn run_name(&self) -> String {
        hex(&self.run())
    }
}

/// SHA-256 of a pattern set in hexadecimal. Comments in its file do not count.
pub(super) fn hash_of(set: &PatternSet) -> String {
    sha256(&serde_json::to_vec(set).expect("pattern sets are plain data"))
}

/// A key that differs between two configurations, or that only one of them has.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The key, like `phases[1].self-play.depth`, counted from 1.
    pub key: String,
    /// The old value.
    pub old: Option<String>,
    /// The new value.
    pub new: Option<String>,
}

impl Difference {
    /// Whether it is this key, or one within it.
    pub(super) fn is_of(&self, key: &str) -> bool {
        self.key.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { key, old, new } = self;
        match (old, new) {
            (Some(old), Some(new)) => write!(f, "`{key}` was {old} and is {new}"),
            (Some(old), None) => write!(f, "`{key}` was {old} and is left out"),
            (None, Some(new)) => write!(f, "`{key}` was left out and is {new}"),
            (None, None) => write!(f, "`{key}`"),
        }
    }
}

/// How a configuration differs from an older one.
pub(super) fn differences(old: &toml::Table, new: &toml::Table) -> Vec<Difference> {
    let mut found = Vec::new();
    compare_tables(old, new, "", &mut found);
    found
}

fn compare_tables(old: &toml::Table, new: &toml::Table, path: &str, found: &mut Vec<Difference>) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        compare(old.get(key), new.get(key), joined(path, key), found);
    }
}

fn compare(old: Option<&toml::Value>, new: Option<&toml::Value>, key: String, found: &mut Vec<Difference>) {
    use toml::Value::{Array, Table};
    match (old, new) {
        (Some(Table(old)), Some(Table(new))) => compare_tables(old, new, &key, found),
        (Some(Array(old)), Some(Array(new))) => {
            for i in 0..old.len().max(new.len()) {
                compare(old.get(i), new.get(i), format!("{key}[{}]", i + 1), found);
            }
        }
        _ if old == new => {}
        _ => {
            let shown = |value: Option<&toml::Value>| value.map(|value| value.to_string().trim().to_owned());
            found.push(Difference { key, old: shown(old), new: shown(new) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_innermost_key_and_both_values() {
        let old = "seed = 1\nwindow = 4\n[gate]\npairs = 200\n[[phases]]\ngames = 10\nlambda = 0.5".parse().unwrap();
        let new =
            "seed = 1\n[gate]\npairs = 300\n[[phases]]\ngames = 10\nlambda = 0.5\noverlap = 2\n[[phases]]\ngames = 7";
        let found: Vec<_> = differences(&old, &new.parse().unwrap()).iter().map(ToString::to_string).collect();
        let expected = [
            "`window` was 4 and is left out",
            "`gate.pairs` was 200 and is 300",
            "`phases[1].overlap` was left out and is 2",
            "`phases[2]` was left out and is { games = 7 }",
        ];
        assert_eq!(found, expected);
        assert_eq!(differences(&old, &old), []);
    }
}
