//! Who plays.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use super::book::{cannot_change, parse_discs};
use super::error::CliError;
use super::evaluator::{AnyEvaluator, EvaluatorChoice, WeightsArgument, with_evaluator};
use super::external::ExternalChoice;
use super::memory::check_tables;
use super::selectivity::setting;
use super::session::{Session, start_threads};
use super::with_book::{ChoiceName, WithBook};
use crate::arena::{Player, PlayerError, SearchPlayer};
use crate::board::{Diagram, Square};
use crate::book::{BookPlayer, BookUse, Choice};
use crate::eval::Evaluator;
use crate::protocol::{ExternalPlayer, ExternalSpec, Limits, SearchEngine};
use crate::record::MoveNote;
use crate::record::log::{PlayerCard, Settings};
use crate::search::{Deviations, Engine, Strength, parse_selectivity};
use crate::weights::WeightFile;

/// A player as typed.
#[derive(Clone, PartialEq, Debug)]
pub enum PlayerChoice {
    /// Our own search with an evaluation.
    Own(OwnPlayer),
    /// Another program.
    External(ExternalChoice),
}

/// Our own search as typed: an evaluation, and options that win over the command's own, like `default:depth=8,selectivity=1.5`.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnPlayer {
    typed: String,
    /// Whether any options were typed.
    options: bool,
    evaluator: EvaluatorChoice,
    depth: Option<u32>,
    exact: Option<u32>,
    selectivity: Option<Deviations>,
    /// For each move, instead of the command's depth.
    time: Option<Duration>,
    /// A book of its own; `none` is none even if the command has one.
    book: Option<String>,
    choice: ChoiceName,
    within: f32,
}

impl FromStr for PlayerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if ExternalChoice::is_meant(text) {
            return text.parse().map(Self::External);
        }
        text.parse().map(Self::Own)
    }
}

impl FromStr for OwnPlayer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Without a `=` a colon is part of a file's name.
        let (name, options) = text.rsplit_once(':').filter(|(_, options)| options.contains('=')).unwrap_or((text, ""));
        let Ok(evaluator) = name.parse();
        let (typed, any) = (text.to_owned(), !options.is_empty());
        let mut player = Self {
            typed,
            options: any,
            evaluator,
            depth: None,
            exact: None,
            selectivity: None,
            time: None,
            book: None,
            choice: ChoiceName::Best,
            within: 1.0,
        };
        for option in options.split_terminator(',') {
            let unknown = || {
                let known = "depth=N, exact=N, selectivity=T, time=Nms, book=FILE, choice=CHOICE and within=DISCS";
                format!("`{option}` is none of {known}")
            };
            let (name, value) = option.split_once('=').ok_or_else(unknown)?;
            let number = |min: u32, max: u32| {
                let number = value.parse().ok().filter(|number| (min..=max).contains(number));
                number.ok_or_else(|| format!("`{option}`: expected a number from {min} to {max}"))
            };
            match name {
                "depth" => player.depth = Some(number(1, Strength::MAX_DEPTH)?),
                "exact" => player.exact = Some(number(0, Strength::MAX_EXACT_EMPTIES)?),
                "selectivity" => player.selectivity = Some(parse_selectivity(value)?),
                "time" => player.time = Some(parse_time(value)?),
                "book" => player.book = Some(value.to_owned()),
                "choice" => {
                    let choice = <ChoiceName as clap::ValueEnum>::from_str(value, true);
                    player.choice = choice.map_err(|_| format!("`{option}`: expected best, varied or surprising"))?;
                }
                "within" => player.within = parse_discs(value)?,
                _ => return Err(unknown()),
            }
        }
        Ok(player)
    }
}

/// A time for a move, like `50ms` or `2s`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let milliseconds = match text.strip_suffix("ms") {
        Some(number) => number.parse::<u64>().ok(),
        None => text.strip_suffix('s').and_then(|number| number.parse::<u64>().ok()?.checked_mul(1000)),
    };
    let sensible = milliseconds.filter(|milliseconds| (1..=3_600_000).contains(milliseconds));
    let time = sensible.map(Duration::from_millis);
    time.ok_or_else(|| format!("`{text}`: expected a time from 1ms to 3600s, such as 50ms"))
}

impl fmt::Display for PlayerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(player) => f.write_str(&player.typed),
            Self::External(choice) => choice.fmt(f),
        }
    }
}

/// The tables of our own players have 2^this entries at small depths, what a game fills there within the second-level cache, and beyond.
const SMALL_LOG2_ENTRIES: u32 = 12;
const DEEP_LOG2_ENTRIES: u32 = 18;

/// The largest depth with small tables.
const SMALL_MAX_DEPTH: u32 = 6;

fn own_engine<E: Evaluator>(evaluator: &E, strength: Strength, log2_entries: u32) -> Engine<'_, E> {
    Engine::new(evaluator, strength, log2_entries).expect("checked when the weights were loaded")
}

/// Our own engine, to play or to be served.
#[derive(Args, Debug)]
pub struct EngineArguments {
    #[command(flatten)]
    weights: WeightsArgument,

    #[command(flatten)]
    strength: Strength,

    /// Size of each hash table: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 18, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

impl EngineArguments {
    /// The weights as typed.
    pub fn weights(&self) -> &EvaluatorChoice {
        self.weights.choice()
    }

    /// How strongly it thinks.
    pub fn strength(&self) -> Strength {
        self.strength
    }

    /// The evaluator of the weights.
    ///
    /// # Errors
    /// What is wrong with the weight file, or hash tables that do not fit into memory.
    pub fn load(&self) -> Result<AnyEvaluator, CliError> {
        // One for searching, one for solving.
        check_tables(2, self.log2_hash)?;
        self.weights.choice().load_for(self.strength.selectivity)
    }

    /// The engine, with an evaluator of the weights.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub fn engine<'e, E: Evaluator>(&self, evaluator: &'e E, session: &Session) -> Result<Engine<'e, E>, CliError> {
        let engine = own_engine(evaluator, self.strength, self.log2_hash);
        start_threads(session.threads, |threads| engine.with_threads(threads))
    }

    /// The engine as servers want it.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub fn served<'e, E: Evaluator>(
        &self,
        evaluator: &'e E,
        session: &Session,
    ) -> Result<SearchEngine<'e, E>, CliError> {
        Ok(SearchEngine::new(self.engine(evaluator, session)?, "flipside"))
    }
}

/// Evaluations ready for use, each loaded once.
#[derive(Default)]
pub struct Shelf {
    evaluators: Vec<(EvaluatorChoice, Arc<Loaded>)>,
    /// The book of players without one of their own.
    book: Option<PathBuf>,
    /// Whether books learn.
    learn: bool,
    session: Option<Session>,
    /// Each book that a player has, by its file.
    books: Vec<(PathBuf, WithBook)>,
}

struct Loaded {
    evaluator: AnyEvaluator,
    /// The hash of the weights, or the name of an evaluation without.
    identity: String,
}

impl Shelf {
    /// A shelf with a book for all of our own players that have none of their own.
    pub fn with_book(book: Option<&Path>, learn: bool, session: &Session) -> Self {
        Self { book: book.map(Path::to_owned), learn, session: Some(*session), ..Self::default() }
    }

    /// Whether any player has a book.
    pub fn has_books(&self) -> bool {
        !self.books.is_empty()
    }

    /// The books of the players.
    pub fn books(&self) -> &[(PathBuf, WithBook)] {
        &self.books
    }

    /// The book of a player, and what it is, for a log of games.
    fn book_of(&mut self, player: &OwnPlayer, strength: Strength) -> Result<Option<(BookUse, Value)>, CliError> {
        let path = match player.book.as_deref() {
            Some("none") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => self.book.clone(),
        };
        let (Some(path), Some(session)) = (path, &self.session) else { return Ok(None) };
        let choice = player.choice.within(player.within);
        if self.books.iter().all(|(known, _)| *known != path) {
            let learner = self.learn.then_some((&player.evaluator, strength));
            let book = WithBook::open(&path, choice, 1, learner, session)?;
            self.books.push((path.clone(), book));
        }
        let (_, book) = self.books.iter().find(|(known, _)| *known == path).expect("it is there now");
        let used = book.moves.with_choice(choice);
        let identity = self.identity(&used, choice)?;
        Ok(Some((used, identity)))
    }

    /// What a log of games says of a book: its hash, or that it learns, and the choice.
    fn identity(&self, used: &BookUse, choice: Choice) -> Result<Value, CliError> {
        let hash =
            if self.learn { "learning".to_owned() } else { used.with(|book| book.hash()).map_err(cannot_change)? };
        Ok(format!("{hash} {choice:?}").into())
    }

    fn get(&mut self, choice: &EvaluatorChoice) -> Result<Arc<Loaded>, CliError> {
        if let Some((_, loaded)) = self.evaluators.iter().find(|(known, _)| known == choice) {
            return Ok(Arc::clone(loaded));
        }
        let (evaluator, file) = choice.load_with_file()?;
        let identity = file.as_ref().map_or_else(|| choice.to_string(), WeightFile::hash);
        let loaded = Arc::new(Loaded { evaluator, identity });
        self.evaluators.push((choice.clone(), Arc::clone(&loaded)));
        Ok(loaded)
    }
}

/// What every thread makes its player from.
pub struct PlayerMaker {
    /// What the player is, for a log of games.
    pub card: PlayerCard,
    kind: PlayerKind,
    clock: Clock,
}

enum PlayerKind {
    /// Searches with an evaluator.
    Own(Arc<Loaded>, Strength, Option<Duration>, Option<BookUse>),
    /// Starts a program.
    External(ExternalSpec, Limits),
}

/// How long the players of a maker thought, all threads together.
#[derive(Default)]
struct Clock {
    nanoseconds: AtomicU64,
    games: AtomicU64,
}

impl PlayerChoice {
    /// The player's name with its depth, which without one of its own (or a time) is `depth`.
    pub fn name_at(&self, depth: u32) -> String {
        match self {
            Self::Own(OwnPlayer { depth: None, time: None, typed, options, .. }) => {
                format!("{typed}{}depth={depth}", if *options { ',' } else { ':' })
            }
            _ => self.to_string(),
        }
    }

    /// Whether it is a program driven over the NBoard protocol.
    pub fn speaks_nboard(&self) -> bool {
        matches!(self, Self::External(choice) if choice.speaks_nboard())
    }

    /// Loads what the player needs, as far as it does not stand on the shelf.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load(&self, strength: Strength, limits: Limits, shelf: &mut Shelf) -> Result<PlayerMaker, CliError> {
        let (kind, settings) = match self {
            Self::Own(player) => player.load(strength, shelf)?,
            Self::External(choice) => {
                let (spec, limits, settings) = choice.load(limits);
                (PlayerKind::External(spec, limits), settings)
            }
        };
        let card = PlayerCard { name: self.to_string(), settings };
        Ok(PlayerMaker { card, kind, clock: Clock::default() })
    }
}

impl OwnPlayer {
    fn load(&self, strength: Strength, shelf: &mut Shelf) -> Result<(PlayerKind, Settings), CliError> {
        let strength = Strength {
            depth: self.depth.unwrap_or(if self.time.is_some() { Strength::MAX_DEPTH } else { strength.depth }),
            selectivity: self.selectivity.unwrap_or(strength.selectivity),
            exact_empties: self.exact.unwrap_or(strength.exact_empties),
        };
        let loaded = shelf.get(&self.evaluator)?;
        self.evaluator.check_calibrated(&loaded.evaluator, strength.selectivity)?;
        let mut settings = Settings::from([
            ("program".into(), concat!("flipside ", env!("CARGO_PKG_VERSION")).into()),
            ("weights".into(), loaded.identity.clone().into()),
            ("depth".into(), strength.depth.into()),
            ("exact".into(), strength.exact_empties.into()),
            ("selectivity".into(), setting(strength.selectivity)),
        ]);
        if let Some(time) = self.time {
            settings.insert("move-time".into(), time.as_secs_f64().into());
        }
        let book = shelf.book_of(self, strength)?.map(|(book, identity)| {
            settings.insert("book".into(), identity);
            book
        });
        Ok((PlayerKind::Own(loaded, strength, self.time, book), settings))
    }
}

impl PlayerMaker {
    /// A player. A program that is slow to start is not waited for after `stop` is set.
    ///
    /// # Errors
    /// The program does not start.
    pub fn make(&self, stop: &AtomicBool) -> Result<AnyPlayer<'_>, PlayerError> {
        let player: Box<dyn Player> = match &self.kind {
            PlayerKind::Own(loaded, strength, time, book) => with_evaluator!(&loaded.evaluator, evaluator => {
                let small = strength.depth <= SMALL_MAX_DEPTH;
                let log2_entries = if small { SMALL_LOG2_ENTRIES } else { DEEP_LOG2_ENTRIES };
                let player = SearchPlayer::new(own_engine(evaluator, *strength, log2_entries));
                let player = match time {
                    None => player,
                    Some(time) => player.with_time(*time),
                };
                match book {
                    None => Box::new(player),
                    Some(book) => Box::new(BookPlayer::new(player, book.clone())),
                }
            }),
            PlayerKind::External(spec, limits) => Box::new(ExternalPlayer::start(spec, *limits, stop)?),
        };
        Ok(AnyPlayer { player, clock: &self.clock })
    }

    /// Seconds that its players thought in a game, in the mean.
    pub fn seconds_a_game(&self) -> f64 {
        let Clock { nanoseconds, games } = &self.clock;
        nanoseconds.load(Relaxed) as f64 * 1e-9 / games.load(Relaxed).max(1) as f64
    }
}

/// A player of any kind.
pub struct AnyPlayer<'m> {
    player: Box<dyn Player + 'm>,
    clock: &'m Clock,
}

impl Player for AnyPlayer<'_> {
    fn new_game(&mut self) {
        self.clock.games.fetch_add(1, Relaxed);
        self.player.new_game();
    }

    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        let begin = Instant::now();
        let chosen = self.player.choose(diagram, stop);
        self.clock.nanoseconds.fetch_add(begin.elapsed().as_nanos() as u64, Relaxed);
        chosen
    }

    fn observe(&mut self, diagram: &Diagram, square: Square) {
        self.player.observe(diagram, square);
    }

    fn note(&self) -> MoveNote {
        self.player.note()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_may_have_options_of_its_own() {
        let own = |text: &str| match text.parse() {
            Ok(PlayerChoice::Own(player)) => player,
            other => panic!("{other:?}"),
        };
        let player = own("squares:depth=9,selectivity=1.5");
        assert_eq!((player.depth, player.exact), (Some(9), None));
        assert_eq!(player.selectivity, Some(Some(1.5)));
        assert_eq!(player.evaluator, EvaluatorChoice::Squares);
        assert_eq!(PlayerChoice::Own(player).to_string(), "squares:depth=9,selectivity=1.5");
        assert_eq!(own("squares:selectivity=off").selectivity, Some(None));
        assert_eq!(own("a:b=c/w.fsw:exact=4").evaluator, EvaluatorChoice::File("a:b=c/w.fsw".into()));
        assert_eq!(own("C:w.fsw").evaluator, EvaluatorChoice::File("C:w.fsw".into()));
        let refused = |text: &str| text.parse::<PlayerChoice>().unwrap_err();
        assert!(refused("squares:depht=9").contains("`depht=9` is none of"));
        assert!(refused("squares:depth=9,exact").contains("`exact` is none of"));
        assert!(refused("squares:depth=61").contains("1 to 60"));
        assert!(refused("squares:selectivity=-1").contains("off"));
        let name_at = |text: &str| text.parse::<PlayerChoice>().unwrap().name_at(7);
        assert_eq!(name_at("squares"), "squares:depth=7");
        assert_eq!(name_at("squares:exact=4"), "squares:exact=4,depth=7");
        assert_eq!(name_at("squares:depth=9"), "squares:depth=9");
        assert_eq!(name_at("squares:time=5ms"), "squares:time=5ms");
        assert_eq!(own("squares:time=5ms").time, Some(Duration::from_millis(5)));
        assert_eq!(own("squares:time=2s").time, Some(Duration::from_secs(2)));
        for wrong in ["5", "0ms", "-1s", "99999999999999999999s", "18446744073709551615s", "1.5s"] {
            assert!(refused(&format!("squares:time={wrong}")).contains("expected a time"), "{wrong}");
        }
    }

    #[test]
    fn an_nboard_engine_may_have_a_depth_of_its_own() {
        let load = |text: &str| match text.parse() {
            Ok(PlayerChoice::External(choice)) => {
                let (spec, limits, _) = choice.load(Limits { depth: Some(3), ..Limits::default() });
                (spec.to_string(), limits.depth)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(load("nboard:engine -x:depth=9"), ("nboard:engine -x".to_owned(), Some(9)));
        assert_eq!(load("nboard:engine --at:depth=all"), ("nboard:engine --at:depth=all".to_owned(), Some(3)));
        assert_eq!(load("gtp:engine"), ("gtp:engine".to_owned(), None));
        assert!("gtp:engine:depth=9".parse::<PlayerChoice>().unwrap_err().contains("GTP"));
        assert!("nboard:engine:depth=0".parse::<PlayerChoice>().unwrap_err().contains("1 to 60"));
    }
}
