//! Work on several items at once, with the results in order.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use super::error::CliError;
use super::session::started;
use flipside::threads::Reorder;

/// Does `work` for each item on a number of threads, each with its own worker, and hands the results to `take` in the order of the
/// items, each as soon as it and all before it are ready.
///
/// # Errors
/// What `worker` and `take` report, and threads the system does not provide; the remaining items are skipped.
pub fn on_own_threads<T: Sync, W, R: Send>(
    items: &[T],
    threads: usize,
    worker: impl Fn() -> Result<W, CliError> + Sync,
    work: impl Fn(&mut W, &T) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let next = AtomicUsize::new(0);
    let run = |sender: SyncSender<Result<(usize, R), CliError>>| {
        let mut worker = match worker() {
            Ok(worker) => worker,
            Err(error) => return drop(sender.send(Err(error))),
        };
        while let Some((index, item)) = Some(next.fetch_add(1, Relaxed)).and_then(|i| Some((i, items.get(i)?))) {
            // The receiver is gone after an error.
            if sender.send(Ok((index, work(&mut worker, item)))).is_err() {
                break;
            }
        }
    };
    thread::scope(|scope| {
        // Bounded, so that threads wait for `take` rather than run ahead of an error.
        let (sender, results) = sync_channel(threads);
        for _ in 0..threads.min(items.len()) {
            let sender = sender.clone();
            started(threads, thread::Builder::new().spawn_scoped(scope, || run(sender)))?;
        }
        drop(sender);
        let mut in_order = Reorder::default();
        for result in results {
            let (index, result) = result?;
            in_order.put(index, result);
            while let Some((index, result)) = in_order.take() {
                take(&items[index], result)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..200).collect();
        for threads in [1, 2, 7, 1000] {
            let mut taken = Vec::new();
            let work = |made: &mut u64, item: &u64| {
                thread::sleep(Duration::from_micros(item * 7919 % 50));
                *made += 1;
                item * item
            };
            let take = |item: &u64, square| {
                taken.push((*item, square));
                Ok(())
            };
            on_own_threads(&items, threads, || Ok(0), work, take).unwrap();
            assert_eq!(taken, items.iter().map(|&item| (item, item * item)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<u32> = (0..100_000).collect();
        let done = AtomicUsize::new(0);
        let work = |(): &mut (), _: &u32| done.fetch_add(1, Relaxed);
        let take = |&item: &u32, _| if item < 5 { Ok(()) } else { Err(CliError::failure("enough")) };
        assert_eq!(on_own_threads(&items, 2, || Ok(()), work, take).unwrap_err().to_string(), "enough");
        let no_worker = || Err::<(), _>(CliError::failure("no worker"));
        let error = on_own_threads(&items, 2, no_worker, |(), _| (), |_, ()| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "no worker");
        assert!(done.into_inner() < items.len());
    }
}
