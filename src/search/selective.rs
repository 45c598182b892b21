//! Multi-ProbCut: cutting subtrees whose value a shallow search predicts well enough (Michael Buro, "ProbCut: an effective
//! selective extension of the alpha-beta algorithm", 1995; "Experiments with Multi-ProbCut and a new high-quality evaluation
//! function for Othello", 1997).
//!
//! A deep value is about `slope` x the shallow value + `offset`, with a normal error of the standard deviation `deviation`. Where a
//! shallow search says that the deep value is on one side of a bound by more than so many standard deviations, the deep search is
//! left out. [`Calibration`] holds the parameters, which [`super::calibrate`] measures; [`Selectivity`] is what searches by them.

use std::sync::Arc;

use crate::eval::Score;

/// How well the value of a shallow search predicts that of a deep one, over positions of some numbers of empty squares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DepthPair {
    /// Smallest number of empty squares it holds for.
    pub least_empties: u8,
    /// Largest number of empty squares it holds for, at most 60.
    pub most_empties: u8,
    /// Plies of the shallow search, at least 1.
    pub shallow: u8,
    /// Plies of the deep search, more than `shallow` and at most 60.
    pub deep: u8,
    /// Discs of the deep value for a disc of the shallow one, above 0 and at most [`Self::MOST_SLOPE`].
    pub slope: f32,
    /// The deep value in discs where the shallow one is 0, at most [`Self::MOST_DISCS`] either way.
    pub offset: f32,
    /// Standard deviation of the deep value from what the shallow one predicts, in discs, 0 to [`Self::MOST_DISCS`].
    pub deviation: f32,
}

impl DepthPair {
    /// The largest slope that is accepted.
    pub const MOST_SLOPE: f32 = 100.0;
    /// The largest offset and deviation that are accepted, in discs.
    pub const MOST_DISCS: f32 = 128.0;

    fn check(&self) -> Result<(), &'static str> {
        let Self { least_empties, most_empties, shallow, deep, slope, offset, deviation } = *self;
        if least_empties > most_empties || most_empties > 60 {
            Err("its numbers of empty squares are no range within 0 to 60")
        } else if shallow < 1 || deep <= shallow || deep > 60 {
            Err("its depths are not 1 to 60 plies, the shallow one smaller")
        } else if !(slope > 0.0 && slope <= Self::MOST_SLOPE) {
            Err("its slope is not above 0 and at most 100")
        } else if !(-Self::MOST_DISCS..=Self::MOST_DISCS).contains(&offset) {
            Err("its offset is not within 128 discs")
        } else if !(0.0..=Self::MOST_DISCS).contains(&deviation) {
            Err("its deviation is not 0 to 128 discs")
        } else {
            Ok(())
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        (self.shallow, self.deep) == (other.shallow, other.deep)
            && self.least_empties <= other.most_empties
            && other.least_empties <= self.most_empties
    }
}

/// Parameters that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// None, or more than there is use for.
    #[error("{0} depth pairs where 1 to {most} are expected", most = Calibration::MOST_PAIRS)]
    Count(usize),
    /// A value that no measurement gives.
    #[error("depth pair {number} ({shallow} for {deep} plies): {reason}")]
    Pair {
        /// The pair's number, from 0.
        number: usize,
        /// Its shallow depth.
        shallow: u8,
        /// Its deep depth.
        deep: u8,
        /// What is wrong.
        reason: &'static str,
    },
}

/// The parameters of a set of weights: depth pairs that can be used together.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration(Vec<DepthPair>);

impl Calibration {
    /// Most pairs there may be.
    pub const MOST_PAIRS: usize = 1024;

    /// Checks the pairs.
    ///
    /// # Errors
    /// None, too many, one with a value out of its range, or two for the same depths and number of empty squares.
    pub fn new(pairs: Vec<DepthPair>) -> Result<Self, CalibrationError> {
        if pairs.is_empty() || pairs.len() > Self::MOST_PAIRS {
            return Err(CalibrationError::Count(pairs.len()));
        }
        for (number, pair) in pairs.iter().enumerate() {
            let twice = || if pairs[..number].iter().any(|other| pair.overlaps(other)) { Err(TWICE) } else { Ok(()) };
            pair.check().and_then(|()| twice()).map_err(|reason| {
                let &DepthPair { shallow, deep, .. } = pair;
                CalibrationError::Pair { number, shallow, deep, reason }
            })?;
        }
        Ok(Self(pairs))
    }

    /// The pairs.
    pub fn pairs(&self) -> &[DepthPair] {
        &self.0
    }
}

const TWICE: &str = "an earlier pair is for the same depths and empty squares";

/// How selectively to search: the parameters of the weights, and how sure a cut has to be. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Selectivity {
    /// By number of empty squares, 0 to 60, and depth, 0 to 60.
    probes: Arc<[Vec<Probe>]>,
}

/// A shallow search that may replace a deep one, in units of [`Score`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Probe {
    /// Plies to search.
    pub(super) shallow: u32,
    slope: f32,
    offset: f32,
    margin: f32,
}

impl Selectivity {
    /// Cuts where the predicted value is `deviations` standard deviations beyond the bound: 1 cuts much and errs now and then, 2
    /// cuts little and seldom errs.
    ///
    /// # Panics
    /// If `deviations` is negative or not a number.
    pub fn new(calibration: &Calibration, deviations: f32) -> Self {
        assert!(deviations >= 0.0, "a number of standard deviations, not {deviations}");
        let mut probes = vec![Vec::new(); 61 * 61];
        let unit = Score::DISC as f32;
        let mut pairs = calibration.pairs().to_vec();
        pairs.sort_by_key(|pair| pair.shallow);
        for pair in pairs {
            let DepthPair { slope, offset, deviation, .. } = pair;
            let margin = deviations * deviation * unit;
            let probe = Probe { shallow: u32::from(pair.shallow), slope, offset: offset * unit, margin };
            for empties in pair.least_empties..=pair.most_empties {
                probes[slot(empties.into(), pair.deep.into())].push(probe);
            }
        }
        Self { probes: probes.into() }
    }

    /// The shallow searches to try before a search to `depth`, the shallowest first. None where the search reaches the end of the
    /// game: exact results stay exact.
    #[inline]
    pub(super) fn probes(&self, empties: u32, depth: u32) -> &[Probe] {
        if depth >= empties { &[] } else { &self.probes[slot(empties, depth)] }
    }
}

fn slot(empties: u32, depth: u32) -> usize {
    (empties * 61 + depth) as usize
}

impl Probe {
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
        DepthPair { least_empties: 20, most_empties: 29, shallow: 2, deep: 4, slope: 1.0, offset: 0.5, deviation: 2.0 };

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
        let pair = DepthPair { least_empties: 0, most_empties: 60, ..PAIR };
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

    #[test]
    fn what_cannot_have_been_measured_is_refused() {
        let refused = |pair: DepthPair| Calibration::new(vec![PAIR, pair]).unwrap_err().to_string();
        let next = DepthPair { least_empties: 30, most_empties: 39, ..PAIR };
        assert!(Calibration::new(vec![PAIR, next]).is_ok());
        for (pair, reason) in [
            (PAIR, "an earlier pair"),
            (DepthPair { least_empties: 29, ..next }, "an earlier pair"),
            (DepthPair { least_empties: 40, ..next }, "no range"),
            (DepthPair { most_empties: 61, ..next }, "no range"),
            (DepthPair { shallow: 0, ..next }, "depths"),
            (DepthPair { shallow: 4, ..next }, "depths"),
            (DepthPair { deep: 61, ..next }, "depths"),
            (DepthPair { slope: 0.0, ..next }, "slope"),
            (DepthPair { slope: -1.0, ..next }, "slope"),
            (DepthPair { slope: f32::NAN, ..next }, "slope"),
            (DepthPair { slope: f32::INFINITY, ..next }, "slope"),
            (DepthPair { offset: f32::NAN, ..next }, "offset"),
            (DepthPair { offset: f32::NEG_INFINITY, ..next }, "offset"),
            (DepthPair { deviation: -0.1, ..next }, "deviation"),
            (DepthPair { deviation: f32::NAN, ..next }, "deviation"),
            (DepthPair { deviation: 129.0, ..next }, "deviation"),
        ] {
            let message = refused(pair);
            assert!(message.starts_with("depth pair 1 (") && message.contains(reason), "{pair:?}: {message}");
        }
        assert_eq!(Calibration::new(vec![]), Err(CalibrationError::Count(0)));
        assert_eq!(Calibration::new(vec![PAIR; 1025]), Err(CalibrationError::Count(1025)));
    }
}
