//! No engine outlives this process, however it ends.
//!
//! Every engine leads a process group, so that whatever it starts dies with it. Where this process still can, it kills the groups
//! itself. Against `kill -9` there is the guard: a shell that is told of every group and does nothing but wait for its input to
//! end, which the system sees to as soon as this process is gone.

use std::io;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the guard does: `+ID` and `-ID` say which groups there are.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
while read -r line; do
    id=${line#?}
    rest=
    for group in $groups; do
        [ "$group" = "$id" ] || rest="$rest $group"
    done
    case $line in
        +*) groups="$rest $id" ;;
        *) groups=$rest ;;
    esac
done
for group in $groups; do
    kill -9 "-$group"
done
"#;

/// The groups of all engines running, and the guard's input once there was one.
struct Groups {
    running: Vec<u32>,
    guard: Option<ChildStdin>,
}

static GROUPS: Mutex<Groups> = Mutex::new(Groups { running: Vec::new(), guard: None });

fn groups() -> MutexGuard<'static, Groups> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes note of an engine that was just started.
///
/// # Errors
/// There is no guard, and none can be started.
pub(super) fn add(id: u32) -> io::Result<()> {
    groups().add(id)
}

/// Forgets an engine that is gone.
pub(super) fn remove(id: u32) {
    let mut groups = groups();
    groups.running.retain(|&running| running != id);
    groups.tell('-', id);
}

/// Kills every program started here that still runs: for a process that is about to exit without cleaning up.
pub fn kill_all() {
    for &id in &groups().running {
        kill_group(id);
    }
}

impl Groups {
    fn add(&mut self, id: u32) -> io::Result<()> {
        self.running.push(id);
        if !self.tell('+', id) && cfg!(unix) {
            self.guard = Some(start()?);
            for id in self.running.clone() {
                self.tell('+', id);
            }
        }
        Ok(())
    }

    /// Whether there is a guard, and it could be told.
    fn tell(&mut self, what: char, id: u32) -> bool {
        use io::Write;
        self.guard.as_mut().is_some_and(|guard| guard.write_all(format!("{what}{id}\n").as_bytes()).is_ok())
    }
}

fn start() -> io::Result<ChildStdin> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT]).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    own_group(&mut shell);
    let child = shell.spawn();
    let mut child = child.map_err(|error| io::Error::new(error.kind(), format!("/bin/sh does not start: {error}")))?;
    Ok(child.stdin.take().expect("a piped stream is there once"))
}

/// Puts a program into a process group of its own: the terminal's Ctrl-C is for us, and killing the group reaches whatever
/// the program started.
#[cfg(unix)]
pub(super) fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
pub(super) fn own_group(_command: &mut Command) {}

#[cfg(unix)]
pub(super) fn kill_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // An error means that nobody is left in the group.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
pub(super) fn kill_group(_id: u32) {}
