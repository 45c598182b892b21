//! A pattern set made ready for use: lanes, slots and canonical weights.

use std::ops::Range;

use super::lanes::{LANES, Lanes};
use super::scalar::Scalar;
use super::set::{Pattern, PatternSet, PatternSetError};
use crate::board::{Square, Symmetry};

/// Why a pattern set has no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The set itself is malformed.
    #[error(transparent)]
    Set(#[from] PatternSetError),
    /// More instances than lanes.
    #[error("pattern set `{set}` has {instances} instances on the board; at most {LANES} are possible")]
    TooManyInstances {
        /// The set's name.
        set: String,
        /// Number of instances.
        instances: usize,
    },
}

/// A pattern set made ready for use.
///
/// Every configuration of every pattern and every value of every scalar has a *slot* in a flat table: patterns first, in the
/// set's order, 3^n slots each with the all-empty configuration in the middle; scalars after them. Configurations that a
/// symmetry of the pattern itself turns into each other share one *weight*; weights are numbered in the order of slots.
#[derive(Debug)]
pub struct Layout {
    set: PatternSet,
    lanes: Lanes,
    centres: [u32; LANES],
    scalars: Vec<(Scalar, usize)>,
    weight_of_slot: Vec<u32>,
    weights: usize,
}

impl Layout {
    /// Lays a set out.
    ///
    /// # Errors
    /// A malformed set, or more than [`LANES`] instances.
    pub fn new(set: &PatternSet) -> Result<Self, LayoutError> {
        set.check()?;
        // Checked before any table is made: a file may list any number of patterns.
        let lanes = Lanes::new(&set.patterns)
            .map_err(|instances| LayoutError::TooManyInstances { set: set.name.clone(), instances })?;
        let mut centres = Vec::new();
        let mut weight_of_slot = Vec::new();
        let mut weights = 0;
        for (number, pattern) in set.patterns.iter().enumerate() {
            let centre = weight_of_slot.len() + pattern.configurations() / 2;
            centres.extend(lanes.of_pattern(number).map(|_| centre as u32));
            number_weights(pattern, &mut weight_of_slot, &mut weights);
        }
        let mut scalars = Vec::new();
        for &scalar in &set.scalars {
            scalars.push((scalar, weight_of_slot.len()));
            for _ in 0..scalar.values() {
                weight_of_slot.push(weights);
                weights += 1;
            }
        }
        centres.resize(LANES, 0);

        Ok(Self {
            set: set.clone(),
            centres: centres.try_into().expect("resized to the number of lanes"),
            lanes,
            scalars,
            weight_of_slot,
            weights: weights as usize,
        })
    }

    /// The pattern set.
    pub fn set(&self) -> &PatternSet {
        &self.set
    }

    /// The instances of its patterns, each with its lane.
    #[inline]
    pub fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// For each lane the slot of its all-empty configuration; centre + index is the slot of a configuration.
    #[inline]
    pub fn centres(&self) -> &[u32; LANES] {
        &self.centres
    }

    /// The scalars, each with its first slot.
    #[inline]
    pub fn scalars(&self) -> &[(Scalar, usize)] {
        &self.scalars
    }

    /// The first slot of a scalar, if the set has it.
    pub fn first_slot(&self, scalar: Scalar) -> Option<usize> {
        self.scalars.iter().find(|(known, _)| *known == scalar).map(|&(_, slot)| slot)
    }

    /// The number of the first weight of a scalar, if the set has it. A scalar has one weight per slot.
    pub fn first_weight(&self, scalar: Scalar) -> Option<usize> {
        self.first_slot(scalar).map(|slot| self.weight_of_slot[slot] as usize)
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.weight_of_slot.len()
    }

    /// Number of weights: slots, those that a symmetry of their pattern makes equal counted once.
    pub fn weights(&self) -> usize {
        self.weights
    }

    /// Number of features of a position: pattern instances, then scalars.
    pub fn features(&self) -> usize {
        self.lanes.count() + self.scalars.len()
    }

    /// A pattern's slots, by the pattern's number.
    ///
    /// # Panics
    /// If the set has no pattern of that number.
    pub fn slots_of(&self, pattern: usize) -> Range<usize> {
        let first = self.set.patterns[..pattern].iter().map(Pattern::configurations).sum();
        first..first + self.set.patterns[pattern].configurations()
    }

    /// For each weight of a pattern, by the pattern's number: the first configuration that has it, and the weight's number.
    ///
    /// # Panics
    /// If the set has no pattern of that number.
    pub fn first_configurations(&self, pattern: usize) -> impl Iterator<Item = (usize, usize)> {
        // Weights are numbered in the order of slots: a number above all before it is a new one.
        let mut next = self.weights_of(pattern).start;
        let weights = self.weight_of_slot[self.slots_of(pattern)].iter().map(|&weight| weight as usize);
        weights.enumerate().filter(move |&(_, weight)| {
            let is_first = weight == next;
            next += usize::from(is_first);
            is_first
        })
    }

    /// The numbers of a pattern's weights, by the pattern's number.
    ///
    /// # Panics
    /// If the set has no pattern of that number.
    pub fn weights_of(&self, pattern: usize) -> Range<usize> {
        // Weights are numbered in the order of slots, so a pattern's weights end where the next slot's begin.
        let slots = self.slots_of(pattern);
        let weight_at = |slot: usize| self.weight_of_slot.get(slot).map_or(self.weights, |&weight| weight as usize);
        weight_at(slots.start)..weight_at(slots.end)
    }

    /// The number of the weight of each slot.
    pub fn weight_of_slot(&self) -> &[u32] {
        &self.weight_of_slot
    }
}

/// Appends a pattern's slots. Of configurations that the pattern's own symmetries turn into each other, the first gets the next
/// number, and the others get the same one.
fn number_weights(pattern: &Pattern, weight_of_slot: &mut Vec<u32>, next: &mut u32) {
    let listed: Vec<Square> = pattern.squares().collect();
    let images: Vec<Vec<usize>> = Symmetry::ALL
        .iter()
        .filter(|symmetry| symmetry.bitboard(pattern.mask()) == pattern.mask())
        .map(|symmetry| {
            let place_of = |square: &Square| {
                let image = symmetry.square(*square);
                listed.iter().position(|&other| other == image).expect("the symmetry keeps the pattern's squares")
            };
            move_digits(&listed.iter().map(place_of).collect::<Vec<_>>())
        })
        .collect();
    let first = weight_of_slot.len();
    for configuration in 0..pattern.configurations() {
        let earliest =
            images.iter().map(|images| images[configuration]).min().expect("the identity keeps every pattern");
        if earliest == configuration {
            weight_of_slot.push(*next);
            *next += 1;
        } else {
            weight_of_slot.push(weight_of_slot[first + earliest]);
        }
    }
}

/// By configuration, the one that it becomes if each digit moves to the place given for it.
pub(crate) fn move_digits(places: &[usize]) -> Vec<usize> {
    let mut moved = vec![0];
    for &to in places {
        let step = 3usize.pow(to as u32);
        moved = (0..3).flat_map(|digit| moved.iter().map(move |rest| rest + digit * step)).collect();
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Position, Transcript};

    fn classic() -> Layout {
        Layout::new(&PatternSet::built_in("classic").unwrap()).unwrap()
    }

    #[test]
    fn the_classic_counts_are_the_published_ones() {
        let layout = classic();
        let weights_of = |name: &str| {
            let set = layout.set();
            let pattern = set.patterns.iter().find(|pattern| pattern.name == name).unwrap().clone();
            let alone = PatternSet { name: name.into(), patterns: vec![pattern], scalars: vec![], engine: None };
            let layout = Layout::new(&alone).unwrap();
            (layout.weights(), layout.lanes().count())
        };
        // corner5x2 has no symmetry of its own.
        assert_eq!(weights_of("corner5x2"), (59049, 8));
        assert_eq!(weights_of("diag5"), (135, 4));
        assert_eq!(weights_of("diag6"), (378, 4));
        assert_eq!(weights_of("diag7"), (1134, 4));
        assert_eq!(weights_of("diag8"), (3321, 2));
        assert_eq!(weights_of("edge2x"), (29646, 4));
        assert_eq!(weights_of("hor2"), (3321, 4));
        assert_eq!(weights_of("triangle"), (29889, 4));
        assert_eq!(weights_of("corner3x3"), (10206, 4));
        assert_eq!(layout.lanes().count(), 46);
    }

    #[test]
    fn equal_weights_mean_mirrored_configurations() {
        let layout = classic();
        let game: Transcript = "f5d6c3d3c4f4f6f3e6e7".parse().unwrap();
        let weights = |position: Position| {
            let indices = layout.lanes().indices(&position);
            let slot = |lane: usize| (layout.centres()[lane] as i32 + i32::from(indices.lanes()[lane])) as usize;
            let mut weights: Vec<u32> =
                (0..layout.lanes().count()).map(|lane| layout.weight_of_slot[slot(lane)]).collect();
            weights.sort_unstable();
            weights
        };
        let position = game.last().position;
        for symmetry in Symmetry::ALL {
            assert_eq!(weights(symmetry.position(position)), weights(position));
        }
    }

    #[test]
    fn too_many_instances_are_refused() {
        let patterns = (0..9).map(|i| {
            Pattern::new(&format!("p{i}"), &format!("a1 b1 {}{}", ['c', 'd', 'e'][i % 3], 3 + i / 3)).unwrap()
        });
        let set = PatternSet { name: "wide".into(), patterns: patterns.collect(), scalars: vec![], engine: None };
        assert!(matches!(Layout::new(&set), Err(LayoutError::TooManyInstances { instances: 72, .. })));
    }
}
