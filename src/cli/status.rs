//! `flipside runs`, `flipside status` and `flipside stop`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::error::{CliError, Context};
use super::results::FormatArgument;
use super::runs::{RUNS, latest, resolved, unreadable};
use super::session::Session;
use flipside::report::{RunLog, RunState, Status};
use flipside::text::typed;
use flipside::train::{Live, TrainError, host_name};

/// List runs, the most recently active first
///
/// Prints a table: directory, state (`running`, `finished`, `stopped`, or `broken off` if the last session was killed),
/// generations, games, seconds worked, Elo of the best weights relative to `default` with the ends of its 95% interval, and bytes on disk.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside runs")]
pub struct RunsArguments {
    /// Folder of runs
    #[arg(default_value = RUNS)]
    folder: PathBuf,

    #[command(flatten)]
    format: FormatArgument,
}

/// Show the state of a run: what is at work, generations, losses, ratings, time left, disk use
///
/// Does not disturb a run in progress. Prints names and values: among them what a running run is doing, how much of that is done and
/// how long it will still take, or why a stopped run stopped. Generations and games include those of runs that it continues. Ratings are
/// Elo relative to `default`, with the ends of their 95% intervals.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside status runs/latest")]
pub struct StatusArguments {
    /// The run's directory [default: runs/latest]
    run: Option<PathBuf>,

    #[command(flatten)]
    format: FormatArgument,
}

/// Stop a run in progress, as Ctrl-C would
///
/// Sends SIGTERM to the run's process and waits until it is gone, with nothing lost: `flipside train --resume RUN` continues it. Exits with
/// 0 once nothing works on the run, and with 1 if the process cannot be reached, for example because it is on another machine.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside stop runs/latest")]
pub struct StopArguments {
    /// The run's directory [default: runs/latest]
    run: Option<PathBuf>,
}

/// A run in the list.
#[derive(Serialize)]
struct Row {
    run: String,
    state: RunState,
    generations: u32,
    games: u64,
    seconds: f64,
    elo: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    bytes: u64,
}

impl From<Status> for Row {
    fn from(status: Status) -> Self {
        let [elo, low, high] = [0, 1, 2].map(|end| status.best.map(|best| best.elo[end]));
        let Status { run, state, generations, games, seconds, bytes, .. } = status;
        Self { run, state, generations, games, seconds, elo, low, high, bytes }
    }
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
        self.format.to(out).table(&found.into_iter().map(Row::from).collect::<Vec<_>>())
    }
}

impl StatusArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let log = RunLog::read(&resolved(&self.run.unwrap_or_else(latest))).map_err(unreadable)?;
        self.format.to(out).object(&Status::of(&log))
    }
}

impl StopArguments {
    #[cfg(unix)]
    pub fn run(self, session: &Session) -> Result<(), CliError> {
        use rustix::process::{Pid, Signal, kill_process};
        let run = resolved(&self.run.unwrap_or_else(latest));
        let shown = run.display();
        RunLog::read(&run).map_err(unreadable)?;
        let Some(live) = Live::of_run(&run) else {
            session.say(format_args!("nothing is working on `{shown}`"));
            return Ok(());
        };
        let cannot = || format!("cannot stop `{shown}`");
        let nameless = || CliError::failure(format!("{}: its process does not say its number", cannot()));
        let live = live.ok_or_else(nameless)?;
        if live.host != host_name() {
            let message = format!("{}: it runs on another machine, `{}`", cannot(), live.host);
            return Err(CliError::failure(message).hint(format!("Say `kill {}` there.", live.pid)));
        }
        let pid = i32::try_from(live.pid).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or_else(nameless)?, Signal::TERM).map_err(io::Error::from).context(cannot)?;
        // A new process would have another number.
        while Live::of_run(&run).is_some_and(|now| now.is_none_or(|now| now.pid == live.pid)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        session.say(format_args!("stopped; `flipside train --resume {}` continues the run", typed(&run)));
        Ok(())
    }

    /// Other systems have no signal that stops a process in order.
    #[cfg(not(unix))]
    pub fn run(self, _: &Session) -> Result<(), CliError> {
        Err(CliError::failure("this system has no signals: press Ctrl-C where the run is"))
    }
}
