//! The textbook searches against naive minimax: on trees from the literature, on random ones, and on Othello.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use crate::helpers::{random_positions, random_step};
use crate::literature::{
    Algorithm, Explorer, Options, Ordering, OthelloTree, Outcome, Successor, Tree, branching_factor, estimate_size,
};
use flipside::board::{Position, Square, Transcript, squares};
use flipside::eval::{Evaluator, MobilityEvaluator, PatternEvaluator, Score, SquareEvaluator};
use flipside::search::{Engine, Limits, Searcher, Strength};
use flipside::weights::WeightFile;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A tree, or a graph without cycles, of numbered nodes; node 0 is the root. It counts the leaves visited.
#[derive(Default)]
struct Drawn {
    /// For each node, its value for the player to move there, and its successors.
    nodes: Vec<(i32, Vec<usize>)>,
    leaves_visited: Cell<u32>,
}

impl Tree for Drawn {
    type Node = usize;

    fn evaluate(&self, &node: &usize) -> Score {
        self.leaves_visited.set(self.leaves_visited.get() + u32::from(self.nodes[node].1.is_empty()));
        Score(self.nodes[node].0)
    }

    fn result(&self, node: &usize) -> Score {
        self.evaluate(node)
    }

    fn successors(&self, &node: &usize) -> Vec<Successor<usize>> {
        let names = 0..;
        self.nodes[node].1.iter().zip(names).map(|(&node, name)| Successor { name, node, plies: 1 }).collect()
    }

    fn hash(&self, &node: &usize) -> u64 {
        (node as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// A tree as textbooks print it: `((3 12 8) (2 4 6))`, values for the player at the root.
fn drawn(text: &str) -> Drawn {
    let mut tree = Drawn::default();
    let mut open: Vec<usize> = Vec::new();
    for token in text.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        if token == ")" {
            open.pop();
            continue;
        }
        let (node, sign) = (tree.nodes.len(), if open.len().is_multiple_of(2) { 1 } else { -1 });
        tree.nodes.push((token.parse().map_or(0, |value: i32| sign * value), Vec::new()));
        if let Some(&parent) = open.last() {
            tree.nodes[parent].1.push(node);
        }
        if token == "(" {
            open.push(node);
        }
    }
    tree
}

/// Minimax by definition.
fn naive(tree: &Drawn, node: usize, depth: u32) -> i32 {
    let (value, successors) = &tree.nodes[node];
    let values = successors.iter().map(|&successor| -naive(tree, successor, depth - 1));
    if depth == 0 { *value } else { values.max().unwrap_or(*value) }
}

fn explore<T: Tree>(tree: &T, algorithm: Algorithm, options: Options, root: &T::Node, depth: u32) -> Outcome {
    Explorer::new(tree, algorithm, options).search(root, depth)
}

/// All combinations of deepening, table and move ordering, with small tables so that entries are replaced.
fn all_options() -> Vec<Options> {
    let everything =
        Ordering { hash_move: true, killers: true, evaluation: true, mobility: true, history: true, ..Ordering::BEST };
    let mut all = Vec::new();
    for deepening in [false, true] {
        for log2_table in [None, Some(6), Some(12)] {
            for ordering in [Ordering::NONE, Ordering::BEST, everything] {
                let narrow = Options { aspiration: Score(1), widening: 2, ..Options::PLAIN };
                all.push(Options { deepening, log2_table, ordering, ..narrow });
            }
        }
    }
    all
}

/// Root value, best move, leaves in all, leaves that alpha-beta visits.
const TEXTBOOK: [(&str, i32, u8, u32, u32); 4] = [
    // Stuart Russell and Peter Norvig, Artificial Intelligence: A Modern Approach, the chapter on adversarial search.
    ("((3 12 8) (2 4 6) (14 5 2))", 3, 0, 9, 7),
    // The example of the encyclopedia article on alpha-beta pruning.
    ("((((5 6) (7 4 5)) ((3))) (((6) (6 9)) ((7))) (((5)) ((9 8) (6))))", 6, 1, 14, 9),
    // A deep cutoff (Knuth and Moore 1975): what is beside the 4 cannot matter because of the 5 three levels above.
    ("(5 (((4 9) 3) 6))", 5, 0, 5, 3),
    // A single move.
    ("(-7)", -7, 0, 1, 1),
];

#[test]
fn textbook_trees_have_their_known_values() {
    for (text, value, best, leaves, visited) in TEXTBOOK {
        let tree = drawn(text);
        for algorithm in Algorithm::ALL {
            tree.leaves_visited.set(0);
            let found = explore(&tree, algorithm, Options::PLAIN, &0, 9);
            assert_eq!((found.score, found.best), (Score(value), Some(best)), "{algorithm:?} {text}");
            match algorithm {
                Algorithm::Minimax | Algorithm::Negamax => {
                    assert_eq!(tree.leaves_visited.get(), leaves, "{algorithm:?} {text}");
                    assert_eq!(found.nodes, tree.nodes.len() as u64);
                }
                Algorithm::AlphaBetaHard | Algorithm::AlphaBetaSoft => {
                    assert_eq!(tree.leaves_visited.get(), visited, "{algorithm:?} {text}");
                }
                _ => {}
            }
            for options in all_options() {
                assert_eq!(explore(&tree, algorithm, options, &0, 9).score, Score(value), "{algorithm:?} {text}");
            }
        }
    }
}

/// A uniform tree whose leaf values are a function of the leaf's number.
fn uniform(breadth: usize, height: u32, value: impl Fn(usize) -> i32) -> Drawn {
    let (mut nodes, mut first, mut width) = (Vec::new(), 0, 1);
    for _ in 0..height {
        let below = first + width;
        nodes.extend((0..width).map(|i| (0, (0..breadth).map(|k| below + i * breadth + k).collect())));
        (first, width) = (below, width * breadth);
    }
    nodes.extend((0..width).map(|leaf| (value(leaf), Vec::new())));
    Drawn { nodes, ..Drawn::default() }
}

#[test]
fn perfect_order_visits_the_minimal_tree() {
    // Slagle and Dixon 1969, Knuth and Moore 1975: b^ceil(h/2) + b^floor(h/2) - 1 leaves. With all values equal, any
    // order is perfect.
    for (breadth, height) in [(2, 1), (2, 6), (3, 4), (3, 5), (5, 3), (7, 2)] {
        let tree = uniform(breadth, height, |_| 1);
        let minimal = breadth.pow(height.div_ceil(2)) + breadth.pow(height / 2) - 1;
        for algorithm in [Algorithm::AlphaBetaHard, Algorithm::AlphaBetaSoft, Algorithm::Pvs] {
            tree.leaves_visited.set(0);
            explore(&tree, algorithm, Options::PLAIN, &0, height);
            assert_eq!(tree.leaves_visited.get() as usize, minimal, "{algorithm:?} {breadth} {height}");
        }
    }
}

/// A random graph whose nodes lie at several distances from the root, with few values, so that many are equal.
fn random_graph(rng: &mut ChaCha8Rng) -> Drawn {
    let size = rng.random_range(1..60usize);
    let spread = rng.random_range(1..20);
    let node = |i: usize, rng: &mut ChaCha8Rng| {
        let successors = if i + 1 < size { rng.random_range(0..5) } else { 0 };
        let next = |rng: &mut ChaCha8Rng| (i + 1 + rng.random_range(0..8)).min(size - 1);
        (rng.random_range(-spread..=spread), (0..successors).map(|_| next(rng)).collect())
    };
    Drawn { nodes: (0..size).map(|i| node(i, rng)).collect(), ..Drawn::default() }
}

#[test]
fn random_trees_and_graphs_agree() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..150 {
        let tree = random_graph(&mut rng);
        for depth in 0..7 {
            let value = Score(naive(&tree, 0, depth));
            let plain = explore(&tree, Algorithm::Minimax, Options::PLAIN, &0, depth);
            assert_eq!(plain.score, value);
            for algorithm in Algorithm::ALL {
                for options in all_options() {
                    let found = explore(&tree, algorithm, options, &0, depth);
                    assert_eq!(found.score, value, "{algorithm:?} {options:?} {:?} depth {depth}", tree.nodes);
                    check_move(&tree, &found, depth);
                    if options.log2_table.is_none() && options.ordering == Ordering::NONE {
                        assert_eq!(found.best, plain.best, "{algorithm:?} {options:?} {:?} depth {depth}", tree.nodes);
                    }
                }
            }
        }
    }
}

fn check_move(tree: &Drawn, found: &Outcome, depth: u32) {
    let successors = &tree.nodes[0].1;
    match found.best {
        Some(name) => assert_eq!(Score(-naive(tree, successors[usize::from(name)], depth - 1)), found.score),
        None => assert!(depth == 0 || successors.is_empty()),
    }
}

/// Minimax on positions, sharing nothing with the searches. A pass is not a ply.
fn naive_othello<E: Evaluator>(evaluator: &E, position: Position, depth: u32) -> Score {
    let moves = position.moves();
    if moves != 0 && depth == 0 {
        return evaluator.evaluate_position(&position);
    }
    if moves != 0 {
        return squares(moves).map(|to| -naive_othello(evaluator, position.play(to), depth - 1)).max().unwrap();
    }
    if position.is_game_over() {
        Score::from_discs(position.final_score())
    } else {
        -naive_othello(evaluator, position.pass(), depth)
    }
}

/// Positions of games of random moves, and boards no game leads to, with many passes, wipe-outs and early ends.
fn positions(seed: u64, count: usize) -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::new();
    while found.len() < count {
        let mut position = Position::START;
        for _ in 0..rng.random_range(0..62) {
            position = random_step(position, &mut rng);
        }
        found.push(position);
        let empty = rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>();
        let mut player = rng.random::<u64>();
        for _ in 0..rng.random_range(0..5) {
            player &= rng.random::<u64>();
        }
        let player = if rng.random() { player } else { !player };
        found.push(Position::new(player & !empty, !player & !empty).unwrap());
    }
    found
}

fn agree<E: Evaluator>(evaluator: &E, positions: &[Position], deepest: u32) {
    let tree = OthelloTree::new(evaluator);
    for position in positions {
        let root = tree.node(position);
        for depth in 0..=deepest {
            let value = naive_othello(evaluator, *position, depth);
            let plain = explore(&tree, Algorithm::Minimax, Options::PLAIN, &root, depth);
            assert_eq!(plain.score, value, "{position:?} depth {depth}");
            // A table that fits the cache is used differently from one that does not.
            for log2_entries in [10, 17] {
                let found = Searcher::new(evaluator, log2_entries).search(position, depth);
                assert_eq!(found.score, value, "{position:?} depth {depth} table {log2_entries}");
            }
            for algorithm in Algorithm::ALL {
                for options in all_options() {
                    let found = explore(&tree, algorithm, options, &root, depth);
                    let context = || format!("{algorithm:?} {options:?} {position:?} depth {depth}");
                    assert_eq!(found.score, value, "{}", context());
                    let best = found.best.and_then(OthelloTree::<E>::square);
                    assert_eq!(best.is_some(), depth > 0 && position.moves() != 0, "{}", context());
                    if let Some(to) = best {
                        assert_eq!(-naive_othello(evaluator, position.play(to), depth - 1), value, "{}", context());
                    }
                    if options.log2_table.is_none() && options.ordering == Ordering::NONE {
                        assert_eq!(found.best, plain.best, "{}", context());
                    }
                }
            }
        }
    }
}

#[test]
fn othello_values_and_moves_equal_minimax() {
    let many = positions(2, 2000);
    let passes = many.iter().filter(|p| p.moves() == 0 && !p.is_game_over()).take(15);
    let ends = many.iter().filter(|p| p.is_game_over()).take(5);
    let positions: Vec<_> = many.iter().take(40).chain(passes).chain(ends).copied().collect();
    assert_eq!(positions.len(), 60);
    agree(&MobilityEvaluator, &positions, 3);
    // Square values are whole eighths of a disc: many moves are equally good.
    agree(&SquareEvaluator::default(), &positions, 3);
    agree(&SquareEvaluator::default(), &positions[..8], 4);
    agree(&PatternEvaluator::new(&WeightFile::embedded().model).unwrap(), &positions, 2);
}

#[test]
fn late_positions_are_searched_to_the_end() {
    let late: Vec<_> = positions(3, 400).into_iter().filter(|p| p.empties() <= 5).take(25).collect();
    assert_eq!(late.len(), 25);
    agree(&MobilityEvaluator, &late, 8);
}

#[test]
fn depths_beyond_the_end_of_the_game_add_no_work() {
    for position in positions(9, 60).into_iter().filter(|position| position.empties() <= 9) {
        let depth = position.empties();
        let [to_the_end, beyond] =
            [depth, 300 + depth % 2].map(|depth| Searcher::new(&MobilityEvaluator, 12).search(&position, depth));
        assert_eq!(to_the_end, beyond);
        assert_eq!(beyond.depth, depth);
    }
}

#[test]
fn windows_that_open_at_once_and_wide_ones_agree_too() {
    let tree = OthelloTree::new(&MobilityEvaluator);
    for position in positions(4, 20) {
        let value = naive_othello(&MobilityEvaluator, position, 4);
        for (aspiration, widening) in [(0, 2), (1, u32::MAX), (64, 0), (i32::MAX, 3)] {
            let options = Options { aspiration: Score(aspiration), widening, ..Options::default() };
            let found = explore(&tree, Algorithm::Aspiration, options, &tree.node(&position), 4);
            assert_eq!(found.score, value, "{position:?} {options:?}");
        }
    }
}

#[test]
fn soft_and_hard_failing_visit_the_same_nodes() {
    let tree = OthelloTree::new(&MobilityEvaluator);
    for position in positions(5, 30) {
        let root = tree.node(&position);
        let nodes = |algorithm| explore(&tree, algorithm, Options::PLAIN, &root, 4).nodes;
        assert_eq!(nodes(Algorithm::AlphaBetaHard), nodes(Algorithm::AlphaBetaSoft));
        assert_eq!(nodes(Algorithm::Minimax), nodes(Algorithm::Negamax));
        assert!(nodes(Algorithm::AlphaBetaSoft) <= nodes(Algorithm::Minimax));
    }
}

#[test]
fn a_search_does_not_depend_on_the_one_before() {
    let tree = OthelloTree::new(&MobilityEvaluator);
    let mut used = Explorer::new(&tree, Algorithm::MtdF, Options::default());
    for position in positions(6, 20) {
        let root = tree.node(&position);
        assert_eq!(used.search(&root, 4), explore(&tree, Algorithm::MtdF, Options::default(), &root, 4));
    }
}

/// A root whose only successor has another value each time it is visited, as if a table had gone wrong.
struct Restless {
    looks: Cell<i32>,
}

impl Tree for Restless {
    type Node = bool;

    fn evaluate(&self, _: &bool) -> Score {
        self.looks.set(self.looks.get() + 1);
        Score(if self.looks.get() % 2 == 0 { 10 } else { -10 } + self.looks.get() % 3)
    }

    fn result(&self, node: &bool) -> Score {
        self.evaluate(node)
    }

    fn successors(&self, &root: &bool) -> Vec<Successor<bool>> {
        let only = Successor { name: 0, node: false, plies: 1 };
        if root { vec![only] } else { vec![] }
    }

    fn hash(&self, &root: &bool) -> u64 {
        u64::from(root)
    }
}

#[test]
fn no_driver_oscillates_forever() {
    for algorithm in Algorithm::ALL {
        let tree = Restless { looks: Cell::new(0) };
        let found = explore(&tree, algorithm, Options::PLAIN, &true, 1);
        assert!(found.score.0.abs() <= 12, "{algorithm:?}: {found:?}");
        // Plain MTD(f) is the one that needs the guard.
        assert_eq!(tree.looks.get() > 50, algorithm == Algorithm::MtdPlain, "{algorithm:?}: {}", tree.looks.get());
    }
}

#[test]
fn sizes_are_estimated_without_bias() {
    let tree = uniform(3, 4, |_| 0);
    let estimate = estimate_size(&tree, &0, 4, 10, 1);
    assert_eq!((estimate.nodes, estimate.standard_error), (121.0, 0.0));

    let othello = OthelloTree::new(&MobilityEvaluator);
    for position in positions(7, 12) {
        let root = othello.node(&position);
        let counted = explore(&othello, Algorithm::Minimax, Options::PLAIN, &root, 4).nodes as f64;
        let estimate = estimate_size(&othello, &root, 4, 2000, 1);
        let error = (estimate.nodes - counted).abs();
        assert!(
            error <= 5.0 * estimate.standard_error + 1e-6 * counted,
            "{position:?}: {estimate:?}, counted {counted}"
        );
    }
}

#[test]
fn branching_factors_invert_tree_sizes() {
    assert!((branching_factor(121.0, 4) - 3.0).abs() < 1e-9);
    assert!((branching_factor(1_111_111.0, 6) - 10.0).abs() < 1e-9);
    assert!((branching_factor(5.0, 4) - 1.0).abs() < 1e-9);
    assert_eq!(branching_factor(1.0, 0), 0.0);
}

#[test]
fn a_search_leaves_a_tree_of_right_bounds() {
    let evaluator = PatternEvaluator::new(&WeightFile::embedded().model).unwrap();
    let mut searcher = Searcher::new(&evaluator, 12);
    let (mut nodes, mut exact) = (0, 0);
    for (depth, empties) in [(2, 50), (3, 40), (4, 33), (4, 20), (5, 16), (6, 5)] {
        let position = random_positions(31, empties, 9).into_iter().find(|position| position.moves() != 0).unwrap();
        searcher.forget();
        let found = searcher.search(&position, depth);
        let depth = found.depth;
        let tree = searcher.tree(&position, depth);
        let root = tree[0];
        assert_eq!(
            (root.position, root.ply, root.lower, root.upper),
            (position, 0, Some(found.score), Some(found.score))
        );
        for node in &tree {
            let value = Searcher::new(&evaluator, 12).search(&node.position, depth - node.ply).score;
            assert!(node.ply + 2 <= depth);
            assert!(node.lower.is_none_or(|lower| lower <= value) && node.upper.is_none_or(|upper| value <= upper));
            assert!(node.lower.is_some() || node.upper.is_some());
            exact += usize::from(node.lower == node.upper);
        }
        nodes += tree.len();
    }
    assert!(nodes > 60 && exact > 4, "{nodes} {exact}");
}

#[test]
fn ordering_and_table_save_nodes() {
    let tree = OthelloTree::new(&MobilityEvaluator);
    let position: Position = "f5d6c3d3c4f4f6f3e6e7d7"
        .as_bytes()
        .chunks(2)
        .map(|square| std::str::from_utf8(square).unwrap().parse::<Square>().unwrap())
        .fold(Position::START, Position::play);
    let root = tree.node(&position);
    let nodes = |algorithm, options| explore(&tree, algorithm, options, &root, 6).nodes;
    let minimax = nodes(Algorithm::Minimax, Options::PLAIN);
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.prunes()) {
        let (plain, helped) = (nodes(algorithm, Options::PLAIN), nodes(algorithm, Options::default()));
        assert!(helped * 2 < plain && helped * 50 < minimax, "{algorithm:?}: {helped} of {plain} of {minimax}");
    }
}

#[test]
fn a_stopped_search_answers_with_its_last_complete_iteration_or_a_better_move() {
    let stop = AtomicBool::new(true);
    let middlegame = |p: &Position| p.empties() > 40 && p.moves().count_ones() > 5;
    let mut better = 0;
    for (position, depth) in positions(8, 40).into_iter().filter(middlegame).take(4).flat_map(|p| [(p, 9), (p, 10)]) {
        let mut searcher = Searcher::new(&MobilityEvaluator, 12);
        let stopped = searcher.search_until(&position, depth, &stop);
        assert_eq!(stopped.depth, 4 - depth % 2, "{stopped:?}");
        let complete = Searcher::new(&MobilityEvaluator, 12).search(&position, stopped.depth);
        assert_eq!((stopped.score, stopped.best, stopped.pv), (complete.score, complete.best, complete.pv));

        // Stopping anywhere leaves nothing wrong in the table.
        let iterations: Vec<_> =
            (1..=depth).map(|depth| Searcher::new(&MobilityEvaluator, 12).search(&position, depth)).collect();
        let whole = &iterations[depth as usize - 1];
        for threads in [1, 2] {
            let engine = Engine::new(&MobilityEvaluator, Strength::new(depth, 0), 12).unwrap();
            let mut engine = engine.with_threads(threads).unwrap();
            let mut given_up = 0;
            for part in 0..12 {
                engine.forget();
                let limits = Limits { depth: Some(depth), nodes: Some(whole.nodes * part / 12), ..Limits::NONE };
                let found = engine.analyse_within(&position, &limits);
                given_up += u32::from(found.depth < depth);
                let complete = &iterations[found.depth as usize - 1];
                if found.score != complete.score {
                    better += 1;
                    let value = |to| {
                        let mut searcher = Searcher::new(&MobilityEvaluator, 12);
                        -searcher.search(&position.play(to), found.depth + 1).score
                    };
                    let [new, old] = [&found, complete].map(|analysis| value(analysis.best.unwrap()));
                    // A move that only failed high has a lower bound, and no line.
                    let bound = found.pv.len() == 1 && found.score < new;
                    assert!((found.score == new || bound) && new > old, "{part}: {found:?}, {complete:?}");
                }
                assert!(found.best.is_some_and(|to| position.moves() & to.bit() != 0), "{part}: {found:?}");
                assert_eq!(engine.analyse(&position).score, whole.score, "{part} on {threads} threads");
            }
            assert!(given_up >= 8, "{given_up}");
        }
    }
    assert!(better > 0);
}

#[test]
fn a_finished_game_has_an_exact_value() {
    // White is wiped out after nine moves; empty squares go to the winner.
    let game: Transcript = "e6f4e3f6g5d6e7f5c5".parse().unwrap();
    let over = game.last().position;
    let mut searcher = Searcher::new(&MobilityEvaluator, 8);
    for depth in [0, 1, 4] {
        let found = searcher.search(&over, depth);
        assert_eq!((found.score.discs().abs(), found.exact, found.best), (64.0, true, None), "{depth}");
    }
    assert!(!searcher.search(&Position::START, 4).exact);
}

#[test]
fn threads_change_no_value() {
    let stop = AtomicBool::new(true);
    for position in positions(9, 40).into_iter().filter(|position| position.empties() > 12).take(12) {
        for log2_entries in [8, 16] {
            let mut alone = Searcher::new(&MobilityEvaluator, log2_entries);
            for threads in [2, 3] {
                let mut team = Searcher::new(&MobilityEvaluator, log2_entries).with_threads(threads).unwrap();
                alone.forget();
                let stopped = team.search_until(&position, 8, &stop);
                assert_eq!(stopped.score, alone.search(&position, stopped.depth).score);
                team.forget();
                for depth in [1, 6, 7, 8] {
                    alone.forget();
                    let expected = alone.search(&position, depth);
                    let found = team.search(&position, depth);
                    assert_eq!((found.score, found.depth), (expected.score, depth), "{position:?} {threads} threads");
                    assert_eq!(found.best.is_some(), expected.best.is_some());
                    assert_eq!(found.best, found.pv.first().copied().filter(|_| position.moves() != 0));
                    // The move has the value.
                    if let Some(to) = found.best {
                        alone.forget();
                        assert_eq!(
                            -alone.search(&position.play(to), depth - 1).score,
                            found.score,
                            "{position:?} {to}"
                        );
                    }
                }
                team.forget();
            }
        }
    }
}
