//! A position within a search, with the evaluator's state.

use std::hint::black_box;

use super::ordering::{Killers, likely_best};
use crate::board::{Bitboard, Position, Square};
use crate::eval::{Evaluator, Score};

/// A position, its moves, and the evaluator's state of it.
#[derive(Clone, Debug)]
pub(super) struct Node<S> {
    pub(super) position: Position,
    pub(super) moves: Bitboard,
    /// Where the last move went; a1 if there was none.
    last: Square,
    pub(super) state: S,
}

impl<S: Clone> Node<S> {
    pub(super) fn new(evaluator: &impl Evaluator<State = S>, position: &Position) -> Self {
        Self { position: *position, moves: position.moves(), last: Square::new(0), state: evaluator.state(position) }
    }

    /// The node after a move, which leaves the opponent the moves `replies`.
    #[inline]
    pub(super) fn play(
        &self,
        evaluator: &impl Evaluator<State = S>,
        to: Square,
        flips: Bitboard,
        replies: Bitboard,
    ) -> Self {
        let position = self.position.play_unchecked(to, flips);
        Self { position, moves: replies, last: to, state: evaluator.play(&self.state, to, flips) }
    }

    pub(super) fn pass(&self, evaluator: &impl Evaluator<State = S>) -> Self {
        let position = self.position.pass();
        Self { position, moves: position.moves(), last: self.last, state: evaluator.pass(&self.state) }
    }

    /// The value at the horizon. If the mover has no move, it is the value after the pass, negated, or the result if neither side
    /// can move.
    #[inline]
    pub(super) fn leaf(&self, evaluator: &impl Evaluator<State = S>) -> Score {
        if self.moves == 0 {
            return self.leaf_at_pass(evaluator);
        }
        evaluator.evaluate(&self.position, &self.state)
    }

    /// [`Self::leaf`] of the position after a move.
    #[inline(always)]
    pub(super) fn leaf_after(&self, evaluator: &impl Evaluator<State = S>, to: Square, flips: Bitboard) -> Score {
        let after = self.position.play_unchecked(to, flips);
        match evaluator.evaluate_move(&self.state, to, flips, &after) {
            Some(value) => value,
            None => self.leaf_at_pass_after(evaluator, to, flips),
        }
    }

    #[cold]
    fn leaf_at_pass_after(&self, evaluator: &impl Evaluator<State = S>, to: Square, flips: Bitboard) -> Score {
        self.play(evaluator, to, flips, 0).leaf_at_pass(evaluator)
    }

    #[cold]
    fn leaf_at_pass(&self, evaluator: &impl Evaluator<State = S>) -> Score {
        let passed = self.pass(evaluator);
        if passed.moves == 0 { self.result() } else { -evaluator.evaluate(&passed.position, &passed.state) }
    }

    /// The value at depth 1, where every child is a leaf, and its move. Stops at the first move worth `beta` or more, which becomes a
    /// killer. Adds the leaves to `nodes`.
    #[inline]
    pub(super) fn frontier(
        &self,
        evaluator: &impl Evaluator<State = S>,
        beta: Score,
        killers: &mut Killers,
        nodes: &mut u64,
    ) -> (Score, Square) {
        let mut best = (-Score::INFINITY, Square::lowest(self.moves));
        let known = [killers.countermoves[self.last.index()], killers.frontier];
        let mut rest = self.moves;
        while rest != 0 {
            let to = likely_best(rest, known);
            rest &= !to.bit();
            *nodes += 1;
            // Opaque, or the compiler would load all that a leaf reads before the loop, and spill it: a node has too few leaves for that.
            let (node, evaluator) = (black_box(self), black_box(evaluator));
            let value = -node.leaf_after(evaluator, to, node.position.flips(to));
            if value > best.0 {
                best = (value, to);
            }
            if value >= beta {
                killers.countermoves[self.last.index()] = to.bit();
                killers.frontier = to.bit();
                break;
            }
        }
        best
    }

    /// The exact value of a finished game.
    pub(super) fn result(&self) -> Score {
        Score::from_discs(self.position.final_score())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::squares;
    use crate::eval::MobilityEvaluator;

    #[test]
    fn a_countermove_is_tried_first_after_the_move_that_it_refuted() {
        let start = Node::new(&MobilityEvaluator, &Position::START);
        let after = |to: Square| {
            let flips = start.position.flips(to);
            let replies = start.position.play_unchecked(to, flips).moves();
            start.play(&MobilityEvaluator, to, flips, replies)
        };
        let nodes: Vec<_> = squares(start.moves).map(after).collect();
        // The value and the move, and how many leaves it took.
        let search = |node: &Node<()>, beta, killers: &mut Killers| {
            let mut leaves = 0;
            (node.frontier(&MobilityEvaluator, beta, killers, &mut leaves), leaves)
        };
        let values = nodes.iter().map(|node| search(node, Score::INFINITY, &mut { Killers::NONE }).0.0);
        let values: Vec<Score> = values.collect();
        let mut killers = Killers::NONE;
        let mut refute_all = || -> Vec<_> {
            nodes.iter().zip(&values).map(|(node, &value)| search(node, value, &mut killers)).collect()
        };
        let (first, second) = (refute_all(), refute_all());
        assert!(first.iter().any(|&(_, leaves)| leaves > 1));
        assert!(second.iter().all(|&(_, leaves)| leaves == 1));
        let found = |all: &[((Score, Square), u64)]| all.iter().map(|&(best, _)| best).collect::<Vec<_>>();
        assert_eq!(found(&first), found(&second));
    }
}
