//! A pattern evaluation as data: a pattern set, stages, a scale, and weights.

use serde::{Deserialize, Serialize};

use crate::board::Position;
use crate::pattern::{Layout, LayoutError, PatternSet};

/// Which stage each number of empty squares belongs to. Stages are numbered from the start of the game on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
        Self { of_empties: (0..=60).map(|empties| ((60 - empties) / plies) as u8).collect() }
    }

    /// Stages from the number of empties at which each begins, in falling order, the first being 60.
    ///
    /// # Errors
    /// Another order, another beginning, or none.
    pub fn from_starts(starts: &[u32]) -> Result<Self, ModelError> {
        if starts.first() != Some(&60) || starts.windows(2).any(|pair| pair[1] >= pair[0]) {
            return Err(ModelError::Stages);
        }
        let stage = |empties: u32| starts.iter().filter(|&&start| start >= empties).count() - 1;
        Ok(Self { of_empties: (0..=60).map(|empties| stage(empties) as u8).collect() })
    }

    /// Stages from the stage of each number of empties, 0 to 60.
    ///
    /// # Errors
    /// A table that is not 61 stages falling to 0 without a gap.
    pub fn from_table(of_empties: &[u8]) -> Result<Self, ModelError> {
        let stages = Self { of_empties: of_empties.to_vec() };
        stages.check().map(|()| stages)
    }

    /// The stage of a position with so many empties.
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
        usize::from(self.of_empties[0]) + 1
    }

    /// The numbers of empties of a stage, smallest and largest.
    pub fn empties_of(&self, stage: usize) -> (u32, u32) {
        let of_stage = || (0..=60u32).filter(|&empties| self.of_empties(empties) == stage);
        (of_stage().min().unwrap_or(0), of_stage().max().unwrap_or(0))
    }

    fn check(&self) -> Result<(), ModelError> {
        let steps_down = |pair: &[u8]| pair[0] == pair[1] || pair[0] == pair[1].wrapping_add(1);
        let well_formed =
            self.of_empties.len() == 61 && self.of_empties[60] == 0 && self.of_empties.windows(2).all(steps_down);
        if well_formed { Ok(()) } else { Err(ModelError::Stages) }
    }
}

/// A pattern evaluation as it is stored: enough to evaluate positions, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Model {
    /// What is looked at.
    pub set: PatternSet,
    /// Which weights apply when.
    pub stages: StageMap,
    /// Units of a weight in a disc.
    pub scale: u16,
    /// The weights by stage, each stage in the order of [`Layout`]'s weights, for the player to move.
    pub weights: Vec<Vec<i16>>,
}

/// A model whose parts do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The pattern set has no layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A stage map that is not one.
    #[error("the stages must cover 60 to 0 empties in order, without gaps")]
    Stages,
    /// A scale of zero.
    #[error("the scale (units of a weight in a disc) must not be zero")]
    Scale,
    /// Weights for another number of stages.
    #[error("weights for {found} stages where the stage map has {expected}")]
    StageCount {
        /// Stages with weights.
        found: usize,
        /// Stages of the map.
        expected: usize,
    },
    /// Another number of weights than the pattern set has.
    #[error("stage {stage} has {found} weights where the pattern set has {expected}")]
    WeightCount {
        /// The stage.
        stage: usize,
        /// Its weights.
        found: usize,
        /// The pattern set's.
        expected: usize,
    },
}

impl Model {
    /// A model of nothing but zeros.
    ///
    /// # Errors
    /// A pattern set without a layout.
    pub fn zero(set: &PatternSet, stages: &StageMap, scale: u16) -> Result<Self, ModelError> {
        let layout = Layout::new(set)?;
        let weights = vec![vec![0; layout.weights()]; stages.count()];
        let model = Self { set: set.clone(), stages: stages.clone(), scale, weights };
        model.check(&layout)?;
        Ok(model)
    }

    /// Whether all parts fit each other and the layout of the set, for models that come from files.
    ///
    /// # Errors
    /// The first part that does not fit.
    pub fn check(&self, layout: &Layout) -> Result<(), ModelError> {
        self.stages.check()?;
        if self.scale == 0 {
            return Err(ModelError::Scale);
        }
        if self.weights.len() != self.stages.count() {
            return Err(ModelError::StageCount { found: self.weights.len(), expected: self.stages.count() });
        }
        for (stage, weights) in self.weights.iter().enumerate() {
            if weights.len() != layout.weights() {
                return Err(ModelError::WeightCount { stage, found: weights.len(), expected: layout.weights() });
            }
        }
        Ok(())
    }
}
