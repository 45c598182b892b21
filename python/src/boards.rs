//! Positions from arrays and from text.

use std::collections::BTreeSet;

use flipside_core::board::{Position, ScoredDiagram};
use flipside_core::record::lines::parse_positions;
use numpy::ndarray::{Array2, ArrayView1, Dimension};
use numpy::{IntoPyArray, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Positions from text, one per line: uint64, shape (n, 2).
///
/// A line has 64 characters from a1 to h8 (`X` black, `O` white, `-` empty) and the side to move, or the moves that lead to the position, such
/// as `f5d6c3`. Raises ValueError naming a line that is neither.
#[pyfunction]
pub fn boards<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyArray2<u64>>> {
    let diagrams = parse_positions(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let discs = |scored: &ScoredDiagram| {
        let Position { player, opponent } = scored.diagram.position;
        [player, opponent]
    };
    let discs: Vec<u64> = diagrams.iter().flat_map(discs).collect();
    let rows = discs.len() / 2;
    Ok(Array2::from_shape_vec((rows, 2), discs).expect("two numbers a row").into_pyarray(py))
}

/// Positions from an array of shape (n, 2), two arrays of shape (n,), or a structured array with the fields `player` and `opponent`: discs
/// of the player to move and of the opponent.
pub fn positions_of(boards: &Bound<'_, PyAny>) -> PyResult<Vec<Position>> {
    let expected = || {
        PyTypeError::new_err(
            "boards are a numpy.uint64 array of shape (n, 2), a tuple of two of shape (n,), or an array of shape (n,) with such fields \
             `player` and `opponent`: discs of the player to move, and of the opponent",
        )
    };
    let pair: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = if let Ok(pair) = boards.cast::<PyTuple>() {
        Some(pair.extract().map_err(|_| expected())?)
    } else if has_players(boards) {
        Some((boards.get_item("player")?, boards.get_item("opponent")?))
    } else {
        None
    };
    if let Some((player, opponent)) = pair {
        let [player, opponent]: [Bound<'_, PyArray1<u64>>; 2] =
            [player.cast_into().map_err(|_| expected())?, opponent.cast_into().map_err(|_| expected())?];
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

/// Whether an object is a structured array with the fields of a position.
fn has_players(boards: &Bound<'_, PyAny>) -> bool {
    let names = boards.getattr("dtype").and_then(|dtype| dtype.getattr("names"));
    let names: Result<BTreeSet<String>, _> =
        names.and_then(|names| names.extract::<Vec<String>>()).map(BTreeSet::from_iter);
    names.is_ok_and(|names| names.contains("player") && names.contains("opponent"))
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
