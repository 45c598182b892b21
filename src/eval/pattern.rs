//! The pattern evaluator: a sum of table entries.
#![allow(unsafe_code)] // One unchecked table access, the innermost of the program; see `sum`.

use std::sync::Arc;

use super::model::{Model, ModelError, StageMap};
use super::{Evaluator, Score};
use crate::board::{Bitboard, Position, Square};
use crate::pattern::{Indices, Layout};

/// Unused entries before and after the table, so that a centre plus any `i16` whatever stays inside.
const MARGIN: usize = 1 << 15;

/// Evaluates positions by a [`Model`]: for each stage a flat table with an entry for every slot of the layout.
#[derive(Clone, Debug)]
pub struct PatternEvaluator {
    layout: Arc<Layout>,
    stages: StageMap,
    scale: i32,
    /// [`MARGIN`] unused entries, `slots` entries a stage, [`MARGIN`] unused entries.
    table: Vec<i16>,
    slots: usize,
}

/// The pattern indices of a position.
#[derive(Clone, Debug)]
pub struct PatternState(Indices);

impl PatternEvaluator {
    /// Makes a model ready for evaluating.
    ///
    /// # Errors
    /// A model whose parts do not fit each other.
    pub fn new(model: &Model) -> Result<Self, ModelError> {
        Self::with_layout(model, Arc::new(Layout::new(&model.set)?))
    }

    /// [`Self::new`] with the layout of the model's pattern set already at hand.
    ///
    /// # Errors
    /// A model whose parts do not fit each other.
    ///
    /// # Panics
    /// If the layout is that of another set.
    pub fn with_layout(model: &Model, layout: Arc<Layout>) -> Result<Self, ModelError> {
        assert_eq!(layout.set(), &model.set, "the layout belongs to the model's set");
        model.check(&layout)?;
        let slots = layout.slots();
        let mut table = vec![0; MARGIN];
        table.reserve_exact(slots * model.weights.len() + MARGIN);
        for weights in &model.weights {
            table.extend(layout.weight_of_slot().iter().map(|&weight| weights[weight as usize]));
        }
        table.resize(table.len() + MARGIN, 0);
        Ok(Self { layout, stages: model.stages.clone(), scale: i32::from(model.scale), table, slots })
    }

    /// The layout of its pattern set.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The sum of the position's weights in the model's own units, before scaling and clamping.
    #[inline]
    pub fn sum(&self, position: &Position, state: &PatternState) -> i32 {
        let first = self.stages.of(position) * self.slots;
        let table = &self.table[first..first + self.slots + 2 * MARGIN];
        let centres = self.layout.centres();
        let mut sum = 0;
        for (lane, &index) in state.0.lanes()[..self.layout.instances()].iter().enumerate() {
            let entry = (centres[lane] + MARGIN as u32).wrapping_add_signed(i32::from(index)) as usize;
            debug_assert!((MARGIN..MARGIN + self.slots).contains(&entry));
            // SAFETY: a centre is a slot, below `self.slots`; an `i16` is at least -MARGIN and below MARGIN. So `entry` is below
            // `self.slots + 2 * MARGIN`, the length of `table`, whatever state or position came in.
            sum += i32::from(unsafe { *table.get_unchecked(entry) });
        }
        for &(scalar, first) in self.layout.scalars() {
            sum += i32::from(table[MARGIN + first + scalar.of(position)]);
        }
        sum
    }

    /// The sum as a score, not yet limited.
    #[inline]
    fn score(&self, position: &Position, state: &PatternState) -> Score {
        let sum = self.sum(position, state);
        // The common scale needs no arithmetic.
        Score(if self.scale == Score::DISC { sum } else { rescale(sum, self.scale) })
    }
}

impl Evaluator for PatternEvaluator {
    type State = PatternState;

    #[inline]
    fn state(&self, position: &Position) -> PatternState {
        PatternState(self.layout.indices(position))
    }

    #[inline]
    fn play(&self, before: &PatternState, to: Square, flips: Bitboard) -> PatternState {
        PatternState(self.layout.play(&before.0, to, flips))
    }

    #[inline]
    fn pass(&self, before: &PatternState) -> PatternState {
        PatternState(before.0.pass())
    }

    #[inline]
    fn evaluate(&self, position: &Position, state: &PatternState) -> Score {
        self.score(position, state).clamp_eval()
    }

    fn evaluate_unlimited(&self, position: &Position) -> Score {
        self.score(position, &self.state(position))
    }
}

/// A sum in 1/`scale` disc as a score, rounded to the nearest.
fn rescale(sum: i32, scale: i32) -> i32 {
    let scaled = i64::from(sum) * i64::from(Score::DISC);
    let half = i64::from(scale / 2) * scaled.signum();
    ((scaled + half) / i64::from(scale)) as i32
}
