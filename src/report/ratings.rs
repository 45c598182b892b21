//! How strong the weights of a run were at each gate: one fit of all its matches.

use serde::Serialize;

use crate::arena::{self, PairPoints};
use crate::train::{Anchor, GateMatch, TrainEvent};

/// The rating of the weights that a gate measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rating {
    /// Generations played before.
    pub generation: u32,
    /// Hours of the run.
    pub hours: f64,
    /// Seconds that the gate took.
    pub seconds: f64,
    /// Whether the weights had just been fitted to kept games.
    pub fitted: bool,
    /// Whether they became the best.
    pub promoted: bool,
    /// Elo relative to the embedded weights, `default`, and the ends of its 95% interval.
    pub elo: [f64; 3],
}

/// Players besides those that gates measure: the anchors, and the weights that a run begins with, if any.
const DEFAULT: usize = 0;
const MOBILITY: usize = 1;
const FIRST: usize = 2;

/// Elo of `mobility` relative to `default`, for runs that came near only one of them: from a league at depth 4, solved from 12 empties,
/// with weights of other strengths beside them (95% interval: -803 to -689).
const MOBILITY_ELO: f64 = -746.0;

/// No match of a gate has more pairs: one for each XOT opening.
const MOST_PAIRS: u64 = 10_784;

/// The matches of a run's gates: against one of the anchors, and against the best weights before.
#[derive(Clone, Default, Debug)]
pub(super) struct Ratings {
    gates: Vec<Rating>,
    results: Vec<PairPoints>,
    /// The player that is the best; none is the one that the run began with.
    best: Option<usize>,
    /// Whether some gate was played against `default`.
    has_default: bool,
}

impl Ratings {
    /// Adds a gate.
    pub fn add(&mut self, gate: &TrainEvent, hours: f64, has_learned: bool) {
        let TrainEvent::Gate { generation, fitted, best, anchor, baseline, pairs, promoted, seconds } = gate else {
            return;
        };
        let player = FIRST + 1 + self.gates.len();
        let other = match anchor {
            Anchor::Mobility => MOBILITY,
            Anchor::Default => DEFAULT,
        };
        self.has_default |= other == DEFAULT;
        add(&mut self.results, [player, other], baseline, pairs[1]);
        if let Some(result) = best {
            add(&mut self.results, [player, self.best.unwrap_or(FIRST)], result, pairs[0]);
        }
        if *promoted {
            self.best = Some(player);
        }
        // A gate before the first generation, of the weights that a run begins with, is written as the first's.
        let played = if *generation > 0 || has_learned { generation.saturating_add(1) } else { 0 };
        let (generation, fitted, promoted, seconds) = (played, *fitted, *promoted, *seconds);
        self.gates.push(Rating { generation, hours, seconds, fitted, promoted, elo: [0.0; 3] });
    }

    /// The gates with their ratings, from one fit over all games. Gates without games are left out.
    pub fn fit(&self) -> Vec<Rating> {
        let (anchor, elo) = if self.has_default { (DEFAULT, 0.0) } else { (MOBILITY, MOBILITY_ELO) };
        let fit = arena::Ratings::fit(FIRST + 1 + self.gates.len(), anchor, &self.results);
        // Where no games lead from one anchor to the other, each has its own.
        let other =
            self.has_default.then(|| arena::Ratings::fit(FIRST + 1 + self.gates.len(), MOBILITY, &self.results));
        let of = |player: usize| {
            let by_anchor = fit.elo(player).map(|found| (found, elo));
            by_anchor.or_else(|| Some((other.as_ref()?.elo(player)?, MOBILITY_ELO)))
        };
        let rated = |(player, gate): (usize, &Rating)| {
            let (found, of_anchor) = of(player)?;
            Some(Rating { elo: <[f64; 3]>::from(found).map(|elo| elo + of_anchor), ..*gate })
        };
        (FIRST + 1..).zip(&self.gates).filter_map(rated).collect()
    }
}

/// Adds the pairs of a match, unless it has more than are ever played, which only a damaged file says.
fn add(results: &mut Vec<PairPoints>, players: [usize; 2], result: &GateMatch, pairs: [u64; 5]) {
    let GateMatch { wins, draws, losses, .. } = *result;
    let total = |counts: &[u64]| counts.iter().try_fold(0, |sum: u64, &count| sum.checked_add(count));
    let (Some(paired), Some(games)) = (total(&pairs), total(&[wins, draws, losses])) else { return };
    if paired > MOST_PAIRS || games > 2 * MOST_PAIRS {
        return;
    }
    // The matches of a gate have the same openings, but which pair had which is not kept: as if each had one of its own.
    for (half_points, &count) in (0..).zip(&pairs) {
        let from = results.len();
        results.extend((0..count as usize).map(|i| PairPoints { players, opening: from + i, half_points }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::History;
    use super::*;

    fn result(wins: u64, losses: u64) -> GateMatch {
        GateMatch {
            wins,
            draws: 0,
            losses,
            score: wins as f64 / (wins + losses) as f64,
            elo: [0.0; 3],
            discs: 0.0,
            superiority: 0.5,
        }
    }

    fn pairs(GateMatch { wins, losses, .. }: GateMatch) -> [u64; 5] {
        [losses / 2, 0, 0, 0, wins / 2]
    }

    fn gate(anchor: Anchor, best: Option<GateMatch>, baseline: GateMatch, promoted: bool) -> TrainEvent {
        let pairs = [best.map_or([0; 5], pairs), pairs(baseline)];
        TrainEvent::Gate { generation: 1, fitted: false, best, anchor, baseline, pairs, promoted, seconds: 1.0 }
    }

    fn elo(gates: &[TrainEvent]) -> Vec<[f64; 3]> {
        History::of(gates).gates().iter().map(|gate| gate.elo).collect()
    }

    #[test]
    fn all_matches_count_in_one_fit() {
        let first = gate(Anchor::Default, None, result(160, 40), true);
        let alone = elo(std::slice::from_ref(&first))[0];
        assert!((alone[0] - 240.8).abs() < 1.0 && alone[1] < alone[0] && alone[0] < alone[2], "{alone:?}");
        // The second one beats `default` as often, but also the first.
        let second = gate(Anchor::Default, Some(result(140, 60)), result(160, 40), true);
        let both = elo(&[first, second]);
        assert!(both[0][0] < alone[0] && both[1][0] > alone[0], "{both:?}");
        assert_eq!(elo(&[gate(Anchor::Default, None, GateMatch { score: 0.5, ..result(0, 0) }, true)]), [[0.0; 3]; 0]);
        // A run from weights: neither gate beats them, but the second comes nearer.
        let against_first = |wins| gate(Anchor::Default, Some(result(wins, 200 - wins)), result(160, 40), false);
        let behind = elo(&[against_first(40), against_first(90)]);
        assert!(behind[0][0] < alone[0] && behind[1][0] > alone[0], "{behind:?}");
    }

    #[test]
    fn runs_that_began_weak_and_those_that_are_strong_have_one_scale() {
        let weak = gate(Anchor::Mobility, None, result(150, 50), true);
        assert!((elo(std::slice::from_ref(&weak))[0][0] - MOBILITY_ELO - 190.8).abs() < 1.0);
        // The second lost one in four to `default` and beat the first as often: the first is twice as far away.
        let chained = elo(&[weak.clone(), gate(Anchor::Default, Some(result(150, 50)), result(50, 150), true)]);
        assert!((chained[1][0] + 190.8).abs() < 1.0 && (chained[0][0] + 381.7).abs() < 2.0, "{chained:?}");
        assert!(chained[0][2] - chained[0][0] > chained[1][2] - chained[1][0], "it is measured over two matches");
        // Nothing leads from one to the other.
        let apart = elo(&[weak, gate(Anchor::Default, None, result(50, 150), true)]);
        assert!((apart[0][0] - MOBILITY_ELO - 190.8).abs() < 1.0 && (apart[1][0] + 190.8).abs() < 1.0, "{apart:?}");
    }

    #[test]
    fn hours_count_what_was_stopped() {
        let end = TrainEvent::End { generation: 0, finished: false, elapsed: 7200.0, reason: None };
        let TrainEvent::Gate { fitted, best, anchor, baseline, pairs, promoted, .. } =
            gate(Anchor::Default, None, result(160, 40), true)
        else {
            unreachable!("a gate")
        };
        let seconds = 1800.0;
        let gate = TrainEvent::Gate { generation: 0, fitted, best, anchor, baseline, pairs, promoted, seconds };
        let rated = History::of(&[end, gate]).gates()[0];
        // Nothing was learned before it.
        assert_eq!((rated.hours, rated.generation), (2.5, 0));
    }

    #[test]
    fn matches_that_cannot_have_been_played_do_not_count() {
        let mut results = Vec::new();
        for (games, pairs) in [
            (result(6, 4), [0, 1, 0, 1, 999_999_999_999]),
            (result(6, 4), [0, u64::MAX, 0, 1, 0]),
            (GateMatch { draws: u64::MAX, ..result(6, 4) }, [0, 1, 0, 1, 0]),
        ] {
            add(&mut results, [1, 0], &games, pairs);
            assert!(results.is_empty(), "{games:?} {pairs:?}");
        }
        add(&mut results, [1, 0], &result(10_784, 10_784), [5_392, 0, 0, 0, 5_392]);
        assert_eq!(results.len(), 10_784);
    }
}
