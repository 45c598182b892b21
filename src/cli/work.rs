//! `flipside work`.

use std::time::Duration;

use clap::Args;

use super::cluster::{BrokerArguments, told};
use super::error::CliError;
use super::session::Session;
use super::signals::{outlive_terminal, stop_on_signals};
use flipside::cluster::{WorkRequest, work};
use flipside::train::Outcome;

/// Play games for a run on another machine
///
/// Takes jobs of a run that `train --cluster` coordinates, plays them on all threads, and delivers the games. It needs no configuration
/// and no files. Workers may come, go and be killed at any time without changing the run's weights. Exits with 0 when the run is
/// finished; SIGINT or SIGTERM returns unfinished jobs and exits with 75.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside work nats://localhost --run tonight\n  \
    flipside work tls://broker.example --run tonight --broker-key worker.nk --broker-ca ca.pem")]
pub struct WorkArguments {
    /// The broker: nats://HOST or tls://HOST, with :PORT if it is not 4222
    #[arg(value_name = "URL")]
    url: String,

    /// The run's name, which is that of its directory
    #[arg(long, env = "FLIPSIDE_RUN_NAME", hide_env_values = true, value_name = "NAME")]
    run: String,

    /// Seconds to wait for a broker or run that is not up yet
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u32,

    #[command(flatten)]
    broker: BrokerArguments,
}

impl WorkArguments {
    pub fn run(self, session: &Session) -> Result<(), CliError> {
        let stop = stop_on_signals();
        outlive_terminal()?;
        let request = WorkRequest {
            broker: self.broker.address(&self.url),
            run: self.run,
            threads: session.threads,
            wait: Duration::from_secs(self.wait.into()),
        };
        let session_of_news = *session;
        match work(&request, &stop, move |news| session_of_news.log(news)).map_err(told)? {
            Outcome::Finished => {
                session.log(format_args!("the run `{}` is finished", request.run));
                Ok(())
            }
            Outcome::Stopped => Err(CliError::Stopped("stopped; unfinished jobs go to other workers".into())),
        }
    }
}
