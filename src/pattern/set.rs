//! A pattern set: what the evaluation looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::engine::EngineTables;
use super::scalar::Scalar;
use crate::board::{Bitboard, Square, Symmetry};
use crate::names::closest;
use crate::storage::{MAX_TOML_BYTES, read_text};

/// Largest number of squares of a pattern: balanced ternary numbers of 10 digits fit an `i16`.
pub(super) const MAX_SQUARES: usize = 10;

/// A pattern: a name, and its squares at one place on the board. The first square is the least significant digit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pattern {
    /// Its name, e.g. `corner5x2`.
    pub name: String,
    squares: Vec<u8>,
}

impl Pattern {
    /// A pattern from a name and square names separated by spaces.
    ///
    /// # Errors
    /// A text that is not 1 to 10 different squares.
    pub fn new(name: &str, squares: &str) -> Result<Self, PatternSetError> {
        let parsed: Result<Vec<Square>, _> = squares.split_whitespace().map(str::parse).collect();
        let squares = parsed.map_err(|error| PatternSetError::new(name, &error.to_string()))?;
        Self::from_numbers(name, squares.iter().map(|square| square.index() as u8).collect())
    }

    /// A pattern from a name and squares' numbers, 0 (a1) to 63 (h8).
    ///
    /// # Errors
    /// Numbers that are not 1 to 10 different squares.
    pub fn from_numbers(name: &str, squares: Vec<u8>) -> Result<Self, PatternSetError> {
        let pattern = Self { name: name.to_owned(), squares };
        pattern.check()?;
        Ok(pattern)
    }

    fn check(&self) -> Result<(), PatternSetError> {
        let error = |reason: &str| Err(PatternSetError::new(&self.name, reason));
        if self.squares.is_empty() || self.squares.len() > MAX_SQUARES {
            return error("a pattern must have 1 to 10 squares");
        }
        if let Some(wrong) = self.squares.iter().find(|&&square| square > 63) {
            return error(&format!("{wrong} is not a square's number, 0 (a1) to 63 (h8)"));
        }
        if self.mask().count_ones() as usize != self.squares.len() {
            return error("a square is listed twice");
        }
        Ok(())
    }

    /// Its squares; square i stands for the digit 3^i.
    pub fn squares(&self) -> impl ExactSizeIterator<Item = Square> + '_ {
        self.squares.iter().map(|&index| Square::new(index))
    }

    /// Its squares as a set.
    pub fn mask(&self) -> Bitboard {
        self.squares.iter().fold(0, |mask, &index| mask | 1 << index)
    }

    /// The same for all patterns that a symmetry of the board turns into each other.
    fn least_image(&self) -> Bitboard {
        let images = Symmetry::ALL.map(|symmetry| symmetry.bitboard(self.mask()));
        images.into_iter().fold(Bitboard::MAX, Bitboard::min)
    }

    /// Number of its configurations, 3^squares.
    pub fn configurations(&self) -> usize {
        3usize.pow(self.squares.len() as u32)
    }
}

/// What an evaluation looks at: patterns and scalar features.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PatternSet {
    /// Its name, e.g. `classic`.
    pub name: String,
    /// The patterns, each at one place; the symmetries of the board give the others.
    pub patterns: Vec<Pattern>,
    /// The scalar features, each with one weight per value.
    pub scalars: Vec<Scalar>,
    /// How the files of an engine hold the weights, if they are meant for one. The sets of models leave it out: a model has its own
    /// scale and stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineTables>,
}

/// A pattern set that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern set, `{place}`: {reason}")]
pub struct PatternSetError {
    place: String,
    reason: String,
}

impl PatternSetError {
    pub(super) fn new(place: &str, reason: &str) -> Self {
        Self { place: place.to_owned(), reason: reason.to_owned() }
    }
}

/// The sets that ship with flipside: name and TOML text.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("classic", include_str!("../../data/patterns/classic.toml")),
    ("edax", include_str!("../../data/patterns/edax.toml")),
    ("egaroucid", include_str!("../../data/patterns/egaroucid.toml")),
    ("night", include_str!("../../data/patterns/night.toml")),
    ("ntest", include_str!("../../data/patterns/ntest.toml")),
    ("zebra", include_str!("../../data/patterns/zebra.toml")),
];

/// A set as written in a TOML file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    scalars: Vec<Scalar>,
    patterns: toml::Table,
    engine: Option<EngineTables>,
}

impl PatternSet {
    /// A built-in set by name.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::from_toml(text).expect("built-in sets are tested"))
    }

    /// Whether everything but [`engine`](Self::engine) is the same.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.name, &self.patterns, &self.scalars) == (&other.name, &other.patterns, &other.scalars)
    }

    /// This set as a model has it: without [`engine`](Self::engine).
    #[must_use]
    pub fn of_model(&self) -> Self {
        Self { engine: None, ..self.clone() }
    }

    /// A built-in set by name, or the set in a TOML file.
    ///
    /// # Errors
    /// No such set or file, a malformed file, or a set with the name of a built-in one that is different.
    pub fn load(name: &str) -> Result<Self, PatternSetError> {
        if let Some(set) = Self::built_in(name) {
            return Ok(set);
        }
        let error = |reason: &dyn std::fmt::Display| PatternSetError::new(name, &reason.to_string());
        let path = Path::new(name);
        if !path.exists() {
            let known = BUILT_IN.map(|(known, _)| known);
            let closest = closest(name, known.into_iter(), |known| known);
            let closest = closest.map_or(String::new(), |known| format!("; the closest is `{known}`"));
            return Err(error(&format_args!("no such file; the built-in sets are {}{closest}", known.join(", "))));
        }
        let text = read_text(path, "pattern set", MAX_TOML_BYTES).map_err(|file| error(&file))?;
        let set = Self::from_toml(&text);
        let set = set.map_err(|found| error(&format_args!("{}: {}", found.place, found.reason)))?;
        match Self::built_in(&set.name) {
            Some(known) if known != set => Err(error(&format_args!(
                "the built-in set `{}` is another one: give this one a name of its own",
                set.name
            ))),
            _ => Ok(set),
        }
    }

    /// A set from the text of a TOML file: `name`, `scalars`, a table `[patterns]` of name = "squares", and optionally `[engine]`
    /// with [`EngineTables`].
    ///
    /// # Errors
    /// Invalid TOML, or a malformed set.
    pub fn from_toml(text: &str) -> Result<Self, PatternSetError> {
        let file: File = toml::from_str(text).map_err(|error| PatternSetError::new("its TOML", &error.to_string()))?;
        let patterns: Result<Vec<_>, _> = file
            .patterns
            .iter()
            .map(|(name, squares)| match squares.as_str() {
                Some(squares) => Pattern::new(name, squares),
                None => Err(PatternSetError::new(name, "expected a string of squares, like \"a1 b1 c1\"")),
            })
            .collect();
        let File { name, scalars, engine, .. } = file;
        let set = Self { name, patterns: patterns?, scalars, engine };
        set.check()?;
        Ok(set)
    }

    /// Checks that the set is well-formed, for sets from files.
    ///
    /// # Errors
    /// No pattern at all, a malformed pattern, a name or scalar given twice, two patterns that the symmetries of the board turn into each
    /// other (they would count double), or engine tables that make no sense.
    pub fn check(&self) -> Result<(), PatternSetError> {
        if self.patterns.is_empty() {
            return Err(PatternSetError::new(&self.name, "a set must have at least one pattern"));
        }
        let (mut names, mut places) = (BTreeSet::new(), BTreeMap::new());
        for pattern in &self.patterns {
            pattern.check()?;
            if !names.insert(&pattern.name) {
                return Err(PatternSetError::new(&pattern.name, "two patterns have this name"));
            }
            if let Some(other) = places.insert(pattern.least_image(), &pattern.name) {
                let reason = format!(
                    "it has the squares of `{other}`, or of its image under a symmetry of the board: leave one out"
                );
                return Err(PatternSetError::new(&pattern.name, &reason));
            }
        }
        for (i, scalar) in self.scalars.iter().enumerate() {
            if self.scalars[..i].contains(scalar) {
                return Err(PatternSetError::new(scalar.name(), "listed twice"));
            }
        }
        let engine = self.engine.as_ref().map_or(Ok(()), EngineTables::check);
        engine.map_err(|expected| PatternSetError::new("engine", expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_count_double_are_refused_by_name() {
        let refused = |patterns: &str| {
            PatternSet::from_toml(&format!("name = 'own'\n[patterns]\n{patterns}")).unwrap_err().to_string()
        };
        // The same squares, in another order; at the other side; mirrored.
        for other in ["c1 a1 b1", "a8 b8 c8", "h8 h7 h6"] {
            let error = refused(&format!("edge = 'a1 b1 c1'\nother = '{other}'"));
            assert!(error.contains("`other`") && error.contains("`edge`"), "{error}");
        }
        PatternSet::from_toml("name = 'own'\npatterns = { edge = 'a1 b1 c1', other = 'a1 b1 d1' }").unwrap();
    }

    #[test]
    fn a_built_in_sets_name_is_for_that_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.toml");
        let load = |text: &str| {
            std::fs::write(&path, text).unwrap();
            PatternSet::load(path.to_str().unwrap())
        };
        for (name, text) in BUILT_IN {
            assert_eq!(load(text).unwrap().name, name);
        }
        let error = load("name = 'classic'\npatterns = { edge = 'a1 b1 c1' }").unwrap_err().to_string();
        assert!(error.contains("`classic`"), "{error}");
        load("name = 'classic-own'\npatterns = { edge = 'a1 b1 c1' }").unwrap();
    }
}
