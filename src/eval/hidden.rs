//! A small hidden layer beside the sum of weights.

/// Units of the layer: the numbers in an entry's row. With the two bytes of its weight, an entry is a vector of sixteen bytes.
pub const UNITS: usize = 14;

/// What an entry adds to each unit, in 1/[`HiddenLayer::ON`].
pub type Row = [i8; UNITS];

/// A non-linear term of an evaluation. Besides its weight, every entry of the tables has a row: a number for each unit. The rows of
/// a position are summed like its weights, the biases of its stage are added, and each unit's sum is clamped to 0 to 1 (a clipped
/// ReLU) and multiplied by the unit's output in the stage. The products are added to the value (after Yu Nasu, "Efficiently updatable
/// neural-network-based evaluation functions for computer shogi", 2018: NNUE).
///
/// All arithmetic is in integers, so every machine gets the same result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HiddenLayer {
    /// By stage, which of `rows` it uses: neighbouring stages share them.
    pub rows_of_stage: Vec<u8>,
    /// Tables of rows, each in the order of [`Layout`](crate::pattern::Layout)'s weights.
    pub rows: Vec<Vec<Row>>,
    /// By stage, its biases and outputs.
    pub heads: Vec<Head>,
}

/// The biases and outputs of the units in a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// What each unit's sum starts from, in 1/[`HiddenLayer::ON`].
    pub bias: [i16; UNITS],
    /// What each unit adds to the value when fully on, in the units of the model's weights.
    pub output: [i16; UNITS],
}

impl HiddenLayer {
    /// The largest weight of a model, with a hidden layer or without one.
    pub const fn largest_weight(is_hidden: bool) -> i16 {
        if is_hidden { Self::MAX_WEIGHT } else { i16::MAX }
    }

    /// One more than the index of the last unit with a number other than 0, at least 1. Files of earlier versions have fewer than
    /// [`UNITS`].
    pub fn units(&self) -> usize {
        let is_used = |&unit: &usize| {
            self.heads.iter().any(|head| head.bias[unit] != 0 || head.output[unit] != 0)
                || self.rows.iter().flatten().any(|row| row[unit] != 0)
        };
        (0..UNITS).rfind(is_used).map_or(1, |last| last + 1)
    }

    /// The sum at which a unit is fully on.
    pub const ON: i16 = 256;
    /// Biases are within plus or minus this, so that no sum of rows overflows an `i16`.
    pub const MAX_BIAS: i16 = 1 << 14;
    /// The largest weight with a layer: up to it, each is 256 times an `i8` plus another `i8`.
    pub const MAX_WEIGHT: i16 = i16::MAX - 128;

    /// The rows that a stage uses.
    ///
    /// # Panics
    /// If there is no such stage, or its table of rows does not exist.
    pub fn rows_of(&self, stage: usize) -> &[Row] {
        &self.rows[usize::from(self.rows_of_stage[stage])]
    }

    /// Checks that it fits a model's weights, given by stage, each stage with the same number.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub(super) fn check(&self, weights: &[Vec<i16>]) -> Result<(), String> {
        let stages = weights.len();
        if let Some(found) = [self.rows_of_stage.len(), self.heads.len()].into_iter().find(|&found| found != stages) {
            return Err(format!("the hidden layer has {found} stages where the weights have {stages}"));
        }
        let missing = |&(_, number): &(usize, &u8)| usize::from(*number) >= self.rows.len();
        if let Some((stage, &number)) = self.rows_of_stage.iter().enumerate().find(missing) {
            return Err(format!(
                "the hidden layer's stage {stage} uses row table {number}, counted from 0, but there are only {}",
                self.rows.len()
            ));
        }
        let expected = weights.first().map_or(0, Vec::len);
        if let Some(rows) = self.rows.iter().find(|rows| rows.len() != expected) {
            let found = rows.len();
            return Err(format!("the hidden layer has {found} rows where the pattern set has {expected} weights"));
        }
        if weights.iter().flatten().any(|&weight| weight > Self::MAX_WEIGHT) {
            return Err(format!("a weight is above {}, the largest allowed with a hidden layer", Self::MAX_WEIGHT));
        }
        let mut biases = self.heads.iter().flat_map(|head| head.bias);
        let within = |bias: i16| bias.unsigned_abs() <= Self::MAX_BIAS.unsigned_abs();
        if !biases.all(within) {
            return Err(format!("a bias of the hidden layer is beyond plus or minus {}", Self::MAX_BIAS));
        }
        Ok(())
    }
}
