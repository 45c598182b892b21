//! What happens in a cluster, told to people.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use crate::threads::lock;

type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// Tells what happens: a lost connection and each trouble only once until it is over, anything else that may repeat only once.
pub(super) struct Teller {
    listener: Listener,
    is_lost: AtomicBool,
    troubles: Mutex<BTreeSet<String>>,
    told: Mutex<BTreeSet<&'static str>>,
    forbidden: OnceLock<String>,
}

/// Most troubles that are told before one is over.
const MOST_TROUBLES: usize = 20;

impl Teller {
    /// Tells a listener, from any thread.
    pub fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let (is_lost, troubles, told, forbidden) = Default::default();
        Self { listener: Box::new(listener), is_lost, troubles, told, forbidden }
    }

    /// Tells the listener.
    pub fn tell(&self, text: &str) {
        (self.listener)(text);
    }

    /// Tells the first of what may repeat without end; `kind` says what it is.
    pub fn tell_once(&self, kind: &'static str, text: &str) {
        if lock(&self.told).insert(kind) {
            self.tell(text);
        }
    }

    /// A message that cannot be used.
    pub fn unreadable(&self, whose: &str, reason: impl fmt::Display) {
        let text = format!("ignored a message of {whose}: {reason}; further ones are ignored in silence");
        self.tell_once("unreadable", &text);
    }

    /// The connection is lost.
    pub fn lost(&self) {
        if !self.is_lost.swap(true, Relaxed) {
            self.tell("there is no connection to the broker; trying again, with growing pauses");
        }
    }

    /// There is a connection.
    pub fn back(&self) {
        if self.is_lost.swap(false, Relaxed) {
            self.tell("the broker is back");
        }
    }

    /// Whether there is no connection.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    /// The broker forbids something.
    pub fn forbid(&self, what: &str) {
        let _ = self.forbidden.set(what.to_owned());
    }

    /// The first thing that the broker has forbidden.
    pub fn forbidden(&self) -> Option<&str> {
        self.forbidden.get().map(String::as_str)
    }

    /// Something failed, in words, that is tried again. Without a connection that is expected, and not told.
    pub fn trouble(&self, what: &str) {
        let mut troubles = lock(&self.troubles);
        if !self.is_lost() && troubles.len() < MOST_TROUBLES && troubles.insert(what.to_owned()) {
            drop(troubles);
            self.tell(&format!("{what}; trying again"));
        }
    }

    /// The broker does what it is asked to, and has what is needed.
    pub fn no_trouble(&self) {
        if !std::mem::take(&mut *lock(&self.troubles)).is_empty() {
            self.tell("what failed works again");
        }
    }
}

/// The broker fails at something. Without room it says so in some calls, something else in others, and nothing in most.
pub(super) fn broker_fails(error: impl fmt::Display) -> String {
    format!("the broker has trouble ({error}; is its disk full?)")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_repeats_is_told_once() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let teller = Teller::new(move |text| heard.lock().unwrap().push(text.to_owned()));
        let count = |word: &str| told.lock().unwrap().iter().filter(|text| text.contains(word)).count();
        for what in ["no answer", "no room", "no answer"] {
            teller.trouble(what);
        }
        assert_eq!((count("no answer"), count("no room"), count("works again")), (1, 1, 0));
        teller.no_trouble();
        teller.no_trouble();
        teller.trouble("no answer");
        assert_eq!((count("no answer"), count("works again")), (2, 1));
        // Without a connection, trouble is expected.
        teller.lost();
        teller.lost();
        teller.trouble("no leader");
        teller.back();
        assert_eq!((count("no leader"), count("no connection"), count("is back")), (0, 1, 1));
        for number in 0..57_000 {
            teller.unreadable("worker `w`", number);
            teller.trouble(&number.to_string());
        }
        assert_eq!(count("ignored a message"), 1);
        assert!(told.lock().unwrap().len() < 40);
    }
}
