//! The Python package `flipside`: evaluates, searches and solves positions in NumPy arrays. `flipside.pyi` documents it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use flipside_core::board::Position;
use flipside_core::eval::{PatternEvaluator, static_value};
use flipside_core::record::lines::parse_positions;
use flipside_core::search::{EndgameSolver, Searcher, Strength};
use flipside_core::storage::FileError;
use flipside_core::weights::WeightFile;
use numpy::ndarray::{Array2, ArrayView1, Dimension};
use numpy::{IntoPyArray, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;

/// Log2 of the entries of a searcher's and a solver's table.
const LOG2_ENTRIES: u32 = 18;

/// Bits in EBX of CPUID leaf 7.
#[cfg(target_feature = "avx2")]
const AVX2_AND_BMI2: u32 = 1 << 5 | 1 << 8;

/// How often work in Rust checks for a Python signal, such as Ctrl-C.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Weights, ready for use.
#[pyclass(frozen, module = "flipside")]
struct Weights {
    evaluator: PatternEvaluator,
    hash: String,
    patterns: String,
}

#[pymethods]
impl Weights {
    /// SHA-256 of the weights.
    #[getter]
    fn hash(&self) -> &str {
        &self.hash
    }

    /// The name of their pattern set.
    #[getter]
    fn patterns(&self) -> &str {
        &self.patterns
    }

    fn __repr__(&self) -> String {
        format!("<flipside.Weights {} of {}>", &self.hash[..12], self.patterns)
    }

    /// Static values in discs for the player to move.
    fn evaluate<'py>(&self, py: Python<'py>, boards: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let positions = positions_of(boards)?;
        let values: Vec<f32> = interruptible(py, |stop| {
            // If Python has a signal, what is computed is not used.
            let value = |position: &Position| {
                if stop.load(Relaxed) { 0.0 } else { static_value(&self.evaluator, position).discs() }
            };
            positions.par_iter().map(value).collect()
        })?;
        Ok(values.into_pyarray(py))
    }

    /// Values in discs by a full-width search of `depth` plies, and the best moves.
    fn search<'py>(&self, py: Python<'py>, boards: &Bound<'py, PyAny>, depth: i64) -> PyResult<Found<'py, f32>> {
        let most = Strength::MAX_DEPTH;
        let plies = u32::try_from(depth).ok().filter(|&plies| plies <= most);
        let plies = plies.ok_or_else(|| PyValueError::new_err(format!("depth is 0 to {most} plies, not {depth}")))?;
        let positions = positions_of(boards)?;
        let found: Option<Vec<_>> = interruptible(py, |stop| {
            let search = |searcher: &mut Searcher<'_, PatternEvaluator>, position: &Position| {
                searcher.forget();
                let found = searcher.search_until(position, plies, stop);
                (!stop.load(Relaxed)).then(|| (found.score.discs(), number(found.best)))
            };
            positions.par_iter().map_init(|| Searcher::new(&self.evaluator, LOG2_ENTRIES), search).collect()
        })?;
        Ok(arrays(py, found.expect("Python has no signal")))
    }

    /// Results with best play in discs for the player to move, and the best moves.
    fn solve<'py>(&self, py: Python<'py>, boards: &Bound<'py, PyAny>) -> PyResult<Found<'py, i8>> {
        let positions = positions_of(boards)?;
        let found: Option<Vec<_>> = interruptible(py, |stop| {
            // Positions take very different times, so each is its own task. Creating a solver takes longer than solving many of them.
            let solvers = Mutex::new(Vec::new());
            let idle = || solvers.lock().unwrap_or_else(PoisonError::into_inner);
            let solve = |position: &Position| {
                let known = idle().pop();
                let mut solver = known.unwrap_or_else(|| EndgameSolver::with_evaluator(&self.evaluator, LOG2_ENTRIES));
                solver.forget();
                let solved = solver.solve_until(*position, -64, 64, stop)?;
                idle().push(solver);
                Some((solved.score.discs() as i8, number(solved.best)))
            };
            positions.par_iter().with_max_len(1).map(solve).collect()
        })?;
        Ok(arrays(py, found.expect("Python has no signal")))
    }
}

/// Values, and the squares of the best moves.
type Found<'py, T> = (Bound<'py, PyArray1<T>>, Bound<'py, PyArray1<i8>>);

fn arrays<T: numpy::Element>(py: Python<'_>, found: Vec<(T, i8)>) -> Found<'_, T> {
    let (values, moves): (Vec<T>, Vec<i8>) = found.into_iter().unzip();
    (values.into_pyarray(py), moves.into_pyarray(py))
}

/// The number of a move's square, or -1.
fn number(best: Option<flipside_core::board::Square>) -> i8 {
    best.map_or(-1, |square| square.index() as i8)
}

/// Reads a weight file; without a path, the weights that ship with flipside.
#[pyfunction]
#[pyo3(signature = (path = None))]
fn load(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Weights> {
    let file = match path {
        Some(path) => py.detach(|| WeightFile::load(&path)).map_err(|error| unreadable(&path, error))?,
        None => WeightFile::embedded(),
    };
    let evaluator = file.evaluator().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Weights { evaluator, hash: file.hash(), patterns: file.model.set.name.clone() })
}

/// Maps missing and unreadable files to Python's `OSError`s, damaged ones to `ValueError`.
fn unreadable(path: &Path, error: FileError) -> PyErr {
    match error {
        FileError::Io { source, .. } => {
            io::Error::new(source.kind(), format!("cannot read {}: {source}", path.display())).into()
        }
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Positions from text, one per line: boards, or the moves that lead to them.
#[pyfunction]
fn boards<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let diagrams = parse_positions(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let discs = |scored: &flipside_core::board::ScoredDiagram| {
        let Position { player, opponent } = scored.diagram.position;
        [player, opponent]
    };
    let discs: Vec<u64> = diagrams.iter().flat_map(discs).collect();
    let rows = discs.len() / 2;
    Ok(Array2::from_shape_vec((rows, 2), discs).expect("two numbers a row").into_pyarray(py))
}

/// Positions from an array of shape (n, 2), or two arrays of shape (n,): discs of the player to move and of the opponent.
fn positions_of(boards: &Bound<'_, PyAny>) -> PyResult<Vec<Position>> {
    let expected = || {
        PyTypeError::new_err(
            "boards are a numpy.uint64 array of shape (n, 2), or a tuple of two of shape (n,): discs of the player to move, and of \
             the opponent",
        )
    };
    if let Ok(pair) = boards.cast::<PyTuple>() {
        let (player, opponent): (Bound<'_, PyArray1<u64>>, Bound<'_, PyArray1<u64>>) =
            pair.extract().map_err(|_| expected())?;
        return together(aligned(player)?.as_array(), aligned(opponent)?.as_array());
    }
    let boards: Bound<'_, PyArray2<u64>> = boards.extract().map_err(|_| expected())?;
    let boards = aligned(boards)?;
    let boards = boards.as_array();
    if boards.ncols() != 2 {
        return Err(expected());
    }
    together(boards.column(0), boards.column(1))
}

/// An array to read, copied first if it is a field of packed records: `as_array` takes strides for whole numbers of elements.
fn aligned<D: Dimension>(array: Bound<'_, PyArray<u64, D>>) -> PyResult<PyReadonlyArray<'_, u64, D>> {
    let is_aligned: bool = array.getattr("flags")?.getattr("aligned")?.extract()?;
    let array = if is_aligned { array } else { array.call_method0("copy")?.cast_into()? };
    Ok(array.try_readonly()?)
}

fn together(player: ArrayView1<'_, u64>, opponent: ArrayView1<'_, u64>) -> PyResult<Vec<Position>> {
    if player.len() != opponent.len() {
        let (players, opponents) = (player.len(), opponent.len());
        return Err(PyValueError::new_err(format!("{players} boards of the player, {opponents} of the opponent")));
    }
    let position = |(number, (&player, &opponent)): (usize, (&u64, &u64))| {
        let both = player & opponent;
        if both != 0 {
            let error = format!("board {number}: square {} has discs of both sides", both.trailing_zeros());
            return Err(PyValueError::new_err(error));
        }
        Ok(Position { player, opponent })
    };
    player.iter().zip(opponent).enumerate().map(position).collect()
}

/// Does work without blocking Python. If a Python signal raises an exception, sets `stop` to end the work early.
fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (working, done) = mpsc::channel::<()>();
        // `detach` takes only what other threads may use, and a bare `&Receiver` is not that.
        let done = Mutex::new(done);
        let worker = scope.spawn(|| {
            let _working = working;
            work(&stop)
        });
        while py.detach(|| wait(&done)) == Err(RecvTimeoutError::Timeout) {
            if let Err(signal) = py.check_signals() {
                stop.store(true, Relaxed);
                py.detach(|| worker.join().ok());
                return Err(signal);
            }
        }
        Ok(py.detach(|| worker.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn wait(done: &Mutex<Receiver<()>>) -> Result<(), RecvTimeoutError> {
    done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS_EVERY)
}

/// Evaluate, search and solve Othello positions with flipside's weights.
#[pymodule(name = "flipside")]
fn flipside_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Asks CPUID, since `is_x86_feature_detected!` is a constant `true` for features of the build.
    #[cfg(target_feature = "avx2")]
    if std::arch::x86_64::__cpuid_count(7, 0).ebx & AVX2_AND_BMI2 != AVX2_AND_BMI2 {
        return Err(PyImportError::new_err(
            "this build needs a CPU with AVX2 and BMI2; for others build it with RUSTFLAGS=\"-C target-cpu=x86-64\"",
        ));
    }
    module.add_class::<Weights>()?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(boards, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
