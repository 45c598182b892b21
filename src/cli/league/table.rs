//! The results of a league.

use serde::Serialize;

use super::super::escape::on_one_line;
use super::{Recorder, Score};
use flipside::arena::{Estimate, PairPoints, Ratings};
use flipside::record::log::Settings;
use flipside::text::elo;

/// The number of the player whose rating is 0.
const ANCHOR: usize = 0;

/// The results of one league.
#[derive(Serialize)]
pub struct Table {
    /// The depth of players without one of their own.
    pub depth: u32,
    /// The player whose rating is 0.
    anchor: String,
    /// Whether finite ratings needed a correction.
    pub one_sided: bool,
    /// The highest rating first.
    players: Vec<PlayerRow>,
    /// All against all, each two once.
    pairings: Vec<PairingRow>,
}

#[derive(Serialize)]
struct PlayerRow {
    rank: usize,
    player: String,
    #[serde(flatten)]
    elo: Elo,
    /// The share of the points.
    score: Option<f64>,
    wins: u64,
    draws: u64,
    losses: u64,
    /// Mean disc difference a game.
    discs: Option<f64>,
    /// Games lost before they were played out.
    forfeits: u64,
    settings: Settings,
}

#[derive(Serialize)]
struct PairingRow {
    first: String,
    second: String,
    /// The probability that the first player is stronger than the second; none if no games connect them.
    superiority: Option<f64>,
    /// The difference of the ratings.
    #[serde(flatten)]
    elo: Elo,
    /// The first player's share of the points; this and what follows is from the games between these two alone.
    score: Option<f64>,
    wins: u64,
    draws: u64,
    losses: u64,
    discs: Option<f64>,
    /// Pairs in which the first player scored 0, 0.5, 1, 1.5 and 2 points.
    pentanomial: [u64; 5],
    forfeits: [u64; 2],
}

/// A rating or a difference of two, with the ends of its 95% interval.
#[derive(Serialize)]
struct Elo {
    elo: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Option<Estimate>> for Elo {
    fn from(estimate: Option<Estimate>) -> Self {
        let of = |end: fn(Estimate) -> f64| estimate.map(end);
        Self { elo: of(|e| e.value), low: of(|e| e.low), high: of(|e| e.high) }
    }
}

impl Table {
    /// The table of the players with these numbers.
    pub(super) fn new(depth: u32, numbers: &[usize], recorder: &Recorder<'_>) -> Self {
        let place = |number: usize| numbers.iter().position(|&other| other == number);
        let places = |players: [usize; 2]| Some([place(players[0])?, place(players[1])?]);
        let results: Vec<PairPoints> = recorder
            .results
            .iter()
            .filter_map(|result| Some(PairPoints { players: places(result.players)?, ..*result }))
            .collect();
        let count = numbers.len();
        let ratings = Ratings::fit(count, ANCHOR, &results);
        let mut ranking: Vec<_> = (0..count).collect();
        let value = |&i: &usize| ratings.elo(i).map_or(f64::NEG_INFINITY, |elo| elo.value);
        ranking.sort_by(|a, b| value(b).total_cmp(&value(a)));
        let typed = &recorder.typed;
        let mut players: Vec<_> = ranking
            .iter()
            .enumerate()
            .map(|(i, &place)| PlayerRow {
                rank: i + 1,
                player: typed[place].clone(),
                elo: ratings.elo(place).into(),
                score: None,
                wins: 0,
                draws: 0,
                losses: 0,
                discs: None,
                forfeits: 0,
                settings: recorder.roster.makers[numbers[place]].card.settings.clone(),
            })
            .collect();
        let mut pairings = Vec::new();
        for (i, &a) in ranking.iter().enumerate() {
            for (j, &b) in ranking.iter().enumerate().skip(i + 1) {
                let (pair, at) =
                    ([numbers[a], numbers[b]], |pair| recorder.roster.pairings.iter().position(|other| *other == pair));
                let score = match (at(pair), at([pair[1], pair[0]])) {
                    (Some(at), _) => recorder.scores[at].clone(),
                    (None, Some(at)) => recorder.scores[at].turned(),
                    (None, None) => Score::default(),
                };
                let row = PairingRow {
                    first: typed[a].clone(),
                    second: typed[b].clone(),
                    superiority: ratings.superiority(a, b),
                    elo: ratings.difference(a, b).into(),
                    ..PairingRow::of(&score)
                };
                row.count_for(&mut players, [i, j]);
                pairings.push(row);
            }
        }
        let (anchor, one_sided) = (typed[ANCHOR].clone(), ratings.one_sided());
        Self { depth, anchor, one_sided, players, pairings }
    }

    /// The best player but the anchor, whose rating is always 0, in a few words.
    pub fn best(&self) -> Option<String> {
        let PlayerRow { player, elo: of, .. } = self.players.iter().find(|row| row.player != self.anchor)?;
        Some(format!("depth {}: {} {}", self.depth, on_one_line(player), elo([of.elo?, of.low?, of.high?])))
    }
}

impl PairingRow {
    /// A row of games between two players.
    fn of(Score { tally, forfeits }: &Score) -> Self {
        let any = tally.pair_count() > 0;
        Self {
            first: String::new(),
            second: String::new(),
            superiority: None,
            elo: None.into(),
            score: any.then(|| tally.score()),
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            discs: any.then(|| tally.discs().value),
            pentanomial: tally.pairs,
            forfeits: *forfeits,
        }
    }

    /// Adds the games to those of the two players.
    fn count_for(&self, players: &mut [PlayerRow], [first, second]: [usize; 2]) {
        for (player, wins, losses, sign, forfeits) in [
            (first, self.wins, self.losses, 1.0, self.forfeits[0]),
            (second, self.losses, self.wins, -1.0, self.forfeits[1]),
        ] {
            let row = &mut players[player];
            let games = row.wins + row.draws + row.losses;
            let new = wins + self.draws + losses;
            if let Some(discs) = self.discs {
                let sum = row.discs.unwrap_or(0.0) * games as f64 + sign * discs * new as f64;
                row.discs = Some(sum / (games + new) as f64);
            }
            row.wins += wins;
            row.draws += self.draws;
            row.losses += losses;
            row.forfeits += forfeits;
            let all = row.wins + row.draws + row.losses;
            row.score = (all > 0).then(|| (row.wins as f64 + row.draws as f64 / 2.0) / all as f64);
        }
    }
}
