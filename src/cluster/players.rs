//! The threads of a worker that play: those of the rayon pool.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use futures_util::future::try_join_all;
use tokio::sync::oneshot::{self, error::RecvError};

use super::wire::Job;
use crate::eval::PatternEvaluator;
use crate::selfplay::{GameRecord, SelfPlay, frames};

/// Plays jobs in the order they come.
#[derive(Default)]
pub(super) struct Players {
    /// Frames that nobody plays yet.
    waiting: AtomicUsize,
    /// Games played in all.
    pub games: AtomicUsize,
    halt: AtomicBool,
}

impl Players {
    /// Plays a job: each thread its share of all frames that wait, as far as they can be played in lockstep. The result are its games;
    /// there are none if [`Self::end`] comes first.
    pub fn play(
        self: &Arc<Self>,
        job: &Job,
        evaluator: &Arc<PatternEvaluator>,
    ) -> impl Future<Output = Result<Vec<GameRecord>, RecvError>> + use<> {
        let frames: Vec<Range<u32>> = frames(job.games()).collect();
        let waiting = self.waiting.fetch_add(frames.len(), Relaxed) + frames.len();
        let most = (waiting / rayon::current_num_threads()).clamp(1, job.play.frames_in_step());
        let pieces = frames.chunks(most).map(|piece| {
            let (answer, games) = oneshot::channel();
            let (players, job, evaluator) = (self.clone(), job.clone(), evaluator.clone());
            let (count, numbers) = (piece.len(), piece[0].start..piece[piece.len() - 1].end);
            rayon::spawn_fifo(move || {
                players.waiting.fetch_sub(count, Relaxed);
                let self_play = SelfPlay::new(&*evaluator, job.play);
                if let Ok(games) = self_play.play_here(job.seed, job.generation, numbers, &players.halt) {
                    players.games.fetch_add(games.len(), Relaxed);
                    // Nobody waits for it if the worker is about to end.
                    let _ = answer.send(games);
                }
            });
            games
        });
        let games = try_join_all(pieces.collect::<Vec<_>>());
        async move { Ok(games.await?.concat()) }
    }

    /// Ends all playing soon.
    pub fn end(&self) {
        self.halt.store(true, Relaxed);
    }
}
