//! The configurations with a model's largest weights.

use super::Model;
use crate::board::Position;
use crate::pattern::Layout;

/// A configuration of a pattern with its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValuedConfiguration {
    /// The discs on the pattern's squares.
    pub discs: Position,
    /// Its weight, in discs for the player.
    pub value: f64,
}

/// The configurations of a pattern (its number in the set) with the largest weights by absolute value in a stage, the largest
/// first. Of configurations that a symmetry of the pattern makes equal, only one is listed. Weights of zero are left out.
///
/// # Panics
/// If the layout is not that of the model's set, or if it has no such pattern or the model no such stage.
pub fn strongest_configurations(
    model: &Model,
    layout: &Layout,
    stage: usize,
    pattern: usize,
    count: usize,
) -> Vec<ValuedConfiguration> {
    assert!(layout.set().is_like(&model.set), "the layout belongs to the model's set");
    let lane = layout.lanes().of_pattern(pattern).next().expect("the pattern exists");
    let weights = &model.weights[stage];
    let mut valued: Vec<(usize, i16)> = layout.first_configurations(pattern).map(|(c, w)| (c, weights[w])).collect();
    valued.retain(|&(_, weight)| weight != 0);
    valued.sort_by_key(|&(configuration, weight)| (std::cmp::Reverse(weight.unsigned_abs()), configuration));
    valued.truncate(count);
    valued
        .into_iter()
        .map(|(c, weight)| ValuedConfiguration { discs: discs(layout, lane, c), value: model.discs(weight) })
        .collect()
}

/// The discs of a configuration, counted from 0: its ternary digits are 0 for the opponent, 1 for none, 2 for the player.
fn discs(layout: &Layout, lane: usize, configuration: usize) -> Position {
    let (mut position, mut rest) = (Position { player: 0, opponent: 0 }, configuration);
    for square in layout.lanes().instance(lane).1 {
        match rest % 3 {
            0 => position.opponent |= square.bit(),
            1 => {}
            _ => position.player |= square.bit(),
        }
        rest /= 3;
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::canonical;
    use crate::eval::StageMap;
    use crate::pattern::PatternSet;

    #[test]
    fn the_largest_weights_come_first_and_mirrored_ones_once() {
        let set = PatternSet::built_in("classic").unwrap();
        let layout = Layout::new(&set).unwrap();
        let mut model = Model::zero(&set, &StageMap::uniform(60), 128).unwrap();
        let edge = set.patterns.iter().position(|pattern| pattern.name == "hor2").unwrap();
        // The weight behind a position's slot in the lane of row 2.
        let lane = layout.lanes().of_pattern(edge).next().unwrap();
        let mut set_weight = |player: u64, opponent: u64, weight: i16| {
            let index = layout.lanes().indices(&Position { player, opponent }).lanes()[lane];
            let slot = layout.centres()[lane].wrapping_add_signed(i32::from(index));
            model.weights[0][layout.weight_of_slot()[slot as usize] as usize] = weight;
        };
        set_weight(1 << 8, 0, 64);
        set_weight(1 << 9, 1 << 10, -256);
        let found = strongest_configurations(&model, &layout, 0, edge, 5);
        assert_eq!(found.iter().map(|found| found.value).collect::<Vec<_>>(), [-2.0, 0.5]);
        let expected = [Position { player: 1 << 9, opponent: 1 << 10 }, Position { player: 1 << 8, opponent: 0 }];
        assert_eq!([found[0].discs, found[1].discs].map(canonical), expected.map(canonical));
        assert_eq!(strongest_configurations(&model, &layout, 0, edge, 1).len(), 1);
    }
}
