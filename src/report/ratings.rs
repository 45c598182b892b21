//! How strong the weights of a run were at each gate: one fit of all its matches.

use serde::Serialize;

use crate::arena::{PairPoints, Ratings};
use crate::train::{GateMatch, TrainEvent};

/// The rating of the weights that a gate measured. `mobility`, which is the same in all runs, has 0.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rating {
    /// Generations played before.
    pub generation: u32,
    /// Hours of the run.
    pub hours: f64,
    /// Whether the weights had just been fitted to kept games.
    pub fitted: bool,
    /// Whether they became the best.
    pub promoted: bool,
    /// Elo, and the ends of its 95% interval.
    pub elo: [f64; 3],
}

/// Players besides those that gates measure: `mobility`, and the weights that a run begins with, if any.
const MOBILITY: usize = 0;
const FIRST: usize = 1;

/// No match of a gate has more pairs: one for each XOT opening.
const MOST_PAIRS: u64 = 10_784;

/// The ratings of all gates, from one fit over all their games: against `mobility`, and against the best weights before. Gates without
/// games, and matches of more games than are ever played, which only a damaged file has, are left out.
pub fn ratings(events: &[TrainEvent]) -> Vec<Rating> {
    let (mut rated, mut results) = (Vec::new(), Vec::new());
    let (mut best, mut elapsed, mut has_learned) = (FIRST, 0.0, false);
    for event in events {
        elapsed = event.elapsed_after(elapsed);
        match event {
            TrainEvent::Played { .. } => has_learned = true,
            TrainEvent::Gate { generation, fitted, best: against_best, baseline, pairs, promoted, .. } => {
                let hours = elapsed / 3600.0;
                let player = FIRST + 1 + rated.len();
                add(&mut results, [player, MOBILITY], baseline, pairs[1]);
                if let Some(result) = against_best {
                    add(&mut results, [player, best], result, pairs[0]);
                }
                if *promoted {
                    best = player;
                }
                // A gate before the first generation, of the weights that a run begins with, is written as the first's.
                let played = if *generation > 0 || has_learned { generation.saturating_add(1) } else { 0 };
                let (generation, fitted, promoted) = (played, *fitted, *promoted);
                rated.push(Rating { generation, hours, fitted, promoted, elo: [0.0; 3] });
            }
            _ => {}
        }
    }
    let fit = Ratings::fit(FIRST + 1 + rated.len(), MOBILITY, &results);
    (FIRST + 1..)
        .zip(rated)
        .filter_map(|(number, rating)| Some(Rating { elo: fit.elo(number)?.into(), ..rating }))
        .collect()
}

/// Adds the pairs of a match. If they were not kept, games are paired as if wins, draws and losses came evenly mixed.
fn add(results: &mut Vec<PairPoints>, players: [usize; 2], result: &GateMatch, pairs: [u64; 5]) {
    let GateMatch { wins, draws, losses, .. } = *result;
    let total = |counts: &[u64]| counts.iter().try_fold(0, |sum: u64, &count| sum.checked_add(count));
    let (Some(paired), Some(games)) = (total(&pairs), total(&[wins, draws, losses])) else { return };
    if paired > MOST_PAIRS || games > 2 * MOST_PAIRS {
        return;
    }
    // Both matches of a gate have the same openings, but which pair had which is not kept: as if each had one of its own.
    let mut push = |half_points| {
        let opening = results.len();
        results.push(PairPoints { players, opening, half_points });
    };
    if paired > 0 {
        for (half_points, &count) in (0..).zip(&pairs) {
            (0..count).for_each(|_| push(half_points));
        }
        return;
    }
    let mixed = |number: u64, count: u64| (number + 1) * count / games - number * count / games;
    let points = |number: u64| (2 * mixed(number, wins) + mixed(number, draws)).min(2) as u32;
    (0..games / 2).for_each(|pair| push(points(2 * pair) + points(2 * pair + 1)));
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn all_matches_count_in_one_fit() {
        let gate = |generation, best: Option<GateMatch>, baseline: GateMatch| TrainEvent::Gate {
            generation,
            fitted: false,
            best,
            baseline,
            pairs: [best.map_or([0; 5], pairs), pairs(baseline)],
            promoted: true,
            seconds: 1.0,
        };
        let first = gate(0, None, result(160, 40));
        let alone = ratings(std::slice::from_ref(&first))[0].elo;
        assert!((alone[0] - 240.8).abs() < 1.0 && alone[1] < alone[0] && alone[0] < alone[2], "{alone:?}");
        // The second one beats `mobility` as often, but also the first.
        let both = ratings(&[first, gate(1, Some(result(140, 60)), result(160, 40))]);
        assert!(both[0].elo[0] < alone[0] && both[1].elo[0] > alone[0], "{both:?}");
        assert_eq!((both[1].generation, both[1].promoted), (2, true));
        assert_eq!(ratings(&[gate(0, None, GateMatch { score: 0.5, ..result(0, 0) })]), []);
        // Nothing was learned before the first.
        assert_eq!(both[0].generation, 0);
        // A run from weights: neither gate beats them, but the second comes nearer.
        let lost = |wins| Some(result(wins, 200 - wins));
        let against_first = |generation, best| match gate(generation, best, result(160, 40)) {
            TrainEvent::Gate { generation, fitted, best, baseline, pairs, seconds, .. } => {
                TrainEvent::Gate { generation, fitted, best, baseline, pairs, promoted: false, seconds }
            }
            _ => unreachable!("a gate"),
        };
        let behind = ratings(&[against_first(0, lost(40)), against_first(1, lost(90))]);
        assert!(behind[0].elo[0] < alone[0] && behind[1].elo[0] > alone[0], "{behind:?}");
    }

    #[test]
    fn hours_count_what_was_stopped() {
        let session = |text: &str| serde_json::from_str::<TrainEvent>(text).unwrap();
        let end = session(r#"{"event":"end","generation":0,"finished":false,"elapsed":7200.0}"#);
        let match_ = result(160, 40);
        let gate = TrainEvent::Gate {
            generation: 0,
            fitted: true,
            best: None,
            baseline: match_,
            pairs: [[0; 5], pairs(match_)],
            promoted: true,
            seconds: 1800.0,
        };
        assert_eq!(ratings(&[end, gate])[0].hours, 2.5);
    }

    #[test]
    fn matches_that_cannot_have_been_played_do_not_count() {
        let mut results = Vec::new();
        for (games, pairs) in [
            (result(6, 4), [0, 1, 0, 1, 999_999_999_999]),
            (result(6, 4), [0, u64::MAX, 0, 1, 0]),
            (result(u64::MAX, 0), [0; 5]),
            (GateMatch { draws: u64::MAX, ..result(6, 4) }, [0, 1, 0, 1, 0]),
            (result(30_000, 30_000), [0; 5]),
        ] {
            add(&mut results, [1, 0], &games, pairs);
            assert!(results.is_empty(), "{games:?} {pairs:?}");
        }
        add(&mut results, [1, 0], &result(10_784, 10_784), [5_392, 0, 0, 0, 5_392]);
        assert_eq!(results.len(), 10_784);
    }

    #[test]
    fn matches_without_pairs_have_as_many_points() {
        let old = GateMatch { draws: 3, ..result(120, 77) };
        let mut results = Vec::new();
        add(&mut results, [1, 0], &old, [0; 5]);
        let points: u32 = results.iter().map(|pair| pair.half_points).sum();
        assert!(results.len() == 100 && points.abs_diff(2 * 120 + 3) <= 3, "{points}");
    }
}
