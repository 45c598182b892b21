//! Games between many players, all pairs of them or one against the rest.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use super::match_::{HeldPair, Pair};
use super::player::{Player, PlayerError, unless_stopped};
use crate::board::Transcript;
use crate::threads::in_order;

/// A league to play: a pair of games for each pairing from each opening.
///
/// Every opening is played by all pairings before the next one, so a stopped league has played all pairings about equally often.
#[derive(Clone, Debug, Default)]
pub struct League {
    /// The openings.
    pub openings: Vec<Transcript>,
    /// Who meets, by the players' numbers: always two players, and each pairing once.
    pub pairings: Vec<[usize; 2]>,
    /// Games held already, by the pairs' numbers ([`Self::pair_at`]); the league plays what is missing.
    pub held: HashMap<usize, HeldPair>,
}

/// A pair that counts, reported in the order of the pairs' numbers.
#[derive(Debug)]
pub struct LeagueEvent<'a> {
    /// The number of the pair.
    pub index: usize,
    /// The pairing: the first of these players has black in the first game.
    pub players: [usize; 2],
    /// The number of the opening.
    pub opening: usize,
    /// The games, without the players' notes.
    pub pair: &'a Pair,
}

/// All pairings of a number of players: a round robin.
pub fn round_robin(players: usize) -> Vec<[usize; 2]> {
    (0..players).flat_map(|a| (a + 1..players).map(move |b| [a, b])).collect()
}

/// The pairings of the first of a number of players with each of the others.
pub fn gauntlet(players: usize) -> Vec<[usize; 2]> {
    (1..players).map(|b| [0, b]).collect()
}

impl League {
    /// Number of pairs of games.
    pub fn pair_count(&self) -> usize {
        self.openings.len() * self.pairings.len()
    }

    /// The players and the number of the opening of a pair, by its number.
    pub fn pair_at(&self, index: usize) -> ([usize; 2], usize) {
        (self.pairings[index % self.pairings.len()], index / self.pairings.len())
    }

    /// Plays the league on the threads of the current rayon pool; a thread plays one pair of games at a time.
    ///
    /// `player` makes the player with a number, once for each thread that it plays on. `on_pair` gets each pair in order, held ones
    /// included, on whichever thread completed it, and says whether to continue. Setting `stop` also ends the league; games in progress
    /// are dropped.
    ///
    /// # Errors
    /// A player cannot be made, or ends the play with [`PlayerError::Start`] or [`PlayerError::Broken`]; all pairs before that pair have
    /// been reported.
    pub fn run<P: Player>(
        &self,
        player: impl Fn(usize) -> Result<P, PlayerError> + Sync,
        stop: &AtomicBool,
        mut on_pair: impl FnMut(LeagueEvent<'_>) -> ControlFlow<()> + Send,
    ) -> Result<(), PlayerError> {
        let work = |made: &mut HashMap<usize, P>, index: usize| {
            let (players, opening) = self.pair_at(index);
            let held = self.held.get(&index).cloned().unwrap_or_default();
            let pair = held.complete(&self.openings[opening], stop, || {
                for number in players {
                    if let Entry::Vacant(place) = made.entry(number) {
                        place.insert(player(number)?);
                    }
                }
                let found = made.get_disjoint_mut([&players[0], &players[1]]);
                Ok(found.map(|player| player.expect("just made") as &mut dyn Player))
            });
            let mut pair = unless_stopped(pair)?;
            pair.iter_mut().flat_map(|pair| &mut pair.games).for_each(|game| game.notes = Vec::new());
            Ok(pair)
        };
        in_order(self.pair_count(), stop, work, |index, pair: Pair| {
            let (players, opening) = self.pair_at(index);
            on_pair(LeagueEvent { index, players, opening, pair: &pair })
        })
    }
}
