//! Principal variation search (Tony Marsland and Murray Campbell, "Parallel search of strongly ordered game trees",
//! 1982; Alexander Reinefeld's NegaScout, 1983), fail-soft, with iterative deepening, a transposition table and move
//! ordering.

use arrayvec::ArrayVec;

use super::analysis::Line;
use super::node::Node;
use super::ordering::{Killers, ListedMove, MAX_MOVES, MoveList, mobility_score};
use super::probcut::{Probe, Selectivity};
use super::split::SplitPoint;
use super::stop::Stop;
use super::table::{Entry, FULL_WIDTH, Single, Slot, Table, Trust};
use super::tunables::{
    ASPIRATION, EVAL_ORDER_MIN_DEPTH, MOBILITY_WEIGHT, SORTED_MOVES, SPLIT_MIN_DEPTH, STOP_MIN_DEPTH,
};
use crate::board::{Bitboard, Square};
use crate::eval::{Evaluator, Score};

/// The best value among the moves searched so far, and its move.
type Best = (Score, Option<Square>);

/// The place of a node in the table, and its entry before the node is searched.
struct Place {
    slot: Slot,
    known: Option<Entry>,
}

/// A midgame search: what it works with and what it counts.
pub(super) struct Search<'a, E: Evaluator> {
    pub evaluator: &'a E,
    pub table: &'a Table<Single>,
    /// Null-window nodes below this depth do not use the table.
    pub tt_min_depth: u32,
    /// Threads of the pool this runs in.
    pub threads: usize,
    pub killers: Killers,
    /// ProbCut parameters; `None` searches at full width.
    pub selectivity: Option<&'a Selectivity>,
    /// Whether refutations at depth 1 are stored, so that the next iteration tries them first.
    pub stores_frontier: bool,
    pub nodes: u64,
    pub stop: Stop<'a>,
    /// Whether the search was given up. From then on nothing is stored, and values are meaningless, but for those that [`Self::pvs`] found
    /// before.
    pub stopped: bool,
}

impl<E: Evaluator> Search<'_, E> {
    /// Searches with an aspiration window around the expected value, and opens it on the side on which the search fails: the value and
    /// the principal variation. If stopped, those of the best move until then; the line is empty if no move was good enough to tell.
    pub fn aspire(&mut self, root: &Node<E::State>, depth: u32, expected: Option<Score>) -> (Score, Line) {
        let (mut alpha, mut beta) = (-Score::INFINITY, Score::INFINITY);
        if let Some(expected) = expected {
            (alpha, beta) = (expected - ASPIRATION, expected + ASPIRATION);
        }
        let (mut line, mut failed_high) = (Line::new(), None);
        loop {
            let score = self.pvs(root, depth, (alpha, beta), &mut line);
            if self.stopped {
                let none_completed = score == -Score::INFINITY;
                return failed_high.filter(|_| none_completed).unwrap_or((score, line));
            } else if score <= alpha && alpha > -Score::INFINITY {
                (alpha, failed_high) = (-Score::INFINITY, None);
            } else if score >= beta && beta < Score::INFINITY {
                beta = Score::INFINITY;
                failed_high = Some((score, line.clone()));
            } else {
                return (score, line);
            }
        }
    }

    /// The value within a window, and the principal variation, which replaces what is in `line`. If stopped, those of the moves searched
    /// until then.
    pub fn pvs(&mut self, node: &Node<E::State>, depth: u32, (alpha, beta): (Score, Score), line: &mut Line) -> Score {
        line.clear();
        self.nodes += 1;
        if depth == 0 {
            return node.leaf(self.evaluator);
        }
        if node.moves == 0 {
            return self.pass(node, |search, passed| -search.pvs(passed, depth, (-beta, -alpha), line));
        }
        if depth == 1 {
            let (best, to) = self.frontier(node, (alpha, beta));
            if best > alpha {
                line.push(to);
            }
            return best;
        }
        let place = self.look_up(node);
        let mut moves = MoveList::new();
        moves.generate(node.position, node.moves, |_, _, _| 0);
        self.score_moves(&mut moves, node, depth, place.known.unwrap_or(Entry::UNKNOWN));
        let (mut best, mut best_move, mut lower) = (-Score::INFINITY, None, alpha);
        let mut below = Line::new();
        while let Some(next) = pick(&mut moves) {
            let child = node.play(self.evaluator, next.to, next.flips, next.replies);
            let mut value = lower;
            // An open window costs no more than a null window if the children's children are leaves.
            let scout = best_move.is_some() && depth > 2;
            let mut failed_high = None;
            if scout {
                // If it fails high, no line is known below.
                below.clear();
                value = -self.null_window(&child, depth - 1, Score(-lower.0 - 1));
                failed_high = Some(value).filter(|&value| value > lower && !self.stopped);
            }
            if !scout || (value > lower && value < beta) {
                value = -self.pvs(&child, depth - 1, (-beta, -lower), &mut below);
            }
            if self.stopped {
                // A move that failed high is better than the others, though its value is not known yet.
                if failed_high.is_some() {
                    line.clear();
                    line.push(next.to);
                }
                return failed_high.unwrap_or(best);
            }
            if value > best {
                (best, best_move) = (value, Some(next.to));
                if value > lower {
                    lower = value;
                    line.clear();
                    line.push(next.to);
                    line.extend(below.iter().copied().take(line.remaining_capacity()));
                }
                if value >= beta {
                    break;
                }
            }
        }
        self.store(place, node, depth, (best, best_move), (alpha, beta));
        best
    }

    /// Which side of `alpha` the value is on: a search with the window `(alpha, alpha + 1)`.
    pub fn null_window(&mut self, node: &Node<E::State>, depth: u32, alpha: Score) -> Score {
        self.nodes += 1;
        if depth == 0 {
            return node.leaf(self.evaluator);
        }
        if node.moves == 0 {
            return self.pass(node, |search, passed| -search.null_window(passed, depth, Score(-alpha.0 - 1)));
        }
        if depth == 1 {
            return self.frontier(node, (alpha, Score(alpha.0 + 1))).0;
        }
        if depth < self.tt_min_depth {
            let bound = self.probcut(node, depth, alpha);
            return bound.unwrap_or_else(|| self.search_moves(node, Entry::UNKNOWN, depth, alpha).0);
        }
        if depth >= STOP_MIN_DEPTH && self.should_stop() {
            return alpha;
        }
        let place = self.look_up(node);
        if let Some(bound) = place.known.and_then(|known| self.table_cutoff(&known, node, depth, alpha)) {
            return bound;
        }
        if let Some(bound) = self.probcut(node, depth, alpha) {
            return bound;
        }
        let best = self.search_moves(node, place.known.unwrap_or(Entry::UNKNOWN), depth, alpha);
        if !self.stopped {
            self.store(place, node, depth, best, (alpha, Score(alpha.0 + 1)));
        }
        best.0
    }

    /// The value at depth 1, and its move. It is stored if the search of an open window does not fail high, or if
    /// [`Self::stores_frontier`].
    #[inline]
    fn frontier(&mut self, node: &Node<E::State>, (alpha, beta): (Score, Score)) -> (Score, Square) {
        let (best, to) = node.frontier(self.evaluator, beta, &mut self.killers, &mut self.nodes);
        if self.stores_frontier || (best < beta && beta.0 - alpha.0 > 1) {
            self.store(self.look_up(node), node, 1, (best, Some(to)), (alpha, beta));
        }
        (best, to)
    }

    /// The trust in this search's bounds for a node: [`FULL_WIDTH`] if no ProbCut is possible below it.
    #[inline]
    fn trust_at(&self, node: &Node<E::State>, depth: u32) -> Trust {
        match self.selectivity {
            Some(selectivity) if selectivity.cuts(node.position.empties(), depth) => SELECTIVE,
            _ => FULL_WIDTH,
        }
    }

    /// The bound of a table's entry, if it decides a null-window node.
    #[inline]
    fn table_cutoff(&self, known: &Entry, node: &Node<E::State>, depth: u32, alpha: Score) -> Option<Score> {
        let counts = u32::from(known.draft) >= depth && known.trust >= self.trust_at(node, depth);
        if counts { known.cutoff(alpha.0).map(Score) } else { None }
    }

    #[inline]
    fn look_up(&self, node: &Node<E::State>) -> Place {
        let slot = self.table.slot(node.position);
        Place { slot, known: self.table.probe(slot) }
    }

    /// Stores what a search of a node found.
    #[inline]
    fn store(
        &self,
        Place { slot, known }: Place,
        node: &Node<E::State>,
        depth: u32,
        (value, best): Best,
        (alpha, beta): (Score, Score),
    ) {
        let (draft, trust) = (depth as u8, self.trust_at(node, depth));
        let known = known.unwrap_or(Entry::UNKNOWN);
        let same = known.draft == draft && known.trust == trust;
        let mut entry = if same { known } else { Entry { moves: known.moves, draft, trust, ..Entry::UNKNOWN } };
        entry.update(value.0, (alpha.0, beta.0));
        if value > alpha
            && let Some(best) = best
        {
            entry.prefer(best);
        }
        self.table.store(slot, entry);
    }

    /// Which side of `alpha` the value is on, as `alpha` or one more, if a probe is sure enough of it.
    #[inline(never)]
    fn probcut(&mut self, node: &Node<E::State>, depth: u32, alpha: Score) -> Option<Score> {
        let probes = self.selectivity?.probes(node.position.empties(), depth);
        if probes.is_empty() {
            return None;
        }
        let value = node.leaf(self.evaluator);
        probes.iter().find_map(|probe| self.probe(node, probe, alpha, value))
    }

    /// Which side of `alpha` the value is on, as `alpha` or one more, if the shallow search of a probe is sure enough of it. It is tried
    /// where the static value `value` says so too: others hardly ever succeed. With a shallow depth of 0 the static value is all.
    pub fn probe(&mut self, node: &Node<E::State>, probe: &Probe, alpha: Score, value: Score) -> Option<Score> {
        if let Some(bound) = probe.high(alpha)
            && value >= bound
            && (probe.shallow == 0 || self.null_window(node, probe.shallow, bound - Score(1)) >= bound)
        {
            return Some(alpha + Score(1));
        }
        if let Some(bound) = probe.low(alpha)
            && value <= bound
            && (probe.shallow == 0 || self.null_window(node, probe.shallow, bound) <= bound)
        {
            return Some(alpha);
        }
        None
    }

    /// Looks at the stop flags; once true, it stays true.
    pub fn should_stop(&mut self) -> bool {
        self.should_stop_at(self.nodes)
    }

    /// [`Self::should_stop`] in a search that visited this many positions in all.
    pub fn should_stop_at(&mut self, nodes: u64) -> bool {
        self.stopped = self.stopped || self.stop.is_set_at(nodes);
        self.stopped
    }

    /// Searches moves until one is worth more than `alpha`. The table's move, or at depth 2 the killer, is searched first, on its
    /// own: if it cuts, the others are not even generated.
    #[inline]
    fn search_moves(&mut self, node: &Node<E::State>, known: Entry, depth: u32, alpha: Score) -> Best {
        let hash_move = known.hash_move(node.moves);
        let first = if hash_move == 0 && depth == 2 { node.moves & self.killers.depth2 } else { hash_move };
        let mut best = (-Score::INFINITY, None);
        if first != 0 {
            let to = Square::lowest(first);
            let flips = node.position.flips(to);
            let replies = node.position.play_unchecked(to, flips).moves();
            best = (self.null_window_child(node, &ListedMove { flips, replies, to }, depth, alpha), Some(to));
        }
        if best.0 <= alpha && node.moves != first {
            best = self.search_scored_moves(node, node.moves & !first, known, depth, alpha, best);
        }
        if depth == 2
            && best.0 > alpha
            && let Some(to) = best.1
        {
            self.killers.depth2 = to.bit();
        }
        best
    }

    /// Continues with the moves that were not searched yet.
    #[inline]
    fn search_scored_moves(
        &mut self,
        node: &Node<E::State>,
        set: Bitboard,
        known: Entry,
        depth: u32,
        alpha: Score,
        mut best: Best,
    ) -> Best {
        let mut moves = MoveList::new();
        if depth < EVAL_ORDER_MIN_DEPTH {
            moves.generate(node.position, set, |to, replies, _| mobility_score(to, replies));
            moves.prefer(known);
        } else {
            moves.generate_for_etc(node.position, set, self.table);
            let wanted = (depth as u8 - 1, self.trust_at(node, depth));
            if let Some((bound, to)) = moves.etc(self.table, node.position, wanted, alpha.0) {
                return (Score(bound), Some(to));
            }
            self.score_moves(&mut moves, node, depth, known);
        }
        if self.threads > 1 && depth >= SPLIT_MIN_DEPTH {
            return self.split(node, &mut moves, depth, alpha, best);
        }
        while let Some(next) = pick(&mut moves) {
            let value = self.listed_child(node, &next, moves.picked(), depth, alpha);
            if value > best.0 {
                best = (value, Some(next.to));
                if value > alpha {
                    break;
                }
            }
        }
        best
    }

    /// The value of a null-window node's move.
    #[inline(always)]
    fn null_window_child(&mut self, node: &Node<E::State>, next: &ListedMove, depth: u32, alpha: Score) -> Score {
        let child = node.play(self.evaluator, next.to, next.flips, next.replies);
        -self.null_window(&child, depth - 1, Score(-alpha.0 - 1))
    }

    /// [`Self::null_window_child`] of the move picked as the `number`th. In a selective search late moves are searched two plies less
    /// deep first (late move reductions), and to the full depth only if that does not say surely enough that they are no better.
    #[inline]
    fn listed_child(
        &mut self,
        node: &Node<E::State>,
        next: &ListedMove,
        number: usize,
        depth: u32,
        alpha: Score,
    ) -> Score {
        if number > SORTED_MOVES
            && depth >= EVAL_ORDER_MIN_DEPTH
            && let Some(selectivity) = self.selectivity
            && let Some(bound) = selectivity.late_bound(node.position.empties(), depth, alpha)
        {
            let value = self.null_window_child(node, next, depth - 2, bound);
            if value <= bound {
                return value + (alpha - bound);
            }
        }
        self.null_window_child(node, next, depth, alpha)
    }

    /// Searches scored moves on all threads once a first one has been searched.
    #[cold]
    fn split(
        &mut self,
        node: &Node<E::State>,
        moves: &mut MoveList<MAX_MOVES>,
        depth: u32,
        alpha: Score,
        mut best: Best,
    ) -> Best {
        if best.1.is_none()
            && let Some(first) = pick(moves)
        {
            best = (self.null_window_child(node, &first, depth, alpha), Some(first.to));
        }
        let picked = moves.picked();
        let rest: ArrayVec<_, MAX_MOVES> = std::iter::from_fn(|| pick(moves)).collect();
        let (value, Some(to)) = best else { return best };
        if value > alpha || rest.is_empty() {
            return best;
        }
        let stop = self.stop.after(self.nodes);
        let outcome = SplitPoint::new(&rest, alpha.0, (value.0, to), &stop).run(self.threads, |point| {
            let mut worker = Search { nodes: 0, stop: point.stop(), ..*self };
            while let Some((place, next)) = point.next_move() {
                let value = worker.listed_child(node, next, picked + place + 1, depth, alpha);
                if worker.stopped {
                    break;
                }
                point.update(value.0, next.to);
            }
            worker.nodes
        });
        self.nodes += outcome.nodes;
        self.should_stop();
        (Score(outcome.best.0), Some(outcome.best.1))
    }

    /// The value of a node without a move: the game is over, or the search continues after a pass.
    #[cold]
    fn pass(&mut self, node: &Node<E::State>, go_on: impl FnOnce(&mut Self, &Node<E::State>) -> Score) -> Score {
        let passed = node.pass(self.evaluator);
        if passed.moves == 0 {
            return node.result();
        }
        go_on(self, &passed)
    }

    /// Scores moves by the static value of the position they lead to and the opponent's mobility; near the horizon by mobility
    /// alone, which is cheaper.
    fn score_moves(&self, moves: &mut MoveList<MAX_MOVES>, node: &Node<E::State>, depth: u32, known: Entry) {
        if depth < EVAL_ORDER_MIN_DEPTH {
            return moves.score(node.position, known, |next, _| mobility_score(next.to, next.replies));
        }
        moves.score(node.position, known, |next, _| {
            let value = node.leaf_after(self.evaluator, next.to, next.flips);
            MOBILITY_WEIGHT * mobility_score(next.to, next.replies) - value.0
        });
    }
}

/// The trust in the bounds of a selective search.
const SELECTIVE: Trust = 0;

/// The next move of a list of scored moves: the first few in the order of their scores, then any.
#[inline]
fn pick(moves: &mut MoveList<MAX_MOVES>) -> Option<ListedMove> {
    if moves.picked() < SORTED_MOVES { moves.pick() } else { moves.pick_any() }
}
