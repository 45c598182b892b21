//! Kept games as batches of labelled positions.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flipside_core::games::{BadGames, GamesError, KeptGames, Part};
use flipside_core::label::{LabelledPosition, Order, Positions, Target};
use flipside_core::train::with_continued;
use numpy::{IntoPyArray, PyArrayDescr};
use pyo3::exceptions::{PyRuntimeWarning, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::threads::run;

/// The largest batch.
const MOST_AT_ONCE: u64 = 1 << 24;

/// Labelled positions of kept games, an iterable of batches. `games` creates them.
///
/// Each `iter` begins anew. Games can be pickled and used in forked processes: no file stays open. `len` is the number of batches.
#[pyclass(frozen, module = "flipside")]
pub struct Games {
    kept: Arc<KeptGames>,
    part: (String, u32),
    label: (String, f32),
    batch: u64,
    order: Order,
    start: u64,
    positions: Arc<Positions>,
}

/// What pickling keeps of games: files and their lengths, part, label, batch, seed, shard, start.
type Pickled = (Vec<(PathBuf, u64)>, (String, u32), (String, f32), u64, Option<u64>, (u32, u32), u64);

/// The labelled positions of the games that runs have kept, in batches.
///
/// `path` is a run's folder, a file of kept games (`.fsg`), or a list of these. Before the games of a run come those of the runs that it
/// continues. Each batch is a structured array of shape (batch,), the last one shorter. Values are in discs for the player to move:
///
/// - `player`, `opponent` (uint64): the discs of both sides, as in `boards`
/// - `label` (float32): what is to be learned
/// - `search` (float32): the value by search when the game was played
/// - `game` (uint32): the number of the game among all in the files, from 0
/// - `result` (int8): of the game, empty squares counted for the winner
/// - `ply` (uint8): moves played before, 0 to 59
/// - `kind` (uint8): 0 if the best move of a search was played, 1 if a random one was, 2 if the search value is exact
/// - `move` (int8): the square that was played to, 0 (a1) to 63 (h8)
///
/// `label` is "lambda" for the lambda-return with `lambda_`, 0 to 1, as in `flipside fit`; "search" for the search value; "result" for the
/// result. With `shuffle`, a seed, positions come in a random order: the same for the same games, seed and shard, on any number of threads.
/// Without it they come in the order of the games. `shard` is (index, number): every process takes a share of the games. `start` is the
/// number of positions to leave out, so that an interrupted iteration goes on where its `offset` says. `part` is "all", or "learned" or
/// "held-out": the games that `flipside fit` learns and those that it holds out, one of `hold_out`.
///
/// The files are read and checked first, on all threads. What is appended to them later does not count. Positions are decoded a million
/// at a time, which takes about 150 MB of memory; a billion positions take as much again.
///
/// Raises FileNotFoundError if there are no games, ValueError if a file is damaged or an argument is wrong, and warns if the end of a file
/// was cut off by a crash (the games before it count), or if a run that another one continues is not there.
#[pyfunction]
#[pyo3(signature = (path, *, label = "lambda", lambda_ = 0.9, batch = 65536, shuffle = None, shard = (0, 1), start = 0, part = "all", hold_out = 200))]
#[allow(clippy::too_many_arguments)] // They are named in Python.
pub fn games(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    label: &str,
    lambda_: f32,
    batch: i64,
    shuffle: Option<u64>,
    shard: (i64, i64),
    start: u64,
    part: &str,
    hold_out: u32,
) -> PyResult<Games> {
    let paths: Result<Vec<PathBuf>, _> = match path.extract::<PathBuf>() {
        Ok(path) => Ok(vec![path]),
        Err(_) => path.extract(),
    };
    let paths = paths.map_err(|_| PyTypeError::new_err("games are in a path or a list of paths"))?;
    let chosen = Part::named(part, hold_out)
        .ok_or_else(|| PyValueError::new_err(format!("part is \"all\", \"learned\" or \"held-out\", not {part:?}")))?;
    let mut warnings = Vec::new();
    let paths = with_continued(&paths, &mut |text, is_warning| warnings.extend(is_warning.then(|| text.to_owned())));
    let kept =
        run(py, move |stop| KeptGames::open(&paths, chosen, &|_| stop.load(Relaxed)))?.map_err(|error| bad(&error))?;
    let kept = Arc::new(kept.expect("Python has no signal"));
    let cut_off = |path: &Path| format!("{}: the file ends within a frame; the games before it count", path.display());
    warnings.extend(kept.cut_off().map(cut_off));
    for text in warnings {
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &std::ffi::CString::new(text)?, 2)?;
    }
    let shard = shard_of(shard)?;
    let batch = u64::try_from(batch).ok().filter(|batch| (1..=MOST_AT_ONCE).contains(batch));
    let batch = batch.ok_or_else(|| PyValueError::new_err(format!("batch is 1 to {MOST_AT_ONCE} positions")))?;
    let order = Order { shuffle, shard };
    Games::new(kept, (part.to_owned(), hold_out), (label.to_owned(), lambda_), batch, order, start)
}

/// Pickled games.
#[pyfunction]
#[pyo3(name = "_games")]
pub fn unpickled(py: Python<'_>, pickled: Pickled) -> PyResult<Games> {
    let (lengths, part, label, batch, shuffle, shard, start) = pickled;
    let chosen = Part::named(&part.0, part.1).ok_or_else(|| PyValueError::new_err("no such part"))?;
    let kept = run(py, move |stop| KeptGames::open_lengths(&lengths, chosen, &|_| stop.load(Relaxed)))?
        .map_err(|error| bad(&error))?;
    Games::new(Arc::new(kept.expect("Python has no signal")), part, label, batch, Order { shuffle, shard }, start)
}

fn shard_of((index, number): (i64, i64)) -> PyResult<(u32, u32)> {
    let shard = u32::try_from(index).ok().zip(u32::try_from(number).ok()).filter(|(index, number)| index < number);
    shard
        .ok_or_else(|| PyValueError::new_err(format!("there is no shard {index} of {number}: they are counted from 0")))
}

/// Maps what the file system says to Python's `OSError`s, damaged files to `ValueError`.
fn bad(error: &BadGames) -> PyErr {
    match &error.source {
        GamesError::Io(source) => io::Error::new(source.kind(), error.to_string()).into(),
        _ => PyValueError::new_err(error.to_string()),
    }
}

impl Games {
    fn new(
        kept: Arc<KeptGames>,
        part: (String, u32),
        label: (String, f32),
        batch: u64,
        order: Order,
        start: u64,
    ) -> PyResult<Self> {
        let target = Target::named(&label.0, label.1).ok_or_else(|| {
            let (name, lambda) = &label;
            PyValueError::new_err(format!(
                "label is \"lambda\" with a lambda_ of 0 to 1, \"search\" or \"result\", not {name:?} with {lambda}"
            ))
        })?;
        let positions = Arc::new(Positions::new(kept.clone(), target, order));
        Ok(Self { kept, part, label, batch, order, start, positions })
    }

    /// The same games in another order, from an offset.
    fn ordered(&self, order: Order, start: u64) -> PyResult<Self> {
        Self::new(self.kept.clone(), self.part.clone(), self.label.clone(), self.batch, order, start)
    }
}

#[pymethods]
impl Games {
    fn __iter__(&self) -> Batches {
        let now = Now { offset: self.start, chunk: None };
        Batches { positions: self.positions.clone(), batch: self.batch, now: Mutex::new(now) }
    }

    fn __len__(&self) -> usize {
        self.positions.len().saturating_sub(self.start).div_ceil(self.batch) as usize
    }

    /// Number of positions in this shard, those before `start` included.
    #[getter]
    fn positions(&self) -> u64 {
        self.positions.len()
    }

    /// Positions in a batch.
    #[getter]
    fn batch(&self) -> u64 {
        self.batch
    }

    /// The paths of the files.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.kept.lengths().into_iter().map(|(path, _)| path).collect()
    }

    /// The same games from the beginning, shuffled with a seed, such as the number of the epoch; None for the order of the games.
    #[pyo3(signature = (seed))]
    fn shuffled(&self, seed: Option<u64>) -> PyResult<Self> {
        self.ordered(Order { shuffle: seed, ..self.order }, 0)
    }

    /// Shard `index`, counted from 0, of `number` of these games, from the beginning.
    fn shard(&self, index: i64, number: i64) -> PyResult<Self> {
        let (index, number) = shard_of((index, number))?;
        let (first, step) = self.order.shard;
        let all = step.checked_mul(number).ok_or_else(|| PyValueError::new_err("too many shards"))?;
        self.ordered(Order { shard: (first + step * index, all), ..self.order }, 0)
    }

    /// The same games, but the first `offset` positions are left out.
    fn starting_at(&self, offset: u64) -> PyResult<Self> {
        self.ordered(self.order, offset)
    }

    fn __repr__(&self) -> String {
        format!("<flipside.Games: {} positions in batches of {}>", self.positions.len(), self.batch)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        let Self { part, label, batch, order, start, .. } = self;
        let pickled = (self.kept.lengths(), part.clone(), label.clone(), *batch, order.shuffle, order.shard, *start);
        Ok((py.import("flipside")?.getattr("_games")?, (pickled,)))
    }
}

/// Iterates over batches.
#[pyclass(frozen, module = "flipside")]
pub struct Batches {
    positions: Arc<Positions>,
    batch: u64,
    /// Locked only with the GIL held.
    now: Mutex<Now>,
}

/// Where an iteration is.
struct Now {
    offset: u64,
    chunk: Option<Chunk>,
}

/// A chunk with its number.
type Chunk = (usize, Arc<Vec<LabelledPosition>>);

#[pymethods]
impl Batches {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // Another thread that asks meanwhile gets the batch after this one.
        let (offset, known) = {
            let mut now = self.now();
            let offset = now.offset;
            now.offset = offset.saturating_add(self.batch).min(self.positions.len().max(offset));
            (offset, now.chunk.clone())
        };
        let (positions, batch) = (self.positions.clone(), self.batch);
        let done = run(py, move |stop| rows(&positions, offset, batch, known.clone(), stop));
        let done = done.and_then(|done| done.map_err(|error| bad(&error)));
        let mut now = self.now();
        match done {
            Ok((rows, _)) if rows.is_empty() => Ok(None),
            Ok((rows, chunk)) => {
                now.chunk = chunk;
                drop(now);
                let fields = LabelledPosition::FIELDS
                    .map(|field| field.into_pyobject(py))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()?;
                let fields = PyArrayDescr::new(py, PyList::new(py, fields)?)?;
                rows.into_pyarray(py).call_method1("view", (fields,)).map(Some)
            }
            Err(error) => {
                // Whoever goes on after an interruption misses nothing.
                now.offset = now.offset.min(offset);
                Err(error)
            }
        }
    }

    /// Number of positions so far, those before `start` included: what `start` has to be to go on from here.
    #[getter]
    fn offset(&self) -> u64 {
        self.now().offset
    }
}

impl Batches {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Up to `batch` positions from an offset on as bytes, and the last chunk that was used.
fn rows(
    positions: &Positions,
    offset: u64,
    batch: u64,
    mut known: Option<Chunk>,
    stop: &AtomicBool,
) -> Result<(Vec<u8>, Option<Chunk>), BadGames> {
    let count = batch.min(positions.len().saturating_sub(offset));
    let mut rows = Vec::with_capacity(LabelledPosition::ROW * count as usize);
    while rows.len() < LabelledPosition::ROW * count as usize {
        let at = offset + (rows.len() / LabelledPosition::ROW) as u64;
        let Some((number, skipped)) = positions.chunk_at(at) else { break };
        let chunk = match known {
            Some((known, chunk)) if known == number => chunk,
            _ => match positions.chunk(number, stop)? {
                Some(chunk) => Arc::new(chunk),
                None => return Ok((rows, None)),
            },
        };
        let left = count as usize - rows.len() / LabelledPosition::ROW;
        chunk[skipped..].iter().take(left).for_each(|position| rows.extend_from_slice(&position.row()));
        known = Some((number, chunk));
    }
    Ok((rows, known))
}
