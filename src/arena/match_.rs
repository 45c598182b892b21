//! Pairs of games on all threads, counted in order.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use super::game::{Forfeit, PlayedGame, play_game};
use super::player::{Player, PlayerError, unless_stopped};
use super::stats::{Hypothesis, Sprt, Tally};
use crate::board::{Side, Transcript};
use crate::threads::in_order;

/// A match to play.
#[derive(Clone, Debug)]
pub struct Match {
    /// The opening of each pair.
    pub openings: Vec<Transcript>,
    /// A test that may end the match early.
    pub sprt: Option<Sprt>,
    /// Games held already, for the first pairs; the match plays what is missing.
    pub held: Vec<HeldPair>,
}

/// Two games from one opening: the first player has black in the first game, white in the second.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// The games.
    pub games: [PlayedGame; 2],
}

/// What there is of a pair from an earlier run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeldPair {
    /// The games, in the order of a [`Pair`]'s.
    pub games: [Option<PlayedGame>; 2],
}

impl Pair {
    /// The first player's disc difference in either game, -64 to 64.
    pub fn discs(&self) -> [i32; 2] {
        [self.games[0].discs, -self.games[1].discs]
    }

    /// The games that were lost before they were over: the numbers of game and loser, from 0, and why.
    pub fn forfeits(&self) -> impl Iterator<Item = (usize, usize, &Forfeit)> {
        self.games.iter().enumerate().filter_map(|(number, game)| {
            let forfeit = game.forfeit.as_ref()?;
            Some((number, usize::from((forfeit.side == Side::Black) != (number == 0)), forfeit))
        })
    }
}

/// A pair that counts, reported in the order of the openings.
#[derive(Debug)]
pub struct PairEvent<'a> {
    /// The pair's number, from 0.
    pub index: usize,
    /// The games.
    pub pair: &'a Pair,
    /// The match so far, this pair included.
    pub tally: &'a Tally,
    /// The test's log-likelihood ratio so far.
    pub llr: Option<f64>,
}

/// How a match ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All pairs were played.
    Complete,
    /// The test was decided.
    Decided(Hypothesis),
    /// It was stopped.
    Stopped,
}

/// The outcome of a match, from the first player's side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatchReport {
    /// All pairs that count.
    pub tally: Tally,
    /// The test's log-likelihood ratio.
    pub llr: Option<f64>,
    /// How it ended.
    pub ending: Ending,
}

impl Match {
    /// Plays the match on the threads of the current rayon pool.
    ///
    /// `first` and `second` each make a player for every thread that has a game to play. `on_pair` gets each pair in order, those of
    /// [`Self::held`] included, on whichever thread completed it. If it breaks off, no other pair begins. Setting `stop` ends the match; games
    /// in progress are dropped.
    ///
    /// # Errors
    /// A player cannot be made, or ends the play with [`PlayerError::Start`] or [`PlayerError::Broken`]; all pairs before that pair have
    /// been reported.
    pub fn run<A: Player, B: Player>(
        &self,
        first: impl Fn() -> Result<A, PlayerError> + Sync,
        second: impl Fn() -> Result<B, PlayerError> + Sync,
        stop: &AtomicBool,
        mut on_pair: impl FnMut(PairEvent<'_>) -> ControlFlow<()> + Send,
    ) -> Result<MatchReport, PlayerError> {
        let (mut tally, mut llr, mut decision) = (Tally::default(), self.sprt.map(|_| 0.0), None);
        let work = |players: &mut Option<(A, B)>, index: usize| {
            let held = self.held.get(index).cloned().unwrap_or_default();
            let pair = held.complete(&self.openings[index], stop, || {
                if players.is_none() {
                    *players = Some((first()?, second()?));
                }
                let (first, second) = players.as_mut().expect("just made");
                Ok([first, second])
            });
            unless_stopped(pair)
        };
        in_order(self.openings.len(), stop, work, |index, pair| {
            tally.add(pair.discs());
            llr = self.sprt.map(|sprt| sprt.llr(&tally));
            decision = self.sprt.zip(llr).and_then(|(sprt, llr)| sprt.decide(llr));
            let flow = on_pair(PairEvent { index, pair: &pair, tally: &tally, llr });
            if decision.is_some() { ControlFlow::Break(()) } else { flow }
        })?;
        let ending = match decision {
            Some(hypothesis) => Ending::Decided(hypothesis),
            None if tally.pair_count() == self.openings.len() as u64 => Ending::Complete,
            None => Ending::Stopped,
        };
        Ok(MatchReport { tally, llr, ending })
    }
}

impl HeldPair {
    /// Whether both games are there.
    pub fn is_whole(&self) -> bool {
        self.games.iter().all(Option::is_some)
    }

    /// The whole pair; missing games are played by the players that `players` gives.
    pub(super) fn complete<'p>(
        self,
        opening: &Transcript,
        stop: &AtomicBool,
        players: impl FnOnce() -> Result<[&'p mut dyn Player; 2], PlayerError>,
    ) -> Result<Pair, PlayerError> {
        let Self { games: [first_game, second_game] } = self;
        let games = match (first_game, second_game) {
            (Some(first_game), Some(second_game)) => [first_game, second_game],
            (first_game, second_game) => {
                let [first, second] = players()?;
                let first_game = match first_game {
                    Some(game) => game,
                    None => play_game(first, second, opening, stop)?,
                };
                let second_game = match second_game {
                    Some(game) => game,
                    None => play_game(second, first, opening, stop)?,
                };
                [first_game, second_game]
            }
        };
        Ok(Pair { games })
    }
}
