//! `flipside accuracy`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use serde::Serialize;

use super::error::CliError;
use super::evaluator::{EvaluatorChoice, own_engine, with_evaluator};
use super::input::{FORMAT, Input, each_once, name_of, refuse_own_files};
use super::jobs::on_own_threads;
use super::meter::Meter;
use super::results::FormatArgument;
use super::session::Session;
use super::strength::SelectivityArgument;
use flipside::board::ScoredDiagram;
use flipside::eval::{ByEmpties, Evaluator, accuracy, discs_lost, has_all_scores, regret};
use flipside::label::Labeller;
use flipside::learn::{Bound, Sample};
use flipside::record::{Format, MAX_REPORTED, Record};
use flipside::search::{Engine, Strength};

/// Compare static evaluations with known scores, by number of empty squares
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
/// With --regret, searches positions that have scores for all their moves (OBF) and prints what the chosen moves lose: empty squares,
/// positions, mean discs lost, and the share of positions in which no move is better than the chosen one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside accuracy default data/ffo/fforum-1-19.obf\n  \
    flipside accuracy default games.jsonl --exact-empties 12\n  \
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

    /// Plies to look ahead when choosing a move
    #[arg(short, long, value_name = "N", default_value_t = 1, requires = "regret")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=60))]
    depth: u32,

    #[command(flatten)]
    selective: SelectivityArgument,

    #[command(flatten)]
    format: FormatArgument,
}

/// Records that are read and labelled at a time.
const CHUNK: usize = 1 << 13;

/// Tables of the searches of --regret have 2^this entries: 1 MB.
const LOG2_ENTRIES: u32 = 16;

impl AccuracyArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        refuse_own_files(self.files.iter().map(PathBuf::as_path), false)?;
        if self.regret {
            return self.print_regret(session, out);
        }
        if self.selective.selectivity.is_some() {
            return Err(CliError::Usage("--selectivity is for the searches of --regret".to_owned()));
        }
        let evaluator = self.weights.load()?;
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
        let table = with_evaluator!(&evaluator, evaluator => accuracy(evaluator, known)).ok_or_else(|| {
            self.nothing("has a score").hint(
                "Put the score in discs for the side to move after it (`<64 squares> X +4`), use games with results, or have \
                 positions solved with --exact-empties.",
            )
        })?;
        self.format.to(out).table(&rows(table))
    }

    fn print_regret(&self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.load_for(self.selective.selectivity)?;
        let (mut positions, mut unscored) = (Vec::new(), 0);
        self.read(session, |records| {
            for record in records {
                match record {
                    Record::Position(scored) if has_all_scores(&scored) => positions.push(scored),
                    _ => unscored += 1,
                }
            }
        })?;
        let lost = with_evaluator!(&evaluator, evaluator => {
            self.discs_lost(evaluator, &positions, session)
        })?;
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
    fn discs_lost<E: Evaluator>(
        &self,
        evaluator: &E,
        positions: &[ScoredDiagram],
        session: &Session,
    ) -> Result<Vec<(u32, i32)>, CliError> {
        let mut meter = Meter::new(session, positions.len() as u64, "positions");
        let mut lost = Vec::with_capacity(positions.len());
        let strength = Strength { selectivity: self.selective.selectivity, ..Strength::new(self.depth, 0) };
        let engine = || Ok(own_engine(evaluator, strength, LOG2_ENTRIES));
        let choose = |engine: &mut Engine<'_, E>, scored: &ScoredDiagram| {
            engine.forget();
            engine.analyse(&scored.diagram.position).best
        };
        on_own_threads(positions, session.threads, engine, choose, |scored, chosen| {
            lost.extend(
                chosen.and_then(|chosen| Some((scored.diagram.position.empties(), discs_lost(scored, chosen)?))),
            );
            meter.show(lost.len() as u64, || format!("searched to depth {}", self.depth));
            Ok(())
        })?;
        meter.finish();
        Ok(lost)
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
