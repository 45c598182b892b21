//! Samples from searches: a teacher's trees, or the leaves of the principal variations of the weights that are fitted.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::seq::{IteratorRandom, index};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::config::FitConfig;
use crate::board::{Diagram, Position, Side, squares};
use crate::eval::{ModelError, PatternEvaluator, Score};
use crate::learn::{Bound, Sample};
use crate::search::{Engine, Searcher, Strength, TreeNode};
use crate::selfplay::{PlyKind, Replay, leaf};
use crate::weights::WeightFile;

/// Entries of the searches' tables, as a power of two: what fits the second-level cache.
const LOG2_ENTRIES: u32 = 12;

/// A teacher solves leaves with this number of empties or fewer.
const EXACT_EMPTIES: u32 = 12;

/// Positions of a game that are searched for leaves in an epoch.
const LEAF_ROOTS: usize = 4;

/// Weights that know better, and what is learned of them.
pub(super) struct Teacher {
    evaluator: PatternEvaluator,
    strength: Strength,
    student: Option<Student>,
}

/// Weights as they were when the fit began, and the plies that they look ahead.
struct Student {
    evaluator: PatternEvaluator,
    depth: u32,
}

impl Teacher {
    /// A teacher of trees; with `student`, the weights that the fit begins with, one of leaves.
    pub fn new(weights: &WeightFile, student: Option<&WeightFile>, config: &FitConfig) -> Result<Self, ModelError> {
        let student = student.map(|student| PatternEvaluator::new(&student.model)).transpose()?;
        Ok(Self {
            evaluator: PatternEvaluator::new(&weights.model)?,
            strength: Strength::new(config.tree_depth, EXACT_EMPTIES),
            student: student.map(|evaluator| Student { evaluator, depth: config.leaf_depth }),
        })
    }

    /// Whether the positions of the games are learned beside what it teaches.
    pub fn is_beside_games(&self) -> bool {
        self.student.is_none()
    }

    /// Positions of a game whose label is a search's, chosen at random by the game's number and the epoch: one, or [`LEAF_ROOTS`] for leaves.
    /// `samples` are the game's.
    pub fn roots(&self, game: u64, epoch: u32, replay: &Replay, samples: &[Sample]) -> Vec<Sample> {
        let searched = replay.plies.iter().take_while(|ply| ply.kind != PlyKind::Exact).count();
        let mut rng = ChaCha8Rng::seed_from_u64(game);
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

    /// What there is to learn under some roots; not all of it if `stop` was set meanwhile. They are searched in the order of their stages,
    /// whose tables stay in the cache meanwhile.
    pub fn samples(&self, mut roots: Vec<Sample>, stop: &AtomicBool) -> Vec<Sample> {
        roots.sort_by_key(|root| root.position.empties());
        match &self.student {
            None => self.trees(roots, stop),
            Some(student) => self.values(student.leaves(&roots, stop), stop),
        }
    }

    /// What searches say of the positions inside their trees, so that weights are also good for positions that occur only inside
    /// searches: TreeStrap (Joel Veness, David Silver, William Uther and Alan Blair, "Bootstrapping from game tree search", 2009).
    fn trees(&self, roots: Vec<Sample>, stop: &AtomicBool) -> Vec<Sample> {
        let mut searcher = Searcher::new(&self.evaluator, LOG2_ENTRIES);
        let depth = self.strength.depth;
        let of_root = |root: Sample| {
            searcher.forget();
            let found = searcher.search(&root.position, depth).score;
            let tree = searcher.tree(&root.position, depth);
            tree.into_iter().flat_map(move |node| samples_of(node, root.target - found))
        };
        until(stop, roots).flat_map(of_root).collect()
    }

    /// What its searches say that positions are worth.
    fn values(&self, mut positions: Vec<Position>, stop: &AtomicBool) -> Vec<Sample> {
        positions.sort_by_key(|position| position.empties());
        let mut engine = Engine::new(&self.evaluator, self.strength, LOG2_ENTRIES).expect("full width");
        let value = |position| {
            engine.forget();
            Sample::new(position, engine.analyse(&position).score.clamp_eval())
        };
        until(stop, positions).map(value).collect()
    }
}

impl Student {
    /// The leaves at the end of its principal variations: of each root, and after another move there, chosen at random by the position. A
    /// search steers towards what its evaluation overrates, so these are the positions at which errors count.
    fn leaves(&self, roots: &[Sample], stop: &AtomicBool) -> Vec<Position> {
        let mut searcher = Searcher::new(&self.evaluator, LOG2_ENTRIES);
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
