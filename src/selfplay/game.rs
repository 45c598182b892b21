//! Self-play games.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::calibration;
use crate::board::{Diagram, Position, Side, Square, squares};
use crate::eval::{Evaluator, Score};
use crate::search::{EndgameSolver, Searcher, Selectivity};

/// How self-play games are played.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SelfPlayConfig {
    /// Plies of the search behind every move and label.
    pub depth: u32,
    /// Where it is given, searches are selective, and cut what is so many standard deviations beyond the window; see
    /// [`Selectivity`]. Only searches of 3 plies or more can be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectivity: Option<f32>,
    /// From so many empties on, positions are solved exactly.
    pub exact_empties: u32,
    /// A game begins with 0 to this many random plies, every number equally likely. They are not labelled.
    pub opening_plies: u32,
    /// Chance of a random move at each later ply.
    pub exploration: f64,
    /// Where the label is learned.
    pub update: UpdateTarget,
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

/// How a ply came to be, which decides its label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlyKind {
    /// The best move of a search was played.
    Greedy,
    /// A random move was played.
    Exploratory,
    /// The value is exact.
    Exact,
}

/// A labelled position of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ply {
    /// The position.
    pub position: Position,
    /// The side to move.
    pub side: Side,
    /// Its value by search, for the side to move.
    pub value: Score,
    /// How the move was chosen.
    pub kind: PlyKind,
    /// With [`UpdateTarget::Tdleaf`]: the leaf of the principal variation and the side to move there, after a pass where one is
    /// due. None where the game is over at the leaf: there is nothing to evaluate.
    pub leaf: Option<(Position, Side)>,
}

/// A game of self-play: its labelled plies, and the moves with the random opening.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameRecord {
    /// Labelled plies in order. Random openings and positions without a move are left out.
    pub plies: Vec<Ply>,
    /// The result for the side of the last labelled ply.
    pub result: Score,
    /// All moves from the start position.
    pub moves: Vec<Square>,
}

/// Plays self-play games, keeping a searcher and a solver for each thread.
///
/// A thread plays 32 games at once, a ply of each in turn: all these positions have the same number of empties, so the
/// tables of one stage serve them all from the second-level cache. That makes the search 1.4 times as fast as game after game.
pub struct SelfPlay<'e, E: Evaluator> {
    config: SelfPlayConfig,
    workers: Vec<Mutex<Worker<'e, E>>>,
}

/// What one thread needs; it carries nothing from position to position.
struct Worker<'e, E: Evaluator> {
    searcher: Searcher<'e, E>,
    solver: EndgameSolver<'e, E>,
}

/// A game being played.
struct Game {
    rng: ChaCha8Rng,
    diagram: Diagram,
    /// Random plies it begins with.
    opening: usize,
    /// The rest of an optimal game, last move first, and its value in discs for the side to move; empty if not known.
    line: Vec<Square>,
    exact: i32,
    record: GameRecord,
}

/// Games that a thread plays in step.
const LOCKSTEP: u32 = 32;

/// Table sizes, as powers of two entries: what a game at small depths fills, within the second-level cache.
const SEARCH_TABLE: u32 = 12;
const SOLVER_TABLE: u32 = 13;

impl<'e, E: Evaluator> SelfPlay<'e, E> {
    /// Players for all threads of the current rayon pool. For selective ones it is first measured, on all threads and by searches
    /// of full width, how far shallow searches with this evaluator can be relied upon: at depth 6 a second, at depth 10 some 20
    /// seconds of a core. Where they cannot be at all, as with weights that have learned nothing yet, full width is searched.
    pub fn new(evaluator: &'e E, config: SelfPlayConfig) -> Self {
        let selectivity = config.selectivity.and_then(|deviations| {
            let calibration = calibration::measure(evaluator, config.depth)?;
            Some(Selectivity::new(&calibration, deviations))
        });
        let worker = || {
            let mut searcher = Searcher::new(evaluator, SEARCH_TABLE);
            searcher.set_selectivity(selectivity.clone());
            Worker { searcher, solver: EndgameSolver::with_evaluator(evaluator, SOLVER_TABLE) }
        };
        let workers = (0..rayon::current_num_threads()).map(|_| Mutex::new(worker())).collect();
        Self { config, workers }
    }

    /// Plays games `first..first + count` of a generation on all threads; game k is the same whatever is played with it and
    /// wherever. Answers `None` if `stop` was set before all were played.
    pub fn play_games(
        &self,
        seed: u64,
        generation: u32,
        first: u32,
        count: u32,
        stop: &AtomicBool,
    ) -> Option<Vec<GameRecord>> {
        let play = |first_in_step: u32| {
            if stop.load(Relaxed) {
                return None;
            }
            let thread = rayon::current_thread_index().unwrap_or(0);
            let mut worker = self.workers[thread].lock().expect("a worker that panicked stopped the run");
            let numbers = first_in_step..(first_in_step + LOCKSTEP).min(first + count);
            let games = numbers.map(|game| Game::new(&self.config, game_rng(seed, generation, game))).collect();
            Some(worker.play(&self.config, games))
        };
        let steps: Vec<u32> = (first..first + count).step_by(LOCKSTEP as usize).collect();
        let played: Option<Vec<Vec<GameRecord>>> = steps.into_par_iter().with_max_len(1).map(play).collect();
        Some(played?.concat())
    }
}

/// The random numbers of one game: a stream of its own of the seed's generator.
fn game_rng(seed: u64, generation: u32, game: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(generation) << 32 | u64::from(game));
    rng
}

impl Game {
    fn new(config: &SelfPlayConfig, mut rng: ChaCha8Rng) -> Self {
        let opening = rng.random_range(0..=config.opening_plies) as usize;
        let record =
            GameRecord { plies: Vec::with_capacity(60), result: Score::default(), moves: Vec::with_capacity(60) };
        Self { rng, diagram: Diagram::START, opening, line: Vec::new(), exact: 0, record }
    }

    fn random_move(&mut self) -> Square {
        let moves = self.diagram.position.moves();
        let choice = self.rng.random_range(0..moves.count_ones() as usize);
        squares(moves).nth(choice).expect("the choice is among the moves")
    }

    fn play(&mut self, to: Square) {
        self.record.moves.push(to);
        self.diagram = self.diagram.try_play(to).expect("players choose legal moves");
        self.exact = -self.exact;
        if self.diagram.position.moves() == 0 && self.diagram.position.opponent_moves() != 0 {
            self.diagram = self.diagram.pass();
            self.exact = -self.exact;
        }
    }

    fn label(&mut self, value: Score, kind: PlyKind) {
        let Diagram { position, side } = self.diagram;
        self.record.plies.push(Ply { position, side, value, kind, leaf: None });
    }

    fn finish(mut self) -> GameRecord {
        let result = Score::from_discs(self.diagram.position.final_score());
        let last_side = self.record.plies.last().map_or(self.diagram.side, |ply| ply.side);
        self.record.result = if last_side == self.diagram.side { result } else { -result };
        self.record
    }
}

impl<E: Evaluator> Worker<'_, E> {
    /// Plays games to their ends, a ply of each in turn.
    fn play(&mut self, config: &SelfPlayConfig, mut games: Vec<Game>) -> Vec<GameRecord> {
        let mut going = true;
        while going {
            going = false;
            for game in &mut games {
                if game.diagram.position.moves() != 0 {
                    self.step(config, game);
                    going = true;
                }
            }
        }
        games.into_iter().map(Game::finish).collect()
    }

    /// Labels the position of a game, unless it is still in its random opening, and plays a move.
    fn step(&mut self, config: &SelfPlayConfig, game: &mut Game) {
        if game.record.moves.len() < game.opening {
            let to = game.random_move();
            return game.play(to);
        }
        let explore = config.exploration > 0.0 && game.rng.random_bool(config.exploration);
        let best = if game.diagram.position.empties() <= config.exact_empties {
            self.solve(game)
        } else {
            self.search(config, game, explore)
        };
        let to = if explore { game.random_move() } else { best };
        if game.line.pop() != Some(to) {
            game.line.clear();
        }
        game.play(to);
    }

    /// Labels a position exactly and gives its best move, which is the last of the game's line.
    fn solve(&mut self, game: &mut Game) -> Square {
        if game.line.is_empty() {
            self.solver.new_game();
            game.exact = self.solver.solve_line(game.diagram.position, &mut game.line).score;
            game.line.reverse();
        }
        game.label(Score::from_discs(game.exact), PlyKind::Exact);
        *game.line.last().expect("a position with moves has an optimal line")
    }

    /// Labels a position by search and gives its best move.
    fn search(&mut self, config: &SelfPlayConfig, game: &mut Game, explore: bool) -> Square {
        self.searcher.forget();
        let found = self.searcher.search(&game.diagram.position, config.depth);
        game.label(found.score, if explore { PlyKind::Exploratory } else { PlyKind::Greedy });
        if config.update == UpdateTarget::Tdleaf {
            let ply = game.record.plies.last_mut().expect("just labelled");
            ply.leaf = leaf(game.diagram, &found.line);
        }
        found.best.expect("a position with moves has a best one")
    }
}

/// The position at the end of a principal variation whose evaluation is the variation's value.
fn leaf(mut diagram: Diagram, line: &[Square]) -> Option<(Position, Side)> {
    let after_pass = |diagram: Diagram| if diagram.position.moves() == 0 { diagram.pass() } else { diagram };
    for &to in line {
        diagram = after_pass(diagram).try_play(to).expect("principal variations are legal");
    }
    let Diagram { position, side } = after_pass(diagram);
    (position.moves() != 0).then_some((position, side))
}
