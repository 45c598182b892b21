//! `flipside cluster`, and the options that name a broker.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::error::{CliError, Context};
use super::session::Session;
use flipside::cluster::{BrokerAddress, ClusterError, ClusterGames, ClusterRequest, Setup};
use flipside::text::typed;

pub const BROKER_KEY: &str = "FLIPSIDE_BROKER_KEY";
pub const BROKER_CA: &str = "FLIPSIDE_BROKER_CA";

/// What authenticates us to a broker and the broker to us. A broker on this machine needs none of it.
#[derive(Args, Debug)]
pub struct BrokerArguments {
    /// Key file for the broker, as written by `flipside cluster config`
    #[arg(long, env = BROKER_KEY, hide_env_values = true, value_name = "FILE")]
    broker_key: Option<PathBuf>,

    /// CA certificate (PEM) that signed the broker's certificate; turns on encryption
    #[arg(long, env = BROKER_CA, hide_env_values = true, value_name = "FILE")]
    broker_ca: Option<PathBuf>,

    /// Allow a broker on another machine without a key and encryption; only for networks you trust
    #[arg(long)]
    insecure: bool,
}

impl BrokerArguments {
    /// Whether any of it is on the command line; in the environment it may be for other commands.
    fn is_typed(&self) -> bool {
        let is_typed = |option: &Option<PathBuf>, variable| {
            option.as_ref().is_some_and(|path| env::var_os(variable).is_none_or(|value| path.as_os_str() != value))
        };
        self.insecure || is_typed(&self.broker_key, BROKER_KEY) || is_typed(&self.broker_ca, BROKER_CA)
    }

    /// The broker at a URL, with these options.
    pub fn address(&self, url: &str) -> BrokerAddress {
        let Self { broker_key, broker_ca, insecure } = self;
        BrokerAddress { url: url.to_owned(), key: broker_key.clone(), ca: broker_ca.clone(), insecure: *insecure }
    }
}

/// Options of a run whose games are played on many machines.
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster (docs/CLUSTER.md)")]
pub struct CoordinatorArguments {
    /// Offer games to workers (`flipside work`) through the NATS broker at this address [default: play all games here]
    #[arg(long, env = "FLIPSIDE_CLUSTER", hide_env_values = true, value_name = "URL")]
    cluster: Option<String>,

    /// Seconds to wait for a broker that is not up yet
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "cluster")]
    wait: u32,

    #[command(flatten)]
    broker: BrokerArguments,
}

impl CoordinatorArguments {
    /// Starts to coordinate, if that was asked for. The run is named after its directory.
    pub fn start(
        &self,
        run: &Path,
        stop: Arc<AtomicBool>,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Option<ClusterGames>, CliError> {
        let Some(url) = &self.cluster else {
            return match self.broker.is_typed() {
                false => Ok(None),
                true => Err(CliError::Usage(
                    "--broker-key, --broker-ca and --insecure are for a broker: name it with --cluster".into(),
                )),
            };
        };
        // `runs/latest` is a link: the run is named after its target.
        let target = run.canonicalize().unwrap_or_else(|_| run.to_owned());
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let request = ClusterRequest {
            broker: self.broker.address(url),
            run: name,
            directory: Some(run.to_owned()),
            wait: Duration::from_secs(self.wait.into()),
            stop,
        };
        ClusterGames::start(request, say).map(Some).map_err(told)
    }
}

/// What ended work in a cluster; an impossible address is a usage error.
pub fn told(error: ClusterError) -> CliError {
    match error {
        ClusterError::Address(_) => CliError::Usage(error.to_string()),
        ClusterError::Stopped(reason) => CliError::Stopped(reason),
        error => CliError::failure(error.to_string()),
    }
}

/// Set up a broker for runs on many machines
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside cluster config broker --host broker.example --run tonight\n  \
    nats-server -c broker/nats.conf\n  \
    flipside train --preset overnight --run runs/tonight --cluster tls://broker.example \\\n      --broker-key broker/coordinator.nk --broker-ca broker/ca.pem")]
pub struct ClusterArguments {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand, Debug)]
enum ClusterCommand {
    /// Write a broker's configuration, certificates and keys
    ///
    /// Writes `nats.conf` for nats-server, `coordinator.nk` for `train --cluster`, `worker.nk` for `work`, and `ca.pem` for both. The
    /// worker's key only allows taking jobs, reading weights and delivering games of the named runs; whoever holds it is trusted with
    /// these games.
    Config(ConfigArguments),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  flipside cluster config broker --host broker.example --host 192.0.2.7 --run tonight"
)]
struct ConfigArguments {
    /// Folder to write into; nothing in it is overwritten
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Name or address by which machines reach the broker; may be repeated
    #[arg(long, required = true, value_name = "HOST")]
    host: Vec<String>,

    /// Name of a run (its directory's) that workers may play for; may be repeated
    #[arg(long, required = true, value_name = "NAME")]
    run: Vec<String>,

    /// Port the broker listens on
    #[arg(long, value_name = "N", default_value_t = 4222, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
}

impl ClusterArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let ClusterCommand::Config(ConfigArguments { folder, host, run, port }) = self.command;
        let setup = Setup { hosts: host, runs: run, port };
        let files = setup.write(&folder).context(|| "cannot set up a broker")?;
        for file in &files {
            writeln!(out, "{}", file.display())?;
        }
        session.say(format_args!(
            "start the broker with `nats-server -c {}`; give worker.nk and ca.pem to workers and nobody else",
            typed(&files[0])
        ));
        Ok(())
    }
}
