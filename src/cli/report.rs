//! `flipside report`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::Args;

use super::error::CliError;
use super::escape::on_one_line;
use super::input::each_once;
use super::meter::Meter;
use super::output::Output;
use super::runs::{latest, resolved, unreadable};
use super::session::Session;
use super::signals::stop_on_signals;
use flipside::report::{Figures, page};

/// Write a report on runs: one HTML file with all plots
///
/// The page needs no network. It shows strength with intervals from one fit over all gates, losses by empty squares, errors,
/// slopes and calibration of the best weights against the results of kept games, coverage, strongest configurations, rates and times by
/// step, and how to repeat the run. The figures are included as JSON (`<script type="application/json" id="data">`). Several runs share
/// the same plots. Runs may be in progress.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside report runs/latest -o report.html")]
pub struct ReportArguments {
    /// Run directories [default: runs/latest]
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The page to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,

    /// Rewrite the page every N seconds (60 if left out) until stopped, whatever fails meanwhile; open browsers reload it
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "60")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=86_400))]
    watch: Option<u32>,
}

impl ReportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let output = Output::check(&self.output, [])?;
        if self.watch.is_some() && output.is_standard_output() {
            return Err(CliError::Usage("--watch rewrites a file: name one with -o".to_owned()));
        }
        let runs = if self.runs.is_empty() { vec![latest()] } else { self.runs };
        let runs: Vec<_> = each_once(&runs, session).into_iter().map(resolved).collect();
        let make = || {
            let mut meter = Meter::new(session, runs.len() as u64, "runs");
            let mut figures = Vec::new();
            for run in &runs {
                meter.show(figures.len() as u64, || on_one_line(&run.display().to_string()));
                figures.push(Figures::of(run).map_err(unreadable)?);
            }
            meter.finish();
            Ok::<_, CliError>(page(&figures, self.watch))
        };
        let html = make()?;
        output.write_and_name(out, |writer| writer.write_all(html.as_bytes()))?;
        let Some(seconds) = self.watch else { return Ok(()) };
        out.flush()?;
        let stop = stop_on_signals();
        session.say(format_args!("rewriting it every {seconds} s; Ctrl-C stops"));
        let mut told = None;
        loop {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(seconds.into()) {
                if stop.load(Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            let written = make().and_then(|html| output.write(out, |writer| writer.write_all(html.as_bytes())));
            // A full disk or a folder that is away for a while may be over the next time.
            let fault = written.err().map(|error| error.explanation());
            if let Some(fault) = &fault
                && told.as_ref() != Some(fault)
            {
                session.say(format_args!("{fault}\ntrying again every {seconds} s"));
            }
            told = fault;
        }
    }
}
