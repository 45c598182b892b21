//! Players made for each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::shelf::Shelf;
use super::typed::{OwnPlayer, PlayerChoice};
use crate::cli::error::CliError;
use crate::cli::evaluator::{Loaded, own_engine};
use crate::cli::strength::{StrengthArguments, setting};
use flipside::arena::{Player, PlayerError, SearchPlayer};
use flipside::board::{Diagram, Square};
use flipside::book::{BookPlayer, BookUse};
use flipside::protocol::{ExternalSpec, ProcessLimits};
use flipside::record::MoveNote;
use flipside::record::log::{PlayerCard, Settings};
use flipside::search::{Limits, Selectivity, Strength};
use flipside::weights::Provenance;

/// What every thread makes its player from.
pub struct PlayerMaker {
    /// What the player is, for a log of games.
    pub card: PlayerCard,
    kind: PlayerKind,
    clock: Clock,
}

enum PlayerKind {
    /// Searches with an evaluator.
    Own(Arc<Loaded>, Strength, Limits<'static>, Option<BookUse>),
    /// Starts a program.
    External(ExternalSpec, ProcessLimits),
}

/// How long the players of a maker thought, over all threads.
#[derive(Default)]
struct Clock {
    nanoseconds: AtomicU64,
    games: AtomicU64,
}

impl PlayerChoice {
    /// Loads what the player needs, unless the shelf has it.
    ///
    /// # Errors
    /// What is wrong with the weight file.
    pub fn load(
        &self,
        strength: StrengthArguments,
        limits: ProcessLimits,
        shelf: &mut Shelf,
    ) -> Result<PlayerMaker, CliError> {
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
    fn load(&self, typed: StrengthArguments, shelf: &mut Shelf) -> Result<(PlayerKind, Settings), CliError> {
        let limits = Limits { time: self.time, nodes: self.nodes, ..Limits::NONE };
        let loaded = shelf.get(&self.evaluator)?;
        let usual = typed.strength();
        let (depth, selectivity) = match limits.is_open() {
            true => (Strength::MAX_DEPTH, Selectivity::strongest(&loaded.evaluator)),
            false => (usual.depth, None),
        };
        let strength = Strength {
            depth: self.depth.unwrap_or(depth),
            selectivity: self.selectivity.or(typed.selectivity()).unwrap_or(selectivity),
            exact_empties: self.exact.unwrap_or(usual.exact_empties),
        };
        self.evaluator.check_calibrated(&loaded.evaluator, strength.selectivity)?;
        let mut settings = Settings::from([
            ("program".into(), Provenance::of_this_program("").build().into()),
            ("weights".into(), loaded.weights.clone().unwrap_or_else(|| self.evaluator.to_string()).into()),
            ("depth".into(), strength.depth.into()),
            ("selectivity".into(), setting(strength.selectivity)),
        ]);
        if !self.has_only_limits() {
            settings.insert("exact".into(), strength.exact_empties.into());
        }
        if let Some(time) = self.time {
            settings.insert("move-time".into(), time.as_secs_f64().into());
        }
        if let Some(nodes) = self.nodes {
            settings.insert("move-nodes".into(), nodes.into());
        }
        let book = shelf.book_of(self)?.map(|(book, identity)| {
            settings.insert("book".into(), identity);
            book
        });
        Ok((PlayerKind::Own(loaded, strength, limits, book), settings))
    }
}

impl PlayerMaker {
    /// Makes a player. Once `stop` is set, a program that is slow to start is not waited for.
    ///
    /// # Errors
    /// The program does not start.
    pub fn make(&self, stop: &AtomicBool) -> Result<AnyPlayer<'_>, PlayerError> {
        let player: Box<dyn Player> = match &self.kind {
            PlayerKind::Own(loaded, strength, limits, book) => {
                let engine = own_engine(&loaded.evaluator, *strength, strength.log2_entries());
                let player = SearchPlayer::new(engine).with_limits(*limits);
                match book {
                    None => Box::new(player),
                    Some(book) => Box::new(BookPlayer::new(player, book.clone())),
                }
            }
            PlayerKind::External(spec, limits) => spec.start(*limits, stop)?,
        };
        Ok(AnyPlayer { player, clock: &self.clock })
    }

    /// Mean seconds per game that its players thought; none without games.
    pub fn seconds_a_game(&self) -> Option<f64> {
        let Clock { nanoseconds, games } = &self.clock;
        let games = Some(games.load(Relaxed)).filter(|&games| games > 0)?;
        Some(nanoseconds.load(Relaxed) as f64 * 1e-9 / games as f64)
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
