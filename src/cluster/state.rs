//! What the coordinator's threads share: workers, the current generation, and results that wait to be taken in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::schedule::Schedule;
use super::teller::Teller;
use super::wire::{Alive, Job, Proof};
use crate::clock::unix_seconds;
use crate::text::counted;
use crate::train::{Played, WorkerStatus, Workers};

/// A worker that is silent for this long has left.
const SILENCE: Duration = Duration::from_secs(20);
/// Most workers that are known at a time. The games of others are taken all the same.
const MOST_WORKERS: usize = 1024;

/// What the threads share.
pub(super) struct Shared {
    pub state: Mutex<State>,
    /// Signals work for the threads that play.
    pub changed: Condvar,
    /// Signals work for the network.
    pub wake: Notify,
    pub teller: Arc<Teller>,
}

#[derive(Default)]
pub(super) struct State {
    /// By name.
    pub workers: BTreeMap<String, Worker>,
    pub generation: Option<Generation>,
    /// Messages with games, as they came.
    pub inbox: VecDeque<Vec<u8>>,
    /// The newest proof, and the file of the weights that its games are played with.
    pub proof: Option<(Proof, Arc<Vec<u8>>)>,
}

/// A worker, as the coordinator sees it.
pub(super) struct Worker {
    pub status: WorkerStatus,
    /// When it was last heard from.
    pub heard: Instant,
}

/// The current generation.
pub(super) struct Generation {
    /// What all its jobs have in common.
    pub job: Job,
    /// The weights as a file, once a thread has made it.
    pub weights: Option<Arc<Vec<u8>>>,
    pub is_packing: bool,
    pub schedule: Schedule<Played>,
}

impl Generation {
    pub fn new(job: Job, schedule: Schedule<Played>) -> Self {
        Self { job, weights: None, is_packing: false, schedule }
    }

    /// Whether a proof shows that a worker plays these games correctly: its games were played in the same way, and not with weights that
    /// know nothing if these know something.
    pub fn is_proved_by(&self, proof: &Proof) -> bool {
        let Job { generation, play, .. } = &proof.job;
        *play == self.job.play && (*generation > 0 || self.job.generation == 0)
    }
}

impl Shared {
    pub fn new(teller: Arc<Teller>) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), wake: Notify::new(), teller }
    }
}

impl State {
    /// The generation that is being played.
    ///
    /// # Panics
    /// If there is none.
    pub fn current(&mut self) -> &mut Generation {
        self.generation.as_mut().expect("there is one while it is played")
    }

    /// Workers that are present.
    pub fn present(&self) -> impl Iterator<Item = &WorkerStatus> {
        self.workers.values().map(|worker| &worker.status).filter(|status| status.present)
    }

    /// Threads that play, those of workers and of this machine.
    pub fn threads(&self) -> usize {
        self.present().map(|worker| worker.threads as usize).sum::<usize>() + rayon::current_num_threads()
    }

    /// Takes in a sign of life, and returns what is new. If there are too many workers, a new one takes the place of the one that left
    /// the longest ago.
    pub fn hear(&mut self, alive: &Alive) -> Option<String> {
        if self.workers.len() >= MOST_WORKERS && !self.workers.contains_key(&alive.worker) {
            let gone = self.workers.values().filter(|worker| !worker.status.present);
            let oldest = gone.min_by_key(|worker| worker.heard)?.status.name.clone();
            self.workers.remove(&oldest);
        }
        let known = self.workers.get(&alive.worker).map(|worker| &worker.status);
        let was_there = known.is_some_and(|status| status.present);
        let status = WorkerStatus {
            name: alive.worker.clone(),
            threads: alive.threads.clamp(1, 4096),
            program: alive.program.clone(),
            games: known.map_or(0, |status| status.games),
            last_sign: unix_seconds(),
            present: !alive.leaving,
        };
        let (name, threads) = (&alive.worker, counted(u64::from(status.threads), "thread"));
        self.workers.insert(name.clone(), Worker { status, heard: Instant::now() });
        match (was_there, alive.leaving) {
            (false, false) => Some(format!("worker `{name}` has joined: {threads}, {}", alive.program)),
            (true, true) => Some(format!("worker `{name}` has left")),
            _ => None,
        }
    }

    /// Counts workers that have fallen silent as gone, and returns the news of it.
    pub fn miss(&mut self) -> Vec<String> {
        let silent = |worker: &&mut Worker| worker.status.present && worker.heard.elapsed() > SILENCE;
        let left = self.workers.values_mut().filter(silent).map(|worker| {
            worker.status.present = false;
            format!("nothing heard from worker `{}`; its games go to others", worker.status.name)
        });
        left.collect()
    }

    /// The list of workers.
    pub fn status(&self) -> Workers {
        Workers { at: unix_seconds(), workers: self.workers.values().map(|worker| worker.status.clone()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_under_ever_new_names_do_not_fill_the_memory() {
        let mut state = State::default();
        let mut hear = |name: String, leaving| {
            let news = state.hear(&Alive { worker: name, threads: 1, program: String::new(), leaving });
            (news.is_some(), state.workers.len())
        };
        for i in 0..3 * MOST_WORKERS {
            hear(format!("passing-{i}"), true);
        }
        for i in 0..MOST_WORKERS {
            assert_eq!(hear(format!("there-{i}"), false), (true, MOST_WORKERS));
        }
        assert_eq!(hear("late".into(), false), (false, MOST_WORKERS));
        assert_eq!(hear("there-0".into(), true), (true, MOST_WORKERS));
        assert_eq!(hear("late".into(), false), (true, MOST_WORKERS));
    }
}
