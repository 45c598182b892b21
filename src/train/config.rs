//! The configuration of a run: its plan.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::fit::{ConfigFault, LearnConfig, MOST_EXACT, Start};
use crate::schema::{Kind, check, commented, document, schema};
use crate::search::Strength;
use crate::selfplay::{SelfPlayConfig, UpdateTarget};

schema! {
    /// How a generation is played.
    #[derive(Copy)]
    pub struct Play {
        /// Games of a generation.
        games: u32 = 32_768, Kind::Whole(1, 100_000_000, "games");
        /// Depth of the searches behind moves and labels.
        depth: u32 = 2, Kind::Whole(1, SelfPlayConfig::MAX_DEPTH as u64, "plies");
        /// How sure a selective cut has to be: about 1 to 2, smaller is faster. Needs a depth of 3 to 12.
        #[serde(skip_serializing_if = "Option::is_none")]
        selectivity: Option<f32> = None, Kind::Number(0.0, 100.0, "standard deviations"), "full width";
        /// Positions with at most N empty squares are solved.
        exact_empties: u32 = 10, Kind::Whole(0, MOST_EXACT, "empty squares");
        /// A game begins with 0 to N random plies, every number equally likely.
        opening_plies: u32 = 24, Kind::Whole(0, 59, "plies");
        /// Chance of a random move at each later ply.
        exploration: f64 = 0.25, Kind::Number(0.0, 1.0, "chance");
        /// Random moves are among those that a search of two plies sees within N discs of the best.
        #[serde(skip_serializing_if = "Option::is_none")]
        margin: Option<f32> = None, Kind::Number(0.0, 128.0, "discs"), "all moves";
        /// Which evaluation moves towards the label: that of the position (`td`) or of the end of its PV (`tdleaf`).
        update: UpdateTarget = UpdateTarget::Td, Kind::OneOf(&["td", "tdleaf"]);
    }
}

impl Play {
    /// How its games are played.
    pub fn self_play(&self) -> SelfPlayConfig {
        let Self { depth, selectivity, exact_empties, opening_plies, exploration, margin, update, .. } = *self;
        let strength = Strength { depth, selectivity, exact_empties };
        SelfPlayConfig { strength, opening_plies, exploration, margin, update }
    }
}

schema! {
    /// How strength is measured: against the best weights so far, and against `default` or, while that is nearer, `mobility`; at full width.
    /// The newest weights become the best if they beat the best so far.
    #[derive(Copy)]
    pub struct GateConfig {
        /// Pairs of games in each match, each from a different XOT opening.
        pairs: u32 = 4000, Kind::Whole(1, 10_784, "pairs of games");
        /// Search depth of the players.
        depth: u32 = 4, Kind::Whole(1, 20, "plies");
        /// The players solve positions with at most N empty squares.
        exact_empties: u32 = 12, Kind::Whole(0, MOST_EXACT, "empty squares");
    }
}

impl GateConfig {
    /// How strongly the players search.
    pub fn strength(&self) -> Strength {
        Strength::new(self.depth, self.exact_empties)
    }
}

schema! {
    /// A part of the plan: what is done in turn, a number of times.
    pub struct Step {
        /// How many times. The last step is repeated until the run ends.
        repeat: u32 = 1, Kind::Whole(1, u32::MAX as u64, "times");
        /// The generation that is played: these games, kept in `RUN/games`, about 130 bytes each. Left out: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        play: Option<Play> = None, Kind::Table(Play::KEYS);
        /// What is learned then. Left out: nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        learn: Option<LearnConfig> = None, Kind::Table(LearnConfig::KEYS);
        /// Whether the strength is then measured.
        gate: bool = false, Kind::Flag;
        /// Replaces `finish` if the run ends in this step.
        #[serde(skip_serializing_if = "Option::is_none")]
        finish: Option<LearnConfig> = None, Kind::Table(LearnConfig::KEYS);
    }
}

schema! {
    /// Everything that decides a run's weights. The run directory and weight files hold it as [`TrainConfig::to_toml`] writes it.
    pub struct TrainConfig {
        /// Pattern set: the name of a built-in one, a TOML file, or a run.
        patterns: String = "night".to_owned(), Kind::Text;
        /// Seed of all random choices.
        seed: u64 = 1, Kind::Whole(0, i64::MAX as u64, "seed");
        /// Whether to write TensorBoard event files into the run's directory; does not affect the weights.
        tensorboard: bool = false, Kind::Flag;
        /// How strength is measured: against the best weights so far, and against `default` or, while that is
        /// nearer, `mobility`; at full width.
        gate: GateConfig = GateConfig::default(), Kind::Table(GateConfig::KEYS);
        /// What is learned when the run ends, from all that it has played; the time for it is kept back. A gate follows in any case.
        #[serde(with = "or_false")]
        finish: Option<LearnConfig> = None, Kind::TableOrFalse(LearnConfig::KEYS);
        /// The plan: what is done, in order.
        steps: Vec<Step> = Vec::new(), Kind::Tables(Step::KEYS);
    }
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
        match toml::Value::deserialize(deserializer)? {
            toml::Value::Boolean(false) => Ok(None),
            part => T::deserialize(part).map(Some).map_err(D::Error::custom),
        }
    }
}

/// A configuration that cannot be run, and why.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// TOML that cannot be read, an unknown key, or a value that its key does not take.
    #[error("{file}: {error}")]
    Toml {
        /// Where it comes from.
        file: String,
        /// What is wrong, with line and column.
        error: toml::de::Error,
    },
    /// Values that do not go together.
    #[error("{file}: {fault}")]
    Fault {
        /// Where the key comes from.
        file: String,
        /// What is wrong.
        fault: ConfigFault,
    },
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

/// A layer of a configuration: a name for error messages, and what it sets.
pub type Layer = (String, toml::Table);

/// Reads a layer.
///
/// # Errors
/// TOML that cannot be read, an unknown key, or a value that its key does not take.
pub fn layer(file: &str, text: &str) -> Result<Layer, ConfigError> {
    match check(text, TrainConfig::KEYS) {
        Ok(table) => Ok((file.to_owned(), table)),
        Err(error) => Err(ConfigError::Toml { file: file.to_owned(), error }),
    }
}

impl TrainConfig {
    /// A configuration from TOML.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::from_layers(&[layer(WHOLE, text)?])
    }

    /// A configuration from layers. Each key of a later layer replaces that of earlier ones; tables are merged, lists are not.
    ///
    /// # Errors
    /// Values that do not go together, and in which layer.
    pub fn from_layers(layers: &[Layer]) -> Result<Self, ConfigError> {
        let mut merged = toml::Table::new();
        layers.iter().for_each(|(_, layer)| overlay(&mut merged, layer));
        let whole = |error| ConfigError::Toml { file: WHOLE.to_owned(), error };
        let config: Self = merged.try_into().map_err(whole)?;
        config.check().map_err(|fault| ConfigError::Fault { file: origin(layers, &fault.key), fault })?;
        Ok(config)
    }

    /// Checks that a configuration that was made in code has no values that a file could not have.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match toml::to_string(self) {
            Ok(text) => Self::from_toml(&text).map(drop),
            Err(_) => {
                // The one number that can be too large for TOML.
                let fault = ConfigFault::new("seed", format!("is {}: the largest is 2^63 - 1", self.seed));
                Err(ConfigError::Fault { file: WHOLE.to_owned(), fault })
            }
        }
    }

    /// The configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is a TOML table")
    }

    /// The configuration as TOML with comments: what each key means and which values it takes.
    pub fn to_commented_toml(&self) -> String {
        commented(self, Self::KEYS)
    }

    /// The tables of all keys in Markdown, as docs/CONFIGURATION.md has them.
    pub fn document() -> String {
        const HEAD: &str = "| key | value | if left out | meaning |\n|---|---|---|---|\n";
        [
            document::<Self>(Self::KEYS, ""),
            document::<GateConfig>(GateConfig::KEYS, "gate."),
            document::<Step>(Step::KEYS, "steps."),
            document::<Play>(Play::KEYS, "steps.play."),
            document::<LearnConfig>(LearnConfig::KEYS, "steps.learn."),
        ]
        .iter()
        .fold(HEAD.to_owned(), |text, rows| text + rows)
    }

    /// How a generation is played, counted from 0; `None` if the plan does not play.
    pub fn play(&self, generation: u32) -> Option<&Play> {
        self.steps.get(self.step_number(generation))?.play.as_ref()
    }

    /// Which of the steps plays a generation, from 0.
    pub fn step_number(&self, generation: u32) -> usize {
        self.number_and_end(generation).0
    }

    /// All that the plan learns, wherever in it.
    pub fn lessons(&self) -> impl Iterator<Item = &LearnConfig> {
        let of_steps = self.steps.iter().flat_map(|step| [&step.learn, &step.finish]);
        of_steps.chain([&self.finish]).flatten()
    }

    /// [`Self::lessons`], to change them.
    pub(super) fn lessons_mut(&mut self) -> impl Iterator<Item = &mut LearnConfig> {
        let of_steps = self.steps.iter_mut().flat_map(|step| [&mut step.learn, &mut step.finish]);
        of_steps.chain([&mut self.finish]).flatten()
    }

    /// What is learned if the run ends after a number of generations.
    pub fn finish_after(&self, generations: u32) -> Option<&LearnConfig> {
        let step = generations.checked_sub(1).and_then(|last| self.steps.get(self.step_number(last)));
        step.and_then(|step| step.finish.as_ref()).or(self.finish.as_ref())
    }

    /// Generations left in a step from one of them on, it included; `None` if the step lasts until the run ends.
    pub(super) fn left_of_step(&self, generation: u32) -> Option<u32> {
        Some(self.number_and_end(generation).1? - generation)
    }

    /// Games of some generations in a row.
    pub fn games_of(&self, generations: Range<u32>) -> u64 {
        let Range { start: mut next, end } = generations;
        let mut games = 0u64;
        while next < end {
            let of_step = self.left_of_step(next).unwrap_or(u32::MAX).min(end - next);
            let each = self.play(next).map_or(0, |play| play.games);
            games = games.saturating_add(u64::from(of_step) * u64::from(each));
            next += of_step;
        }
        games
    }

    /// The step that plays a generation, and the first generation after it, unless it is the last step.
    fn number_and_end(&self, generation: u32) -> (usize, Option<u32>) {
        let mut end = 0u32;
        let mut last = (0, None);
        for (number, step) in self.steps.iter().enumerate().filter(|(_, step)| step.play.is_some()) {
            end = end.saturating_add(step.repeat);
            last = (number, None);
            if generation < end && number + 1 < self.steps.len() {
                return (number, Some(end));
            }
        }
        last
    }

    /// The first thing to do in a run that continues after a number of generations.
    pub(super) fn place_after(&self, generations: u32) -> Place {
        let mut place = Place::default();
        let mut played = 0;
        while played < generations {
            played += u32::from(self.steps.get(place.step as usize).is_none_or(|step| step.play.is_some()));
            self.advance(&mut place);
        }
        place
    }

    /// Goes on to the next repetition, or to the next step.
    pub(super) fn advance(&self, place: &mut Place) {
        let Some(step) = self.steps.get(place.step as usize) else { return };
        let is_last = place.step as usize + 1 == self.steps.len() && step.play.is_some();
        place.part = Part::Play;
        place.repetition = place.repetition.saturating_add(1);
        if place.repetition >= step.repeat && !is_last {
            (place.step, place.repetition) = (place.step + 1, 0);
        }
    }

    /// Puts a step in front that learns files of records, in the stages of the first step that learns.
    pub fn begin_with_records(&mut self, files: Vec<String>) {
        let first = self.steps.iter().find_map(|step| step.learn.clone()).unwrap_or_default();
        let sha256 = Vec::new();
        let learn = LearnConfig { from: Start::Visits, generations: None, files, sha256, epochs: 2, ..first };
        self.steps.insert(0, Step { learn: Some(learn), ..Step::default() });
    }

    /// Checks that values go together.
    fn check(&self) -> Result<(), ConfigFault> {
        let within = |path: &str, done: Result<(), ConfigFault>| {
            done.map_err(|fault| ConfigFault { key: format!("{path}.{}", fault.key), ..fault })
        };
        let learn = |path: &str, config: &Option<LearnConfig>| {
            within(path, config.as_ref().map_or(Ok(()), LearnConfig::check))?;
            match config {
                Some(config) if config.leaf_depth > 0 => {
                    Err(ConfigFault::new(format!("{path}.leaf-depth"), "is only for `flipside fit`"))
                }
                _ => Ok(()),
            }
        };
        if self.steps.is_empty() {
            return Err(ConfigFault::new("steps", "is empty: a plan has at least one step"));
        }
        learn("finish", &self.finish)?;
        for (number, step) in (1..).zip(&self.steps) {
            let path = format!("steps[{number}]");
            learn(&format!("{path}.learn"), &step.learn)?;
            learn(&format!("{path}.finish"), &step.finish)?;
            if let Some(play) = &step.play {
                within(&format!("{path}.play"), check_self_play(&play.self_play()))?;
            }
        }
        Ok(())
    }
}

/// Where a run is in its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Place {
    /// The step, from 0, and which of its repetitions.
    pub step: u32,
    pub repetition: u32,
    /// What comes next.
    pub part: Part,
}

/// A part of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) enum Part {
    #[default]
    Play,
    Learn,
    Gate,
}

/// Checks that games can be played this way in a reasonable time: shallower selective searches have nothing to cut; calibrating deeper
/// ones, at full width, would take forever.
///
/// # Errors
/// What is wrong.
pub fn check_self_play(play: &SelfPlayConfig) -> Result<(), ConfigFault> {
    let values = toml::to_string(play).map_err(|error| ConfigFault::new("play", format!("is no table: {error}")))?;
    check(&values, Play::KEYS).map_err(|error| ConfigFault::new("play", format!("cannot be: {}", error.message())))?;
    let Strength { depth, selectivity, .. } = play.strength;
    let can_cut = selectivity.is_none() || (3..=12).contains(&depth);
    if can_cut { Ok(()) } else { Err(ConfigFault::new("depth", format!("is {depth}: with `selectivity` 3 to 12"))) }
}

/// The name of the last layer that has the outermost table of a key; of the last layer if none has it.
pub fn origin(layers: &[Layer], key: &str) -> String {
    let outermost = key.split(['.', '[']).next().unwrap_or(key);
    let layer = layers.iter().rev().find(|(_, layer)| layer.contains_key(outermost)).or(layers.last());
    layer.map_or(String::new(), |(name, _)| name.clone())
}

/// Replaces what `layer` has; tables are merged, everything else is replaced whole.
fn overlay(base: &mut toml::Table, layer: &toml::Table) {
    if layer.contains_key("files") {
        // Checksums belong to the files that they came with.
        base.remove("sha256");
    }
    for (key, value) in layer {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => overlay(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::count;

    #[test]
    fn what_is_printed_is_the_same_configuration() {
        for (name, text, _) in PRESETS {
            let config = TrainConfig::from_toml(text).unwrap();
            let text = config.to_commented_toml();
            assert_eq!(TrainConfig::from_toml(&text).unwrap(), config, "{name}: {text}");
            assert!(text.lines().all(|line| line.len() <= 130), "{text}");
        }
    }

    #[test]
    fn keys_are_few_and_documented() {
        let keys = count(TrainConfig::KEYS, &mut Vec::new());
        assert!(keys <= 45, "{keys}");
        let documented = include_str!("../../docs/CONFIGURATION.md");
        let wanted = TrainConfig::document();
        assert!(documented.contains(&wanted), "docs/CONFIGURATION.md lacks the table of keys:\n{wanted}");
    }

    #[test]
    fn errors_say_where() {
        let said = |text: &str| TrainConfig::from_toml(text).unwrap_err().to_string();
        let steps = "[[steps]]\nplay = {}\n";
        for (text, what) in [
            ("sed = 1\n", "line 1, column 1"),
            ("sed = 1\n", "`sed` is not a known key; the closest is `seed`"),
            ("seed = 1\nseed = 2", "line 2"),
            ("[[steps]]\nplay = { games = 0 }\n", "line 2, column 18"),
            (
                "[[steps]]\nplay = { games = 0 }\n",
                "`games` is 0: games, a whole number from 1 to 100000000 is expected",
            ),
            ("[[steps]]\nplay = { depth = 2, update = 'no' }\n", "one of \"td\", \"tdleaf\""),
            ("[[steps]]\nplay = { depth = 2, selectivity = 1 }\n", "`steps[1].play.depth` is 2"),
            ("steps = []", "`steps` is empty"),
            ("finish = true\n", "`finish` is true: a table, or false"),
        ] {
            assert!(said(text).contains(what), "{text}: {}", said(text));
        }
        assert!(TrainConfig::from_toml(&format!("finish = false\n{steps}")).is_ok());
        assert!(said(&format!("{steps}learn = {{ hold-out = 1 }}")).contains("`steps[1].learn.hold-out` is 1"));
    }

    #[test]
    fn other_files_have_other_checksums() {
        let layers =
            ["[finish]\nfiles = ['a']\nsha256 = ['b']\n[[steps]]\nplay = {}\n", "[finish]\nfiles = ['c', 'd']\n"];
        let layers: Vec<_> = layers.iter().map(|text| layer("", text).unwrap()).collect();
        let finish = TrainConfig::from_layers(&layers).unwrap().finish.unwrap();
        assert_eq!((finish.files.len(), finish.sha256.len()), (2, 0));
        assert_eq!(TrainConfig::from_layers(&layers[..1]).unwrap().finish.unwrap().sha256, ["b"]);
    }

    #[test]
    fn records_in_front_have_no_checksums_of_others() {
        let text = "[[steps]]\nlearn = { files = ['a'], sha256 = ['b'] }\n[[steps]]\nplay = {}\n";
        let mut config = TrainConfig::from_toml(text).unwrap();
        config.begin_with_records(vec!["c".to_owned(), "d".to_owned()]);
        let learn = config.steps[0].learn.as_ref().unwrap();
        assert_eq!((learn.files.len(), learn.sha256.len()), (2, 0));
        assert_eq!(config.lessons().count(), 2);
        config.validate().unwrap();
    }

    #[test]
    fn a_place_is_where_the_games_say() {
        let config = TrainConfig::from_toml(
            "[[steps]]\nlearn = {}\n[[steps]]\nrepeat = 2\nplay = { games = 3 }\n[[steps]]\nlearn = {}\n\
             [[steps]]\nplay = { games = 5 }\n",
        )
        .unwrap();
        let mut place = Place::default();
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push((place.step, place.repetition));
            config.advance(&mut place);
        }
        assert_eq!(seen, [(0, 0), (1, 0), (1, 1), (2, 0), (3, 0), (3, 1)]);
        let at = |generations| (config.place_after(generations).step, config.place_after(generations).repetition);
        assert_eq!([0, 1, 2, 3, 4].map(at), [(0, 0), (1, 1), (2, 0), (3, 1), (3, 2)]);
        assert_eq!([0, 1, 2, 9].map(|generation| config.step_number(generation)), [1, 1, 3, 3]);
        assert_eq!((config.games_of(0..4), config.left_of_step(0), config.left_of_step(2)), (16, Some(2), None));
    }
}
