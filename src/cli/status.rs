//! `flipside runs` and `flipside status`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{CliError, Context};
use super::escape::on_one_line;
use super::json::{JsonArgument, write_json};
use super::runs::{RUNS, latest, resolved, unreadable};
use super::session::Session;
use crate::report::{RunLog, RunState, Status};
use crate::text::{bytes, count, counted, duration, elo, or_dash, typed};
use crate::train::{TrainError, WorkerStatus};

/// List runs, the most recently active first
///
/// Prints a tab-separated table: directory, state (`running`, `finished`, `stopped`, or `broken off` if the last session was killed),
/// generations, games, time worked, Elo of the best weights over `mobility` with the ends of its 95% interval, and bytes on disk.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside runs")]
pub struct RunsArguments {
    /// Folder of runs
    #[arg(default_value = RUNS)]
    folder: PathBuf,

    #[command(flatten)]
    json: JsonArgument,
}

/// Show the state of a run: phase, generation, losses, ratings, time left, disk use
///
/// Does not disturb a run in progress. Prints tab-separated names and values.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside status runs/latest")]
pub struct StatusArguments {
    /// The run's directory [default: runs/latest]
    run: Option<PathBuf>,

    #[command(flatten)]
    json: JsonArgument,
}

impl RunsArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let shown = self.folder.display();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.folder == Path::new(RUNS) => Vec::new(),
            entries => entries.context(|| format!("cannot list `{shown}`"))?.collect(),
        };
        let folder = self.folder.canonicalize().ok();
        let (mut found, mut is_whole) = (Vec::new(), true);
        for entry in entries {
            let path = entry.context(|| format!("cannot list `{shown}`"))?.path();
            // Not `latest`, a link to another of these. A run that is kept elsewhere may be a link too.
            let is_of_these =
                |to: PathBuf| self.folder.join(to).parent().and_then(|parent| parent.canonicalize().ok()) == folder;
            if !path.is_dir() || fs::read_link(&path).is_ok_and(is_of_these) {
                continue;
            }
            match RunLog::read(&path) {
                Ok(log) => found.push(Status::of(&log)),
                Err(TrainError::NoRun(_)) => {}
                Err(error) => {
                    is_whole = false;
                    session.say(format_args!("left out: `{}`: {error}", path.display()));
                }
            }
        }
        if found.is_empty() && is_whole {
            session.say(match RunLog::read(&self.folder) {
                Ok(_) => format!("`{shown}` is a run itself; `flipside status {}` shows it", typed(&self.folder)),
                Err(_) => format!("there are no runs in `{shown}`; `flipside train` begins one"),
            });
        }
        found.sort_by(|a, b| (a.seconds_since_sign, &b.run).cmp(&(b.seconds_since_sign, &a.run)));
        if self.json.json {
            return found.iter().try_for_each(|status| write_json(status, out));
        }
        writeln!(out, "run\tstate\tgenerations\tgames\ttime\telo\tlow\thigh\tbytes")?;
        for Status { run, state, generations, games, seconds, best, bytes, .. } in &found {
            let elo = best.map_or("-\t-\t-".to_owned(), |best| {
                let [value, low, high] = best.elo;
                format!("{value:+.0}\t{low:+.0}\t{high:+.0}")
            });
            let (run, time) = (on_one_line(run), duration(*seconds));
            writeln!(out, "{run}\t{state}\t{generations}\t{games}\t{time}\t{elo}\t{bytes}")?;
        }
        Ok(())
    }
}

impl StatusArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let log = RunLog::read(&resolved(&self.run.unwrap_or_else(latest))).map_err(unreadable)?;
        let status = Status::of(&log);
        if self.json.json {
            return write_json(&status, out);
        }
        let is_played = status.budget.left_after(status.seconds, status.generations, status.games).is_none();
        let generation = match status.games_at_hand {
            [0, _] if is_played || status.state != RunState::Running => format!("{} learned", status.generations),
            [played, of] => format!("{}, {played} of {of} games", status.generations + 1),
        };
        let loss = |loss: Option<f64>| or_dash(loss.map(|loss| format!("{loss:.3}")));
        let gate = |rating: Option<crate::report::Rating>| {
            or_dash(rating.map(|rating| {
                let fitted = if rating.fitted { ", fitted to kept games" } else { "" };
                format!("{} after generation {}{fitted}", elo(rating.elo), rating.generation)
            }))
        };
        let rows = [
            ("run", on_one_line(&status.run)),
            ("state", status.state.to_string()),
            ("patterns", on_one_line(&status.patterns)),
            ("phase", format!("{} of {}", status.phase, status.phases)),
            ("generation", generation),
            ("games", count(status.games)),
            ("positions", count(status.positions)),
            ("loss", loss(status.loss)),
            ("held out", loss(status.held_out)),
            ("best", gate(status.best)),
            ("newest", gate(status.last)),
            ("time", duration(status.seconds)),
            ("budget", if status.budget.is_none() { "-".to_owned() } else { status.budget.to_string() }),
            ("left", or_dash(status.seconds_left.map(duration))),
            ("disk", bytes(status.bytes)),
            ("last activity", format!("{} ago", duration(status.seconds_since_sign as f64))),
        ];
        rows.iter().try_for_each(|(name, value)| writeln!(out, "{name}\t{value}"))?;
        for worker in &status.workers {
            let WorkerStatus { name, threads, games, present, .. } = worker;
            let state = if *present { "at work" } else { "gone" };
            let sign = duration(worker.seconds_since_sign() as f64);
            let (threads, games) = (counted(u64::from(*threads), "thread"), counted(*games, "game"));
            let name = on_one_line(name);
            writeln!(out, "worker\t{name}, {threads}, {games}, {state}, last seen {sign} ago")?;
        }
        Ok(())
    }
}
