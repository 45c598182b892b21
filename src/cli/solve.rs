//! `flipside solve`.

use std::io::Write;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, Positions};
use super::input::{name_of, read_positions};
use super::jobs::on_own_threads;
use super::memory::check_tables;
use super::meter::Meter;
use super::results::FormatArgument;
use super::session::{Session, started};
use flipside::board::ScoredDiagram;
use flipside::search::{Analysis, EndgameSolver};
use flipside::text::counted;
use flipside::threads::Reorder;

/// Solve endgames: the exact score with best play by both sides
///
/// Prints a table: empty squares, score in discs for the side to move, best move (`-` for a pass or a finished game), nodes, seconds,
/// position; the last row has the totals, in elapsed time. The weights only decide which moves to try first: they affect
/// the time, not the scores. With --wld the score is win, draw or loss.
///
/// Positions with up to 20 empty squares are solved first, in parallel, by one thread each; all threads solve harder ones together. Rows
/// come in the order of the positions. Scores do not depend on the number of threads; for the harder positions, the choice among equally
/// good moves and the node count may.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside solve data/ffo/fforum-1-19.obf")]
pub struct SolveArguments {
    #[command(flatten)]
    inputs: Positions,

    #[command(flatten)]
    format: FormatArgument,

    /// Find out only who wins, which is faster
    #[arg(long)]
    wld: bool,

    /// Fail if a score differs from the one in the file
    #[arg(long)]
    check: bool,

    /// Size of the hash table: 2^N entries of 16 bytes, at most 2^18 for positions with up to 20 empty squares
    #[arg(long, value_name = "N", default_value_t = 22, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

/// A position solved, or all of them: then only the nodes and the time are there.
#[derive(Default, Serialize)]
struct Solved {
    empties: Option<u32>,
    /// A number of discs, or the outcome with --wld.
    score: Option<Value>,
    r#move: Option<String>,
    nodes: u64,
    seconds: f64,
    position: Option<String>,
}

/// From this number of empty squares on, all threads work on a position together; below it, each on one of its own.
const TOGETHER: u32 = 21;

/// Positions with more empty squares than this are hopeless: hours become years.
const HOPELESS: u32 = 40;

/// Base-2 logarithm of the table entries that easier positions fill.
const EASY_LOG2_HASH: u32 = 18;

impl SolveArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        check_tables(1, self.log2_hash)?;
        let (weights, positions) = (self.inputs.weights.choice(), &self.inputs.positions);
        let evaluator = weights.load()?;
        let name = name_of(positions);
        let positions = read_positions(positions, session)?;
        if self.check && positions.iter().all(|scored| scored.score.is_none()) {
            return Err(CliError::failure(format!("--check: no position in {name} has a score")));
        }
        let unfinished =
            positions.iter().map(|scored| scored.diagram.position).filter(|position| !position.is_game_over());
        let most = unfinished.map(|position| position.empties()).max().unwrap_or(0);
        if most > HOPELESS {
            session.say(format_args!(
                "a position has {most} empty squares, which takes longer than anyone can wait; `flipside search --depth N` looks ahead N plies"
            ));
        }
        self.solve(&evaluator, &positions, session, out)
    }

    fn solve(
        &self,
        evaluator: &AnyEvaluator,
        positions: &[ScoredDiagram],
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let begin = Instant::now();
        let (mut solved, mut nodes, mut wrong) = (0, 0, 0);
        let mut shown = Ok(());
        let mut results = self.format.to(out);
        let mut meter = Meter::new(session, positions.len() as u64, "positions");
        let solver = |threads, log2_hash| {
            started(threads, EndgameSolver::with_evaluator(evaluator, log2_hash).with_threads(threads))
        };
        let solve = |solver: &mut EndgameSolver<'_, AnyEvaluator>, scored: &ScoredDiagram| {
            let begin = Instant::now();
            solver.forget();
            let (alpha, beta) = if self.wld { (-1, 1) } else { (-64, 64) };
            (solver.solve(scored.diagram.position, alpha, beta), begin.elapsed().as_secs_f64())
        };
        // Solved in any order, shown in theirs.
        let mut in_order = Reorder::default();
        let mut take = |number: usize, result: (Analysis, f64)| -> Result<(), CliError> {
            solved += 1;
            meter.show(solved, || format!("{} empties", positions[number].diagram.position.empties()));
            in_order.put(number, result);
            while let Some((number, (analysis, seconds))) = in_order.take() {
                let scored = &positions[number];
                nodes += analysis.nodes;
                let written = meter.aside(|| results.row(&self.solved(scored, &analysis, seconds)));
                if let Some(contradiction) = self.contradiction(scored, analysis.discs()) {
                    wrong += 1;
                    meter.say(format_args!("position {}: {contradiction}", number + 1));
                }
                match written {
                    // What a check finds counts even if nobody reads the scores.
                    Err(error) if self.check && error.is_broken_pipe() => shown = Err(error),
                    written => written?,
                }
            }
            Ok(())
        };
        let is_hard = |scored: &ScoredDiagram| scored.diagram.position.empties() >= TOGETHER;
        let (hard, easy): (Vec<_>, Vec<_>) = positions.iter().enumerate().partition(|(_, scored)| is_hard(scored));
        let easy_solver = || solver(1, self.log2_hash.min(EASY_LOG2_HASH));
        let solve_easy = |solver: &mut _, (_, scored): &(usize, &ScoredDiagram)| solve(solver, scored);
        on_own_threads(&easy, session.threads, easy_solver, solve_easy, |(number, _), result| take(*number, result))?;
        if !hard.is_empty() {
            let mut solver = solver(session.threads, self.log2_hash)?;
            for (number, scored) in hard {
                take(number, solve(&mut solver, scored))?;
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        meter.finish();
        let shown = shown.and_then(|()| results.row(&Solved { nodes, seconds, ..Solved::default() }));
        if solved > 0 {
            session.say(format_args!("{:.1} million nodes a second", nodes as f64 / seconds / 1e6));
        }
        if wrong == 0 {
            shown
        } else {
            let verb = if wrong == 1 { "differs" } else { "differ" };
            Err(CliError::failure(format!("{} {verb} from the file", counted(wrong, "score"))))
        }
    }

    fn solved(&self, scored: &ScoredDiagram, analysis: &Analysis, seconds: f64) -> Solved {
        Solved {
            empties: Some(scored.diagram.position.empties()),
            score: Some(if self.wld { self.score(analysis.discs()).into() } else { analysis.discs().into() }),
            r#move: analysis.best.map(|square| square.to_string()),
            nodes: analysis.nodes,
            seconds,
            position: Some(scored.diagram.to_string()),
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

    /// How the score contradicts the file's, if it does and is to be checked.
    fn contradiction(&self, scored: &ScoredDiagram, score: i32) -> Option<String> {
        let (known, score) = (self.score(scored.score.filter(|_| self.check)?), self.score(score));
        (known != score).then(|| format!("{score} where the file says {known}"))
    }
}
