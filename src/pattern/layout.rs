//! A pattern set made ready for use: lanes, slots, canonical weights, and the incremental indices.

use std::ops::Range;

use wide::{i16x8, i16x16};

use super::scalar::Scalar;
use super::set::{Pattern, PatternSet, PatternSetError};
use crate::board::{Bitboard, Position, Square, Symmetry, squares};

/// The largest number of pattern instances a set may have on the board; [`Indices`] has one lane for each.
pub const LANES: usize = 64;

/// Lanes of a vector.
const WIDTH: usize = 16;

/// Vectors that are enough for most sets.
const FEW: usize = 3;

/// The pattern configurations of a position, one balanced ternary number per lane (see the module's documentation). Lanes beyond
/// the layout's instances stay 0.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub struct Indices([i16x16; LANES / WIDTH]);

impl Eq for Indices {}

impl Indices {
    const ZERO: Self = Self([i16x16::ZERO; LANES / WIDTH]);

    /// The numbers, lane by lane.
    #[inline]
    pub fn lanes(&self) -> &[i16; LANES] {
        bytemuck::cast_ref(&self.0)
    }

    /// The numbers, eight per vector.
    #[inline]
    pub(crate) fn vectors(&self) -> &[i16x8; LANES / 8] {
        bytemuck::cast_ref(&self.0)
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(lanes, other)| *lanes += other);
    }

    /// The same discs seen by the other player.
    #[inline]
    pub fn pass(&self) -> Self {
        Self(self.0.map(|lanes| -lanes))
    }
}

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
    instances: Vec<(usize, [Square; super::set::MAX_SQUARES])>,
    centres: [u32; LANES],
    /// What an own disc on a square adds to the indices; after the squares a row of zeros, for no disc.
    discs: Box<[Indices; 65]>,
    /// What own discs on any four squares of half a row add: `halves[half_row][four_bits]`.
    halves: Box<[[Indices; 16]; 16]>,
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
        let count = set.patterns.iter().map(|pattern| instances_of(pattern).len()).sum();
        if count > LANES {
            return Err(LayoutError::TooManyInstances { set: set.name.clone(), instances: count });
        }
        let mut instances = Vec::new();
        let mut centres = Vec::new();
        let mut weight_of_slot = Vec::new();
        let mut weights = 0;
        for (number, pattern) in set.patterns.iter().enumerate() {
            let first_slot = weight_of_slot.len();
            for instance in instances_of(pattern) {
                instances.push((number, instance));
                centres.push((first_slot + pattern.configurations() / 2) as u32);
            }
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

        let mut discs = Box::new([Indices::ZERO; 65]);
        for (lane, (number, instance)) in instances.iter().enumerate() {
            let mut digit = 1;
            for square in &instance[..set.patterns[*number].squares().len()] {
                discs[square.index()].0[lane / WIDTH].as_mut_array()[lane % WIDTH] = digit;
                digit = digit.wrapping_mul(3);
            }
        }
        let mut halves = Box::new([[Indices::ZERO; 16]; 16]);
        for (half, sums) in halves.iter_mut().enumerate() {
            for (bits, sum) in sums.iter_mut().enumerate() {
                squares((bits as u64) << (4 * half)).for_each(|square| sum.add(&discs[square.index()]));
            }
        }
        Ok(Self {
            set: set.clone(),
            centres: centres.try_into().expect("resized to the number of lanes"),
            instances,
            discs,
            halves,
            scalars,
            weight_of_slot,
            weights: weights as usize,
        })
    }

    /// The pattern set.
    pub fn set(&self) -> &PatternSet {
        &self.set
    }

    /// Number of pattern instances on the board: lanes in use.
    #[inline]
    pub fn instances(&self) -> usize {
        self.instances.len()
    }

    /// The pattern of a lane (its number in the set) and the lane's squares in digit order.
    pub fn instance(&self, lane: usize) -> (usize, &[Square]) {
        let (pattern, squares) = &self.instances[lane];
        (*pattern, &squares[..self.set.patterns[*pattern].squares().len()])
    }

    /// The lanes of a pattern, by its number in the set.
    pub fn lanes_of(&self, pattern: usize) -> impl Iterator<Item = usize> {
        (0..self.instances()).filter(move |&lane| self.instances[lane].0 == pattern)
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
        self.instances() + self.scalars.len()
    }

    /// A pattern's slots, by the pattern's number.
    pub fn slots_of(&self, pattern: usize) -> Range<usize> {
        let first = self.set.patterns[..pattern].iter().map(Pattern::configurations).sum();
        first..first + self.set.patterns[pattern].configurations()
    }

    /// For each weight of a pattern, by the pattern's number: the first configuration that has it, and the weight's number.
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

    /// The indices of a position, computed from scratch.
    #[inline]
    pub fn indices(&self, position: &Position) -> Indices {
        if self.instances() <= FEW * WIDTH {
            self.sum_vectors::<FEW>(position)
        } else {
            self.sum_vectors::<{ LANES / WIDTH }>(position)
        }
    }

    /// [`Self::indices`] with the lanes of the first vectors only; the others are 0.
    #[inline(always)]
    fn sum_vectors<const USED: usize>(&self, position: &Position) -> Indices {
        let mut indices = Indices::ZERO;
        for (half, sums) in self.halves.iter().enumerate() {
            let [own, other] =
                [position.player, position.opponent].map(|discs| &sums[(discs >> (4 * half)) as usize & 15]);
            for vector in 0..USED {
                indices.0[vector] += own.0[vector] - other.0[vector];
            }
        }
        indices
    }

    /// The indices after a move, seen by the other player, from those before it.
    #[inline]
    pub fn play(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        if self.instances() <= FEW * WIDTH {
            self.play_vectors::<FEW>(before, to, flips)
        } else {
            self.play_vectors::<{ LANES / WIDTH }>(before, to, flips)
        }
    }

    /// [`Self::play`] with the lanes of the first vectors only; the others become 0.
    #[inline(always)]
    fn play_vectors<const USED: usize>(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        // A turned disc goes from -1 to +1; then negation changes sides: -(before + to + 2 x flips).
        let mut flipped = [i16x16::ZERO; USED];
        let mut rest = flips;
        loop {
            // Most moves turn over four discs or fewer. Always adding four, some of them zeros, avoids mispredicted
            // branches.
            for _ in 0..4 {
                let disc = &self.discs[rest.trailing_zeros() as usize].0;
                flipped.iter_mut().zip(disc).for_each(|(sum, disc)| *sum += *disc);
                rest &= rest.wrapping_sub(1);
            }
            if rest == 0 {
                break;
            }
        }
        let placed = &self.discs[to.index()].0;
        let mut after = Indices::ZERO;
        for vector in 0..USED {
            after.0[vector] = -(before.0[vector] + placed[vector] + (flipped[vector] + flipped[vector]));
        }
        after
    }
}

/// The different places of a pattern on the board, each with its squares in digit order (unused entries are a1).
fn instances_of(pattern: &Pattern) -> Vec<[Square; super::set::MAX_SQUARES]> {
    let mut seen: Vec<Bitboard> = Vec::new();
    let mut instances = Vec::new();
    for symmetry in Symmetry::ALL {
        let mask = symmetry.bitboard(pattern.mask());
        if !seen.contains(&mask) {
            seen.push(mask);
            let mut moved = [Square::new(0); super::set::MAX_SQUARES];
            for (to, from) in moved.iter_mut().zip(pattern.squares()) {
                *to = symmetry.square(from);
            }
            instances.push(moved);
        }
    }
    instances
}

/// Appends a pattern's slots. Of configurations that the pattern's own symmetries turn into each other, the first gets the next
/// number, and the others get the same one.
fn number_weights(pattern: &Pattern, weight_of_slot: &mut Vec<u32>, next: &mut u32) {
    let listed: Vec<Square> = pattern.squares().collect();
    let own_symmetries: Vec<Vec<usize>> = Symmetry::ALL
        .iter()
        .filter(|symmetry| symmetry.bitboard(pattern.mask()) == pattern.mask())
        .map(|symmetry| {
            let position_of = |square: &Square| {
                let image = symmetry.square(*square);
                listed.iter().position(|&other| other == image).expect("the symmetry keeps the pattern's squares")
            };
            listed.iter().map(position_of).collect()
        })
        .collect();
    let first = weight_of_slot.len();
    for configuration in 0..pattern.configurations() {
        let image = |permutation: &Vec<usize>| {
            let (mut rest, mut moved) = (configuration, 0);
            for &to in permutation {
                moved += rest % 3 * 3usize.pow(to as u32);
                rest /= 3;
            }
            moved
        };
        let earliest = own_symmetries.iter().map(image).min().expect("the identity keeps every pattern");
        if earliest == configuration {
            weight_of_slot.push(*next);
            *next += 1;
        } else {
            weight_of_slot.push(weight_of_slot[first + earliest]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Transcript;
    use crate::pattern::BUILT_IN;

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
            (layout.weights(), layout.instances())
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
        assert_eq!(layout.instances(), 46);
    }

    #[test]
    fn equal_weights_mean_mirrored_configurations() {
        let layout = classic();
        let game: Transcript = "f5d6c3d3c4f4f6f3e6e7".parse().unwrap();
        let weights = |position: Position| {
            let indices = layout.indices(&position);
            let slot = |lane: usize| (layout.centres()[lane] as i32 + i32::from(indices.lanes()[lane])) as usize;
            let mut weights: Vec<u32> = (0..layout.instances()).map(|lane| layout.weight_of_slot[slot(lane)]).collect();
            weights.sort_unstable();
            weights
        };
        let position = game.last().position;
        for symmetry in Symmetry::ALL {
            assert_eq!(weights(symmetry.position(position)), weights(position));
        }
    }

    #[test]
    fn incremental_equals_recomputed() {
        // Sets of few and of many instances.
        for (name, _) in BUILT_IN {
            play_through(&Layout::new(&PatternSet::built_in(name).unwrap()).unwrap());
        }
    }

    fn play_through(layout: &Layout) {
        let mut position = Position::START;
        let mut indices = layout.indices(&position);
        let mut choice = 7usize;
        while !position.is_game_over() {
            let moves = position.moves();
            if moves == 0 {
                (position, indices) = (position.pass(), indices.pass());
            } else {
                choice = choice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let to = squares(moves).nth((choice >> 33) % moves.count_ones() as usize).unwrap();
                let flips = position.flips(to);
                indices = layout.play(&indices, to, flips);
                position = position.play_unchecked(to, flips);
            }
            assert_eq!(indices, layout.indices(&position));
            // The definition itself: own +1, opponent -1, first square least significant.
            for lane in 0..layout.instances() {
                let (_, squares) = layout.instance(lane);
                let digit =
                    |s: &Square| (position.player & s.bit() != 0) as i32 - (position.opponent & s.bit() != 0) as i32;
                let number = squares.iter().rev().fold(0, |number, square| 3 * number + digit(square));
                assert_eq!(i32::from(indices.lanes()[lane]), number);
            }
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
