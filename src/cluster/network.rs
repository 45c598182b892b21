//! The coordinator's side of the network: one thread that offers jobs, hears of workers and collects results.

use std::collections::HashSet;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::connection::State as Connection;
use async_nats::jetstream::context::PublishError;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, ErrorCode};
use futures_util::StreamExt;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};

use super::broker::{FAREWELL, TIMEOUT, pause};
use super::error::ClusterError;
use super::state::{Generation, Shared, State};
use super::streams::RunAtBroker;
use super::teller::broker_fails;
use super::wire::{self, Alive, Job, Offer, Proof, to_text};
use super::{MAX_NAME, is_plain_name};
use crate::threads::lock;

/// How often to check that the broker still has what it should.
const LOOK: Duration = Duration::from_secs(4);
/// How often to act without being woken.
const TICK: Duration = Duration::from_millis(200);
/// Most messages that wait to be taken in.
const MOST_WAITING: usize = 256;
/// How long to listen for another coordinator.
const LISTEN: Duration = Duration::from_millis(700);

pub(super) struct Network {
    pub shared: Arc<Shared>,
    pub run: RunAtBroker,
    /// The name of this coordinator's session.
    pub session: String,
    /// The run's directory.
    pub directory: PathBuf,
}

impl Network {
    /// Checks that nobody else coordinates a run of this name, and from now on answers whoever asks.
    pub async fn claim(&self) -> Result<(), ClusterError> {
        let trouble = |_| ();
        let answers = self.run.client.subscribe(self.run.subject("coordinator")).await.map_err(trouble);
        let inbox = self.run.client.new_inbox();
        let replies = self.run.client.subscribe(inbox.clone()).await.map_err(trouble);
        let (Ok(mut questions), Ok(mut replies)) = (answers, replies) else { return Ok(()) };
        let (client, session) = (self.run.client.clone(), self.session.clone());
        tokio::spawn(async move {
            while let Some(question) = questions.next().await {
                if let Some(reply) = question.reply {
                    let _ = client.publish(reply, session.clone().into()).await;
                }
            }
        });
        let _ = self.run.client.publish_with_reply(self.run.subject("coordinator"), inbox, "".into()).await;
        let mut other = None;
        let listening = async {
            while let Some(reply) = replies.next().await {
                let name = String::from_utf8_lossy(&reply.payload).into_owned();
                if name != self.session && !name.is_empty() {
                    other = Some(name);
                    break;
                }
            }
        };
        let _ = timeout(LISTEN, listening).await;
        let Some(other) = other else { return Ok(()) };
        Err(ClusterError::Refused(format!(
            "another coordinator works on a run `{}` at this broker ({other}). Stop it, or give this run's directory another name",
            self.run.name()
        )))
    }

    /// Works until it is told to end, and whether the run is finished; if not, it is to be resumed.
    pub async fn serve(self, mut end: UnboundedReceiver<bool>) {
        let network = Arc::new(self);
        let tasks = [tokio::spawn(network.clone().collect()), tokio::spawn(network.clone().listen())];
        let mut offers = Offers::default();
        let finished = loop {
            tokio::select! {
                finished = end.recv() => break finished == Some(true),
                () = network.shared.wake.notified() => {}
                () = sleep(TICK) => {}
            }
            tokio::select! {
                finished = end.recv() => break finished == Some(true),
                () = offers.tend(&network) => {}
            }
        };
        tasks.iter().for_each(|task| task.abort());
        network.write_status();
        if finished {
            let _ = timeout(2 * TIMEOUT, network.run.finish()).await;
        }
        // Does not wait for a broker that is away: nothing that is lost with it is needed.
        let _ = timeout(FAREWELL, network.run.client.flush()).await;
    }

    /// Collects results, from the first that the broker still has.
    async fn collect(self: Arc<Self>) {
        let mut failures = 0;
        loop {
            if failures > 0 {
                sleep(pause(failures)).await;
            }
            failures += 1;
            let reader = match self.run.results().await {
                Ok(reader) => reader,
                Err(error) => {
                    self.shared.teller.trouble(&broker_fails(&error));
                    continue;
                }
            };
            loop {
                while lock(&self.shared.state).inbox.len() >= MOST_WAITING {
                    sleep(Duration::from_millis(10)).await;
                }
                let batch = reader.fetch().max_messages(64).expires(Duration::from_secs(1)).messages();
                let Ok(mut batch) = batch.await else { break };
                let mut is_well = true;
                while let Some(message) = batch.next().await {
                    match message {
                        Ok(message) => {
                            failures = 0;
                            lock(&self.shared.state).inbox.push_back(message.payload.to_vec());
                            self.shared.changed.notify_one();
                        }
                        Err(_) => is_well = false,
                    }
                }
                // The reader may be gone, with the broker's memory or with the stream.
                if !is_well || reader.get_info().await.is_err() {
                    break;
                }
                failures = 0;
            }
        }
    }

    /// Listens for signs of life from workers.
    async fn listen(self: Arc<Self>) {
        let Ok(mut signs) = self.run.client.subscribe(self.run.subject("alive.*")).await else { return };
        while let Some(sign) = signs.next().await {
            let Ok(alive) = wire::text::<Alive>(&sign.payload) else { continue };
            if !is_plain_name(&alive.worker, MAX_NAME) || alive.program.len() > 100 {
                continue;
            }
            let news = lock(&self.shared.state).hear(&alive);
            news.iter().for_each(|news| self.shared.teller.tell(news));
            self.shared.wake.notify_one();
        }
    }

    fn write_status(&self) {
        let status = lock(&self.shared.state).status();
        if !status.workers.is_empty() {
            status.write_to_run(&self.directory);
        }
    }
}

/// What is offered, and what workers need for it.
#[derive(Default)]
struct Offers {
    /// Names of what is in the store.
    stored: HashSet<String>,
    /// Names of what was needed recently, the newest last.
    recent: Vec<String>,
    /// The generation whose jobs are at the broker.
    generation: Option<u32>,
    looked: Option<Instant>,
    was_connected: bool,
    failures: u32,
    not_before: Option<Instant>,
}

/// The file of weights and its name at the broker.
type Weights = (String, Arc<Vec<u8>>);

/// What is to be stored and offered now.
struct Plan {
    /// [`Job::key`] of the generation.
    key: String,
    weights: Weights,
    proof: Proof,
    /// Often those of an earlier generation.
    proof_weights: Weights,
}

impl Offers {
    /// Brings the broker up to date, unless it is in trouble.
    async fn tend(&mut self, network: &Network) {
        if self.not_before.is_some_and(|time| Instant::now() < time) {
            return;
        }
        if network.run.client.connection_state() != Connection::Connected {
            self.was_connected = false;
            return;
        }
        match self.try_tend(network).await {
            Ok(()) => {
                self.failures = 0;
                self.not_before = None;
                network.shared.teller.no_trouble();
            }
            Err(error) => {
                let teller = &network.shared.teller;
                teller.trouble(&match teller.forbidden() {
                    Some(what) => format!("the broker refuses: {what}"),
                    None => broker_fails(&error),
                });
                self.not_before = Some(Instant::now() + pause(self.failures));
                self.failures += 1;
            }
        }
    }

    async fn try_tend(&mut self, network: &Network) -> Result<(), String> {
        if !self.was_connected || self.looked.is_none_or(|looked| looked.elapsed() > LOOK) {
            let is_new = network.run.make().await?;
            if is_new || !self.was_connected {
                self.begin_again(network).await;
            }
            for name in &self.recent {
                if network.run.length_of(name).await.is_none() {
                    self.stored.remove(name);
                }
            }
            (self.looked, self.was_connected) = (Some(Instant::now()), true);
            network.write_status();
        }
        let shared = &network.shared;
        let (plan, current, left) = {
            let mut state = lock(&shared.state);
            let left = state.miss();
            let nobody = state.present().next().is_none();
            if nobody && let Some(generation) = &mut state.generation {
                generation.schedule.recall();
            }
            let current = state.generation.as_ref().map(|generation| generation.job.generation);
            (if nobody { None } else { plan(&state) }, current, left)
        };
        left.iter().for_each(|news| shared.teller.tell(news));
        if self.generation != current {
            if let Some(old) = self.generation {
                for what in ["jobs", "results"] {
                    network.run.purge(what, &format!("{what}.{old}.>")).await;
                }
            }
            self.generation = current;
        }
        let Some(plan) = plan else { return Ok(()) };
        self.store(network, &plan).await?;
        loop {
            let offers = next_offers(shared, &plan);
            if offers.is_empty() {
                return Ok(());
            }
            publish(network, offers).await?;
        }
    }

    /// Stores what workers will need, and removes what they will not.
    async fn store(&mut self, network: &Network, plan: &Plan) -> Result<(), String> {
        for (name, bytes) in [&plan.proof_weights, &plan.weights] {
            if self.stored.insert(name.clone()) {
                let stored = timeout(12 * TIMEOUT, network.run.put(name, bytes)).await;
                if let Err(error) = stored.unwrap_or_else(|_| Err("it takes no weights".to_owned())) {
                    self.stored.remove(name);
                    return Err(error);
                }
            }
            self.recent.retain(|other| other != name);
            self.recent.push(name.clone());
        }
        // Keeps the plan's two and the last generation's.
        let old: Vec<_> = self.recent.drain(..self.recent.len().saturating_sub(3)).collect();
        for name in old {
            self.stored.remove(&name);
            network.run.purge("weights", &format!("weights.{name}.>")).await;
        }
        Ok(())
    }

    /// Takes all offers back, and removes all weights, so that they are offered and stored again.
    async fn begin_again(&mut self, network: &Network) {
        self.stored.clear();
        network.run.purge("jobs", "jobs.>").await;
        network.run.purge("weights", "weights.>").await;
        if let Some(generation) = &mut lock(&network.shared.state).generation {
            generation.schedule.recall();
        }
    }
}

/// What workers need for the current generation, once it is known.
fn plan(state: &State) -> Option<Plan> {
    let generation = state.generation.as_ref()?;
    let weights = generation.weights.clone()?;
    let (proof, proof_weights) = state.proof.as_ref().filter(|(proof, _)| generation.is_proved_by(proof))?;
    Some(Plan {
        key: generation.job.key(),
        weights: (generation.job.weights.clone(), weights),
        proof: proof.clone(),
        proof_weights: (proof.job.weights.clone(), proof_weights.clone()),
    })
}

/// Jobs to be offered now: enough that workers always have another to begin when they finish one. None if the plan's generation is over:
/// the broker may lack what the next one needs.
fn next_offers(shared: &Shared, plan: &Plan) -> Vec<Offer> {
    let mut state = lock(&shared.state);
    let threads: Vec<usize> = state.present().map(|worker| worker.threads as usize).collect();
    let wanted: usize = threads.iter().map(|threads| 5 * threads + 12).sum();
    let all = state.threads();
    let planned = state.generation.as_mut().filter(|generation| generation.job.key() == plan.key);
    let Some(Generation { job, schedule, .. }) = planned else { return Vec::new() };
    let (mut offers, now) = (Vec::new(), Instant::now());
    while schedule.away() < wanted
        && offers.len() < 1000
        && let Some(games) = schedule.offer(all, now)
    {
        let job = Job { first: games.start, count: games.len() as u32, ..job.clone() };
        offers.push(Offer { job, proof: plan.proof.clone() });
    }
    offers
}

/// Offers jobs. One that the broker already has is no error.
async fn publish(network: &Network, offers: Vec<Offer>) -> Result<(), String> {
    let mut acks = Vec::new();
    for offer in offers {
        let subject = network.run.subject(&format!("jobs.{}.{}", offer.job.generation, offer.job.first));
        let message = PublishMessage::build().payload(to_text(&offer).into());
        acks.push(network.run.context.send_publish(subject, message).await.map_err(|error| error.to_string())?);
    }
    for ack in acks {
        if let Err(error) = ack.await
            && !is_there_already(&error)
        {
            return Err(error.to_string());
        }
    }
    Ok(())
}

fn is_there_already(error: &PublishError) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<jetstream::Error>());
    cause.is_some_and(|cause| cause.error_code() == ErrorCode::STREAM_STORE_FAILED)
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::super::teller::Teller;
    use super::*;
    use crate::storage::sha256;

    /// A generation whose weights are packed, as one byte.
    fn packed(generation: u32) -> Generation {
        let text = r#"{"depth":1,"exact-empties":2,"opening-plies":20,"exploration":0.1,"update":"td"}"#;
        let (play, bytes) = (serde_json::from_str(text).unwrap(), vec![generation as u8]);
        let job = Job { seed: 1, generation, first: 0, count: 1, play, weights: sha256(&bytes) };
        Generation { weights: Some(Arc::new(bytes)), ..Generation::new(job, Schedule::new(0..64)) }
    }

    /// Generation 2, with a proof of generation 1.
    fn state() -> State {
        let Generation { job, weights, .. } = packed(1);
        let proof = Some((Proof { job, digest: String::new() }, weights.unwrap()));
        State { generation: Some(packed(2)), proof, ..State::default() }
    }

    #[test]
    fn workers_get_the_weights_of_an_earlier_generations_proof() {
        let plan = plan(&state()).unwrap();
        for (weights, bytes) in [(plan.weights, 2), (plan.proof_weights, 1)] {
            assert_eq!(weights, (sha256(&[bytes]), Arc::new(vec![bytes])));
        }
    }

    #[test]
    fn no_jobs_are_offered_of_a_generation_that_came_after_the_plan() {
        let shared = Shared::new(Arc::new(Teller::new(|_| ())));
        *lock(&shared.state) = state();
        let alive = Alive { worker: "worker".into(), threads: 1, program: String::new(), leaving: false };
        lock(&shared.state).hear(&alive);
        let old = plan(&lock(&shared.state)).unwrap();
        let offered = next_offers(&shared, &old);
        assert!(!offered.is_empty());
        assert!(offered.iter().all(|offer| offer.job.generation == 2 && offer.proof == old.proof));
        let Generation { job, .. } = packed(3);
        let unpacked = Generation::new(Job { weights: String::new(), ..job }, Schedule::new(0..64));
        for next in [unpacked, packed(3)] {
            lock(&shared.state).generation = Some(next);
            assert!(next_offers(&shared, &old).is_empty());
        }
        let new = plan(&lock(&shared.state)).unwrap();
        assert!(!next_offers(&shared, &new).is_empty());
    }
}
