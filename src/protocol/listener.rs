//! Listening for commands while an engine thinks.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::line::{ServeError, read_line};
use crate::threads::lock;

/// How long a command may take once the input has ended: nobody is left to stop the thinking.
const GRACE: Duration = Duration::from_secs(1);

/// How many commands may wait for their turn.
const QUEUE: usize = 1024;

/// Commands, read on a thread of their own.
pub(super) struct Listener {
    lines: Receiver<Result<String, ServeError>>,
    hurry: Arc<Hurry>,
    interrupts: fn(&str) -> bool,
}

impl Listener {
    /// Listens to the input. Lines for which `interrupts` holds end the thinking about those before them.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(
        input: impl BufRead + Send + 'static,
        interrupts: fn(&str) -> bool,
    ) -> Result<Self, ServeError> {
        let (sender, lines) = sync_channel(QUEUE);
        let hurry = Arc::new(Hurry::default());
        let listener = Self { lines, hurry: Arc::clone(&hurry), interrupts };
        let listen = move || {
            let mut input = input;
            while let Some(line) = read_line(&mut input).transpose() {
                let failed = line.is_err();
                if line.as_ref().is_ok_and(|line| interrupts(line)) {
                    hurry.change(|state| state.interrupting += 1);
                }
                if sender.send(line).is_err() || failed {
                    break;
                }
            }
            drop(sender);
            hurry.watch_the_clock();
        };
        thread::Builder::new().name("commands".into()).spawn(listen).map_err(ServeError::Input)?;
        Ok(listener)
    }

    /// The next command; `None` at the end of the input.
    pub(super) fn next(&self) -> Option<Result<String, ServeError>> {
        let line = self.lines.recv().ok()?;
        let interrupting = line.as_ref().is_ok_and(|line| (self.interrupts)(line));
        self.hurry.change(|state| {
            state.interrupting -= usize::from(interrupting);
            state.begun += 1;
            state.overdue = false;
        });
        Some(line)
    }

    /// Says when an answer is wanted at once.
    pub(super) fn hurry(&self) -> Arc<Hurry> {
        Arc::clone(&self.hurry)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.hurry.change(|state| state.over = true);
    }
}

/// Whether the current command is to be answered at once.
#[derive(Default)]
pub(super) struct Hurry {
    state: Mutex<State>,
    changed: Condvar,
    flag: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Commands that have arrived but not begun, and that end the thinking about those before them.
    interrupting: usize,
    /// Commands begun.
    begun: u64,
    /// The input has ended and the current command has used up its time.
    overdue: bool,
    /// Nobody takes commands any more.
    over: bool,
}

impl Hurry {
    /// A flag that is set while an answer is wanted at once.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// Whether an answer is wanted at once.
    pub(super) fn is_on(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        self.flag.store(state.interrupting > 0 || state.overdue, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// After the end of the input: hurries every command that takes too long.
    fn watch_the_clock(&self) {
        let mut state = lock(&self.state);
        while !state.over {
            let begun = state.begun;
            let same = |state: &mut State| !state.over && state.begun == begun;
            state = self.changed.wait_timeout_while(state, GRACE, same).unwrap_or_else(PoisonError::into_inner).0;
            if same(&mut state) {
                state.overdue = true;
                self.flag.store(true, Ordering::SeqCst);
                state = self.changed.wait_while(state, same).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
