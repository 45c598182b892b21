//! Messages that no worker or coordinator of ours would send.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::{self, Context, stream};
use flipside::cluster::wire::{Alive, Job, Offer, Proof, ResultLine, digest_of, result_to_bytes, to_text};
use flipside::eval::PatternEvaluator;
use flipside::games::frame;
use flipside::selfplay::{FRAME, GameRecord, SelfPlay};
use flipside::storage::sha256;
use flipside::weights::WeightFile;
use futures_util::StreamExt;

use super::support::*;
use crate::calling::constant_weights;

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub fn delete_streams(url: &str, run: &str) {
    block_on(async {
        let context = jetstream::new(async_nats::connect(url).await.unwrap());
        for stream in ["jobs", "results", "weights"].map(|what| format!("flipside-{run}-{what}")) {
            context.delete_stream(stream).await.unwrap();
        }
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
                    let Offer { job, .. } = Offer::from_bytes(&message.payload).unwrap();
                    let evaluator = self.evaluator(&job).await;
                    return (job, evaluator);
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn evaluator(&self, job: &Job) -> PatternEvaluator {
        let stream = self.context.get_stream("flipside-run-weights").await.unwrap();
        let read = async |what: String| {
            let subject = format!("flipside.run.weights.{}.{what}", job.weights);
            stream.get_last_raw_message_by_subject(&subject).await.map(|message| message.payload.to_vec())
        };
        let length: usize = String::from_utf8(read("length".into()).await.unwrap()).unwrap().parse().unwrap();
        let mut bytes = Vec::new();
        for number in 0.. {
            if bytes.len() >= length {
                break;
            }
            bytes.extend(read(number.to_string()).await.unwrap());
        }
        let file = WeightFile::from_bytes(&bytes).unwrap();
        file.evaluator().unwrap()
    }

    async fn publish(&self, job: &Job, bytes: Vec<u8>) {
        let subject = format!("flipside.run.results.{}.{}", job.generation, job.first);
        self.context.publish(subject, bytes.into()).await.unwrap().await.unwrap();
    }
}

/// The games of a job with another seed, which are as legal as any, by frame.
fn games(job: &Job, evaluator: &PatternEvaluator, seed: u64) -> Vec<Vec<GameRecord>> {
    let players = SelfPlay::new(evaluator, job.play);
    let games = job.games();
    let frames = games.clone().step_by(FRAME as usize).map(|first| first..(first + FRAME).min(games.end));
    frames.map(|games| players.play_here(seed, job.generation, games, &AtomicBool::new(false)).unwrap()).collect()
}

/// The message with a job's games.
fn result(job: &Job, worker: &str, games: &[Vec<GameRecord>]) -> Vec<u8> {
    let numbers = job.games().step_by(FRAME as usize);
    let frames: Vec<_> = numbers.zip(games).map(|(first, games)| frame(first, games)).collect();
    let (key, worker) = (job.key(), worker.to_owned());
    result_to_bytes(&ResultLine { key, worker, first: job.first, count: job.count }, &frames)
}

#[test]
fn damaged_and_senseless_games_cannot_enter_and_a_flood_of_them_is_told_once() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    let events = || fs::read_to_string(folder.join("run/metrics.jsonl")).unwrap_or_default();
    // The events say whose games they were.
    let delivered = |worker: &str| events().lines().any(|line| line.contains("\"delivered\"") && line.contains(worker));
    block_on(async {
        let impostor = Impostor::new(&broker.url(), "impostor").await;
        // Right games, each delivered twice, until some were taken.
        let (job, right) = loop {
            let (job, evaluator) = impostor.job().await;
            let right = result(&job, "impostor", &games(&job, &evaluator, job.seed));
            impostor.publish(&job, right.clone()).await;
            impostor.publish(&job, right.clone()).await;
            if delivered("\"impostor\":[[") {
                break (job, right);
            }
        };
        let mut damaged = right;
        let last = damaged.len() - 9;
        damaged[last] ^= 0x55;
        impostor.publish(&job, damaged).await;
        for number in 0..2000u32 {
            impostor.publish(&job, number.to_be_bytes().to_vec()).await;
        }
        impostor.publish(&job, [to_text(&job), b"\n".to_vec()].concat()).await;
        // A job that nobody can play.
        let nonsense = "flipside.run.jobs.0.4000000000";
        impostor.context.publish(nonsense, "{}".into()).await.unwrap().await.unwrap();
    });
    let mut worker = worker(folder, "worker", &broker.url(), "run");
    worker.wait_for("as the coordinator did");
    train.wait_for("ignored a message");
    wait_for_more(&mut train, &folder.join("run"), 2);
    let said = stop(&mut train);
    assert_eq!(said.matches("ignored a message").count(), 1, "{said}");
    finish(folder, "run", Some(&broker.url()), &[]);
    assert_undisturbed(&folder.join("run"));
    worker.ends_with(0);
}

#[test]
fn games_of_a_worker_that_lies_are_named_afterwards() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    let job = block_on(async {
        let liar = Impostor::new(&broker.url(), "liar").await;
        loop {
            let (job, evaluator) = liar.job().await;
            liar.publish(&job, result(&job, "liar", &games(&job, &evaluator, job.seed + 1))).await;
            let events = fs::read_to_string(folder.join("run/metrics.jsonl")).unwrap_or_default();
            if events.lines().any(|line| line.contains("\"delivered\"")) {
                break job;
            }
        }
    });
    stop(&mut train);
    finish(folder, "run", None, &[]);
    let verify = |share: &str| {
        let output = flipside(&["verify", "--share", share, "--seed", "1"]).arg(folder.join("run")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, named, said) = verify("1");
    assert_eq!(code, Some(1), "{named}{said}");
    let rows: Vec<Vec<&str>> = named.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.contains(&"liar")), "{named}{said}; {job:?}");
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

/// A broker with what a coordinator keeps there.
struct Counterfeit {
    folder: tempfile::TempDir,
    broker: Broker,
    weights: Vec<u8>,
}

impl Counterfeit {
    /// With two files of weights, one that no version can read and one of constants.
    fn new() -> Option<Self> {
        let folder = folder()?;
        let broker = Broker::start(folder.path());
        let weights = fs::read(constant_weights(folder.path(), 0)).unwrap();
        let counterfeit = Self { folder, broker, weights };
        counterfeit.with(async |context| {
            let create = async |what: &str, subjects: &[&str], retention, allow_direct| {
                let name = format!("flipside-run-{what}");
                let subjects = subjects.iter().map(|subject| format!("flipside.run.{subject}")).collect();
                let config = stream::Config { name, subjects, retention, allow_direct, ..Default::default() };
                context.create_stream(config).await.unwrap()
            };
            let jobs = create("jobs", &["jobs.>"], stream::RetentionPolicy::WorkQueue, false).await;
            create("results", &["results.>"], stream::RetentionPolicy::Limits, false).await;
            create("weights", &["weights.>", "state"], stream::RetentionPolicy::Limits, true).await;
            let config = pull::Config { durable_name: Some("workers".into()), ..Default::default() };
            jobs.create_consumer(config).await.unwrap();
            let publish = async |subject: String, bytes: Vec<u8>| {
                let subject = format!("flipside.run.{subject}");
                context.publish(subject, bytes.into()).await.unwrap().await.unwrap();
            };
            for bytes in [&counterfeit.weights[..], OTHER_WEIGHTS] {
                let name = sha256(bytes);
                for (number, chunk) in bytes.chunks(128 << 10).enumerate() {
                    publish(format!("weights.{name}.{number}"), chunk.to_vec()).await;
                }
                publish(format!("weights.{name}.length"), bytes.len().to_string().into()).await;
            }
            // Weights that were removed while somebody reads them.
            publish(format!("weights.{}.length", sha256(b"gone")), b"1000000".to_vec()).await;
            publish("state".into(), b"running".to_vec()).await;
        });
        Some(counterfeit)
    }

    fn with<T>(&self, what: impl AsyncFnOnce(Context) -> T) -> T {
        block_on(async { what(jetstream::new(async_nats::connect(self.broker.url()).await.unwrap())).await })
    }

    /// A job of four games, with the proof that they are.
    fn offer(&self) -> Offer {
        let text = format!(
            "{{\"seed\":1,\"generation\":0,\"first\":0,\"count\":4,\"play\":{{\"depth\":1,\"exact-empties\":4,\
            \"opening-plies\":4,\"exploration\":0.0,\"update\":\"td\"}},\"weights\":\"{}\"}}",
            sha256(&self.weights)
        );
        let job: Job = serde_json::from_str(&text).unwrap();
        let evaluator = WeightFile::from_bytes(&self.weights).unwrap().evaluator().unwrap();
        let digest = digest_of(&games(&job, &evaluator, job.seed).concat());
        Offer { proof: Proof { job: job.clone(), digest }, job }
    }

    fn publish(&self, number: u32, offer: &Offer) {
        self.with(async |context| {
            let subject = format!("flipside.run.jobs.0.{number}");
            context.publish(subject, to_text(offer).into()).await.unwrap().await.unwrap();
        });
    }

    fn messages(&self, stream: &str) -> u64 {
        let stream = format!("flipside-run-{stream}");
        self.with(async |context| context.get_stream(stream).await.unwrap().cached_info().state.messages)
    }

    fn worker(&self) -> Process {
        worker(self.folder.path(), "worker", &self.broker.url(), "run")
    }
}

/// Messages that no version of ours can read.
const OTHER_WEIGHTS: &[u8] = b"weights of another version";

/// Gives a worker three jobs, at which it ends with 1; they stay for others.
fn meets(change: impl Fn(&mut Offer)) -> Option<String> {
    let counterfeit = Counterfeit::new()?;
    let mut offer = counterfeit.offer();
    change(&mut offer);
    (0..3).for_each(|number| counterfeit.publish(number, &offer));
    let said = counterfeit.worker().ends_with(1);
    assert_eq!(counterfeit.messages("jobs"), 3, "{said}");
    Some(said)
}

#[test]
fn a_worker_that_cannot_have_weights_says_so_and_takes_the_next_job() {
    let Some(counterfeit) = Counterfeit::new() else { return };
    let right = counterfeit.offer();
    let mut worker = counterfeit.worker();
    for (number, weights) in [sha256(b"never there"), sha256(b"gone")].into_iter().enumerate() {
        counterfeit.publish(number as u32, &Offer { job: Job { weights, ..right.job.clone() }, ..right.clone() });
    }
    worker.wait_for("no weights for a job");
    counterfeit.publish(2, &right);
    while counterfeit.messages("results") == 0 {
        assert!(worker.is_running(), "{}", worker.said());
        pause();
    }
    worker.signal(rustix::process::Signal::TERM);
    let said = worker.ends_with(75);
    assert!((1..3).contains(&said.matches("no weights for a job").count()), "{said}");
    assert!(!said.contains("disk full"), "{said}");
}

#[test]
fn a_build_that_plays_other_games_is_refused_with_the_reason() {
    let Some(said) = meets(|offer| offer.proof.digest = sha256(b"other games")) else { return };
    assert!(said.contains("this build plays different games from the coordinator's"), "{said}");
    assert!(said.contains("Install exactly the version"), "{said}");
}

#[test]
fn a_worker_of_another_version_ends_and_says_what_to_install() {
    // A proof that asks for an endless search is not begun either.
    let Some(endless) = meets(|offer| offer.proof.job.play.strength.depth = 60) else { return };
    assert!(endless.contains("`depth` is 60"), "{endless}");
    let of_job = meets(|offer| offer.job.count = 0).unwrap();
    let of_proof = meets(|offer| offer.proof.digest = "of another kind".into()).unwrap();
    let of_weights = meets(|offer| offer.proof.job.weights = sha256(OTHER_WEIGHTS)).unwrap();
    for (said, what) in [(endless, "jobs"), (of_job, "jobs"), (of_proof, "jobs"), (of_weights, "weights")] {
        assert!(said.contains(&format!("cannot read the {what} of the run")), "{said}");
        assert!(said.contains("Install exactly the version of flipside that the coordinator runs"), "{said}");
    }
}

#[test]
fn a_later_versions_sign_of_life_counts() {
    let sign = r#"{"worker":"one","threads":2,"program":"flipside 9","leaving":false,"mood":"good"}"#;
    assert_eq!(flipside::cluster::wire::text::<Alive>(sign.as_bytes()).unwrap().threads, 2);
}
