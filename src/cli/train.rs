//! `flipside train`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

#[cfg(feature = "cluster")]
use super::cluster::CoordinatorArguments;
use super::error::CliError;
use super::evaluator::EvaluatorChoice;
use super::input::{each_once, parse_time, refuse_own_files};
use super::layers::{Layers, Preset};
use super::progress::TrainProgress;
use super::runs::{NewDirectory, WHERE_RUNS_ARE, is_reserved, point_latest_to};
use super::session::Session;
use super::signals::{outlive_terminal, stop_on_signals};
#[cfg(not(feature = "cluster"))]
use super::without_cluster::CoordinatorArguments;
use flipside::fit::FitError;
use flipside::games::games_folder;
use flipside::report::TensorBoard;
use flipside::storage::FileError;
use flipside::text::typed;
use flipside::train::{
    Budget, CHECKPOINTS, LAST, Outcome, Resume, StoredRun, TrainConfig, TrainError, TrainEvent, TrainRequest, train,
};

/// Learn weights from self-play: the main job
///
/// Plays generations of games against itself, learns from them, and measures its strength. The run's directory, printed first,
/// receives `best.fsw` (the last weights to beat the previous best) and `last.fsw` (the newest). `runs/latest` is a link to the most
/// recently active run in `runs`.
///
/// To resume a stopped run, use --resume, or repeat the command if it had --run. A run's configuration never changes: --continue begins
/// a new run with another configuration from a run's weights and games. SIGINT or SIGTERM stops a run within a second or
/// two, with nothing lost, and exits with 75; a second signal exits at once. Closing the terminal does not stop it.
#[derive(Args, Debug)]
#[command(after_help = examples())]
pub struct TrainArguments {
    /// Directory of the run; an existing run there continues [default: a new one in `runs`, named by UTC date and time]
    #[arg(long, env = "FLIPSIDE_RUN", hide_env_values = true, value_name = "DIR")]
    run: Option<PathBuf>,

    /// Resume the run in this directory
    #[arg(long, value_name = "RUN")]
    #[arg(conflicts_with_all = ["run", "preset", "config", "seed", "patterns", "records", "from"])]
    resume: Option<PathBuf>,

    /// Begin a new run where another one is: with its weights, its games (which stay where they are), and its configuration, of which
    /// --config and --seed change what they name
    #[arg(long = "continue", value_name = "RUN")]
    #[arg(conflicts_with_all = ["resume", "preset", "patterns", "records", "from"])]
    continues: Option<PathBuf>,

    /// Base configuration, with a default time budget
    #[arg(long, value_enum, default_value_t = Preset::Evening)]
    preset: Preset,

    /// TOML file with keys that override the preset's; `flipside config` prints and explains all keys
    #[arg(long, env = "FLIPSIDE_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Random seed: the same seed, configuration and number of generations give the same weights
    #[arg(long, env = "FLIPSIDE_SEED", hide_env_values = true, value_name = "N")]
    seed: Option<u64>,

    /// Pattern set: `night`, `classic`, that of an engine (`edax`, `egaroucid`, `ntest`, `zebra`), a TOML file, or a run
    #[arg(long, env = "FLIPSIDE_PATTERNS", hide_env_values = true, value_name = "SET")]
    patterns: Option<String>,

    /// Recorded games or scored positions to learn before self-play begins, in any format that `convert` reads. The key `files` in a step
    /// of a --config file has more settings
    #[arg(long, value_name = "FILE", num_args = 1..)]
    records: Vec<String>,

    /// Start from these weights, or a run's best, instead of from scratch; they are the best until a gate finds better ones
    #[arg(long, value_name = "FILE")]
    from: Option<EvaluatorChoice>,

    #[command(flatten)]
    budget: BudgetArguments,

    #[command(flatten)]
    cluster: CoordinatorArguments,
}

/// When the run is finished.
#[derive(Args, Debug)]
#[command(next_help_heading = "Budget, counted from the start of the run, or with --resume from now; the first limit \
    reached ends it (default: the preset's minutes, or with --resume the rest of the last budget; with --continue one is required)")]
struct BudgetArguments {
    /// Minutes of work
    #[arg(long, value_name = "N", value_parser = parse_time)]
    minutes: Option<f64>,

    /// Hours of work
    #[arg(long, value_name = "N", value_parser = parse_time, conflicts_with = "minutes")]
    hours: Option<f64>,

    /// Generations of self-play and learning
    #[arg(long, value_name = "N")]
    generations: Option<u32>,

    /// Games of self-play
    #[arg(long, value_name = "N")]
    games: Option<u64>,
}

fn examples() -> String {
    let cluster = "\n  flipside train --run runs/tonight --cluster nats://localhost";
    format!(
        "Examples:\n  flipside train --preset quick\n  \
         flipside train --resume runs/latest --hours 2\n  \
         flipside train --continue runs/latest --seed 2 --hours 2\n  \
         flipside train --run runs/edax --patterns edax --hours 8 --seed 7{}",
        if cfg!(feature = "cluster") { cluster } else { "" }
    )
}

impl TrainArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        #[cfg(not(feature = "cluster"))]
        self.cluster.check()?;
        if let Some(directory) = self.run.as_deref().filter(|directory| is_reserved(directory)) {
            let message =
                format!("`{}` is the name of the link to the latest run: choose another --run", directory.display());
            return Err(CliError::Usage(message));
        }
        let (config, budget, resume) = self.wanted(session)?;
        let from = self.from.as_ref().map(EvaluatorChoice::weight_file).transpose()?;
        let claimed;
        let directory = match self.resume.as_deref().or(self.run.as_deref()) {
            Some(directory) => directory,
            None => {
                claimed = NewDirectory::claim()?;
                claimed.path()
            }
        };
        let stop = stop_on_signals();
        outlive_terminal()?;
        let has_terminal = io::stdout().is_terminal();
        let mut progress = TrainProgress::new(session, &config, directory);
        #[cfg_attr(not(feature = "cluster"), expect(unused_mut, reason = "all games are played here"))]
        let mut request = TrainRequest {
            budget,
            resume,
            from: from.as_ref(),
            continues: self.continues.as_deref(),
            ..TrainRequest::new(&config, directory, &stop)
        };
        #[cfg(feature = "cluster")]
        let cluster = self.cluster.start(directory, stop.clone(), progress.speaker())?;
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &cluster {
            request.games = cluster;
        }
        let mut board = None;
        let mut has_begun = false;
        let outcome = train(&request, &mut |event| {
            if let TrainEvent::Start { .. } = event {
                has_begun = true;
                point_latest_to(directory, session);
                let begun = config.tensorboard.then(|| TensorBoard::create(directory));
                board = told_if_not(begun.transpose(), &progress).flatten();
            }
            progress.show(event);
            if let Some(open) = &mut board
                && told_if_not(open.add(event), &progress).is_none()
            {
                board = None;
            }
        });
        progress.finish();
        #[cfg(feature = "cluster")]
        if let Some(cluster) = cluster
            && matches!(outcome, Ok(Outcome::Finished))
        {
            cluster.finish();
        }
        match outcome.map_err(|error| told(error, directory, has_begun))? {
            // The terminal was closed meanwhile: nobody reads the output.
            Outcome::Finished if has_terminal && !io::stdout().is_terminal() => Ok(()),
            Outcome::Finished => {
                writeln!(out, "{}", directory.join("best.fsw").display())?;
                Ok(())
            }
            Outcome::Stopped if !has_checkpoint(directory) => {
                Err(CliError::Stopped("stopped before the run had begun: repeat the command".to_owned()))
            }
            Outcome::Stopped => Err(CliError::Stopped(format!(
                "stopped; the newest weights are {}, and `flipside train --resume {}` continues the run",
                directory.join(LAST).display(),
                typed(directory)
            ))),
        }
    }

    /// The configuration, the budget, and what to do with an existing run.
    fn wanted(&self, session: &Session) -> Result<(TrainConfig, Budget, Resume), CliError> {
        if let Some(directory) = &self.resume {
            let stored = StoredRun::read(directory).map_err(|error| told(error, directory, false))?;
            return Ok((stored.config, self.budget.limits(), Resume::Stored));
        }
        let (config, preset_minutes) = self.config(session)?;
        let budget = Some(self.budget.limits()).filter(|budget| !budget.is_none());
        if self.continues.is_some() && budget.is_none() {
            return Err(CliError::Usage("say how long the run is to be, for example with --hours".to_owned()));
        }
        let budget = budget.unwrap_or(Budget { seconds: Some(60.0 * preset_minutes), ..Budget::default() });
        Ok((config, budget, Resume::Same))
    }

    /// The configuration from preset, file and flags (later ones override earlier ones), and the preset's minutes.
    fn config(&self, session: &Session) -> Result<(TrainConfig, f64), CliError> {
        let (mut layers, minutes) = match &self.continues {
            Some(older) => (Layers::of_run(older).map_err(|error| told(error, older, false))?, 0.0),
            None => Layers::of_preset(self.preset)?,
        };
        if let Some(path) = &self.config {
            layers.add_file(path)?;
        }
        let mut flags = toml::Table::new();
        if let Some(seed) = self.seed {
            let seed = i64::try_from(seed).map_err(|_| CliError::Usage(format!("--seed {seed} is above 2^63 - 1")))?;
            flags.insert("seed".into(), seed.into());
        }
        if let Some(patterns) = &self.patterns {
            flags.insert("patterns".into(), patterns.clone().into());
        }
        layers.add("the options", flags);
        let mut config = layers.config()?;
        if !self.records.is_empty() {
            let paths: Vec<PathBuf> = self.records.iter().map(PathBuf::from).collect();
            let files = each_once(&paths, session).into_iter().map(|path| path.display().to_string()).collect();
            config.begin_with_records(files);
        }
        refuse_own_files(config.lessons().flat_map(|lesson| &lesson.files).map(Path::new), false)?;
        Ok((config, minutes))
    }
}

impl BudgetArguments {
    /// The limits given.
    fn limits(&self) -> Budget {
        let seconds = self.minutes.map(|minutes| 60.0 * minutes).or(self.hours.map(|hours| 3600.0 * hours));
        Budget { seconds, generations: self.generations, games: self.games }
    }
}

/// The result of work for TensorBoard; an error is reported, and training continues.
fn told_if_not<T>(done: io::Result<T>, progress: &TrainProgress<'_>) -> Option<T> {
    let tell = |error| progress.say(&format!("no more events are written for TensorBoard: {error}"));
    done.map_err(tell).ok()
}

/// Whether a run has begun, and can be resumed.
fn has_checkpoint(run: &Path) -> bool {
    CHECKPOINTS.iter().any(|name| run.join(name).exists())
}

/// The error that ended a run or kept it from starting, with what to do about it.
fn told(error: TrainError, run: &Path, has_begun: bool) -> CliError {
    let hint = match &error {
        TrainError::OutOfPatience { .. } if !has_checkpoint(run) => {
            return CliError::Stopped(format!("{error}; the run had not begun: repeat the command"));
        }
        TrainError::OutOfPatience { .. } => {
            let run = typed(run);
            return CliError::Stopped(format!(
                "{error}; what was saved is intact, and `flipside train --resume {run}` continues the run"
            ));
        }
        TrainError::Learn(FitError::Diverged(_)) => Some(format!(
            "What was saved is intact. `flipside train --continue {} --config FILE` begins a new run there, with a lower rate in FILE.",
            typed(run)
        )),
        TrainError::Damaged { path, .. } if path.starts_with(games_folder(run)) => Some(
            "Nothing was changed: restore a copy if you have one. If not, move the file out of the way, and also the checkpoints if they rely on \
             it: its games are played again."
                .to_owned(),
        ),
        TrainError::Damaged { .. } => Some("Nothing was changed: restore a copy if you have one.".to_owned()),
        TrainError::NoRun(_) => Some(WHERE_RUNS_ARE.to_owned()),
        TrainError::File(FileError::Io { .. }) if !has_begun => {
            Some("Fix the cause, then repeat the command.".to_owned())
        }
        TrainError::File(FileError::Io { .. }) if StoredRun::read(run).is_ok() => Some(
            "What was saved is intact: fix the cause, then continue with `flipside train --resume RUN`.".to_owned(),
        ),
        _ => None,
    };
    CliError::because(if has_begun { "training ended" } else { "cannot train" }, error).hint_if_any(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_stays_full_is_a_stop_and_not_a_failure() {
        let run = tempfile::tempdir().unwrap();
        let report = || {
            let error = io::ErrorKind::StorageFull.into();
            let error = TrainError::OutOfPatience { path: "run/checkpoint".into(), error, minutes: 5 };
            let error = told(error, run.path(), true);
            assert_eq!(error.exit_code(), 75);
            error.report()
        };
        assert!(report().contains("run/checkpoint") && report().contains("repeat the command"));
        // A checkpoint that could not be replaced has become the one before.
        for name in CHECKPOINTS {
            let path = run.path().join(name);
            std::fs::write(&path, "").unwrap();
            assert!(report().contains("--resume "), "{name}");
            std::fs::remove_file(path).unwrap();
        }
    }
}
