//! Which games of a generation are played, which are being played, and where.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::wire::MAX_GAMES;
use crate::selfplay::{FRAME, frames};
use crate::threads::Reorder;

/// Most frames of a job.
const MAX_FRAMES: usize = (MAX_GAMES / FRAME) as usize;

/// The games of a generation that are to be played, by frame. Jobs of one frame or more are played here or offered to workers; the first
/// result of a frame counts.
#[derive(Debug)]
pub(super) struct Schedule<T> {
    /// The numbers of each frame's games.
    games: Vec<Range<u32>>,
    frames: Vec<Frame>,
    /// Results by their frame.
    results: Reorder<T>,
    /// No frame before it is free.
    free_from: usize,
    /// How long jobs take from being offered to being completed.
    turnaround: Duration,
}

#[derive(Clone, Debug)]
enum Frame {
    Free,
    /// Being played here.
    Here,
    /// Offered to workers.
    Away {
        since: Instant,
        here_too: bool,
    },
    Done,
}

/// Shortest time after which a job that holds up all others is also played here.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(3);
/// The same, as a multiple of the turnaround of other jobs.
const PATIENCE: u32 = 4;

impl<T> Schedule<T> {
    /// A schedule of games, none of them played.
    pub fn new(games: Range<u32>) -> Self {
        let games: Vec<_> = frames(games).collect();
        let frames = vec![Frame::Free; games.len()];
        Self { games, frames, results: Reorder::default(), free_from: 0, turnaround: Duration::ZERO }
    }

    /// The numbers of the games of a job: one frame or more.
    pub fn games(&self, job: Range<usize>) -> Range<u32> {
        self.games[job.start].start..self.games[job.end - 1].end
    }

    /// The frames of some games, if they are whole frames.
    pub fn frames(&self, games: Range<u32>) -> Option<Range<usize>> {
        let first = self.games.binary_search_by_key(&games.start, |frame| frame.start).ok()?;
        let last = self.games.binary_search_by_key(&games.end, |frame| frame.end).ok()?;
        (first <= last).then_some(first..last + 1)
    }

    /// Whether all of these frames have results.
    pub fn are_done(&self, frames: Range<usize>) -> bool {
        self.frames[frames].iter().all(|frame| matches!(frame, Frame::Done))
    }

    /// Whether every result was taken out.
    pub fn is_over(&self) -> bool {
        self.results.taken() == self.frames.len()
    }

    /// A job for one thread to play here, while `threads` of ours and of workers are playing: the frame that holds up all others; else
    /// at most `most` free frames; else the last frame that is away, since nobody may have begun it. `None` if all that is not done is
    /// being played here.
    pub fn claim(&mut self, threads: usize, most: usize, now: Instant) -> Option<Range<usize>> {
        let patience = SHORTEST_PATIENCE.max(PATIENCE * self.turnaround);
        if let Some(front) = self.first_undone()
            && let Frame::Away { since, here_too: here_too @ false } = &mut self.frames[front]
            && now.saturating_duration_since(*since) > patience
        {
            *here_too = true;
            return Some(front..front + 1);
        }
        if let Some(free) = self.next_free(threads, most) {
            self.frames[free.clone()].fill(Frame::Here);
            return Some(free);
        }
        let last = self.frames.iter().rposition(|frame| matches!(frame, Frame::Away { here_too: false, .. }))?;
        if let Frame::Away { here_too, .. } = &mut self.frames[last] {
            *here_too = true;
        }
        Some(last..last + 1)
    }

    /// The games of a job to be offered to workers, while `threads` of theirs and of ours are playing.
    pub fn offer(&mut self, threads: usize, now: Instant) -> Option<Range<u32>> {
        let free = self.next_free(threads, MAX_FRAMES)?;
        self.frames[free.clone()].fill(Frame::Away { since: now, here_too: false });
        Some(self.games(free))
    }

    /// The first free frames, at most `most`: many while there are many left.
    fn next_free(&mut self, threads: usize, most: usize) -> Option<Range<usize>> {
        let free = (self.free_from..self.frames.len()).find(|&frame| matches!(self.frames[frame], Frame::Free));
        self.free_from = free.unwrap_or(self.frames.len());
        let first = free?;
        let left = self.frames.len() - first;
        let most = (left / (4 * threads.max(1))).clamp(1, most.max(1));
        let free = self.frames[first..].iter().take(most).take_while(|frame| matches!(frame, Frame::Free)).count();
        Some(first..first + free)
    }

    /// Frames that are offered and not done.
    pub fn away(&self) -> usize {
        self.frames[self.results.taken()..].iter().filter(|frame| matches!(frame, Frame::Away { .. })).count()
    }

    /// Takes all offers back: those that nobody plays here are free.
    pub fn recall(&mut self) {
        for frame in &mut self.frames[self.results.taken()..] {
            match frame {
                Frame::Away { here_too: true, .. } => *frame = Frame::Here,
                Frame::Away { .. } => *frame = Frame::Free,
                _ => {}
            }
        }
        self.free_from = self.results.taken();
    }

    /// Gives up a claimed job that was not played.
    pub fn give_up(&mut self, job: Range<usize>) {
        self.free_from = self.free_from.min(job.start);
        for frame in &mut self.frames[job] {
            if !matches!(frame, Frame::Done) {
                *frame = Frame::Free;
            }
        }
    }

    /// Takes in the result of a frame. False if there is one already.
    pub fn complete(&mut self, frame: usize, is_away: bool, result: T, now: Instant) -> bool {
        match &self.frames[frame] {
            Frame::Done => return false,
            Frame::Away { since, .. } if is_away => {
                let turnaround = now.saturating_duration_since(*since);
                self.turnaround = (3 * self.turnaround + turnaround) / 4;
            }
            _ => {}
        }
        self.frames[frame] = Frame::Done;
        self.results.put(frame, result);
        true
    }

    /// Takes out the next results, as many as are there; `None` if none is.
    pub fn take(&mut self) -> Option<Vec<T>> {
        let results: Vec<T> = std::iter::from_fn(|| self.results.take()).map(|(_, result)| result).collect();
        Some(results).filter(|results| !results.is_empty())
    }

    /// Whether [`Self::take`] has something to take.
    pub fn has_next(&self) -> bool {
        self.results.has_next()
    }

    fn first_undone(&self) -> Option<usize> {
        (self.results.taken()..self.frames.len()).find(|&frame| !matches!(self.frames[frame], Frame::Done))
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
                        let frame: usize = here.swap_remove(rng.random_range(0..here.len()));
                        schedule.give_up(frame..frame + 1);
                    }
                    5 | 6 if !away.is_empty() => {
                        // A job is lost, or done, or done and still there.
                        let at = rng.random_range(0..away.len());
                        if rng.random_bool(0.5) {
                            for frame in schedule.frames(away[at].clone()).unwrap() {
                                schedule.complete(frame, true, schedule.games(frame..frame + 1), now);
                            }
                        }
                        if rng.random_bool(0.8) {
                            away.swap_remove(at);
                        }
                    }
                    _ if !here.is_empty() => {
                        let frame = here.swap_remove(rng.random_range(0..here.len()));
                        schedule.complete(frame, false, schedule.games(frame..frame + 1), now);
                    }
                    _ => {}
                }
                if let Some(frames) = schedule.take() {
                    came.extend(frames.into_iter().flatten());
                }
            }
            assert!(came.into_iter().eq(games), "seed {seed}");
        }
    }

    #[test]
    fn the_first_result_of_a_frame_counts() {
        let mut schedule = Schedule::new(0..64);
        let now = Instant::now();
        assert_eq!(schedule.offer(1, now), Some(0..32));
        assert!(schedule.complete(0, true, "first", now) && !schedule.complete(0, false, "second", now));
        assert_eq!(schedule.take(), Some(vec!["first"]));
    }

    #[test]
    fn games_that_are_no_frames_are_told_from_those_that_are() {
        let schedule = Schedule::<()>::new(64..200);
        assert_eq!(schedule.frames(64..96), Some(0..1));
        assert_eq!(schedule.frames(96..200), Some(1..5));
        for wrong in [0..32, 64..65, 70..96, 64..64, 192..224] {
            assert_eq!(schedule.frames(wrong.clone()), None, "{wrong:?}");
        }
    }

    #[test]
    fn jobs_are_large_first_and_small_last() {
        let mut schedule = Schedule::<()>::new(0..8192);
        let now = Instant::now();
        let sizes: Vec<u32> = std::iter::from_fn(|| schedule.offer(4, now)).map(|games| games.len() as u32).collect();
        assert_eq!((sizes[0], *sizes.last().unwrap()), (MAX_GAMES, FRAME));
        assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes.iter().sum::<u32>() == 8192);
    }
}
