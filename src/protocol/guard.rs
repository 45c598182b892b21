//! No engine outlives this process, however it ends.
//!
//! A guard is a shell that waits for its input to end, which happens as soon as this process is gone, and then kills its own process group.
//! Every engine is started in the group of a guard. What it starts in turn is in that group too, unless it leaves it (`setsid`): such a
//! program is not guarded and may outlive us.

use std::io;
use std::process::{Child, Command, Stdio};

/// The guard's script. It reacts only to the end of its input.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r line; kill -9 0";

/// The guard of an engine, or of processes that end together. Dropping it kills the group.
pub(super) struct Guard(Option<Child>);

impl Guard {
    /// Starts a guard.
    ///
    /// # Errors
    /// The shell does not start.
    pub fn start() -> io::Result<Self> {
        if !cfg!(unix) {
            return Ok(Self(None));
        }
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT]).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        join(&mut shell, 0);
        match shell.spawn() {
            Ok(child) => Ok(Self(Some(child))),
            Err(error) => Err(io::Error::new(error.kind(), format!("/bin/sh does not start: {error}"))),
        }
    }

    /// Makes a program start in the guarded group: the terminal's Ctrl-C does not reach it, and killing the group reaches it and all that
    /// has stayed in the group.
    pub fn guard(&self, command: &mut Command) {
        if let Some(child) = &self.0 {
            join(command, child.id());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            kill_group(child.id());
            let _ = child.wait();
        }
    }
}

/// Makes a program start in a process group; 0 is a new one of its own.
#[cfg(unix)]
fn join(command: &mut Command, group: u32) {
    std::os::unix::process::CommandExt::process_group(command, i32::try_from(group).expect("process ids are positive"));
}

#[cfg(not(unix))]
fn join(_: &mut Command, _: u32) {}

#[cfg(unix)]
fn kill_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // An error means that nobody is left in the group.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: u32) {}
