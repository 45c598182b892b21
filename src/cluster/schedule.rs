//! Which games of a generation are played, which are being played, and where.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::wire::MAX_GAMES;
use crate::selfplay::{FRAME, frames};
use crate::threads::Reorder;

/// Most steps of a job.
const MAX_STEPS: usize = (MAX_GAMES / FRAME) as usize;

/// The games of a generation that are to be played, in steps of one [`FRAME`] each. The first to complete a step has played it.
#[derive(Debug)]
pub struct Schedule<T> {
    /// The numbers of each step's games.
    frames: Vec<Range<u32>>,
    steps: Vec<Step>,
    /// Results by their step.
    results: Reorder<T>,
    /// No step before it is free.
    free_from: usize,
    /// How long jobs take from being offered to being completed.
    turnaround: Duration,
}

#[derive(Clone, Debug)]
enum Step {
    Free,
    /// Being played here.
    Here,
    /// Offered to others.
    Away {
        since: Instant,
        here_too: bool,
    },
    Done {
        digest: [u8; 32],
        by: Option<usize>,
    },
}

/// How the result of a step compares with an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completed {
    /// There was none.
    New,
    /// It is the same.
    Same,
    /// It is different. The earlier one was played by a worker, or by this machine if `None`.
    Differs { by: Option<usize> },
}

/// Shortest time after which a job that holds up all others is also played here.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(3);
/// The same, as a multiple of the turnaround of other jobs.
const PATIENCE: u32 = 4;

impl<T> Schedule<T> {
    /// A schedule of games, none of them played.
    pub fn new(games: Range<u32>) -> Self {
        let frames: Vec<_> = frames(games).collect();
        let steps = vec![Step::Free; frames.len()];
        Self { frames, steps, results: Reorder::default(), free_from: 0, turnaround: Duration::ZERO }
    }

    /// The numbers of a step's games.
    pub fn numbers(&self, step: usize) -> Range<u32> {
        self.frames[step].clone()
    }

    /// The numbers of the games of some steps, at least one.
    pub fn numbers_of(&self, steps: Range<usize>) -> Range<u32> {
        self.numbers(steps.start).start..self.numbers(steps.end - 1).end
    }

    /// The steps of some games, if they are whole steps.
    pub fn steps(&self, games: Range<u32>) -> Option<Range<usize>> {
        let first = self.frames.binary_search_by_key(&games.start, |frame| frame.start).ok()?;
        let last = self.frames.binary_search_by_key(&games.end, |frame| frame.end).ok()?;
        (first <= last).then_some(first..last + 1)
    }

    /// Whether every step was taken out.
    pub fn is_over(&self) -> bool {
        self.results.taken() == self.steps.len()
    }

    /// Steps for one thread to play here, while `threads` of ours and of others are playing: one that holds up all others; else at most
    /// `most` free ones; else the last one that is away, since nobody may have begun it. `None` if all that is not done is being
    /// played here.
    pub fn claim(&mut self, threads: usize, most: usize, now: Instant) -> Option<Range<usize>> {
        let patience = SHORTEST_PATIENCE.max(PATIENCE * self.turnaround);
        if let Some(front) = self.first_undone()
            && let Step::Away { since, here_too: here_too @ false } = &mut self.steps[front]
            && now.saturating_duration_since(*since) > patience
        {
            *here_too = true;
            return Some(front..front + 1);
        }
        if let Some(free) = self.portion(threads, most) {
            self.steps[free.clone()].fill(Step::Here);
            return Some(free);
        }
        let last = self.steps.iter().rposition(|step| matches!(step, Step::Away { here_too: false, .. }))?;
        if let Step::Away { here_too, .. } = &mut self.steps[last] {
            *here_too = true;
        }
        Some(last..last + 1)
    }

    /// Games to be offered to others, while `threads` of theirs and of ours are playing.
    pub fn offer(&mut self, threads: usize, now: Instant) -> Option<Range<u32>> {
        let free = self.portion(threads, MAX_STEPS)?;
        self.steps[free.clone()].fill(Step::Away { since: now, here_too: false });
        Some(self.numbers_of(free))
    }

    /// The first free steps: a large portion as long as there are many left, at most `most`.
    fn portion(&mut self, threads: usize, most: usize) -> Option<Range<usize>> {
        let first = self.next_free()?;
        let left = self.steps.len() - first;
        let most = (left / (4 * threads.max(1))).clamp(1, most.max(1));
        let free = self.steps[first..].iter().take(most).take_while(|step| matches!(step, Step::Free)).count();
        Some(first..first + free)
    }

    /// Steps that are offered and not done.
    pub fn away(&self) -> usize {
        self.steps[self.results.taken()..].iter().filter(|step| matches!(step, Step::Away { .. })).count()
    }

    /// Takes all offers back: those that nobody plays here are free.
    pub fn recall(&mut self) {
        for step in &mut self.steps[self.results.taken()..] {
            match step {
                Step::Away { here_too: true, .. } => *step = Step::Here,
                Step::Away { .. } => *step = Step::Free,
                _ => {}
            }
        }
        self.free_from = self.results.taken();
    }

    /// Gives up a claimed step that was not played.
    pub fn give_up(&mut self, step: usize) {
        if !matches!(self.steps[step], Step::Done { .. }) {
            self.free(step);
        }
    }

    fn free(&mut self, step: usize) {
        self.steps[step] = Step::Free;
        self.free_from = self.free_from.min(step);
    }

    /// Takes in a step that was played, here or by another. An earlier result stays.
    pub fn complete(&mut self, step: usize, digest: [u8; 32], by: Option<usize>, result: T, now: Instant) -> Completed {
        match &self.steps[step] {
            Step::Done { digest: found, .. } if *found == digest => return Completed::Same,
            Step::Done { by, .. } => return Completed::Differs { by: *by },
            Step::Away { since, .. } if by.is_some() => {
                let turnaround = now.saturating_duration_since(*since);
                self.turnaround = (3 * self.turnaround + turnaround) / 4;
            }
            _ => {}
        }
        self.steps[step] = Step::Done { digest, by };
        self.results.put(step, result);
        Completed::New
    }

    /// The digest of a step that is done.
    pub fn digest(&self, step: usize) -> Option<[u8; 32]> {
        match self.steps[step] {
            Step::Done { digest, .. } => Some(digest),
            _ => None,
        }
    }

    /// Forgets what another has played. False if some of it was taken out before.
    pub fn distrust(&mut self, other: usize) -> bool {
        let mut is_clean = true;
        for step in 0..self.steps.len() {
            if !matches!(self.steps[step], Step::Done { by: Some(by), .. } if by == other) {
                continue;
            }
            if self.results.take_back(step).is_some() {
                self.free(step);
            } else {
                is_clean = false;
            }
        }
        is_clean
    }

    /// Takes out the next results, as many as are there; `None` if none is.
    pub fn take(&mut self) -> Option<Vec<T>> {
        let results: Vec<T> = std::iter::from_fn(|| self.results.next()).map(|(_, result)| result).collect();
        Some(results).filter(|results| !results.is_empty())
    }

    /// Whether [`Self::take`] has something to take.
    pub fn has_next(&self) -> bool {
        self.results.has_next()
    }

    fn first_undone(&self) -> Option<usize> {
        (self.results.taken()..self.steps.len()).find(|&step| !matches!(self.steps[step], Step::Done { .. }))
    }

    fn next_free(&mut self) -> Option<usize> {
        let free = (self.free_from..self.steps.len()).find(|&step| matches!(self.steps[step], Step::Free));
        self.free_from = free.unwrap_or(self.steps.len());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn whatever_happens_every_game_comes_once_and_in_order() {
        for seed in 0..300 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let first = 32 * rng.random_range(0..4);
            let games = first..first + rng.random_range(1..1500);
            let mut schedule = Schedule::new(games.clone());
            let mut now = Instant::now();
            let (mut here, mut away, mut came) = (Vec::new(), Vec::new(), Vec::new());
            while !schedule.is_over() {
                now += Duration::from_millis(rng.random_range(0..3000));
                match rng.random_range(0..8) {
                    0..3 => here.extend(schedule.claim(2, rng.random_range(0..10), now).into_iter().flatten()),
                    3 => away.extend(schedule.offer(rng.random_range(0..20), now)),
                    4 if rng.random_bool(0.05) => schedule.recall(),
                    4 if rng.random_bool(0.05) && !here.is_empty() => {
                        let step = here.swap_remove(rng.random_range(0..here.len()));
                        schedule.give_up(step);
                    }
                    5 if rng.random_bool(0.02) => {
                        schedule.distrust(1);
                    }
                    5 | 6 if !away.is_empty() => {
                        // A job is lost, or done, or done and still there.
                        let at = rng.random_range(0..away.len());
                        let steps = schedule.steps(away[at].clone()).unwrap();
                        if rng.random_bool(0.5) {
                            for step in steps {
                                let by = Some(rng.random_range(0..3));
                                let result = schedule.numbers(step);
                                schedule.complete(step, [step as u8; 32], by, result, now);
                            }
                        }
                        if rng.random_bool(0.8) {
                            away.swap_remove(at);
                        }
                    }
                    _ if !here.is_empty() => {
                        let step = here.swap_remove(rng.random_range(0..here.len()));
                        let result = schedule.numbers(step);
                        schedule.complete(step, [step as u8; 32], None, result, now);
                    }
                    _ => {}
                }
                if let Some(steps) = schedule.take() {
                    came.extend(steps.into_iter().flatten());
                }
            }
            assert!(came.into_iter().eq(games), "seed {seed}");
        }
    }

    #[test]
    fn what_another_played_is_forgotten_unless_it_was_taken_out() {
        let mut schedule = Schedule::new(0..128);
        let now = Instant::now();
        assert_eq!(schedule.offer(1, now), Some(0..32));
        assert_eq!(schedule.complete(1, [1; 32], Some(7), (), now), Completed::New);
        assert_eq!(schedule.complete(1, [1; 32], Some(8), (), now), Completed::Same);
        assert_eq!(schedule.complete(1, [2; 32], Some(8), (), now), Completed::Differs { by: Some(7) });
        assert!(schedule.distrust(8) && schedule.distrust(7));
        assert_eq!(schedule.complete(1, [2; 32], Some(8), (), now), Completed::New);
        assert_eq!(schedule.complete(0, [0; 32], Some(7), (), now), Completed::New);
        assert!(schedule.take().is_some());
        assert!(!schedule.distrust(7));
    }

    #[test]
    fn games_that_are_no_steps_are_told_from_those_that_are() {
        let schedule = Schedule::<()>::new(64..200);
        assert_eq!(schedule.steps(64..96), Some(0..1));
        assert_eq!(schedule.steps(96..200), Some(1..5));
        for wrong in [0..32, 64..65, 70..96, 64..64, 192..224] {
            assert_eq!(schedule.steps(wrong.clone()), None, "{wrong:?}");
        }
    }

    #[test]
    fn portions_are_large_first_and_small_last() {
        let mut schedule = Schedule::<()>::new(0..8192);
        let now = Instant::now();
        let sizes: Vec<u32> = std::iter::from_fn(|| schedule.offer(4, now)).map(|games| games.len() as u32).collect();
        assert_eq!((sizes[0], *sizes.last().unwrap()), (MAX_GAMES, FRAME));
        assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes.iter().sum::<u32>() == 8192);
    }
}
