//! `flipside calibrate`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use clap::Args;
use serde::Serialize;

use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::input::{name_of, read_positions};
use super::meter::Meter;
use super::output::Output;
use super::results::FormatArgument;
use super::session::Session;
use flipside::board::Position;
use flipside::eval::{Calibration, Model, PatternEvaluator};
use flipside::search::calibrate::{
    MIN_POSITIONS, Measurement, fit_exact_pairs, fit_pairs, offsets, search_all, solve_all, tree_positions,
};
use flipside::selfplay::varied_positions;
use flipside::text::counted;
use flipside::threads::lock;

/// Make searches to all depths agree, and measure how well shallow ones predict deep ones, for selective search (--selectivity)
///
/// Searches self-play positions to all depths, solves those near the end, and adds to the values what makes all agree: mostly, searches to
/// odd depths come out too high, and the advantage of whoever moves last is not seen. What is added depends only on the number of empty
/// squares, so choices at one depth stay the same. Then it searches and solves positions of search trees, fits a line (deep value = slope x
/// shallow value + offset) for each pair of depths and each range of six empties, and writes the weights with these parameters. The endgame
/// solver also uses them. They hold for these weights only, and training does not keep them, so calibrate last. Parameters already in the
/// weights are replaced.
///
/// By default it takes some minutes on two cores, most of them for searches to depth 11 and for the exact values of positions with up to 24
/// empty squares: smaller --depth and --exact-empties shorten that.
///
/// Prints a table: empty squares, depths in plies (`end` is the end of the game), slope, offset and standard deviation in discs,
/// correlation, and number of positions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside calibrate default --depth 7 --exact-empties 14 -o strong.fsw\n  \
    flipside match strong.fsw:selectivity=1.5,depth=6 strong.fsw:depth=4 --pairs 10")]
pub struct CalibrateArguments {
    /// A weight file, or `default`
    #[arg(value_name = "WEIGHTS")]
    weights: EvaluatorChoice,

    /// The weight file to write; `-` is standard output, and the table then goes to standard error
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Measure on these positions, one per line (`-` is standard input), and their search trees instead of positions of self-play games
    #[arg(long, value_name = "FILE", conflicts_with = "positions_per_stage")]
    positions: Option<PathBuf>,

    /// Self-play positions for each range of six empties whose search trees are measured
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(MIN_POSITIONS as i64..=1_000_000))]
    positions_per_stage: u32,

    /// Plies of the deepest search; each additional ply takes two to three times as long
    #[arg(short, long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(3..=20))]
    depth: u32,

    /// Also measure how well searches predict exact values, on positions with at most N empty squares; every two more triple the time. From
    /// fewer than 20 the advantage of moving last is not known as well
    #[arg(long, alias = "solve-empties", value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=30))]
    exact_empties: u32,

    /// Random seed of the self-play games; unused with --positions
    #[arg(long, env = "FLIPSIDE_SEED", hide_env_values = true, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    format: FormatArgument,
}

/// How well searches to one depth predict those to another.
#[derive(Serialize)]
struct Row {
    empties: String,
    shallow: u32,
    deep: String,
    slope: f64,
    offset: f64,
    deviation: f64,
    correlation: f64,
    positions: usize,
}

/// Depths are compared on this many times as many positions of self-play as trees are searched of.
const COMPARED_TIMES: usize = 4;
/// Plies of the deepest search by which depths are compared.
const COMPARED_DEPTH: u32 = 9;
/// Most empty squares of the positions that are solved for that.
const COMPARED_EXACT_EMPTIES: u32 = 20;

/// What to do about too few positions.
fn what_it_takes() -> String {
    format!(
        "It takes {MIN_POSITIONS} positions or more with similar numbers of empty squares, and weights that have learned \
         something."
    )
}

impl CalibrateArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let output = Output::check(&self.output, self.weights.path().into_iter().chain(self.positions.as_deref()))?;
        let mut file = self.weights.weight_file()?;
        let evaluator = |model: &Model| {
            PatternEvaluator::new(model).context(|| format!("cannot use the weights `{}`", self.weights))
        };
        let unshifted = evaluator(&file.model)?;
        // A signal ends the program; there is nothing to finish.
        let never = AtomicBool::new(false);
        let (positions, root_every, source) = match &self.positions {
            Some(path) => {
                let positions = read_positions(path, session)?.into_iter().map(|scored| scored.diagram.position);
                (positions.filter(|position| position.moves() != 0).collect::<Vec<_>>(), 1, name_of(path))
            }
            None => {
                session.say("playing games to take positions from");
                let count = COMPARED_TIMES * self.positions_per_stage as usize;
                let positions = varied_positions(&unshifted, self.seed, count, &never);
                (positions.expect("nothing stops these games"), COMPARED_TIMES, "self-play".to_owned())
            }
        };
        let count = positions.len();
        if count < MIN_POSITIONS {
            let found = format!("{} of {source} can be searched", counted(count as u64, "position"));
            return Err(CliError::failure(format!("cannot calibrate: {found}")).hint(what_it_takes()));
        }
        let measure = |evaluator: &PatternEvaluator, positions: &[Position], depth: u32, exact_empties: u32| {
            let count = positions.len();
            let searched = format!("searched to depth {depth}");
            let values =
                with_meter(session, count, &searched, |done| search_all(evaluator, positions, depth, &never, done));
            let solve = |done: &(dyn Fn() + Sync)| solve_all(evaluator, positions, exact_empties, &never, done);
            (values, with_meter(session, count, "solved", solve))
        };
        let (values, exact) = measure(
            &unshifted,
            &positions,
            self.depth.min(COMPARED_DEPTH),
            self.exact_empties.min(COMPARED_EXACT_EMPTIES),
        );
        let added = file.model.shift(&offsets(&positions, &values, &exact));
        let evaluator = evaluator(&file.model)?;
        session.say(account(&added));
        let roots: Vec<_> = positions.into_iter().step_by(root_every).collect();
        let positions = tree_positions(&evaluator, &roots, &never).expect("nothing stops these searches");
        let (values, exact) = measure(&evaluator, &positions, self.depth, self.exact_empties);
        let mut measured = fit_pairs(&positions, &values);
        measured.extend(fit_exact_pairs(&positions, &values, &exact));
        let calibration = Calibration::new(measured.iter().map(|measurement| measurement.pair).collect());
        let calibration = calibration.context(|| format!("cannot calibrate by the positions of {source}"));
        let calibration = calibration.map_err(|error| error.hint(what_it_takes()));
        // The file first: nobody may read the table.
        let written = calibration.and_then(|calibration| {
            file.calibration = Some(calibration);
            output.write(out, |writer| writer.write_all(&file.to_bytes()))
        });
        let rows: Vec<_> = measured.iter().map(Row::of).collect();
        let shown = if output.is_standard_output() {
            self.format.to_error(&mut session.talk()).table(&rows)
        } else {
            self.format.to(out).table(&rows)
        };
        written.and(shown)?;
        if !output.is_standard_output() {
            session.say(format_args!("written to `{}`", self.output.display()));
        }
        Ok(())
    }
}

/// What was added to the values, in a sentence.
fn account(added: &[f64; 61]) -> String {
    let of_parity = |parity| {
        let all = || added.iter().skip(parity).step_by(2).copied();
        (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max))
    };
    let [(even_low, even_high), (odd_low, odd_high)] = [of_parity(0), of_parity(1)];
    format!(
        "added to values to make all depths agree: {even_low:+.2} to {even_high:+.2} discs at even numbers of empty squares, \
         {odd_low:+.2} to {odd_high:+.2} at odd ones"
    )
}

/// Does work on a number of positions and shows its progress: `work` calls its argument after each.
fn with_meter<T>(
    session: &Session,
    positions: usize,
    message: &str,
    work: impl FnOnce(&(dyn Fn() + Sync)) -> Option<T>,
) -> T {
    let meter = Mutex::new((Meter::new(session, positions as u64, "positions"), 0));
    let done = work(&|| {
        let (meter, done) = &mut *lock(&meter);
        *done += 1;
        meter.show(*done, || message.to_owned());
    });
    lock(&meter).0.finish();
    done.expect("nothing stops this work")
}

impl Row {
    fn of(Measurement { pair, fit }: &Measurement) -> Self {
        Self {
            empties: format!("{}-{}", pair.min_empties, pair.max_empties),
            shallow: pair.shallow.into(),
            deep: if pair.predicts_the_end() { "end".to_owned() } else { pair.deep.to_string() },
            slope: fit.slope,
            offset: fit.offset,
            deviation: fit.deviation,
            correlation: fit.correlation,
            positions: fit.count,
        }
    }
}
