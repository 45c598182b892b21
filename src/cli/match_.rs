//! `flipside match`.

use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;

use super::error::{CliError, Context};
use super::meter::Meter;
use super::player::{PlayerChoice, ThinkingArguments};
use super::session::Session;
use super::signals::stop_on_signals;
use crate::arena::{
    Ending, Estimate, GameLog, GameLogError, HeldPair, Hypothesis, Match, MatchReport, Pair, PairEvent, Sprt, Tally,
    parse_openings, select_openings, xot_openings,
};
use crate::board::{Side, Transcript};
use crate::protocol::Limits;
use crate::storage::read_text;

/// Most bytes of a file of openings.
const MAX_OPENINGS_BYTES: u64 = 1 << 26;

/// Play two players against each other: pairs of games from equal openings, colours swapped
///
/// A player is a weight file, `default`, `squares` or `mobility` (our own search with that evaluation), or another program as
/// `gtp:COMMAND` or `nboard:COMMAND`. Our own search may have a depth, exact and selectivity of its own, as in
/// `default:depth=8,selectivity=1.5`. Prints the first player's results, a name and values a line, separated by tabs: Elo and
/// mean discs a game come with the ends of their 95% intervals. Illegal moves, crashes and time-outs of other programs lose the
/// game and are told on standard error.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  flipside match runs/latest/best.fsw mobility --pairs 500\n  \
    flipside match default 'gtp:edax -gtp -l 5' --pairs 100 --games games.ggf")]
pub struct MatchArguments {
    /// The player whose results are shown
    first: PlayerChoice,

    /// The player to beat
    second: PlayerChoice,

    #[command(flatten)]
    thinking: ThinkingArguments,

    /// Pairs of games, as far as there are different openings: one that is played again proves nothing twice
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pairs: u32,

    /// Openings, one f5d6 game a line [default: the 10,784 XOT openings]
    #[arg(long, value_name = "FILE")]
    openings: Option<PathBuf>,

    /// Seed of the choice of openings
    #[arg(long, env = "FLIPSIDE_SEED", hide_env_values = true, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// End as soon as a sequential test (both errors 5%) tells an Elo difference of at most ELO0 from one of at least ELO1
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true)]
    sprt: Option<SprtArgument>,

    /// Keep the games in this file as they finish (GGF if it ends in .ggf, else f5d6), and go on after those it holds
    #[arg(long, value_name = "FILE")]
    games: Option<PathBuf>,

    /// Plies that NBoard engines are asked to look ahead (`set depth`) [default: their own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60))]
    nboard_depth: Option<u32>,

    /// Tell the seconds that either player thought in a game, in the mean
    #[arg(long)]
    times: bool,

    /// Seconds another program may take for a move
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    move_time: u64,
}

#[derive(Clone, Copy, Debug)]
struct SprtArgument(Sprt);

impl FromStr for SprtArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once(',').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
        let (low, high) = numbers.ok_or("expected two numbers, like 0,10")?;
        Sprt::new(low, high, 0.05, 0.05).map(Self).map_err(|error| error.to_string())
    }
}

impl MatchArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        if self.nboard_depth.is_some() && !self.first.speaks_nboard() && !self.second.speaks_nboard() {
            let message = "--nboard-depth is for players of the form nboard:COMMAND, and there is none";
            return Err(CliError::Usage(message.to_owned()));
        }
        let (per_move, depth) = (Duration::from_secs(self.move_time), self.nboard_depth);
        let limits = Limits { per_move, depth, ..Limits::default() };
        let first = self.first.load(self.thinking, limits)?;
        let second = self.second.load(self.thinking, limits)?;
        let openings = self.openings(session)?;
        let (log, played) = self.log(&openings)?;
        if !played.is_empty() {
            session.say(format_args!("{} pairs are there already", played.len()));
        }
        let stop = stop_on_signals()?;
        let mut recorder = Recorder {
            meter: Meter::new(session, openings.len() as u64, "pairs"),
            log,
            already: played.len(),
            stop: &stop,
            failure: None,
        };
        let held = played.into_iter().map(|pair| HeldPair { games: pair.games.map(Some) }).collect();
        let plan = Match { openings, sprt: self.sprt.map(|argument| argument.0), held };
        let report = plan.run(|| first.make(&stop), || second.make(&stop), &stop, |event| recorder.pair(&event));
        recorder.meter.finish();
        if let Some(error) = recorder.failure {
            return Err(error).context(|| "cannot keep the games".to_owned());
        }
        let report = report.context(|| "the match cannot be played".to_owned())?;
        self.write_report(&report, out)?;
        if self.times {
            writeln!(out, "seconds\t{:.3}\t{:.3}", first.seconds_a_game(), second.seconds_a_game())?;
        }
        self.ending(&report)
    }

    fn openings(&self, session: &Session) -> Result<Vec<Transcript>, CliError> {
        let all = match &self.openings {
            None => xot_openings(),
            Some(path) => {
                let text = read_text(path, "list of openings", MAX_OPENINGS_BYTES);
                let text = text.context(|| "cannot read the openings".to_owned())?;
                parse_openings(&text).context(|| format!("cannot read openings from `{}`", path.display()))?
            }
        };
        let openings = select_openings(&all, self.pairs as usize, self.seed);
        let (found, wanted) = (openings.len(), self.pairs);
        if found < wanted as usize {
            session.say(format_args!("{found} pairs instead of {wanted}: there are only so many different openings"));
        }
        Ok(openings)
    }

    fn log(&self, openings: &[Transcript]) -> Result<(Option<GameLog>, Vec<Pair>), CliError> {
        let Some(path) = &self.games else { return Ok((None, Vec::new())) };
        let names = [self.first.to_string(), self.second.to_string()];
        let opened =
            GameLog::open(path, [&names[0], &names[1]], openings).context(|| "cannot keep the games".to_owned());
        opened.map(|(log, played)| (Some(log), played))
    }

    fn write_report(&self, report: &MatchReport, out: &mut dyn Write) -> Result<(), CliError> {
        let tally = &report.tally;
        writeln!(out, "first\t{}\nsecond\t{}", self.first, self.second)?;
        writeln!(out, "pairs\t{}", tally.pair_count())?;
        writeln!(out, "wins\t{}\ndraws\t{}\nlosses\t{}", tally.wins, tally.draws, tally.losses)?;
        writeln!(out, "score\t{:.2}%", 100.0 * tally.score())?;
        let Estimate { value, low, high } = tally.elo();
        writeln!(out, "elo\t{value:+.1}\t{low:+.1}\t{high:+.1}")?;
        let (discs, error) = tally.discs();
        writeln!(out, "discs\t{discs:+.2}\t{:+.2}\t{:+.2}", discs - Z95 * error, discs + Z95 * error)?;
        writeln!(out, "superiority\t{:.1}%", 100.0 * tally.los())?;
        if let (Some(SprtArgument(sprt)), Some(llr)) = (self.sprt, report.llr) {
            let (low, high) = sprt.hypotheses();
            let decision = match report.ending {
                Ending::Decided(Hypothesis::H0) => format!("at most {low:+}"),
                Ending::Decided(Hypothesis::H1) => format!("at least {high:+}"),
                _ => "undecided".to_owned(),
            };
            writeln!(out, "sprt\t{decision}\t{llr:.2}")?;
        }
        Ok(())
    }

    fn ending(&self, report: &MatchReport) -> Result<(), CliError> {
        match (report.ending, &self.games) {
            (Ending::Stopped, Some(_)) => {
                Err(CliError::Stopped("stopped; the same command goes on with the match".into()))
            }
            (Ending::Stopped, None) => {
                Err(CliError::failure("stopped before the end").hint("With --games FILE a match can go on."))
            }
            _ => Ok(()),
        }
    }
}

/// Half of a 95% interval in standard errors.
const Z95: f64 = 1.96;

/// Keeps and shows pairs as they are counted.
struct Recorder<'s> {
    meter: Meter,
    log: Option<GameLog>,
    /// Pairs that the log held at the beginning.
    already: usize,
    stop: &'s AtomicBool,
    failure: Option<GameLogError>,
}

impl Recorder<'_> {
    fn pair(&mut self, event: &PairEvent<'_>) {
        if event.index >= self.already {
            if let Some(Err(error)) = self.log.as_mut().map(|log| log.add(event.pair)) {
                self.failure.get_or_insert(error);
                self.stop.store(true, Relaxed);
            }
            for (game, forfeit) in
                event.pair.games.iter().enumerate().filter_map(|(i, game)| Some((i, game.forfeit.as_ref()?)))
            {
                let loser = if (forfeit.side == Side::Black) == (game == 0) { "first" } else { "second" };
                let (pair, game) = (event.index + 1, game + 1);
                self.meter
                    .say(format_args!("pair {pair}, game {game}: lost by the {loser} player: {}", forfeit.reason));
            }
        }
        self.meter.show(event.index as u64 + 1, || summary(event.tally));
    }
}

fn summary(tally: &Tally) -> String {
    let Estimate { value, low, high } = tally.elo();
    let Tally { wins, draws, losses, .. } = tally;
    format!("+{wins} ={draws} -{losses}  Elo {value:+.0} [{low:+.0}, {high:+.0}]")
}
