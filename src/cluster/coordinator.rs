//! The coordinator: games from workers and from this machine, in order, as if all had been played here.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use super::broker::{BrokerAddress, COORDINATOR_INBOX, MOMENT};
use super::error::ClusterError;
use super::network::Network;
use super::schedule::Schedule;
use super::state::{Generation, Shared};
use super::streams::{RunAtBroker, check_run_name};
use super::teller::Teller;
use super::wire::{Job, Proof, digest_of, result_from_bytes};
use super::{MAX_NAME, is_plain_name, process_name};
use crate::eval::{Calibration, Evaluator, Model};
use crate::games::{RawFrame, frame};
use crate::selfplay::{FRAME, GameRecord, SelfPlay};
use crate::storage::sha256;
use crate::threads::{hand_over, lock};
use crate::train::{GameJob, GameSource, OnGames, Played};
use crate::weights::{Provenance, WeightFile};

/// A cluster to start.
#[derive(Clone, Debug)]
pub struct ClusterRequest {
    /// The broker.
    pub broker: BrokerAddress,
    /// The name by which workers know the run.
    pub run: String,
    /// The run's directory, in which the workers are listed for people to read.
    pub directory: PathBuf,
    /// How long to wait for a broker that is not there yet.
    pub wait: Duration,
    /// Ends the wait.
    pub stop: Arc<AtomicBool>,
}

/// Plays the games of a run with the help of workers.
pub struct ClusterGames {
    shared: Arc<Shared>,
    packed: Mutex<Packed>,
    /// Ends the network's work: whether the run is finished.
    end: UnboundedSender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The last weights packed as a file, kept so that equal weights are not packed twice.
#[derive(Default)]
struct Packed(Option<(Model, Option<Calibration>, Arc<Vec<u8>>)>);

impl fmt::Debug for ClusterGames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterGames").finish_non_exhaustive()
    }
}

impl ClusterGames {
    /// Connects to the broker and creates what the run needs there. From then on the run continues whatever happens to the broker.
    /// `news` gets what people may want to know, a sentence at a time, from any thread.
    ///
    /// # Errors
    /// What has to be fixed first.
    pub fn start(request: ClusterRequest, news: impl Fn(&str) + Send + Sync + 'static) -> Result<Self, ClusterError> {
        check_run_name(&request.run)?;
        let shared = Arc::new(Shared::new(Arc::new(Teller::new(news))));
        let (end, ended) = unbounded_channel();
        let (ready, started) = std::sync::mpsc::channel();
        let network = shared.clone();
        let serve = move || {
            let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(ClusterError::system(error)))),
            };
            runtime.block_on(async {
                let stop = request.stop.clone();
                let stopped = async {
                    while !stop.load(Relaxed) {
                        sleep(MOMENT).await;
                    }
                };
                let connected = tokio::select! {
                    connected = connect(request, network) => connected,
                    () = stopped => Err(ClusterError::Stopped("stopped before the broker answered".to_owned())),
                };
                match connected {
                    Ok(network) => {
                        let _ = ready.send(Ok(()));
                        network.serve(ended).await;
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            });
            // Does not wait for the name of a host to be looked up.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("network".into()).spawn(serve).map_err(ClusterError::system)?;
        started.recv().unwrap_or_else(|_| Err(ClusterError::system(std::io::ErrorKind::Other.into())))?;
        Ok(Self { shared, packed: Mutex::default(), end, thread: Some(thread) })
    }

    /// Tells workers that the run is finished, and removes it from the broker.
    pub fn finish(mut self) {
        self.end(true);
    }

    fn end(&mut self, finished: bool) {
        let Some(thread) = self.thread.take() else { return };
        let _ = self.end.send(finished);
        let _ = thread.join();
    }
}

impl Drop for ClusterGames {
    fn drop(&mut self) {
        self.end(false);
    }
}

async fn connect(request: ClusterRequest, shared: Arc<Shared>) -> Result<Network, ClusterError> {
    let ClusterRequest { broker, run, directory, wait, .. } = request;
    let session = process_name();
    let name = format!("flipside coordinator {session}");
    let client = broker.connect_within(wait, &name, COORDINATOR_INBOX, &shared.teller).await?;
    let run = RunAtBroker::new(client, &run);
    let network = Network { shared, run, session, directory };
    network.claim().await?;
    network.run.make().await.map_err(|reason| broker.without_streams(&reason))?;
    Ok(network)
}

impl GameSource for ClusterGames {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) {
        let Some(evaluator) = job.evaluator(stop) else { return };
        let &GameJob { seed, generation, play, .. } = job;
        let job_of_all = Job { seed, generation, first: 0, count: 1, play: *play, weights: String::new() };
        let schedule = Schedule::new(job.games.clone());
        lock(&self.shared.state).generation = Some(Generation::new(job_of_all, schedule));
        self.shared.wake.notify_one();
        let table = Table {
            shared: &self.shared,
            packed: &self.packed,
            model: job.model,
            calibration: evaluator.calibration(),
            players: SelfPlay::new(&evaluator, *play),
            in_step: play.frames_in_step(),
            seed,
            generation,
            hands: Mutex::new(on_games),
            halt: AtomicBool::new(false),
        };
        table.work_on_all_threads(stop);
        lock(&self.shared.state).generation = None;
        self.shared.wake.notify_one();
    }
}

/// What the threads that play a generation share.
struct Table<'t, E: Evaluator> {
    shared: &'t Shared,
    packed: &'t Mutex<Packed>,
    model: &'t Model,
    calibration: Option<&'t Calibration>,
    players: SelfPlay<'t, E>,
    /// Most frames that are played in lockstep.
    in_step: usize,
    seed: u64,
    generation: u32,
    hands: Mutex<&'t mut OnGames<'t>>,
    /// Set when all is over, for whatever reason.
    halt: AtomicBool,
}

/// Something to do.
enum Task {
    Pack,
    TakeIn(Vec<u8>),
    Play(Range<usize>),
    Wait,
}

/// Sets a flag when it is dropped.
struct Setter<'f>(&'f AtomicBool);

impl Drop for Setter<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl<E: Evaluator> Table<'_, E> {
    /// Works until all is over, or soon after `stop` is set.
    fn work_on_all_threads(&self, stop: &AtomicBool) {
        thread::scope(|scope| {
            // Passes a stop on to the games in progress.
            scope.spawn(|| {
                while !self.halt.load(Relaxed) {
                    self.halt.fetch_or(stop.load(Relaxed), Relaxed);
                    thread::sleep(MOMENT);
                }
            });
            rayon::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| self.work())));
        });
    }

    fn work(&self) {
        // If this thread panics, the others must not wait for its games.
        let _halt = Setter(&self.halt);
        while !self.halt.load(Relaxed) {
            match self.next() {
                Task::Pack => self.pack(),
                Task::TakeIn(bytes) => self.take_in(&bytes),
                Task::Play(job) => self.play(job),
                Task::Wait => {
                    let state = lock(&self.shared.state);
                    drop(self.shared.changed.wait_timeout(state, MOMENT));
                }
            }
            self.hand_over();
        }
    }

    fn next(&self) -> Task {
        let mut state = lock(&self.shared.state);
        let needed = state.present().next().is_some() || !state.inbox.is_empty();
        let generation = state.current();
        if generation.weights.is_some() {
            if let Some(bytes) = state.inbox.pop_front() {
                return Task::TakeIn(bytes);
            }
        } else if needed && !std::mem::replace(&mut generation.is_packing, true) {
            return Task::Pack;
        }
        let threads = state.threads();
        state.current().schedule.claim(threads, self.in_step, Instant::now()).map_or(Task::Wait, Task::Play)
    }

    /// Packs the weights as a file.
    fn pack(&self) {
        let mut packed = lock(self.packed);
        let same = packed
            .0
            .as_ref()
            .filter(|(model, calibration, _)| model == self.model && calibration.as_ref() == self.calibration);
        let bytes = match same {
            Some((.., bytes)) => bytes.clone(),
            None => {
                let (model, calibration) = (self.model.clone(), self.calibration.cloned());
                let file = WeightFile { calibration, ..WeightFile::new(model, Provenance::default()) };
                let bytes = Arc::new(file.to_bytes());
                packed.0 = Some((file.model, file.calibration, bytes.clone()));
                bytes
            }
        };
        let name = sha256(&bytes);
        let mut state = lock(&self.shared.state);
        let generation = state.current();
        generation.job.weights = name;
        generation.weights = Some(bytes);
        self.shared.wake.notify_one();
    }

    fn with_schedule<T>(&self, what: impl FnOnce(&mut Schedule<Played>) -> T) -> T {
        what(&mut lock(&self.shared.state).current().schedule)
    }

    fn play(&self, job: Range<usize>) {
        let numbers = self.with_schedule(|schedule| schedule.games(job.clone()));
        let Ok(games) = self.players.play_here(self.seed, self.generation, numbers, &self.halt) else {
            return self.with_schedule(|schedule| schedule.give_up(job));
        };
        let mut games = games.into_iter();
        for frame in job {
            let games: Vec<_> = games.by_ref().take(FRAME as usize).collect();
            self.offer_proof(frame, &games);
            self.complete(frame, games, None);
        }
    }

    /// Makes games that were played here the proof that workers must pass, if the current one does not suffice.
    fn offer_proof(&self, frame: usize, games: &[GameRecord]) {
        let mut state = lock(&self.shared.state);
        let is_proved = |state: &super::state::State| {
            let generation = state.generation.as_ref();
            generation.zip(state.proof.as_ref()).is_some_and(|(generation, (proof, _))| generation.is_proved_by(proof))
        };
        if is_proved(&state) {
            return;
        }
        let generation = state.current();
        let Some(weights) = generation.weights.clone() else { return };
        let numbers = generation.schedule.games(frame..frame + 1);
        let job = Job { first: numbers.start, count: numbers.len() as u32, ..generation.job.clone() };
        state.proof = Some((Proof { job, digest: digest_of(games) }, weights));
        self.shared.wake.notify_one();
    }

    /// Takes in a frame that was played by a worker, or here. False if it is there already.
    fn complete(&self, number: usize, games: Vec<GameRecord>, by: Option<&str>) -> bool {
        let first = self.with_schedule(|schedule| schedule.games(number..number + 1).start);
        // Deflated here, whoever has played: machines may do it differently, and files must be the same.
        let played = Played { frame: frame(first, &games), games, by: by.map(str::to_owned) };
        let is_new = self.with_schedule(|schedule| schedule.complete(number, by.is_some(), played, Instant::now()));
        self.shared.wake.notify_one();
        is_new
    }

    /// Hands over what is next, unless another thread is doing so.
    fn hand_over(&self) {
        let has_next = || self.with_schedule(|schedule| schedule.has_next());
        let next = || self.with_schedule(Schedule::take);
        hand_over(&self.hands, &self.halt, has_next, next, |hands, played| hands(played));
        if self.with_schedule(|schedule| schedule.is_over()) {
            self.halt.store(true, Relaxed);
            self.shared.changed.notify_all();
        }
    }

    /// Takes in a message with games.
    fn take_in(&self, bytes: &[u8]) {
        let unreadable = |worker: &str, reason: &dyn fmt::Display| {
            self.shared.teller.unreadable(&format!("worker `{worker}`"), reason)
        };
        let (line, frames) = match result_from_bytes(bytes) {
            Ok(result) => result,
            Err(error) => return unreadable("?", &error),
        };
        if !is_plain_name(&line.worker, MAX_NAME) {
            return unreadable("?", &"its worker has no name");
        }
        let numbers = {
            let mut state = lock(&self.shared.state);
            let generation = state.current();
            if line.key != generation.job.key() || line.first < generation.schedule.games(0..1).start {
                // Of another generation or an earlier session, or in the journal already.
                return;
            }
            let numbers = generation.schedule.frames(line.first..line.first + line.count);
            if numbers.clone().is_some_and(|numbers| generation.schedule.are_done(numbers)) {
                return;
            }
            numbers
        };
        let Some(numbers) = numbers else {
            let first = line.first;
            return unreadable(&line.worker, &format!("games {first} and following are none of the generation's"));
        };
        // Decoding replays the moves.
        let games: Result<Vec<_>, _> = frames.iter().map(RawFrame::decode).collect();
        let games = match games {
            Ok(games) => games,
            Err(error) => return unreadable(&line.worker, &error),
        };
        let mut taken = 0;
        for (number, games) in numbers.zip(games) {
            let count = games.len() as u64;
            taken += if self.complete(number, games, Some(&line.worker)) { count } else { 0 };
        }
        if let Some(known) = lock(&self.shared.state).workers.get_mut(&line.worker) {
            known.status.games += taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::wire::{Alive, ResultLine, result_to_bytes};
    use super::*;
    use crate::eval::MobilityEvaluator;

    /// Runs a test with 64 games to play, which go to `on_games`. What it tells is counted.
    fn at_table(on_games: &mut OnGames<'_>, test: impl FnOnce(&Table<'_, MobilityEvaluator>)) -> usize {
        let text = r#"{"depth":1,"exact-empties":2,"opening-plies":20,"exploration":0.1,"update":"td"}"#;
        let play = serde_json::from_str(text).unwrap();
        let told = Arc::new(Mutex::new(0));
        let count = told.clone();
        let shared = Shared::new(Arc::new(Teller::new(move |_| *lock(&count) += 1)));
        let job = Job { seed: 1, generation: 0, first: 0, count: 1, play, weights: sha256(b"") };
        lock(&shared.state).generation = Some(Generation::new(job, Schedule::new(0..2 * FRAME)));
        let alive = Alive { worker: "worker".into(), threads: 1, program: String::new(), leaving: true };
        lock(&shared.state).hear(&alive);
        test(&Table {
            shared: &shared,
            packed: &Mutex::default(),
            model: &WeightFile::embedded().model,
            calibration: None,
            players: SelfPlay::new(&MobilityEvaluator, play),
            in_step: 1,
            seed: 1,
            generation: 0,
            hands: Mutex::new(on_games),
            halt: AtomicBool::new(false),
        });
        *lock(&told)
    }

    /// The message of a worker that has played frames of the table.
    fn result(table: &Table<'_, MobilityEvaluator>, frames: Range<u32>) -> Vec<u8> {
        let key = lock(&table.shared.state).current().job.key();
        let (first, count) = (FRAME * frames.start, FRAME * frames.len() as u32);
        let stop = AtomicBool::new(false);
        let played = |number| table.players.play_here(1, 0, FRAME * number..FRAME * (number + 1), &stop).unwrap();
        let frames: Vec<_> = frames.map(|number| frame(FRAME * number, &played(number))).collect();
        result_to_bytes(&ResultLine { key, worker: "worker".into(), first, count }, &frames)
    }

    #[test]
    fn games_that_come_twice_count_once_and_say_who_played_them() {
        let mut by = Vec::new();
        let mut on_games = |played: Vec<Played>| {
            by.extend(played.into_iter().map(|played| played.by));
            ControlFlow::Continue(())
        };
        at_table(&mut on_games, |table| {
            let bytes = result(table, 0..1);
            for _ in 0..2 {
                table.take_in(&bytes);
                assert_eq!(lock(&table.shared.state).workers["worker"].status.games, u64::from(FRAME));
            }
            table.work_on_all_threads(&AtomicBool::new(false));
        });
        assert_eq!(by, [Some("worker".to_owned()), None]);
    }

    #[test]
    fn games_that_the_journal_has_are_left_out_in_silence() {
        let told = at_table(&mut |_| ControlFlow::Continue(()), |table| {
            let bytes = result(table, 0..1);
            table.with_schedule(|schedule| *schedule = Schedule::new(FRAME..2 * FRAME));
            table.take_in(&bytes);
            assert_eq!(lock(&table.shared.state).workers["worker"].status.games, 0);
        });
        assert_eq!(told, 0);
    }

    #[test]
    fn of_many_bad_messages_one_is_told() {
        let told = at_table(&mut |_| ControlFlow::Continue(()), |table| {
            let mut illegal = result(table, 0..1);
            let end = illegal.len() - 1;
            illegal[end] ^= 1;
            for number in 0..1000u32 {
                table.take_in(&illegal);
                table.take_in(&number.to_le_bytes());
            }
        });
        assert_eq!(told, 1);
    }

    #[test]
    fn a_thread_that_panics_leaves_no_other_waiting() {
        let mut on_games = |_: Vec<Played>| -> ControlFlow<()> { panic!("expected") };
        at_table(&mut on_games, |table| {
            let stop = AtomicBool::new(false);
            assert!(catch_unwind(AssertUnwindSafe(|| table.work_on_all_threads(&stop))).is_err());
        });
    }
}
