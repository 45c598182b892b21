//! How large a tree is: its number of nodes by sampling, and its effective branching factor.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tree::Tree;

/// An estimated number of nodes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeEstimate {
    /// The estimate, which is unbiased.
    pub nodes: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// Estimates the number of nodes that minimax visits to a depth, the root included, by random walks down the tree: the
/// numbers of successors met on the way multiply to the size of each level (Donald Knuth, "Estimating the efficiency of
/// backtrack programs", 1975). The same seed gives the same estimate.
///
/// # Panics
/// If `walks` is below 2.
pub fn estimate_size<T: Tree>(tree: &T, root: &T::Node, depth: u32, walks: u32, seed: u64) -> SizeEstimate {
    assert!(walks >= 2, "an error cannot be estimated from a single walk");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..walks {
        let size = walk(tree, root, depth, &mut rng);
        sum += size;
        squares += size * size;
    }
    let walks = f64::from(walks);
    let mean = sum / walks;
    let variance = (squares / walks - mean * mean).max(0.0) * walks / (walks - 1.0);
    SizeEstimate { nodes: mean, standard_error: (variance / walks).sqrt() }
}

fn walk<T: Tree>(tree: &T, root: &T::Node, mut depth: u32, rng: &mut ChaCha8Rng) -> f64 {
    let (mut size, mut level) = (1.0, 1.0);
    let mut here = None;
    while depth > 0 {
        let mut successors = tree.successors(here.as_ref().unwrap_or(root));
        if successors.is_empty() {
            break;
        }
        level *= successors.len() as f64;
        size += level;
        let next = successors.swap_remove(rng.random_range(0..successors.len()));
        depth -= next.plies;
        here = Some(next.node);
    }
    size
}

/// The effective branching factor: the b for which a uniform tree of this depth, 1 + b + ... + b^depth nodes, has as
/// many nodes (Nils Nilsson, "Problem-solving methods in artificial intelligence", 1971). At least 0; 0 for depth 0.
pub fn branching_factor(nodes: f64, depth: u32) -> f64 {
    let size = |b: f64| (0..depth).fold(1.0, |size, _| 1.0 + b * size);
    let (mut low, mut high) = (0.0, if depth == 0 { 0.0 } else { nodes.max(1.0) });
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if size(middle) < nodes {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}
