//! Messages that no worker or coordinator of ours would send.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::{self, Context, object_store, stream};
use flipside::cluster::wire::{Alive, Job, Proof, ResultLine, result_to_bytes, to_text};
use flipside::eval::PatternEvaluator;
use flipside::games::frame;
use flipside::selfplay::{FRAME, SelfPlay};
use flipside::storage::sha256;
use flipside::weights::WeightFile;
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;

use super::support::*;
use crate::calling::constant_weights;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn delete_streams(url: &str, run: &str) {
    block_on(async {
        let context = jetstream::new(async_nats::connect(url).await.unwrap());
        for stream in ["jobs", "results"].map(|what| format!("flipside-{run}-{what}")) {
            context.delete_stream(stream).await.unwrap();
        }
        context.delete_object_store(format!("flipside-{run}-weights")).await.unwrap();
    });
}

/// A worker made by the test.
struct Impostor {
    context: Context,
    name: &'static str,
}

impl Impostor {
    async fn new(url: &str, name: &'static str) -> Self {
        Self { context: jetstream::new(async_nats::connect(url).await.unwrap()), name }
    }

    async fn give_sign(&self) {
        let alive = Alive { worker: self.name.into(), threads: 1, program: "none".into(), leaving: false };
        let client = self.context.client();
        client.publish(format!("flipside.run.alive.{}", self.name), to_text(&alive).into()).await.unwrap();
        client.flush().await.unwrap();
    }

    /// A job, as soon as there is one, and how to play it.
    async fn job(&self) -> (Job, PatternEvaluator) {
        loop {
            self.give_sign().await;
            let consumer: Result<PullConsumer, _> =
                self.context.get_consumer_from_stream("workers", "flipside-run-jobs").await;
            if let Ok(consumer) = consumer {
                let mut batch =
                    consumer.fetch().max_messages(1).expires(Duration::from_secs(1)).messages().await.unwrap();
                if let Some(Ok(message)) = batch.next().await {
                    message.ack().await.unwrap();
                    let job = Job::from_bytes(&message.payload).unwrap();
                    let evaluator = self.evaluator(&job).await;
                    return (job, evaluator);
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn evaluator(&self, job: &Job) -> PatternEvaluator {
        let store = self.context.get_object_store("flipside-run-weights").await.unwrap();
        let mut bytes = Vec::new();
        store.get(&job.weights).await.unwrap().read_to_end(&mut bytes).await.unwrap();
        let file = WeightFile::from_bytes(&bytes).unwrap();
        file.evaluator().unwrap()
    }

    async fn publish(&self, job: &Job, bytes: Vec<u8>) {
        let subject = format!("flipside.run.results.{}.{}", job.generation, job.first);
        self.context.publish(subject, bytes.into()).await.unwrap().await.unwrap();
    }
}

/// The message with a job's games; those of another seed are as legal as any.
fn result(job: &Job, evaluator: &PatternEvaluator, worker: &str, seed: u64) -> Vec<u8> {
    let players = SelfPlay::new(evaluator, job.play);
    let games = job.first..job.first + job.count;
    let frames = games.clone().step_by(FRAME as usize).map(|first| {
        let numbers = first..(first + FRAME).min(games.end);
        frame(first, &players.play_here(seed, job.generation, numbers, &AtomicBool::new(false)).unwrap())
    });
    let frames: Vec<_> = frames.collect();
    let (key, worker) = (job.key(), worker.to_owned());
    result_to_bytes(&ResultLine { key, worker, first: job.first, count: job.count }, &frames)
}

#[test]
fn wrong_contradicting_and_senseless_games_are_not_accepted() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    block_on(async {
        let liar = Impostor::new(&broker.url(), "liar").await;
        // Legal games, but not those asked for: the coordinator always plays a worker's first games too. Games that come after their
        // generation is over do not count.
        let job = loop {
            let (job, evaluator) = liar.job().await;
            liar.publish(&job, result(&job, &evaluator, "liar", job.seed + 1)).await;
            if train.said().contains("worker `liar` is refused: its games") {
                break job;
            }
        };
        // Unreadable bytes.
        liar.publish(&job, b"no line".to_vec()).await;
        liar.publish(&job, [to_text(&job), b"\n".to_vec()].concat()).await;
        // A job that nobody can play.
        let nonsense = "flipside.run.jobs.0.4000000000";
        liar.context.publish(nonsense, "{}".into()).await.unwrap().await.unwrap();
        // A worker that delivers twice, and then something else under the same number.
        let waverer = Impostor::new(&broker.url(), "waverer").await;
        let (job, evaluator) = waverer.job().await;
        let right = result(&job, &evaluator, "waverer", job.seed);
        for bytes in [right.clone(), right, result(&job, &evaluator, "waverer", job.seed + 1)] {
            waverer.publish(&job, bytes).await;
        }
    });
    let mut worker = worker(folder, "worker", &broker.url(), "run");
    worker.wait_for("as the coordinator did");
    train.wait_for("ignored a message");
    stop(&mut train);
    finish(folder, "run", Some(&broker.url()), &[]);
    assert_undisturbed(&folder.join("run"));
    worker.ends_with(0);
}

#[test]
fn there_is_room_for_results_however_many_came_before() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    wait_for_more(&mut train, &folder.join("run"), 1);
    stop(&mut train);
    block_on(async {
        let context = jetstream::new(async_nats::connect(broker.url()).await.unwrap());
        // More than the 256 MiB that results may take.
        let bytes = vec![0; 512 << 10];
        for number in 0..520 {
            let subject = format!("flipside.run.results.0.{number}");
            context.publish(subject, bytes.clone().into()).await.unwrap().await.unwrap();
        }
    });
}

/// Messages that no version of ours can read.
const OTHER_WEIGHTS: &[u8] = b"weights of another version";

/// Gives a worker three jobs with a proof; whatever it thinks of them, they stay for others.
fn meets(proof: impl Fn(&mut Proof), job: impl Fn(&mut Job), code: i32) -> Option<String> {
    let folder = folder()?;
    let broker = Broker::start(folder.path());
    let mut worker = worker(folder.path(), "worker", &broker.url(), "run");
    block_on(async {
        let context = jetstream::new(async_nats::connect(broker.url()).await.unwrap());
        let config = object_store::Config { bucket: "flipside-run-weights".into(), ..Default::default() };
        let store = context.create_object_store(config).await.unwrap();
        let weights = fs::read(constant_weights(folder.path(), 0)).unwrap();
        for bytes in [&weights[..], OTHER_WEIGHTS] {
            store.put(&*sha256(bytes), &mut &*bytes).await.unwrap();
        }
        let mut wanted = Job::from_bytes(
            format!(
                "{{\"seed\":1,\"generation\":0,\"first\":0,\"count\":4,\"play\":{{\"depth\":1,\"exact-empties\":4,\
                \"opening-plies\":4,\"exploration\":0.0,\"update\":\"td\"}},\"weights\":\"{0}\",\"proof\":\"{0}\"}}",
                sha256(&weights)
            )
            .as_bytes(),
        )
        .unwrap();
        let mut asked = Proof { job: wanted.clone(), digest: sha256(b"other games") };
        proof(&mut asked);
        let asked = to_text(&asked);
        store.put(&*sha256(&asked), &mut &asked[..]).await.unwrap();
        wanted.proof = sha256(&asked);
        job(&mut wanted);
        let subjects = vec!["flipside.run.jobs.>".into()];
        let config = stream::Config {
            name: "flipside-run-jobs".into(),
            subjects,
            retention: stream::RetentionPolicy::WorkQueue,
            ..Default::default()
        };
        let jobs = context.create_stream(config).await.unwrap();
        for number in 0..3 {
            let subject = format!("flipside.run.jobs.0.{number}");
            context.publish(subject, to_text(&wanted).into()).await.unwrap().await.unwrap();
        }
        let config = pull::Config { durable_name: Some("workers".into()), ..Default::default() };
        jobs.create_consumer(config).await.unwrap();
    });
    if code == 75 {
        worker.wait_for("has trouble");
        worker.signal(rustix::process::Signal::TERM);
    }
    let said = worker.ends_with(code);
    let left = block_on(async {
        let context = jetstream::new(async_nats::connect(broker.url()).await.unwrap());
        context.get_stream("flipside-run-jobs").await.unwrap().cached_info().state.messages
    });
    assert_eq!(left, 3, "{said}");
    Some(said)
}

#[test]
fn a_build_that_plays_other_games_is_refused_with_the_reason() {
    let Some(said) = meets(|_| (), |_| (), 1) else { return };
    assert!(said.contains("this build plays different games from the coordinator's"), "{said}");
    assert!(said.contains("Install exactly the version"), "{said}");
}

#[test]
fn a_worker_trusts_nobody() {
    // A proof that asks for an endless search is not begun, and one that does not match its name does not count.
    let Some(said) = meets(|proof| proof.job.play.strength.depth = 60, |_| (), 1) else { return };
    assert!(said.contains("`depth` is 60"), "{said}");
    let said = meets(|_| (), |job| job.proof = sha256(b"another"), 75).unwrap();
    assert!(said.contains("the broker has trouble"), "{said}");
}

#[test]
fn a_worker_of_another_version_ends_and_says_what_to_install() {
    let Some(of_job) = meets(|_| (), |job| job.count = 0, 1) else { return };
    let of_proof = meets(|proof| proof.digest = "of another kind".into(), |_| (), 1).unwrap();
    let of_weights = meets(|proof| proof.job.weights = sha256(OTHER_WEIGHTS), |_| (), 1).unwrap();
    for (said, what) in [(of_job, "jobs"), (of_proof, "the proof"), (of_weights, "the weights")] {
        assert!(said.contains(&format!("cannot read {what} of the run")), "{said}");
        assert!(said.contains("Install the version that the coordinator runs"), "{said}");
    }
}

#[test]
fn a_later_versions_sign_of_life_counts() {
    let sign = r#"{"worker":"one","threads":2,"program":"flipside 9","leaving":false,"mood":"good"}"#;
    assert_eq!(flipside::cluster::wire::text::<Alive>(sign.as_bytes()).unwrap().threads, 2);
}
