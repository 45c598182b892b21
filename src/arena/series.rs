//! Work on all threads whose results count in their order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::player::PlayerError;

/// Does `work` for each index below `count` on the threads of the current rayon pool, each with players of its own, and hands the
/// results to `take` in order, from whichever thread completed one. Ends early where `take` breaks, or soon after `stop` is set.
///
/// # Errors
/// The first failure of `work`; [`PlayerError::Stopped`] is none.
pub(super) fn in_order<W: Default, R: Send>(
    count: usize,
    stop: &AtomicBool,
    work: impl Fn(&mut W, usize) -> Result<R, PlayerError> + Sync,
    take: impl FnMut(usize, R) -> ControlFlow<()> + Send,
) -> Result<(), PlayerError> {
    let next = AtomicUsize::new(0);
    let queue = Mutex::new(Queue { early: BTreeMap::new(), taken: 0, over: false, take });
    let failure = Mutex::new(None);
    let worker = || {
        let mut players = W::default();
        while !stop.load(Relaxed) && !lock(&queue).over {
            let index = next.fetch_add(1, Relaxed);
            if index >= count {
                break;
            }
            match work(&mut players, index) {
                Ok(result) => lock(&queue).add(index, result),
                Err(PlayerError::Stopped) => break,
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

/// A panic of another thread is passed on by rayon; until then what is locked is as good as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
