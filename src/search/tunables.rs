//! The tuned constants of the searches. They were chosen by nodes and time of `flipside bench` and the FFO suites on one thread,
//! trying a value and its neighbours in turn.

use crate::eval::Score;

/// Half the width of the aspiration window around the previous iteration's value. Narrower and wider ones visit more nodes.
pub(super) const ASPIRATION: Score = Score(3 * Score::DISC);

/// Number of moves of a midgame node that are picked in order of their scores. If these did not raise alpha, usually none does.
pub(super) const SORTED_MOVES: usize = 4;

/// ProbCut's margin, in standard deviations, with which play is strongest: at 20,000 nodes a move 0.65 is 31 Elo behind, 0.75 4 and 0.9 19
/// (+-20). At 10 ms full width is 328 +- 52 Elo weaker.
pub(super) const STRONGEST_DEVIATIONS: f32 = 0.8;

/// How many standard deviations of ProbCut's margin a move that comes later than these is spared. Without any late move reductions a search
/// is 43 +- 26 Elo weaker at equal nodes.
pub(super) const LATE_DEVIATIONS: f32 = 1.0;

/// Depth, in plies, from which midgame nodes look at the stop flag. Shallower searches are quick and always completed, so a stopped
/// search still has an answer.
pub(super) const STOP_MIN_DEPTH: u32 = 4;

/// Depth, in plies, from which midgame nodes order moves by static value too, and try enhanced transposition cutoffs. From 3 on, this
/// saves 4% of the nodes but takes 16% more time.
pub(super) const EVAL_ORDER_MIN_DEPTH: u32 = 4;

/// The worth of a point of [`mobility_score`](super::ordering::mobility_score) beside a static value: 3/4 disc visits the fewest
/// nodes.
pub(super) const MOBILITY_WEIGHT: i32 = 3 * Score::DISC / 4;

/// Depth, in plies, from which a midgame node is a split point. From 6 on is as good, from 4 on is worse.
pub(super) const SPLIT_MIN_DEPTH: u32 = 5;

/// Depth, in plies, from which null-window nodes use a table that fits the L2 cache, and one that does not: searching two plies again
/// takes no longer than an access to memory.
pub(super) const TT_MIN_DEPTH: [u32; 2] = [2, 3];

/// What is kept of a tree for the search of the next root: entries up to this many plies below it, where each node on the way was searched
/// to at least [`KEPT_MIN_DEPTH`]. One ply more saves hardly another percent of the nodes, and finding its entries costs as much.
pub(super) const KEPT_PLIES: u32 = 2;

/// See [`KEPT_PLIES`].
pub(super) const KEPT_MIN_DEPTH: u32 = 3;

/// The largest table, as a logarithm of its entries, that fits the L2 cache beside the evaluator's tables: 1 MB.
pub(super) const CACHED_LOG2_ENTRIES: u32 = 16;

/// Empty squares from which endgame nodes use a table, cut by stable discs, and order their moves.
pub(super) const TT_MIN_EMPTIES: u32 = 6;

/// Empty squares from which endgame nodes try enhanced transposition cutoffs and order moves by stable edge discs too.
pub(super) const ETC_MIN_EMPTIES: u32 = 9;

/// Empty squares from which positions go to the table that all threads share instead of the thread's own, which is nearer.
pub(super) const SHARED_TT_MIN_EMPTIES: u32 = 11;

/// Empty squares from which endgame nodes order moves by midgame searches.
pub(super) const DEEP_MIN_EMPTIES: u32 = 12;

/// Empty squares from which an endgame node is a split point.
pub(super) const SPLIT_MIN_EMPTIES: u32 = 16;

/// Size of a thread's own tables in the endgame, as logarithms of their entries: they stay in the L2 cache.
pub(super) const NEAR_LOG2_ENTRIES: u32 = 14;
pub(super) const MIDGAME_LOG2_ENTRIES: u32 = 13;

/// What each reply costs a move in the order of endgame moves.
pub(super) const REPLY_PENALTY: Score = Score(5 * Score::DISC / 2);

/// What each square on which the opponent may get a move costs it. This saves 5% of the nodes of FFO 20-45, and 4% in 200 positions of
/// self-play with 16 to 22 empties; 3/4 or 5/4 disc saves as much.
pub(super) const POTENTIAL_PENALTY: Score = Score(Score::DISC);

/// What a stable edge disc is worth in the order of endgame moves.
pub(super) const STABLE_EDGE_BONUS: Score = Score(Score::DISC / 2);

/// The searches that order moves use a window that begins this far below alpha, or below the best value so far: it does not matter
/// how bad a bad move is.
pub(super) const ORDER_MARGIN: Score = Score(12 * Score::DISC);

/// How far below alpha the static value of an endgame node is where the node hardly ever fails high, so that its moves are not worth
/// searching for their order. Two in five nodes are such; one in a thousand of these fails high. Margins of 12 to 24 discs are as good.
pub(super) const FAIL_LOW_MARGIN: Score = Score(16 * Score::DISC);

/// Extra plies for the searches that order the moves of an open-window node: such nodes are few and their order matters most.
pub(super) const PV_EXTRA_ORDER_DEPTH: u32 = 2;

/// A selective search that precedes the exact one.
pub(super) struct SelectivePass {
    /// Fewest empty squares of the positions it is made for.
    pub min_empties: u32,
    /// The margin of its probes in standard deviations of their error.
    pub deviations: f32,
}

/// The selective passes in order: each is surer than the one before. Two of them below 24 empties save a fifth of the nodes of FFO 20-39
/// compared with one from 18 on, 10% at 16 empties and 7% at 20. A fourth one costs more than it saves (3 to 9% more nodes at 27 to
/// 30 empties).
pub(super) const SELECTIVE_PASSES: [SelectivePass; 3] = [
    SelectivePass { min_empties: 16, deviations: 0.8 },
    SelectivePass { min_empties: 18, deviations: 1.8 },
    SelectivePass { min_empties: 24, deviations: 3.0 },
];

/// Empty squares from which a midgame search guesses the value that the endgame's first window is around. Fewer are solved in less time
/// than it takes.
pub(super) const GUESS_MIN_EMPTIES: u32 = 9;

/// Half the width, in discs, of the endgame's window around the guess or the value of the previous pass, doubled after each failure.
pub(super) const ASPIRATION_DISCS: i32 = 2;

/// Once a failed window would grow by more than this, in discs, its other side is opened.
pub(super) const MAX_ASPIRATION_STEP: i32 = 64;

/// Within limits of time or nodes, how many plies before the end of the game selective searches leave the rest to the solver: 4 to 10 are
/// level.
pub(super) const SOLVED_PLIES: u32 = 6;
