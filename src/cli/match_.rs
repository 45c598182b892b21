//! `flipside match`.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::error::{CliError, Context};
use super::external::ExternalArguments;
use super::input::STANDARD_STREAM;
use super::meter::Meter;
use super::openings::OpeningsArguments;
use super::player::{OwnPlayer, PlayerChoice, Shelf};
use super::results::FormatArgument;
use super::session::Session;
use super::signals::stop_on_signals;
use super::strength::StrengthArguments;
use flipside::arena::{Ending, Estimate, Forfeit, GameLog, Hypothesis, Match, MatchReport, PairEvent, Sprt, Tally};
use flipside::board::Transcript;
use flipside::record::log::{PlayerCard, Settings};
use flipside::search::Strength;
use flipside::text::{counted, elo};

/// Play a match between two players: pairs of games from the same opening, colours swapped
///
/// A player is a weight file, `default`, `squares` or `mobility` (flipside's own search with that evaluation), or another program as
/// `gtp:COMMAND` or `nboard:COMMAND`. Options follow a colon. Flipside's search takes depth, exact and selectivity, as in
/// `default:depth=8,selectivity=1.5`; a time or an approximate node count per move, as in `default:time=10ms` or `default:nodes=50000`;
/// and an opening book, as in `default:book=book.fsb,choice=varied,within=2` (choice: best, varied or surprising). NBoard engines take a
/// depth, as in `nboard:COMMAND:depth=8`.
///
/// Prints the first player's results, a name and its values per line. `pentanomial` counts the pairs in which it scored
/// 0, 0.5, 1, 1.5 and 2 points. Elo and mean discs per game come with the ends of their 95% intervals, the log-likelihood ratio of --sprt
/// with the bounds that end the test and the hypothesis that it accepted. Illegal moves, crashes and timeouts of other programs lose the
/// game and are reported.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside match runs/latest/best.fsw mobility --pairs 100\n  \
    flipside match default 'gtp:flipside gtp --depth 2' --depth 2 --pairs 2 --games games.jsonl")]
pub struct MatchArguments {
    /// The player whose results are shown
    first: PlayerChoice,

    /// The player to beat
    second: PlayerChoice,

    #[command(flatten)]
    strength: StrengthArguments,

    /// Pairs of games, at most one per different opening: repeating one would prove nothing new
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pairs: u32,

    #[command(flatten)]
    openings: OpeningsArguments,

    /// Stop once a sequential test (both error rates 5%) decides between an Elo difference of at most ELO0 and one of at least ELO1
    #[arg(long, value_name = "ELO0,ELO1", allow_hyphen_values = true, value_parser = parse_sprt)]
    sprt: Option<Sprt>,

    /// Keep finished games in this file, and continue after those it already holds; other matches may use it too (`convert` turns it into
    /// GGF or f5d6)
    #[arg(long, value_name = "FILE")]
    games: Option<PathBuf>,

    /// Print how many seconds each player thought per game, on average
    #[arg(long)]
    times: bool,

    #[command(flatten)]
    format: FormatArgument,

    #[command(flatten)]
    external: ExternalArguments,
}

fn parse_sprt(text: &str) -> Result<Sprt, String> {
    let numbers = text.split_once(',').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    let (low, high) = numbers.ok_or("expected two numbers, like 0,10")?;
    Sprt::new(low, high, 0.05, 0.05).map_err(|error| error.to_string())
}

impl MatchArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let players = &[self.first.clone(), self.second.clone()];
        let limits = self.external.limits(&PlayerChoice::programs(players))?;
        PlayerChoice::check_used(players, self.strength)?;
        let mut shelf = Shelf::default();
        let [first, second] = [&players[0], &players[1]].map(|player| player.load(self.strength, limits, &mut shelf));
        let (first, second) = (first?, second?);
        let (openings, settings) = self.openings.select(self.pairs, session)?;
        let cards = [&first, &second].map(|player| player.card.clone());
        let log = open_log(self.games.as_deref(), settings, &cards, session)?;
        let held: Vec<_> =
            log.iter().flat_map(|log| openings.iter().map(|opening| log.pair([0, 1], opening))).collect();
        let already = held.iter().take_while(|pair| pair.is_whole()).count();
        if already > 0 {
            let verb = if already == 1 { "has" } else { "have" };
            session.say(format_args!("{} {verb} already been played", counted(already as u64, "pair")));
        }
        let stop = stop_on_signals();
        let plan = Match { openings, sprt: self.sprt, held };
        let mut meter = Meter::new(session, plan.openings.len() as u64, "pairs");
        meter.skip_to(already as u64);
        let mut recorder = Recorder {
            meter,
            openings: &plan.openings,
            log,
            already,
            sprt: plan.sprt,
            so_far: MatchReport { tally: Tally::default(), llr: None, ending: Ending::Stopped },
            forfeits: Forfeits::default(),
            failure: None,
        };
        let report = plan.run(|| first.make(&stop), || second.make(&stop), &stop, |event| recorder.pair(&event));
        recorder.meter.finish();
        let Recorder { so_far, forfeits, failure, .. } = recorder;
        let has_log = self.games.is_some();
        let (report, end) = match (report.context(|| "the match cannot be played"), failure) {
            (_, Some(error)) if so_far.tally.pair_count() == 0 => (so_far, Err(error)),
            (_, Some(error)) => (so_far, Err(broken_off(error, "match", has_log))),
            (Ok(report), None) if report.ending == Ending::Stopped => (report, Err(stopped("match", has_log))),
            (Ok(report), None) => (report, Ok(())),
            (Err(error), None) if so_far.tally.pair_count() == 0 => return Err(error),
            (Err(error), None) => (so_far, Err(broken_off(error, "match", has_log))),
        };
        let seconds = self.times.then(|| [first.seconds_a_game(), second.seconds_a_game()]);
        let found = self.found(players, &report, forfeits, seconds);
        // How the match ended counts even if nobody reads its result.
        end.and(self.format.to(out).object(&found))
    }

    fn found(
        &self,
        players: &[PlayerChoice; 2],
        report: &MatchReport,
        forfeits: Forfeits,
        seconds: Option<[Option<f64>; 2]>,
    ) -> Found {
        let tally = &report.tally;
        let (openings, seed) = self.openings.described();
        let Strength { depth, exact_empties, .. } = self.strength.strength();
        Found {
            first: players[0].to_string(),
            second: players[1].to_string(),
            complete: report.ending != Ending::Stopped,
            depth: PlayerChoice::any_own(players, OwnPlayer::takes_depth).then_some(depth),
            exact_empties: PlayerChoice::any_own(players, OwnPlayer::takes_exact_empties).then_some(exact_empties),
            openings,
            seed,
            pairs: tally.pair_count(),
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            pentanomial: tally.pairs,
            score: tally.score(),
            elo: tally.elo(),
            discs: tally.discs(),
            superiority: tally.superiority(),
            sprt: self.sprt.zip(report.llr).map(|(sprt, llr)| SprtFound::of(&sprt, llr, report.ending)),
            forfeits: [0, 1].map(|player| forfeits.of(player)),
            seconds,
            reasons: forfeits.rows(),
        }
    }
}

/// The result of a match, for the first player.
#[derive(Serialize)]
struct Found {
    first: String,
    second: String,
    complete: bool,
    /// Of players without a depth, time or nodes of their own; none if there are no such players.
    depth: Option<u32>,
    exact_empties: Option<u32>,
    openings: String,
    seed: u64,
    pairs: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    pentanomial: [u64; 5],
    score: f64,
    elo: Estimate,
    discs: Estimate,
    superiority: f64,
    sprt: Option<SprtFound>,
    /// Games that either player lost before they were played out.
    forfeits: [u64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<[Option<f64>; 2]>,
    /// Why.
    reasons: Vec<ForfeitRow>,
}

#[derive(Serialize)]
struct SprtFound {
    /// `H0` or `H1`; none if the pairs did not decide.
    accepted: Option<&'static str>,
    /// What it says about the difference.
    difference: Option<String>,
    llr: f64,
    /// The ratios that end the test.
    bounds: [f64; 2],
    /// The hypotheses.
    elo: [f64; 2],
}

impl SprtFound {
    fn of(sprt: &Sprt, llr: f64, ending: Ending) -> Self {
        let ((elo0, elo1), (lower, upper)) = (sprt.hypotheses(), sprt.bounds());
        let accepted = match ending {
            Ending::Decided(Hypothesis::H0) => Some(("H0", format!("at most {elo0} Elo"))),
            Ending::Decided(Hypothesis::H1) => Some(("H1", format!("at least {elo1} Elo"))),
            _ => None,
        };
        let (accepted, difference) = accepted.unzip();
        Self { accepted, difference, llr, bounds: [lower, upper], elo: [elo0, elo1] }
    }
}

#[derive(Serialize)]
struct ForfeitRow {
    loser: &'static str,
    count: u64,
    reason: String,
}

/// Keeps and shows pairs as they are counted.
struct Recorder<'s> {
    meter: Meter,
    openings: &'s [Transcript],
    log: Option<GameLog>,
    /// Pairs that the log held at the beginning.
    already: usize,
    sprt: Option<Sprt>,
    /// The result if the match ends here.
    so_far: MatchReport,
    forfeits: Forfeits,
    failure: Option<CliError>,
}

impl Recorder<'_> {
    fn pair(&mut self, event: &PairEvent<'_>) -> ControlFlow<()> {
        let PairEvent { index, pair, tally, llr } = *event;
        let is_new = index >= self.already;
        let kept = self.log.as_mut().map_or(Ok(()), |log| log.add([0, 1], &self.openings[index], pair));
        if let Err(error) = kept.context(|| "cannot keep the games") {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        (self.so_far.tally, self.so_far.llr) = (*tally, llr);
        for (game, loser, forfeit) in pair.forfeits() {
            self.forfeits.add(loser, forfeit);
            if is_new {
                let (pair, game, loser) = (index + 1, game + 1, SEATS[loser]);
                self.meter
                    .say(format_args!("pair {pair}, game {game}: lost by the {loser} player: {}", forfeit.reason));
            }
        }
        self.meter.show(index as u64 + 1, || summary(event, self.sprt));
        ControlFlow::Continue(())
    }
}

const SEATS: [&str; 2] = ["first", "second"];

/// Games lost before they were played out, by loser and reason.
#[derive(Default)]
struct Forfeits(BTreeMap<(usize, String), u64>);

impl Forfeits {
    fn add(&mut self, loser: usize, forfeit: &Forfeit) {
        *self.0.entry((loser, forfeit.reason.clone())).or_default() += 1;
    }

    /// Games that a player lost.
    fn of(&self, player: usize) -> u64 {
        self.0.iter().filter(|((loser, _), _)| *loser == player).map(|(_, count)| count).sum()
    }

    fn rows(self) -> Vec<ForfeitRow> {
        let row = |((loser, reason), count): ((usize, String), u64)| ForfeitRow { loser: SEATS[loser], count, reason };
        self.0.into_iter().map(row).collect()
    }
}

fn summary(event: &PairEvent<'_>, sprt: Option<Sprt>) -> String {
    let Tally { wins, draws, losses, .. } = event.tally;
    let llr = sprt.zip(event.llr).map_or(String::new(), |(sprt, llr)| {
        let (lower, upper) = sprt.bounds();
        format!("  LLR {llr:.2} ({lower:.2}, {upper:.2})")
    });
    format!("+{wins} ={draws} -{losses}  Elo {}{llr}", elo(event.tally.elo().into()))
}

/// Opens the log of games, if one was asked for, and reports a cut-off end and players in it that do not take part.
///
/// # Errors
/// It is not a log, or one of other games.
pub fn open_log(
    path: Option<&Path>,
    settings: Settings,
    players: &[PlayerCard],
    session: &Session,
) -> Result<Option<GameLog>, CliError> {
    let Some(path) = path else { return Ok(None) };
    if path == Path::new(STANDARD_STREAM) {
        return Err(CliError::Usage("--games keeps the games in a file, and `-` is not one".into()));
    }
    let log = GameLog::open(path, settings, players);
    let log = log.context(|| "cannot keep the games")?;
    if log.dropped() > 0 {
        let (path, bytes) = (path.display(), log.dropped());
        session.say(format_args!("`{path}`: the last line was cut off; its {bytes} bytes are dropped"));
    }
    let others: Vec<_> = log.left_out().iter().map(|name| format!("`{name}`")).collect();
    if !others.is_empty() {
        session.say(format_args!("ignored in the log, since they do not take part: {}", others.join(", ")));
    }
    Ok(Some(log))
}

/// The error that ended a match or league, with what becomes of its games.
pub fn broken_off(error: CliError, what: &str, has_log: bool) -> CliError {
    error.hint(if has_log {
        format!("The games are kept: the same command resumes the {what}.")
    } else {
        format!("With --games FILE, a {what} can be resumed.")
    })
}

/// The error of a match or league stopped early; with a log it can be resumed.
pub fn stopped(what: &str, has_log: bool) -> CliError {
    if has_log {
        CliError::Stopped(format!("stopped; the same command resumes the {what}"))
    } else {
        CliError::failure("stopped before the end").hint(format!("With --games FILE, a {what} can be resumed."))
    }
}
