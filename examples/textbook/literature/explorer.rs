//! What all these searches share: deepening at the root, and at each node the horizon, the table and the order
//! of moves.

use super::algorithm::Algorithm;
use super::ordering::{Ordering, Refutations};
use super::table::{Entry, Table};
use super::tree::{Successor, Tree};
use flipside::eval::Score;

/// How a search is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Search to smaller depths first, two plies apart: their values are guesses, their best moves are tried first.
    pub deepening: bool,
    /// The table has 2^this entries; `None` is no table.
    pub log2_table: Option<u32>,
    /// The order of moves.
    pub ordering: Ordering,
    /// Aspiration windows begin this far below and above the guess.
    pub aspiration: Score,
    /// The factor by which the distance of a failed bound from the guess grows each time.
    pub widening: u32,
}

impl Default for Options {
    /// Everything that helps, and a table of 2^20 entries (32 MB).
    fn default() -> Self {
        Self { log2_table: Some(20), ordering: Ordering::BEST, deepening: true, ..Self::PLAIN }
    }
}

impl Options {
    /// The bare algorithms: one search to the full depth, no table, the tree's own order of moves.
    pub const PLAIN: Self = Self {
        deepening: false,
        log2_table: None,
        ordering: Ordering::NONE,
        aspiration: Score(3 * Score::DISC),
        widening: 4,
    };
}

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The value for the player to move.
    pub score: Score,
    /// The name of the best move; `None` if there is no move or the depth is 0.
    pub best: Option<u8>,
    /// Nodes visited, the root and all iterations included. A node is counted as often as it is visited.
    pub nodes: u64,
}

/// Runs one algorithm on one tree.
pub struct Explorer<'t, T: Tree> {
    tree: &'t T,
    pub(super) algorithm: Algorithm,
    pub(super) options: Options,
    table: Option<Table>,
    refutations: Refutations,
    nodes: u64,
    /// Moves from the root to the node being visited.
    ply: usize,
    best: Option<u8>,
}

impl<'t, T: Tree> Explorer<'t, T> {
    /// One algorithm for one tree.
    ///
    /// # Panics
    /// If `options` ask for a table of fewer than 2^1 or more than 2^40 entries.
    pub fn new(tree: &'t T, algorithm: Algorithm, options: Options) -> Self {
        let table = options.log2_table.map(Table::new);
        Self { tree, algorithm, options, table, refutations: Refutations::new(), nodes: 0, ply: 0, best: None }
    }

    /// Searches to `depth` plies; 0 is the static value of the node itself. Earlier searches have no influence.
    pub fn search(&mut self, root: &T::Node, depth: u32) -> Outcome {
        self.table.iter_mut().for_each(Table::forget);
        self.refutations = Refutations::new();
        (self.nodes, self.best) = (0, None);
        let mut guess = None;
        if self.options.deepening {
            for shallower in (depth % 2..depth).step_by(2) {
                guess = Some(self.search_once(root, shallower, guess));
            }
        }
        let score = self.search_once(root, depth, guess);
        Outcome { score, best: self.best, nodes: self.nodes }
    }

    /// Visits a node: stops at the horizon, at the end of the game or if the table suffices, else calls `search` with the
    /// successors. `search` returns their value, which is a bound outside the window as in a fail-soft search, and the
    /// move that has it.
    pub(super) fn visit(
        &mut self,
        node: &T::Node,
        depth: u32,
        (alpha, beta): (Score, Score),
        search: impl FnOnce(&mut Self, &[Successor<T::Node>]) -> (Score, Option<u8>),
    ) -> Score {
        self.nodes += 1;
        if depth == 0 {
            return self.tree.evaluate(node);
        }
        let hash = self.tree.hash(node);
        let known = self.table.as_ref().and_then(|table| table.probe(hash));
        if let Some(value) = known.and_then(|entry| table_cutoff(&entry, depth, alpha, beta)) {
            return value;
        }
        let mut successors = self.tree.successors(node);
        if successors.is_empty() {
            return self.tree.result(node);
        }
        if let Some(value) = self.enhanced_transposition_cutoff(&successors, depth, beta) {
            return value;
        }
        let hash_move = known.and_then(|entry| entry.best);
        let how = (self.tree, &self.options.ordering);
        self.refutations.sort(how, &mut successors, (self.ply, depth), hash_move);
        self.ply += 1;
        let (value, best) = search(self, &successors);
        self.ply -= 1;
        if let Some(table) = &mut self.table {
            table.store(hash, depth, (alpha, beta), value, best);
        }
        if value >= beta
            && let Some(name) = best
        {
            self.refutations.add(self.ply, depth, name);
        }
        // A search that failed low knows no best move.
        if self.ply == 0 && value > alpha {
            self.best = best;
        }
        value
    }

    /// The value of a successor that the table knows to be good enough. Not at the root, which needs a move.
    fn enhanced_transposition_cutoff(
        &self,
        successors: &[Successor<T::Node>],
        depth: u32,
        beta: Score,
    ) -> Option<Score> {
        let table = self.table.as_ref().filter(|_| self.options.ordering.transposition_cutoffs && self.ply > 0)?;
        if depth < 2 {
            return None;
        }
        let value = |successor: &Successor<T::Node>| {
            let entry = table.probe(self.tree.hash(&successor.node))?;
            (entry.depth == depth - successor.plies).then_some(-entry.upper)
        };
        successors.iter().filter_map(value).find(|&value| value >= beta)
    }
}

/// The value that a table's entry proves for a window, if its depth is the one asked for.
fn table_cutoff(entry: &Entry, depth: u32, alpha: Score, beta: Score) -> Option<Score> {
    if entry.depth != depth {
        None
    } else if entry.lower >= beta || entry.lower == entry.upper {
        Some(entry.lower)
    } else {
        (entry.upper <= alpha).then_some(entry.upper)
    }
}
