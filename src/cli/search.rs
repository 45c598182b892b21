//! `flipside search`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::error::CliError;
use super::evaluator::{WeightsArgument, with_evaluator};
use super::input::read_positions;
use super::session::Session;
use crate::board::ScoredDiagram;
use crate::eval::Evaluator;
use crate::search::Searcher;

/// Search positions to a depth: score, best move and principal variation
///
/// Prints a table, separated by tabs: score in discs for the side to move, best move (`--` for a pass or a finished game), positions
/// visited, seconds, and the principal variation with passes left out.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside search --depth 10 positions.txt")]
pub struct SearchArguments {
    /// Positions, one a line; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,

    #[command(flatten)]
    weights: WeightsArgument,

    /// Plies to look ahead; from the number of empty squares on, the result is exact
    #[arg(short, long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=60))]
    depth: u32,
}

/// The hash table has 2^20 entries, 16 MB.
const LOG2_TABLE: u32 = 20;

impl SearchArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load()?;
        let positions = read_positions(&self.file, session)?;
        with_evaluator!(&evaluator, evaluator => self.search(evaluator, &positions, out))
    }

    fn search<E: Evaluator>(
        &self,
        evaluator: &E,
        positions: &[ScoredDiagram],
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let mut searcher = Searcher::new(evaluator, LOG2_TABLE);
        writeln!(out, "score\tmove\tnodes\tseconds\tline")?;
        for scored in positions {
            searcher.forget();
            let begin = Instant::now();
            let found = searcher.search(&scored.diagram.position, self.depth);
            let seconds = begin.elapsed().as_secs_f64();
            let best = found.best.map_or("--".to_owned(), |square| square.to_string());
            let line: String = found.line.iter().map(ToString::to_string).collect();
            writeln!(out, "{:.2}\t{best}\t{}\t{seconds:.3}\t{line}", found.score, found.nodes)?;
            out.flush()?;
        }
        Ok(())
    }
}
