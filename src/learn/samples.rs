//! Labelled positions, sorted by the number of empty squares.

use crate::board::Position;
use crate::eval::{Score, StageMap};

/// A position and the value its evaluation should move to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The position; its number of empty squares decides which stages learn it.
    pub position: Position,
    /// The wanted value for the player to move.
    pub target: Score,
}

/// Samples in order of arrival, by number of empties: a stage takes what it learns from these, whatever the stage map.
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

    /// Adds all samples of another set after those of this one.
    pub fn append(&mut self, other: &Self) {
        for (samples, more) in self.by_empties.iter_mut().zip(&other.by_empties) {
            samples.extend_from_slice(more);
        }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.by_empties.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_empties.iter().all(Vec::is_empty)
    }

    /// The samples with so many empties, oldest first.
    ///
    /// # Panics
    /// If `empties` is above 60.
    pub fn with_empties(&self, empties: u32) -> &[Sample] {
        &self.by_empties[empties as usize]
    }

    /// What a stage learns: all samples of its own numbers of empties, and of a number d away, d up to `overlap`, one in d + 1.
    /// Those of the largest number of empties come first, the oldest of each first.
    pub fn of_stage<'s>(
        &'s self,
        stages: &'s StageMap,
        stage: usize,
        overlap: u32,
    ) -> impl Iterator<Item = &'s Sample> {
        let own = stages.empties_of(stage);
        (0..=60u32).rev().flat_map(move |empties| {
            let distance = own.iter().map(|&other| other.abs_diff(empties)).min().unwrap_or(u32::MAX);
            let samples = if distance <= overlap { self.with_empties(empties) } else { &[] };
            samples.iter().step_by(distance.saturating_add(1) as usize)
        })
    }
}
