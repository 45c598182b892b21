//! `flipside search`.

use std::cmp::Reverse;
use std::io::Write;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, Positions, own_engine};
use super::input::read_positions;
use super::jobs::on_own_threads;
use super::meter::Meter;
use super::results::FormatArgument;
use super::session::{Session, started};
use super::strength::SelectivityArgument;
use flipside::board::{Diagram, Position, squares};
use flipside::search::{Analysis, Engine, Limits, Strength};

/// Search positions to a depth: score, best move and principal variation
///
/// Prints a table: score in discs for the side to move, best move (`-` for a pass, a finished game, or depth 0), nodes, seconds, the
/// principal variation without passes, depth, position.
///
/// Below depth 10, each thread searches positions of its own; from there on, all threads search a position together. At full
/// width the score never depends on their number, but from depth 10 on the choice among equally good moves and the node count
/// may vary with it, and from run to run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside search --depth 10 data/bench/midgame.txt\n  \
    flipside search --depth 12 f5d6c3d3c4\n  \
    flipside search --depth 12 --moves 3 f5d6c3d3c4")]
pub struct SearchArguments {
    #[command(flatten)]
    inputs: Positions,

    /// Plies to look ahead; with as many as there are empty squares, the result is exact
    #[arg(short, long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=60))]
    depth: u32,

    #[command(flatten)]
    selective: SelectivityArgument,

    /// Print the N best moves of each position, best first, each searched on its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    moves: Option<u32>,

    #[command(flatten)]
    format: FormatArgument,
}

/// From this depth on all threads search one position together; below it each thread searches positions of its own.
const TOGETHER_MIN_DEPTH: u32 = 10;

/// Base-2 logarithm of the entries of a table: 16 MB.
const LOG2_ENTRIES: u32 = 20;

impl SearchArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        if self.moves.is_some() && self.depth == 0 {
            return Err(CliError::Usage("--moves looks at least one ply ahead: give --depth 1 or more".to_owned()));
        }
        let (weights, positions) = (self.inputs.weights.choice(), &self.inputs.positions);
        let evaluator = weights.load_for(self.selective.or_full_width())?;
        let diagrams: Vec<Diagram> =
            read_positions(positions, session)?.into_iter().map(|scored| scored.diagram).collect();
        self.search(&evaluator, &diagrams, session, out)
    }

    fn search(
        &self,
        evaluator: &AnyEvaluator,
        diagrams: &[Diagram],
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let together = self.depth >= TOGETHER_MIN_DEPTH;
        let (at_once, threads) = if together { (1, session.threads) } else { (session.threads, 1) };
        // The depth comes with each position, and only searches that deep solve anything.
        let strength = Strength { selectivity: self.selective.or_full_width(), ..Strength::new(0, 0) };
        let mut results = self.format.to(out);
        let mut meter = Meter::new(session, diagrams.len() as u64, "positions");
        let mut done = 0;
        let engine = || {
            let engine = own_engine(evaluator, strength, LOG2_ENTRIES);
            started(threads, engine.with_threads(threads))
        };
        let search = |engine: &mut Engine<'_, AnyEvaluator>, diagram: &Diagram| {
            let position = diagram.position;
            // Each is searched as if it were the first.
            let mut timed = |position: &Position, depth| {
                let begin = Instant::now();
                engine.forget();
                let found = engine.analyse_within(position, &Limits { depth: Some(depth), ..Limits::NONE });
                (found, begin.elapsed().as_secs_f64())
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
        on_own_threads(diagrams, at_once, engine, search, |diagram, found| {
            done += 1;
            meter.aside(|| found.iter().try_for_each(|found| results.row(&self.found(diagram, found))))?;
            meter.show(done, || format!("depth {}", self.depth));
            Ok(())
        })?;
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
