//! What a run keeps at its broker: jobs, results, weights, and whether it is finished. Only the coordinator can write the last two.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{GetStreamErrorKind, PublishAckFuture};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, Request, RequestErrorKind, StatusCode, Subscriber};
use futures_util::{StreamExt, TryStreamExt};

use super::broker::TIMEOUT;
use super::error::ClusterError;
use super::{is_plain_name, wire};
use crate::storage::sha256;

/// Time after which a job that nobody works on is given to another worker.
pub const ACK_WAIT: Duration = Duration::from_secs(30);
/// Most bytes that results may take on the broker's disk.
const RESULTS_BYTES: i64 = 256 << 20;
/// Bytes of weights in a message.
const CHUNK: usize = 128 << 10;
/// How long a message of weights may take, at most as many as [`AT_ONCE`] being on their way.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(30);
const AT_ONCE: usize = 4;

/// The name of the consumer that all workers share.
const WORKERS: &str = "workers";
/// What says whether a run is finished.
const STATES: [&str; 2] = ["running", "finished"];

/// A run at a broker.
#[derive(Clone)]
pub(super) struct RunAtBroker {
    /// The connection.
    pub client: Client,
    /// The broker's streams.
    pub context: Context,
    run: String,
}

/// The name of a stream of a run.
fn stream_of(run: &str, what: &str) -> String {
    format!("flipside-{run}-{what}")
}

impl RunAtBroker {
    /// A run by its name, which [`check_run_name`] has checked.
    pub fn new(client: Client, run: &str) -> Self {
        let context = jetstream::context::ContextBuilder::new().timeout(TIMEOUT).build(client.clone());
        Self { client, context, run: run.to_owned() }
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.run
    }

    /// A subject of the run.
    pub fn subject(&self, rest: &str) -> String {
        format!("flipside.{}.{rest}", self.run)
    }

    fn streams(&self) -> [stream::Config; 3] {
        let jobs = stream::Config {
            name: stream_of(&self.run, "jobs"),
            subjects: vec![self.subject("jobs.>")],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            max_messages_per_subject: 1,
            max_message_size: wire::MAX_TEXT as i32,
            ..Default::default()
        };
        let results = stream::Config {
            name: stream_of(&self.run, "results"),
            subjects: vec![self.subject("results.>")],
            // The oldest make room: they were read long ago, and games that are lost are played again.
            discard: DiscardPolicy::Old,
            max_bytes: RESULTS_BYTES,
            max_message_size: wire::MAX_RESULT as i32 + 4096,
            duplicate_window: Duration::from_secs(120),
            ..Default::default()
        };
        let weights = stream::Config {
            name: stream_of(&self.run, "weights"),
            subjects: vec![self.subject("weights.>"), self.subject("state")],
            max_messages_per_subject: 1,
            max_message_size: CHUNK as i32 + 4096,
            allow_direct: true,
            ..Default::default()
        };
        [jobs, results, weights]
    }

    /// Creates what is missing. True if anything was.
    ///
    /// # Errors
    /// The broker does not do it.
    pub async fn make(&self) -> Result<bool, String> {
        let mut is_new = false;
        for config in self.streams() {
            if self.find(&config.name).await?.is_none() {
                self.context.create_stream(config).await.map_err(|error| error.to_string())?;
                is_new = true;
            }
        }
        let config = pull::Config {
            durable_name: Some(WORKERS.into()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_deliver: 5,
            max_ack_pending: 100_000,
            ..Default::default()
        };
        if let Some(jobs) = self.find(&stream_of(&self.run, "jobs")).await? {
            jobs.get_or_create_consumer(WORKERS, config).await.map_err(|error| error.to_string())?;
        }
        if self.is_finished().await != Some(false) {
            self.say_finished(false).await?;
            is_new = true;
        }
        Ok(is_new)
    }

    /// A stream; `None` if there is no such stream.
    async fn find(&self, name: &str) -> Result<Option<Stream>, String> {
        match self.context.get_stream(name).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(None),
                _ => Err(error.to_string()),
            },
        }
    }

    /// Asks for at most `most` jobs. They come one after the other; a message with a status says that there are no more, at the latest
    /// after `patience`.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn ask_for_jobs(&self, most: usize, patience: Duration) -> Result<Subscriber, String> {
        let inbox = self.client.new_inbox();
        let jobs = self.client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
        let wanted = format!(r#"{{"batch":{most},"expires":{}}}"#, patience.as_nanos());
        let next = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{WORKERS}", stream_of(&self.run, "jobs"));
        let asked = self.client.publish_with_reply(next, inbox, wanted.into()).await;
        asked.map(|()| jobs).map_err(|error| error.to_string())
    }

    /// A reader of all results, present and future.
    ///
    /// # Errors
    /// The broker does not let us.
    pub async fn results(&self) -> Result<PullConsumer, String> {
        let stream = self.find(&stream_of(&self.run, "results")).await?.ok_or("the results are gone")?;
        let config = pull::Config {
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(60),
            ..Default::default()
        };
        stream.create_consumer(config).await.map_err(|error| error.to_string())
    }

    /// Removes the messages with a subject from a stream.
    pub async fn purge(&self, what: &str, subject: &str) {
        let Ok(Some(stream)) = self.find(&stream_of(&self.run, what)).await else { return };
        // A failure does no harm: what stays is recognized by its key.
        let _ = stream.purge().filter(self.subject(subject)).await;
    }

    async fn publish(&self, subject: &str, bytes: Vec<u8>) -> Result<PublishAckFuture, String> {
        self.context.publish(self.subject(subject), bytes.into()).await.map_err(|error| error.to_string())
    }

    /// Stores weights by their name: chunks first, then their length.
    ///
    /// # Errors
    /// The broker does not take them.
    pub async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let mut stored = Vec::new();
        for (number, chunk) in bytes.chunks(CHUNK).enumerate() {
            stored.push(self.publish(&format!("weights.{name}.{number}"), chunk.to_vec()).await?);
        }
        for chunk in stored {
            chunk.await.map_err(|error| error.to_string())?;
        }
        let length = self.publish(&format!("weights.{name}.length"), bytes.len().to_string().into()).await?;
        length.await.map(drop).map_err(|error| error.to_string())
    }

    /// The length of weights in bytes; `None` if they are not stored.
    pub async fn length_of(&self, name: &str) -> Option<usize> {
        let text = self.last(&format!("weights.{name}.length"), TIMEOUT).await.ok()?;
        std::str::from_utf8(&text).ok()?.parse().ok()
    }

    /// The weights with a name, checked against it. It is soon known if they cannot be had.
    ///
    /// # Errors
    /// They are not there, too many, or do not match the name.
    pub async fn get(&self, name: &str, most: usize) -> Result<Vec<u8>, String> {
        let length = self.length_of(name).await.ok_or("they are not there any more")?;
        if length > most {
            return Err(format!("they have {length} bytes, and at most {most} are allowed"));
        }
        let subjects = (0..length.div_ceil(CHUNK)).map(|number| format!("weights.{name}.{number}"));
        let chunk = |subject: String| async move { self.last(&subject, CHUNK_TIMEOUT).await };
        let chunks: Vec<_> = futures_util::stream::iter(subjects).map(chunk).buffered(AT_ONCE).try_collect().await?;
        let bytes = chunks.concat();
        if sha256(&bytes) == name { Ok(bytes) } else { Err("their bytes do not match their name".to_owned()) }
    }

    /// The last message with a subject in the stream of weights.
    async fn last(&self, subject: &str, limit: Duration) -> Result<Vec<u8>, String> {
        let stream = stream_of(&self.run, "weights");
        let subject = format!("$JS.API.DIRECT.GET.{stream}.{}", self.subject(subject));
        let answer = self.client.send_request(subject, Request::new().timeout(Some(limit))).await;
        let answer = answer.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => "they are not there any more".to_owned(),
            _ => error.to_string(),
        })?;
        match answer.status {
            None => Ok(answer.payload.to_vec()),
            Some(StatusCode::NOT_FOUND) => Err("they are not there any more".to_owned()),
            Some(status) => Err(format!("status {status}")),
        }
    }

    /// Whether the run is finished; `None` if there is no such run, or the broker does not say.
    pub async fn is_finished(&self) -> Option<bool> {
        let state = self.last("state", TIMEOUT).await.ok()?;
        STATES.iter().position(|known| known.as_bytes() == state).map(|state| state == 1)
    }

    async fn say_finished(&self, is_finished: bool) -> Result<(), String> {
        let said = self.publish("state", STATES[usize::from(is_finished)].into()).await?;
        said.await.map(drop).map_err(|error| error.to_string())
    }

    /// Removes a finished run from the broker, except for the note that it is finished.
    pub async fn finish(&self) {
        let _ = self.say_finished(true).await;
        for what in ["jobs", "results"] {
            let _ = self.context.delete_stream(stream_of(&self.run, what)).await;
        }
        self.purge("weights", "weights.>").await;
    }
}

/// Checks that a name can be that of a run on a broker.
///
/// # Errors
/// It cannot.
pub fn check_run_name(run: &str) -> Result<(), ClusterError> {
    if is_plain_name(run, 64) {
        return Ok(());
    }
    Err(ClusterError::Refused(format!(
        "`{run}` cannot name a run on a broker: name the run's directory with 1 to 64 letters, digits, `-` and `_`"
    )))
}

/// What a worker may send to the coordinator's account: signs of life, games, requests for jobs, what has become of them, and requests
/// for weights. Answers reach nobody but workers.
pub fn worker_services(run: &str) -> [String; 5] {
    let (jobs, weights) = (stream_of(run, "jobs"), stream_of(run, "weights"));
    [
        format!("flipside.{run}.alive.*"),
        format!("flipside.{run}.results.>"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{jobs}.{WORKERS}"),
        format!("$JS.ACK.{jobs}.{WORKERS}.>"),
        format!("$JS.API.DIRECT.GET.{weights}.flipside.{run}.>"),
    ]
}
