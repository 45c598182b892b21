//! What can go wrong between machines.

use std::path::PathBuf;

/// Why work in a cluster cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Not a broker address.
    #[error("`{0}` is not a broker address, like nats://localhost, nats://10.0.0.1:4222 or tls://broker.example")]
    Address(String),
    /// A name that no broker takes.
    #[error("`{0}` cannot name a run on a broker: name the run's directory with 1 to 64 letters, digits, `-` and `_`")]
    RunName(String),
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
    /// A broker's files that cannot be written.
    #[error("{0}")]
    Setup(String),
    /// Nobody answers.
    #[error("no broker answers at {url} ({reason}). Start one (`nats-server -js`), or correct the address")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        reason: String,
    },
    /// The broker answers, but does not let us do what we must.
    #[error("the broker at {url} {reason}")]
    Refused {
        /// The address.
        url: String,
        /// What it refuses, and what to do.
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
    /// A worker whose build is not the coordinator's.
    #[error(
        "{0}. Install exactly the version of flipside that the coordinator runs (this is {version}); if it is the same, check this \
         machine's memory",
        version = env!("CARGO_PKG_VERSION")
    )]
    OtherBuild(String),
    /// It was stopped, or the broker was away for too long; the same command goes on.
    #[error("{0}")]
    Stopped(String),
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
