//! What can go wrong between machines.

/// Why work in a cluster cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Not a broker address.
    #[error("`{0}` is not a broker address, like nats://localhost, nats://10.0.0.1:4222 or tls://broker.example")]
    Address(String),
    /// No broker answers.
    #[error("no broker answers at {url} ({reason}). Start one (`nats-server -js`), or correct the address")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        reason: String,
    },
    /// Something has to be fixed first: what, and how.
    #[error("{0}")]
    Refused(String),
    /// It was stopped, or the broker was away for too long; the same command goes on.
    #[error("{0}")]
    Stopped(String),
}

impl ClusterError {
    /// The system has no more threads, or no sockets.
    pub(super) fn system(error: std::io::Error) -> Self {
        Self::Refused(format!("cannot start working with the network: {error}"))
    }

    /// Two builds do not understand each other, or do not play the same games.
    pub(super) fn other_build(what: &str) -> Self {
        Self::Refused(format!(
            "{what}. Install exactly the version of flipside that the coordinator runs (this is {}); if it is the same, check this \
             machine's memory",
            env!("CARGO_PKG_VERSION")
        ))
    }
}
