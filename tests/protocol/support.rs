//! Engines that follow simple rules, and conversations with the servers.

use std::io::Cursor;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use flipside::arena::{PlayedGame, Player, SearchPlayer, play_game};
use flipside::board::{Diagram, Square, Transcript};
use flipside::eval::{MobilityEvaluator, Score};
use flipside::protocol::{Engine, gtp, nboard};
use flipside::search::{self, Analysis, Strength};

pub const STRENGTH: Strength = Strength::new(1, 6);

pub static NEVER: AtomicBool = AtomicBool::new(false);

pub fn played(black: &mut dyn Player, white: &mut dyn Player, opening: &Transcript) -> PlayedGame {
    play_game(black, white, opening, &NEVER).unwrap()
}

/// The analysis of an engine that takes the first legal move.
pub fn first_move(diagram: &Diagram, score: Score, depth: u32, nodes: u64) -> Analysis {
    let best = Square::lowest(diagram.position.moves());
    let pv = [best].into_iter().collect();
    Analysis { score, best: Some(best), pv, depth, nodes, exact: false, selectivity: None }
}

pub fn search_engine(strength: Strength) -> search::Engine<'static, MobilityEvaluator> {
    search::Engine::new(&MobilityEvaluator, strength, 10).unwrap()
}

pub fn engine_player() -> SearchPlayer<'static, MobilityEvaluator> {
    SearchPlayer::new(search_engine(STRENGTH))
}

/// Plays the lowest legal square and records what it was asked.
#[derive(Default)]
pub struct Plain {
    pub limits: Vec<(Option<u32>, Option<Duration>)>,
    pub games: usize,
    /// The finished games it was given: the number of moves, and the discs for black.
    pub learned: Vec<(usize, i32)>,
}

impl Engine for Plain {
    fn name(&self) -> &str {
        "plain"
    }

    fn version(&self) -> &str {
        "1.2"
    }

    fn strength(&self) -> Strength {
        Strength::new(3, 0)
    }

    fn new_game(&mut self) {
        self.games += 1;
    }

    fn learn(&mut self, steps: &[(Diagram, Square)], black_discs: i32) {
        self.learned.push((steps.len(), black_discs));
    }

    fn think(&mut self, diagram: &Diagram, limits: &search::Limits<'_>) -> Analysis {
        assert!(diagram.position.moves() != 0);
        self.limits.push((limits.depth, limits.time));
        first_move(diagram, Score(192), limits.depth.unwrap_or(3), 7)
    }
}

pub fn gtp_talk(input: &[u8]) -> String {
    let mut output = Vec::new();
    gtp::serve(&mut Plain::default(), Cursor::new(input.to_vec()), &mut output).unwrap();
    String::from_utf8(output).unwrap()
}

/// The answers to commands, one each, without the empty lines.
pub fn gtp_answers(commands: &[&str]) -> Vec<String> {
    let output = gtp_talk(commands.join("\n").as_bytes());
    output.trim_end().split("\n\n").map(str::to_owned).collect()
}

pub fn nboard_talk(engine: &mut Plain, input: &[u8]) -> Vec<String> {
    let mut output = Vec::new();
    nboard::serve(engine, Cursor::new(input.to_vec()), &mut output).unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}
