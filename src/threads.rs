//! Work on all threads, its results in order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Does `work` for each index below `count` on the threads of the current rayon pool, each thread with a `W` of its own, and passes
/// the results to `take` in the order of the indices, on any of the threads. Ends early if `take` breaks, if `work` returns no result
/// because it was stopped itself, and soon after `stop` is set. The results taken by then are the first ones, without gaps.
///
/// `take` must not wait for the pool: its threads wait for `take`.
///
/// # Errors
/// The first failure of `work` in the order of the indices, once all results before it are taken.
pub fn in_order<W: Default, R: Send, E: Send>(
    count: usize,
    stop: &AtomicBool,
    work: impl Fn(&mut W, usize) -> Result<Option<R>, E> + Sync,
    take: impl FnMut(usize, R) -> ControlFlow<()> + Send,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let results = Mutex::new(Reorder::default());
    let taker = Mutex::new((take, None));
    let hand_over = || {
        let (has_next, next) = (|| lock(&results).has_next(), || lock(&results).take());
        hand_over(&taker, &over, has_next, next, |(take, failure), (index, result)| match result {
            Ok(result) => take(index, result),
            Err(error) => {
                *failure = Some(error);
                ControlFlow::Break(())
            }
        });
    };
    let worker = || {
        let mut own = W::default();
        while !stop.load(Relaxed) && !over.load(Relaxed) {
            let index = next.fetch_add(1, Relaxed);
            if index >= count {
                break;
            }
            let Some(result) = work(&mut own, index).transpose() else { break };
            if result.is_err() {
                // What has begun is finished, since its results may come before the failure.
                next.store(count, Relaxed);
            }
            lock(&results).put(index, result);
            hand_over();
        }
    };
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(count) {
            scope.spawn(|_| worker());
        }
    });
    let failure = lock(&taker).1.take();
    failure.map_or(Ok(()), Err)
}

/// Passes results to `take` one after the other, until there is no next one, or `take` breaks and so sets `over`. If another thread is
/// doing so, returns at once: that thread looks again after unlocking `taker`, so it finds a result that was there before this call.
pub fn hand_over<T, R>(
    taker: &Mutex<T>,
    over: &AtomicBool,
    has_next: impl Fn() -> bool,
    next: impl Fn() -> Option<R>,
    take: impl Fn(&mut T, R) -> ControlFlow<()>,
) {
    while !over.load(Relaxed) && has_next() {
        let Some(mut taker) = try_lock(taker) else { return };
        while !over.load(Relaxed)
            && let Some(result) = next()
        {
            over.fetch_or(take(&mut taker, result).is_break(), Relaxed);
        }
    }
}

/// Locks a mutex even if a thread panicked while holding it: the data is still good, and rayon passes the panic on.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`lock`], if no other thread has it.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Puts numbered results in order, whatever order they arrive in.
#[derive(Debug)]
pub struct Reorder<R> {
    early: BTreeMap<usize, R>,
    taken: usize,
}

impl<R> Default for Reorder<R> {
    fn default() -> Self {
        Self { early: BTreeMap::new(), taken: 0 }
    }
}

impl<R> Reorder<R> {
    /// Adds a result by its number, from 0.
    pub fn put(&mut self, index: usize, result: R) {
        self.early.insert(index, result);
    }

    /// The next result in order with its number, if it has arrived.
    pub fn take(&mut self) -> Option<(usize, R)> {
        let result = self.early.remove(&self.taken)?;
        self.taken += 1;
        Some((self.taken - 1, result))
    }

    /// Whether [`Self::take`] has a result.
    pub fn has_next(&self) -> bool {
        self.early.contains_key(&self.taken)
    }

    /// Results handed out.
    pub fn taken(&self) -> usize {
        self.taken
    }
}
