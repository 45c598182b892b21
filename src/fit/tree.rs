//! Samples from search trees.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::eval::{ModelError, PatternEvaluator, Score};
use crate::learn::{Bound, Sample};
use crate::search::{Searcher, TreeNode};
use crate::selfplay::{PlyKind, Replay};
use crate::weights::WeightFile;

/// Entries of the searches' table, as a power of two: what fits the second-level cache.
const LOG2_ENTRIES: u32 = 12;

/// Searches positions of games with given weights. What these searches say of the positions inside their trees is learned beside
/// the games, so that weights are also good for positions that occur only inside searches: TreeStrap (Joel Veness, David Silver,
/// William Uther and Alan Blair, "Bootstrapping from game tree search", 2009).
pub(super) struct Teacher {
    evaluator: PatternEvaluator,
    depth: u32,
}

impl Teacher {
    pub fn new(weights: &WeightFile, depth: u32) -> Result<Self, ModelError> {
        Ok(Self { evaluator: PatternEvaluator::new(&weights.model)?, depth })
    }

    /// One of a game's positions whose label is a search's, chosen at random by the game's number and the epoch. `samples` are the game's.
    pub fn root(&self, game: u64, epoch: u32, replay: &Replay, samples: &[Sample]) -> Option<Sample> {
        let searched = replay.plies.iter().take_while(|ply| ply.kind != PlyKind::Exact).count();
        let mut rng = ChaCha8Rng::seed_from_u64(game);
        rng.set_stream(epoch.into());
        (searched > 0).then(|| samples[rng.random_range(0..searched)])
    }

    /// The samples of the trees under some roots. They are searched in the order of their stages, whose tables stay in the cache meanwhile.
    pub fn samples(&self, mut roots: Vec<Sample>) -> Vec<Sample> {
        roots.sort_by_key(|root| root.position.empties());
        let mut searcher = Searcher::new(&self.evaluator, LOG2_ENTRIES);
        let of_root = |root: Sample| {
            searcher.forget();
            let found = searcher.search(&root.position, self.depth).score;
            let tree = searcher.tree(&root.position, self.depth);
            tree.into_iter().flat_map(move |node| samples_of(node, root.target - found))
        };
        roots.into_iter().flat_map(of_root).collect()
    }
}

/// What there is to learn of a node: its value, or a bound of it, or two. What the game knew better of the root, `surplus` for the side
/// to move there, goes for the whole tree.
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
