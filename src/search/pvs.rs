//! Principal variation search (Tony Marsland and Murray Campbell, "Parallel search of strongly ordered game trees",
//! 1982; Alexander Reinefeld's NegaScout, 1983), fail-soft, with iterative deepening, a transposition table and move
//! ordering.

use arrayvec::ArrayVec;

use super::brothers::Brothers;
use super::node::{Node, promise};
use super::selective::{Probe, Selectivity};
use super::stop::Stop;
use super::table::Table;
use crate::board::{Bitboard, Square, squares};
use crate::eval::{Evaluator, Score};

/// Moves from the root on, best play by both sides. Passes are left out.
pub(super) type Line = ArrayVec<Square, 64>;

/// A legal move with the discs it turns, the moves it leaves the opponent, and its place in the order of trying.
#[derive(Clone, Copy)]
struct Candidate {
    to: Square,
    flips: Bitboard,
    replies: Bitboard,
    key: i32,
}

type Candidates = ArrayVec<Candidate, 64>;

/// The best value among the moves tried so far, and its move.
type Best = (Score, Option<Square>);

/// One search: what it works with and what it counts.
pub(super) struct Search<'a, E: Evaluator> {
    pub evaluator: &'a E,
    pub table: &'a Table,
    /// With fewer plies to go null-window nodes leave the table alone.
    pub least_stored: u32,
    /// Threads of the pool this runs in.
    pub threads: usize,
    /// The last move that was too good for the opponent with one ply to go, and with two: often so in the next sibling too.
    pub killers: [Bitboard; 2],
    /// What subtrees may be cut by; none is a full-width search.
    pub selectivity: Option<&'a Selectivity>,
    /// Whether a shallow search of a selective cut is going on.
    pub probing: bool,
    pub nodes: u64,
    /// Looked at by nodes with [`STOPPABLE`] plies to go or more.
    pub stop: Stop<'a>,
    /// Whether the search was given up: what it answers from then on means nothing, and nothing is stored.
    pub stopped: bool,
}

impl<E: Evaluator> Search<'_, E> {
    /// Searches with a window around the expected value, then with an open one on the side where the value turns out to
    /// be. Answers nothing if stopped.
    pub fn aspire(
        &mut self,
        root: &Node<E::State>,
        depth: u32,
        expected: Option<Score>,
        line: &mut Line,
    ) -> Option<Score> {
        let (mut alpha, mut beta) = (-Score::INFINITY, Score::INFINITY);
        if let Some(expected) = expected {
            (alpha, beta) = (expected - ASPIRATION, expected + ASPIRATION);
        }
        loop {
            line.clear();
            let score = self.principal(root, depth, alpha, beta, line);
            if self.stopped {
                return None;
            } else if score <= alpha && alpha > -Score::INFINITY {
                alpha = -Score::INFINITY;
            } else if score >= beta && beta < Score::INFINITY {
                beta = Score::INFINITY;
            } else {
                return Some(score);
            }
        }
    }

    /// Searches with an open window, filling the principal variation.
    fn principal(&mut self, node: &Node<E::State>, depth: u32, alpha: Score, beta: Score, line: &mut Line) -> Score {
        self.nodes += 1;
        if depth == 0 {
            return node.leaf(self.evaluator);
        }
        let moves = node.moves;
        if moves == 0 {
            return self.pass(node, |search, passed| -search.principal(passed, depth, -beta, -alpha, line));
        }
        let hash = node.position.hash64();
        let known = self.table.probe(hash);
        let mut candidates = Candidates::new();
        self.rank(&mut candidates, node, moves, depth);
        let hash_move = known.map_or(0, |bound| bound.best_move(moves));
        if let Some(known) = candidates.iter_mut().find(|candidate| candidate.to.bit() == hash_move) {
            known.key = i32::MAX;
        }
        let (mut best, mut best_move, mut lower) = (-Score::INFINITY, None, alpha);
        let mut below = Line::new();
        let mut taken = 0;
        while let Some(candidate) = next(&mut candidates, taken) {
            taken += 1;
            let child = node.play(self.evaluator, candidate.to, candidate.flips, candidate.replies);
            below.clear();
            let mut value;
            if best_move.is_none() {
                value = -self.principal(&child, depth - 1, -beta, -lower, &mut below);
            } else {
                value = -self.zero_window(&child, depth - 1, Score(-lower.0 - 1));
                if value > lower && value < beta {
                    value = -self.principal(&child, depth - 1, -beta, -lower, &mut below);
                }
            }
            if self.stopped {
                return value;
            }
            if value > best {
                best = value;
                best_move = Some(candidate.to);
                if value > lower {
                    lower = value;
                    line.clear();
                    line.push(candidate.to);
                    line.extend(below.iter().copied().take(line.remaining_capacity()));
                }
                if value >= beta {
                    break;
                }
            }
        }
        self.table.store(hash, depth, alpha, beta, best, best_move.map(index));
        best
    }

    /// Whether the value is above `alpha`: a search with the window `(alpha, alpha + 1)`.
    fn zero_window(&mut self, node: &Node<E::State>, depth: u32, alpha: Score) -> Score {
        self.nodes += 1;
        if depth == 0 {
            return node.leaf(self.evaluator);
        }
        let moves = node.moves;
        if moves == 0 {
            return self.pass(node, |search, passed| -search.zero_window(passed, depth, Score(-alpha.0 - 1)));
        }
        if depth == 1 {
            return node.frontier(self.evaluator, alpha, &mut self.killers[0], &mut self.nodes);
        }
        if depth < self.least_stored {
            return self.refute(node, moves, 0, depth, alpha).0;
        }
        if depth >= STOPPABLE && self.should_stop() {
            return alpha;
        }
        let hash = node.position.hash64();
        let known = self.table.probe(hash);
        if let Some(bound) = known
            && bound.depth >= depth
        {
            if bound.lower > alpha {
                return bound.lower;
            }
            if bound.upper <= alpha {
                return bound.upper;
            }
        }
        if let Some(value) = self.selective_cut(node, depth, alpha) {
            return value;
        }
        let hash_move = known.map_or(0, |bound| bound.best_move(moves));
        let (best, best_move) = self.refute(node, moves, hash_move, depth, alpha);
        if !self.stopped {
            self.table.store(hash, depth, alpha, Score(alpha.0 + 1), best, best_move.map(index));
        }
        best
    }

    /// Which side of `alpha` the value is on, as `alpha` or one more, if a shallow search is sure enough of it. Within a
    /// shallow search nothing is cut: that its errors are those that were measured is what the cuts rest on.
    fn selective_cut(&mut self, node: &Node<E::State>, depth: u32, alpha: Score) -> Option<Score> {
        let selectivity = self.selectivity.filter(|_| !self.probing)?;
        self.probing = true;
        let mut probes = selectivity.probes(node.position.empties(), depth).iter();
        let cut = probes.find_map(|probe| self.probe(node, probe, alpha));
        self.probing = false;
        cut
    }

    fn probe(&mut self, node: &Node<E::State>, probe: &Probe, alpha: Score) -> Option<Score> {
        if let Some(bound) = probe.high(alpha)
            && self.zero_window(node, probe.shallow, bound - Score(1)) >= bound
        {
            return Some(alpha + Score(1));
        }
        if let Some(bound) = probe.low(alpha)
            && self.zero_window(node, probe.shallow, bound) <= bound
        {
            return Some(alpha);
        }
        None
    }

    /// Looks at the stop flags; once true, it stays true.
    fn should_stop(&mut self) -> bool {
        self.stopped = self.stopped || self.stop.is_set();
        self.stopped
    }

    /// Tries moves until one is worth more than `alpha`. The table's move, or with two plies to go the killer, comes alone: where
    /// it is good enough, the others need not be ranked.
    #[inline]
    fn refute(
        &mut self,
        node: &Node<E::State>,
        moves: Bitboard,
        hash_move: Bitboard,
        depth: u32,
        alpha: Score,
    ) -> Best {
        let first = if hash_move == 0 && depth == 2 { moves & self.killers[1] } else { hash_move };
        let mut best = (-Score::INFINITY, None);
        if first != 0 {
            let to = Square::lowest(first);
            let flips = node.position.flips(to);
            let replies = node.position.play_unchecked(to, flips).moves();
            let value = self.zero_window_child(node, &Candidate { to, flips, replies, key: 0 }, depth, alpha);
            best = (value, Some(to));
        }
        if best.0 <= alpha && moves != first {
            best = self.refute_ranked(node, moves & !first, depth, alpha, best);
        }
        if depth == 2
            && best.0 > alpha
            && let Some(to) = best.1
        {
            self.killers[1] = to.bit();
        }
        best
    }

    /// Goes on with the moves that were not tried yet.
    #[inline]
    fn refute_ranked(
        &mut self,
        node: &Node<E::State>,
        moves: Bitboard,
        depth: u32,
        alpha: Score,
        mut best: Best,
    ) -> Best {
        let mut candidates = Candidates::new();
        self.rank(&mut candidates, node, moves, depth);
        if depth >= MIN_DEPTH_TO_ORDER_BY_EVALUATION
            && let Some((value, to)) = self.known_refutation(node, &candidates, depth, alpha)
        {
            return (value, Some(to));
        }
        if self.threads > 1 && depth >= SPLIT {
            return self.split(node, &mut candidates, depth, alpha, best);
        }
        let mut taken = 0;
        while let Some(candidate) = next(&mut candidates, taken) {
            taken += 1;
            let value = self.zero_window_child(node, &candidate, depth, alpha);
            if value > best.0 {
                best = (value, Some(candidate.to));
                if value > alpha {
                    break;
                }
            }
        }
        best
    }

    /// The value of a null-window node's move.
    #[inline]
    fn zero_window_child(&mut self, node: &Node<E::State>, candidate: &Candidate, depth: u32, alpha: Score) -> Score {
        let child = node.play(self.evaluator, candidate.to, candidate.flips, candidate.replies);
        -self.zero_window(&child, depth - 1, Score(-alpha.0 - 1))
    }

    /// Does what [`Self::refute_ranked`] does, all threads taking part once a move has been tried.
    fn split(
        &mut self,
        node: &Node<E::State>,
        candidates: &mut Candidates,
        depth: u32,
        alpha: Score,
        mut best: Best,
    ) -> Best {
        let mut taken = 0;
        if best.1.is_none()
            && let Some(first) = next(candidates, taken)
        {
            taken += 1;
            best = (self.zero_window_child(node, &first, depth, alpha), Some(first.to));
        }
        let rest: ArrayVec<_, 64> = (taken..).map_while(|taken| next(candidates, taken)).collect();
        let (value, Some(to)) = best else { return best };
        if value > alpha || rest.is_empty() {
            return best;
        }
        let outcome = Brothers::new(&rest, alpha.0, (value.0, to), &self.stop).share(self.threads, |brothers| {
            let mut worker = Search { nodes: 0, stop: brothers.stop(), ..*self };
            while let Some(candidate) = brothers.next() {
                let value = worker.zero_window_child(node, candidate, depth, alpha);
                if worker.stopped {
                    break;
                }
                brothers.learn(value.0, candidate.to);
            }
            worker.nodes
        });
        self.nodes += outcome.nodes;
        self.should_stop();
        (Score(outcome.best.0), Some(outcome.best.1))
    }

    /// A move that the table knows to be worth more than `alpha`, with its value (Aske Plaat, Jonathan Schaeffer, Wim
    /// Pijls and Arie de Bruin, "Exploiting graph properties of game trees", 1996: enhanced transposition cutoffs).
    fn known_refutation(
        &self,
        node: &Node<E::State>,
        candidates: &Candidates,
        depth: u32,
        alpha: Score,
    ) -> Option<(Score, Square)> {
        let value = |candidate: &Candidate| {
            let after = node.position.play_unchecked(candidate.to, candidate.flips);
            let bound = self.table.probe(after.hash64()).filter(|bound| bound.depth >= depth - 1)?;
            Some((-bound.upper, candidate.to))
        };
        candidates.iter().filter_map(value).find(|&(value, _)| value > alpha)
    }

    /// The position has no move: it is over, or the other side moves on.
    fn pass(&mut self, node: &Node<E::State>, go_on: impl FnOnce(&mut Self, &Node<E::State>) -> Score) -> Score {
        let passed = node.pass(self.evaluator);
        if passed.moves == 0 {
            return node.result();
        }
        go_on(self, &passed)
    }

    /// Fills in `moves` with their keys: the static value of the position they lead to and the number of replies; near the
    /// frontier the replies alone, which is cheaper.
    fn rank(&self, candidates: &mut Candidates, node: &Node<E::State>, moves: Bitboard, depth: u32) {
        for to in squares(moves) {
            let flips = node.position.flips(to);
            let after = node.position.play_unchecked(to, flips);
            if depth >= MIN_DEPTH_TO_ORDER_BY_EVALUATION {
                self.table.prefetch(after.hash64());
            }
            let replies = after.moves();
            let key = if depth >= MIN_DEPTH_TO_ORDER_BY_EVALUATION {
                PROMISE * promise(to, replies) - node.leaf_after(self.evaluator, to, flips).0
            } else {
                promise(to, replies)
            };
            candidates.push(Candidate { to, flips, replies, key });
        }
    }
}

/// Half the width of the window around the value of the iteration before.
const ASPIRATION: Score = Score(3 * Score::DISC);

/// Candidates that are tried in order.
const SORTED: usize = 4;

/// Searches to less than this are over at once: whoever stops a search still gets the first iterations.
const STOPPABLE: u32 = 4;

/// From here on the static value of each move, and a look at what the table knows of it, cost less than they save.
const MIN_DEPTH_TO_ORDER_BY_EVALUATION: u32 = 4;

/// With so many plies to go a node's moves are handed out to other threads.
const SPLIT: u32 = 5;

/// What a point of [`promise`] is worth beside a static value: at 3/4 disc the search visits the fewest nodes.
const PROMISE: i32 = 3 * Score::DISC / 4;

/// A move as the table knows it.
fn index(to: Square) -> u8 {
    to.index() as u8
}

/// Takes the candidate of the highest key; after [`SORTED`] candidates any, since a position where these were not good enough
/// is most often one where none is.
fn next(candidates: &mut Candidates, taken: usize) -> Option<Candidate> {
    if taken >= SORTED {
        return candidates.pop();
    }
    let (mut best, mut key) = (0, candidates.first()?.key);
    for (i, candidate) in candidates.iter().enumerate() {
        if candidate.key >= key {
            (best, key) = (i, candidate.key);
        }
    }
    Some(candidates.swap_remove(best))
}
