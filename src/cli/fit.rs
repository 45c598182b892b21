//! `flipside fit`.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{CliError, Context};
use super::evaluator::EvaluatorChoice;
use super::export::{EngineOutput, clipping};
use super::input::{AGAIN, CUT_OFF, name_of, refuse_own_files, with_continued};
use super::layers::read_config;
use super::meter::Meter;
use super::output::Output;
use super::session::Session;
use super::signals::stop_on_signals;
use flipside::export::Engine;
use flipside::fit::{
    self, Begun, ConfigFault, FitError, FitRequest, GameFiles, GameFilesEvent, LearnConfig, LearnEvent,
};
use flipside::pattern::PatternSet;
use flipside::schema::check;
use flipside::storage::{Disk, LocalDisk, folder_of};
use flipside::text::count;
use flipside::train::{BEST, StoredRun, set_named};

/// Learn weights from kept games and records, without playing
///
/// Learns any pattern set from the games that runs keep (RUN/games), recorded games and scored positions, so one night of games serves
/// every engine. Records may have any format that `convert` reads. The same games and options give the same bytes. Memory use grows only
/// with the held-out games and the largest file of records.
///
/// SIGINT or SIGTERM stops cleanly with exit code 75. The same command then resumes, with the games it began with; records are labelled
/// again first. The state is kept in OUTPUT.part (`flipside.part` for `-o -`) until the fit is done; remove it to start over.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside fit runs/latest -o fitted.fsw\n  \
    flipside fit runs/latest --for edax --epochs 2 -o eval.dat\n  \
    flipside fit runs/latest runs/edax --patterns edax --epochs 2 -o edax.fsw\n  \
    flipside fit runs/latest --teacher default --patterns edax -o edax.fsw\n  \
    flipside fit runs/latest --from edax.fsw --teacher default --leaf-depth 4 --patterns edax -o e.fsw\n  \
    flipside fit runs/latest data/ffo/fforum-1-19.obf -o both.fsw")]
pub struct FitArguments {
    /// Runs with kept games, to which belong those of the runs that they continue; files of kept games (.fsg), recorded games, scored
    /// positions
    #[arg(required = true, value_name = "RUN|FILE")]
    games: Vec<PathBuf>,

    /// The weight file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Write the file of an engine (for ntest, a folder of files): edax, egaroucid, ntest or zebra. Fits the engine's pattern set by
    /// cross entropy, with the best weights of the first run as the teacher; --teacher and `cross-entropy` in --config replace these
    #[arg(long = "for", value_name = "ENGINE", conflicts_with_all = ["patterns", "hidden_layer"])]
    engine: Option<Engine>,

    /// Pattern set: a built-in name, a TOML file, or a run [default: that of the first run named, or night]
    #[arg(long, value_name = "SET")]
    patterns: Option<String>,

    /// Passes over all games [default: 3]
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,

    /// Also learn from search trees (TreeStrap): these weights search one position of each game, and the values found for positions
    /// inside the tree are learned with the games. With --leaf-depth, their searches score the leaves
    #[arg(long, value_name = "FILE")]
    teacher: Option<EvaluatorChoice>,

    /// Learn the leaves of principal variations instead of the games: the --from weights search four positions of each kept game, and
    /// one other move at each, to N plies, and learn the teacher's values of the leaves. Meant as the last fit of weights without a
    /// hidden layer; `rate` is 0.3 unless --config has one
    #[arg(long, value_name = "N", requires = "teacher", requires = "from")]
    leaf_depth: Option<u32>,

    /// Also learn a small hidden layer: stronger, but for flipside alone
    #[arg(long)]
    hidden_layer: bool,

    /// Start from these weights instead of from scratch
    #[arg(long, value_name = "FILE")]
    from: Option<EvaluatorChoice>,

    /// TOML file with keys of a step's `learn`, such as `lambda = 0.7` or `stage-plies = 2` (`flipside config` explains all); options
    /// override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The default of `rate` with `--leaf-depth`: small, so that the weights keep what they know.
const LEAF_RATE: f32 = 0.3;

/// Keys for which a fit on its own has arguments and options.
const OF_RUNS: [&str; 4] = ["from", "generations", "files", "sha256"];

/// The default of `tree-depth` with `--teacher`.
const TREE_DEPTH: u32 = 4;

/// The default of `loss` with `--for`: sets without a hidden layer play better by it (docs/TRAINING.md).
const ENGINE_LOSS: f32 = 20.0;

/// Where the weights go.
enum Destination<'a> {
    Engine(EngineOutput<'a>),
    Weights(Output),
}

impl FitArguments {
    pub fn run(mut self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        self.complete();
        let from = self.from.as_ref().and_then(EvaluatorChoice::path);
        refuse_own_files(self.games.iter().map(PathBuf::as_path), true)?;
        let teacher = self.teacher.as_ref().and_then(EvaluatorChoice::path);
        let set = self.patterns.as_deref().filter(|set| PatternSet::built_in(set).is_none()).map(Path::new);
        let named = [from, teacher, self.config.as_deref(), set].into_iter().flatten();
        let inputs: Vec<_> = self.games.iter().map(PathBuf::as_path).chain(named).collect();
        let output = match self.engine {
            Some(engine) => Destination::Engine(EngineOutput::check(engine, &self.output, inputs, false)?),
            None => Destination::Weights(Output::check(&self.output, inputs)?),
        };
        let config = self.config()?;
        let patterns = self.pattern_set()?;
        let from = self.from.as_ref().map(EvaluatorChoice::weight_file).transpose()?;
        let teacher = self.teacher.as_ref().map(EvaluatorChoice::weight_file).transpose()?;
        let cannot = || "cannot fit";
        fit::check(&config, &patterns, from.as_ref(), teacher.as_ref()).map_err(|error| match error {
            FitError::Together(_) => CliError::Usage(format!("{}: {error}", cannot())),
            _ => CliError::because(cannot(), error),
        })?;
        let stop = stop_on_signals();
        let checkpoint = match &output {
            Destination::Engine(files) => files.unfinished(),
            Destination::Weights(file) => file.unfinished(),
        };
        let folder = folder_of(&checkpoint);
        let mut counted = Meter::new(session, 0, "games or records checked");
        let mut on_event = |event: GameFilesEvent<'_>| show_checked(&mut counted, event);
        let begun = Begun::load(&checkpoint).context(cannot)?.map(|(begun, _)| begun);
        let paths = with_continued(&self.games, session);
        let games = GameFiles::open(&paths, &config, folder, begun.as_ref(), &stop, &mut on_event);
        counted.finish();
        let games = games.map_err(|error| ended(error.into(), &checkpoint, true))?;
        let request = FitRequest {
            config: &config,
            patterns: &patterns,
            games: &games,
            from: from.as_ref(),
            teacher: teacher.as_ref(),
            checkpoint: &checkpoint,
            stop: &stop,
        };
        let all = games.positions * u64::from(config.epochs);
        let mut meter = Meter::new(session, all, "positions");
        let mut is_saved = true;
        let fitted = fit::fit(&request, &mut |event| {
            is_saved = !matches!(event, LearnEvent::NotSaved { .. });
            show(&mut meter, all, &event);
            Ok(())
        });
        meter.finish();
        let weights = fitted.map_err(|error| ended(error, &checkpoint, is_saved))?;
        let written = match &output {
            Destination::Engine(files) => files.write(&weights, &self.output.display().to_string(), session, out),
            Destination::Weights(file) => file.write_and_name(out, |writer| writer.write_all(&weights.to_bytes())),
        };
        let resumes = "What was saved on the way is kept: the same command resumes there.";
        written.map_err(|error| error.hint_if_any(checkpoint.exists().then_some(resumes)))?;
        LocalDisk.remove(&checkpoint).context(|| format!("cannot remove {}", checkpoint.display()))
    }

    /// Fills in what `--for` stands for.
    fn complete(&mut self) {
        let Some(engine) = self.engine else { return };
        self.patterns = Some(engine.to_string());
        let best = || self.games.iter().map(|run| run.join(BEST)).find(|best| best.is_file());
        self.teacher = self.teacher.take().or_else(|| best().map(EvaluatorChoice::File));
    }

    fn pattern_set(&self) -> Result<PatternSet, CliError> {
        let of_run = || self.games.iter().find_map(|run| StoredRun::read(run).ok().map(|run| run.set));
        match &self.patterns {
            Some(name) => set_named(name).context(|| "cannot use the pattern set"),
            None => Ok(of_run().unwrap_or_else(|| PatternSet::built_in("night").expect("it is built in"))),
        }
    }

    /// The configuration: options override the file, which overrides the defaults.
    fn config(&self) -> Result<LearnConfig, CliError> {
        let (mut config, mut has_steps, mut has_loss) = (LearnConfig::default(), false, false);
        if let Some(path) = &self.config {
            let text = read_config(path)?;
            let unusable = || format!("cannot use {}", path.display());
            let table = check(&text, LearnConfig::KEYS).context(unusable)?;
            if let Some(key) = OF_RUNS.iter().find(|key| table.contains_key(**key)) {
                let reason = "is for runs alone: `flipside fit` has arguments and options for it";
                return Err(CliError::because(unusable(), ConfigFault::new(*key, reason)));
            }
            has_steps = table.contains_key("rate");
            has_loss = table.contains_key("cross-entropy");
            config = table.try_into().context(unusable)?;
            config.check().context(unusable)?;
        }
        config.epochs = self.epochs.unwrap_or(config.epochs);
        if self.teacher.is_some() && config.tree_depth == 0 {
            config.tree_depth = TREE_DEPTH;
        }
        config.leaf_depth = self.leaf_depth.unwrap_or(config.leaf_depth);
        if config.leaf_depth > 0 && !has_steps {
            config.rate = LEAF_RATE;
        }
        if self.engine.is_some() && !has_loss {
            config.cross_entropy = Some(ENGINE_LOSS);
        }
        config.hidden_layer |= self.hidden_layer;
        // The file has been checked on its own.
        let unusable = |error: &dyn Display| CliError::Usage(format!("cannot use the options: {error}"));
        let text = toml::to_string(&config).expect("a configuration is a TOML table");
        check(&text, LearnConfig::KEYS).map_err(|error| unusable(&error.message()))?;
        config.check().map_err(|error| unusable(&error))?;
        Ok(config)
    }
}

/// The error of a fit that did not end.
fn ended(error: FitError, checkpoint: &Path, is_saved: bool) -> CliError {
    match error {
        FitError::Stopped(_) if is_saved => CliError::Stopped("stopped; the same command resumes it".into()),
        FitError::Stopped(_) => {
            CliError::Stopped("stopped; the same command starts over, or resumes from what was saved before".into())
        }
        FitError::OtherFit => CliError::because(format!("cannot fit with {}", checkpoint.display()), error),
        error => CliError::because("cannot fit", error),
    }
}

fn show_checked(meter: &mut Meter, event: GameFilesEvent<'_>) {
    match event {
        GameFilesEvent::Games(games) => meter.show(games, String::new),
        GameFilesEvent::BadRecord { path, error } => {
            meter.say(format_args!("left out: {}: {error}", path.display()));
        }
        GameFilesEvent::Records { path, read, .. } => meter.show(read, || path.display().to_string()),
        GameFilesEvent::Labelled { path, read, left_out } if left_out > 0 => {
            meter.say(format_args!("{}: {left_out} of {read} records left out", path.display()));
        }
        GameFilesEvent::Labelled { .. } => {}
        GameFilesEvent::LeftOut => {
            meter.say(format_args!("resuming an unfinished fit: games added since it began are left out"))
        }
        GameFilesEvent::Twins { path, of, count } => meter.say(format_args!(
            "{} has the same games as {}{}: they are used once. Runs play the same games unless each has its own --seed",
            path.display(),
            of.display(),
            match count {
                1 => String::new(),
                _ => format!(", and so on for {count} files"),
            }
        )),
        GameFilesEvent::CutOff(path) => meter.say(format_args!("{}: {CUT_OFF}", name_of(path))),
        GameFilesEvent::Again(path) => meter.say(format_args!("{} {AGAIN}", path.display())),
    }
}

fn show(meter: &mut Meter, all: u64, event: &LearnEvent<'_>) {
    match event {
        LearnEvent::Start { games, records, positions, weights, done } => {
            let before = if *done > 0.0 { format!(", {:.0}% done before", 100.0 * done) } else { String::new() };
            let records = if *records > 0 { format!(", {} records", count(*records)) } else { String::new() };
            let [games, positions, weights] = [*games, *positions, *weights as u64].map(count);
            meter.say(format_args!(
                "{games} games{records}, {positions} positions, {weights} weights per stage{before}"
            ));
            meter.skip_to((done * all as f64) as u64);
        }
        LearnEvent::Block { epoch, done, loss, positions, seconds } => {
            let rate = count((*positions as f64 / seconds) as u64);
            meter.show((done * all as f64) as u64, || format!("epoch {epoch}  loss {loss:.3}  {rate} positions/s"));
        }
        LearnEvent::Save(..) => {}
        LearnEvent::NotSaved { reason } => {
            meter.say(format_args!("cannot save the state for resuming at the moment: {reason}"))
        }
        LearnEvent::Epoch { epoch, loss, held_out, clipped } => {
            let errors = held_out.errors();
            let at = |empties: usize| Some(format!("{empties}: {:.2}", errors[empties]?));
            let some: Vec<_> = [10, 20, 30, 40, 50].into_iter().filter_map(at).collect();
            let by_empties =
                if some.is_empty() { String::new() } else { format!("  (by empties {})", some.join("  ")) };
            let held_out =
                held_out.rmse().map_or(String::new(), |error| format!(", on held-out games {error:.3}{by_empties}"));
            meter.say(format_args!("epoch {epoch}: loss {loss:.3}{held_out}"));
            if clipped.weights > 0 {
                let clipped = clipping(clipped, "the range of the pattern set's weights");
                let loss = if held_out.is_empty() { "the loss is" } else { "the loss on held-out games is not" };
                meter.say(format_args!("{clipped}; {loss} from before that"));
            }
        }
    }
}
