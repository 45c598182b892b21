//! How far search values are from the truth, by what was measured for the weights.

use super::record::Deviation;
use crate::eval::{Calibration, DepthPair};

/// The standard deviations measured for some weights.
#[derive(Clone, Debug)]
pub struct Errors(Vec<DepthPair>);

impl Errors {
    /// The deviations that a calibration has measured; without one all are unknown.
    pub fn new(calibration: Option<&Calibration>) -> Self {
        Self(calibration.map_or_else(Vec::new, |calibration| calibration.pairs().to_vec()))
    }

    /// Whether any was measured.
    pub fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// How far a value by a search to `depth` is from the result with best play.
    ///
    /// A calibration measures how far it is from the value of deeper searches and, with few empty squares, from the result itself. If
    /// the deep search does not reach the end, each further ply is assumed to add as much variance as each measured one.
    pub fn of(&self, empties: u32, depth: u32) -> Deviation {
        if depth >= empties {
            return Deviation::EXACT;
        }
        // Closest by empty squares, then the depth itself or the nearest below it, then the deepest.
        let key = |pair: &&DepthPair| {
            let (min, max) = (u32::from(pair.min_empties), u32::from(pair.max_empties));
            let away = min.saturating_sub(empties) + empties.saturating_sub(max);
            let shallow = u32::from(pair.shallow);
            (away, shallow.saturating_sub(depth), depth.saturating_sub(shallow), u8::MAX - pair.deep)
        };
        let Some(pair) = self.0.iter().min_by_key(key) else { return Deviation::UNKNOWN };
        let measured = f64::from(pair.deviation);
        let plies = f64::from(pair.deep - pair.shallow);
        let left = f64::from(empties - depth);
        let share = if pair.predicts_the_end() { 1.0 } else { left / plies };
        Deviation::from_discs(measured * share.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_what_was_measured_and_grow_with_what_was_not() {
        let pair = |empties: (u8, u8), shallow, deep, deviation| DepthPair {
            min_empties: empties.0,
            max_empties: empties.1,
            shallow,
            deep,
            slope: 1.0,
            offset: 0.0,
            deviation,
        };
        let pairs = vec![
            pair((15, 20), 4, 20, 3.0),
            pair((21, 40), 4, 8, 2.0),
            pair((21, 40), 6, 8, 1.2),
            pair((21, 40), 4, 6, 1.0),
        ];
        let errors = Errors::new(Some(&Calibration::new(pairs).unwrap()));
        let discs = |empties, depth| errors.of(empties, depth).discs().unwrap();
        assert_eq!(discs(10, 10), 0.0);
        assert_eq!(discs(18, 4), 3.0);
        assert_eq!(discs(24, 4), (8.0 * 2.0 * 5f32.sqrt()).round() / 8.0);
        assert!(discs(40, 4) > discs(24, 4) && discs(40, 6) < discs(40, 4));
        assert!(discs(55, 7) > discs(40, 7));
        assert_eq!(Errors::new(None).of(40, 8), Deviation::UNKNOWN);
    }
}
