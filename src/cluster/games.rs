//! A cluster as a source of games.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use super::broker::{BrokerAddress, COORDINATOR_INBOX, MOMENT, RunOnBroker, check_run_name};
use super::coordinator::{self, Packed};
use super::error::ClusterError;
use super::network::Network;
use super::news::{News, Teller};
use super::process_name;
use super::state::Shared;
use crate::train::{BadGames, GameJob, GameSource, OnGames};

/// A cluster to start.
#[derive(Clone, Debug)]
pub struct ClusterRequest {
    /// The broker.
    pub broker: BrokerAddress,
    /// The name by which workers know the run.
    pub run: String,
    /// The run's directory, if the workers are to be listed in it for people to read.
    pub directory: Option<PathBuf>,
    /// How long to wait for a broker that is not there yet.
    pub wait: Duration,
    /// Ends the wait.
    pub stop: Arc<AtomicBool>,
}

/// Plays the games of a run with the help of workers.
pub struct ClusterGames {
    shared: Arc<Shared>,
    packed: Mutex<Packed>,
    secret: u64,
    /// Ends the network's work: whether the run is finished.
    end: UnboundedSender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for ClusterGames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterGames").finish_non_exhaustive()
    }
}

impl ClusterGames {
    /// Connects to the broker and creates what the run needs there. From then on the run continues whatever happens to the broker.
    ///
    /// # Errors
    /// What has to be fixed first.
    pub fn start(request: ClusterRequest, news: impl Fn(&News) + Send + Sync + 'static) -> Result<Self, ClusterError> {
        check_run_name(&request.run)?;
        let shared = Arc::new(Shared::new(Arc::new(Teller::new(news))));
        let (end, ended) = unbounded_channel();
        let (ready, started) = std::sync::mpsc::channel();
        let network = shared.clone();
        let serve = move || {
            let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(ClusterError::System(error)))),
            };
            runtime.block_on(async {
                let stop = request.stop.clone();
                let stopped = async {
                    while !stop.load(Relaxed) {
                        sleep(MOMENT).await;
                    }
                };
                let connected = tokio::select! {
                    connected = connect(request, network) => connected,
                    () = stopped => Err(ClusterError::Stopped),
                };
                match connected {
                    Ok(network) => {
                        let _ = ready.send(Ok(()));
                        network.serve(ended).await;
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            });
            // Does not wait for the name of a host to be looked up.
            runtime.shutdown_background();
        };
        let thread = Builder::new().name("network".into()).spawn(serve).map_err(ClusterError::System)?;
        started.recv().unwrap_or_else(|_| Err(ClusterError::System(std::io::ErrorKind::Other.into())))?;
        let (packed, secret) = (Mutex::default(), rand::random());
        Ok(Self { shared, packed, secret, end, thread: Some(thread) })
    }

    /// Tells workers that the run is finished, and removes it from the broker.
    pub fn finish(mut self) {
        self.end(true);
    }

    fn end(&mut self, finished: bool) {
        let Some(thread) = self.thread.take() else { return };
        let _ = self.end.send(finished);
        let _ = thread.join();
    }
}

impl Drop for ClusterGames {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl GameSource for ClusterGames {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) -> Result<(), BadGames> {
        coordinator::play(&self.shared, &self.packed, self.secret, job, stop, on_games)
    }
}

async fn connect(request: ClusterRequest, shared: Arc<Shared>) -> Result<Network, ClusterError> {
    let ClusterRequest { broker, run, directory, wait, .. } = request;
    let session = process_name();
    let name = format!("flipside coordinator {session}");
    let client = broker.connect_within(wait, &name, COORDINATOR_INBOX, &shared.teller).await?;
    let run = RunOnBroker::new(client, &run)?;
    let network = Network { shared, run, session, directory };
    network.claim().await?;
    let url = broker.shown();
    network.run.make().await.map_err(|reason| ClusterError::NoStreams { url, reason })?;
    Ok(network)
}
