//! The places of patterns on the board, and the incremental indices.

use arrayvec::ArrayVec;
use wide::i16x16;

use super::set::{MAX_SQUARES, Pattern};
use crate::board::{Bitboard, Position, Square, Symmetry, squares};

/// The largest number of pattern instances a set may have on the board; [`Indices`] has one lane for each.
pub const LANES: usize = 64;

/// Lanes of a vector.
const WIDTH: usize = 16;

/// Vectors that are enough for most sets.
const FEW: usize = 3;

/// The pattern configurations of a position, one balanced ternary number per lane (see the module's documentation). Lanes beyond
/// the layout's instances stay 0.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
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

    /// The numbers, sixteen per vector.
    #[inline]
    pub(crate) fn vectors(&self) -> &[i16x16; LANES / WIDTH] {
        &self.0
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

/// The instances of patterns on the board, a lane for each, and what is needed to compute their indices.
#[derive(Clone, Debug)]
pub struct Lanes {
    instances: Vec<Instance>,
    /// What an own disc on a square adds to the indices; after the squares a row of zeros, for no disc.
    discs: Box<[Indices; 65]>,
    /// What own discs on any four squares of half a row add: `halves[half_row][four_bits]`.
    halves: Box<[[Indices; 16]; 16]>,
}

/// A pattern, by its number, at one of its places.
#[derive(Clone, Debug)]
struct Instance {
    pattern: usize,
    squares: ArrayVec<Square, MAX_SQUARES>,
}

impl Lanes {
    /// The lanes of some patterns: pattern by pattern, a lane for each of its different places on the board.
    ///
    /// # Errors
    /// The number of instances, if it is above [`LANES`].
    pub(super) fn new(patterns: &[Pattern]) -> Result<Self, usize> {
        let of =
            |(number, pattern)| places(pattern).into_iter().map(move |squares| Instance { pattern: number, squares });
        let instances: Vec<Instance> = patterns.iter().enumerate().flat_map(of).collect();
        if instances.len() > LANES {
            return Err(instances.len());
        }
        Ok(Self::of(instances))
    }

    /// The same lanes with other digits: for each pattern, by its number, which of its digits comes first (the least significant), second,
    /// and so on.
    pub(crate) fn with_digits(&self, orders: &[Vec<usize>]) -> Self {
        let reordered = |Instance { pattern, squares }: &Instance| Instance {
            pattern: *pattern,
            squares: orders[*pattern].iter().map(|&digit| squares[digit]).collect(),
        };
        Self::of(self.instances.iter().map(reordered).collect())
    }

    fn of(instances: Vec<Instance>) -> Self {
        let mut discs = Box::new([Indices::ZERO; 65]);
        for (lane, instance) in instances.iter().enumerate() {
            let mut digit = 1;
            for square in &instance.squares {
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
        Self { instances, discs, halves }
    }

    /// Number of lanes in use.
    #[inline]
    pub fn count(&self) -> usize {
        self.instances.len()
    }

    /// The pattern of a lane (its number in the set) and the lane's squares in digit order.
    ///
    /// # Panics
    /// If `lane` is not below [`Self::count`].
    pub fn instance(&self, lane: usize) -> (usize, &[Square]) {
        let Instance { pattern, squares } = &self.instances[lane];
        (*pattern, squares)
    }

    /// The lanes of a pattern, by its number in the set.
    pub fn of_pattern(&self, pattern: usize) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(move |&lane| self.instances[lane].pattern == pattern)
    }

    /// The indices of a position, computed from scratch.
    #[inline]
    pub fn indices(&self, position: &Position) -> Indices {
        if self.count() <= FEW * WIDTH {
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
        self.place(before, to, flips).pass()
    }

    /// The indices after a move, seen by the player who made it, from those before it.
    #[inline]
    pub(crate) fn place(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        if self.count() <= FEW * WIDTH {
            self.place_vectors::<FEW>(before, to, flips)
        } else {
            self.place_vectors::<{ LANES / WIDTH }>(before, to, flips)
        }
    }

    /// [`Self::place`] with the lanes of the first vectors only; the others become 0.
    #[inline(always)]
    fn place_vectors<const USED: usize>(&self, before: &Indices, to: Square, flips: Bitboard) -> Indices {
        // A turned disc goes from -1 to +1.
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
            after.0[vector] = before.0[vector] + placed[vector] + (flipped[vector] + flipped[vector]);
        }
        after
    }
}

/// The different places of a pattern on the board, each with its squares in digit order.
fn places(pattern: &Pattern) -> Vec<ArrayVec<Square, MAX_SQUARES>> {
    let mut seen: Vec<Bitboard> = Vec::new();
    let mut places = Vec::new();
    for symmetry in Symmetry::ALL {
        let mask = symmetry.bitboard(pattern.mask());
        if !seen.contains(&mask) {
            seen.push(mask);
            places.push(pattern.squares().map(|square| symmetry.square(square)).collect());
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{BUILT_IN, PatternSet};

    #[test]
    fn incremental_equals_recomputed() {
        // Sets of few and of many instances.
        for (name, _) in BUILT_IN {
            play_through(&Lanes::new(&PatternSet::built_in(name).unwrap().patterns).unwrap());
        }
    }

    fn play_through(lanes: &Lanes) {
        let mut position = Position::START;
        let mut indices = lanes.indices(&position);
        let mut choice = 7usize;
        while !position.is_game_over() {
            let moves = position.moves();
            if moves == 0 {
                (position, indices) = (position.pass(), indices.pass());
            } else {
                choice = choice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let to = squares(moves).nth((choice >> 33) % moves.count_ones() as usize).unwrap();
                let flips = position.flips(to);
                indices = lanes.play(&indices, to, flips);
                position = position.play_unchecked(to, flips);
            }
            assert_eq!(indices, lanes.indices(&position));
            // The definition itself: own +1, opponent -1, first square least significant.
            for lane in 0..lanes.count() {
                let (_, squares) = lanes.instance(lane);
                let digit =
                    |s: &Square| (position.player & s.bit() != 0) as i32 - (position.opponent & s.bit() != 0) as i32;
                let number = squares.iter().rev().fold(0, |number, square| 3 * number + digit(square));
                assert_eq!(i32::from(indices.lanes()[lane]), number);
            }
        }
    }
}
