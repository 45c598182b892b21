//! Work on a pool of threads that a forked process makes anew.
//!
//! `fork` copies only the thread that calls it: in the child the pool's threads are gone, and a lock that one of them held stays locked.
//! So nothing of the parent's pool is touched in a child, not even to drop it. Python forks with the GIL held; whatever is created once and
//! shared is created with the GIL held too, so that no fork can come in the middle.

use std::env;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flipside_core::search::EndgameSolver;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often work in Rust checks for a Python signal, such as Ctrl-C.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// The largest number of threads.
const MOST_THREADS: usize = 1024;

/// Forks between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The number of threads that was set; 0 if none was.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The pool. Locked only with the GIL held.
static POOL: Mutex<Option<Pool>> = Mutex::new(None);

struct Pool {
    /// The value of [`FORKS`] in its process.
    forks: u64,
    threads: Arc<ThreadPool>,
}

/// Sees to it that forks are noticed, and creates whatever NumPy's bindings create at their first use.
pub fn prepare(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    PyArray1::<u64>::zeros(py, 1, false).try_readonly()?;
    let os = py.import("os")?;
    if os.hasattr("register_at_fork")? {
        let hook = [("after_in_child", wrap_pyfunction!(forked, module)?)];
        os.call_method("register_at_fork", (), Some(&hook.into_py_dict(py)?))?;
    }
    Ok(())
}

#[pyfunction]
fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// Limits the number of threads from the next call on.
///
/// `threads` is 1 to 1024, or None for the default: the environment variable FLIPSIDE_THREADS, or else the number of processors that this
/// process may use. A forked process keeps the limit. Raises ValueError for another number.
#[pyfunction]
#[pyo3(signature = (threads))]
pub fn set_threads(_py: Python<'_>, threads: Option<i64>) -> PyResult<()> {
    let number = threads.map_or(Ok(0), |threads| {
        let number = usize::try_from(threads).ok().filter(|threads| (1..=MOST_THREADS).contains(threads));
        number.ok_or_else(|| PyValueError::new_err(format!("threads are 1 to {MOST_THREADS}, not {threads}")))
    })?;
    THREADS.store(number, Relaxed);
    // The next call makes a pool of that size. Calls that are at work keep theirs.
    forget_if_copied(locked().take());
    Ok(())
}

/// The number of threads that calls use.
#[pyfunction]
pub fn threads(py: Python<'_>) -> PyResult<usize> {
    Ok(pool(py)?.current_num_threads())
}

fn locked() -> MutexGuard<'static, Option<Pool>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drops a pool, unless it is a copy of another process's: dropping it would lock what its threads may have locked.
fn forget_if_copied(pool: Option<Pool>) {
    if pool.as_ref().is_some_and(|pool| pool.forks != FORKS.load(Relaxed)) {
        mem::forget(pool);
    }
}

/// The pool of this process. The GIL is held meanwhile.
fn pool(_py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let forks = FORKS.load(Relaxed);
    let mut current = locked();
    if let Some(pool) = current.as_ref().filter(|pool| pool.forks == forks) {
        return Ok(pool.threads.clone());
    }
    let wanted = match THREADS.load(Relaxed) {
        0 => threads_of_environment()?,
        threads => threads,
    };
    let threads = ThreadPoolBuilder::new().num_threads(wanted).thread_name(|i| format!("flipside {i}")).build();
    let threads = Arc::new(threads.map_err(|error| PyOSError::new_err(format!("cannot start threads: {error}")))?);
    // What threads create at their first work, and solvers at their first search.
    threads.broadcast(|_| ());
    EndgameSolver::new(4);
    forget_if_copied(current.replace(Pool { forks, threads: threads.clone() }));
    Ok(threads)
}

/// What FLIPSIDE_THREADS says; 0 if it is not set, for as many threads as there are processors.
fn threads_of_environment() -> PyResult<usize> {
    let Some(text) = env::var_os("FLIPSIDE_THREADS") else { return Ok(0) };
    let number = text.to_str().and_then(|text| text.trim().parse().ok());
    number.filter(|threads| (1..=MOST_THREADS).contains(threads)).ok_or_else(|| {
        PyValueError::new_err(format!("FLIPSIDE_THREADS is a number of threads, 1 to {MOST_THREADS}, not {text:?}"))
    })
}

/// Does work on the pool, without the GIL. If a Python signal raises an exception, sets the flag that the work is given, which should end it
/// soon, and returns at once. If a signal handler forks, the child does the work again.
pub fn run<T: Send + 'static>(py: Python<'_>, work: impl Fn(&AtomicBool) -> T + Send + Sync + 'static) -> PyResult<T> {
    let work = Arc::new(work);
    loop {
        let forks = FORKS.load(Relaxed);
        let (pool, stop) = (pool(py)?, Arc::new(AtomicBool::new(false)));
        let (sender, results) = mpsc::sync_channel(1);
        pool.spawn({
            let (work, stop) = (work.clone(), stop.clone());
            // Nobody receives the result of what was stopped.
            move || drop(sender.send(catch_unwind(AssertUnwindSafe(|| work(&stop)))))
        });
        // `detach` takes only what other threads may use, and a bare `&Receiver` is not that.
        let results = Mutex::new(results);
        loop {
            match py.detach(|| wait(&results)) {
                Ok(result) => return Ok(result.unwrap_or_else(|panic| resume_unwind(panic))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the work sends a result, even if it panics"),
            }
            let signal = py.check_signals();
            if FORKS.load(Relaxed) != forks {
                mem::forget((pool, results, stop));
                signal?;
                break;
            }
            if signal.is_err() {
                stop.store(true, Relaxed);
                signal?;
            }
        }
    }
}

fn wait<T>(results: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    results.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS_EVERY)
}
