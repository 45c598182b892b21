//! What happens in a cluster, to be shown.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use crate::text::counted;
use crate::threads::lock;

/// Something that users may want to know.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// The connection to the broker is lost.
    Lost,
    /// It is back.
    Back,
    /// The broker does not do what it is asked to.
    Trouble(String),
    /// The broker forbids something.
    Forbidden(String),
    /// A worker has joined.
    Joined {
        /// Its name.
        worker: String,
        /// Its threads.
        threads: u32,
        /// Its version.
        program: String,
    },
    /// A worker has left.
    Left {
        /// Its name.
        worker: String,
        /// Whether it said so.
        announced: bool,
    },
    /// A worker's games are no longer taken.
    Refused {
        /// Its name.
        worker: String,
        /// Why.
        reason: String,
    },
    /// A message that was not understood.
    Unreadable {
        /// Its subject.
        subject: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A worker waits for a run that is not there yet.
    Waiting {
        /// The run.
        run: String,
        /// Whether a run of its name is finished.
        is_finished: bool,
    },
    /// A worker has shown that it plays as the coordinator does.
    Proved {
        /// Games it played for that.
        games: u32,
    },
    /// A worker's progress.
    Working {
        /// Games played so far.
        games: u64,
        /// Games per second since it began.
        rate: f64,
    },
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Lost => write!(f, "there is no connection to the broker; trying again, with growing pauses"),
            Self::Back => write!(f, "the broker is back"),
            // A broker without room says so in some calls, something else in others, and nothing in most.
            Self::Trouble(what) => {
                write!(f, "the broker has trouble ({what}; is its disk full?); trying again, with growing pauses")
            }
            Self::Forbidden(what) => {
                write!(f, "the broker forbids something ({what}): is it the right key, for a run of this name?")
            }
            Self::Joined { worker, threads, program } => {
                write!(f, "worker `{worker}` has joined: {}, {program}", counted(u64::from(*threads), "thread"))
            }
            Self::Left { worker, announced: true } => write!(f, "worker `{worker}` has left"),
            Self::Left { worker, announced: false } => {
                write!(f, "nothing heard from worker `{worker}`; its games go to others")
            }
            Self::Refused { worker, reason } => write!(f, "worker `{worker}` is refused: {reason}"),
            Self::Unreadable { subject, reason } => write!(f, "ignored a message at {subject}: {reason}"),
            Self::Waiting { run, is_finished: false } => write!(f, "no run `{run}` at the broker yet; waiting for it"),
            Self::Waiting { run, is_finished: true } => {
                write!(f, "the run `{run}` at the broker is finished; waiting for another of that name")
            }
            Self::Proved { games } => write!(f, "{games} games of the run played as the coordinator did: working"),
            Self::Working { games, rate } => write!(f, "{games} games played, {rate:.0} games/s"),
        }
    }
}

type Listener = Box<dyn Fn(&News) + Send + Sync>;

/// Reports news: a lost connection and each trouble only once until it is over, and of what is forbidden only the first.
pub struct Teller {
    listener: Listener,
    is_lost: AtomicBool,
    troubles: Mutex<BTreeSet<String>>,
    forbidden: OnceLock<String>,
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller").finish_non_exhaustive()
    }
}

impl Teller {
    /// Reports to a listener, from any thread.
    pub fn new(listener: impl Fn(&News) + Send + Sync + 'static) -> Self {
        let (is_lost, troubles, forbidden) = Default::default();
        Self { listener: Box::new(listener), is_lost, troubles, forbidden }
    }

    /// Reports to the listener.
    pub fn tell(&self, news: &News) {
        (self.listener)(news);
    }

    /// The connection is lost.
    pub fn lost(&self) {
        if !self.is_lost.swap(true, Relaxed) {
            self.tell(&News::Lost);
        }
    }

    /// There is a connection.
    pub fn back(&self) {
        if self.is_lost.swap(false, Relaxed) {
            self.tell(&News::Back);
        }
    }

    /// The broker forbids something.
    pub fn forbid(&self, what: &str) {
        if self.forbidden.set(what.to_owned()).is_ok() {
            self.tell(&News::Forbidden(what.to_owned()));
        }
    }

    /// The first thing that the broker has forbidden.
    pub fn forbidden(&self) -> Option<&str> {
        self.forbidden.get().map(String::as_str)
    }

    /// Whether there is no connection.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    /// The broker failed to do something. Without a connection that is expected, and not reported.
    pub fn trouble(&self, what: &str) {
        if !self.is_lost() && lock(&self.troubles).insert(what.to_owned()) {
            self.tell(&News::Trouble(what.to_owned()));
        }
    }

    /// The broker does what it is asked to.
    pub fn no_trouble(&self) {
        if !std::mem::take(&mut *lock(&self.troubles)).is_empty() {
            self.tell(&News::Back);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_trouble_is_told_once_until_it_is_over() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let teller = Teller::new(move |news| heard.lock().unwrap().push(news.clone()));
        for what in ["no answer", "no room", "no answer"] {
            teller.trouble(what);
        }
        teller.no_trouble();
        teller.no_trouble();
        teller.trouble("no answer");
        // Without a connection, trouble is expected.
        teller.lost();
        teller.trouble("no leader");
        teller.back();
        let trouble = |what: &str| News::Trouble(what.into());
        let expected =
            [trouble("no answer"), trouble("no room"), News::Back, trouble("no answer"), News::Lost, News::Back];
        assert_eq!(*told.lock().unwrap(), expected);
    }
}
