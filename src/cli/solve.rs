//! `flipside solve`.

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
use crate::search::EndgameSolver;

/// Solve endgames: the exact score with best play by both sides
///
/// Prints a table, separated by tabs: empty squares, score in discs for the side to move, best move (`--` for a pass or a finished
/// game), positions visited and seconds; the last line is the total. The weights only say which moves to try first: the
/// scores do not depend on them, the time does. With --wld the score is win, draw or loss.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside solve data/ffo/fforum-1-19.obf")]
pub struct SolveArguments {
    /// Positions, one a line; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,

    #[command(flatten)]
    weights: WeightsArgument,

    /// Find out only who wins, which is faster
    #[arg(long)]
    wld: bool,

    /// Fail if a score differs from the one in the file
    #[arg(long)]
    check: bool,

    /// Size of the hash table: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 22, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

impl SolveArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load()?;
        let positions = read_positions(&self.file, session)?;
        with_evaluator!(&evaluator, evaluator => {
            self.solve(&mut EndgameSolver::guided(evaluator, self.log2_hash), &positions, session, out)
        })
    }

    fn solve<E: Evaluator>(
        &self,
        solver: &mut EndgameSolver<'_, E>,
        positions: &[ScoredDiagram],
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let (mut nodes, mut seconds, mut wrong) = (0, 0.0, 0);
        writeln!(out, "empties\tscore\tmove\tnodes\tseconds")?;
        for (i, scored) in positions.iter().enumerate() {
            let position = scored.diagram.position;
            solver.new_game();
            let begin = Instant::now();
            let (alpha, beta) = if self.wld { (-1, 1) } else { (-64, 64) };
            let solution = solver.solve(position, alpha, beta);
            let elapsed = begin.elapsed().as_secs_f64();
            (nodes, seconds) = (nodes + solution.nodes, seconds + elapsed);

            let best = solution.best.map_or("--".to_owned(), |square| square.to_string());
            let score = self.score(solution.score);
            writeln!(out, "{}\t{score}\t{best}\t{}\t{elapsed:.3}", position.empties(), solution.nodes)?;
            out.flush()?;
            if let Some(known) = self.contradiction(scored, solution.score) {
                wrong += 1;
                session.say(format_args!("position {}: {score} where the file says {known}", i + 1));
            }
        }
        writeln!(out, "total\t{}\t\t{nodes}\t{seconds:.3}", positions.len())?;
        session.say(format_args!("{:.1} million positions a second", nodes as f64 / seconds / 1e6));
        if wrong == 0 {
            Ok(())
        } else {
            Err(CliError::failure(format!("{wrong} scores differ from those in the file")))
        }
    }

    fn score(&self, score: i32) -> String {
        match score.signum() {
            _ if !self.wld => format!("{score:+}"),
            1 => "win".to_owned(),
            0 => "draw".to_owned(),
            _ => "loss".to_owned(),
        }
    }

    /// The file's score, where it is to be checked and is another.
    fn contradiction(&self, scored: &ScoredDiagram, score: i32) -> Option<String> {
        let (known, score) = (self.score(scored.score.filter(|_| self.check)?), self.score(score));
        (known != score).then_some(known)
    }
}
