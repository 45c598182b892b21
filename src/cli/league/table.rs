//! The results of a league.

use std::io::{self, Write};

use serde::Serialize;

use super::super::escape::on_one_line;
use super::{Recorder, Score};
use crate::arena::{Estimate, PairPoints, Ratings};
use crate::record::log::Settings;
use crate::text::{elo, or_dash};

/// The results of one league.
#[derive(Serialize)]
pub struct Table {
    /// The depth of players without one of their own.
    pub depth: u32,
    /// The number of the player whose rating is 0.
    anchor: usize,
    /// Whether finite ratings needed a correction.
    pub one_sided: bool,
    /// In the order typed.
    players: Vec<PlayerRow>,
    pairings: Vec<PairingRow>,
    /// The probability that the player of the row is stronger than that of the column; none if no games connect them.
    superiority: Vec<Vec<Option<f64>>>,
    /// The players' numbers, the highest rating first.
    ranking: Vec<usize>,
}

#[derive(Serialize)]
struct PlayerRow {
    name: String,
    settings: Settings,
    elo: Option<Estimate>,
    wins: u64,
    draws: u64,
    losses: u64,
    /// Mean disc difference a game.
    discs: Option<f64>,
    /// Games lost before they were played out.
    forfeits: u64,
}

#[derive(Serialize)]
struct PairingRow {
    players: [usize; 2],
    /// Pairs in which the first player scored 0, 0.5, 1, 1.5 and 2 points.
    pairs: [u64; 5],
    wins: u64,
    draws: u64,
    losses: u64,
    /// The first player's share of the points.
    score: Option<f64>,
    /// The first player's, from these games alone.
    discs: Option<f64>,
    /// The difference of the ratings.
    elo: Option<Estimate>,
    forfeits: [u64; 2],
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
        let ratings = Ratings::fit(count, recorder.anchor, &results);
        let mut players: Vec<_> = numbers
            .iter()
            .zip(&recorder.typed)
            .enumerate()
            .map(|(i, (&number, typed))| PlayerRow {
                name: typed.clone(),
                settings: recorder.roster.makers[number].card.settings.clone(),
                elo: ratings.elo(i),
                wins: 0,
                draws: 0,
                losses: 0,
                discs: None,
                forfeits: 0,
            })
            .collect();
        let mut pairings = Vec::new();
        for (pairing, score) in recorder.roster.pairings.iter().zip(&recorder.scores) {
            if let Some(places) = places(*pairing) {
                pairings.push(PairingRow::new(places, score, &ratings));
            }
        }
        pairings.iter().for_each(|pairing| pairing.count_for(&mut players));
        let row = |a| (0..count).map(|b| ratings.superiority(a, b).filter(|_| a != b)).collect();
        let mut ranking: Vec<_> = (0..count).collect();
        let value = |&i: &usize| ratings.elo(i).map_or(f64::NEG_INFINITY, |elo| elo.value);
        ranking.sort_by(|a, b| value(b).total_cmp(&value(a)));
        let superiority = (0..count).map(row).collect();
        let one_sided = ratings.one_sided();
        Self { depth, anchor: recorder.anchor, one_sided, players, pairings, superiority, ranking }
    }

    /// The best player but the anchor, whose rating is always 0, in a few words.
    pub fn best(&self) -> Option<String> {
        let best = &self.players[*self.ranking.iter().find(|&&i| i != self.anchor)?];
        Some(format!("depth {}: {} {}", self.depth, on_one_line(&best.name), elo(best.elo?.into())))
    }

    /// Writes tab-separated tables: the ranking, and all against all.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "depth\t{}", self.depth)?;
        writeln!(out, "rank\tplayer\telo\tlow\thigh\tscore\twins\tdraws\tlosses\tdiscs\tforfeits")?;
        for (rank, &i) in self.ranking.iter().enumerate() {
            let PlayerRow { elo, wins, draws, losses, discs, forfeits, .. } = &self.players[i];
            let elo = elo.map_or("-\t-\t-".to_owned(), |Estimate { value, low, high }| {
                format!("{value:+.1}\t{low:+.1}\t{high:+.1}")
            });
            let score = percent(share(*wins, *draws, *losses));
            let discs = or_dash(discs.map(|discs| format!("{discs:+.2}")));
            let name = self.name(i);
            writeln!(out, "{}\t{name}\t{elo}\t{score}\t{wins}\t{draws}\t{losses}\t{discs}\t{forfeits}", rank + 1)?;
        }
        self.write_all_against_all("superiority", |a, b| self.superiority[a][b], out)?;
        self.write_all_against_all("score", |a, b| self.score(a, b), out)
    }

    fn write_all_against_all(
        &self,
        title: &str,
        value: impl Fn(usize, usize) -> Option<f64>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let names: Vec<_> = self.ranking.iter().map(|&i| self.name(i)).collect();
        writeln!(out, "{title}\t{}", names.join("\t"))?;
        for (&a, name) in self.ranking.iter().zip(&names) {
            let values: Vec<_> = self.ranking.iter().map(|&b| percent(value(a, b))).collect();
            writeln!(out, "{name}\t{}", values.join("\t"))?;
        }
        Ok(())
    }

    fn name(&self, player: usize) -> String {
        on_one_line(&self.players[player].name)
    }

    /// The share of the points that a player took from another, in the games between them.
    fn score(&self, a: usize, b: usize) -> Option<f64> {
        let pairing = self.pairings.iter().find(|pairing| pairing.players == [a, b] || pairing.players == [b, a])?;
        pairing.score.map(|score| if pairing.players == [a, b] { score } else { 1.0 - score })
    }
}

impl PairingRow {
    fn new(players: [usize; 2], score: &Score, ratings: &Ratings) -> Self {
        let Score { tally, forfeits } = score;
        let any = tally.pair_count() > 0;
        Self {
            players,
            pairs: tally.pairs,
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            score: any.then(|| tally.score()),
            discs: any.then(|| tally.discs().value),
            elo: ratings.difference(players[0], players[1]),
            forfeits: *forfeits,
        }
    }

    /// Adds the games to those of the two players.
    fn count_for(&self, players: &mut [PlayerRow]) {
        let [first, second] = self.players;
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
        }
    }
}

fn share(wins: u64, draws: u64, losses: u64) -> Option<f64> {
    let games = wins + draws + losses;
    (games > 0).then(|| (wins as f64 + draws as f64 / 2.0) / games as f64)
}

fn percent(share: Option<f64>) -> String {
    or_dash(share.map(|share| format!("{:.1}%", 100.0 * share)))
}
