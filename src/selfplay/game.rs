//! Self-play games.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::pieces::{FRAME, frames, lockstep, pieces};
use super::record::{GameRecord, Label, PlyKind};
use crate::board::{Bitboard, Diagram, Square, squares};
use crate::eval::{Evaluator, Score};
use crate::search::{Engine, Limits, Searcher, Strength, Subtree};
use crate::threads::{in_order, lock};

/// How self-play games are played.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SelfPlayConfig {
    /// The search behind every move and label. A selective one needs a calibrated evaluator
    /// ([`measured_calibration`](super::measured_calibration)) and a depth of 3 plies or more.
    #[serde(flatten)]
    pub strength: Strength,
    /// A game begins with 0 to this many random plies, every number equally likely. They are not labelled.
    pub opening_plies: u32,
    /// Probability of a random move at each later ply.
    pub exploration: f64,
    /// Random moves, those of the beginning included, are among the moves that a search of two plies sees within this many
    /// discs of the best; `None` allows all moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f32>,
    /// Where the label is learned.
    pub update: UpdateTarget,
}

impl SelfPlayConfig {
    /// The deepest search that configurations may ask for, in plies.
    pub const MAX_DEPTH: u32 = 20;

    /// Games in which random moves may be any legal ones, and labels are learned where they were searched.
    pub const fn new(strength: Strength, opening_plies: u32, exploration: f64) -> Self {
        Self { strength, opening_plies, exploration, margin: None, update: UpdateTarget::Td }
    }

    /// The largest number of games that a thread plays in lockstep: whole frames.
    pub const fn lockstep(&self) -> u32 {
        lockstep(self.strength.depth)
    }

    /// [`Self::lockstep`] in frames of [`FRAME`] games.
    pub const fn frames_in_step(&self) -> usize {
        (self.lockstep() / FRAME) as usize
    }
}

/// The position whose evaluation is moved towards the label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateTarget {
    /// The position searched.
    Td,
    /// The leaf at the end of its principal variation.
    Tdleaf,
}

/// Plays self-play games, with an engine for each thread.
///
/// A thread plays up to 256 games at once, a ply of each in turn: all these positions have the same number of empties, so the
/// tables of one stage serve them all from the L2 cache. One game at a time takes 1.2 times as long (`examples/piece_costs.rs`).
///
/// # Example
/// Games of depth 1, and weights learned from them:
/// ```
/// use std::sync::{Arc, atomic::AtomicBool};
///
/// use flipside::eval::{MobilityEvaluator, StageMap};
/// use flipside::learn::{Learner, SampleSet, StepRule, lambda_returns};
/// use flipside::pattern::{Layout, PatternSet};
/// use flipside::search::Strength;
/// use flipside::selfplay::{SelfPlay, SelfPlayConfig};
///
/// // Exact from 8 empties, 0 to 20 random plies at first, and a random move in ten later.
/// let config = SelfPlayConfig::new(Strength::new(1, 8), 20, 0.1);
/// let games = SelfPlay::new(&MobilityEvaluator, config).play_games(1, 0, 0, 50, &AtomicBool::new(false))?;
///
/// let mut samples = SampleSet::default();
/// for game in &games {
///     lambda_returns(&game.replay(), 0.9).into_iter().for_each(|sample| samples.push(sample));
/// }
/// let set = PatternSet::from_toml("name = 'edges'\npatterns = { edge = 'a1 b1 c1 d1 e1 f1 g1 h1' }")?;
/// let rule = StepRule { rate: 1.0, half: 100.0, floor: 0.01 };
/// let mut learner = Learner::new(Arc::new(Layout::new(&set)?), StageMap::uniform(60), rule);
/// learner.pass(&samples, 1.0)?;
/// let model = learner.model();
/// assert!(model.weights[0].iter().any(|&weight| weight != 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SelfPlay<'e, E: Evaluator> {
    evaluator: &'e E,
    config: SelfPlayConfig,
}

/// A game being played.
struct Game {
    rng: ChaCha8Rng,
    diagram: Diagram,
    /// Random plies it begins with.
    opening: usize,
    /// The rest of an optimal game, last move first; empty if not known.
    line: Vec<Square>,
    /// Its value for the side to move.
    line_value: Score,
    /// What the last search knows about the position.
    subtree: Subtree,
    moves: Vec<Square>,
    labels: Vec<Label>,
}

impl<'e, E: Evaluator> SelfPlay<'e, E> {
    /// Players that use an evaluator. If it is not calibrated, they search at full width.
    ///
    /// # Panics
    /// If the depth is 0, which finds no move, the exploration is not a probability, or the margin is below 0.
    pub fn new(evaluator: &'e E, mut config: SelfPlayConfig) -> Self {
        assert!(config.strength.depth > 0, "self-play searches to one ply or more");
        assert!((0.0..=1.0).contains(&config.exploration), "{} is not a probability", config.exploration);
        assert!(config.margin.is_none_or(|margin| margin >= 0.0), "the best move is within any margin");
        if evaluator.calibration().is_none() {
            config.strength.selectivity = None;
        }
        Self { evaluator, config }
    }

    /// Plays games `first..first + count` of a generation on the threads of the current rayon pool. Game k is the same wherever it
    /// is played and whichever games are played with it.
    ///
    /// # Errors
    /// `stop` was set before all games were played.
    pub fn play_games(
        &self,
        seed: u64,
        generation: u32,
        first: u32,
        count: u32,
        stop: &AtomicBool,
    ) -> Result<Vec<GameRecord>, Stopped> {
        let mut all = Vec::with_capacity(count as usize);
        let as_they_are = |_, games: Vec<GameRecord>| games;
        self.play_in_order(seed, generation, first..first + count, stop, as_they_are, |games| {
            all.extend(games.into_iter().flatten());
            ControlFlow::Continue(())
        });
        if all.len() == count as usize { Ok(all) } else { Err(Stopped) }
    }

    /// Plays games of a generation on all threads and passes them to `on_games` in the order of their numbers, in frames of [`FRAME`]
    /// games, as many as came together, on one thread at a time. Before that, `prepare` converts each frame on the thread that
    /// finished its last game, given the number of its first game. Playing ends soon after `stop` is set or `on_games` breaks; what was
    /// passed on by then are the first games, without gaps.
    ///
    /// `on_games` must not wait for the rayon pool: its threads wait for `on_games`.
    pub fn play_in_order<T: Send>(
        &self,
        seed: u64,
        generation: u32,
        numbers: Range<u32>,
        stop: &AtomicBool,
        prepare: impl Fn(u32, Vec<GameRecord>) -> T + Sync,
        mut on_games: impl FnMut(Vec<T>) -> ControlFlow<()> + Send,
    ) {
        let pieces = pieces(numbers.clone(), rayon::current_num_threads(), self.config.lockstep());
        // The finished parts of each frame, by the number of their first game.
        let parts: Vec<_> = frames(numbers.clone()).map(|frame| (frame, Mutex::default())).collect();
        // Whoever adds the last part of a frame gets the prepared frame.
        let add = |number: u32, games: Vec<GameRecord>| {
            let (frame, parts) = &parts[((number - numbers.start) / FRAME) as usize];
            let mut parts = lock(parts);
            BTreeMap::insert(&mut parts, number, games);
            let is_whole = parts.values().map(Vec::len).sum::<usize>() == frame.len();
            is_whole.then(|| prepare(frame.start, std::mem::take(&mut *parts).into_values().flatten().collect()))
        };
        let work = |worker: &mut Option<Worker<'e, E>>, index: usize| {
            let piece = &pieces[index];
            let games = self.games(seed, generation, piece.clone());
            let Ok(played) = worker.get_or_insert_with(|| self.worker()).play(games, stop) else { return Ok(None) };
            let mut played = played.into_iter();
            let frames = frames(piece.clone());
            let frames = frames.filter_map(|part| add(part.start, played.by_ref().take(part.len()).collect()));
            Ok::<_, Infallible>(Some(frames.collect()))
        };
        let take = |_, frames: Vec<T>| if frames.is_empty() { ControlFlow::Continue(()) } else { on_games(frames) };
        let Ok(()) = in_order(pieces.len(), stop, work, take);
    }

    /// Plays some games of a generation on this thread, in lockstep; [`SelfPlayConfig::lockstep`] games at a time are fastest.
    ///
    /// # Errors
    /// `stop` was set before all games were played.
    pub fn play_here(
        &self,
        seed: u64,
        generation: u32,
        numbers: Range<u32>,
        stop: &AtomicBool,
    ) -> Result<Vec<GameRecord>, Stopped> {
        self.worker().play(self.games(seed, generation, numbers), stop)
    }

    fn games(&self, seed: u64, generation: u32, numbers: Range<u32>) -> Vec<Game> {
        numbers.map(|game| Game::new(&self.config, game_rng(seed, generation, game))).collect()
    }

    fn worker(&self) -> Worker<'e, E> {
        let strength = self.config.strength;
        let engine = Engine::new(self.evaluator, strength, strength.log2_entries());
        Worker {
            engine: engine.expect("only calibrated evaluators search selectively"),
            // Searches of one ply need no table.
            chooser: Searcher::new(self.evaluator, 0),
            config: self.config,
        }
    }
}

/// One thread's player; it carries nothing from game to game.
struct Worker<'e, E: Evaluator> {
    engine: Engine<'e, E>,
    /// Compares moves where a margin limits random ones.
    chooser: Searcher<'e, E>,
    config: SelfPlayConfig,
}

/// The work was not completed because the stop flag was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

/// The random numbers of one game: its own stream of the seed's generator.
fn game_rng(seed: u64, generation: u32, game: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(generation) << 32 | u64::from(game));
    rng
}

impl Game {
    fn new(config: &SelfPlayConfig, mut rng: ChaCha8Rng) -> Self {
        let opening = rng.random_range(0..=config.opening_plies) as usize;
        let (moves, labels) = (Vec::with_capacity(60), Vec::with_capacity(60));
        Self {
            rng,
            diagram: Diagram::START,
            opening,
            line: Vec::new(),
            line_value: Score::default(),
            subtree: Subtree::default(),
            moves,
            labels,
        }
    }

    /// One of some moves, each equally likely.
    fn one_of(&mut self, moves: Bitboard) -> Square {
        let choice = self.rng.random_range(0..moves.count_ones() as usize);
        squares(moves).nth(choice).expect("the choice is among the moves")
    }

    fn play(&mut self, to: Square) {
        self.moves.push(to);
        self.diagram = self.diagram.try_play(to).expect("players choose legal moves");
        self.line_value = -self.line_value;
        let next = self.diagram.pass_if_needed();
        if next != self.diagram {
            self.diagram = next;
            self.line_value = -self.line_value;
        }
    }

    fn label(&mut self, value: Score, kind: PlyKind) {
        self.labels.push(Label { value, kind, line: Vec::new() });
    }
}

impl<E: Evaluator> Worker<'_, E> {
    /// Plays games to the end, a ply of each in turn.
    fn play(&mut self, mut games: Vec<Game>, stop: &AtomicBool) -> Result<Vec<GameRecord>, Stopped> {
        let mut going = true;
        while going {
            going = false;
            for game in &mut games {
                if game.diagram.position.moves() != 0 {
                    self.step(game, stop)?;
                    going = true;
                }
            }
        }
        let record = |game: Game| GameRecord::new(game.moves, game.labels).expect("players choose legal moves");
        Ok(games.into_iter().map(record).collect())
    }

    /// Labels the position of a game, unless it is still in its random opening, and plays a move.
    fn step(&mut self, game: &mut Game, stop: &AtomicBool) -> Result<(), Stopped> {
        if game.moves.len() < game.opening {
            let to = self.random_move(game);
            game.play(to);
            return Ok(());
        }
        let explore = self.config.exploration > 0.0 && game.rng.random_bool(self.config.exploration);
        let random = explore.then(|| self.random_move(game));
        if game.line.is_empty() {
            self.think(game, random, stop)?;
        } else {
            game.label(game.line_value, PlyKind::Exact);
        }
        let best = *game.line.last().expect("a position with moves has a best one");
        let to = random.unwrap_or(best);
        // After an exact value the rest is known as long as the best moves are played.
        let known = game.labels.last().is_some_and(|label| label.kind == PlyKind::Exact);
        if game.line.pop() != Some(to) || !known {
            game.line.clear();
        }
        game.play(to);
        if game.labels.last().is_some_and(|label| label.kind != PlyKind::Exact) {
            self.engine.keep_subtree(game.diagram.position, &mut game.subtree);
        }
        Ok(())
    }

    /// A random move within the margin.
    fn random_move(&mut self, game: &mut Game) -> Square {
        let position = game.diagram.position;
        let Some(margin) = self.config.margin else { return game.one_of(position.moves()) };
        self.chooser.forget();
        let value = |to| (to, -self.chooser.search(&position.play(to), 1).score);
        let values: Vec<_> = squares(position.moves()).map(value).collect();
        let best = values.iter().map(|&(_, value)| value).max().expect("a position with moves has a best one");
        let near = values.iter().filter(|(_, value)| best.discs() - value.discs() <= margin);
        game.one_of(near.fold(0, |moves, (to, _)| moves | to.bit()))
    }

    /// Labels a position whose move is random or the best; the best is the last of the game's line.
    fn think(&mut self, game: &mut Game, random: Option<Square>, stop: &AtomicBool) -> Result<(), Stopped> {
        self.engine.forget_all_but(&game.subtree);
        let analysis = self.engine.analyse_within(&game.diagram.position, &Limits { stop, ..Limits::NONE });
        if stop.load(Relaxed) {
            return Err(Stopped);
        }
        game.line.extend(analysis.pv.iter().rev());
        if game.diagram.position.empties() <= self.config.strength.exact_empties {
            game.line_value = analysis.score;
            game.label(analysis.score, PlyKind::Exact);
            return Ok(());
        }
        let explored = random.is_some_and(|to| analysis.pv.first() != Some(&to));
        game.label(analysis.score, if explored { PlyKind::Exploratory } else { PlyKind::Greedy });
        if self.config.update == UpdateTarget::Tdleaf {
            game.labels.last_mut().expect("just labelled").line = analysis.pv.to_vec();
        }
        Ok(())
    }
}
