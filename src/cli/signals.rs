//! Stopping in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::error::{CliError, Context, STOPPED_EARLY};

/// A flag that the first SIGINT or SIGTERM sets; the second ends the program at once, with 75.
///
/// # Errors
/// The system lets us not listen.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let listening = listen(move || {
        if flag.swap(true, Relaxed) {
            // The guards of engines see to these.
            std::process::exit(STOPPED_EARLY.into());
        }
    });
    listening.context(|| "cannot listen for signals".to_owned())?;
    Ok(stop)
}

/// Lets the program go on when its terminal closes, under `nohup` or without: SIGHUP does nothing from here on.
///
/// # Errors
/// The system lets us not listen.
pub fn outlive_terminal() -> Result<(), CliError> {
    #[cfg(unix)]
    {
        let heard = Arc::new(AtomicBool::new(false));
        let registered = signal_hook::flag::register(signal_hook::consts::SIGHUP, heard);
        registered.context(|| "cannot listen for signals".to_owned())?;
    }
    Ok(())
}

/// Calls a function at each SIGINT or SIGTERM, in a thread of its own.
#[cfg(unix)]
fn listen(on_signal: impl Fn() + Send + 'static) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || signals.forever().for_each(|_| on_signal()))?;
    Ok(())
}

/// Without Unix signals the system's own Ctrl-C ends the program; files are whole at any time.
#[cfg(not(unix))]
fn listen(_: impl Fn() + Send + 'static) -> std::io::Result<()> {
    Ok(())
}
