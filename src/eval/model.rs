//! A pattern evaluation as data: a pattern set, stages, a scale, and weights.

use std::ops::RangeInclusive;

use super::hidden::HiddenLayer;
use crate::board::Position;
use crate::pattern::{Layout, LayoutError, PatternSet};

/// Which stage each number of empty squares belongs to. Stages are numbered in the order in which a game enters them; a game may
/// leave a stage and enter it again, for example if odd and even numbers of empties have separate stages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageMap {
    /// Stage by number of empties, 0 to 60.
    of_empties: Vec<u8>,
}

impl StageMap {
    /// Stages of `plies` plies each, the first at 60 empties.
    ///
    /// # Panics
    /// If `plies` is 0.
    pub fn uniform(plies: u32) -> Self {
        Self::grouped(|empties| (60 - empties) / plies)
    }

    /// One stage for all numbers of empties, 0 to 60, with the same `group`.
    pub fn grouped<G: PartialEq>(group: impl Fn(u32) -> G) -> Self {
        let mut groups = Vec::new();
        let stage = |empties| {
            let group = group(empties);
            let known = groups.iter().position(|other| *other == group);
            known.unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            }) as u8
        };
        let mut of_empties: Vec<u8> = (0..=60).rev().map(stage).collect();
        of_empties.reverse();
        Self { of_empties }
    }

    /// Stages of `plies` plies, made coarser where they would split a table of the engine that a pattern set is for.
    ///
    /// # Panics
    /// If `plies` is 0.
    pub fn for_set(plies: u32, set: &PatternSet) -> Self {
        match &set.engine {
            Some(engine) => Self::uniform(plies).merged(|empties| engine.table_of(empties)),
            None => Self::uniform(plies),
        }
    }

    /// These stages, made coarser so that no `group` is split: all its numbers of empties go to the stage of the largest.
    pub fn merged<G: PartialEq>(&self, group: impl Fn(u32) -> G) -> Self {
        let largest = |empties| (empties..=60).rev().find(|&other| group(other) == group(empties));
        Self::grouped(|empties| self.of_empties(largest(empties).expect("a number is of its own group")))
    }

    /// Stages from the stage of each number of empties, 0 to 60.
    ///
    /// # Errors
    /// A table that is not 61 stages, numbered from 0 in the order in which a game enters them.
    pub fn from_table(of_empties: &[u8]) -> Result<Self, ModelError> {
        let stages = Self { of_empties: of_empties.to_vec() };
        let is_well_formed = of_empties.len() == 61 && stages == Self::grouped(|empties| stages.of_empties(empties));
        let wanted = "the stages must cover 60 to 0 empties, numbered from 0 in the order in which a game enters them";
        if is_well_formed { Ok(stages) } else { Err(ModelError(wanted.to_owned())) }
    }

    /// Stage by number of empties, 0 to 60.
    pub fn table(&self) -> &[u8] {
        &self.of_empties
    }

    /// The stage of positions with a number of empties; more than 60 count as 60.
    #[inline]
    pub fn of_empties(&self, empties: u32) -> usize {
        usize::from(self.of_empties[empties.min(60) as usize])
    }

    /// The stage of a position.
    #[inline]
    pub fn of(&self, position: &Position) -> usize {
        self.of_empties(position.empties())
    }

    /// Number of stages.
    pub fn count(&self) -> usize {
        self.of_empties.iter().max().map_or(0, |&last| usize::from(last) + 1)
    }

    /// The numbers of empties of a stage, in falling order.
    pub fn empties_of(&self, stage: usize) -> Vec<u32> {
        (0..=60).rev().filter(|&empties| self.of_empties(empties) == stage).collect()
    }
}

/// A pattern evaluation as it is stored: enough to evaluate positions, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// The patterns and scalar features.
    pub set: PatternSet,
    /// Which weights apply when.
    pub stages: StageMap,
    /// Weight units per disc.
    pub scale: u16,
    /// The weights by stage, each stage in the order of [`Layout`]'s weights, for the player to move.
    pub weights: Vec<Vec<i16>>,
    /// The hidden layer, if the value is more than the sum of weights.
    pub hidden: Option<HiddenLayer>,
}

/// Why the parts of a model do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(String);

impl From<LayoutError> for ModelError {
    fn from(error: LayoutError) -> Self {
        Self(error.to_string())
    }
}

/// How many weights were beyond a range, and by how much: what making them fit it has changed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clipping {
    /// Weights beyond the range, set to its nearer end.
    pub weights: u64,
    /// The largest change of one, in discs.
    pub largest: f64,
}

impl Clipping {
    /// A weight of so many units, a `scale` of them a disc, rounded to a whole number within the range; counted if it is beyond.
    pub fn fit(&mut self, units: f64, scale: f64, range: &RangeInclusive<i16>) -> i16 {
        let (rounded, low, high) = (units.round(), f64::from(*range.start()), f64::from(*range.end()));
        let clipped = rounded.clamp(low, high);
        if clipped != rounded {
            self.weights += 1;
            self.largest = self.largest.max((units - clipped).abs() / scale);
        }
        clipped as i16
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { weights: self.weights + other.weights, largest: self.largest.max(other.largest) }
    }
}

impl Model {
    /// A model with all weights zero.
    ///
    /// # Errors
    /// A pattern set without a layout, or a scale of zero.
    pub fn zero(set: &PatternSet, stages: &StageMap, scale: u16) -> Result<Self, ModelError> {
        let layout = Layout::new(set)?;
        let weights = vec![vec![0; layout.weights()]; stages.count()];
        let model = Self { set: set.of_model(), stages: stages.clone(), scale, weights, hidden: None };
        model.check(&layout)?;
        Ok(model)
    }

    /// A weight in discs.
    pub fn discs(&self, weight: impl Into<f64>) -> f64 {
        weight.into() / f64::from(self.scale)
    }

    /// Adds to the value of every position what `discs` gives for its number of empty squares, rounded to units: to the weights of a scalar
    /// that tells odd numbers from even ones, or else of the first. Numbers that the stages and this scalar do not tell apart get their mean.
    /// The largest weights are clipped. Without a scalar nothing changes. Returns what was added, in discs, by number of empty squares.
    ///
    /// # Panics
    /// If the set has no layout.
    pub fn shift(&mut self, discs: &[f64; 61]) -> [f64; 61] {
        let mut added = [0.0; 61];
        let layout = Layout::new(&self.set).expect("a model's set has a layout");
        let parity = self.set.scalars.iter().find(|scalar| scalar.tells_parity());
        let Some(&scalar) = parity.or(self.set.scalars.first()) else { return added };
        let first = layout.first_weight(scalar).expect("it is one of the set's");
        let largest = HiddenLayer::largest_weight(self.hidden.is_some());
        for (stage, weights) in self.weights.iter_mut().enumerate() {
            for (value, weight) in weights[first..first + scalar.values()].iter_mut().enumerate() {
                let is_alike = |empties: &u32| parity.is_none() || *empties as usize % 2 == value % 2;
                let alike: Vec<_> = self.stages.empties_of(stage).into_iter().filter(is_alike).collect();
                let sum: f64 = alike.iter().map(|&empties| discs[empties as usize]).sum();
                let units = (sum / alike.len().max(1) as f64 * f64::from(self.scale)).round() as i16;
                *weight = weight.saturating_add(units).min(largest);
                alike.iter().for_each(|&empties| added[empties as usize] = f64::from(units) / f64::from(self.scale));
            }
        }
        added
    }

    /// Checks that all parts fit each other and the layout of the set, for models from files.
    ///
    /// # Errors
    /// The first part that does not fit.
    pub fn check(&self, layout: &Layout) -> Result<(), ModelError> {
        if self.scale == 0 {
            return Err(ModelError("the scale (weight units per disc) must not be zero".to_owned()));
        }
        if self.weights.len() != self.stages.count() {
            let (found, expected) = (self.weights.len(), self.stages.count());
            return Err(ModelError(format!("weights for {found} stages where the stage map has {expected}")));
        }
        for (stage, weights) in self.weights.iter().enumerate() {
            if weights.len() != layout.weights() {
                let (found, expected) = (weights.len(), layout.weights());
                let reason = format!("stage {stage} has {found} weights where the pattern set has {expected}");
                return Err(ModelError(reason));
            }
        }
        if let Some(hidden) = &self.hidden {
            hidden.check(&self.weights).map_err(ModelError)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{Evaluator, Head, PatternEvaluator, Score, UNITS};

    #[test]
    fn stages_are_numbered_as_a_game_enters_them() {
        let uniform = StageMap::uniform(6);
        assert_eq!(
            (uniform.count(), uniform.empties_of(0), uniform.empties_of(10)),
            (11, (55..=60).rev().collect(), vec![0])
        );
        assert_eq!(uniform, StageMap::grouped(|empties| empties.div_ceil(6)));
        let parities = StageMap::grouped(|empties| empties % 2);
        assert_eq!((parities.count(), parities.of_empties(60), parities.of_empties(59)), (2, 0, 1));
        assert_eq!(parities.empties_of(1), (0..30).map(|i| 59 - 2 * i).collect::<Vec<_>>());
        let table = parities.table();
        assert_eq!(StageMap::from_table(table).as_ref(), Ok(&parities));
        for wrong in [
            vec![0; 60],
            vec![1; 61],
            table.iter().map(|stage| 1 - stage).collect(),
            table.iter().map(|stage| 2 * stage).collect(),
        ] {
            assert!(StageMap::from_table(&wrong).unwrap_err().to_string().contains("60 to 0 empties"));
        }
    }

    #[test]
    fn a_shift_is_added_to_every_value() {
        let discs: [f64; 61] = std::array::from_fn(|empties| {
            if empties == 0 { 300.0 } else { [-0.5, 1.5][empties % 2] + [0.0, 1.0][usize::from(empties > 40)] }
        });
        for (name, tells_parity) in
            [("night", true), ("zebra", true), ("ntest", true), ("edax", false), ("egaroucid", false)]
        {
            let set = PatternSet::built_in(name).unwrap();
            let mut model = Model::zero(&set, &StageMap::uniform(20), 128).unwrap();
            let added = model.shift(&discs);
            let evaluator = PatternEvaluator::new(&model).unwrap();
            for (empties, even, odd) in
                [(59, 0.5, 2.5), (41, 0.5, 2.5), (40, -0.5, 1.5), (39, -0.5, 1.5), (1, -0.5, 1.5)]
            {
                let position = Position {
                    player: 0x5555_5555_5555_5555 & !0 << empties,
                    opponent: 0xaaaa_aaaa_aaaa_aaaa & !0 << empties,
                };
                let seen = [even, odd][empties as usize % 2];
                let expected = if tells_parity { seen } else { (even + odd) / 2.0 };
                let value = evaluator.evaluate_position(&position);
                assert_eq!(value, Score((128.0 * expected) as i32), "{name}, {empties}");
                assert_eq!(added[empties as usize], expected, "{name}, {empties}");
            }
            assert!(model.weights[3].contains(&i16::MAX), "{name}: clipped");
        }
    }

    #[test]
    fn merging_keeps_groups_whole() {
        // Tens of empties, odd and even apart, met by stages of 20 plies: the largest number of a group decides.
        let tens = |empties: u32| (empties.div_ceil(10), empties % 2);
        let merged = StageMap::uniform(20).merged(tens);
        for one in 0..=60 {
            for other in (0..=60).filter(|&other| tens(one) == tens(other)) {
                assert_eq!(merged.of_empties(one), merged.of_empties(other));
            }
        }
        assert_eq!(merged.count(), 4);
        assert_eq!(StageMap::uniform(60).merged(|_| 0), StageMap::uniform(61));
        assert_eq!(StageMap::uniform(3).merged(|empties| empties), StageMap::uniform(3));
    }

    #[test]
    fn parts_of_a_hidden_layer_that_do_not_fit_are_named() {
        let set = PatternSet::from_toml("name = 's'\nscalars = ['parity']\npatterns = { edge = 'a1 b1 c1' }").unwrap();
        let layout = Layout::new(&set).unwrap();
        let stages = StageMap::uniform(20);
        let weights = layout.weights();
        let good = HiddenLayer {
            rows_of_stage: vec![1, 1, 0, 1],
            rows: vec![vec![[-128; UNITS]; weights]; 2],
            heads: vec![
                Head {
                    bias: std::array::from_fn(|unit| [HiddenLayer::MAX_BIAS, -HiddenLayer::MAX_BIAS][unit % 2]),
                    output: [i16::MIN; UNITS]
                };
                4
            ],
        };
        let checked = |change: &dyn Fn(&mut HiddenLayer)| {
            let mut hidden = good.clone();
            change(&mut hidden);
            Model { hidden: Some(hidden), ..Model::zero(&set, &stages, 128).unwrap() }.check(&layout)
        };
        assert_eq!(checked(&|_| ()), Ok(()));
        let refused = |reason: String| Err(ModelError(reason));
        let of_stages = |found| refused(format!("the hidden layer has {found} stages where the weights have 4"));
        assert_eq!(checked(&|hidden| hidden.rows_of_stage.truncate(3)), of_stages(3));
        assert_eq!(checked(&|hidden| hidden.heads.push(Head::default())), of_stages(5));
        let missing = |stage, number, found| {
            refused(format!(
                "the hidden layer's stage {stage} uses row table {number}, counted from 0, but there are only {found}"
            ))
        };
        assert_eq!(checked(&|hidden| hidden.rows_of_stage[2] = 2), missing(2, 2, 2));
        assert_eq!(checked(&|hidden| hidden.rows_of_stage[3] = 255), missing(3, 255, 2));
        assert_eq!(checked(&|hidden| hidden.rows.clear()), missing(0, 1, 0));
        let rows =
            |found| refused(format!("the hidden layer has {found} rows where the pattern set has {weights} weights"));
        assert_eq!(checked(&|hidden| hidden.rows[1].push([0; UNITS])), rows(weights + 1));
        assert_eq!(checked(&|hidden| hidden.rows[0].clear()), rows(0));
        for bias in [HiddenLayer::MAX_BIAS + 1, -HiddenLayer::MAX_BIAS - 1, i16::MIN] {
            let error = checked(&|hidden| hidden.heads[3].bias[7] = bias).unwrap_err().to_string();
            assert!(error.contains("a bias") && error.contains("16384"), "{error}");
        }
        let mut model = Model { hidden: Some(good), ..Model::zero(&set, &stages, 128).unwrap() };
        model.weights[2][1] = HiddenLayer::MAX_WEIGHT;
        assert_eq!(model.check(&layout), Ok(()));
        model.weights[2][1] += 1;
        assert!(model.check(&layout).unwrap_err().to_string().contains("a weight is above 32639"));
        assert_eq!(Model { hidden: None, ..model }.check(&layout), Ok(()));
    }
}
