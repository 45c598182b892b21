//! The searches that are compared.

use clap::ValueEnum;

use super::{Heuristic, LOG2_ENTRIES, ordering};
use crate::cli::error::CliError;
use crate::cli::evaluator::own_engine;
use crate::cli::session::start_threads;
use flipside::board::Position;
use flipside::eval::Evaluator;
use flipside::search::{Analysis, Deviations, Limits, Strength};
use flipside::textbook::{Algorithm, Explorer, Options, OthelloTree, Outcome};

/// A search with a name for the table.
pub(super) struct NamedSearch {
    pub(super) name: String,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Textbook(Algorithm, Options),
    /// The program's own.
    Own(Deviations),
}

/// Searches a position to a depth.
pub(super) type Search<'t> = dyn FnMut(&Position, u32) -> Analysis + 't;

impl NamedSearch {
    /// The program's own search.
    pub(super) fn own(selectivity: Deviations) -> Self {
        Self { name: "flipside".to_owned(), kind: Kind::Own(selectivity) }
    }

    pub(super) fn new(algorithm: Algorithm, options: Options) -> Self {
        Self { name: algorithm.name().to_owned(), kind: Kind::Textbook(algorithm, options) }
    }

    /// All algorithms, minimax plain as the yardstick, and the program's own search.
    pub(super) fn algorithms(options: Options) -> Vec<Self> {
        let with_options = |algorithm| {
            let plain = algorithm == Algorithm::Minimax;
            Self::new(algorithm, if plain { Options::PLAIN } else { options })
        };
        Algorithm::ALL.into_iter().map(with_options).chain([Self::own(None)]).collect()
    }

    /// One algorithm without ordering, with each heuristic alone, with all of `together`, and with all of these but one.
    pub(super) fn orderings(algorithm: Algorithm, options: Options, together: &[Heuristic]) -> Vec<Self> {
        let with = |name: String, heuristics: &[Heuristic]| Self {
            name,
            kind: Kind::Textbook(algorithm, Options { ordering: ordering(heuristics), ..options }),
        };
        let name = |heuristic: &Heuristic| heuristic.to_possible_value().expect("none is hidden").get_name().to_owned();
        let mut searches = vec![with("none".to_owned(), &[])];
        searches.extend(Heuristic::value_variants().iter().map(|one| with(name(one), &[*one])));
        searches.push(with(together.iter().map(name).collect::<Vec<_>>().join("+"), together));
        for left_out in together {
            let rest: Vec<_> = together.iter().copied().filter(|one| one != left_out).collect();
            searches.push(with(format!("without {}", name(left_out)), &rest));
        }
        searches
    }

    /// Whether it is the yardstick of the others.
    pub(super) fn is_minimax(&self) -> bool {
        matches!(self.kind, Kind::Textbook(Algorithm::Minimax, _))
    }

    /// Whether it visits fewer nodes than minimax.
    pub(super) fn prunes(&self) -> bool {
        match self.kind {
            Kind::Textbook(algorithm, _) => algorithm.prunes(),
            Kind::Own(_) => true,
        }
    }

    /// The search itself; each position is searched as if it were the first. The program's own search uses `threads` threads on a
    /// position.
    ///
    /// # Errors
    /// Threads the system does not provide.
    pub(super) fn searcher<'t, E: Evaluator>(
        &self,
        tree: &'t OthelloTree<'_, E>,
        threads: usize,
    ) -> Result<Box<Search<'t>>, CliError> {
        let (algorithm, options) = match self.kind {
            Kind::Textbook(algorithm, options) => (algorithm, options),
            Kind::Own(selectivity) => {
                // The depth comes with each position, and only searches that deep solve anything.
                let strength = Strength { selectivity, ..Strength::new(0, 0) };
                let engine = own_engine(tree.evaluator(), strength, LOG2_ENTRIES);
                let mut engine = start_threads(threads, |threads| engine.with_threads(threads))?;
                return Ok(Box::new(move |position, depth| {
                    engine.forget();
                    engine.analyse_within(position, &Limits { depth: Some(depth), ..Limits::NONE })
                }));
            }
        };
        let mut explorer = Explorer::new(tree, algorithm, options);
        Ok(Box::new(move |position, depth| {
            let Outcome { score, best, nodes } = explorer.search(&tree.node(position), depth);
            let best = best.and_then(OthelloTree::<E>::square);
            let (pv, exact) = (best.into_iter().collect(), depth >= position.empties());
            Analysis { score, best, pv, depth, nodes, exact, selectivity: None }
        }))
    }
}
