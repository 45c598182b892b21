//! The keys of a configuration: what each means, which values it takes, and checks of files against them.

use std::fmt;

use toml::{Table, Value};

use super::invalid::ConfigError;
use crate::fit::{RANGE, is_in_range};
use crate::names::closest;
use crate::selfplay::SelfPlayConfig;

/// A key of a configuration.
#[derive(Debug)]
pub struct Key {
    /// Its full name, like `phases.self-play.depth`.
    pub path: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// Its value if left out, in TOML or in words; none if it must be given.
    pub default: Option<&'static str>,
    /// What it means, in a sentence or two.
    pub text: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number in a range, and its unit.
    Whole(u32, u32, &'static str),
    /// A number in a range, and its unit.
    Number(f64, f64, &'static str),
    /// A number above zero.
    Positive,
    /// `true` or `false`.
    Flag,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// One of some words.
    OneOf(&'static [&'static str]),
    /// A whole number of 63 bits.
    Seed,
    /// A table of keys.
    Table,
    /// A table of keys, or `false`.
    TableOrFalse,
    /// An array of tables of keys.
    Tables,
}

macro_rules! keys {
    ($($path:literal $kind:expr, $default:expr, $text:literal;)*) => {
        &[$(Key { path: $path, kind: $kind, default: $default, text: $text }),*]
    };
}

const RULES: &[&str] = &["fixed", "decayed", "temporal-coherence", "ada-grad"];

/// All keys, each table before its keys.
pub const KEYS: &[Key] = keys! {
    "patterns" Kind::Text, None, "Pattern set: the name of a built-in one, a TOML file, or a run.";
    "seed" Kind::Seed, None, "Seed of all random choices.";
    "window" Kind::Whole(1, 1000, "generations"), None, "Generations in the replay window, the newest included.";
    "passes" Kind::Whole(1, 100, "passes"), None, "Passes per generation: the first over the newest samples, the others over the whole window.";
    "step" Kind::Table, None, "How far an error moves a weight.";
    "step.rule" Kind::OneOf(RULES), None,
        "`fixed`: always `rate`. `decayed`: `rate` / (1 + visits / `half`), at least `floor`. `temporal-coherence`: `rate` times how much a \
         weight's errors agree. `ada-grad`: `rate` / root of the sum of squared errors.";
    "step.rate" Kind::Positive, None, "Share of the error; for `ada-grad`, discs.";
    "step.half" Kind::Positive, Some("required with `decayed`"), "Only with `decayed`: visits after which a weight's steps are half as large.";
    "step.floor" Kind::Number(0.0, 1.0, "share of the error"), Some("required with `decayed`"), "Only with `decayed`: the smallest step.";
    "gate" Kind::Table, None, "When and how strength is measured: against the best weights so far and against `mobility`, at full width.";
    "gate.every" Kind::Whole(0, u32::MAX, "generations"), None, "Generations between gates in phases that learn; there is a gate after each fit and at the end in any case. 0: only those.";
    "gate.pairs" Kind::Whole(1, 10_784, "pairs of games"), None, "Pairs of games in each match, each from a different XOT opening.";
    "gate.depth" Kind::Whole(1, 20, "plies"), None, "Search depth of the players.";
    "gate.exact-empties" Kind::Whole(0, 24, "empty squares"), None, "The players solve positions with at most N empty squares.";
    "fit" Kind::TableOrFalse, Some("false"),
        "How weights are fitted from nothing to all kept games, at the end of the run and before each phase with `refit = true`. `false`: \
         never; then no phase may have `refit = true` or `learn = false`, as some phases of the presets do.";
    "fit.lambda" Kind::Number(0.0, 1.0, ""), Some("0.9"), "How far labels trust the game's result (1) rather than the search (0).";
    "fit.epochs" Kind::Whole(1, 1000, "passes"), Some("3"), "Passes over all games.";
    "fit.stage-plies" Kind::Whole(1, 60, "plies"), Some("1; 6 with a hidden layer"), "Plies per stage.";
    "fit.overlap" Kind::Whole(0, 60, "plies"), Some("2; 4 with a hidden layer"), "Plies before and after a stage that it also learns from.";
    "fit.anneal" Kind::Number(0.0, 1.0, "share of the work"), Some("0.3"), "Last part of the fit, over which steps shrink to zero.";
    "fit.block" Kind::Whole(1 << 12, 1 << 30, "positions"), Some("2097152"),
        "Game positions held in memory and learned together, 25 bytes each. With `tree-depth`, trees take as much again.";
    "fit.first-generation" Kind::Whole(0, u32::MAX, "generation"), Some("0"),
        "First generation to learn, counted from 0. The earliest games were played knowing nothing. A run that ends before it is not fitted.";
    "fit.hold-out" Kind::Whole(0, u32::MAX, "games"), Some("200"), "One game in N is held out to measure the loss, the same games in all fits with the same N; 2 or more, or 0 for none.";
    "fit.tree-depth" Kind::Whole(0, 8, "plies"), Some("0"),
        "Depth of the searches whose trees are learned beside the games, one search per game, by the weights that play; 0 for none, else \
         2 or more.";
    "fit.hidden-layer" Kind::Flag, Some("false"),
        "Whether weights fitted at the end, and before phases with `hidden-layer = true`, get a small hidden layer beside the sum of \
         weights. They are stronger, but other engines cannot use them, so an engine's pattern set never gets a layer.";
    "fit.loss" Kind::Table, Some("squared"), "What an error costs.";
    "fit.loss.kind" Kind::OneOf(&["squared", "huber", "cross-entropy"]), Some("must be given"),
        "`squared`: its square. `huber`: its square up to `beyond`, linear from there on. `cross-entropy`: the cross-entropy of the \
         winning chances.";
    "fit.loss.beyond" Kind::Positive, Some("required with `huber`"), "Only with `huber`: the error, in discs, beyond which the cost is linear.";
    "fit.loss.scale" Kind::Positive, Some("required with `cross-entropy`"),
        "Only with `cross-entropy`: a value of v discs is a winning chance of (1 + tanh(v / scale)) / 2.";
    "fit.step" Kind::Table, Some("as below"), "As `step`.";
    "fit.step.rule" Kind::OneOf(RULES), Some("\"decayed\""), "As `step.rule`, and must equal it.";
    "fit.step.rate" Kind::Positive, Some("1.0 with `decayed`, required with another rule"), "As `step.rate`.";
    "fit.step.half" Kind::Positive, Some("100.0 with `decayed`"), "As `step.half`.";
    "fit.step.floor" Kind::Number(0.0, 1.0, "share of the error"), Some("0.0003 with `decayed`"), "As `step.floor`.";
    "tune" Kind::Table, Some("as below"),
        "How weights with a hidden layer are fitted further, before a phase with `hidden-layer = true` that follows another such phase, \
         and when the run ends in one. As `fit`, but from the current weights, in small steps, and only to games played with a layer.";
    "tune.epochs" Kind::Whole(1, 1000, "passes"), Some("2"), "Passes over the games.";
    "tune.rate" Kind::Positive, Some("0.08"), "Replaces `fit.step.rate`.";
    "events" Kind::Table, Some("none"), "What is written besides `metrics.jsonl`; does not affect the weights.";
    "events.tensorboard" Kind::Flag, Some("false"), "Whether to write TensorBoard event files into the run's directory.";
    "records" Kind::Table, Some("none"), "Recorded games and scored positions to learn before the first generation. Fits of a run learn its own games alone.";
    "records.files" Kind::Texts, None, "Files in GGF, WTHOR, f5d6, OBF or Egaroucid's training lines, or logs of `match --games`, in the order in which they are learned. Relative paths begin in the current folder.";
    "records.passes" Kind::Whole(1, 100, "passes"), Some("2"), "Passes over the samples.";
    "records.exact-empties" Kind::Whole(0, 24, "empty squares"), Some("12"), "Positions of games with at most N empty squares are solved.";
    "records.sha256" Kind::Texts, Some("[]"), "SHA-256 of each file in hexadecimal; a run fills it in. Files that differ are refused.";
    "phases" Kind::Tables, None, "What the generations do, in order.";
    "phases.generations" Kind::Whole(0, u32::MAX, "generations"), None,
        "How many generations. Ignored in the last phase, which lasts until the run ends.";
    "phases.games" Kind::Whole(1, 100_000_000, "games"), None, "Games per generation.";
    "phases.lambda" Kind::Number(0.0, 1.0, ""), None, "How far samples trust the game's result (1) rather than the search (0).";
    "phases.stage-plies" Kind::Whole(1, 60, "plies"), None,
        "Plies per stage: wide stages spread values quickly, stages of one ply are the most exact.";
    "phases.overlap" Kind::Whole(0, 60, "plies"), Some("0"), "Plies before and after a stage that it also learns from.";
    "phases.refit" Kind::Flag, Some("false"),
        "Whether weights are fitted before the phase begins: from nothing to all kept games, or as `tune` says if both this phase and \
         the one before have a hidden layer.";
    "phases.hidden-layer" Kind::Flag, Some("false"),
        "Whether the weights that play have a hidden layer, if `fit.hidden-layer` is true. The first such phase gets it by `refit = true`, \
         unless the run begins with weights that have one. `stage-plies` should equal the fit's.";
    "phases.learn" Kind::Flag, Some("true"), "Whether each generation is learned once it is played. If not, its games wait for the next fit.";
    "phases.self-play" Kind::Table, None, "How games are played.";
    "phases.self-play.depth" Kind::Whole(1, SelfPlayConfig::MAX_DEPTH, "plies"), None, "Depth of the searches behind moves and labels.";
    "phases.self-play.selectivity" Kind::Number(0.0, 100.0, "standard deviations"), Some("full width"),
        "How sure a selective cut has to be: about 1 to 2, smaller is faster. Needs a depth of 3 to 12.";
    "phases.self-play.exact-empties" Kind::Whole(0, 24, "empty squares"), None, "Positions with at most N empty squares are solved.";
    "phases.self-play.opening-plies" Kind::Whole(0, 59, "plies"), None,
        "A game begins with 0 to N random plies, every number equally likely.";
    "phases.self-play.exploration" Kind::Number(0.0, 1.0, "chance"), None, "Chance of a random move at each later ply.";
    "phases.self-play.margin" Kind::Number(0.0, 128.0, "discs"), Some("all moves"),
        "Random moves are among those that a search of two plies sees within N discs of the best.";
    "phases.self-play.update" Kind::OneOf(&["td", "tdleaf"]), None,
        "Which evaluation moves towards the label: that of the position (`td`) or of the end of its PV (`tdleaf`).";
};

impl Key {
    /// The key without its tables.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().expect("a split has a last part")
    }

    /// The table it is in; empty for the top level.
    pub fn parent(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(parent, _)| parent)
    }

    /// The key with this path, if any.
    pub fn at(path: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// The keys of a table.
    pub fn within(parent: &str) -> impl Iterator<Item = &'static Self> {
        KEYS.iter().filter(move |key| key.parent() == parent)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(least, u32::MAX, unit) => write!(f, "{unit}, a whole number from {least} to 2^32 - 1"),
            Self::Whole(least, most, unit) => write!(f, "{unit}, a whole number from {least} to {most}"),
            Self::Number(least, most, "") => write!(f, "a number from {least} to {most}"),
            Self::Number(least, most, unit) => write!(f, "{unit}, a number from {least} to {most}"),
            Self::Positive => f.write_str("a number above 0"),
            Self::Flag => f.write_str("true or false"),
            Self::Text => f.write_str("a string"),
            Self::Texts => f.write_str("a list of strings"),
            Self::Seed => f.write_str("a whole number from 0 to 2^63 - 1"),
            Self::Table => f.write_str("a table"),
            Self::TableOrFalse => f.write_str("a table, or false"),
            Self::Tables => f.write_str("at least one table"),
            Self::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                write!(f, "one of {}", words.join(", "))
            }
        }
    }
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        let number = value.as_float().or(value.as_integer().map(|whole| whole as f64));
        let is_text = |value: &Value| value.is_str();
        match self {
            Self::Whole(least, most, _) => {
                value.as_integer().is_some_and(|whole| (i64::from(least)..=i64::from(most)).contains(&whole))
            }
            Self::Number(least, most, _) => number.is_some_and(|number| (least..=most).contains(&number)),
            Self::Positive => number.is_some_and(|number| number > 0.0 && number.is_finite()),
            Self::Flag => value.is_bool(),
            Self::Text => is_text(value),
            Self::Texts => value.as_array().is_some_and(|texts| texts.iter().all(is_text)),
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Seed => value.as_integer().is_some_and(|seed| seed >= 0),
            Self::Table => value.is_table(),
            Self::TableOrFalse => value.is_table() || value.as_bool() == Some(false),
            Self::Tables => {
                value.as_array().is_some_and(|tables| !tables.is_empty() && tables.iter().all(Value::is_table))
            }
        }
    }
}

/// Checks that all keys of a table read from `file` are known, and that their values fit. The table is to be at a path, empty for that of
/// the whole configuration.
///
/// # Errors
/// The first key that is unknown or whose value does not fit.
pub(super) fn check_table(file: &str, table: &Table, path: &str) -> Result<(), ConfigError> {
    check_within(file, table, path, "")
}

/// Checks that a complete configuration lacks no key. `origin` names the file that a key comes from.
///
/// # Errors
/// The first key that is missing.
pub(super) fn check_whole(table: &Table, origin: &dyn Fn(&str) -> String) -> Result<(), ConfigError> {
    check_whole_within(table, "", "", origin)
}

fn check_whole_within(
    table: &Table,
    path: &str,
    shown: &str,
    origin: &dyn Fn(&str) -> String,
) -> Result<(), ConfigError> {
    let is_missing = |key: &&Key| key.default.is_none() && !table.contains_key(key.name());
    if let Some(key) = Key::within(path).find(is_missing) {
        let reason = format!("is missing: {} is expected", key.kind);
        return Err(ConfigError::Key { file: origin(path), key: joined(shown, key.name()), reason });
    }
    for (name, value) in table {
        let path = joined(path, name);
        for (shown, table) in tables_of(value, &joined(shown, name)) {
            check_whole_within(table, &path, &shown, origin)?;
        }
    }
    Ok(())
}

/// The path of a key in a table, which is at a path itself.
pub(super) fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// The table, or the tables, that a value is, and where to find each.
fn tables_of<'t>(value: &'t Value, shown: &str) -> Vec<(String, &'t Table)> {
    match value {
        Value::Table(table) => vec![(shown.to_owned(), table)],
        Value::Array(values) => {
            let tables = (1..).zip(values.iter().filter_map(Value::as_table));
            tables.map(|(number, table)| (format!("{shown}[{number}]"), table)).collect()
        }
        _ => Vec::new(),
    }
}

fn check_within(file: &str, table: &Table, parent: &str, shown: &str) -> Result<(), ConfigError> {
    for (name, value) in table {
        let (path, shown) = (joined(parent, name), joined(shown, name));
        let bad = |reason: String| ConfigError::Key { file: file.to_owned(), key: shown.clone(), reason };
        let key = Key::at(&path).ok_or_else(|| bad(format!("is not a known key{}", meant(name, parent))))?;
        if !key.kind.takes(value) {
            let value = match value {
                Value::Table(_) => "a table".to_owned(),
                value => value.to_string(),
            };
            return Err(bad(format!("is {value}: {} is expected", key.kind)));
        }
        if let Some(number) = value.as_float().filter(|number| !is_in_range(*number)) {
            return Err(bad(format!("is {number:?}: {RANGE}")));
        }
        for (shown, table) in tables_of(value, &shown) {
            check_within(file, table, &path, &shown)?;
        }
    }
    Ok(())
}

/// A hint at what an unknown name in a table may mean.
fn meant(name: &str, parent: &str) -> String {
    if let Some(key) = closest(name, Key::within(parent), |key| key.name()) {
        return format!("; the closest is `{}`", key.name());
    }
    // It may belong to another table.
    match closest(name, KEYS.iter(), |key| key.name()) {
        Some(key) => format!(" here; the closest is `{}`", key.path),
        None => {
            let names: Vec<_> = Key::within(parent).map(|key| format!("`{}`", key.name())).collect();
            format!(" here; the keys are {}", names.join(", "))
        }
    }
}
