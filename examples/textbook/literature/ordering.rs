//! The order in which moves are tried. Alpha-beta visits the fewest nodes if the best move comes first.

use super::tree::{Successor, Tree};
use flipside::eval::Score;

/// What decides the order of moves, most important first. Without any of it, the tree's own order is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ordering {
    /// First the best move in the table, from any depth (James Slagle and John Dixon, "Experiments with some programs that
    /// search game trees", 1969, order by earlier, shallower searches).
    pub hash_move: bool,
    /// Then the two latest moves that refuted a sibling (Selim Akl and Monroe Newborn, "The principal continuation and
    /// the killer heuristic", 1977).
    pub killers: bool,
    /// By the static value of the position a move leads to, from two plies above the horizon on (at one ply the
    /// static value is the search itself).
    pub evaluation: bool,
    /// By [`Tree::move_score`]: few replies for the other player. Adds to the static value if both are asked for.
    pub mobility: bool,
    /// If all this is equal, by how often a move cut elsewhere, weighted by 2^depth (Jonathan Schaeffer, "The history
    /// heuristic", 1983).
    pub history: bool,
    /// Before any move is tried: cut if the table knows a successor that suffices (Aske Plaat, Jonathan Schaeffer, Wim
    /// Pijls and Arie de Bruin, "Exploiting graph properties of game trees", 1996: enhanced transposition cutoffs).
    pub transposition_cutoffs: bool,
}

impl Ordering {
    /// The tree's own order.
    pub const NONE: Self = Self {
        hash_move: false,
        killers: false,
        evaluation: false,
        mobility: false,
        history: false,
        transposition_cutoffs: false,
    };

    /// What visits nearly the fewest nodes in Othello: all but killers, which do harm, and history, which saves another 1%.
    pub const BEST: Self =
        Self { hash_move: true, evaluation: true, mobility: true, transposition_cutoffs: true, ..Self::NONE };
}

/// What is remembered about moves that refuted others.
pub(super) struct Refutations {
    /// For each ply from the root, the two latest.
    killers: Vec<[u8; 2]>,
    /// For each player, by the move's name.
    history: [[u32; 256]; 2],
}

const NO_MOVE: u8 = u8::MAX;

/// What a point of [`Tree::move_score`] is worth beside a static value.
const MOVE_SCORE_UNIT: i32 = Score::DISC / 2;

impl Refutations {
    pub(super) fn new() -> Self {
        Self { killers: Vec::new(), history: [[0; 256]; 2] }
    }

    /// Records a move that cut at a node `ply` moves from the root.
    pub(super) fn add(&mut self, ply: usize, depth: u32, name: u8) {
        if self.killers.len() <= ply {
            self.killers.resize(ply + 1, [NO_MOVE; 2]);
        }
        let killers = &mut self.killers[ply];
        if killers[0] != name {
            *killers = [name, killers[0]];
        }
        let count = &mut self.history[ply % 2][usize::from(name)];
        *count = count.saturating_add(1 << depth.min(20));
    }

    /// Sorts successors into the order asked for; ties stay in the tree's order.
    pub(super) fn sort<T: Tree>(
        &self,
        (tree, ordering): (&T, &Ordering),
        successors: &mut [Successor<T::Node>],
        (ply, depth): (usize, u32),
        hash_move: Option<u8>,
    ) {
        if *ordering == (Ordering { transposition_cutoffs: ordering.transposition_cutoffs, ..Ordering::NONE }) {
            return;
        }
        let killers = self.killers.get(ply).copied().unwrap_or([NO_MOVE; 2]);
        // The sort is stable and puts the smallest key first.
        successors.sort_by_cached_key(|successor| {
            let name = successor.name;
            let first = !(ordering.hash_move && hash_move == Some(name));
            let killer = !(ordering.killers && killers.contains(&name));
            let mut worth = 0;
            if ordering.evaluation && depth > successor.plies {
                worth -= tree.evaluate(&successor.node).0;
            }
            if ordering.mobility {
                worth += MOVE_SCORE_UNIT * tree.move_score(successor);
            }
            let history = if ordering.history { self.history[ply % 2][usize::from(name)] } else { 0 };
            (first, killer, -worth, u32::MAX - history)
        });
    }
}
