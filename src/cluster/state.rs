//! What the coordinator's threads share: workers, the current generation, and results that wait to be taken in.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::news::{News, Teller};
use super::schedule::Schedule;
use super::wire::{Alive, Job, Proof, to_text};
use crate::clock::unix_seconds;
use crate::storage::sha256;
use crate::train::{Played, WorkerStatus, Workers};

/// A worker that is silent for this long has left.
const SILENCE: Duration = Duration::from_secs(20);
/// Most workers that are known at a time.
const MOST_WORKERS: usize = 1024;

/// What the threads share.
pub struct Shared {
    pub state: Mutex<State>,
    /// Signals work for the threads that play.
    pub changed: Condvar,
    /// Signals work for the network.
    pub wake: Notify,
    pub teller: Arc<Teller>,
}

#[derive(Default)]
pub struct State {
    /// By number. Numbers are not used again.
    pub workers: BTreeMap<usize, Worker>,
    next_worker: usize,
    pub generation: Option<Generation>,
    /// Messages with games, as they came.
    pub inbox: VecDeque<Vec<u8>>,
    /// The newest proof.
    pub proof: Option<KeptProof>,
}

/// A proof, and what the store must have of it.
pub struct KeptProof {
    pub proof: Proof,
    pub name: String,
    pub bytes: Arc<Vec<u8>>,
    /// The file of the weights that its games are played with.
    pub weights: Arc<Vec<u8>>,
}

/// A worker, as the coordinator sees it.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    pub name: String,
    pub threads: u32,
    pub program: String,
    /// Games taken in from it.
    pub games: u64,
    pub last: Option<Instant>,
    pub last_unix: u64,
    /// Whether some of its games were also played here, and were the same.
    pub is_tried: bool,
    pub refused: Option<String>,
}

/// The current generation.
pub struct Generation {
    /// What all its jobs have in common.
    pub job: Job,
    /// The weights as a file, once a thread has made it.
    pub weights: Option<Arc<Vec<u8>>>,
    pub is_packing: bool,
    pub schedule: Schedule<Played>,
    /// Hashes of the results that came, so that none is taken twice. One that comes again in a later generation has the wrong key.
    pub seen: HashSet<String>,
}

impl KeptProof {
    pub fn new(proof: Proof, weights: Arc<Vec<u8>>) -> Self {
        let bytes = to_text(&proof);
        Self { proof, name: sha256(&bytes), bytes: Arc::new(bytes), weights }
    }
}

impl Generation {
    pub fn new(job: Job, schedule: Schedule<Played>) -> Self {
        Self { job, weights: None, is_packing: false, schedule, seen: HashSet::new() }
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
    pub fn current(&self) -> &Generation {
        self.generation.as_ref().expect("there is one while it is played")
    }

    /// The generation that is being played, to change it.
    ///
    /// # Panics
    /// If there is none.
    pub fn current_mut(&mut self) -> &mut Generation {
        self.generation.as_mut().expect("there is one while it is played")
    }

    /// A worker's number; a new worker is added. If there are too many, it replaces the one that left the longest ago; `None` if all
    /// others are present or refused.
    pub fn worker(&mut self, name: &str) -> Option<usize> {
        if let Some((&found, _)) = self.workers.iter().find(|(_, worker)| worker.name == name) {
            return Some(found);
        }
        if self.workers.len() >= MOST_WORKERS {
            let gone = self.workers.iter().filter(|(_, worker)| worker.last.is_none() && worker.refused.is_none());
            let (&number, _) = gone.min_by_key(|(_, worker)| worker.last_unix)?;
            self.workers.remove(&number);
        }
        let number = self.next_worker;
        self.next_worker += 1;
        self.workers.insert(number, Worker { name: name.to_owned(), ..Worker::default() });
        Some(number)
    }

    /// Workers that are present and whose games are taken.
    pub fn present(&self) -> impl Iterator<Item = &Worker> {
        self.workers.values().filter(|worker| worker.last.is_some() && worker.refused.is_none())
    }

    /// Threads that play, those of workers and of this machine.
    pub fn threads(&self) -> usize {
        self.present().map(|worker| worker.threads as usize).sum::<usize>() + rayon::current_num_threads()
    }

    /// Takes in a sign of life. Returns what is new, and why the worker is refused, if it is.
    pub fn hear(&mut self, alive: &Alive) -> (Option<News>, Option<String>) {
        let known = self.worker(&alive.worker).and_then(|number| self.workers.get_mut(&number));
        let Some(worker) = known else { return (None, Some(format!("there are {MOST_WORKERS} workers already"))) };
        let was_there = worker.last.is_some();
        worker.threads = alive.threads.clamp(1, 4096);
        worker.program = alive.program.clone();
        worker.last_unix = unix_seconds();
        worker.last = (!alive.leaving).then(Instant::now);
        let news = (worker.refused.is_none() && was_there == alive.leaving).then(|| {
            let (name, threads, program) = (worker.name.clone(), worker.threads, worker.program.clone());
            if alive.leaving {
                News::Left { worker: name, announced: true }
            } else {
                News::Joined { worker: name, threads, program }
            }
        });
        (news, worker.refused.clone())
    }

    /// Counts workers that have fallen silent as gone, and returns the news of it.
    pub fn miss(&mut self) -> Vec<News> {
        let silent = |worker: &&mut Worker| worker.last.is_some_and(|last| last.elapsed() > SILENCE);
        let left = self.workers.values_mut().filter(silent).map(|worker| {
            worker.last = None;
            News::Left { worker: worker.name.clone(), announced: false }
        });
        left.collect()
    }

    /// The list of workers.
    pub fn status(&self) -> Workers {
        let status = |worker: &Worker| WorkerStatus {
            name: worker.name.clone(),
            threads: worker.threads,
            program: worker.program.clone(),
            games: worker.games,
            last_sign: worker.last_unix,
            present: worker.last.is_some(),
            refused: worker.refused.clone(),
        };
        Workers { at: unix_seconds(), workers: self.workers.values().map(status).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_under_ever_new_names_do_not_fill_the_memory() {
        let mut state = State::default();
        let hear = |state: &mut State, name: &str, leaving| {
            let (worker, program) = (name.to_owned(), String::new());
            state.hear(&Alive { worker, threads: 1, program, leaving }).1
        };
        let bad = state.worker("bad").unwrap();
        state.workers.get_mut(&bad).unwrap().refused = Some("wrong games".to_owned());
        let gone = state.worker("gone").unwrap();
        for i in 0..3 * MOST_WORKERS {
            assert_eq!(hear(&mut state, &format!("passing-{i}"), true), None);
        }
        assert_eq!(state.workers.len(), MOST_WORKERS);
        assert_ne!(state.worker("gone"), Some(gone), "another by the name is another worker");
        for i in 0..MOST_WORKERS - 1 {
            assert_eq!(hear(&mut state, &format!("there-{i}"), false), None);
        }
        assert_eq!(hear(&mut state, "bad", false).as_deref(), Some("wrong games"));
        assert!(hear(&mut state, "late", false).is_some() && state.worker("late").is_none());
        assert_eq!(state.workers.len(), MOST_WORKERS);
        assert_eq!(hear(&mut state, "there-0", true), None);
        assert_eq!(hear(&mut state, "late", false), None);
    }
}
