//! Pattern sets, and the slots of a position's features.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use flipside_core::board::Position;
use flipside_core::export::tables;
use flipside_core::pattern::{self, Layout, Seen};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::boards::positions_of;
use crate::threads::run;

/// A pattern set: what a linear evaluation looks at.
///
/// `set` is the name of a built-in set, such as "classic", or the path of a TOML file. Raises ValueError if there is no such set.
///
/// A configuration of a pattern and a value of a scalar feature each have a slot in one flat table: the tables of the patterns, then
/// those of the scalars, as `flipside export --to npz` writes them, one after another.
#[pyclass(frozen, module = "flipside")]
#[derive(Clone)]
pub struct PatternSet {
    layout: Arc<Layout>,
    canonical: Arc<[i32]>,
}

#[pymethods]
impl PatternSet {
    #[new]
    fn new(set: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::named(set)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.layout.set().name
    }

    /// Number of slots of all tables.
    #[getter]
    fn slots(&self) -> usize {
        self.layout.slots()
    }

    /// Number of features of a position: places of patterns on the board, and scalars.
    #[getter]
    fn features(&self) -> usize {
        self.layout.features()
    }

    /// The tables in order: the name that begins the names of its arrays in an exported npz (as in `pattern.edge2x.weights`), its first
    /// slot, and its number of slots.
    #[getter]
    fn tables(&self) -> Vec<(String, usize, usize)> {
        tables(&self.layout).into_iter().map(|(name, slots)| (name, slots.start, slots.len())).collect()
    }

    /// For each slot, the slot that counts for it and its mirror images: int32, shape (slots,).
    ///
    /// `features` gives only such slots. `table[:, set.canonical]` fills the others.
    #[getter]
    fn canonical<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.canonical.to_vec().into_pyarray(py)
    }

    fn __repr__(&self) -> String {
        format!("<flipside.PatternSet {}: {} features, {} slots>", self.name(), self.features(), self.slots())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text =
            serde_json::to_string(slf.get().layout.set()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((slf.py().import("flipside")?.getattr("_pattern_set")?, (text,)))
    }
}

/// A pickled pattern set.
#[pyfunction]
#[pyo3(name = "_pattern_set")]
pub fn pattern_set(text: &str) -> PyResult<PatternSet> {
    let set: pattern::PatternSet =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PatternSet::laid_out(&set)
}

impl PatternSet {
    /// The set of a layout.
    pub fn of(layout: Arc<Layout>) -> Self {
        let weight_of_slot = layout.weight_of_slot();
        // Weights are numbered in the order of their first slots.
        let mut first = Vec::with_capacity(layout.weights());
        for (slot, &weight) in weight_of_slot.iter().enumerate() {
            if weight as usize == first.len() {
                first.push(slot as i32);
            }
        }
        let canonical = weight_of_slot.iter().map(|&weight| first[weight as usize]).collect();
        Self { layout, canonical }
    }

    fn laid_out(set: &pattern::PatternSet) -> PyResult<Self> {
        Ok(Self::of(Arc::new(Layout::new(set).map_err(|error| PyValueError::new_err(error.to_string()))?)))
    }

    /// A set given as such, by the name of a built-in one, or by a path.
    pub fn named(set: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(set) = set.cast::<Self>() {
            return Ok(set.get().clone());
        }
        let name = set.py().import("os")?.call_method1("fspath", (set,)).and_then(|name| name.extract::<String>());
        let name = name.map_err(|_| PyTypeError::new_err("a pattern set is a PatternSet, a name or a path"))?;
        let set = pattern::PatternSet::load(&name).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Self::laid_out(&set)
    }

    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// For each slot, the one that counts.
    pub fn canonical_slots(&self) -> &[i32] {
        &self.canonical
    }
}

/// The slots of the features of positions: int32, shape (n, features of the set).
///
/// `set` is a `PatternSet`, the name of a built-in one, or the path of a TOML file. The columns are the places of the patterns on the board,
/// pattern by pattern, then the scalars. The sum of a stage's weights at a position's slots is its value. Positions are seen as they are:
/// nothing is special if the player has to pass.
#[pyfunction]
pub fn features<'py>(
    py: Python<'py>,
    boards: &Bound<'py, PyAny>,
    set: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let (positions, set) = (positions_of(boards)?, PatternSet::named(set)?);
    let shape = (positions.len(), set.layout.features());
    let slots: Vec<i32> = run(py, move |stop| {
        let mut slots = vec![0; positions.len() * set.layout.features()];
        let rows = slots.par_chunks_mut(set.layout.features()).zip(&positions).with_min_len(256);
        rows.filter(|_| !stop.load(Relaxed)).for_each(|(row, position)| fill(row, position, &set));
        slots
    })?;
    Ok(Array2::from_shape_vec(shape, slots).expect("a row for each position").into_pyarray(py))
}

/// Writes the slots of a position's features.
fn fill(row: &mut [i32], position: &Position, set: &PatternSet) {
    let (layout, canonical) = (&set.layout, &set.canonical);
    let lanes = layout.lanes().count();
    let indices = layout.lanes().indices(position);
    for ((slot, &index), &centre) in row[..lanes].iter_mut().zip(indices.lanes()).zip(layout.centres()) {
        *slot = canonical[centre.wrapping_add_signed(index.into()) as usize];
    }
    let seen = Seen::new(position);
    for (slot, (scalar, first)) in row[lanes..].iter_mut().zip(layout.scalars()) {
        *slot = (first + scalar.of(&seen)) as i32;
    }
}
