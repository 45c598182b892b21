//! `flipside report`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::escape::on_one_line;
use super::input::each_once;
use super::meter::Meter;
use super::output::Output;
use super::runs::{latest, resolved, unreadable};
use super::session::Session;
use flipside::report::{Figures, page};

/// Write a report on runs: one HTML file with all plots
///
/// The page needs no network. It shows strength with intervals from one fit over all gates, losses by empty squares, errors,
/// slopes and calibration of the best weights against the results of kept games, rates and times by step, and how to repeat the run.
/// The figures are included as JSON (`<script type="application/json" id="data">`). Several runs share the same plots. Runs may be
/// in progress.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside report runs/latest -o report.html")]
pub struct ReportArguments {
    /// Run directories [default: runs/latest]
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// The page to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

impl ReportArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let output = Output::check(&self.output, [])?;
        let runs = if self.runs.is_empty() { vec![latest()] } else { self.runs };
        let runs: Vec<_> = each_once(&runs, session).into_iter().map(resolved).collect();
        let mut meter = Meter::new(session, runs.len() as u64, "runs");
        let mut figures = Vec::new();
        for run in &runs {
            meter.show(figures.len() as u64, || on_one_line(&run.display().to_string()));
            figures.push(Figures::of(run).map_err(unreadable)?);
        }
        meter.finish();
        output.write_and_name(out, |writer| writer.write_all(page(&figures).as_bytes()))
    }
}
