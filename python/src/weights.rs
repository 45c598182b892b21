//! Weights that evaluate, search and solve, and weights made in Python.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use flipside_core::board::{Position, Square};
use flipside_core::eval::{Model, PatternEvaluator, Score, StageMap, static_value};
use flipside_core::search::{EndgameSolver, Engine, Limits, Strength};
use flipside_core::storage::{FileError, write_whole};
use flipside_core::train::weights_at;
use flipside_core::weights::{Provenance, WeightFile};
use numpy::ndarray::Array2;
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::boards::positions_of;
use crate::patterns::PatternSet;
use crate::threads::run;

/// Log2 of the entries of a searcher's and a solver's table.
const LOG2_ENTRIES: u32 = 18;

/// Weights, ready for use. `load` creates them.
#[pyclass(frozen, module = "flipside")]
pub struct Weights {
    evaluator: Arc<PatternEvaluator>,
    file: Arc<WeightFile>,
    hash: String,
}

#[pymethods]
impl Weights {
    /// SHA-256 of the weights: 64 hexadecimal digits, as `flipside inspect` prints it.
    #[getter]
    fn hash(&self) -> &str {
        &self.hash
    }

    /// The name of their pattern set.
    #[getter]
    fn patterns(&self) -> &str {
        &self.file.model.set.name
    }

    /// Their pattern set.
    #[getter]
    fn pattern_set(&self) -> PatternSet {
        PatternSet::of(self.evaluator.layout().clone())
    }

    /// The stage of each number of empty squares: uint8, shape (61,).
    #[getter]
    fn stage_of_empties<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        self.file.model.stages.table().to_vec().into_pyarray(py)
    }

    /// The weights in discs: float32, shape (stages, slots of the pattern set). What a hidden layer adds is not among them.
    fn table<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        let model = &self.file.model;
        let weight_of_slot = self.evaluator.layout().weight_of_slot();
        let discs = |stage: usize, slot: usize| {
            f32::from(model.weights[stage][weight_of_slot[slot] as usize]) / f32::from(model.scale)
        };
        Array2::from_shape_fn((model.weights.len(), weight_of_slot.len()), |(stage, slot)| discs(stage, slot))
            .into_pyarray(py)
    }

    fn __repr__(&self) -> String {
        format!("<flipside.Weights {} of {}>", &self.hash[..12], self.patterns())
    }

    /// Static values in discs for the player to move: float32, shape (n,).
    ///
    /// If the player has to pass, the opponent's value, negated; if the game is over, the result.
    fn evaluate<'py>(&self, py: Python<'py>, boards: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let (positions, evaluator) = (positions_of(boards)?, self.evaluator.clone());
        let values: Vec<f32> = run(py, move |stop| {
            // If Python has a signal, what is computed is not used.
            let value = |position: &Position| {
                if stop.load(Relaxed) { 0.0 } else { static_value(&*evaluator, position).discs() }
            };
            positions.par_iter().map(value).collect()
        })?;
        Ok(values.into_pyarray(py))
    }

    /// Values by a full-width search of `depth` plies (0 to 60), and the best moves.
    ///
    /// The values are float32, shape (n,), in discs for the player to move; the moves are int8, shape (n,): the number of a square, 0 (a1)
    /// to 63 (h8), or -1 if there is no move or nothing was searched. Raises ValueError for another depth.
    fn search<'py>(&self, py: Python<'py>, boards: &Bound<'py, PyAny>, depth: i64) -> PyResult<Found<'py, f32>> {
        let most = Strength::MAX_DEPTH;
        let plies = u32::try_from(depth).ok().filter(|&plies| plies <= most);
        let plies = plies.ok_or_else(|| PyValueError::new_err(format!("depth is 0 to {most} plies, not {depth}")))?;
        let (positions, evaluator) = (positions_of(boards)?, self.evaluator.clone());
        let found: Option<Vec<_>> = run(py, move |stop| {
            let limits = Limits { stop, ..Limits::NONE };
            let engine = || Engine::new(&*evaluator, Strength::new(plies, 0), LOG2_ENTRIES).expect("full width");
            let search = |engine: &mut Engine<'_, PatternEvaluator>, position: &Position| {
                engine.forget();
                let found = engine.analyse_within(position, &limits);
                (!stop.load(Relaxed)).then(|| (found.score.discs(), number(found.best)))
            };
            of_each(&positions, engine, search)
        })?;
        Ok(arrays(py, found.expect("Python has no signal")))
    }

    /// Results with best play, and best moves.
    ///
    /// The results are int8, shape (n,), in discs for the player to move, with empty squares counted for the winner; the moves are as in
    /// `search`. A position with 20 empty squares takes milliseconds, and about three times as long for each square more.
    fn solve<'py>(&self, py: Python<'py>, boards: &Bound<'py, PyAny>) -> PyResult<Found<'py, i8>> {
        let (positions, evaluator) = (positions_of(boards)?, self.evaluator.clone());
        let found: Option<Vec<_>> = run(py, move |stop| {
            let solver = || EndgameSolver::with_evaluator(&*evaluator, LOG2_ENTRIES);
            let solve = |solver: &mut EndgameSolver<'_, PatternEvaluator>, position: &Position| {
                solver.forget();
                let solved = solver.solve_until(*position, -64, 64, stop)?;
                Some((solved.score.discs() as i8, number(solved.best)))
            };
            of_each(&positions, solver, solve)
        })?;
        Ok(arrays(py, found.expect("Python has no signal")))
    }
}

/// Values, and the squares of the best moves.
type Found<'py, T> = (Bound<'py, PyArray1<T>>, Bound<'py, PyArray1<i8>>);

fn arrays<T: Element>(py: Python<'_>, found: Vec<(T, i8)>) -> Found<'_, T> {
    let (values, moves): (Vec<T>, Vec<i8>) = found.into_iter().unzip();
    (values.into_pyarray(py), moves.into_pyarray(py))
}

/// What is found in each position by one of the tools that the threads share; `None` once one finds nothing. Positions take very different
/// times, so each is its own task, and making a tool takes longer than many of them.
fn of_each<T: Send, R: Send>(
    positions: &[Position],
    make: impl Fn() -> T + Sync,
    find: impl Fn(&mut T, &Position) -> Option<R> + Sync,
) -> Option<Vec<R>> {
    let tools = Mutex::new(Vec::new());
    let idle = || tools.lock().unwrap_or_else(PoisonError::into_inner);
    let of_one = |position: &Position| {
        let known = idle().pop();
        let mut tool = known.unwrap_or_else(&make);
        let found = find(&mut tool, position)?;
        idle().push(tool);
        Some(found)
    };
    positions.par_iter().with_max_len(1).map(of_one).collect()
}

/// The number of a move's square, or -1.
fn number(best: Option<Square>) -> i8 {
    best.map_or(-1, |square| square.index() as i8)
}

/// Reads a weight file (`.fsw`), or the best weights of a run by its folder; without a path, the weights that ship with flipside.
///
/// Raises OSError (such as FileNotFoundError) if the file cannot be read, ValueError if it is damaged or not a weight file.
#[pyfunction]
#[pyo3(signature = (path = None))]
pub fn load(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Weights> {
    let path = path.map(|path| weights_at(&path));
    run(py, move |_| {
        let file = path.as_ref().map_or_else(|| Ok(WeightFile::embedded()), WeightFile::load);
        let file = file.map_err(|error| of_file(path.as_deref().unwrap_or(Path::new("")), error))?;
        let evaluator = file.evaluator().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Weights { evaluator: Arc::new(evaluator), hash: file.hash(), file: Arc::new(file) })
    })?
}

/// Maps what the file system says to Python's `OSError`s, damaged files to `ValueError`.
fn of_file(path: &Path, error: FileError) -> PyErr {
    match error {
        FileError::Io { source, .. } => {
            io::Error::new(source.kind(), format!("cannot read {}: {source}", path.display())).into()
        }
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Writes weights made in Python to a weight file (`.fsw`), which every command of flipside takes.
///
/// `weights` are float32, shape (stages, slots of the pattern set), in discs for the player to move. Of slots that are mirror images of each
/// other, the one in `canonical` counts. `stage_of_empties` is uint8, shape (61,): the stage of each number of empty squares, numbered from 0
/// in the order in which a game enters them. Weights are stored in 1/128 disc.
///
/// Raises ValueError for arrays of other shapes, for NaN, and for weights of 256 discs or more; OSError if the file cannot be written.
#[pyfunction]
pub fn save(
    py: Python<'_>,
    path: PathBuf,
    set: &Bound<'_, PyAny>,
    weights: &Bound<'_, PyAny>,
    stage_of_empties: PyReadonlyArray1<'_, u8>,
) -> PyResult<()> {
    let set = PatternSet::named(set)?;
    let invalid = |error: String| PyValueError::new_err(error);
    let stages =
        StageMap::from_table(&stage_of_empties.as_array().to_vec()).map_err(|error| invalid(error.to_string()))?;
    let weights: PyReadonlyArray2<'_, f32> = weights
        .extract()
        .map_err(|_| PyTypeError::new_err("weights are a numpy.float32 array of shape (stages, slots)"))?;
    let (weights, layout) = (weights.as_array(), set.layout().clone());
    let expected = (stages.count(), layout.slots());
    if weights.dim() != expected {
        return Err(invalid(format!(
            "weights of shape {:?} where {expected:?} (stages, slots) is expected",
            weights.dim()
        )));
    }
    let mut model =
        Model::zero(layout.set(), &stages, Score::DISC as u16).map_err(|error| invalid(error.to_string()))?;
    for (stage, row) in weights.rows().into_iter().enumerate() {
        for (slot, &canonical) in set.canonical_slots().iter().enumerate() {
            if canonical as usize == slot {
                let units = (row[slot] * Score::DISC as f32).round();
                if !(units >= f32::from(i16::MIN) && units <= f32::from(i16::MAX)) {
                    return Err(invalid(format!(
                        "stage {stage}, slot {slot}: a weight of {} discs is not within 255",
                        row[slot]
                    )));
                }
                model.weights[stage][layout.weight_of_slot()[slot] as usize] = units as i16;
            }
        }
    }
    let bytes = run(py, move |_: &AtomicBool| {
        let file = WeightFile::new(model.clone(), Provenance::of_this_program("trained in Python"));
        file.evaluator().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok::<_, PyErr>(file.to_bytes())
    })??;
    // With the GIL, since writers share a lock: no fork can come in the middle.
    write_whole(&path, &bytes).map_err(|error| match error {
        FileError::Io { path, source } => io::Error::new(source.kind(), format!("{}: {source}", path.display())).into(),
        other => PyValueError::new_err(other.to_string()),
    })
}
