//! Multi-ProbCut: cutting subtrees whose value a shallow search predicts well enough (Michael Buro, "ProbCut: an effective
//! selective extension of the alpha-beta algorithm", 1995; "Experiments with Multi-ProbCut and a new high-quality evaluation
//! function for Othello", 1997).
//!
//! If a shallow search says that the deep value is on one side of a bound by more than a number of standard deviations, the deep
//! search is skipped. A [`Calibration`] holds the parameters, which [`super::calibrate`] measures; searches use them as a
//! [`Selectivity`]. So do late move reductions, which are surer of a move that comes late in the order by one deviation.

use std::sync::Arc;

use super::strength::Deviations;
use super::tunables::{LATE_DEVIATIONS, STRONGEST_DEVIATIONS};
use crate::eval::{Calibration, DepthPair, Evaluator, Score};

/// The depth of the shallow search that predicts a deep one: half as deep, rounded up to an odd number or down to an even one, because
/// odd and even depths see the tempo differently. `deep` is 2 or more.
pub fn shallow_depth(deep: u32) -> u32 {
    let half = deep / 2;
    if deep % 2 == 1 { half | 1 } else { half & !1 }
}

/// How selectively to search: the calibration of the weights, and how sure a cut has to be. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Selectivity {
    /// By number of empty squares, 0 to 60, and depth, 0 to 60.
    probes: Arc<[Vec<Probe>]>,
    /// The smallest depth with probes.
    min_depth: u32,
    deviations: f32,
}

/// A selective search is wanted with an evaluator that is not calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the evaluation is not calibrated for a selective search")]
pub struct NotCalibrated;

/// A shallow search that may replace a deep one, in units of [`Score`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Probe {
    /// Plies to search.
    pub(super) shallow: u32,
    slope: f32,
    offset: f32,
    margin: f32,
    /// The margin for late moves.
    late_margin: Score,
}

impl Selectivity {
    /// The selectivity of searches with an evaluator; `None` at full width.
    ///
    /// # Errors
    /// The evaluator is not calibrated.
    ///
    /// # Panics
    /// If the evaluator is calibrated and `deviations` is negative or not a number.
    pub fn of(evaluator: &impl Evaluator, deviations: Deviations) -> Result<Option<Self>, NotCalibrated> {
        let Some(deviations) = deviations else { return Ok(None) };
        let calibration = evaluator.calibration().ok_or(NotCalibrated)?;
        Ok(Some(Self::new(calibration, deviations)))
    }

    /// The margin with which an engine is strongest in its time: full width if the evaluator is not calibrated.
    pub fn strongest(evaluator: &impl Evaluator) -> Deviations {
        evaluator.calibration().map(|_| STRONGEST_DEVIATIONS)
    }

    /// How many standard deviations beyond the bound a prediction has to be.
    pub fn deviations(&self) -> f32 {
        self.deviations
    }

    /// Cuts if the predicted value is `deviations` standard deviations beyond the bound: 1 cuts a lot and errs now and then, 2 cuts
    /// little and seldom errs.
    ///
    /// # Panics
    /// If `deviations` is negative or not a number.
    pub fn new(calibration: &Calibration, deviations: f32) -> Self {
        assert!(deviations >= 0.0, "a number of standard deviations, not {deviations}");
        let mut probes = vec![Vec::new(); 61 * 61];
        let mut pairs = calibration.pairs().to_vec();
        pairs.sort_by_key(|pair| pair.shallow);
        for pair in pairs {
            let probe = Probe::new(&pair, deviations);
            for empties in pair.min_empties..=pair.max_empties {
                probes[slot(empties.into(), pair.deep.into())].push(probe);
            }
        }
        for empties in 0..=60 {
            for deep in 2..empties {
                if probes[slot(empties, deep)].is_empty()
                    && let Some(&below) = probes[slot(empties, deep - 2)].first()
                {
                    probes[slot(empties, deep)].push(Probe { shallow: shallow_depth(deep), ..below });
                }
            }
        }
        let min_depth = calibration.pairs().iter().map(|pair| u32::from(pair.deep)).min().unwrap_or(u32::MAX);
        Self { probes: probes.into(), min_depth, deviations }
    }

    /// Whether a search to `depth` may cut anywhere in its tree.
    #[inline]
    pub(super) fn cuts(&self, empties: u32, depth: u32) -> bool {
        (self.min_depth..empties).contains(&depth)
    }

    /// The shallow searches to try before a search to `depth`, the shallowest first. None if the search reaches the end of the game:
    /// exact results stay exact. A depth that was not measured has the parameters of the next lower one of the same parity.
    #[inline]
    pub(super) fn probes(&self, empties: u32, depth: u32) -> &[Probe] {
        if depth >= empties { &[] } else { &self.probes[slot(empties, depth)] }
    }

    /// The value at or below which a search of a late move two plies less deep says that the move is at most `alpha`, in a node that is
    /// searched to `depth`; `None` if no value does, or the search reaches the end of the game.
    #[inline]
    pub(super) fn late_bound(&self, empties: u32, depth: u32, alpha: Score) -> Option<Score> {
        let bound = alpha - self.probes(empties, depth).first()?.late_margin;
        (bound >= Score::MIN).then_some(bound)
    }
}

fn slot(empties: u32, depth: u32) -> usize {
    (empties * 61 + depth) as usize
}

impl Probe {
    /// The probe of a pair of depths, with a margin in standard deviations.
    pub(super) fn new(pair: &DepthPair, deviations: f32) -> Self {
        let &DepthPair { shallow, slope, offset, deviation, .. } = pair;
        let unit = Score::DISC as f32;
        let late_margin = Score(((deviations - LATE_DEVIATIONS).max(0.0) * deviation * unit) as i32);
        Self {
            shallow: shallow.into(),
            slope,
            offset: offset * unit,
            margin: deviations * deviation * unit,
            late_margin,
        }
    }

    /// A shallow value of this or more says that the deep one is above `alpha`; none if no value does.
    #[inline]
    pub(super) fn high(&self, alpha: Score) -> Option<Score> {
        let bound = ((alpha.0 as f32 + 1.0 + self.margin - self.offset) / self.slope).ceil();
        (bound <= Score::MAX.0 as f32).then(|| Score(bound as i32).max(Score::MIN))
    }

    /// A shallow value of this or less says that the deep one is at most `alpha`; none if no value does.
    #[inline]
    pub(super) fn low(&self, alpha: Score) -> Option<Score> {
        let bound = ((alpha.0 as f32 - self.margin - self.offset) / self.slope).floor();
        (bound >= Score::MIN.0 as f32).then(|| Score(bound as i32).min(Score::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: DepthPair =
        DepthPair { min_empties: 20, max_empties: 29, shallow: 2, deep: 4, slope: 1.0, offset: 0.5, deviation: 2.0 };

    #[test]
    fn shallow_depths_are_half_as_deep_and_of_equal_parity() {
        let depths: Vec<_> = (2..=14).map(shallow_depth).collect();
        assert_eq!(depths, [0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6]);
    }

    #[test]
    fn bounds_are_deviations_away_from_the_window() {
        let calibration = Calibration::new(vec![PAIR]).unwrap();
        let selectivity = Selectivity::new(&calibration, 1.5);
        let [probe] = selectivity.probes(20, 4) else { panic!("one pair") };
        assert_eq!(probe.shallow, 2);
        // 3 discs of margin, half a disc of offset.
        assert_eq!(probe.high(Score(127)), Some(Score::from_discs(1) + Score::from_discs(3) - Score(64)));
        assert_eq!(probe.low(Score::from_discs(1)), Some(Score::from_discs(1) - Score::from_discs(3) - Score(64)));
        assert_eq!(probe.high(Score::from_discs(62)), None);
        assert_eq!(probe.low(Score::from_discs(-61)), None);
        for (empties, depth) in [(19, 4), (30, 4), (25, 3), (25, 5), (25, 2), (0, 0), (60, 60)] {
            assert!(selectivity.probes(empties, depth).is_empty());
        }
        // Half a deviation of 2 discs.
        let alpha = Score::from_discs(5);
        assert_eq!(selectivity.late_bound(20, 4, alpha), Some(Score::from_discs(4)));
        assert_eq!(Selectivity::new(&calibration, 0.7).late_bound(20, 4, alpha), Some(alpha));
        assert_eq!([(20, 3), (19, 4)].map(|(empties, depth)| selectivity.late_bound(empties, depth, alpha)), [None; 2]);
        assert_eq!(selectivity.late_bound(20, 4, Score::MIN), None);
    }

    #[test]
    fn depths_that_were_not_measured_have_the_parameters_of_lower_ones() {
        let selectivity = Selectivity::new(&Calibration::new(vec![PAIR]).unwrap(), 1.0);
        let probe = |depth| match selectivity.probes(29, depth) {
            [probe] => Some((probe.shallow, probe.margin)),
            _ => None,
        };
        assert_eq!([4, 6, 16, 28].map(probe), [2, 2, 8, 14].map(|shallow| Some((shallow, 256.0))));
        assert_eq!([2, 5, 29, 30].map(probe), [None; 4]);
    }

    #[test]
    fn predictions_that_are_beyond_the_bounds_are_beyond_the_window() {
        let pair = DepthPair { slope: 1.3, offset: -0.7, ..PAIR };
        let selectivity = Selectivity::new(&Calibration::new(vec![pair]).unwrap(), 1.0);
        let probe = selectivity.probes(25, 4)[0];
        let predicted = |shallow: Score| 1.3 * f64::from(shallow.0) - 0.7 * 128.0;
        for alpha in (-40 * 128..40 * 128).step_by(37) {
            let (high, low) = (probe.high(Score(alpha)).unwrap(), probe.low(Score(alpha)).unwrap());
            let alpha = f64::from(alpha);
            assert!(predicted(high) - 256.0 >= alpha + 0.99 && predicted(high - Score(1)) - 256.0 < alpha + 1.01);
            assert!(predicted(low) + 256.0 <= alpha + 0.01 && predicted(low + Score(1)) + 256.0 > alpha - 0.01);
        }
    }

    #[test]
    fn searches_to_the_end_of_the_game_are_never_cut() {
        let pair = DepthPair { min_empties: 0, max_empties: 60, ..PAIR };
        let selectivity = Selectivity::new(&Calibration::new(vec![pair]).unwrap(), 0.0);
        assert!(selectivity.probes(4, 4).is_empty());
        assert_eq!(selectivity.probes(5, 4).len(), 1);
    }

    #[test]
    fn shallow_searches_come_first() {
        let deeper = DepthPair { shallow: 3, ..PAIR };
        let selectivity = Selectivity::new(&Calibration::new(vec![deeper, PAIR]).unwrap(), 1.0);
        assert_eq!(selectivity.probes(29, 4).iter().map(|probe| probe.shallow).collect::<Vec<_>>(), [2, 3]);
    }
}
