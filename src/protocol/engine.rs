//! What a server needs of an engine, and ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::arena::{Player, SearchPlayer};
use crate::board::{Diagram, Square};
use crate::eval::Evaluator;

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
    /// Best play from here, passes left out. Not empty where the side to move has a legal move.
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

    /// Thinks about a position.
    fn think(&mut self, diagram: &Diagram, limit: &Limit<'_>) -> Opinion;
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

    /// Deepens two plies at a time; looks at the clock and at `stop` in between.
    fn think(&mut self, diagram: &Diagram, limit: &Limit<'_>) -> Opinion {
        let begin = Instant::now();
        let empties = diagram.position.empties();
        let depth = limit.depth.unwrap_or(if limit.time.is_some() { empties } else { self.default_depth() });
        let mut nodes = 0;
        let mut depths = (2 - depth % 2..=depth).step_by(2).peekable();
        loop {
            let depth = depths.next().unwrap_or(depth);
            let found = self.player.think(&diagram.position, depth);
            nodes += found.nodes;
            let exact = found.depth >= empties;
            // Two more plies take about ten times as long as all before.
            let late = limit.time.is_some_and(|time| begin.elapsed() * 8 > time);
            if exact || late || limit.stop.load(Ordering::Relaxed) || depths.peek().is_none() {
                return Opinion { line: found.line, discs: found.score.discs(), depth: found.depth, exact, nodes };
            }
        }
    }
}
