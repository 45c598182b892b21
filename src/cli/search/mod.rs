//! `flipside search`.

mod compare;
mod named;

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use serde::Serialize;

use super::error::CliError;
use super::evaluator::{Positions, with_evaluator};
use super::input::read_positions;
use super::jobs::on_own_threads;
use super::meter::Meter;
use super::output::Output;
use super::results::FormatArgument;
use super::session::Session;
use super::strength::SelectivityArgument;
use compare::Comparison;
use flipside::board::{Diagram, Position, squares};
use flipside::eval::{Evaluator, Score};
use flipside::search::Analysis;
use flipside::textbook::{Algorithm, Options, Ordering, OthelloTree};
use named::{NamedSearch, Search};

/// Search positions to a depth: score, best move and principal variation
///
/// Prints a table: score in discs for the side to move, best move (`-` for a pass, a finished game, or depth 0), nodes, seconds, the
/// principal variation without passes, depth, position. With --algorithm, a textbook search takes the place of
/// flipside's own, and the line is the best move alone.
///
/// Below depth 10, each thread searches positions of its own; from there on, all threads search a position together. At full
/// width the score never depends on their number, but from depth 10 on the choice among equally good moves and the node count
/// may vary with it, and from run to run.
///
/// With --compare, prints one table of all searches: mean value in discs, move (of a single position), positions with the move of the
/// first search that ran, nodes, their share of the nodes of plain minimax, effective branching factor (of the uniform tree with as many
/// nodes), seconds. Minimax is run plain; if its tree is too large, its nodes are estimated by Knuth's random walks. The command fails unless the searches agree on
/// all values.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside search --depth 10 data/bench/midgame.txt\n  \
    flipside search --depth 12 f5d6c3d3c4\n  \
    flipside search --depth 12 --moves 3 f5d6c3d3c4\n  \
    flipside search --depth 3 --compare --plot nodes.svg data/bench/midgame.txt")]
pub struct SearchArguments {
    #[command(flatten)]
    inputs: Positions,

    /// Plies to look ahead; with as many as there are empty squares, the result is exact
    #[arg(short, long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=60))]
    depth: u32,

    #[command(flatten)]
    selective: SelectivityArgument,

    /// Print the N best moves of each position, best first, each searched on its own
    #[arg(long, value_name = "N", conflicts_with = "textbook", value_parser = clap::value_parser!(u32).range(1..))]
    moves: Option<u32>,

    #[command(flatten)]
    format: FormatArgument,

    #[command(flatten)]
    textbook: TextbookArguments,
}

/// The options of the textbook searches, as typed.
#[derive(Args, Debug)]
#[command(next_help_heading = "Textbook searches", group(ArgGroup::new("textbook").multiple(true)))]
struct TextbookArguments {
    /// Use this algorithm instead of flipside's own search; with --compare=orderings, order moves for it [default: pvs]
    #[arg(long, value_name = "NAME", group = "textbook", value_parser = algorithm_parser())]
    algorithm: Option<Algorithm>,

    /// Compare all algorithms, or the savings of each move ordering
    #[arg(long, value_enum, value_name = "WHAT", group = "textbook", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "algorithms")]
    compare: Option<Compared>,

    /// Plot the nodes of the compared searches at all depths up to --depth to an SVG file; `-` is standard output, and the table
    /// then goes to standard error
    #[arg(long, value_name = "FILE", requires = "compare")]
    plot: Option<PathBuf>,

    /// Search to the full depth at once, without iterative deepening
    #[arg(long, requires = "textbook")]
    no_deepening: bool,

    /// Search without a transposition table
    #[arg(long, requires = "textbook")]
    no_table: bool,

    /// Try moves in the order of their squares
    #[arg(long, requires = "textbook", conflicts_with = "ordering")]
    no_ordering: bool,

    /// How to order moves
    #[arg(long, requires = "textbook", value_enum, value_delimiter = ',', value_name = "HOW")]
    #[arg(default_value = "hash,evaluation,mobility,cutoffs")]
    ordering: Vec<Heuristic>,

    /// Half the width of the first window of `aspiration`, in discs [default: 3]
    #[arg(long, requires = "textbook", value_name = "DISCS", value_parser = parse_width)]
    aspiration: Option<f32>,

    /// Factor by which a window of `aspiration` that failed is widened [default: 4]
    #[arg(long, requires = "textbook", value_name = "FACTOR", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    widening: Option<u32>,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Compared {
    /// All algorithms and the program's own search
    Algorithms,
    /// One algorithm without ordering, with each heuristic alone, with all of --ordering, and with all of these but one
    Orderings,
}

/// A way to order moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Heuristic {
    /// Best move from the table first
    Hash,
    /// Killer moves, which refuted a sibling
    Killers,
    /// By the static value
    Evaluation,
    /// By the number of replies
    Mobility,
    /// By how often a move refuted others
    History,
    /// Enhanced transposition cutoffs
    Cutoffs,
}

fn algorithm_parser() -> impl TypedValueParser<Value = Algorithm> {
    PossibleValuesParser::new(Algorithm::ALL.map(Algorithm::name)).map(|name| name.parse().expect("one of the names"))
}

fn parse_width(text: &str) -> Result<f32, String> {
    let width = text.parse().ok().filter(|width| (0.0..=130.0).contains(width));
    width.ok_or_else(|| "expected discs, from 0 to 130".to_owned())
}

fn ordering(heuristics: &[Heuristic]) -> Ordering {
    let has = |heuristic| heuristics.contains(&heuristic);
    Ordering {
        hash_move: has(Heuristic::Hash),
        killers: has(Heuristic::Killers),
        evaluation: has(Heuristic::Evaluation),
        mobility: has(Heuristic::Mobility),
        history: has(Heuristic::History),
        transposition_cutoffs: has(Heuristic::Cutoffs),
    }
}

/// From this depth on all threads search one position together; below it each thread searches positions of its own.
const TOGETHER_MIN_DEPTH: u32 = 10;

/// Base-2 logarithm of the entries of a table: 16 MB each for the program's own search, 32 MB for a textbook search.
const LOG2_ENTRIES: u32 = 20;

impl TextbookArguments {
    fn options(&self) -> Options {
        let default = Options::default();
        let in_scores = |discs: f32| Score((discs * Score::DISC as f32).round() as i32);
        Options {
            deepening: !self.no_deepening,
            log2_table: (!self.no_table).then_some(LOG2_ENTRIES),
            ordering: if self.no_ordering { Ordering::NONE } else { ordering(&self.ordering) },
            aspiration: self.aspiration.map_or(default.aspiration, in_scores),
            widening: self.widening.unwrap_or(default.widening),
        }
    }

    fn searches(&self, compared: Compared) -> Result<Vec<NamedSearch>, CliError> {
        match (compared, self.algorithm) {
            (Compared::Algorithms, None) => Ok(NamedSearch::algorithms(self.options())),
            (Compared::Algorithms, Some(_)) => {
                Err(CliError::Usage("--compare compares all algorithms; leave --algorithm out".to_owned()))
            }
            (Compared::Orderings, _) if self.no_ordering => {
                Err(CliError::Usage("--compare=orderings compares orderings; leave --no-ordering out".to_owned()))
            }
            (Compared::Orderings, Some(algorithm)) if !algorithm.prunes() => {
                let message = format!("--compare=orderings: {algorithm} visits all nodes in any order");
                Err(CliError::Usage(message))
            }
            (Compared::Orderings, algorithm) => {
                let algorithm = algorithm.unwrap_or(Algorithm::Pvs);
                Ok(NamedSearch::orderings(algorithm, self.options(), &self.ordering))
            }
        }
    }
}

impl SearchArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let literature = self.textbook.algorithm.is_some() || self.textbook.compare.is_some();
        if literature && self.selective.selectivity.is_some() {
            let message = "--selectivity is for the program's own search; leave --algorithm and --compare out";
            return Err(CliError::Usage(message.to_owned()));
        }
        if self.moves.is_some() && self.depth == 0 {
            return Err(CliError::Usage("--moves looks at least one ply ahead: give --depth 1 or more".to_owned()));
        }
        let has_windows = match self.textbook.compare {
            Some(Compared::Algorithms) => true,
            _ => self.textbook.algorithm == Some(Algorithm::Aspiration),
        };
        if !has_windows && (self.textbook.aspiration.is_some() || self.textbook.widening.is_some()) {
            let message =
                "--aspiration and --widening are for `--algorithm aspiration`, and for --compare of all algorithms";
            return Err(CliError::Usage(message.to_owned()));
        }
        let (weights, positions) = (self.inputs.weights.choice(), &self.inputs.positions);
        let inputs = [Some(positions.as_path()), weights.path()];
        let plot =
            self.textbook.plot.as_deref().map(|path| Output::check(path, inputs.into_iter().flatten())).transpose()?;
        let searches = self.textbook.compare.map(|compared| self.textbook.searches(compared)).transpose()?;
        let evaluator = weights.load_for(self.selective.selectivity)?;
        let diagrams: Vec<Diagram> =
            read_positions(positions, session)?.into_iter().map(|scored| scored.diagram).collect();
        with_evaluator!(&evaluator, evaluator => match searches {
            Some(searches) => {
                let positions: Vec<_> = diagrams.iter().map(|diagram| diagram.position).collect();
                let comparison = Comparison { evaluator, positions: &positions, searches, format: self.format };
                comparison.run(self.depth, plot.as_ref(), session, out)
            }
            None => self.search(evaluator, &diagrams, session, out),
        })
    }

    fn search<E: Evaluator>(
        &self,
        evaluator: &E,
        diagrams: &[Diagram],
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let named = match self.textbook.algorithm {
            Some(algorithm) => NamedSearch::new(algorithm, self.textbook.options()),
            None => NamedSearch::own(self.selective.selectivity),
        };
        let tree = OthelloTree::new(evaluator);
        let together = self.depth >= TOGETHER_MIN_DEPTH && self.textbook.algorithm.is_none();
        let (at_once, threads) = if together { (1, session.threads) } else { (session.threads, 1) };
        let mut results = self.format.to(out);
        let mut meter = Meter::new(session, diagrams.len() as u64, "positions");
        let mut done = 0;
        let search = |search: &mut Box<Search<'_>>, diagram: &Diagram| {
            let position = diagram.position;
            let mut timed = |position: &Position, depth| {
                let begin = Instant::now();
                (search(position, depth), begin.elapsed().as_secs_f64())
            };
            let Some(count) = self.moves.filter(|_| position.moves() != 0) else {
                return vec![timed(&position, self.depth)];
            };
            let of_move = |square| {
                let (analysis, seconds) = timed(&position.play(square), self.depth - 1);
                (analysis.before(Some(square)), seconds)
            };
            let mut found: Vec<_> = squares(position.moves()).map(of_move).collect();
            found.sort_by_key(|(analysis, _)| Reverse(analysis.score));
            found.truncate(count as usize);
            found
        };
        on_own_threads(
            diagrams,
            at_once,
            || named.searcher(&tree, threads),
            search,
            |diagram, found| {
                done += 1;
                meter.aside(|| found.iter().try_for_each(|found| results.row(&self.found(diagram, found))))?;
                meter.show(done, || format!("depth {}", self.depth));
                Ok(())
            },
        )?;
        meter.finish();
        Ok(())
    }

    fn found(&self, diagram: &Diagram, (found, seconds): &(Analysis, f64)) -> Found {
        Found {
            score: found.score.discs(),
            r#move: found.best.map(|square| square.to_string()),
            nodes: found.nodes,
            seconds: *seconds,
            line: found.pv.iter().map(ToString::to_string).collect(),
            depth: self.depth,
            position: diagram.to_string(),
        }
    }
}

/// What a search found in a position.
#[derive(Serialize)]
struct Found {
    score: f32,
    r#move: Option<String>,
    nodes: u64,
    seconds: f64,
    line: String,
    depth: u32,
    position: String,
}
