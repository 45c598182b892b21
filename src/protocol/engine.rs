//! What a server needs of an engine, and ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::arena::{Player, SearchPlayer};
use crate::board::{Diagram, Square};
use crate::eval::Evaluator;
use crate::search::SearchResult;

/// How long an engine may think.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'a> {
    /// Plies; without, what the engine does by default.
    pub depth: Option<u32>,
    /// Time, to be kept approximately.
    pub time: Option<Duration>,
    /// Whoever sets this wants an answer at once.
    pub stop: &'a AtomicBool,
}

/// What an engine thinks of a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Opinion {
    /// Best play from here, passes left out. Not empty but for a search to depth 0.
    pub line: Vec<Square>,
    /// The value in discs for the side to move.
    pub discs: f32,
    /// Plies looked ahead.
    pub depth: u32,
    /// Whether the value is exact.
    pub exact: bool,
    /// Positions visited.
    pub nodes: u64,
}

/// An engine that a server can serve.
pub trait Engine {
    /// Its name, without line breaks.
    fn name(&self) -> &str;

    /// Its version.
    fn version(&self) -> &str;

    /// The depth it searches to when not told otherwise.
    fn default_depth(&self) -> u32;

    /// Forgets what it knows of earlier positions.
    fn new_game(&mut self);

    /// Thinks about a position in which the side to move has a legal move.
    fn think(&mut self, diagram: &Diagram, limit: &Limit<'_>) -> Opinion;

    /// What it thinks of a legal move, for the side that makes it, looking `depth` plies ahead, 1 being the move itself.
    fn think_of_move(&mut self, diagram: &Diagram, square: Square, depth: u32, stop: &AtomicBool) -> Opinion {
        let after = diagram.try_play(square).expect("a legal move");
        let mut opinion = self.think_of_any(&after, depth - 1, stop);
        opinion.discs = -opinion.discs;
        opinion.depth += 1;
        opinion.line.insert(0, square);
        opinion
    }

    /// What it thinks of any position: after a pass where one is due, exact where the game is over.
    fn think_of_any(&mut self, diagram: &Diagram, depth: u32, stop: &AtomicBool) -> Opinion {
        let position = diagram.position;
        let limit = Limit { depth: Some(depth), time: None, stop };
        if position.moves() != 0 {
            return self.think(diagram, &limit);
        }
        if position.opponent_moves() == 0 {
            let discs = position.final_score() as f32;
            return Opinion { line: Vec::new(), discs, depth: 0, exact: true, nodes: 1 };
        }
        let mut opinion = self.think(&diagram.pass(), &limit);
        opinion.discs = -opinion.discs;
        opinion
    }
}

/// The program's own engine.
pub struct SearchEngine<'e, E: Evaluator> {
    player: SearchPlayer<'e, E>,
    name: String,
}

impl<'e, E: Evaluator> SearchEngine<'e, E> {
    /// An engine that searches as a player does.
    pub fn new(player: SearchPlayer<'e, E>, name: impl Into<String>) -> Self {
        Self { player, name: name.into() }
    }
}

impl<E: Evaluator> Engine for SearchEngine<'_, E> {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn default_depth(&self) -> u32 {
        self.player.settings().depth
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    /// Deepens two plies at a time, looking at the clock in between; `stop` is looked at all the time.
    fn think(&mut self, diagram: &Diagram, limit: &Limit<'_>) -> Opinion {
        let begin = Instant::now();
        let empties = diagram.position.empties();
        let depth = limit.depth.unwrap_or(if limit.time.is_some() { empties } else { self.default_depth() });
        let (mut last, mut nodes) = (None::<SearchResult>, 0);
        for depth in (depth.min(2 - depth % 2)..=depth).step_by(2) {
            let found = self.player.think(&diagram.position, depth, limit.stop);
            nodes += found.nodes;
            let exact = found.depth >= empties;
            // A search that was stopped may know less than the one before.
            if last.as_ref().is_none_or(|last| last.depth < found.depth) {
                last = Some(found);
            }
            // Two more plies take about ten times as long as all before.
            let late = limit.time.is_some_and(|time| begin.elapsed() * 8 > time);
            if exact || late || limit.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let SearchResult { score, line, depth, .. } = last.expect("there is at least one search");
        Opinion { line, discs: score.discs(), depth, exact: depth >= empties, nodes }
    }
}
