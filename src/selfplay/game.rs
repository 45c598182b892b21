//! Self-play games.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::board::{Diagram, Position, Side, Square, squares};
use crate::eval::{Evaluator, Score};
use crate::search::{EndgameSolver, Searcher};

/// How self-play games are played.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SelfPlayConfig {
    /// Plies of the search behind every move and label.
    pub depth: u32,
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
    /// With [`UpdateTarget::Tdleaf`]: the leaf of the principal variation and the side to move there.
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
pub struct SelfPlay<'e, E: Evaluator> {
    config: SelfPlayConfig,
    workers: Vec<Mutex<Worker<'e, E>>>,
}

/// What one thread needs; it carries nothing from game to game.
struct Worker<'e, E: Evaluator> {
    searcher: Searcher<'e, E>,
    solver: EndgameSolver,
    line: Vec<Square>,
}

/// Table sizes, as powers of two entries: what a game at small depths fills, within the second-level cache.
const SEARCH_TABLE: u32 = 12;
const SOLVER_TABLE: u32 = 13;

impl<'e, E: Evaluator> SelfPlay<'e, E> {
    /// Players for all threads of the current rayon pool.
    pub fn new(evaluator: &'e E, config: SelfPlayConfig) -> Self {
        let worker = || Worker {
            searcher: Searcher::new(evaluator, SEARCH_TABLE),
            solver: EndgameSolver::new(SOLVER_TABLE),
            line: Vec::new(),
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
        let play = |game| {
            if stop.load(Relaxed) {
                return None;
            }
            let thread = rayon::current_thread_index().unwrap_or(0);
            let mut worker = self.workers[thread].lock().expect("a worker that panicked stopped the run");
            Some(worker.play(&self.config, game_rng(seed, generation, game)))
        };
        (first..first + count).into_par_iter().map(play).collect()
    }
}

/// The random numbers of one game: a stream of its own of the seed's generator.
fn game_rng(seed: u64, generation: u32, game: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(generation) << 32 | u64::from(game));
    rng
}

impl<E: Evaluator> Worker<'_, E> {
    fn play(&mut self, config: &SelfPlayConfig, mut rng: ChaCha8Rng) -> GameRecord {
        self.searcher.forget();
        self.solver.new_game();
        let mut game =
            GameRecord { plies: Vec::with_capacity(60), result: Score::default(), moves: Vec::with_capacity(60) };
        let opening = rng.random_range(0..=config.opening_plies) as usize;
        let mut diagram = Diagram::START;
        // The rest of an optimal game, last move first, and its value for the side to move.
        self.line.clear();
        let mut exact = 0;
        loop {
            let moves = diagram.position.moves();
            if moves == 0 {
                if diagram.position.opponent_moves() == 0 {
                    break;
                }
                diagram = diagram.pass();
                exact = -exact;
                continue;
            }
            let random =
                game.moves.len() < opening || (config.exploration > 0.0 && rng.random_bool(config.exploration));
            let mut random_move = || squares(moves).nth(rng.random_range(0..moves.count_ones() as usize));
            let labelled = game.moves.len() >= opening;
            let to = if !labelled {
                random_move()
            } else if diagram.position.empties() <= config.exact_empties {
                if self.line.is_empty() {
                    exact = self.solver.solve_line(diagram.position, &mut self.line).score;
                    self.line.reverse();
                }
                game.plies.push(ply(diagram, Score::from_discs(exact), PlyKind::Exact));
                let best = self.line.pop();
                if random {
                    let chosen = random_move();
                    if chosen != best {
                        self.line.clear();
                    }
                    chosen
                } else {
                    best
                }
            } else {
                let found = self.searcher.search(&diagram.position, config.depth);
                let kind = if random { PlyKind::Exploratory } else { PlyKind::Greedy };
                let mut ply = ply(diagram, found.score, kind);
                if config.update == UpdateTarget::Tdleaf {
                    ply.leaf = Some(leaf(diagram, &found.line));
                }
                game.plies.push(ply);
                if random { random_move() } else { found.best }
            };
            let to = to.expect("a position with moves has a move to play");
            game.moves.push(to);
            diagram = diagram.try_play(to).expect("players choose legal moves");
            exact = -exact;
        }
        let result = Score::from_discs(diagram.position.final_score());
        let last_side = game.plies.last().map_or(diagram.side, |ply| ply.side);
        game.result = if last_side == diagram.side { result } else { -result };
        game
    }
}

fn ply(diagram: Diagram, value: Score, kind: PlyKind) -> Ply {
    Ply { position: diagram.position, side: diagram.side, value, kind, leaf: None }
}

/// The position at the end of a principal variation.
fn leaf(mut diagram: Diagram, line: &[Square]) -> (Position, Side) {
    for &to in line {
        if diagram.position.moves() == 0 {
            diagram = diagram.pass();
        }
        diagram = diagram.try_play(to).expect("principal variations are legal");
    }
    (diagram.position, diagram.side)
}
