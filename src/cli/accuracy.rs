//! `flipside accuracy`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;

use super::error::{CliError, Context};
use super::evaluator::{EvaluatorChoice, with_evaluator};
use super::input::{FORMAT, name_of, read_bytes};
use super::session::Session;
use crate::eval::{Accuracy, accuracy};
use crate::record::{Format, Labelled, Labeller, read};

/// Compare static evaluations with known scores, by number of empty squares
///
/// Takes positions with scores (OBF, a bare score, Egaroucid's training lines) and recorded games (GGF, WTHOR, f5d6), whose
/// positions are scored by the result. Prints a table, separated by tabs: empty squares, positions, root mean square error, mean
/// absolute error, and bias (mean of evaluation minus score), in discs for the side to move.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside accuracy best.fsw scored-positions.txt\n  \
    flipside accuracy best.fsw WTH_2024.wtb --solve-empties 14")]
pub struct AccuracyArguments {
    /// A weight file, `default`, `squares` or `mobility`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// Positions with scores or recorded games; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Solve positions of games from so many empties on, and positions without a score; what comes before in a game counts as if
    /// the rest had been perfect
    #[arg(long, value_name = "N", default_value_t = 0)]
    solve_empties: u32,

    /// Leave out records that cannot be read, instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,
}

impl AccuracyArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load()?;
        let (mut known, mut unscored) = (Vec::new(), 0);
        for file in &self.files {
            for labelled in self.labelled(file, session)? {
                unscored += usize::from(labelled.is_none());
                known.extend(labelled.into_iter().flatten());
            }
        }
        if known.is_empty() {
            let names: Vec<_> = self.files.iter().map(|file| name_of(file)).collect();
            return Err(CliError::failure(format!("no position in {} has a score", names.join(", "))).hint(
                "Write the score in discs for the side to move after it (`<64 squares> X +4`), take games with results, or \
                 have positions solved: --solve-empties.",
            ));
        }
        if unscored > 0 {
            session.say(format_args!("left out, without a score: {unscored}"));
        }
        writeln!(out, "empties\tpositions\trmse\tmae\tbias")?;
        for row in with_evaluator!(&evaluator, evaluator => accuracy(evaluator, known)) {
            let Accuracy { empties, positions, rmse, mae, bias } = row;
            writeln!(out, "{empties}\t{positions}\t{rmse:.3}\t{mae:.3}\t{bias:+.3}")?;
        }
        Ok(())
    }

    /// The positions of each record of a file with their scores; `None` for a record without.
    fn labelled(&self, file: &Path, session: &Session) -> Result<Vec<Option<Labelled>>, CliError> {
        let name = name_of(file);
        let bytes = read_bytes(file, session).context(|| format!("cannot read {name}"))?;
        let format = Format::detect(&bytes);
        let unreadable = || format!("cannot read {name} as {format}");
        let mut records = Vec::new();
        for record in read(&bytes, format).context(unreadable)? {
            match record {
                Ok(record) => records.push(record),
                Err(error) if self.skip_bad => session.say(format_args!("left out: {name}: {error}")),
                Err(error) => {
                    let hint = format!("{FORMAT} Or leave such records out with --skip-bad.");
                    return Err(CliError::Failure {
                        message: unreadable(),
                        source: Some(error.into()),
                        hint: Some(hint),
                    });
                }
            }
        }
        let label = |labeller: &mut Labeller, record| labeller.label(record).ok();
        Ok(records.par_iter().map_init(|| Labeller::new(self.solve_empties), label).collect())
    }
}
