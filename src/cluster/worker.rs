//! A worker: takes jobs, plays them, and delivers the games. It has no files, and checks whatever it is sent.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::Message;
use async_nats::jetstream::message::PublishMessage;
use futures_util::{StreamExt, future};
use tokio::runtime;
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use super::broker::{BrokerAddress, FAREWELL, MOMENT, TIMEOUT, WORKER_INBOX, pause};
use super::error::ClusterError;
use super::players::Players;
use super::process_name;
use super::streams::{ACK_WAIT, RunAtBroker, check_run_name};
use super::teller::{Teller, broker_fails};
use super::wire::{self, Alive, Job, MAX_GAMES, Offer, Proof, ResultLine, digest_of};
use crate::eval::PatternEvaluator;
use crate::games::frame;
use crate::selfplay::{FRAME, GameRecord, frames};
use crate::storage::sha256;
use crate::text::counted;
use crate::threads::lock;
use crate::train::Outcome;
use crate::weights::{self, WeightFile};

/// Work to do for a run.
#[derive(Clone, Debug)]
pub struct WorkRequest {
    /// The broker.
    pub broker: BrokerAddress,
    /// The run's name.
    pub run: String,
    /// How long to wait for a broker or a run that is not there yet.
    pub wait: Duration,
}

/// How often the worker gives a sign of life.
const SIGN: Duration = Duration::from_secs(3);
/// How often it reports progress.
const TELL: Duration = Duration::from_secs(30);
/// How long a request for jobs stays with the broker.
const ASK: Duration = Duration::from_secs(2);
/// How long to wait, at least, for a run or a broker that has disappeared.
const GONE: Duration = Duration::from_secs(600);
/// How often a result is offered to the broker before the job is left to others.
const ATTEMPTS: u32 = 12;

/// Works for a run on the threads of the global rayon pool until it is finished or `stop` is set. `news` gets what people may want to know,
/// a sentence at a time, from any thread.
///
/// # Errors
/// What has to be fixed first.
pub fn work(
    request: &WorkRequest,
    stop: &AtomicBool,
    news: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Outcome, ClusterError> {
    check_run_name(&request.run)?;
    let teller = Arc::new(Teller::new(news));
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(ClusterError::system)?;
    let players = Arc::new(Players::default());
    let outcome = runtime.block_on(run(request, stop, &players, &teller));
    players.end();
    // Does not wait for the name of a host to be looked up.
    runtime.shutdown_background();
    outcome
}

async fn run(
    request: &WorkRequest,
    stop: &AtomicBool,
    players: &Arc<Players>,
    teller: &Arc<Teller>,
) -> Result<Outcome, ClusterError> {
    let name = process_name();
    let must_end = async {
        loop {
            if stop.load(Relaxed) {
                return Ok(Outcome::Stopped);
            }
            if let Some(what) = teller.forbidden() {
                return Err(request.broker.refused(format!(
                    "does not allow this key to work for a run `{0}` ({what}): use the worker's key that `flipside cluster config \
                     --run {0}` wrote",
                    request.run
                )));
            }
            sleep(MOMENT).await;
        }
    };
    tokio::pin!(must_end);
    let title = format!("flipside worker {name}");
    let client = tokio::select! {
        client = request.broker.connect_within(request.wait, &title, WORKER_INBOX, teller) => client?,
        end = &mut must_end => return end,
    };
    let run = RunAtBroker::new(client, &request.run);
    let (fatal, mut ends) = mpsc::unbounded_channel();
    let worker = Arc::new(Worker {
        name,
        run,
        players: players.clone(),
        teller: teller.clone(),
        held: Mutex::default(),
        unread: Mutex::default(),
        next: AtomicU64::new(0),
        frames: AtomicUsize::new(0),
        freed: Notify::new(),
        evaluators: Mutex::default(),
        proved: Mutex::default(),
        ends: fatal,
    });
    let tasks = [tokio::spawn(worker.clone().take_jobs(request.clone())), tokio::spawn(worker.clone().give_signs())];
    let outcome = tokio::select! {
        end = ends.recv() => end.expect("the worker holds a sender"),
        end = &mut must_end => end,
        end = gone(request, teller) => Err(end),
    };
    tasks.iter().for_each(|task| task.abort());
    worker.leave().await;
    outcome
}

/// Waits until the broker has been away for too long.
async fn gone(request: &WorkRequest, teller: &Teller) -> ClusterError {
    let patience = request.wait.max(GONE);
    let mut last = Instant::now();
    while last.elapsed() < patience {
        if !teller.is_lost() {
            last = Instant::now();
        }
        sleep(SIGN).await;
    }
    let (url, minutes) = (request.broker.shown(), counted(patience.as_secs() / 60, "minute"));
    ClusterError::Stopped(format!(
        "the broker at {url} has been away for {minutes}; the same command waits for it again"
    ))
}

type End = Result<Outcome, ClusterError>;

struct Worker {
    name: String,
    run: RunAtBroker,
    players: Arc<Players>,
    teller: Arc<Teller>,
    /// The messages of the jobs in progress.
    held: Mutex<HashMap<u64, Arc<Message>>>,
    next: AtomicU64,
    /// Frames of these jobs.
    frames: AtomicUsize,
    /// Subjects of the jobs that could not be read.
    unread: Mutex<BTreeSet<String>>,
    freed: Notify,
    /// Evaluators by their weights' names, the newest last.
    evaluators: Mutex<Vec<(String, Arc<PatternEvaluator>)>>,
    /// The proof that was passed last.
    proved: Mutex<Option<Proof>>,
    ends: mpsc::UnboundedSender<End>,
}

impl Worker {
    /// Takes jobs, enough to keep all threads busy until the next are there.
    async fn take_jobs(self: Arc<Self>, request: WorkRequest) {
        let capacity = 4 * rayon::current_num_threads() + (MAX_GAMES / FRAME) as usize;
        let mut missing_since: Option<Instant> = None;
        let (mut has_worked, mut is_sure) = (false, false);
        let mut failures = 0;
        loop {
            if !is_sure {
                let state = self.run.is_finished().await;
                if state != Some(false) {
                    if let Some(end) = self.waits(&request, state, &mut missing_since, has_worked) {
                        let _ = self.ends.send(end);
                        return;
                    }
                    sleep(pause(failures)).await;
                    failures = (failures + 1).min(4);
                    continue;
                }
                (missing_since, has_worked) = (None, true);
            }
            let free = capacity.saturating_sub(self.frames.load(Relaxed));
            if free == 0 {
                let _ = timeout(ASK, self.freed.notified()).await;
                continue;
            }
            // Without jobs for some time, the run may be finished, or the consumer gone with the broker's memory.
            match self.ask(free.div_ceil((MAX_GAMES / FRAME) as usize)).await {
                Ok(taken) => (is_sure, failures) = (taken > 0, 0),
                Err(()) => {
                    is_sure = false;
                    sleep(pause(failures)).await;
                    failures = (failures + 1).min(4);
                }
            }
        }
    }

    /// How the work ends if the run is not there or finished, as `state` says; `None` while it is to be waited for.
    fn waits(
        &self,
        request: &WorkRequest,
        state: Option<bool>,
        missing_since: &mut Option<Instant>,
        has_worked: bool,
    ) -> Option<End> {
        if self.teller.is_lost() {
            *missing_since = None;
            return None;
        }
        let is_finished = state.is_some();
        // If the last run of this name is finished, another may be about to begin.
        let patience = match (has_worked, is_finished) {
            (true, true) => Duration::ZERO,
            (true, false) => request.wait.max(GONE),
            (false, _) => request.wait,
        };
        let is_first = missing_since.is_none();
        let is_over = missing_since.get_or_insert_with(Instant::now).elapsed() >= patience;
        let (run, url) = (request.run.clone(), request.broker.shown());
        match (is_over, is_finished) {
            (true, true) => return Some(Ok(Outcome::Finished)),
            (true, false) => {
                return Some(Err(ClusterError::Refused(format!(
                    "no run `{run}` at {url}. A run is named after its directory: `flipside train --cluster {url} --run runs/{run}` \
                     starts it"
                ))));
            }
            _ if !is_first || has_worked => {}
            (_, true) => {
                self.teller
                    .tell(&format!("the run `{run}` at the broker is finished; waiting for another of that name"));
            }
            (_, false) => self.teller.tell(&format!("no run `{run}` at the broker yet; waiting for it")),
        }
        None
    }

    /// Asks for some jobs and takes those that come; returns how many. An error means that the broker does not answer.
    async fn ask(self: &Arc<Self>, most: usize) -> Result<usize, ()> {
        let mut jobs = match timeout(TIMEOUT, self.run.ask_for_jobs(most, ASK)).await {
            Ok(Ok(jobs)) => jobs,
            _ => return Err(()),
        };
        let (sender, mut arrived) = mpsc::unbounded_channel();
        // Getting ready for a job may take long. Those that come after it are held meanwhile.
        let receive = async move {
            let mut taken = 0;
            while taken < most {
                match timeout(ASK + TIMEOUT, jobs.next()).await {
                    Ok(Some(message)) if message.status.is_none() => {
                        taken += 1;
                        let _ = sender.send(self.hold(message));
                    }
                    Ok(Some(status)) if status.status == Some(async_nats::StatusCode::NO_RESPONDERS) => return Err(()),
                    Ok(Some(_)) => break,
                    _ => return Err(()),
                }
            }
            Ok(taken)
        };
        let accept = async {
            while let Some((id, message)) = arrived.recv().await {
                self.accept(id, message).await;
            }
        };
        future::join(receive, accept).await.0
    }

    /// Keeps a job from being given to others, until [`Self::let_go`]. At the end [`Self::leave`] gives back what is held.
    fn hold(&self, message: Message) -> (u64, Arc<Message>) {
        let id = self.next.fetch_add(1, Relaxed);
        let message = Arc::new(message);
        lock(&self.held).insert(id, message.clone());
        (id, message)
    }

    /// Tells the broker how it stands with a job.
    async fn answer(&self, message: &Message, what: &'static str) {
        if let Some(reply) = &message.reply {
            let _ = self.run.client.publish(reply.clone(), what.into()).await;
        }
    }

    /// Queues a job that is held, or gives it back.
    async fn accept(self: &Arc<Self>, id: u64, message: Arc<Message>) {
        let Offer { job, proof } = match Offer::from_bytes(&message.payload) {
            Ok(offer) => offer,
            Err(error) => return self.leave_unread(id, &message, error).await,
        };
        let count = frames(job.games()).count();
        self.frames.fetch_add(count, Relaxed);
        let evaluator = match self.prepare(&job, &proof).await {
            Ok(evaluator) => evaluator,
            Err(Unprepared::For(reason)) => {
                self.teller.trouble(&reason);
                self.answer(&message, NOT_NOW).await;
                self.let_go(id, count);
                // Otherwise it comes back at once.
                sleep(Duration::from_secs(1)).await;
                return;
            }
            Err(Unprepared::Never(error)) => {
                let _ = self.ends.send(Err(error));
                return;
            }
        };
        self.teller.no_trouble();
        let played = self.players.play(&job, &evaluator);
        let worker = self.clone();
        tokio::spawn(async move {
            if let Ok(played) = played.await {
                worker.deliver(&job, &played, &message, id).await;
            }
            worker.let_go(id, count);
        });
    }

    /// Leaves an unreadable job to others. One may be anything; several come from another version.
    async fn leave_unread(&self, id: u64, message: &Message, error: wire::WireError) {
        const SEVERAL: usize = 3;
        let met = {
            let mut unread = lock(&self.unread);
            unread.insert(message.subject.to_string());
            unread.len()
        };
        if met >= SEVERAL {
            let _ = self.ends.send(Err(other_build("the jobs", error)));
            return;
        }
        self.teller.unreadable("the coordinator", error);
        self.answer(message, NOT_NOW).await;
        self.let_go(id, 0);
    }

    fn let_go(&self, id: u64, frames: usize) {
        lock(&self.held).remove(&id);
        self.frames.fetch_sub(frames, Relaxed);
        self.freed.notify_one();
    }

    /// The evaluator for a job, once its proof is passed.
    async fn prepare(&self, job: &Job, proof: &Proof) -> Result<Arc<PatternEvaluator>, Unprepared> {
        if lock(&self.proved).as_ref() != Some(proof) {
            self.prove(proof).await?;
            *lock(&self.proved) = Some(proof.clone());
        }
        self.evaluator(&job.weights).await
    }

    async fn prove(&self, Proof { job, digest: there }: &Proof) -> Result<(), Unprepared> {
        let evaluator = self.evaluator(&job.weights).await?;
        let (games, generation) = (job.count, job.generation);
        let played = self.players.play(job, &evaluator).await.map_err(|_| Unprepared::For("stopped".into()))?;
        let here = digest_of(&played);
        if here != *there {
            return Err(Unprepared::Never(ClusterError::other_build(&format!(
                "this build plays different games from the coordinator's: for {games} games of generation {generation}, their digest \
                 is {here} here and {there} there"
            ))));
        }
        self.teller.tell(&format!("{games} games of the run played as the coordinator did: working"));
        Ok(())
    }

    async fn evaluator(&self, name: &str) -> Result<Arc<PatternEvaluator>, Unprepared> {
        let known = lock(&self.evaluators).iter().find(|(known, _)| known == name).map(|(_, found)| found.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let bytes = self.run.get(name, weights::MAX_BYTES as usize).await;
        let bytes = bytes.map_err(|reason| Unprepared::For(format!("there are no weights for a job ({reason})")))?;
        let what = "the weights";
        let file = WeightFile::from_bytes(&bytes).map_err(|error| Unprepared::Never(other_build(what, error)))?;
        let evaluator = file.evaluator().map_err(|error| Unprepared::Never(other_build(what, error)))?;
        let evaluator = Arc::new(evaluator);
        let mut evaluators = lock(&self.evaluators);
        if evaluators.len() == 2 {
            evaluators.remove(0);
        }
        evaluators.push((name.to_owned(), evaluator.clone()));
        Ok(evaluator)
    }

    /// Delivers games to the broker and acknowledges the job. After [`ATTEMPTS`] the job is left to others.
    async fn deliver(&self, job: &Job, played: &[GameRecord], message: &Message, id: u64) {
        let numbers = frames(job.games()).map(|frame| frame.start);
        let games = played.chunks(FRAME as usize);
        let frames: Vec<Vec<u8>> = numbers.zip(games).map(|(first, games)| frame(first, games)).collect();
        let (key, worker) = (job.key(), self.name.clone());
        let bytes = wire::result_to_bytes(&ResultLine { key, worker, first: job.first, count: job.count }, &frames);
        // Contains the number of the job's message here: games that are requested again are no duplicates.
        let id = format!("{}-{id}", sha256(&bytes));
        let subject = self.run.subject(&format!("results.{}.{}", job.generation, job.first));
        for attempt in 0..ATTEMPTS {
            let publish = PublishMessage::build().payload(bytes.clone().into()).message_id(&id);
            let sent = match self.run.context.send_publish(subject.clone(), publish).await {
                Ok(ack) => ack.await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(_) => {
                    self.teller.no_trouble();
                    self.answer(message, "+ACK").await;
                    return;
                }
                // It was finished without these games.
                Err(_) if self.run.is_finished().await == Some(true) => return,
                Err(error) => {
                    self.teller.trouble(&broker_fails(format_args!("it takes no results: {error}")));
                    sleep(pause(attempt)).await;
                }
            }
        }
        self.answer(message, "-NAK").await;
    }

    /// Gives signs of life, and keeps hold of the jobs in progress.
    async fn give_signs(self: Arc<Self>) {
        let began = Instant::now();
        let (mut kept, mut told) = (Instant::now(), Instant::now());
        loop {
            self.give_sign(false).await;
            if kept.elapsed() > ACK_WAIT / 4 {
                kept = Instant::now();
                let held: Vec<Arc<Message>> = lock(&self.held).values().cloned().collect();
                for message in held {
                    self.answer(&message, "+WPI").await;
                }
            }
            if told.elapsed() > TELL {
                told = Instant::now();
                let games = self.players.games.load(Relaxed) as u64;
                let rate = games as f64 / began.elapsed().as_secs_f64();
                self.teller.tell(&format!("{games} games played, {rate:.0} games/s"));
            }
            sleep(SIGN).await;
        }
    }

    async fn give_sign(&self, leaving: bool) {
        let program = concat!("flipside ", env!("CARGO_PKG_VERSION")).to_owned();
        let alive = Alive { worker: self.name.clone(), threads: rayon::current_num_threads() as u32, program, leaving };
        let subject = self.run.subject(&format!("alive.{}", self.name));
        let _ = self.run.client.publish(subject, wire::to_text(&alive).into()).await;
    }

    /// Gives back the jobs in progress, and announces that it leaves.
    async fn leave(&self) {
        let held: Vec<Arc<Message>> = lock(&self.held).values().cloned().collect();
        let goodbye = async {
            for message in held {
                self.answer(&message, "-NAK").await;
            }
            self.give_sign(true).await;
            let _ = self.run.client.flush().await;
        };
        let _ = timeout(FAREWELL, goodbye).await;
    }
}

/// The error for what came whole but cannot be read.
fn other_build(what: &str, error: impl std::fmt::Display) -> ClusterError {
    ClusterError::other_build(&format!(
        "cannot read {what} of the run ({error}): the coordinator is another version of flipside"
    ))
}

/// Gives a job back, for a second.
const NOT_NOW: &str = r#"-NAK {"delay":1000000000}"#;

/// Why a job cannot be played.
enum Unprepared {
    /// Not now.
    For(String),
    /// Not by this worker.
    Never(ClusterError),
}
