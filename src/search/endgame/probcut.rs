//! ProbCut in the searches that precede the exact one (Michael Buro, "ProbCut: an effective selective extension of the alpha-beta
//! algorithm", 1995): where a midgame search says that a position's value is very probably on one side of the window, its tree is
//! not searched.

use super::Search;
use crate::eval::{DepthPair, Evaluator, Score};
use crate::search::node::Node;
use crate::search::probcut::Probe;
use crate::search::table::{FULL_WIDTH, Trust};
use crate::search::tunables::{DEEP_MIN_EMPTIES, SELECTIVE_PASSES};

/// The probes of a selective pass, by number of empty squares.
pub(super) type Probes = [Probe; 65];

/// The probes of all passes.
pub(super) fn probes() -> Box<[Probes]> {
    let pass = |deviations: f32| std::array::from_fn(|empties| Probe::new(&prediction(empties as u32), deviations));
    SELECTIVE_PASSES.iter().map(|pass_| pass(pass_.deviations)).collect()
}

/// How a midgame search predicts exact values: the default, where the weights have not been calibrated. The deviation was
/// measured with the program's own weights on 261 positions of human games with 20 empty squares.
fn prediction(empties: u32) -> DepthPair {
    let shallow = ((empties.saturating_sub(8) / 2) & !1) as u8;
    let deviation = (7.5 - 0.4 * f32::from(shallow)).max(2.5);
    let empties = empties as u8;
    DepthPair { min_empties: empties, max_empties: empties, shallow, deep: empties, slope: 1.0, offset: 0.0, deviation }
}

impl<E: Evaluator> Search<'_, E> {
    /// How far the result of searching a node with so many empty squares can be relied upon: only deep nodes are cut, so that what
    /// is found out about others is proved in all searches.
    #[inline]
    pub(super) fn trust_at(&self, empties: u32) -> Trust {
        if empties >= DEEP_MIN_EMPTIES { self.shared.trust } else { FULL_WIDTH }
    }

    /// The bound of a deep node's value which, by a probe, very probably is on one side of (`alpha`, `alpha` + 1).
    pub(super) fn probcut(&mut self, node: &Node<E::State>, alpha: i32, empties: u32) -> Option<i32> {
        if self.shared.trust == FULL_WIDTH {
            return None;
        }
        let probe = self.shared.probes[usize::from(self.shared.trust) - 1][empties as usize];
        // Values are whole discs: this one is above or below.
        let middle = Score::from_discs(alpha) + Score(Score::DISC / 2);
        if node.leaf(self.midgame.evaluator) >= middle {
            let bound = probe.high(middle)?;
            (self.midgame.null_window(node, probe.shallow, bound - Score(1)) >= bound).then_some((alpha + 2) & !1)
        } else {
            let bound = probe.low(middle)?;
            (self.midgame.null_window(node, probe.shallow, bound) <= bound).then_some(alpha & !1)
        }
    }
}
