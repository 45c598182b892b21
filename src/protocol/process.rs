//! Other programs in processes of their own, driven line by line, with time limits.

use std::io::{self, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::guard::Guard;
use super::line::read_line;
use crate::arena::PlayerError;
use crate::threads::lock;

/// The limits of an external engine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProcessLimits {
    /// Time to answer a command that does not ask for a move; the first may load files.
    pub start: Duration,
    /// Time for a move.
    pub per_move: Duration,
    /// Depth to ask for; only NBoard has a command for it.
    pub depth: Option<u32>,
}

impl Default for ProcessLimits {
    /// 10 seconds to start, 60 seconds a move, the engine's own depth.
    fn default() -> Self {
        Self { start: Duration::from_secs(10), per_move: Duration::from_secs(60), depth: None }
    }
}

/// A running program. Dropping it tells it to quit, unless it is busy, and then kills it and the rest of its process group.
pub(super) struct EngineProcess {
    child: Child,
    /// Dropped after the child was killed.
    _guard: Guard,
    /// Lines for a thread that writes them, since a program that does not read would block a writer. `None` once it is told to quit.
    input: Option<Sender<String>>,
    /// Whether it has closed its input.
    is_deaf: Arc<AtomicBool>,
    /// Whether it has answered all that it was asked.
    is_idle: bool,
    lines: Receiver<String>,
    /// The first line and the last that it wrote to standard error.
    words: Arc<Mutex<Vec<String>>>,
}

/// How many lines may wait to be read: a program that says more must wait for us.
const QUEUE: usize = 1024;

/// How long to wait for the exit status and last words of a program that has closed its output.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a program that is told to quit may take for it.
const TIME_TO_QUIT: Duration = Duration::from_secs(5);

/// How often `stop` is checked while a program thinks.
const GLANCE: Duration = Duration::from_millis(50);

impl EngineProcess {
    /// Starts a command: words as in a shell, without a shell's other features.
    pub(super) fn start(command: &str) -> Result<Self, PlayerError> {
        let error = |reason: String| PlayerError::Start { command: command.to_owned(), reason };
        let words = shlex::split(command).ok_or_else(|| error("unbalanced quotes".into()))?;
        let (program, arguments) = words.split_first().ok_or_else(|| error("no command given".into()))?;
        let mut child = Command::new(program);
        child.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let guard = Guard::start().map_err(|reason| error(reason.to_string()))?;
        guard.guard(&mut child);
        let child = child.spawn().map_err(|reason| error(reason.to_string()))?;
        Self::listen_to(child, guard).map_err(|reason| error(format!("cannot listen to it: {reason}")))
    }

    /// Takes over a program that was just started, or kills it if that fails.
    fn listen_to(mut child: Child, guard: Guard) -> io::Result<Self> {
        let pipe = "a piped stream is there once";
        let mut input = child.stdin.take().expect(pipe);
        let (output, errors) = (child.stdout.take().expect(pipe), child.stderr.take().expect(pipe));
        let (sender, lines) = sync_channel(QUEUE);
        let (requests, requested) = channel::<String>();
        // From here on dropping it kills it.
        let process = Self {
            child,
            _guard: guard,
            input: Some(requests),
            is_deaf: Arc::default(),
            is_idle: true,
            lines,
            words: Arc::default(),
        };
        let (words, is_deaf) = (Arc::clone(&process.words), Arc::clone(&process.is_deaf));
        spawn("engine's input", move || {
            let written = requested.iter().try_for_each(|line| input.write_all(line.as_bytes()));
            is_deaf.store(written.is_err(), Relaxed);
        })?;
        spawn("engine's output", move || {
            read_lines(output, |line| sender.send(line).is_ok());
        })?;
        spawn("engine's errors", move || read_lines(errors, |line| keep_words(&words, &line)))?;
        Ok(process)
    }

    /// Sends a line.
    pub(super) fn send(&mut self, line: &str) -> Result<(), PlayerError> {
        self.is_idle = false;
        let input = self.input.as_ref().expect("it is told to quit at the end");
        input.send(format!("{line}\n")).map_err(|_| self.ended(line))
    }

    /// Waits for the first line for which `wanted` returns something, at most for `limit` or until `stop` is set. Skips other lines.
    pub(super) fn receive<T>(
        &mut self,
        request: &str,
        limit: Duration,
        stop: &AtomicBool,
        mut wanted: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, PlayerError> {
        // None for a limit beyond what the clock can count.
        let deadline = Instant::now().checked_add(limit);
        let is_over = || deadline.is_some_and(|deadline| Instant::now() > deadline);
        loop {
            if stop.load(Relaxed) {
                return Err(PlayerError::Stopped);
            }
            // A program that never stops talking must not get more time than one that says nothing.
            let left = deadline.map_or(GLANCE, |deadline| deadline.saturating_duration_since(Instant::now()));
            match self.lines.recv_timeout(left.min(GLANCE)) {
                Ok(line) if !is_over() => {
                    if let Some(answer) = wanted(&line) {
                        self.is_idle = true;
                        return Ok(answer);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(request)),
                Err(RecvTimeoutError::Timeout) if self.is_deaf.load(Relaxed) => return Err(self.ended(request)),
                Err(RecvTimeoutError::Timeout) if !is_over() => {}
                Ok(_) | Err(RecvTimeoutError::Timeout) => {
                    return Err(PlayerError::TimedOut { request: request.to_owned(), seconds: limit.as_secs_f64() });
                }
            }
        }
    }

    /// The error for a program that is gone, with its exit status and what it wrote to standard error.
    fn ended(&mut self, request: &str) -> PlayerError {
        let mut status = None;
        wait_until(FAREWELL, || {
            status = status.or_else(|| self.child.try_wait().ok().flatten());
            // The thread that reads its standard error shares the words as long as there may be more.
            status.is_some() && Arc::strong_count(&self.words) == 1
        });
        let has_ended = status.is_some();
        let mut detail = status.map(|status| format!(" ({status})")).unwrap_or_default();
        let words = lock(&self.words);
        if !words.is_empty() {
            detail += &format!(", saying `{}`", words.join(" … "));
        }
        PlayerError::Ended { request: request.to_owned(), has_ended, detail }
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        if let Some(input) = self.input.take()
            && self.is_idle
        {
            // Both protocols have this command. It may write its log or its book; one that does not listen is not waited for long.
            let _ = input.send("quit\n".to_owned());
            drop(input);
            wait_until(TIME_TO_QUIT, || !matches!(self.child.try_wait(), Ok(None)));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for something to happen, at most for `limit`.
fn wait_until(limit: Duration, mut has_happened: impl FnMut() -> bool) {
    let patience = Instant::now() + limit;
    while !has_happened() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(2));
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Hands over lines until they end or nobody wants them any more.
fn read_lines(source: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut source = BufReader::new(source);
    while let Ok(Some(line)) = read_line(&mut source) {
        if !take(line) {
            break;
        }
    }
}

/// Keeps the beginnings of the first line and of the last: one of them says what is wrong.
fn keep_words(words: &Mutex<Vec<String>>, line: &str) -> bool {
    let line: String = line.trim().chars().filter(|c| !c.is_control()).take(200).collect();
    if !line.is_empty() {
        let mut words = lock(words);
        words.truncate(1);
        words.push(line);
    }
    true
}

/// Turns an error in the first exchange with an engine into one that names the command.
pub(super) fn start_error(command: &str, error: PlayerError) -> PlayerError {
    match error {
        PlayerError::Start { .. } | PlayerError::Stopped => error,
        other => PlayerError::Start { command: command.to_owned(), reason: other.to_string() },
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_and_the_last_are_kept() {
        let words = Mutex::default();
        let said: Vec<String> = ["", "first\u{7}", "  ", "second", "third\n", ""]
            .into_iter()
            .map(|line| {
                keep_words(&words, line);
                lock(&words).join(" … ")
            })
            .collect();
        assert_eq!(said, ["", "first", "first", "first … second", "first … third", "first … third"]);
    }

    #[test]
    fn a_program_that_talks_and_does_not_read_holds_nobody_up() {
        let mut process = EngineProcess::start("yes").unwrap();
        for _ in 0..2 {
            // More than fits into a pipe.
            (0..100_000).for_each(|_| process.send("0123456789").unwrap());
            let an_hour = Duration::from_secs(3600);
            let answer = process.receive("", an_hour, &AtomicBool::new(false), |line| Some(line.to_owned()));
            assert_eq!(answer, Ok("y".to_owned()));
        }
        // It is busy, so that it is killed at once.
        process.send("0123456789").unwrap();
    }
}
