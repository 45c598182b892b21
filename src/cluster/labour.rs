//! A worker's threads that play.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};

use tokio::sync::oneshot;

use super::wire::{Job, steps};
use crate::eval::PatternEvaluator;
use crate::selfplay::{GameRecord, SelfPlay};
use crate::threads::lock;

/// Games by step.
type Played = Vec<Vec<GameRecord>>;

/// A job at hand.
struct Task {
    job: Job,
    evaluator: Arc<PatternEvaluator>,
    played: Mutex<Vec<Option<Vec<GameRecord>>>>,
    left: AtomicUsize,
    answer: Mutex<Option<oneshot::Sender<Played>>>,
}

/// What is to be played, in the order it came.
#[derive(Default)]
pub struct Labour {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Games played in all.
    pub games: AtomicUsize,
    halt: AtomicBool,
}

#[derive(Default)]
struct Queue {
    steps: VecDeque<(Arc<Task>, usize)>,
    is_over: bool,
}

impl Labour {
    /// Has a job played, and answers with its games. There is no answer if [`Self::end`] comes before.
    pub fn play(&self, job: Job, evaluator: Arc<PatternEvaluator>) -> oneshot::Receiver<Played> {
        let (answer, receiver) = oneshot::channel();
        let count = steps(job.games()).count();
        let task = Arc::new(Task {
            job,
            evaluator,
            played: Mutex::new(vec![None; count]),
            left: AtomicUsize::new(count),
            answer: Mutex::new(Some(answer)),
        });
        lock(&self.queue).steps.extend((0..count).map(|step| (task.clone(), step)));
        self.changed.notify_all();
        receiver
    }

    /// Ends all playing soon.
    pub fn end(&self) {
        self.halt.store(true, Relaxed);
        lock(&self.queue).is_over = true;
        self.changed.notify_all();
    }

    /// What each thread does until the end.
    pub fn work(&self) {
        while let Some((task, step)) = self.next() {
            let Task { job, evaluator, .. } = &*task;
            let players = SelfPlay::new(&**evaluator, job.play);
            let numbers = steps(job.games()).nth(step).expect("one of its steps");
            let Ok(games) = players.play_here(job.seed, job.generation, numbers, &self.halt) else { return };
            self.games.fetch_add(games.len(), Relaxed);
            lock(&task.played)[step] = Some(games);
            if task.left.fetch_sub(1, Relaxed) == 1 {
                let played = lock(&task.played).drain(..).flatten().collect();
                if let Some(answer) = lock(&task.answer).take() {
                    // Nobody waits for it where the worker is about to end.
                    let _ = answer.send(played);
                }
            }
        }
    }

    fn next(&self) -> Option<(Arc<Task>, usize)> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(step) = queue.steps.pop_front() {
                return Some(step);
            }
            queue = self.changed.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}
