//! `flipside league`.

mod table;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::error::{CliError, Context};
use super::external::ExternalArguments;
use super::match_::{broken_off, open_log, stopped};
use super::meter::Meter;
use super::openings::OpeningsArguments;
use super::player::{PlayerChoice, PlayerMaker, Shelf};
use super::results::FormatArgument;
use super::session::Session;
use super::signals::stop_on_signals;
use super::strength::{DEFAULT_STRENGTH, SelectivityArgument, StrengthArguments};
use flipside::arena::{GameLog, GameLogError, League, LeagueEvent, Pair, PairPoints, Tally, gauntlet, round_robin};
use flipside::board::Transcript;
use flipside::search::Strength;
use table::Table;

/// Rate players in a round robin: pairs of games from the same opening, colours swapped
///
/// Players are given as in `match`. One Bradley-Terry fit over all games gives each player an Elo rating relative to the anchor, with a
/// 95% interval that allows for the dependence of games from the same opening. Prints two tables for each depth: the players, the highest
/// rating first, and every two of them with the probability that the first is the stronger one (superiority) and the difference of their
/// ratings; scores and discs there are from the games between these two alone.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside league default mobility squares --depth 1,4 --pairs 20\n  \
    flipside league runs/latest/best.fsw default --depth 2 --pairs 20 --games league.jsonl")]
pub struct LeagueArguments {
    /// The players; the first one's rating is 0
    #[arg(required = true, num_args = 2.., value_name = "PLAYER")]
    players: Vec<PlayerChoice>,

    /// Play only the first player against all others
    #[arg(long)]
    gauntlet: bool,

    /// Plies to look ahead; several, like 1,4,6, make a league each
    #[arg(short, long, value_name = "N,...", value_delimiter = ',', default_values_t = [DEFAULT_STRENGTH.depth])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(Strength::MAX_DEPTH)))]
    depth: Vec<u32>,

    /// Solve positions with at most N empty squares
    #[arg(long, alias = "exact", default_value_t = DEFAULT_STRENGTH.exact_empties, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(Strength::MAX_EXACT_EMPTIES)))]
    exact_empties: u32,

    #[command(flatten)]
    selective: SelectivityArgument,

    /// Pairs of games between every two players, at most one per different opening
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pairs: u32,

    #[command(flatten)]
    openings: OpeningsArguments,

    /// Keep finished games in this file, and continue after those it already holds; players, depths and pairs can be added later
    #[arg(long, value_name = "FILE")]
    games: Option<PathBuf>,

    #[command(flatten)]
    external: ExternalArguments,

    #[command(flatten)]
    format: FormatArgument,
}

/// Who plays, in which leagues.
struct Roster {
    /// The distinct players of all leagues.
    makers: Vec<PlayerMaker>,
    /// A league for each depth: the numbers of its players, in the order typed.
    leagues: Vec<(u32, Vec<usize>)>,
    /// Who meets, each pairing once even if it belongs to several leagues.
    pairings: Vec<[usize; 2]>,
}

impl LeagueArguments {
    /// Runs the command.
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let roster = self.roster()?;
        let (openings, settings) = self.openings.select(self.pairs, session)?;
        let cards: Vec<_> = roster.makers.iter().map(|maker| maker.card.clone()).collect();
        let log = open_log(self.games.as_deref(), settings, &cards, session)?;
        let mut league = League { openings, pairings: roster.pairings.clone(), ..League::default() };
        if let Some(log) = &log {
            hold(&mut league, log, session);
        }
        let stop = stop_on_signals();
        let mut recorder = Recorder::new(&self, &roster, &league, log, session);
        let player = |number: usize| roster.makers[number].make(&stop);
        let played = league.run(player, &stop, |event| recorder.pair(&event));
        recorder.meter.finish();
        let complete = recorder.done == league.pair_count();
        let has_log = self.games.is_some();
        let played = played.context(|| "the league cannot be played");
        let cannot_keep = |error| CliError::because("cannot keep the games", error);
        let end = match (played, recorder.failure.take()) {
            (_, Some(error)) if recorder.done == 0 => Err(cannot_keep(error)),
            (_, Some(error)) => Err(broken_off(cannot_keep(error), "league", has_log)),
            (Err(error), _) if recorder.done == 0 => return Err(error),
            (Err(error), _) => Err(broken_off(error, "league", has_log)),
            (Ok(()), None) if complete => Ok(()),
            (Ok(()), None) => Err(stopped("league", has_log)),
        };
        let tables = recorder.tables();
        for table in tables.iter().filter(|table| table.one_sided) {
            let depth = table.depth;
            session.say(format_args!(
                "depth {depth}: some players won every game against others; the losers get half a point, to keep ratings finite"
            ));
        }
        // How the league ended counts even if nobody reads its tables.
        end.and(self.format.to(out).object(&Report { complete, leagues: &tables }))
    }

    fn strength(&self, depth: u32) -> StrengthArguments {
        StrengthArguments::new(depth, self.selective, self.exact_empties)
    }

    fn roster(&self) -> Result<Roster, CliError> {
        let limits = self.external.limits(&PlayerChoice::programs(&self.players))?;
        let mut shelf = Shelf::default();
        let mut depths = self.depth.clone();
        depths.sort_unstable();
        depths.dedup();
        for &depth in &depths {
            PlayerChoice::check_used(&self.players, self.strength(depth))?;
        }
        let mut roster = Roster { makers: Vec::new(), leagues: Vec::new(), pairings: Vec::new() };
        for depth in depths {
            let mut numbers: Vec<usize> = Vec::with_capacity(self.players.len());
            for (i, player) in self.players.iter().enumerate() {
                let mut maker = player.load(self.strength(depth), limits, &mut shelf)?;
                maker.card.name = player.name_at(depth);
                let number = roster.number_of(maker);
                if let Some(twin) = numbers.iter().position(|&other| other == number) {
                    let (twin, player) = (&self.players[twin], &self.players[i]);
                    return Err(CliError::Usage(format!(
                        "`{twin}` and `{player}` are the same player at depth {depth}"
                    )));
                }
                numbers.push(number);
            }
            let meetings = if self.gauntlet { gauntlet(numbers.len()) } else { round_robin(numbers.len()) };
            for pairing in meetings.into_iter().map(|pairing| pairing.map(|i| numbers[i])) {
                if !roster.pairings.contains(&pairing) {
                    roster.pairings.push(pairing);
                }
            }
            roster.leagues.push((depth, numbers));
        }
        Ok(roster)
    }
}

impl Roster {
    /// The number of an equal player, or of this one after adding it.
    fn number_of(&mut self, maker: PlayerMaker) -> usize {
        let known = self.makers.iter().position(|known| known.card.settings == maker.card.settings);
        known.unwrap_or_else(|| {
            self.makers.push(maker);
            self.makers.len() - 1
        })
    }
}

/// Takes over the league's games from the log.
fn hold(league: &mut League, log: &GameLog, session: &Session) {
    let mut whole = 0;
    for index in 0..league.pair_count() {
        let (players, opening) = league.pair_at(index);
        let held = log.pair(players, &league.openings[opening]);
        whole += usize::from(held.is_whole());
        if held.games.iter().any(Option::is_some) {
            league.held.insert(index, held);
        }
    }
    if whole > 0 {
        session.say(format_args!("{whole} of {} pairs have already been played", league.pair_count()));
    }
}

/// How often the summary is updated.
const SUMMARY_EVERY: Duration = Duration::from_secs(1);

/// The score of a pairing.
#[derive(Clone, Default)]
struct Score {
    tally: Tally,
    /// Games that each player lost before they were played out.
    forfeits: [u64; 2],
}

impl Score {
    /// The same for the second player.
    fn turned(&self) -> Self {
        let [first, second] = self.forfeits;
        Self { tally: self.tally.turned(), forfeits: [second, first] }
    }
}

/// Keeps and shows pairs as they are counted.
struct Recorder<'a> {
    meter: Meter,
    roster: &'a Roster,
    openings: &'a [Transcript],
    typed: Vec<String>,
    log: Option<GameLog>,
    /// By pairing.
    scores: Vec<Score>,
    results: Vec<PairPoints>,
    done: usize,
    held: Vec<bool>,
    summary: (Option<Instant>, String),
    failure: Option<GameLogError>,
}

impl<'a> Recorder<'a> {
    fn new(
        arguments: &LeagueArguments,
        roster: &'a Roster,
        league: &'a League,
        log: Option<GameLog>,
        session: &Session,
    ) -> Self {
        let mut held = vec![false; league.pair_count()];
        league.held.iter().for_each(|(&index, pair)| held[index] = pair.is_whole());
        let mut meter = Meter::new(session, league.pair_count() as u64, "pairs");
        meter.skip_to(held.iter().take_while(|held| **held).count() as u64);
        Self {
            meter,
            roster,
            openings: &league.openings,
            typed: arguments.players.iter().map(ToString::to_string).collect(),
            log,
            scores: vec![Score::default(); league.pairings.len()],
            results: Vec::with_capacity(league.pair_count()),
            done: 0,
            held,
            summary: (None, String::new()),
            failure: None,
        }
    }

    fn pair(&mut self, event: &LeagueEvent<'_>) -> ControlFlow<()> {
        let LeagueEvent { index, players, opening, pair } = *event;
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.add(players, &self.openings[opening], pair)) {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        self.count(index, players, opening, pair);
        self.done = index + 1;
        if self.summary.0.is_none_or(|made| made.elapsed() >= SUMMARY_EVERY) {
            let last = self.roster.leagues.last();
            let best = last.and_then(|(depth, numbers)| Table::new(*depth, numbers, self).best());
            self.summary = (Some(Instant::now()), best.unwrap_or_default());
        }
        self.meter.show(self.done as u64, || self.summary.1.clone());
        ControlFlow::Continue(())
    }

    fn count(&mut self, index: usize, players: [usize; 2], opening: usize, pair: &Pair) {
        let score = &mut self.scores[index % self.roster.pairings.len()];
        score.tally.add(pair.discs());
        let half_points = pair.discs().map(|discs| (discs.signum() + 1) as u32).into_iter().sum();
        self.results.push(PairPoints { players, opening, half_points });
        for (_, loser, forfeit) in pair.forfeits() {
            score.forfeits[loser] += 1;
            if !self.held[index] {
                let name = &self.roster.makers[players[loser]].card.name;
                self.meter.say(format_args!("lost by `{name}`: {}", forfeit.reason));
            }
        }
    }

    /// The table of each league.
    fn tables(&self) -> Vec<Table> {
        let tables = self.roster.leagues.iter();
        tables.map(|(depth, numbers)| Table::new(*depth, numbers, self)).collect()
    }
}

/// The whole result.
#[derive(Serialize)]
struct Report<'a> {
    /// Whether all games were played.
    complete: bool,
    leagues: &'a [Table],
}
