//! Work on all threads whose results count in their order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Does `work` for each index below `count` on the threads of the current rayon pool, each thread with a `W` of its own, and hands the
/// results to `take` in order, from whichever thread completed one. Ends early where `take` breaks, soon after `stop` is set, and where `work`
/// has no result, because it was stopped itself. What was taken until then are the first results.
///
/// `take` must not wait for the pool, whose threads wait for it.
///
/// # Errors
/// The first failure of `work`.
pub fn in_order<W: Default, R: Send, E: Send>(
    count: usize,
    stop: &AtomicBool,
    work: impl Fn(&mut W, usize) -> Result<Option<R>, E> + Sync,
    take: impl FnMut(usize, R) -> ControlFlow<()> + Send,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let queue = Mutex::new(Queue { early: BTreeMap::new(), taken: 0, over: false, take });
    let failure = Mutex::new(None);
    let worker = || {
        let mut own = W::default();
        while !stop.load(Relaxed) && !lock(&queue).over {
            let index = next.fetch_add(1, Relaxed);
            if index >= count {
                break;
            }
            match work(&mut own, index) {
                Ok(Some(result)) => lock(&queue).add(index, result),
                Ok(None) => break,
                Err(error) => {
                    lock(&failure).get_or_insert(error);
                    lock(&queue).over = true;
                }
            }
        }
    };
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(count) {
            scope.spawn(|_| worker());
        }
    });
    let failure = lock(&failure).take();
    failure.map_or(Ok(()), Err)
}

/// Locks a mutex even if a thread panicked while it held it: what is locked is as good as before, and rayon passes the panic on.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands over results in order, whatever the order they arrive in.
struct Queue<R, F> {
    early: BTreeMap<usize, R>,
    taken: usize,
    over: bool,
    take: F,
}

impl<R, F: FnMut(usize, R) -> ControlFlow<()>> Queue<R, F> {
    fn add(&mut self, index: usize, result: R) {
        self.early.insert(index, result);
        while !self.over
            && let Some(result) = self.early.remove(&self.taken)
        {
            self.over = (self.take)(self.taken, result).is_break();
            self.taken += 1;
        }
    }
}
