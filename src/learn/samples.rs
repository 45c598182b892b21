//! Labelled positions, sorted by the number of empty squares.

use std::ops::Neg;

use crate::board::Position;
use crate::eval::{Score, StageMap};

/// A position and the value its evaluation should move to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The position; its number of empty squares decides which stages learn it.
    pub position: Position,
    /// The target value for the player to move.
    pub target: Score,
    /// Whether the target is the value itself or a bound on it.
    pub bound: Bound,
    /// How much the sample counts.
    pub importance: Importance,
}

/// Tens of millions of them are in memory: bound and importance take bytes that would be padding.
const _: () = assert!(size_of::<Sample>() == 24);

impl Sample {
    /// A sample whose target is exact, and which counts in full.
    pub const fn new(position: Position, target: Score) -> Self {
        Self { position, target, bound: Bound::Exact, importance: Importance::FULL }
    }
}

/// How a target limits the value. A value within the bound has no error: there is nothing to learn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bound {
    /// The value is the target.
    #[default]
    Exact,
    /// The value is the target or more.
    Lower,
    /// The value is the target or less.
    Upper,
}

impl Bound {
    /// Whether a value `error` below the target is within the bound.
    #[inline]
    pub fn allows(self, error: f32) -> bool {
        match self {
            Self::Exact => false,
            Self::Lower => error <= 0.0,
            Self::Upper => error >= 0.0,
        }
    }
}

impl Neg for Bound {
    type Output = Self;

    /// The bound as the other side sees it.
    fn neg(self) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }
}

/// How much a sample counts: the share of its error that is learned, above 0 and at most 1, so that no step exceeds what its rule allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Importance(u16);

impl Importance {
    /// The importance of an ordinary sample.
    pub const FULL: Self = Self(u16::MAX);

    /// The nearest multiple of 1/65535 above 0. None for a share that is not above 0 and at most 1.
    pub fn new(share: f32) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then(|| Self((share * f32::from(u16::MAX)).round().max(1.0) as u16))
    }

    /// The share; exactly 1 for [`Self::FULL`].
    #[inline]
    pub fn share(self) -> f32 {
        f32::from(self.0) / f32::from(u16::MAX)
    }
}

/// Samples by number of empties, in order of arrival. Stages of any stage map pick their samples from it.
#[derive(Clone, Debug)]
pub struct SampleSet {
    by_empties: Vec<Vec<Sample>>,
}

impl Default for SampleSet {
    fn default() -> Self {
        Self { by_empties: vec![Vec::new(); 61] }
    }
}

impl SampleSet {
    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, sample: Sample) {
        self.by_empties[sample.position.empties().min(60) as usize].push(sample);
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.by_empties.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_empties.iter().all(Vec::is_empty)
    }

    /// The samples with a number of empties, oldest first.
    ///
    /// # Panics
    /// If `empties` is above 60.
    pub fn with_empties(&self, empties: u32) -> &[Sample] {
        &self.by_empties[empties as usize]
    }

    /// The samples that a stage learns: all of its own, and one in d + 1 of those d plies away, for d up to `overlap`. The oldest come
    /// first; different numbers of empties take turns, so that none always comes last.
    pub fn of_stage<'s>(
        &'s self,
        stages: &'s StageMap,
        stage: usize,
        overlap: u32,
    ) -> impl Iterator<Item = &'s Sample> {
        (0..TURNS).flat_map(move |turn| self.of_turn(stages, stage, overlap, turn))
    }

    /// The part of [`Self::of_stage`] that comes in one of [`TURNS`] turns.
    pub(super) fn of_turn(
        &self,
        stages: &StageMap,
        stage: usize,
        overlap: u32,
        turn: usize,
    ) -> impl Iterator<Item = &Sample> {
        let own = stages.empties_of(stage);
        let distance = move |empties: u32| own.iter().map(|&other| other.abs_diff(empties)).min().unwrap_or(u32::MAX);
        let sources = (0..=60).rev().map(move |empties| (empties, distance(empties)));
        let sources = sources.filter(move |&(_, distance)| distance <= overlap);
        sources.flat_map(move |(empties, distance)| in_turn(self.with_empties(empties), distance as usize + 1, turn))
    }
}

/// Turns in a pass, each with a share of the samples of every number of empties.
pub(super) const TURNS: usize = 64;

/// Every `step`-th sample, of those that come in one turn.
fn in_turn(samples: &[Sample], step: usize, turn: usize) -> impl Iterator<Item = &Sample> {
    let end = |turn| samples.len() * turn / TURNS;
    (end(turn).next_multiple_of(step)..end(turn + 1)).step_by(step).map(|i| &samples[i])
}
