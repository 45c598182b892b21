//! Statistics by number of empty squares.

use std::collections::BTreeMap;

/// A statistic for each number of empty squares, and for everything together.
#[derive(Clone, PartialEq, Debug)]
pub struct ByEmpties<T> {
    /// By number of empty squares; only those that occur.
    pub rows: BTreeMap<u32, T>,
    /// Over all of them.
    pub all: T,
}

impl<T> ByEmpties<T> {
    /// The statistic of some observations, each with its number of empty squares; `None` without any.
    pub(super) fn of<O: Copy>(
        observations: impl IntoIterator<Item = (u32, O)>,
        statistic: impl Fn(&[O]) -> T,
    ) -> Option<Self> {
        let mut groups: BTreeMap<u32, Vec<O>> = BTreeMap::new();
        for (empties, observation) in observations {
            groups.entry(empties).or_default().push(observation);
        }
        let all: Vec<O> = groups.values().flatten().copied().collect();
        let rows = groups.iter().map(|(&empties, group)| (empties, statistic(group))).collect();
        (!all.is_empty()).then(|| Self { rows, all: statistic(&all) })
    }
}
