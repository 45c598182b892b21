//! `flipside accuracy`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use serde::Serialize;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, EvaluatorChoice, own_engine};
use super::input::{FORMAT, Input, each_once, name_of, refuse_own_files};
use super::jobs::on_own_threads;
use super::meter::Meter;
use super::results::FormatArgument;
use super::session::Session;
use super::strength::SelectivityArgument;
use flipside::board::{Position, ScoredDiagram};
use flipside::eval::{ByEmpties, accuracy, accuracy_of, discs_lost, has_all_scores, regret};
use flipside::label::Labeller;
use flipside::learn::{Bound, Sample};
use flipside::record::{Format, MAX_REPORTED, Record};
use flipside::search::{Analysis, Engine, Strength};

/// Compare evaluations or searches with known scores, by number of empty squares
///
/// Takes scored positions (OBF, a bare score, Egaroucid's training lines) and recorded games (GGF, SGF, WTHOR, f5d6, logs of games), whose
/// positions are scored by the result. Prints a table in discs for the side to move: empty squares, positions, root mean
/// square error, mean absolute error, bias (mean of evaluation minus score), standard deviation of the error (rmse without the bias),
/// slope of the line that best predicts the score from the evaluation, and standard deviation of the scores from that line. The last
/// row covers all positions.
///
/// Scaling an evaluation does not change a search, so compare weights by the last column: a slope above 1 means that the evaluation's
/// discs are too small, not that the weights are worse.
///
/// With --depth, values of searches take the place of the evaluation.
///
/// With --regret, searches positions that have scores for all their moves (OBF) and prints what the chosen moves lose: empty squares,
/// positions, mean discs lost, and the share of positions in which no move is better than the chosen one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside accuracy default data/ffo/fforum-1-19.obf\n  \
    flipside accuracy default games.jsonl --exact-empties 12\n  \
    flipside accuracy default --depth 8 data/bench/exact-24.txt\n  \
    flipside accuracy default --regret --depth 4 data/ffo/fforum-20-39.obf")]
pub struct AccuracyArguments {
    /// A weight file, `default`, `squares` or `mobility`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// Scored positions or recorded games; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Solve positions with at most N empties, those of games and those without a score; earlier positions of a game are scored as if
    /// play from there on had been perfect
    #[arg(long, alias = "solve-empties", value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(Strength::MAX_EXACT_EMPTIES)))]
    exact_empties: u32,

    /// Skip records that cannot be read instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,

    /// Count the discs that the chosen moves lose
    #[arg(long, conflicts_with = "exact_empties")]
    regret: bool,

    /// Plies to search [default: static values; 1 with --regret]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60))]
    depth: Option<u32>,

    #[command(flatten)]
    selective: SelectivityArgument,

    #[command(flatten)]
    format: FormatArgument,
}

/// Records that are read and labelled at a time.
const CHUNK: usize = 1 << 13;

/// Tables of searches have 2^this entries: 1 MB.
const LOG2_ENTRIES: u32 = 16;

impl AccuracyArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        refuse_own_files(self.files.iter().map(PathBuf::as_path), false)?;
        if self.regret {
            return self.print_regret(session, out);
        }
        if self.depth.is_none() && self.selective.or_full_width().is_some() {
            return Err(CliError::Usage("--selectivity is for searches: give their --depth".to_owned()));
        }
        let evaluator = self.weights.load_for(self.selective.or_full_width())?;
        let (mut known, mut unscored) = (Vec::new(), 0);
        self.read(session, |records| {
            let label = |labeller: &mut Labeller, record| labeller.label(record).ok();
            let labelled: Vec<Option<Vec<Sample>>> =
                records.par_iter().map_init(|| Labeller::new(self.exact_empties), label).collect();
            for samples in labelled {
                let before = known.len();
                let exact = samples.into_iter().flatten().filter(|sample| sample.bound == Bound::Exact);
                known.extend(exact.map(|Sample { position, target, .. }| (position, target.discs() as i32)));
                unscored += usize::from(known.len() == before);
            }
        })?;
        if unscored > 0 && !known.is_empty() {
            session.say(format_args!("left out, without a score: {unscored}"));
        }
        let table = match self.depth {
            None => accuracy(&evaluator, known),
            Some(depth) => {
                let found = self.search(&evaluator, depth, &known, |&(position, _)| position, session)?;
                accuracy_of(known.iter().zip(found).map(|(&(position, score), found)| {
                    (position.empties(), (f64::from(found.score.discs()), f64::from(score)))
                }))
            }
        }
        .ok_or_else(|| {
            self.nothing("has a score").hint(
                "Put the score in discs for the side to move after it (`<64 squares> X +4`), use games with results, or have \
                 positions solved with --exact-empties.",
            )
        })?;
        self.format.to(out).table(&rows(table))
    }

    fn print_regret(&self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load_for(self.selective.or_full_width())?;
        let (mut positions, mut unscored) = (Vec::new(), 0);
        self.read(session, |records| {
            for record in records {
                match record {
                    Record::Position(scored) if has_all_scores(&scored) => positions.push(scored),
                    _ => unscored += 1,
                }
            }
        })?;
        let lost = self.discs_lost(&evaluator, &positions, session)?;
        if unscored > 0 && !lost.is_empty() {
            session.say(format_args!("left out, without the scores of all moves: {unscored}"));
        }
        let table = regret(lost).ok_or_else(|| {
            self.nothing("has the scores of all its moves")
                .hint("Use OBF with a score for each legal move, such as `<64 squares> X; G8:+18; H1:+12;`.")
        })?;
        self.format.to(out).table(&rows(table))
    }

    /// For each position its number of empty squares, and the discs that the chosen move loses.
    fn discs_lost(
        &self,
        evaluator: &AnyEvaluator,
        positions: &[ScoredDiagram],
        session: &Session,
    ) -> Result<Vec<(u32, i32)>, CliError> {
        let depth = self.depth.unwrap_or(1);
        let found = self.search(evaluator, depth, positions, |scored| scored.diagram.position, session)?;
        let lost = positions
            .iter()
            .zip(found)
            .filter_map(|(scored, found)| Some((scored.diagram.position.empties(), discs_lost(scored, found.best?)?)));
        Ok(lost.collect())
    }

    /// Searches the positions of some items, each for itself.
    fn search<T: Sync>(
        &self,
        evaluator: &AnyEvaluator,
        depth: u32,
        items: &[T],
        position: impl Fn(&T) -> Position + Sync,
        session: &Session,
    ) -> Result<Vec<Analysis>, CliError> {
        let mut meter = Meter::new(session, items.len() as u64, "positions");
        let mut all = Vec::with_capacity(items.len());
        let strength = Strength { selectivity: self.selective.or_full_width(), ..Strength::new(depth, 0) };
        let engine = || Ok(own_engine(evaluator, strength, LOG2_ENTRIES));
        let analyse = |engine: &mut Engine<'_, AnyEvaluator>, item: &T| {
            engine.forget();
            engine.analyse(&position(item))
        };
        on_own_threads(items, session.threads, engine, analyse, |_, found| {
            all.push(found);
            meter.show(all.len() as u64, || format!("searched to depth {depth}"));
            Ok(())
        })?;
        meter.finish();
        Ok(all)
    }

    /// Hands over the records of all files, some at a time.
    fn read(&self, session: &Session, mut take: impl FnMut(Vec<Record>)) -> Result<(), CliError> {
        let files = each_once(&self.files, session);
        let mut meter = Meter::new(session, 0, "records");
        let mut taken = 0;
        let mut take = |meter: &mut Meter, records: Vec<Record>| {
            taken += records.len() as u64;
            take(records);
            meter.show(taken, String::new);
        };
        files.into_iter().try_for_each(|file| self.read_file(file, session, &mut meter, &mut take))?;
        meter.finish();
        Ok(())
    }

    fn read_file(
        &self,
        file: &Path,
        session: &Session,
        meter: &mut Meter,
        take: &mut impl FnMut(&mut Meter, Vec<Record>),
    ) -> Result<(), CliError> {
        let input = meter.aside(|| Input::read(file, None, session))?;
        let name = &input.name;
        let (mut records, mut bad) = (Vec::new(), 0);
        for record in input.records()? {
            match record {
                Ok(record) => records.push(record),
                Err(error) if self.skip_bad || error.is_cut_off_end => {
                    bad += 1;
                    if bad <= MAX_REPORTED {
                        meter.say(format_args!("left out: {name}: {error}"));
                    }
                }
                Err(error) => {
                    let hint = match input.format {
                        Format::Obf => format!("{FORMAT} Or leave such records out with --skip-bad."),
                        _ => "Leave such records out with --skip-bad.".to_owned(),
                    };
                    return Err(input.explain(error).hint(hint));
                }
            }
            if records.len() == CHUNK {
                take(meter, std::mem::take(&mut records));
            }
        }
        take(meter, records);
        if bad > MAX_REPORTED {
            meter.say(format_args!("left out: {name}: {bad} records that cannot be read"));
        }
        Ok(())
    }

    fn nothing(&self, what: &str) -> CliError {
        let names: Vec<_> = self.files.iter().map(|file| name_of(file)).collect();
        CliError::failure(format!("no position in {} {what}", names.join(", ")))
    }
}

#[derive(Serialize)]
struct Row<T> {
    /// None for all positions.
    empties: Option<u32>,
    #[serde(flatten)]
    found: T,
}

/// The rows of a table, the one of all positions at its end.
fn rows<T>(table: ByEmpties<T>) -> Vec<Row<T>> {
    let by_empties = table.rows.into_iter().map(|(empties, found)| Row { empties: Some(empties), found });
    by_empties.chain([Row { empties: None, found: table.all }]).collect()
}
