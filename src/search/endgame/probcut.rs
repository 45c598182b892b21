//! ProbCut in the searches that precede the exact one (Michael Buro, "ProbCut: an effective selective extension of the alpha-beta
//! algorithm", 1995): if a midgame search says that a position's value is very probably on one side of the window, its tree is
//! not searched.

use super::Search;
use crate::eval::{Calibration, DepthPair, Evaluator, Score};
use crate::search::node::Node;
use crate::search::probcut::Probe;
use crate::search::table::{FULL_WIDTH, Trust};
use crate::search::tunables::{DEEP_MIN_EMPTIES, SELECTIVE_PASSES, SelectivePass};

/// The probes of a selective pass, by number of empty squares.
pub(super) type Probes = [Probe; 65];

/// The probes of all passes, from the evaluator's calibration if it says how searches predict exact values.
pub(super) fn probes(calibration: Option<&Calibration>) -> Box<[Probes]> {
    let pairs = calibration.map_or(&[][..], Calibration::pairs);
    let pairs: Vec<_> = pairs.iter().copied().filter(DepthPair::predicts_the_end).collect();
    let pass = |pass: &SelectivePass| {
        std::array::from_fn(|empties| Probe::new(&prediction(&pairs, empties as u32), pass.deviations))
    };
    SELECTIVE_PASSES.iter().map(pass).collect()
}

/// What predicts exact values at a number of empty squares: the measured pair that is nearest in empty squares, then in the depth
/// wanted.
fn prediction(measured: &[DepthPair], empties: u32) -> DepthPair {
    let wanted = probe_depth(empties);
    let distance = |pair: &DepthPair| {
        let nearest = empties.clamp(pair.min_empties.into(), pair.max_empties.into());
        (nearest.abs_diff(empties), wanted.abs_diff(pair.shallow.into()))
    };
    measured.iter().copied().min_by_key(distance).unwrap_or_else(|| default_prediction(empties))
}

/// The prediction if nothing was measured. The deviation is near that of the program's own weights, on 261 positions of human games
/// with 20 empty squares and on 600 of self-play with 7 to 24.
fn default_prediction(empties: u32) -> DepthPair {
    let shallow = probe_depth(empties);
    let deviation = (7.5 - 0.4 * shallow as f32).max(2.5);
    let (shallow, empties) = (shallow as u8, empties as u8);
    DepthPair { min_empties: empties, max_empties: empties, shallow, deep: empties, slope: 1.0, offset: 0.0, deviation }
}

/// How deep to probe, in plies: half the way to eight empty squares, rounded down to even, as evaluations after odd numbers of plies
/// are biased.
fn probe_depth(empties: u32) -> u32 {
    (empties.saturating_sub(8) / 2) & !1
}

impl<E: Evaluator> Search<'_, E> {
    /// The trust in the result of searching a node, by its number of empty squares: only deep nodes are cut, so results about all others
    /// are proved in every search.
    #[inline]
    pub(super) fn trust_at(&self, empties: u32) -> Trust {
        if empties >= DEEP_MIN_EMPTIES { self.shared.trust } else { FULL_WIDTH }
    }

    /// A bound for a deep node's value, if a probe says that it is very probably on that side of the window (`alpha`, `alpha` + 1).
    #[inline(never)]
    pub(super) fn probcut(&mut self, node: &Node<E::State>, alpha: i32, empties: u32) -> Option<i32> {
        if self.shared.trust == FULL_WIDTH {
            return None;
        }
        let probe = self.shared.probes[usize::from(self.shared.trust) - 1][empties as usize];
        // Values are whole discs, so each is above or below this.
        let middle = Score::from_discs(alpha) + Score(Score::DISC / 2);
        let value = node.leaf(self.midgame.evaluator);
        let bound = self.midgame.probe(node, &probe, middle, value)?;
        Some(if bound > middle { (alpha + 2) & !1 } else { alpha & !1 })
    }
}
