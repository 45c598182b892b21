//! `flipside train`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::progress::TrainProgress;
use super::session::Session;
use super::signals::{outlive_terminal, stop_on_signals};
use crate::storage::{MAX_TOML_BYTES, read_text};
use crate::train::{Budget, Outcome, PRESETS, TrainConfig, TrainError, TrainRequest, train};

/// Learn weights from self-play: the main job
///
/// Plays generations of games against itself, learns from them, measures its strength, and leaves `best.fsw` (the last weights to
/// beat the best before) and `last.fsw` (the newest) in the run directory. A run that was stopped goes on where it was when the
/// same command is given again. SIGINT or SIGTERM stops it within a second or two, with nothing lost, and exits with 75; a second
/// one exits at once. A terminal that is closed does not stop it.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside train --preset overnight --run runs/tonight\n  \
    flipside train --run runs/long --hours 8 --patterns my.toml --seed 7\n  \
    flipside train --run runs/tonight --cluster nats://localhost   # with `flipside work` on other machines")]
pub struct TrainArguments {
    /// Directory of the run; it is made where there is none
    #[arg(long, env = "FLIPSIDE_RUN", hide_env_values = true, value_name = "DIR", default_value = "runs/latest")]
    run: PathBuf,

    /// Configuration to begin with; it brings a budget of minutes too
    #[arg(long, value_enum, default_value_t = Preset::Evening)]
    preset: Preset,

    /// A TOML file with keys that replace the preset's (see config.toml in any run directory, and the README)
    #[arg(long, env = "FLIPSIDE_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Seed of all chance: same seed and configuration, same weights
    #[arg(long, env = "FLIPSIDE_SEED", hide_env_values = true, value_name = "N")]
    seed: Option<u64>,

    /// Pattern set: a built-in one's name, or a TOML file
    #[arg(long, env = "FLIPSIDE_PATTERNS", hide_env_values = true, value_name = "SET")]
    patterns: Option<String>,

    /// Recorded games or scored positions to learn before the first game of self-play: GGF, WTHOR, f5d6, OBF or Egaroucid's
    /// training lines. The key `records` in a --config file has more to set
    #[arg(long, value_name = "FILE", num_args = 1..)]
    records: Vec<String>,

    /// Begin with these weights instead of from nothing
    #[arg(long, value_name = "FILE")]
    from: Option<EvaluatorChoice>,

    /// What to do with a run that is there already
    #[arg(long, value_enum, default_value_t = Resume::Auto)]
    resume: Resume,

    #[command(flatten)]
    budget: BudgetArguments,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: super::cluster::CoordinatorArguments,
}

/// When the run is finished. Time and games of earlier sessions of the run count too.
#[derive(Args, Debug)]
#[command(next_help_heading = "Budget (default: the preset's minutes; the first limit reached counts)")]
struct BudgetArguments {
    /// Minutes of work
    #[arg(long, value_name = "N", value_parser = positive)]
    minutes: Option<f64>,

    /// Hours of work
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "minutes")]
    hours: Option<f64>,

    /// Generations of self-play and learning
    #[arg(long, value_name = "N")]
    generations: Option<u32>,

    /// Games of self-play
    #[arg(long, value_name = "N")]
    games: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Preset {
    /// Two minutes, to see how it goes
    Quick,
    /// Two hours
    Evening,
    /// Ten hours
    Overnight,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Resume {
    /// Go on with it
    Auto,
    /// Refuse to touch it
    Never,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0".into()),
    }
}

impl TrainArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let (config, preset_minutes) = self.config()?;
        let budget = self.budget.resolve(preset_minutes);
        let from = self.from.as_ref().map(EvaluatorChoice::weight_file).transpose()?;
        let stop = stop_on_signals()?;
        outlive_terminal()?;
        let has_terminal = io::stdout().is_terminal();
        let mut progress = TrainProgress::new(session, budget);
        let resume = self.resume == Resume::Auto;
        #[cfg_attr(not(feature = "cluster"), expect(unused_mut, reason = "all games are played here"))]
        let mut request =
            TrainRequest { budget, resume, from: from.as_ref(), ..TrainRequest::new(&config, &self.run, &stop) };
        #[cfg(feature = "cluster")]
        let cluster = self.cluster.start(&self.run, progress.speaker())?;
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &cluster {
            request.games = cluster;
        }
        let outcome = train(&request, &mut |event| progress.show(event));
        progress.finish();
        #[cfg(feature = "cluster")]
        if let Some(cluster) = cluster
            && matches!(outcome, Ok(Outcome::Finished))
        {
            cluster.finish();
        }
        let shown = self.run.display();
        match outcome.map_err(|error| told(error, &self.run))? {
            // A terminal that was closed meanwhile is no terminal any more, and nobody is there to read.
            Outcome::Finished if has_terminal && !io::stdout().is_terminal() => Ok(()),
            Outcome::Finished => {
                writeln!(out, "{}", self.run.join("best.fsw").display())?;
                Ok(())
            }
            Outcome::Stopped => {
                Err(CliError::Stopped(format!("stopped; the same command goes on with the run in {shown}")))
            }
        }
    }

    /// Preset, file and flags, later ones winning; and the preset's minutes.
    fn config(&self) -> Result<(TrainConfig, f64), CliError> {
        let (name, text, minutes) = PRESETS[self.preset as usize];
        let mut layers = vec![text.parse().context(|| format!("the preset `{name}` is damaged"))?];
        if let Some(path) = &self.config {
            let text = read_text(path, "configuration", MAX_TOML_BYTES);
            let text = text.context(|| "cannot read the configuration".to_owned())?;
            layers.push(text.parse().context(|| format!("cannot use {}", path.display()))?);
        }
        let mut flags = toml::Table::new();
        if let Some(seed) = self.seed {
            let seed = i64::try_from(seed).map_err(|_| CliError::Usage(format!("--seed {seed} is above 2^63 - 1")))?;
            flags.insert("seed".into(), seed.into());
        }
        if let Some(patterns) = &self.patterns {
            flags.insert("patterns".into(), patterns.clone().into());
        }
        if !self.records.is_empty() {
            let files = toml::Table::from_iter([("files".to_owned(), self.records.clone().into())]);
            flags.insert("records".into(), files.into());
        }
        layers.push(flags);
        let config = TrainConfig::from_layers(&layers).context(|| "cannot use the configuration".to_owned())?;
        Ok((config, minutes))
    }
}

impl BudgetArguments {
    /// The limits given, or the preset's minutes where none was given.
    fn resolve(&self, preset_minutes: f64) -> Budget {
        let seconds = self.minutes.map(|minutes| 60.0 * minutes).or(self.hours.map(|hours| 3600.0 * hours));
        let budget = Budget { seconds, generations: self.generations, games: self.games };
        if budget == Budget::default() { Budget { seconds: Some(60.0 * preset_minutes), ..budget } } else { budget }
    }
}

/// What ended a run, and what to do about it.
fn told(error: TrainError, run: &Path) -> CliError {
    let hint = match &error {
        TrainError::OutOfPatience { .. } => {
            let shown = run.display();
            return CliError::Stopped(format!(
                "{error}; what was saved is whole, and the same command goes on with the run in {shown}"
            ));
        }
        TrainError::Exists(_) => Some("Name another directory with --run."),
        TrainError::OtherConfig { .. } => Some(
            "Name another directory with --run; or to go on with this run, give the options and the --config that it was begun with.",
        ),
        TrainError::Io { .. } => Some("What was saved is whole; mend the cause and give the same command again."),
        _ => None,
    };
    let failure = CliError::Failure { message: "training ended".into(), source: Some(error.into()), hint: None };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_stays_full_is_a_stop_and_not_a_failure() {
        let error = TrainError::OutOfPatience {
            path: "run/checkpoint".into(),
            error: io::ErrorKind::StorageFull.into(),
            minutes: 5,
        };
        let error = told(error, Path::new("run"));
        assert_eq!(error.exit_code(), 75);
        let report = error.report();
        assert!(report.contains("run/checkpoint") && report.contains("the same command"), "{report}");
    }
}
