//! Searches that precede the exact one: where a shallow probe says that a position's value is very probably on one side of
//! the window, its tree is not searched (ProbCut: M. Buro, "ProbCut: an effective selective extension of the alpha-beta
//! algorithm", 1995). What they find is not proved and never counts as such. It is where the exact search begins: it has
//! the table's moves to try first at every node that matters, and a window around the value to expect.

use super::Search;
use super::guided::GUIDED;
use crate::board::{Position, Square};
use crate::eval::{Evaluator, Score};
use crate::search::node::Node;

/// How far what is known about a position can be relied upon, of a search as of an entry of the table: [`EXACT`], or less.
pub(super) type Trust = u8;

/// Proved.
pub(super) const EXACT: Trust = PRECEDING.len() as Trust + 1;

/// A search that precedes the exact one.
struct Preceding {
    /// It is made of positions with so many empty squares or more.
    from: u32,
    /// The size of the margin in standard deviations of the probe's error.
    deviations: f32,
}

/// By trust, from 1 on.
const PRECEDING: [Preceding; 3] = [
    Preceding { from: 18, deviations: 1.0 },
    Preceding { from: 24, deviations: 1.7 },
    Preceding { from: 26, deviations: 3.0 },
];

/// The value is at first assumed to differ from the preceding search's by less than this.
const NARROW: i32 = 2;

/// After failing so often that steps are wider than this, a window has no second bound: selective searches may contradict each
/// other, and could go to and fro between two windows for ever.
const WIDEST: i32 = 64;

/// How deep to probe: an even number, as the evaluation after odd numbers of plies leans to one side.
fn depth(empties: u32) -> u32 {
    ((empties - 8) / 2) & !1
}

/// Standard deviation of a probe's error, in discs: measured on 261 positions of human games with 20 empty squares.
fn deviation(depth: u32) -> f32 {
    (7.5 - 0.4 * depth as f32).max(2.5)
}

impl<E: Evaluator> Search<'_, E> {
    /// How far the result of searching a node with so many empty squares can be relied upon: only guided nodes are cut, so
    /// that what is found out about others is proved in all searches.
    #[inline]
    pub(super) fn trust_at(&self, empties: u32) -> Trust {
        if empties >= GUIDED { self.trust } else { EXACT }
    }

    /// The bound of a guided node's value which, by a probe, very probably is on one side of (`alpha`, `alpha` + 1).
    pub(super) fn foreseen(&mut self, node: &Node<E::State>, alpha: i32, empties: u32) -> Option<i32> {
        if self.trust == EXACT {
            return None;
        }
        let depth = depth(empties);
        let margin = (PRECEDING[self.trust as usize - 1].deviations * deviation(depth) * Score::DISC as f32) as i32;
        let middle = alpha * Score::DISC + Score::DISC / 2;
        if node.leaf(self.evaluator).0 >= middle {
            let beta = middle + margin;
            (self.probe(node, depth, beta - 1, beta) >= beta).then_some((alpha + 2) & !1)
        } else {
            let alpha_of_probe = middle - margin;
            let value = self.probe(node, depth, alpha_of_probe, alpha_of_probe + 1);
            (value <= alpha_of_probe).then_some(alpha & !1)
        }
    }

    /// The value within `bounds`, two even numbers, and a move that reaches it; anything once stopped.
    pub(super) fn search_all(&mut self, position: Position, bounds: (i32, i32)) -> (i32, Option<Square>) {
        let empties = position.empties();
        let mut likely = bounds;
        for (trust, _) in (1..).zip(&PRECEDING).filter(|(_, preceding)| empties >= preceding.from) {
            self.trust = trust;
            let (guess, _) = self.within(position, bounds, likely);
            likely = window(guess - NARROW, guess + NARROW, bounds);
        }
        self.trust = EXACT;
        self.within(position, bounds, likely)
    }

    /// The value within `bounds`, which is likely to be within the narrower window `likely`.
    fn within(&mut self, position: Position, bounds: (i32, i32), likely: (i32, i32)) -> (i32, Option<Square>) {
        let (alpha, beta) = bounds;
        let ((mut low, mut high), mut step) = (likely, NARROW);
        loop {
            let found @ (value, _) = self.pvs(position, low, high);
            step *= 2;
            if self.stopped {
                return found;
            } else if value <= low && low > alpha {
                (low, high) = window(value - step, if step > WIDEST { beta } else { value + 2 }, bounds);
            } else if value >= high && high < beta {
                (low, high) = window(if step > WIDEST { alpha } else { value - 2 }, value + step, bounds);
            } else {
                return found;
            }
        }
    }
}

/// The part of a window that lies within `bounds`, or what there is next to it.
fn window(low: i32, high: i32, (alpha, beta): (i32, i32)) -> (i32, i32) {
    let low = low.clamp(alpha, beta - 2);
    (low, high.clamp(low + 2, beta))
}
