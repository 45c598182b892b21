//! What a build without the feature `cluster` says where clusters are asked for.

use std::ffi::OsString;

use clap::Args;

use super::error::CliError;

pub const EXAMPLES_OF_WORK: &str = "Examples:\n  flipside work nats://localhost --run tonight";
pub const EXAMPLES_OF_CLUSTER: &str = "Examples:\n  flipside cluster config broker --host broker.example --run tonight";

/// Whatever the command would take.
#[derive(Args, Debug)]
pub struct AnyArguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _any: Vec<OsString>,
}

/// Options of a run whose games are played on many machines.
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster (docs/CLUSTER.md)")]
pub struct CoordinatorArguments {
    /// Offer games to workers through the NATS broker at this address (in builds with the feature `cluster`)
    #[arg(long, env = "FLIPSIDE_CLUSTER", hide_env_values = true, value_name = "URL")]
    cluster: Option<String>,
}

impl CoordinatorArguments {
    /// Refuses a cluster.
    ///
    /// # Errors
    /// A cluster was asked for.
    pub fn check(&self) -> Result<(), CliError> {
        self.cluster.as_ref().map_or(Ok(()), |_| Err(how_to_get_it()))
    }
}

/// The error of whatever needs the feature.
pub fn how_to_get_it() -> CliError {
    CliError::failure("this build of flipside has no clusters")
        .hint("In its checkout, `cargo install --locked --path . --features cluster` builds one that has them (it takes a C compiler).")
}
