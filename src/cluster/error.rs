//! What can go wrong between machines.

use std::path::PathBuf;

/// Why work in a cluster cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Not a broker address.
    #[error("`{0}` is not a broker address, like nats://localhost, nats://10.0.0.1:4222 or tls://broker.example")]
    Address(String),
    /// A connection that others can listen to.
    #[error(
        "{url} is not on this machine, and {}: games and weights could be read and forged on the way. `flipside cluster config` \
         makes the keys and certificates; or use --insecure, in a network that you trust",
        missing(*.tls, *.key)
    )]
    Unsafe {
        /// The address.
        url: String,
        /// Whether the broker must show a certificate.
        tls: bool,
        /// Whether we have a key.
        key: bool,
    },
    /// A key or certificate that cannot be used.
    #[error("cannot use {path}: {reason}. `flipside cluster config` writes keys and certificates")]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A name that no broker takes.
    #[error("`{0}` cannot name a run on a broker: name the run's directory with 1 to 64 letters, digits, `-` and `_`")]
    RunName(String),
    /// Nobody answers.
    #[error("no broker answers at {url} ({reason}). Start one (`nats-server -js`), or correct the address")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        reason: String,
    },
    /// The broker does not know us.
    #[error("the broker at {url} refuses {}", refused(.key))]
    Refused {
        /// The address.
        url: String,
        /// The file with our key.
        key: Option<PathBuf>,
    },
    /// The broker knows us, but does not allow this.
    #[error(
        "the broker does not allow this key to work for a run `{run}` ({what}): use the worker's key that \
         `flipside cluster config --run {run}` wrote"
    )]
    Forbidden {
        /// The run's name.
        run: String,
        /// What the broker said.
        what: String,
    },
    /// Certificates that do not fit.
    #[error(
        "no trusted connection to {url} ({reason}). --broker-ca takes the ca.pem that `flipside cluster config` wrote for this \
         broker, and the address must be one that it was written for"
    )]
    Tls {
        /// The address.
        url: String,
        /// What TLS said.
        reason: String,
    },
    /// A broker without streams, or one that does not let us use them.
    #[error(
        "the broker at {url} cannot keep jobs and results: {reason}. It needs JetStream (`nats-server -js`), room on its disk, and \
         for `train` the coordinator's key"
    )]
    NoStreams {
        /// The address.
        url: String,
        /// What it said.
        reason: String,
    },
    /// No such run.
    #[error(
        "no run `{run}` at {url}. A run is named after its directory: `flipside train --cluster {url} --run runs/{run}` starts it"
    )]
    UnknownRun {
        /// Its name.
        run: String,
        /// The broker.
        url: String,
    },
    /// Another run of the same name.
    #[error(
        "another coordinator works on a run `{run}` at this broker ({other}). Stop it, or give this run's directory another name"
    )]
    Taken {
        /// The name.
        run: String,
        /// Who it is.
        other: String,
    },
    /// A worker whose build plays other games.
    #[error(
        "this build plays different games from the coordinator's: for {games} games of generation {generation}, their digest is \
         {here} here and {there} there. Install exactly the version of flipside that the coordinator runs; if it is the same, check \
         this machine's memory"
    )]
    OtherBuild {
        /// Games that were played.
        games: u32,
        /// Of which generation.
        generation: u32,
        /// Their digest here.
        here: String,
        /// Their digest there.
        there: String,
    },
    /// A worker that cannot read what the coordinator offers.
    #[error(
        "cannot read {what} of the run ({reason}): the coordinator is another version of flipside, and this is {}. Install the \
         version that the coordinator runs",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// What it cannot read.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A worker that the coordinator wants no more games from.
    #[error("the coordinator refuses this worker: {0}")]
    Distrusted(String),
    /// It was stopped before the broker answered.
    #[error("stopped before the broker answered")]
    Stopped,
    /// A broker that has gone and does not come back.
    #[error("the broker at {url} has been away for {minutes} minutes; the same command waits for it again")]
    Gone {
        /// The address.
        url: String,
        /// How long.
        minutes: u64,
    },
    /// The system has no more threads, or no sockets.
    #[error("cannot start working with the network: {0}")]
    System(std::io::Error),
}

fn missing(tls: bool, key: bool) -> &'static str {
    match (tls, key) {
        (false, false) => "it has neither TLS nor a key",
        (false, true) => "it has no TLS",
        _ => "there is no key",
    }
}

fn refused(key: &Option<PathBuf>) -> String {
    match key {
        Some(path) => format!("the key in {}: it is not one of the keys in its configuration", path.display()),
        None => "clients without a key: give one with --broker-key".into(),
    }
}
