//! Samples from searches: a teacher's trees, or the PV leaves of the weights that the fit begins with.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::seq::{IteratorRandom, index};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::config::LearnConfig;
use crate::board::{Diagram, Position, Side, squares};
use crate::eval::{Model, ModelError, PatternEvaluator, Score};
use crate::learn::{Bound, Sample};
use crate::search::{Engine, Searcher, Strength, TreeNode};
use crate::selfplay::{PlyKind, Replay, leaf};

/// A teacher solves leaves with this number of empties or fewer.
const EXACT_EMPTIES: u32 = 12;

/// Positions of each game that are searched for leaves in an epoch.
const LEAF_ROOTS: usize = 4;

/// Weights whose searches are learned from.
#[derive(Debug)]
pub(crate) struct Teacher {
    evaluator: PatternEvaluator,
    strength: Strength,
    student: Option<Student>,
}

/// The weights that the fit began with, and the plies that they search.
#[derive(Debug)]
struct Student {
    evaluator: PatternEvaluator,
    depth: u32,
}

impl Teacher {
    /// A teacher of trees, or of leaves with a `student`, the weights that the fit begins with.
    ///
    /// # Errors
    /// Weights that cannot search.
    pub fn new(weights: &Model, student: Option<&Model>, config: &LearnConfig) -> Result<Self, ModelError> {
        let student = student.map(PatternEvaluator::new).transpose()?;
        Ok(Self {
            evaluator: PatternEvaluator::new(weights)?,
            strength: Strength::new(config.tree_depth, EXACT_EMPTIES),
            student: student.map(|evaluator| Student { evaluator, depth: config.leaf_depth }),
        })
    }

    /// Whether the positions of the games are learned as well.
    pub(super) fn is_beside_games(&self) -> bool {
        self.student.is_none()
    }

    /// Random positions among those of a game that a search has labelled, seeded by the game's place in the fit and the epoch: one, or
    /// [`LEAF_ROOTS`] for leaves. `samples` are the game's. (Those of a game with TDLeaf updates are the leaves that its labels are for.)
    pub(super) fn roots(&self, place: u64, epoch: u32, replay: &Replay, samples: &[Sample]) -> Vec<Sample> {
        let searched = replay.plies.iter().take_while(|ply| ply.kind != PlyKind::Exact).count();
        let mut rng = ChaCha8Rng::seed_from_u64(place);
        rng.set_stream(epoch.into());
        match self.student {
            None if searched == 0 => Vec::new(),
            None => vec![samples[rng.random_range(0..searched)]],
            Some(_) => {
                let chosen = index::sample(&mut rng, searched, LEAF_ROOTS.min(searched));
                chosen.into_iter().map(|number| samples[number]).collect()
            }
        }
    }

    /// The samples from searches of some roots; incomplete if `stop` was set. Roots are searched in the order of their stages, so that
    /// a stage's tables stay in the cache.
    pub(super) fn samples(&self, mut roots: Vec<Sample>, stop: &AtomicBool) -> Vec<Sample> {
        roots.sort_by_key(|root| root.position.empties());
        match &self.student {
            None => self.trees(roots, stop),
            Some(student) => self.values(student.leaves(&roots, stop), stop),
        }
    }

    /// Samples of the positions inside search trees, so that weights are also good for positions that occur only there: TreeStrap
    /// (Joel Veness, David Silver, William Uther and Alan Blair, "Bootstrapping from game tree search", 2009).
    fn trees(&self, roots: Vec<Sample>, stop: &AtomicBool) -> Vec<Sample> {
        let mut searcher = Searcher::new(&self.evaluator, self.strength.log2_entries());
        let depth = self.strength.depth;
        let of_root = |root: Sample| {
            searcher.forget();
            let found = searcher.search(&root.position, depth);
            let tree = searcher.tree(&root.position, found.depth);
            tree.into_iter().flat_map(move |node| samples_of(node, root.target - found.score))
        };
        until(stop, roots).flat_map(of_root).collect()
    }

    /// Samples of positions with the values of its searches.
    fn values(&self, mut positions: Vec<Position>, stop: &AtomicBool) -> Vec<Sample> {
        positions.sort_by_key(|position| position.empties());
        let mut engine = Engine::new(&self.evaluator, self.strength, self.strength.log2_entries()).expect("full width");
        let value = |position| {
            engine.forget();
            Sample::new(position, engine.analyse(&position).score.clamp_eval())
        };
        until(stop, positions).map(value).collect()
    }
}

impl Student {
    /// Its PV leaves: one of each root, and one after another move there, chosen at random, seeded by the position. A search steers
    /// towards what its evaluation overrates, so these are the positions where errors matter.
    fn leaves(&self, roots: &[Sample], stop: &AtomicBool) -> Vec<Position> {
        let mut searcher = Searcher::new(&self.evaluator, Strength::new(self.depth, 0).log2_entries());
        let mut leaves = Vec::new();
        let mut search = |searcher: &mut Searcher<_>, diagram: Diagram, depth| {
            let line = searcher.search(&diagram.position, depth).pv;
            let end = leaf(diagram, &line).expect("principal variations are legal");
            leaves.extend(end.map(|(position, _)| position));
            line.first().copied()
        };
        for Sample { position, .. } in until(stop, roots) {
            searcher.forget();
            let root = Diagram { position: *position, side: Side::Black };
            let best = search(&mut searcher, root, self.depth);
            let mut rng = ChaCha8Rng::seed_from_u64(position.player ^ position.opponent.rotate_left(32));
            let others = squares(position.moves()).filter(|&to| Some(to) != best);
            if let Some(other) = others.choose(&mut rng) {
                let after = root.try_play(other).expect("a legal move");
                if after.position.moves() != 0 {
                    search(&mut searcher, after, self.depth - 1);
                }
            }
        }
        leaves
    }
}

/// Items until a flag is set.
fn until<T>(stop: &AtomicBool, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    items.into_iter().take_while(|_| !stop.load(Relaxed))
}

/// The samples of a node: its value, or one or two bounds. `surplus` is what the game's label of the root adds to the search's, for
/// the side to move at the root; it is added throughout the tree.
fn samples_of(node: TreeNode, surplus: Score) -> impl Iterator<Item = Sample> {
    let surplus = if node.ply.is_multiple_of(2) { surplus } else { -surplus };
    let bounds = if node.lower == node.upper {
        [(node.lower, Bound::Exact), (None, Bound::Exact)]
    } else {
        [(node.lower, Bound::Lower), (node.upper, Bound::Upper)]
    };
    let sample = move |(value, bound): (Option<Score>, Bound)| {
        Some(Sample { bound, ..Sample::new(node.position, (value? + surplus).clamp_eval()) })
    };
    bounds.into_iter().filter_map(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_label_adds_is_for_the_side_to_move() {
        let discs = |discs: Option<i32>| discs.map(Score::from_discs);
        let samples = |ply, lower, upper| {
            let (lower, upper) = (discs(lower), discs(upper));
            let node = TreeNode { position: Position::START, ply, lower, upper };
            let samples = samples_of(node, Score::from_discs(2));
            samples.map(|sample| (sample.target.discs(), sample.bound)).collect::<Vec<_>>()
        };
        assert_eq!(samples(0, Some(5), Some(5)), [(7.0, Bound::Exact)]);
        assert_eq!(samples(3, Some(5), Some(5)), [(3.0, Bound::Exact)]);
        assert_eq!(samples(2, Some(-1), Some(4)), [(1.0, Bound::Lower), (6.0, Bound::Upper)]);
        assert_eq!(samples(1, Some(-1), None), [(-3.0, Bound::Lower)]);
        assert_eq!(samples(1, None, Some(4)), [(2.0, Bound::Upper)]);
    }
}
