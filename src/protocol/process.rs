//! Another program in a process of its own, line by line, with time limits.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::line::read_line;
use crate::arena::PlayerError;

/// A running program. Dropping it kills it and what it started in turn.
pub(super) struct EngineProcess {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    last_words: Arc<Mutex<String>>,
}

/// Lines that may wait to be read: a program that says more must wait for us.
const QUEUE: usize = 1024;

/// How long a program that has closed its output gets to tell its exit status and its last words.
const FAREWELL: Duration = Duration::from_secs(1);

/// The groups of all programs running, for [`kill_all`].
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

impl EngineProcess {
    /// Starts a command: words as in a shell, without a shell's other features.
    pub(super) fn start(command: &str) -> Result<Self, PlayerError> {
        let error = |reason: String| PlayerError::Start { command: command.to_owned(), reason };
        let words = shlex::split(command).ok_or_else(|| error("unbalanced quotes".into()))?;
        let (program, arguments) = words.split_first().ok_or_else(|| error("no command given".into()))?;
        let mut child = Command::new(program);
        child.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        own_group(&mut child);
        let mut child = child.spawn().map_err(|reason| error(reason.to_string()))?;
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        let pipe = "a piped stream is there once";
        let input = child.stdin.take().expect(pipe);
        let lines = read_lines(child.stdout.take().expect(pipe));
        let last_words = read_last_words(child.stderr.take().expect(pipe));
        Ok(Self { child, input, lines, last_words })
    }

    /// Sends a line.
    pub(super) fn send(&mut self, line: &str) -> Result<(), PlayerError> {
        let sent = self.input.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|_| self.ended(line))
    }

    /// The first line for which `wanted` has an answer, until `limit` after now. Other lines are skipped.
    pub(super) fn receive<T>(
        &mut self,
        request: &str,
        limit: Duration,
        mut wanted: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, PlayerError> {
        let deadline = Instant::now() + limit;
        loop {
            // A program that never stops talking must not get more time than one that says nothing.
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if Instant::now() <= deadline => {
                    if let Some(answer) = wanted(&line) {
                        return Ok(answer);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(request)),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {
                    return Err(PlayerError::TimedOut { request: request.to_owned(), seconds: limit.as_secs_f64() });
                }
            }
        }
    }

    /// The error for a program that is gone: its exit status and the last it said on standard error.
    fn ended(&mut self, request: &str) -> PlayerError {
        let patience = Instant::now() + FAREWELL;
        let mut status = None;
        // The thread that listens to its standard error shares the words as long as there may be more.
        while (status.is_none() || Arc::strong_count(&self.last_words) > 1) && Instant::now() < patience {
            status = status.or_else(|| self.child.try_wait().ok().flatten());
            thread::sleep(Duration::from_millis(2));
        }
        let mut detail = status.map(|status| format!(" ({status})")).unwrap_or_default();
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        if !words.is_empty() {
            detail += &format!(", saying `{words}`");
        }
        PlayerError::Ended { request: request.to_owned(), detail }
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        let id = self.child.id();
        kill_group(id);
        let _ = self.child.kill();
        let _ = self.child.wait();
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|&running| running != id);
    }
}

/// Kills every program started here that still runs: for a process that is about to exit without cleaning up.
pub fn kill_all() {
    for &id in RUNNING.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        kill_group(id);
    }
}

/// Puts a program into a process group of its own: the terminal's Ctrl-C is for us, and killing the group reaches whatever
/// the program started.
#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

#[cfg(unix)]
fn kill_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // An error means that nobody is left in the group.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_id: u32) {}

fn read_lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(QUEUE);
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        while let Ok(Some(line)) = read_line(&mut output) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Keeps the last line of a stream, as far as it is worth showing.
fn read_last_words(errors: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let words = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&words);
    thread::spawn(move || {
        let mut errors = BufReader::new(errors);
        while let Ok(Some(line)) = read_line(&mut errors) {
            let line: String = line.trim().chars().filter(|c| !c.is_control()).take(200).collect();
            if !line.is_empty() {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = line;
            }
        }
    });
    words
}
