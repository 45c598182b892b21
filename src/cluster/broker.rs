//! The broker: connecting to it safely, and what a run keeps there.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{ConsumerInfoError, ConsumerInfoErrorKind, GetStreamErrorKind};
use async_nats::jetstream::object_store::{self, ObjectStore};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, rustls};
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;
use tokio::time::sleep;

use super::error::ClusterError;
use super::news::Teller;
use super::{is_plain_name, wire};

/// Where a run's broker is, and how we identify ourselves.
#[derive(Clone, Debug, Default)]
pub struct BrokerAddress {
    /// `nats://HOST[:PORT]`, or `tls://...` if the broker must show a certificate.
    pub url: String,
    /// A file with our nkey's seed.
    pub key: Option<PathBuf>,
    /// The certificate, as PEM, of the authority that signed the broker's.
    pub ca: Option<PathBuf>,
    /// Whether to connect even if others could read and change what is sent.
    pub insecure: bool,
}

/// Prefix of the subjects of answers: workers must not see those to the coordinator.
pub const COORDINATOR_INBOX: &str = "_INBOX_coordinator";
/// See [`COORDINATOR_INBOX`].
pub const WORKER_INBOX: &str = "_INBOX_worker";

/// How long a request to the broker may take.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a last message to the broker may take.
pub const FAREWELL: Duration = Duration::from_secs(1);
/// The longest time until a stop is noticed.
pub const MOMENT: Duration = Duration::from_millis(50);
/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Time after which a job that nobody works on is given to another worker.
pub const ACK_WAIT: Duration = Duration::from_secs(30);
/// Most bytes that results may take on the broker's disk.
const RESULTS_BYTES: i64 = 256 << 20;

/// The pause after a number of failed attempts in a row: it grows, up to half a minute.
pub fn pause(attempts: u32) -> Duration {
    (Duration::from_millis(250) * 2u32.pow(attempts.min(10))).min(LONGEST_PAUSE)
}

impl BrokerAddress {
    /// The host.
    ///
    /// # Errors
    /// It is not a broker address.
    pub fn host(&self) -> Result<String, ClusterError> {
        let address = self.url.parse::<async_nats::ServerAddr>();
        let known =
            ["nats://", "tls://"].iter().any(|scheme| self.url.starts_with(scheme)) || !self.url.contains("://");
        match address {
            Ok(address) if known && !address.host().is_empty() => {
                Ok(address.host().trim_matches(['[', ']']).to_owned())
            }
            _ => Err(ClusterError::Address(self.shown())),
        }
    }

    /// The address for people to read: without user and password.
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").map_or(("", &*self.url), |(scheme, rest)| (scheme, rest));
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
    }

    fn has_tls(&self) -> bool {
        self.url.starts_with("tls://") || self.ca.is_some()
    }

    /// Checks that nobody can listen or join who should not: the broker is on this machine, or there are TLS and a key, or `insecure`
    /// says that it does not matter.
    fn check(&self) -> Result<(), ClusterError> {
        let host = self.host()?;
        let address = host.parse::<std::net::IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        if is_here || self.insecure || (self.has_tls() && self.key.is_some()) {
            Ok(())
        } else {
            Err(ClusterError::Unsafe { url: self.shown(), tls: self.has_tls(), key: self.key.is_some() })
        }
    }

    fn options(&self) -> Result<ConnectOptions, ClusterError> {
        let mut options = ConnectOptions::new();
        if let Some(path) = &self.key {
            let unreadable = |reason: String| ClusterError::Key { path: path.clone(), reason };
            let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
            let seed = text.trim();
            nkeys::KeyPair::from_seed(seed).map_err(|error| unreadable(format!("it holds no nkey seed: {error}")))?;
            options = ConnectOptions::with_nkey(seed.to_owned());
        }
        if let Some(path) = &self.ca {
            let readable = std::fs::read(path);
            readable.map_err(|error| ClusterError::Key { path: path.clone(), reason: error.to_string() })?;
            options = options.add_root_certificates(path.clone());
        }
        Ok(options.require_tls(self.has_tls()).connection_timeout(TIMEOUT).request_timeout(Some(TIMEOUT)))
    }

    /// Connects. A connection that is lost later comes back by itself; both are reported.
    ///
    /// # Errors
    /// What is wrong with the address, the keys, or the broker.
    pub async fn connect(&self, name: &str, inbox: &str, teller: &Arc<Teller>) -> Result<Client, ClusterError> {
        self.check()?;
        let teller = teller.clone();
        let event = move |event| {
            match event {
                Event::Disconnected => teller.lost(),
                Event::Connected => teller.back(),
                // To whoever asked, what the broker forbids looks like a timeout; here it says so.
                Event::ServerError(error) => {
                    let text = error.to_string();
                    if text.to_lowercase().contains("permissions violation") {
                        teller.forbid(&text);
                    }
                }
                _ => {}
            }
            async {}
        };
        let options = self.options()?.name(name).custom_inbox_prefix(inbox).event_callback(event);
        let options = options.reconnect_delay_callback(|attempts| pause(attempts as u32));
        options.connect(self.url.as_str()).await.map_err(|error| self.unconnected(&error))
    }

    /// [`Self::connect`], but waits for a broker that is not there yet.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_within(
        &self,
        wait: Duration,
        name: &str,
        inbox: &str,
        teller: &Arc<Teller>,
    ) -> Result<Client, ClusterError> {
        let began = Instant::now();
        let mut attempts = 0;
        loop {
            match self.connect(name, inbox, teller).await {
                Err(ClusterError::Unreachable { .. }) if began.elapsed() < wait => {
                    teller.lost();
                    sleep(pause(attempts).min(wait)).await;
                    attempts += 1;
                }
                result => return result,
            }
        }
    }

    fn unconnected(&self, error: &async_nats::ConnectError) -> ClusterError {
        let url = self.shown();
        let mut reason = error.to_string();
        let mut is_tls = error.kind() == ConnectErrorKind::Tls;
        let mut cause = error.source();
        while let Some(error) = cause {
            // TLS errors come as I/O errors.
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            is_tls |= inner.is_some_and(|inner| inner.is::<rustls::Error>());
            if !reason.contains(&error.to_string()) {
                reason = format!("{reason}: {error}");
            }
            cause = error.source();
        }
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                ClusterError::Refused { url, key: self.key.clone() }
            }
            _ if is_tls => ClusterError::Tls { url, reason },
            _ => ClusterError::Unreachable { url, reason },
        }
    }
}

/// A run on the broker.
#[derive(Clone)]
pub struct RunOnBroker {
    /// The connection.
    pub client: Client,
    /// The broker's streams.
    pub context: Context,
    run: String,
}

/// What the description of the stream of jobs begins with once there will be no more.
const FINISHED: &str = "finished";

fn is_finished(jobs: &stream::Config) -> bool {
    jobs.description.as_deref().is_some_and(|text| text.starts_with(FINISHED))
}

impl RunOnBroker {
    /// A run by its name.
    ///
    /// # Errors
    /// A name that a broker does not take.
    pub fn new(client: Client, run: &str) -> Result<Self, ClusterError> {
        check_run_name(run)?;
        let context = jetstream::context::ContextBuilder::new().timeout(TIMEOUT).build(client.clone());
        Ok(Self { client, context, run: run.to_owned() })
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.run
    }

    /// A subject of the run.
    pub fn subject(&self, rest: &str) -> String {
        format!("flipside.{}.{rest}", self.run)
    }

    /// The name of a stream of the run.
    pub fn stream(&self, what: &str) -> String {
        format!("flipside-{}-{what}", self.run)
    }

    fn jobs_config(&self) -> stream::Config {
        stream::Config {
            name: self.stream("jobs"),
            subjects: vec![self.subject("jobs.>")],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            max_messages_per_subject: 1,
            max_message_size: wire::MAX_TEXT as i32,
            ..Default::default()
        }
    }

    fn results_config(&self) -> stream::Config {
        stream::Config {
            name: self.stream("results"),
            subjects: vec![self.subject("results.>")],
            // The oldest make room: they were read long ago, and games that are lost are played again.
            discard: DiscardPolicy::Old,
            max_bytes: RESULTS_BYTES,
            max_message_size: wire::MAX_RESULT as i32 + 4096,
            duplicate_window: Duration::from_secs(120),
            ..Default::default()
        }
    }

    /// Creates what is missing. True if a stream or the store was.
    ///
    /// # Errors
    /// The broker does not do it.
    pub async fn make(&self) -> Result<bool, String> {
        let mut is_new = false;
        for config in [self.jobs_config(), self.results_config()] {
            match self.find(&config.name).await? {
                Some(mut stream) => {
                    let finished = stream.info().await.is_ok_and(|info| is_finished(&info.config));
                    if finished {
                        self.context.update_stream(config).await.map_err(|error| error.to_string())?;
                    }
                }
                None => {
                    self.context.create_stream(config).await.map_err(|error| error.to_string())?;
                    is_new = true;
                }
            }
        }
        if self.store().await.is_err() {
            let config = object_store::Config { bucket: self.stream("weights"), ..Default::default() };
            self.context.create_object_store(config).await.map_err(|error| error.to_string())?;
            is_new = true;
        }
        self.workers().await?;
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

    /// Creates the consumer that all workers share, unless the run has no stream of jobs.
    ///
    /// # Errors
    /// The broker does not let us.
    async fn workers(&self) -> Result<(), String> {
        let config = pull::Config {
            durable_name: Some("workers".into()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            max_deliver: 5,
            max_ack_pending: 100_000,
            ..Default::default()
        };
        let Some(stream) = self.find(&self.stream("jobs")).await? else { return Ok(()) };
        stream.get_or_create_consumer("workers", config).await.map(drop).map_err(|error| error.to_string())
    }

    /// Where workers take jobs from, and whether the run is finished; `None` if there is no such run, or not all of it yet.
    ///
    /// # Errors
    /// The broker does not say.
    pub async fn jobs(&self) -> Result<Option<(PullConsumer, bool)>, String> {
        let Some(mut stream) = self.find(&self.stream("jobs")).await? else { return Ok(None) };
        let info = stream.info().await.map_err(|error| error.to_string())?;
        let finished = is_finished(&info.config);
        match stream.get_consumer::<pull::Config>("workers").await {
            Ok(consumer) => Ok(Some((consumer, finished))),
            Err(error) => match error.downcast_ref().map(ConsumerInfoError::kind) {
                Some(ConsumerInfoErrorKind::NotFound) => Ok(None),
                _ => Err(error.to_string()),
            },
        }
    }

    /// A reader of all results, present and future.
    ///
    /// # Errors
    /// The broker does not let us.
    pub async fn results(&self) -> Result<PullConsumer, String> {
        let stream = self.find(&self.stream("results")).await?.ok_or("the results are gone")?;
        let config = pull::Config {
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_secs(60),
            ..Default::default()
        };
        stream.create_consumer(config).await.map_err(|error| error.to_string())
    }

    /// Removes jobs or results (`what`), all of them or those of one subject.
    pub async fn purge(&self, what: &str, filter: Option<String>) {
        let Ok(Some(stream)) = self.find(&self.stream(what)).await else { return };
        // A failure does no harm: what stays is recognized by its key.
        match filter {
            Some(filter) => drop(stream.purge().filter(filter).await),
            None => drop(stream.purge().await),
        }
    }

    /// The objects: weights and proofs by their hash.
    ///
    /// # Errors
    /// The broker does not let us, or there are none.
    pub async fn store(&self) -> Result<ObjectStore, String> {
        self.context.get_object_store(self.stream("weights")).await.map_err(|error| error.to_string())
    }

    /// Stores bytes by their hash.
    ///
    /// # Errors
    /// The broker does not take them.
    pub async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let store = self.store().await?;
        let mut bytes = bytes;
        store.put(name, &mut bytes).await.map(drop).map_err(|error| error.to_string())
    }

    /// The bytes with a name, checked against it.
    ///
    /// # Errors
    /// They are not there, too many, or do not match the name.
    pub async fn get(&self, name: &str, most: usize) -> Result<Vec<u8>, String> {
        let store = self.store().await?;
        let mut object = store.get(name).await.map_err(|error| error.to_string())?;
        let size = object.info().size;
        if size > most {
            return Err(format!("{size} bytes where at most {most} are allowed"));
        }
        let mut bytes = Vec::with_capacity(size);
        let mut limited = (&mut object).take(most as u64 + 1);
        limited.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
        wire::check_hash(name, &bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Removes all objects but these.
    pub async fn keep_only(&self, names: &[String]) {
        let Ok(store) = self.store().await else { return };
        let Ok(mut list) = store.list().await else { return };
        let mut old = Vec::new();
        while let Some(Ok(object)) = list.next().await {
            if !names.contains(&object.name) {
                old.push(object.name);
            }
        }
        for name in old {
            let _ = store.delete(&name).await;
        }
    }

    /// Removes a finished run from the broker, except for the note that it is finished.
    pub async fn finish(&self) {
        self.purge("jobs", None).await;
        let config = stream::Config { description: Some(FINISHED.into()), ..self.jobs_config() };
        let _ = self.context.update_stream(config).await;
        let _ = self.context.delete_stream(self.stream("results")).await;
        let _ = self.context.delete_object_store(self.stream("weights")).await;
    }
}

/// Checks that a name can be that of a run on a broker.
///
/// # Errors
/// It cannot.
pub fn check_run_name(run: &str) -> Result<(), ClusterError> {
    if is_plain_name(run, 64) { Ok(()) } else { Err(ClusterError::RunName(run.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        let shown = |url: &str| BrokerAddress { url: url.to_owned(), ..BrokerAddress::default() }.shown();
        let given = ["nats://head:4222", "tls://user:p@ss@head", "user:secret@head:4222", "head"];
        assert_eq!(given.map(shown), ["nats://head:4222", "tls://head", "head:4222", "head"]);
    }
}
