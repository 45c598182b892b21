//! The constants that searches are tuned by. Each says its unit and how it was chosen: by nodes and time of `flipside bench` and the
//! FFO suites, one thread, a value and its neighbours in turn.

use crate::eval::Score;

/// Half the width of the aspiration window around the value of the iteration before. Narrower and wider ones visit more nodes.
pub(super) const ASPIRATION: Score = Score(3 * Score::DISC);

/// Moves of a midgame node that are picked in order of their scores. Where these did not raise alpha, most often none does.
pub(super) const SORTED_MOVES: usize = 4;

/// Depth, in plies, from which midgame nodes look at the stop flag. Shallower searches are over at once, so that a search that is
/// stopped still has an answer.
pub(super) const STOP_MIN_DEPTH: u32 = 4;

/// Depth, in plies, from which midgame nodes order moves by static value too, and try for enhanced transposition cutoffs. From 3 on
/// it saves 4% of the nodes and takes 16% more time.
pub(super) const EVAL_ORDER_MIN_DEPTH: u32 = 4;

/// What a point of [`mobility_score`](super::ordering::mobility_score) weighs beside a static value: 3/4 disc visits the fewest
/// nodes.
pub(super) const MOBILITY_WEIGHT: i32 = 3 * Score::DISC / 4;

/// Depth, in plies, from which a midgame node is a split point. From 6 on is as good, from 4 on is worse.
pub(super) const SPLIT_MIN_DEPTH: u32 = 5;

/// Depth, in plies, from which null-window nodes use a table that fits the second-level cache, and one that does not: two plies are
/// searched again in the time that memory takes to answer.
pub(super) const TT_MIN_DEPTH: [u32; 2] = [2, 3];

/// The largest table, as a logarithm of its entries, that fits the second-level cache beside the evaluator's tables: 1 MB.
pub(super) const CACHED_LOG2_ENTRIES: u32 = 16;

/// Empty squares from which endgame nodes use a table, cut by stable discs, and order their moves.
pub(super) const TT_MIN_EMPTIES: u32 = 6;

/// Empty squares from which endgame nodes try for enhanced transposition cutoffs and order moves by stable edge discs too.
pub(super) const ETC_MIN_EMPTIES: u32 = 9;

/// Empty squares from which positions go to the table that all threads share, and not to the thread's own one, which is nearer.
pub(super) const SHARED_TT_MIN_EMPTIES: u32 = 11;

/// Empty squares from which endgame nodes order moves by midgame searches.
pub(super) const DEEP_MIN_EMPTIES: u32 = 12;

/// Empty squares from which endgame nodes look at the stop flag.
pub(super) const STOP_MIN_EMPTIES: u32 = 14;

/// Empty squares from which an endgame node is a split point.
pub(super) const SPLIT_MIN_EMPTIES: u32 = 16;

/// Size of a thread's own tables in the endgame, as logarithms of their entries: they stay in the second-level cache.
pub(super) const NEAR_LOG2_ENTRIES: u32 = 14;
pub(super) const MIDGAME_LOG2_ENTRIES: u32 = 13;

/// In the order of endgame moves a reply that a move allows costs this much.
pub(super) const REPLY_PENALTY: Score = Score(3 * Score::DISC);

/// In the order of endgame moves a stable disc on the edge is worth this much.
pub(super) const STABLE_EDGE_BONUS: Score = Score(Score::DISC / 2);

/// The searches that order moves use a window that begins this far below alpha, or below the best value so far: how bad a bad move
/// is does not matter.
pub(super) const ORDER_MARGIN: Score = Score(12 * Score::DISC);

/// Plies that the searches that order the moves of an open-window node are deeper: such nodes are few and their order matters most.
pub(super) const PV_EXTRA_ORDER_DEPTH: u32 = 2;

/// A selective search that precedes the exact one.
pub(super) struct SelectivePass {
    /// Fewest empty squares of the positions it is made for.
    pub min_empties: u32,
    /// The margin of its probes in standard deviations of their error.
    pub deviations: f32,
}

/// The selective passes in order: each is surer than the one before. Two of them before 24 empties save a fifth of the nodes of FFO 20-39
/// against one from 18 on, 10% at 16 empties and 7% at 20. A fourth one costs more than it saves (3 to 9% more nodes at 27 to 30
/// empties).
pub(super) const SELECTIVE_PASSES: [SelectivePass; 3] = [
    SelectivePass { min_empties: 16, deviations: 0.8 },
    SelectivePass { min_empties: 18, deviations: 1.8 },
    SelectivePass { min_empties: 24, deviations: 3.0 },
];

/// In discs: half the width of the endgame's window around the value of the pass before, doubled after each failure.
pub(super) const ASPIRATION_DISCS: i32 = 2;

/// In discs: once a failed window would grow by more than this, its other side is opened.
pub(super) const MAX_ASPIRATION_STEP: i32 = 64;

/// Share of the time or nodes for a move that is given to solving; what is left then gives a search.
pub(super) const SOLVE_SHARE: f64 = 0.5;

/// Nodes that half of all positions with 12 empty squares need to be solved, and how many times as many for each further one.
pub(super) const SOLVE_NODES: (f64, f64) = (5_600.0, 2.2);

/// Solving is not tried where it can use less than this share of the nodes that it usually needs.
pub(super) const SOLVE_CHANCE: f64 = 0.25;

/// Share of the time or nodes for a move after which no iteration is begun: two more plies take four to ten times as long as all before.
pub(super) const LAST_ITERATION_START: f64 = 0.25;
