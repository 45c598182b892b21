//! The searches of the literature beside the engine's own, with the weights that ship: what each visits, and what the ways of
//! ordering moves save. `cargo run --release --example textbook -- 8` searches to a depth of 8 plies.

// Tests need more of it.
#[allow(dead_code, unused_imports)]
mod literature;

use std::error::Error;
use std::time::Instant;

use flipside::board::{Position, Square};
use flipside::eval::{Evaluator, Score};
use flipside::record::lines::parse_positions;
use flipside::search::Searcher;
use flipside::weights::WeightFile;
use literature::{Algorithm, Explorer, Options, Ordering, OthelloTree, branching_factor, estimate_size};

/// Ten positions each with 50, 44, 38 and 32 empty squares.
const POSITIONS: &str = include_str!("../../data/bench/midgame.txt");
/// Searches that visit every node are run only if all trees together have no more nodes than this.
const MAX_MINIMAX_NODES: f64 = 2e7;
/// Random walks to estimate the size of a tree.
const WALKS: u32 = 5_000;

/// The searches of one table beside each other.
struct Table {
    positions: Vec<Position>,
    depth: u32,
    /// Nodes of minimax in all positions.
    minimax: f64,
    /// What the first search found.
    first: Option<Vec<(Score, Option<Square>)>>,
}

impl Table {
    fn begin(&mut self) {
        self.first = None;
        println!(
            "\n| search | value | same moves | nodes | share of minimax | branching | seconds |\n|---|---|---|---|---|---|---|"
        );
    }

    /// Runs a search, which finds value, best move and nodes of a position, on all positions and prints its row.
    ///
    /// # Panics
    /// If it finds other values than the first one.
    fn row(&mut self, name: &str, mut search: impl FnMut(&Position) -> (Score, Option<Square>, u64)) {
        let begin = Instant::now();
        let (mut found, mut nodes) = (Vec::new(), 0);
        for position in &self.positions {
            let (value, best, visited) = search(position);
            found.push((value, best));
            nodes += visited;
        }
        let seconds = begin.elapsed().as_secs_f64();
        let first = self.first.get_or_insert_with(|| found.clone());
        let pairs = || found.iter().zip(&*first);
        assert!(pairs().all(|(one, other)| one.0 == other.0), "{name} found other values than the first search");
        let same = pairs().filter(|(one, other)| one.1 == other.1).count();
        let count = found.len() as f64;
        let value = found.iter().map(|(value, _)| f64::from(value.discs())).sum::<f64>() / count;
        let share = 100.0 * nodes as f64 / self.minimax;
        let branching = branching_factor(nodes as f64 / count, self.depth);
        println!("| {name} | {value:+.2} | {same} | {nodes} | {share:.4}% | {branching:.2} | {seconds:.3} |");
    }

    fn textbook<E: Evaluator>(
        &mut self,
        name: &str,
        tree: &OthelloTree<'_, E>,
        algorithm: Algorithm,
        options: Options,
    ) {
        let (mut explorer, depth) = (Explorer::new(tree, algorithm, options), self.depth);
        self.row(name, |position| {
            let found = explorer.search(&tree.node(position), depth);
            (found.score, found.best.and_then(OthelloTree::<E>::square), found.nodes)
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let depth = std::env::args().nth(1).map_or(Ok(6), |depth| depth.parse())?;
    let evaluator = WeightFile::embedded().evaluator()?;
    let positions: Vec<_> = parse_positions(POSITIONS)?.iter().map(|scored| scored.diagram.position).collect();
    let tree = OthelloTree::new(&evaluator);
    let sizes = positions.iter().zip(0..).map(|(p, seed)| estimate_size(&tree, &tree.node(p), depth, WALKS, seed));
    let (nodes, variance) =
        sizes.fold((0.0, 0.0), |(nodes, variance), one| (nodes + one.nodes, variance + one.standard_error.powi(2)));
    let error = 100.0 * variance.sqrt() / nodes;
    println!("Plies: {depth}. Minimax visits {nodes:.0} nodes, estimated by random walks; standard error {error:.1}%.");

    let mut table = Table { positions, depth, minimax: nodes, first: None };
    table.begin();
    for algorithm in Algorithm::ALL {
        let options = if algorithm == Algorithm::Minimax { Options::PLAIN } else { Options::default() };
        if algorithm.prunes() || nodes <= MAX_MINIMAX_NODES {
            table.textbook(&format!("{algorithm:?}"), &tree, algorithm, options);
        }
    }
    let mut own = Searcher::new(&evaluator, 20);
    table.row("flipside", |position| {
        own.forget();
        let found = own.search(position, depth);
        (found.score, found.best, found.nodes)
    });

    table.begin();
    let (none, best) = (Ordering::NONE, Ordering::BEST);
    let orderings = [
        ("no ordering", none),
        ("hash move alone", Ordering { hash_move: true, ..none }),
        ("killers alone", Ordering { killers: true, ..none }),
        ("static value alone", Ordering { evaluation: true, ..none }),
        ("mobility alone", Ordering { mobility: true, ..none }),
        ("history alone", Ordering { history: true, ..none }),
        ("ETC alone", Ordering { transposition_cutoffs: true, ..none }),
        ("hash move, static value, mobility, ETC", best),
        ("without hash move", Ordering { hash_move: false, ..best }),
        ("without static value", Ordering { evaluation: false, ..best }),
        ("without mobility", Ordering { mobility: false, ..best }),
        ("without ETC", Ordering { transposition_cutoffs: false, ..best }),
        ("with killers", Ordering { killers: true, ..best }),
        ("with history", Ordering { history: true, ..best }),
    ];
    for (name, ordering) in orderings {
        table.textbook(&format!("PVS, {name}"), &tree, Algorithm::Pvs, Options { ordering, ..Options::default() });
    }
    Ok(())
}
