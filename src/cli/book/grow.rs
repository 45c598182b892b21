//! `flipside book grow`.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::books::{SearchArguments, cannot_change, edit};
use crate::cli::error::CliError;
use crate::cli::input::parse_time;
use crate::cli::meter::Meter;
use crate::cli::session::Session;
use crate::cli::signals::stop_on_signals;
use flipside::book::{Grow, Growth, GrowthEnd};
use flipside::text::or_dash;

/// Grow a book: add the positions nearest to best play first, searched on all threads
///
/// The next position is always the one that deviates least from best play: each move costs its loss against the best move, in standard
/// deviations of its value as measured for the weights by `calibrate`, plus a quarter per ply. A missing book is created with the start
/// position. Ctrl-C stops with exit code 75 and loses at most the 128 positions in progress; the same command resumes. With --positions,
/// the book has the same content for any number of threads, interrupted or not. The weights must be calibrated.
///
/// Prints one name and value per line: positions, those searched now, value of the start position in discs and its error.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book grow book.fsb --hours 2 --depth 12\n  \
    flipside book grow book.fsb --positions 1000 --depth 4")]
#[command(group = clap::ArgGroup::new("budget").required(true))]
pub struct GrowArguments {
    /// The book
    book: PathBuf,

    #[command(flatten)]
    search: SearchArguments,

    /// Hours of work
    #[arg(long, value_name = "N", group = "budget", value_parser = parse_time)]
    hours: Option<f64>,

    /// Minutes of work
    #[arg(long, value_name = "N", group = "budget", value_parser = parse_time)]
    minutes: Option<f64>,

    /// Grow until the book has N positions
    #[arg(long, value_name = "N", group = "budget")]
    positions: Option<u64>,
}

impl GrowArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let searching = self.search.load(session)?;
        searching.must_be_calibrated()?;
        let mut book = edit(&self.book, true)?;
        let before = book.len();
        let stop = stop_on_signals();
        let seconds = self.hours.map(|hours| 3600.0 * hours).or(self.minutes.map(|minutes| 60.0 * minutes));
        let until = seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs_f64(seconds)));
        let mut meter = GrowthMeter::new(session, seconds, self.positions, before);
        let grow = Grow { weights: searching.hash(), positions: self.positions, stop: &stop, until };
        let mut last = None;
        let grown = grow.run(
            &mut book,
            || searching.searcher(),
            |growth| {
                meter.show(growth);
                last = Some(*growth);
            },
        );
        meter.meter.finish();
        let end = grown.map_err(cannot_change)?;
        if let Some(growth) = last {
            write_growth(&growth, out)?;
        }
        match end {
            GrowthEnd::Stopped => Err(CliError::Stopped("stopped; the same command resumes it".into())),
            GrowthEnd::Complete => {
                session.say("the book is complete: nothing is left to add");
                Ok(())
            }
            GrowthEnd::Done => Ok(()),
        }
    }
}

/// Shows how far a book has grown, by time or by positions.
struct GrowthMeter {
    meter: Meter,
    by_time: bool,
    began: Instant,
    before: u64,
}

impl GrowthMeter {
    fn new(session: &Session, seconds: Option<f64>, positions: Option<u64>, before: u64) -> Self {
        let meter = match (seconds, positions) {
            (Some(seconds), _) => Meter::new(session, seconds.ceil() as u64, "s"),
            // A book that is already large enough only gets its missing searches, and their number is not known.
            (None, positions) => {
                Meter::new(session, positions.filter(|&wanted| wanted > before).unwrap_or(0), "positions")
            }
        };
        Self { meter, by_time: seconds.is_some(), began: Instant::now(), before }
    }

    fn show(&mut self, growth: &Growth) {
        let seconds = self.began.elapsed().as_secs_f64();
        let done = if self.by_time { seconds as u64 } else { growth.positions };
        self.meter.show(done, || {
            let Growth { positions, searched, start, next } = growth;
            let rate = *searched as f64 / seconds.max(0.001);
            let new = positions.saturating_sub(self.before);
            let value = or_dash(start.value);
            let next = or_dash(next.map(|next| format!("{next:.1}")));
            format!("{positions} positions (+{new})  {rate:.1} searches/s  start {value}  next at {next} deviations")
        });
    }
}

fn write_growth(growth: &Growth, out: &mut dyn Write) -> Result<(), CliError> {
    writeln!(out, "positions\t{}\nsearched\t{}", growth.positions, growth.searched)?;
    let value = or_dash(growth.start.value);
    let error = or_dash(growth.start.error.discs().map(|error| format!("{error:.2}")));
    Ok(writeln!(out, "value\t{value}\nerror\t{error}")?)
}
