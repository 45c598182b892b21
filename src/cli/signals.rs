//! Clean stops on signals.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::error::{CliError, Context, STOPPED_EARLY};
use flipside::storage::discard_temporaries;

/// The flag of a command that stops cleanly.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that the first SIGINT or SIGTERM sets; the second exits at once with 75. Without the flag, the first ends the program.
pub fn stop_on_signals() -> Arc<AtomicBool> {
    Arc::clone(STOP.get_or_init(Arc::default))
}

/// Keeps the program running when its terminal closes, with or without `nohup`: SIGHUP is ignored from here on.
///
/// # Errors
/// The system does not let us listen.
pub fn outlive_terminal() -> Result<(), CliError> {
    #[cfg(unix)]
    {
        let heard = Arc::new(AtomicBool::new(false));
        let registered = signal_hook::flag::register(signal_hook::consts::SIGHUP, heard);
        registered.context(|| "cannot listen for signals")?;
    }
    Ok(())
}

/// Listens for SIGINT and SIGTERM in a thread of its own, so that no temporary files stay behind, and ignores SIGXFSZ. Call it once.
///
/// # Errors
/// The system does not let us listen.
#[cfg(unix)]
pub fn listen() -> Result<(), CliError> {
    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    let start = || {
        // A file that hits `ulimit -f` is then an error, as on a full disk, rather than a silent death.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let listener = move || signals.forever().for_each(on_signal);
        std::thread::Builder::new().name("signals".into()).spawn(listener)
    };
    start().map(drop).context(|| "cannot listen for signals")
}

/// Without Unix signals, the system's own Ctrl-C ends the program; files are whole at any time.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn listen() -> Result<(), CliError> {
    Ok(())
}

#[cfg(unix)]
fn on_signal(signal: i32) {
    let stops_in_order = STOP.get();
    if stops_in_order.is_some_and(|stop| !stop.swap(true, Relaxed)) {
        return;
    }
    // The guards kill the engines.
    discard_temporaries();
    if stops_in_order.is_none() {
        // The first process of a container cannot end itself by a signal.
        if std::process::id() == 1 {
            std::process::exit(128 + signal);
        }
        // The default action, so that a shell sees which signal ended the program.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    std::process::exit(STOPPED_EARLY.into());
}
