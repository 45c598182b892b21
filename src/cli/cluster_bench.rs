//! The section `cluster` of `flipside bench`: games through a broker of its own against games of one process, on as many threads.

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::cluster::{BROKER_CA, BROKER_KEY, told};
use super::error::{CliError, Context};
use super::session::{Session, one_thread};
use crate::cluster::{BrokerAddress, ClusterGames, ClusterRequest};
use crate::pattern::Layout;
use crate::protocol::guard::Guard;
use crate::selfplay::SelfPlayConfig;
use crate::train::{GameJob, GameSource, LocalGames};
use crate::weights::WeightFile;

/// The largest number of worker processes.
const WORKERS: usize = 4;

/// Games and the seconds they took: here on all threads, and by a coordinator of one thread and workers on the others.
pub struct Measured {
    /// Games of each round.
    pub games: u32,
    /// Threads of the workers together.
    pub threads: usize,
    /// Seconds of each round, played by this process alone.
    pub alone: Vec<f64>,
    /// Seconds of each round, played by a cluster.
    pub cluster: Vec<f64>,
}

/// A process, killed on drop.
struct Process(Child);

impl Process {
    fn start(guard: &Guard, command: &mut Command, what: &str) -> Result<Self, CliError> {
        guard.guard(command);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().map(Self).context(|| format!("cannot start {what}"))
    }

    /// Checks that it has not ended.
    fn check(&mut self) -> Result<(), CliError> {
        match self.0.try_wait().context(|| "cannot watch a worker")? {
            None => Ok(()),
            Some(status) => {
                Err(CliError::failure(format!("a worker has ended ({status}): without it nothing is measured")))
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Plays `rounds` rounds of games either way, in turn.
///
/// # Errors
/// No broker or no workers can be started.
pub fn measure(session: &Session, play: SelfPlayConfig, games: u32, rounds: u32) -> Result<Measured, CliError> {
    let folder = tempfile::tempdir().context(|| "cannot make a folder for the broker")?;
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.context(|| "cannot find a free port")?.port().to_string();
    // Broker and workers end with this process, whatever ends it.
    let guard = Guard::start().context(|| "cannot start the broker's guard")?;
    let mut broker = Command::new("nats-server");
    broker.args(["-js", "-a", "127.0.0.1", "-p", &port, "-sd"]).arg(folder.path());
    let _broker = Process::start(&guard, &mut broker, "nats-server")
        .map_err(|error| error.hint("The section `cluster` needs it; Debian: apt install nats-server."))?;
    let url = format!("nats://127.0.0.1:{port}");
    let broker = BrokerAddress { url: url.clone(), ..BrokerAddress::default() };
    let (wait, stop) = (Duration::from_secs(10), Arc::default());
    let request = ClusterRequest { broker, run: "bench".into(), directory: None, wait, stop };
    let cluster = ClusterGames::start(request, |_| ()).map_err(told)?;
    let program = std::env::current_exe().context(|| "cannot find this program")?;
    let threads = session.threads.saturating_sub(1).max(1);
    let mut workers = workers(&guard, &program, &url, threads)?;

    let file = WeightFile::embedded();
    let layout = Arc::new(Layout::new(&file.model.set).expect("embedded weights have a layout"));
    let one = one_thread()?;
    let time = |source: &dyn GameSource, generation| {
        let (model, stop) = (&file.model, AtomicBool::new(false));
        let job = GameJob { model, layout: &layout, play: &play, seed: 1, generation, games: 0..games };
        let began = Instant::now();
        source.play(&job, &stop, &mut |_| ControlFlow::Continue(())).map_err(|bad| CliError::failure(bad.0))?;
        Ok::<_, CliError>(began.elapsed().as_secs_f64())
    };
    // Lets the workers connect, fetch the weights and play their proof.
    one.install(|| time(&cluster, 1))?;
    let mut measured = Measured { games, threads, alone: Vec::new(), cluster: Vec::new() };
    for round in 0..rounds {
        measured.alone.push(time(&LocalGames, 2 + round)?);
        measured.cluster.push(one.install(|| time(&cluster, 2 + round))?);
        workers.iter_mut().try_for_each(Process::check)?;
    }
    cluster.finish();
    Ok(measured)
}

/// Worker processes, the threads shared out among them.
fn workers(guard: &Guard, program: &Path, url: &str, threads: usize) -> Result<Vec<Process>, CliError> {
    let processes = threads.min(WORKERS);
    let start = |number: usize| {
        let share = threads / processes + usize::from(number < threads % processes);
        let mut worker = Command::new(program);
        // They are for other brokers.
        worker.env_remove(BROKER_KEY).env_remove(BROKER_CA);
        worker.args(["work", url, "--run", "bench", "--quiet", "--threads", &share.to_string()]);
        Process::start(guard, &mut worker, "a worker")
    };
    (0..processes).map(start).collect()
}
