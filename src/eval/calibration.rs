//! What shallow searches say about deep ones: the parameters of selective search.
//!
//! A deep value is about `slope` x the shallow value + `offset`, with a normal error of standard deviation `deviation` (Michael
//! Buro, "ProbCut: an effective selective extension of the alpha-beta algorithm", 1995). The parameters belong to an evaluation, are
//! stored with its weights, and are measured by searches.

use serde::{Deserialize, Serialize};

/// How well the value of a shallow search predicts that of a deep one, over positions in a range of empty squares. Weight files hold
/// the fields in this order.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DepthPair {
    /// Smallest number of empty squares it holds for.
    pub min_empties: u8,
    /// Largest number of empty squares it holds for, at most 60.
    pub max_empties: u8,
    /// Plies of the shallow search; 0 is the static value.
    pub shallow: u8,
    /// Plies of the deep search, more than `shallow` and at most 60.
    pub deep: u8,
    /// Discs of the deep value per disc of the shallow one, above 0 and at most [`Self::MAX_SLOPE`].
    pub slope: f32,
    /// The deep value in discs when the shallow one is 0, at most [`Self::MAX_DISCS`] either way.
    pub offset: f32,
    /// Standard deviation of the deep value from what the shallow one predicts, in discs, 0 to [`Self::MAX_DISCS`].
    pub deviation: f32,
}

impl DepthPair {
    /// The largest slope that is accepted.
    pub const MAX_SLOPE: f32 = 100.0;
    /// The largest offset and deviation that are accepted, in discs.
    pub const MAX_DISCS: f32 = 128.0;

    /// Whether the deep search reaches the end of the game from all positions that the pair holds for: the shallow one then predicts
    /// the game's result.
    pub fn predicts_the_end(&self) -> bool {
        self.deep >= self.max_empties
    }

    fn check(&self) -> Result<(), &'static str> {
        let Self { min_empties, max_empties, shallow, deep, slope, offset, deviation } = *self;
        if min_empties > max_empties || max_empties > 60 {
            Err("its numbers of empty squares must be a range within 0 to 60")
        } else if deep <= shallow || deep > 60 {
            Err("its depths must be at most 60 plies, the shallow one smaller")
        } else if !(slope > 0.0 && slope <= Self::MAX_SLOPE) {
            Err("its slope must be above 0 and at most 100")
        } else if !(-Self::MAX_DISCS..=Self::MAX_DISCS).contains(&offset) {
            Err("its offset must be within 128 discs")
        } else if !(0.0..=Self::MAX_DISCS).contains(&deviation) {
            Err("its deviation must be 0 to 128 discs")
        } else {
            Ok(())
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        (self.shallow, self.deep) == (other.shallow, other.deep)
            && self.min_empties <= other.max_empties
            && other.min_empties <= self.max_empties
    }
}

/// Why parameters cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CalibrationError(String);

/// The parameters of a set of weights: depth pairs that can be used together.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration(Vec<DepthPair>);

impl Calibration {
    /// The largest number of pairs.
    pub const MAX_PAIRS: usize = 1024;

    /// Checks the pairs.
    ///
    /// # Errors
    /// No pairs, too many, one with a value out of range, or two for the same depths and number of empty squares.
    pub fn new(pairs: Vec<DepthPair>) -> Result<Self, CalibrationError> {
        if pairs.is_empty() || pairs.len() > Self::MAX_PAIRS {
            return Err(CalibrationError(format!("{} depth pairs, expected 1 to {}", pairs.len(), Self::MAX_PAIRS)));
        }
        for (number, pair) in pairs.iter().enumerate() {
            let twice = || if pairs[..number].iter().any(|other| pair.overlaps(other)) { Err(TWICE) } else { Ok(()) };
            pair.check().and_then(|()| twice()).map_err(|reason| {
                let &DepthPair { shallow, deep, .. } = pair;
                CalibrationError(format!("depth pair {number} ({shallow} for {deep} plies): {reason}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: DepthPair =
        DepthPair { min_empties: 20, max_empties: 29, shallow: 2, deep: 4, slope: 1.0, offset: 0.5, deviation: 2.0 };

    #[test]
    fn what_cannot_have_been_measured_is_refused() {
        let refused = |pair: DepthPair| Calibration::new(vec![PAIR, pair]).unwrap_err().to_string();
        let next = DepthPair { min_empties: 30, max_empties: 39, ..PAIR };
        assert!(Calibration::new(vec![PAIR, next]).is_ok());
        for (pair, reason) in [
            (PAIR, "an earlier pair"),
            (DepthPair { min_empties: 29, ..next }, "an earlier pair"),
            (DepthPair { min_empties: 40, ..next }, "a range"),
            (DepthPair { max_empties: 61, ..next }, "a range"),
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
        for count in [0, 1025] {
            let error = Calibration::new(vec![PAIR; count]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{count} depth pairs")), "{error}");
        }
    }
}
