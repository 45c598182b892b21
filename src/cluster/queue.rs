//! The threads of a worker that play.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};

use tokio::sync::oneshot;

use super::wire::Job;
use crate::eval::PatternEvaluator;
use crate::selfplay::{GameRecord, SelfPlay, frames};
use crate::threads::lock;

/// Games by frame.
type Played = Vec<Vec<GameRecord>>;

/// A job in progress.
struct Task {
    job: Job,
    evaluator: Arc<PatternEvaluator>,
    played: Mutex<Vec<Option<Vec<GameRecord>>>>,
    left: AtomicUsize,
    answer: Mutex<Option<oneshot::Sender<Played>>>,
}

/// What is to be played, in the order it came.
#[derive(Default)]
pub(super) struct WorkQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Games played in all.
    pub games: AtomicUsize,
    halt: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// Tasks, with their frames that nobody plays yet.
    tasks: VecDeque<(Arc<Task>, Range<usize>)>,
    is_over: bool,
}

impl WorkQueue {
    /// Queues a job, and answers with its games once they are played. There is no answer if [`Self::end`] comes first.
    pub fn play(&self, job: Job, evaluator: Arc<PatternEvaluator>) -> oneshot::Receiver<Played> {
        let (answer, receiver) = oneshot::channel();
        let count = frames(job.games()).count();
        let task = Arc::new(Task {
            job,
            evaluator,
            played: Mutex::new(vec![None; count]),
            left: AtomicUsize::new(count),
            answer: Mutex::new(Some(answer)),
        });
        lock(&self.queue).tasks.push_back((task, 0..count));
        self.changed.notify_all();
        receiver
    }

    /// Ends all playing soon.
    pub fn end(&self) {
        self.halt.store(true, Relaxed);
        lock(&self.queue).is_over = true;
        self.changed.notify_all();
    }

    /// What each of `threads` threads does until the end.
    pub fn work(&self, threads: usize) {
        while let Some((task, own)) = self.next(threads) {
            let Task { job, evaluator, .. } = &*task;
            let players = SelfPlay::new(&**evaluator, job.play);
            let numbers: Vec<Range<u32>> = frames(job.games()).skip(own.start).take(own.len()).collect();
            let all = numbers[0].start..numbers[numbers.len() - 1].end;
            let Ok(games) = players.play_here(job.seed, job.generation, all, &self.halt) else { return };
            self.games.fetch_add(games.len(), Relaxed);
            let mut games = games.into_iter();
            for (frame, numbers) in own.clone().zip(&numbers) {
                lock(&task.played)[frame] = Some(games.by_ref().take(numbers.len()).collect());
            }
            if task.left.fetch_sub(own.len(), Relaxed) == own.len() {
                let played = lock(&task.played).drain(..).flatten().collect();
                if let Some(answer) = lock(&task.answer).take() {
                    // Nobody waits for it if the worker is about to end.
                    let _ = answer.send(played);
                }
            }
        }
    }

    /// The frames of a job that a thread plays next: its share of all frames, as far as they can be played in lockstep.
    fn next(&self, threads: usize) -> Option<(Arc<Task>, Range<usize>)> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_over {
                return None;
            }
            let share = queue.tasks.iter().map(|(_, frames)| frames.len()).sum::<usize>() / threads.max(1);
            if let Some((task, frames)) = queue.tasks.front_mut() {
                let most = share.clamp(1, task.job.play.frames_in_step());
                let next = frames.start..frames.end.min(frames.start + most);
                frames.start = next.end;
                let task = task.clone();
                if Range::is_empty(frames) {
                    queue.tasks.pop_front();
                }
                return Some((task, next));
            }
            queue = self.changed.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}
