//! Positions of kept games for other trainers: a part of `flipside convert`.

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::Args;

use super::error::{CliError, Context};
use super::input::{CUT_OFF, STANDARD_STREAM, each_once, name_of, refuse_own_files, with_continued};
use super::meter::Meter;
use super::output::Output;
use super::session::Session;
use flipside::fit::LearnConfig;
use flipside::games::{BadGames, KeptGames, Part, has_games_name, is_games_file};
use flipside::label::{Chosen, Order, PositionFormat, Positions, Target, write_positions};
use flipside::storage::{check_lasting, read_start};
use flipside::text::{count, counted};
use flipside::threads::lock;

/// How positions of kept games are converted.
#[derive(Args, Debug)]
#[command(next_help_heading = "Positions of kept games")]
pub struct LabelledArguments {
    /// What the label is: `lambda` (the lambda-return, which `fit` learns), `search` or `result` [default: lambda]
    #[arg(long, value_name = "LABEL", value_parser = ["lambda", "search", "result"])]
    label: Option<String>,

    /// How far a label trusts the result of the game (1) rather than the search (0) [default: 0.9]
    #[arg(long, value_name = "L")]
    lambda: Option<f32>,

    /// Draw N positions at random [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,

    /// Leave out positions with fewer than A or more than B empty squares; they are counted first, which reads the games twice
    #[arg(long, value_name = "A-B", value_parser = parse_empties)]
    empties: Option<RangeInclusive<u32>>,

    /// Put the positions in a random order
    #[arg(long)]
    shuffle: bool,

    /// Seed of the order and the sample [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Positions in a file. If there are more, the files are NAME-00000.npz, NAME-00001.npz and so on [default: 4194304 in an npz, which is
    /// made in memory; else all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    shard_size: Option<u64>,
}

/// The default of `--shard-size` for an npz, and the most.
const NPZ_POSITIONS: [u64; 2] = [1 << 22, 1 << 23];

/// The most files: as many as may be kept from other commands at a time.
const MOST_FILES: u64 = 900;

/// Positions between two looks at the progress.
const SHOWN_EVERY: u64 = 1 << 16;

/// A number of empties or a range of them, as typed.
fn parse_empties(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let range = low.parse().ok().zip(high.parse().ok()).map(|(low, high)| low..=high);
    let range = range.filter(|range| !range.is_empty() && *range.end() <= 60);
    range.ok_or_else(|| "expected numbers of empty squares from 0 to 60, such as 10-50".to_owned())
}

impl LabelledArguments {
    /// An option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let Self { label, lambda, sample, empties, shuffle, seed, shard_size } = self;
        let options = [
            (label.is_some(), "--label"),
            (lambda.is_some(), "--lambda"),
            (sample.is_some(), "--sample"),
            (empties.is_some(), "--empties"),
            (*shuffle, "--shuffle"),
            (seed.is_some(), "--seed"),
            (shard_size.is_some(), "--shard-size"),
        ];
        options.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }

    /// Converts the games of runs and files.
    pub fn run(
        self,
        paths: &[PathBuf],
        format: PositionFormat,
        output: &Path,
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let target = self.target()?;
        if self.seed.is_some() && !self.shuffle && self.sample.is_none() {
            return Err(CliError::Usage("--seed is for --shuffle and --sample".into()));
        }
        let size = self.positions_in_a_file(format)?;
        let inputs = || paths.iter().map(PathBuf::as_path);
        let only = Output::check(output, inputs())?;
        let games = open(paths, session)?;
        let files: Vec<_> = games.lengths().into_iter().map(|(path, _)| path).collect();
        let inputs = || inputs().chain(files.iter().map(PathBuf::as_path));
        let seed = self.seed.unwrap_or(1);
        let positions = Positions::new(
            Arc::new(games),
            target,
            Order { shuffle: self.shuffle.then_some(seed), ..Order::default() },
        );

        let empties = self.empties.unwrap_or(0..=60);
        let mut meter = Meter::new(session, positions.len(), "positions counted");
        let tell = |read| meter.show(read, String::new);
        let chosen = Chosen::new(&positions, empties.clone(), self.sample, seed, tell);
        meter.finish();
        let mut chosen = chosen.map_err(unreadable)?;
        let all = chosen.left();
        if all == 0 {
            let (low, high) = (empties.start(), empties.end());
            return Err(CliError::failure(format!("the games have no labelled position with {low} to {high} empties")));
        }

        let mut meter = Meter::new(session, all, "positions");
        let mut written = 0;
        let mut write = |number: usize, out: &mut dyn Write| {
            let count = size.min(all - number as u64 * size);
            let positions = chosen.by_ref().take(count as usize).map(|position| {
                written += 1;
                if written % SHOWN_EVERY == 0 {
                    meter.show(written, String::new);
                }
                position.map_err(unreadable)
            });
            write_positions(format, positions, count, out)
        };
        let done = match all.div_ceil(size) {
            1 => {
                drop(only);
                Output::check(output, inputs())?.write_and_name(out, |out| write(0, out))
            }
            shards if shards > MOST_FILES || !only.is_replaced() => Err(CliError::Usage(format!(
                "{} of {} are {shards} files: {}",
                counted(all, "position"),
                count(size),
                if only.is_replaced() { "choose a larger --shard-size" } else { "name a file with -o" }
            ))),
            shards => {
                let shards = numbered(output, shards, inputs)?;
                Output::write_together(out, &shards, write)
            }
        };
        meter.finish();
        done?;
        session.say(format_args!("{} of {} to {format}", counted(all, "position"), count(positions.len())));
        Ok(())
    }

    fn target(&self) -> Result<Target, CliError> {
        let label = self.label.as_deref().unwrap_or("lambda");
        if self.lambda.is_some() && label != "lambda" {
            return Err(CliError::Usage("--lambda is for --label lambda".into()));
        }
        let target = Target::named(label, self.lambda.unwrap_or(LearnConfig::default().lambda));
        target.ok_or_else(|| CliError::Usage("--lambda is a number from 0 to 1".into()))
    }

    fn positions_in_a_file(&self, format: PositionFormat) -> Result<u64, CliError> {
        let [default, most] = if format == PositionFormat::Npz { NPZ_POSITIONS } else { [u64::MAX; 2] };
        match self.shard_size.unwrap_or(default) {
            size if size > most => Err(CliError::Usage(format!(
                "an npz is made in memory: --shard-size is at most {most}; an npy may be of any size"
            ))),
            size => Ok(size),
        }
    }
}

fn unreadable(error: BadGames) -> CliError {
    CliError::because("cannot convert the games", error)
}

/// Whether a path is a run or a file of kept games. Errors are reported when it is read.
pub fn holds_kept_games(path: &Path) -> bool {
    path.is_dir() || path.is_file() && (has_games_name(path) || is_games_file(&read_start(path).unwrap_or_default()))
}

/// The games, all of them checked.
fn open(paths: &[PathBuf], session: &Session) -> Result<KeptGames, CliError> {
    if paths.iter().any(|path| path == Path::new(STANDARD_STREAM)) {
        return Err(CliError::Usage("positions of kept games are read from files, not from standard input".into()));
    }
    refuse_own_files(paths.iter().map(PathBuf::as_path), true)?;
    paths.iter().try_for_each(|path| check_lasting(path)).context(|| "cannot convert the games")?;
    if let Some(path) = paths.iter().find(|path| path.is_file() && !holds_kept_games(path)) {
        let message = format!("`{}` is not a file of kept games", path.display());
        return Err(
            CliError::failure(message).hint("Labels are in the games that runs keep (RUN/games), not in records.")
        );
    }
    let paths: Vec<_> = each_once(paths, session).into_iter().map(Path::to_owned).collect();
    let paths = with_continued(&paths, session);
    let meter = Mutex::new(Meter::new(session, 0, "games checked"));
    let tell = |checked| {
        lock(&meter).show(checked, String::new);
        false
    };
    let games = KeptGames::open(&paths, Part::All, &tell).map_err(unreadable);
    lock(&meter).finish();
    let games = games?;
    let games = games.expect("nothing stops it");
    games.cut_off().for_each(|path| session.say(format_args!("{}: {CUT_OFF}", name_of(path))));
    Ok(games)
}

/// The outputs `NAME-00000.EXTENSION` and so on.
fn numbered<'p, I: Iterator<Item = &'p Path>>(
    output: &Path,
    shards: u64,
    inputs: impl Fn() -> I,
) -> Result<Vec<Output>, CliError> {
    let path = |number: u64| {
        let mut name = output.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number:05}"));
        let path = output.with_file_name(name);
        output.extension().map(|extension| path.with_added_extension(extension)).unwrap_or(path)
    };
    let next = path(shards);
    if next.exists() {
        let message = format!("`{}` is there, but only {shards} files will be written", next.display());
        return Err(CliError::failure(message)
            .hint("Remove the files of the earlier conversion first: they would be taken together."));
    }
    (0..shards).map(|number| Output::check(&path(number), inputs())).collect()
}
