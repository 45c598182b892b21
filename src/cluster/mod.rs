//! Games played on many machines, over a NATS broker.
//!
//! The games of a job depend only on what it contains: seed, generation, numbers of games, how they are played, and the hash of the
//! weights. The coordinator owns the run directory. It plays too, offers jobs to workers through the broker, replays the moves that
//! come back, and hands the games over in order, so the files are those of a run on one machine, whoever has played. The broker holds
//! nothing that must not be lost: what does not come back is offered again or played by the coordinator. Workers are trusted once they
//! have proved that their build plays as the coordinator's does; `flipside verify` checks a run afterwards.
//!
//! | file | what it has |
//! |---|---|
//! | `wire` | messages, and the checks before they are used |
//! | `schedule` | which games of a generation are played, which are being played, and where |
//! | `broker`, `streams` | connecting safely; what a run keeps at the broker |
//! | `coordinator`, `network`, `state` | the coordinator: its threads that play, the one that talks, and what they share |
//! | `worker`, `players` | a worker: its network, and its threads that play |
//! | `setup` | a broker's configuration, keys and certificates |
//! | `teller`, `error` | what people are told, and what can go wrong |

mod broker;
mod coordinator;
mod error;
mod network;
mod players;
mod schedule;
mod setup;
mod state;
mod streams;
mod teller;
pub mod wire;
mod worker;

pub use broker::BrokerAddress;
pub use coordinator::{ClusterGames, ClusterRequest};
pub use error::ClusterError;
pub use setup::Setup;
pub use worker::{WorkRequest, work};

use crate::train::host_name;

/// Whether a name can be part of a subject: letters, digits, `-` and `_`, 1 to `most` of them.
fn is_plain_name(name: &str, most: usize) -> bool {
    (1..=most).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Limit in bytes of a worker's name.
const MAX_NAME: usize = 80;

/// A unique name for this process: host, process, and a random number.
fn process_name() -> String {
    let host: String = host_name().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let host = if host.is_empty() { "host" } else { &host };
    format!("{host}-{}-{:06x}", std::process::id(), rand::random::<u32>() >> 8)
}
