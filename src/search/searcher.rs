//! Iterative deepening with one table; [`Engine`](super::Engine) adds the solver.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::{ThreadPool, ThreadPoolBuildError};

use super::analysis::{Analysis, Line};
use super::node::Node;
use super::ordering::Killers;
use super::probcut::Selectivity;
use super::pvs::Search;
use super::split::thread_pool;
use super::stop::{NEVER, Stop};
use super::table::{Entry, Single, Slot, Table};
use super::tunables::{CACHED_LOG2_ENTRIES, KEPT_MIN_DEPTH, KEPT_PLIES, TT_MIN_DEPTH};
use crate::board::{Position, squares};
use crate::eval::{Evaluator, Score};

/// Searches positions with one evaluator, keeping what it found about earlier positions in its table.
#[derive(Debug)]
pub struct Searcher<'e, E: Evaluator> {
    pub(super) evaluator: &'e E,
    table: Table<Single>,
    tt_min_depth: u32,
    killers: Killers,
    /// The threads, if there are several.
    pool: Option<Arc<ThreadPool>>,
    selectivity: Option<Selectivity>,
}

impl<'e, E: Evaluator> Searcher<'e, E> {
    /// A searcher with a table of 2^`log2_entries` entries.
    ///
    /// # Panics
    /// If `log2_entries` is above 40.
    pub fn new(evaluator: &'e E, log2_entries: u32) -> Self {
        let tt_min_depth = TT_MIN_DEPTH[usize::from(log2_entries > CACHED_LOG2_ENTRIES)];
        Self {
            evaluator,
            table: Table::new(log2_entries),
            tt_min_depth,
            killers: Killers::NONE,
            pool: None,
            selectivity: None,
        }
    }

    /// Lets several threads work on a position together. At full width, if nothing was searched before or [`Self::forget`] was
    /// called, the value does not depend on their number. The choice among several best moves, the line and the number of nodes
    /// may vary from search to search.
    ///
    /// # Errors
    /// The system does not provide the threads.
    pub fn with_threads(self, threads: usize) -> Result<Self, ThreadPoolBuildError> {
        Ok(self.with_pool(thread_pool(threads)?))
    }

    /// [`Self::with_threads`] with threads that exist.
    pub(super) fn with_pool(self, pool: Option<Arc<ThreadPool>>) -> Self {
        Self { pool, ..self }
    }

    /// Forgets all earlier positions: from then on it searches like a new searcher.
    pub fn forget(&mut self) {
        self.table.forget();
        self.killers = Killers::NONE;
    }

    /// [`Self::forget`] all but what is in a subtree, which must be of this searcher or another one with a table of the same size.
    pub(crate) fn forget_all_but(&mut self, subtree: &Subtree) {
        self.forget();
        // The root comes last, or another entry could take its place.
        subtree.0.iter().rev().for_each(|&(slot, entry)| self.table.store(slot, entry));
    }

    /// Puts into `subtree` what the last search knows about a position after its root, and nothing else.
    pub(crate) fn keep_subtree(&self, root: Position, subtree: &mut Subtree) {
        subtree.0.clear();
        self.add_subtree(root, KEPT_PLIES, subtree);
    }

    fn add_subtree(&self, position: Position, plies: u32, subtree: &mut Subtree) {
        let slot = self.table.slot(position);
        let Some(entry) = self.table.probe(slot) else { return };
        subtree.0.push((slot, entry));
        if plies > 0 && u32::from(entry.draft) >= KEPT_MIN_DEPTH {
            squares(position.moves()).for_each(|to| self.add_subtree(position.play(to), plies - 1, subtree));
        }
    }

    /// Makes later searches selective, or of full width again, and forgets all earlier positions.
    pub fn set_selectivity(&mut self, selectivity: Option<Selectivity>) {
        self.selectivity = selectivity;
        self.forget();
    }

    /// Searches a position to `depth` plies (0 is the static evaluation). A pass does not count as a ply. Depths beyond the end
    /// of the game give the exact result.
    pub fn search(&mut self, position: &Position, depth: u32) -> Analysis {
        self.search_until(position, depth, &NEVER)
    }

    /// [`Self::search`], given up soon after `stop` is set: the result, with its depth, is then that of the last complete iteration; but
    /// if the next one had found a better move by then, value and line are those of that move, or a lower bound and the move alone if it had
    /// only failed high. Iterations to less than five plies are always completed; they take hardly any time.
    pub fn search_until(&mut self, position: &Position, depth: u32, stop: &AtomicBool) -> Analysis {
        self.search_with(position, depth, Stop::new(stop))
    }

    /// [`Self::search_until`] with other reasons to stop.
    pub(super) fn search_with(&mut self, position: &Position, depth: u32, stop: Stop<'_>) -> Analysis {
        let root = Node::new(self.evaluator, position);
        let empties = position.empties();
        // Beyond the end of the game there is nothing to find.
        let depth = depth.min(empties);
        // An earlier search that visited this position has done the first iterations.
        let known = self.known_iteration(position, depth);
        let mut search = self.begin(stop);
        let deepen = || search.deepen(&root, depth, known);
        let Iteration { depth, score, line: pv } = match &self.pool {
            Some(pool) => pool.install(deepen),
            None => deepen(),
        };
        let (nodes, killers) = (search.nodes, search.killers);
        self.killers = killers;
        let best = if root.moves == 0 { None } else { pv.first().copied() };
        let exact = depth >= empties || position.is_game_over();
        let selectivity = self.selectivity.as_ref().filter(|_| !exact).map(Selectivity::deviations);
        Analysis { score, best, pv, depth, nodes, exact, selectivity }
    }

    fn begin<'s>(&'s self, stop: Stop<'s>) -> Search<'s, E> {
        Search {
            evaluator: self.evaluator,
            table: &self.table,
            tt_min_depth: self.tt_min_depth,
            threads: self.pool.as_ref().map_or(1, |pool| pool.current_num_threads()),
            killers: self.killers,
            selectivity: self.selectivity.as_ref(),
            stores_frontier: false,
            nodes: 0,
            stop,
            stopped: false,
        }
    }

    /// The tree of the last search, which was of `root` to `depth` plies ([`Analysis::depth`]) at full width, as far as it is in the table:
    /// each position once, at least two plies before the horizon, without those behind a pass.
    pub fn tree(&self, root: &Position, depth: u32) -> Vec<TreeNode> {
        let (mut nodes, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![(*root, 0)]);
        while let Some((position, ply)) = open.pop() {
            let found = self.table.probe(self.table.slot(position));
            // Entries with another draft are from another iteration or a line of another length.
            let Some(entry) = found.filter(|entry| u32::from(entry.draft) + ply == depth) else { continue };
            if !seen.insert(position) {
                continue;
            }
            let lower = (entry.lower > Entry::UNKNOWN.lower).then_some(Score(entry.lower));
            let upper = (entry.upper < Entry::UNKNOWN.upper).then_some(Score(entry.upper));
            nodes.push(TreeNode { position, ply, lower, upper });
            if ply + 2 < depth {
                open.extend(squares(position.moves()).map(|to| (position.play(to), ply + 1)));
            }
        }
        nodes
    }

    /// What an earlier search found out about a position to less than `depth`: it replaces the first iterations.
    fn known_iteration(&self, position: &Position, depth: u32) -> Option<Iteration> {
        let known = self.table.probe(self.table.slot(*position))?;
        let line: Line = squares(known.hash_move(position.moves())).collect();
        let useful = known.lower == known.upper && u32::from(known.draft) < depth && !line.is_empty();
        useful.then_some(Iteration { depth: known.draft.into(), score: Score(known.lower), line })
    }
}

/// What a search knows about a position in its tree and those soon after it: for the search of that position, which is a ply deeper there,
/// moves to try first, and a value to expect. Empty at first.
#[derive(Default)]
pub(crate) struct Subtree(Vec<(Slot, Entry)>);

/// A position in a search's tree, and what the search found out about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeNode {
    /// The position.
    pub position: Position,
    /// Plies from the root to it.
    pub ply: u32,
    /// Lower bound of its value at the remaining depth.
    pub lower: Option<Score>,
    /// Upper bound likewise; equal to `lower` if the value is exact.
    pub upper: Option<Score>,
}

/// A complete search to one depth.
struct Iteration {
    depth: u32,
    score: Score,
    line: Line,
}

impl<E: Evaluator> Search<'_, E> {
    /// Iterative deepening, beginning after the iteration already known. Returns the last complete iteration; if the next one, given up,
    /// had found a better move, with that move's value and line.
    fn deepen(&mut self, root: &Node<E::State>, depth: u32, known: Option<Iteration>) -> Iteration {
        let mut last = known;
        let first = last.as_ref().map_or(1, |known| known.depth + 1);
        // Deepening two plies at a time finds more in the same time.
        for next in (depth % 2..=depth).step_by(2).filter(|&next| next >= first || next == depth) {
            // What refutes a move at two plies mostly does at four. In deeper searches the order by mobility finds refutations with
            // smaller trees: storing them here would cost 7% more nodes at ten plies.
            self.stores_frontier = next == 2 && depth == 4;
            let (score, line) = self.aspire(root, next, last.as_ref().map(|last| last.score));
            if !self.stopped {
                last = Some(Iteration { depth: next, score, line });
                continue;
            }
            // The last iteration's best move is searched first, so another one is better.
            if let Some(last) = &mut last
                && !line.is_empty()
                && line.first() != last.line.first()
            {
                (last.score, last.line) = (score, line);
            }
            break;
        }
        last.expect("every search has a first iteration")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tunables::ASPIRATION;
    use super::*;
    use crate::board::Transcript;
    use crate::eval::MobilityEvaluator;

    #[test]
    fn a_move_that_failed_high_is_kept_if_the_open_window_is_given_up() {
        const DEPTH: u32 = 8;
        let position = "f5d6c3d3c4f4".parse::<Transcript>().unwrap().last().position;
        let root = Node::new(&MobilityEvaluator, &position);
        let value = Searcher::new(&MobilityEvaluator, 12).search(&position, DEPTH).score;
        let (expected, beta) = (value - Score(20 * Score::DISC), value - Score(20 * Score::DISC) + ASPIRATION);
        let searched = |most, window: Option<(Score, Score)>| {
            let searcher = Searcher::new(&MobilityEvaluator, 12);
            let mut search = searcher.begin(Stop { max_nodes: most, ..Stop::new(&NEVER) });
            let mut line = Line::new();
            let found = match window {
                Some(window) => (search.pvs(&root, DEPTH, window, &mut line), line),
                None => search.aspire(&root, DEPTH, Some(expected)),
            };
            (found, search.nodes, search.stopped)
        };
        let ((bound, high), first, _) = searched(u64::MAX, Some((expected - ASPIRATION, beta)));
        let ((score, _), whole, _) = searched(u64::MAX, None);
        assert!(bound >= beta && score == value, "{bound} {score} {value}");
        let mut given_up = 0;
        for part in 1..=100 {
            let ((score, line), _, stopped) = searched(first + (whole - first) * part / 100, None);
            assert!(score >= beta && !line.is_empty(), "{part}: {score} {line:?}");
            if stopped && (score, &line) == (bound, &high) {
                given_up += 1;
            }
        }
        assert!(given_up > 5, "{given_up}");
    }

    #[test]
    fn a_kept_subtree_saves_nodes_and_changes_no_value() {
        let [mut keeping, mut forgetting] = [12; 2].map(|log2_entries| Searcher::new(&MobilityEvaluator, log2_entries));
        for depth in 3..=6 {
            let (mut position, mut subtree) = (Position::START, Subtree::default());
            let mut nodes = [0; 2];
            while position.empties() > 20 && position.moves() != 0 {
                keeping.forget_all_but(&subtree);
                forgetting.forget();
                let found = [&mut keeping, &mut forgetting].map(|searcher| searcher.search(&position, depth));
                assert_eq!(found[0].score, found[1].score, "depth {depth}, {position:?}");
                nodes = [0, 1].map(|i| nodes[i] + found[i].nodes);
                position = position.play(found[0].best.expect("there are moves"));
                keeping.keep_subtree(position, &mut subtree);
            }
            assert!(100 * nodes[0] < 95 * nodes[1], "depth {depth}: {nodes:?}");
        }
    }
}
