//! Pairs of games on all threads, counted in order.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::game::{PlayedGame, play_game};
use super::player::{Player, PlayerError};
use super::stats::{Hypothesis, Sprt, Tally};
use crate::board::Transcript;

/// A match to play.
#[derive(Clone, Debug)]
pub struct Match {
    /// The opening of each pair.
    pub openings: Vec<Transcript>,
    /// A test that may end the match early.
    pub sprt: Option<Sprt>,
    /// The first pairs where they were played before; the match goes on after them.
    pub played: Vec<Pair>,
}

/// Two games from one opening: the first player has black in the first game, white in the second.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// The games.
    pub games: [PlayedGame; 2],
}

impl Pair {
    /// The first player's disc difference in either game, -64 to 64.
    pub fn discs(&self) -> [i32; 2] {
        [self.games[0].discs, -self.games[1].discs]
    }
}

/// A pair that counts, told in the order of the openings.
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
    /// It was told to stop.
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
    /// `first` and `second` make a player each for every thread that takes part. `on_pair` hears of each pair in order, from
    /// whichever thread completed it; pairs of [`Self::played`] come first. Setting `stop` (from anywhere, `on_pair`
    /// included) ends the match when the pairs being played are over.
    ///
    /// # Errors
    /// The first failure to make a player.
    pub fn run<A: Player, B: Player>(
        &self,
        first: impl Fn() -> Result<A, PlayerError> + Sync,
        second: impl Fn() -> Result<B, PlayerError> + Sync,
        stop: &AtomicBool,
        on_pair: impl FnMut(PairEvent<'_>) + Send,
    ) -> Result<MatchReport, PlayerError> {
        let mut ledger = Ledger::new(self, on_pair);
        for (index, pair) in self.played.iter().take(self.openings.len()).enumerate() {
            ledger.add(index, pair.clone());
        }
        let next = AtomicUsize::new(ledger.counted);
        let workers = rayon::current_num_threads().min(self.openings.len() - ledger.counted);
        let ledger = Mutex::new(ledger);
        let over = || stop.load(Ordering::Relaxed) || lock(&ledger).is_over();
        let worker = || -> Result<(), PlayerError> {
            if over() {
                return Ok(());
            }
            let (mut first, mut second) = (first()?, second()?);
            while !over() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(opening) = self.openings.get(index) else { break };
                let games = [play_game(&mut first, &mut second, opening), play_game(&mut second, &mut first, opening)];
                lock(&ledger).add(index, Pair { games });
            }
            Ok(())
        };
        rayon::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|_| {
                    if let Err(error) = worker() {
                        lock(&ledger).fail(error);
                    }
                });
            }
        });
        ledger.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).report()
    }
}

/// A panic of another thread is passed on by rayon; until then the ledger is as good as it was.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Counts pairs in order, whatever the order they arrive in.
struct Ledger<'a, F> {
    plan: &'a Match,
    on_pair: F,
    early: BTreeMap<usize, Pair>,
    counted: usize,
    tally: Tally,
    llr: Option<f64>,
    decision: Option<Hypothesis>,
    failure: Option<PlayerError>,
}

impl<'a, F: FnMut(PairEvent<'_>)> Ledger<'a, F> {
    fn new(plan: &'a Match, on_pair: F) -> Self {
        let llr = plan.sprt.map(|_| 0.0);
        let (early, tally) = (BTreeMap::new(), Tally::default());
        Self { plan, on_pair, early, counted: 0, tally, llr, decision: None, failure: None }
    }

    fn add(&mut self, index: usize, pair: Pair) {
        self.early.insert(index, pair);
        while self.decision.is_none() {
            let Some(pair) = self.early.remove(&self.counted) else { break };
            self.tally.add(pair.discs());
            if let Some(sprt) = &self.plan.sprt {
                let llr = sprt.llr(&self.tally);
                self.llr = Some(llr);
                self.decision = sprt.decide(llr);
            }
            let event = PairEvent { index: self.counted, pair: &pair, tally: &self.tally, llr: self.llr };
            (self.on_pair)(event);
            self.counted += 1;
        }
    }

    fn fail(&mut self, error: PlayerError) {
        self.failure.get_or_insert(error);
    }

    fn is_over(&self) -> bool {
        self.decision.is_some() || self.failure.is_some()
    }

    fn report(self) -> Result<MatchReport, PlayerError> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let ending = match self.decision {
            Some(hypothesis) => Ending::Decided(hypothesis),
            None if self.counted == self.plan.openings.len() => Ending::Complete,
            None => Ending::Stopped,
        };
        Ok(MatchReport { tally: self.tally, llr: self.llr, ending })
    }
}
