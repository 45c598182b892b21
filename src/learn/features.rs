//! The weights of a position's features.

use std::sync::Arc;

use crate::board::Position;
use crate::pattern::{LANES, Layout, Scalar, Seen};

/// The largest number of features of a position: pattern instances and scalars.
pub(super) const FEATURES: usize = LANES + Scalar::ALL.len();

/// For each configuration of a pattern, by its index seen as a `u16`, how many of the pattern's weights come before its own.
type Table = [u16; 1 << 16];

/// Finds the weights of a position's features: patterns first, then scalars. They are those of the features' slots in the layout; these
/// tables are half as large, and an index needs no bounds check.
#[derive(Clone, Debug)]
pub(super) struct Features {
    layout: Arc<Layout>,
    /// By lane: the table of its pattern, and the pattern's first weight.
    lanes: Vec<(Arc<Table>, u32)>,
    /// The scalars, each with its first weight.
    scalars: Vec<(Scalar, u32)>,
}

impl Features {
    pub fn new(layout: Arc<Layout>) -> Self {
        let mut lanes = Vec::new();
        for pattern in 0..layout.set().patterns.len() {
            let (slots, first) = (layout.slots_of(pattern), layout.weights_of(pattern).start as u32);
            let empty = slots.len() / 2;
            let mut table: Table = [0; 1 << 16];
            for (configuration, &weight) in layout.weight_of_slot()[slots].iter().enumerate() {
                table[configuration.wrapping_sub(empty) as u16 as usize] = (weight - first) as u16;
            }
            let table = Arc::new(table);
            lanes.extend(layout.lanes().of_pattern(pattern).map(|_| (table.clone(), first)));
        }
        let first_weight = |scalar| layout.first_weight(scalar).expect("a scalar of the set") as u32;
        let scalars = layout.set().scalars.iter().map(|&scalar| (scalar, first_weight(scalar))).collect();
        Self { lanes, scalars, layout }
    }

    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The numbers of a position's weights, all below [`Layout::weights`]. Each is also passed to `found` at once.
    #[inline]
    pub fn weights<'w>(&self, position: &Position, weights: &'w mut [u32; FEATURES], found: impl Fn(u32)) -> &'w [u32] {
        let indices = self.layout.lanes().indices(position);
        for ((weight, &index), (table, first)) in weights.iter_mut().zip(indices.lanes()).zip(&self.lanes) {
            *weight = first + u32::from(table[index as u16 as usize]);
            found(*weight);
        }
        let seen = Seen::new(position);
        for (weight, (scalar, first)) in weights[self.lanes.len()..].iter_mut().zip(&self.scalars) {
            let value = scalar.of(&seen);
            assert!(value < scalar.values(), "{scalar:?} has the value {value}");
            *weight = first + value as u32;
            found(*weight);
        }
        &weights[..self.lanes.len() + self.scalars.len()]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::Transcript;
    use crate::pattern::{BUILT_IN, PatternSet};

    #[test]
    fn weights_are_those_of_the_slots() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let games: Vec<Transcript> = (0..20).map(|_| Transcript::random(&mut rng)).collect();
        for (name, _) in BUILT_IN {
            let layout = Arc::new(Layout::new(&PatternSet::built_in(name).unwrap()).unwrap());
            let features = Features::new(layout.clone());
            for position in games.iter().flat_map(Transcript::steps).map(|(diagram, _)| diagram.position) {
                let indices = layout.lanes().indices(&position);
                let of_lane = |lane: usize| layout.centres()[lane].wrapping_add_signed(indices.lanes()[lane].into());
                let seen = Seen::new(&position);
                let of_scalar = |(scalar, first): &(Scalar, usize)| (first + scalar.of(&seen)) as u32;
                let slots = (0..layout.lanes().count()).map(of_lane).chain(layout.scalars().iter().map(of_scalar));
                let expected: Vec<u32> = slots.map(|slot| layout.weight_of_slot()[slot as usize]).collect();
                assert_eq!(features.weights(&position, &mut [0; FEATURES], |_| ()), expected, "{name}");
            }
        }
    }
}
