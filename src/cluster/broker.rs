//! Connecting to a broker safely.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, rustls};
use tokio::time::sleep;

use super::error::ClusterError;
use super::teller::Teller;

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

/// Prefix of the subjects of answers to workers, the only subjects that they may listen to.
pub const WORKER_INBOX: &str = "_INBOX_worker";
/// Prefix of the subjects of answers to the coordinator.
pub const COORDINATOR_INBOX: &str = "_INBOX_coordinator";

/// How long a request to the broker may take.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a last message to the broker may take.
pub const FAREWELL: Duration = Duration::from_secs(1);
/// The longest time until a stop, or a change without a signal, is noticed.
pub const MOMENT: Duration = Duration::from_millis(20);
/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The pause after a number of failed attempts in a row: it grows, up to half a minute.
pub fn pause(attempts: u32) -> Duration {
    (Duration::from_millis(250) * 2u32.pow(attempts.min(10))).min(LONGEST_PAUSE)
}

impl BrokerAddress {
    /// The host.
    ///
    /// # Errors
    /// It is not a broker address.
    fn host(&self) -> Result<String, ClusterError> {
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

    /// What the broker does not let us do, and what to do about it.
    pub(super) fn refused(&self, reason: String) -> ClusterError {
        ClusterError::Refused(format!("the broker at {} {reason}", self.shown()))
    }

    /// The error of a broker that keeps nothing for us.
    pub(super) fn without_streams(&self, reason: &str) -> ClusterError {
        self.refused(format!(
            "cannot keep jobs and results: {reason}. It needs JetStream (`nats-server -js`), room on its disk, and for `train` the \
             coordinator's key"
        ))
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
            let missing = match (self.has_tls(), self.key.is_some()) {
                (false, false) => "it has neither TLS nor a key",
                (false, true) => "it has no TLS",
                _ => "there is no key",
            };
            Err(ClusterError::Refused(format!(
                "{} is not on this machine, and {missing}: games and weights could be read and forged on the way. `flipside cluster \
                 config` makes the keys and certificates; or use --insecure, in a network that you trust",
                self.shown()
            )))
        }
    }

    fn options(&self, teller: &Teller) -> Result<ConnectOptions, ClusterError> {
        let unusable = |path: &Path, reason: &dyn Display| {
            let path = path.display();
            ClusterError::Refused(format!(
                "cannot use {path}: {reason}. `flipside cluster config` writes keys and certificates"
            ))
        };
        let mut options = ConnectOptions::new();
        if let Some(path) = &self.key {
            let text = std::fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
            let seed = text.trim();
            nkeys::KeyPair::from_seed(seed)
                .map_err(|error| unusable(path, &format_args!("it holds no nkey seed: {error}")))?;
            if is_open_to_others(path) {
                let path = path.display();
                teller.tell_once("key", &format!("others can read the key in {path}: `chmod 600` keeps it from them"));
            }
            options = ConnectOptions::with_nkey(seed.to_owned());
        }
        if let Some(path) = &self.ca {
            std::fs::read(path).map_err(|error| unusable(path, &error))?;
            options = options.add_root_certificates(path.clone());
        }
        Ok(options.require_tls(self.has_tls()).connection_timeout(TIMEOUT).request_timeout(Some(TIMEOUT)))
    }

    /// Connects. A connection that is lost later comes back by itself; both are told.
    ///
    /// # Errors
    /// What is wrong with the address, the keys, or the broker.
    async fn connect(&self, name: &str, inbox: &str, teller: &Arc<Teller>) -> Result<Client, ClusterError> {
        self.check()?;
        let options = self.options(teller)?;
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
        let options = options.name(name).custom_inbox_prefix(inbox).event_callback(event);
        let options = options.reconnect_delay_callback(|attempts| pause(attempts as u32));
        let client = options.connect(self.url.as_str()).await.map_err(|error| self.unconnected(&error))?;
        if client.server_info().jetstream { Ok(client) } else { Err(self.without_streams("it has none")) }
    }

    /// [`Self::connect`], but waits for a broker that is not there yet.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub(super) async fn connect_within(
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
                self.refused(match &self.key {
                    Some(path) => {
                        format!("refuses the key in {}: it is not one of the keys in its configuration", path.display())
                    }
                    None => "refuses clients without a key: give one with --broker-key".to_owned(),
                })
            }
            _ if is_tls => self.refused(format!(
                "gives no trusted connection ({reason}). --broker-ca takes the ca.pem that `flipside cluster config` wrote for this \
                 broker, and the address must be one that it was written for"
            )),
            _ => ClusterError::Unreachable { url: self.shown(), reason },
        }
    }
}

/// Whether users other than its owner can read a file.
#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
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
