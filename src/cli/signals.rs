//! Stopping in good order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::error::{CliError, Context};

/// A flag that the first SIGINT or SIGTERM sets; the second ends the program at once, with 75.
///
/// SIGHUP stays what it was: under `nohup` it is ignored, and a run must go on when its terminal closes.
///
/// # Errors
/// The system lets us not listen.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let listen = |signal| {
        // Handlers run in the order of their registration: the first one sees the flag as the signal before left it.
        flag::register_conditional_shutdown(signal, super::error::STOPPED_EARLY.into(), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))
    };
    for signal in [SIGINT, SIGTERM] {
        listen(signal).context(|| "cannot listen for signals".to_owned())?;
    }
    Ok(stop)
}
