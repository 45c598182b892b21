//! Reading weights from open layouts, whoever has changed their numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::ops::RangeInclusive;

use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use zip::ZipArchive;

use super::tensors::{self, of_pattern};
use super::{OpenLayout, json, places};
use crate::eval::{Head, HiddenLayer, Model, StageMap, UNITS};
use crate::npy;
use crate::pattern::{Layout, Pattern, PatternSet, Scalar};
use crate::weights::{MAX_BYTES, Provenance, WeightFile};

/// Limit in bytes of an archive's arrays together.
const LIMIT: u64 = 1 << 30;

/// What the metadata say that is used.
#[derive(Deserialize)]
pub(super) struct Metadata {
    format: String,
    version: u32,
    set: String,
    patterns: Vec<String>,
    scalars: Vec<Scalar>,
    sha256: Option<String>,
}

/// The weights of a file that [`write_open`](super::write_open) has written, whose numbers anybody may have changed: whole numbers and
/// floating-point numbers of all usual types, which are rounded. With `patterns`, the metadata and the places are not needed. The weights
/// are not calibrated; the parent in their provenance are those that were exported.
///
/// # Errors
/// What is wrong, with the array's name: one that is missing, unknown or of another shape, a number that is none or beyond its range,
/// different numbers for configurations that mirror each other; or a layout that is only written.
pub fn read_open(layout: OpenLayout, bytes: &[u8], patterns: Option<&PatternSet>) -> Result<WeightFile, String> {
    let (arrays, metadata) = match layout {
        OpenLayout::Npz => npz(bytes)?,
        OpenLayout::Safetensors => safetensors(bytes)?,
        OpenLayout::Json => json::read(bytes)?,
        OpenLayout::C | OpenLayout::Rust => {
            return Err(format!("{layout} is only written: npz, safetensors and json can be read"));
        }
    };
    let is_ours = |metadata: &Metadata| metadata.format == "flipside weights" && (1..=2).contains(&metadata.version);
    if !metadata.as_ref().is_none_or(is_ours) {
        return Err("`metadata`: not those of weights of flipside, versions 1 and 2".into());
    }
    let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    let parent = metadata.as_ref().and_then(|metadata| metadata.sha256.clone()).filter(is_hash);
    let provenance = Provenance { parent, ..Provenance::of_this_program(&format!("imported from {layout}")) };
    Ok(WeightFile::new(model(arrays, metadata, patterns)?, provenance))
}

/// Numbers in an order in which the last index runs fastest.
pub(super) struct Array<'b> {
    shape: Vec<usize>,
    bytes: Cow<'b, [u8]>,
    /// Bytes of a number.
    size: usize,
    number: fn(&[u8]) -> f64,
}

impl<'b> Array<'b> {
    /// An array of numbers of a type, given as NumPy calls it, in little-endian bytes.
    pub(super) fn new(element: &str, shape: Vec<usize>, bytes: impl Into<Cow<'b, [u8]>>) -> Result<Self, String> {
        macro_rules! reads {
            ($type:ty) => {
                (size_of::<$type>(), |bytes| <$type>::from_le_bytes(bytes.try_into().expect("so many bytes")) as f64)
            };
        }
        let (size, number): (usize, fn(&[u8]) -> f64) = match element {
            "u1" => reads!(u8),
            "u2" => reads!(u16),
            "u4" => reads!(u32),
            "u8" => reads!(u64),
            "i1" => reads!(i8),
            "i2" => reads!(i16),
            "i4" => reads!(i32),
            "i8" => reads!(i64),
            "f4" => reads!(f32),
            "f8" => reads!(f64),
            other => return Err(format!("numbers of type {other} are not read: save whole numbers, or float32")),
        };
        let bytes = bytes.into();
        match shape.iter().try_fold(size, |product, &length| product.checked_mul(length)) {
            Some(expected) if expected == bytes.len() => Ok(Self { shape, bytes, size, number }),
            _ => Err(format!("{} bytes of numbers do not fit the shape {shape:?}", bytes.len())),
        }
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.bytes.chunks_exact(self.size).map(self.number)
    }
}

/// Whole numbers, each within a range. `name` and `shape` are for errors.
pub(super) fn whole<T: TryFrom<i64>>(
    name: &str,
    shape: &[usize],
    numbers: impl Iterator<Item = f64>,
    range: RangeInclusive<i64>,
) -> Result<Vec<T>, String> {
    let (low, high) = (*range.start() as f64, *range.end() as f64);
    let whole = |(at, number): (usize, f64)| {
        let fitting = Some(number.round()).filter(|rounded| (low..=high).contains(rounded));
        fitting.and_then(|rounded| T::try_from(rounded as i64).ok()).ok_or_else(|| {
            let at = indices(at, shape);
            format!("`{name}`: {number}, at {at:?}, is not a number from {low} to {high}")
        })
    };
    numbers.enumerate().map(whole).collect()
}

/// The indices of a number of an array, by its place.
fn indices(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut indices = Vec::new();
    for length in shape.iter().rev() {
        indices.insert(0, at % length);
        at /= length;
    }
    indices
}

/// Arrays by name; each is taken once.
#[derive(Default)]
pub(super) struct Arrays<'b>(BTreeMap<String, Array<'b>>);

impl<'b> Arrays<'b> {
    /// Adds an array.
    pub(super) fn add(&mut self, name: String, array: Result<Array<'b>, String>) -> Result<(), String> {
        let array = array.map_err(|error| format!("`{name}`: {error}"))?;
        if self.0.contains_key(&name) {
            return Err(format!("`{name}` is there twice"));
        }
        self.0.insert(name, array);
        Ok(())
    }

    /// The numbers of an array.
    fn take<T: TryFrom<i64>>(
        &mut self,
        name: &str,
        shape: &[usize],
        range: RangeInclusive<i64>,
    ) -> Result<Vec<T>, String> {
        let array = self.0.remove(name).ok_or_else(|| format!("`{name}` is missing"))?;
        // Many programs make an array of one number of a number.
        let is_number = shape.is_empty() && array.shape == [1];
        if array.shape != shape && !is_number {
            return Err(format!("`{name}`: its shape is {:?}, where {shape:?} is expected", array.shape));
        }
        whole(name, shape, array.numbers(), range)
    }

    /// The squares of a pattern's first place.
    fn pattern(&self, name: &str) -> Result<Pattern, String> {
        let array_name = format!("{}.places", of_pattern(name));
        let array = self.0.get(&array_name).ok_or_else(|| format!("`{array_name}` is missing"))?;
        let &[_, squares @ 1..=10] = &*array.shape else {
            return Err(format!(
                "`{array_name}`: its shape is {:?}, not that of places of 1 to 10 squares",
                array.shape
            ));
        };
        let squares = whole(&array_name, &[1, squares], array.numbers().take(squares), 0..=63)?;
        Pattern::from_numbers(name, squares).map_err(|error| format!("`{array_name}`: {error}"))
    }
}

/// The arrays and metadata of a file.
pub(super) type Content<'b> = (Arrays<'b>, Option<Metadata>);

fn metadata(text: &[u8]) -> Result<Metadata, String> {
    serde_json::from_slice(text).map_err(|error| format!("`metadata`: {error}"))
}

fn npz(bytes: &[u8]) -> Result<Content<'static>, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("not a NumPy archive: {error}"))?;
    let (mut arrays, mut left, mut about) = (Arrays::default(), LIMIT, None);
    for number in 0..archive.len() {
        let file = archive.by_index(number).map_err(|error| error.to_string())?;
        let name = file.name().map_err(|error| error.to_string())?.into_owned();
        let name = name.strip_suffix(".npy").ok_or_else(|| format!("`{name}` is no array (.npy)"))?;
        let mut content = Vec::new();
        let read = file.take(left + 1).read_to_end(&mut content).map_err(|error| format!("`{name}`: {error}"))?;
        left = left.checked_sub(read as u64).ok_or_else(|| format!("`{name}`: more than {LIMIT} bytes of arrays"))?;
        if name == "metadata" {
            let (header, text) = npy::split(&content).map_err(|error| format!("`{name}`: {error}"))?;
            if header.descr != "|u1" {
                return Err(format!("`{name}`: numbers of type {}, where bytes (uint8) are expected", header.descr));
            }
            about = Some(metadata(text)?);
        } else {
            arrays.add(name.to_owned(), array_of_npy(&content))?;
        }
    }
    Ok((arrays, about))
}

/// An array of NumPy's, in our order of numbers and bytes.
fn array_of_npy(file: &[u8]) -> Result<Array<'static>, String> {
    let (npy::Header { descr, fortran_order, shape }, elements) = npy::split(file)?;
    let element = descr.trim_start_matches(['<', '>', '|', '=']);
    let mut array = Array::new(element, shape, elements.to_vec())?;
    let size = array.size;
    if descr.starts_with('>') {
        array.bytes.to_mut().chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    if fortran_order && array.shape.len() > 1 {
        array.bytes = last_index_fastest(&array.bytes, &array.shape, size).into();
    }
    Ok(array)
}

/// Numbers of `size` bytes in whose order the first index runs fastest, in the order in which the last one does.
fn last_index_fastest(numbers: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let (mut indices, mut place) = (vec![0; shape.len()], 0);
    let mut ordered = Vec::with_capacity(numbers.len());
    while ordered.len() < numbers.len() {
        ordered.extend_from_slice(&numbers[place * size..][..size]);
        for axis in (0..shape.len()).rev() {
            let step: usize = shape[..axis].iter().product();
            indices[axis] += 1;
            place += step;
            if indices[axis] < shape[axis] {
                break;
            }
            place -= step * shape[axis];
            indices[axis] = 0;
        }
    }
    ordered
}

fn safetensors(bytes: &[u8]) -> Result<Content<'_>, String> {
    let unreadable = |error: safetensors::SafeTensorError| format!("not a safetensors file: {error}");
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let mut arrays = Arrays::default();
    for (name, tensor) in SafeTensors::deserialize(bytes).map_err(unreadable)?.iter() {
        let element = match tensor.dtype() {
            Dtype::U8 => "u1",
            Dtype::U16 => "u2",
            Dtype::U32 => "u4",
            Dtype::U64 => "u8",
            Dtype::I8 => "i1",
            Dtype::I16 => "i2",
            Dtype::I32 => "i4",
            Dtype::I64 => "i8",
            Dtype::F32 => "f4",
            Dtype::F64 => "f8",
            other => &format!("{other:?}"),
        };
        arrays.add(name.to_owned(), Array::new(element, tensor.shape().to_vec(), tensor.data()))?;
    }
    let text = header.metadata().as_ref().and_then(|texts| texts.get("flipside"));
    Ok((arrays, text.map(|text| metadata(text.as_bytes())).transpose()?))
}

/// The model of arrays; every array must belong to it.
fn model(mut arrays: Arrays<'_>, metadata: Option<Metadata>, patterns: Option<&PatternSet>) -> Result<Model, String> {
    let set = match (patterns, metadata) {
        (Some(set), _) => set.of_model(),
        (None, None) => {
            return Err("its `metadata`, which name the pattern set, are missing: name the set (--patterns)".into());
        }
        (None, Some(Metadata { set: name, patterns, scalars, .. })) => {
            let patterns: Result<_, String> = patterns.iter().map(|name| arrays.pattern(name)).collect();
            PatternSet { name, patterns: patterns?, scalars, engine: None }
        }
    };
    let layout = Layout::new(&set).map_err(|error| error.to_string())?;
    let scale = arrays.take("scale", &[], 1..=u16::MAX.into())?[0];
    let table: Vec<u8> = arrays.take("stage_of_empties", &[61], 0..=60)?;
    let stages = StageMap::from_table(&table).map_err(|error| format!("`stage_of_empties`: {error}"))?;
    let count = stages.count();

    let rows = arrays.0.iter().filter(|(name, array)| name.ends_with(".rows") && array.shape.len() == 3);
    let tables_of_rows = rows.map(|(_, array)| array.shape[0]).max();
    let is_hidden = tables_of_rows.is_some() || arrays.0.keys().any(|name| name.starts_with("hidden."));
    let rows_of_stage = arrays.0.get("hidden.rows_of_stage").into_iter().flat_map(Array::numbers);
    // Without any rows, as many tables as are used.
    let tables = tables_of_rows.unwrap_or_else(|| rows_of_stage.fold(0.0, f64::max).min(255.0) as usize + 1);
    let of_weight = if is_hidden { (2 * count).saturating_add(tables.saturating_mul(UNITS)) } else { 2 * count };
    let bytes = layout.weights().saturating_mul(of_weight) as u64;
    if bytes > MAX_BYTES {
        return Err(format!("the model takes {bytes} bytes, more than a weight file may have, {MAX_BYTES}"));
    }
    let hidden = is_hidden.then(|| head(&mut arrays, count, tables)).transpose()?;

    let most = HiddenLayer::largest_weight(is_hidden);
    let mut model = Model { set, stages, scale, weights: vec![Vec::new(); count], hidden };
    for (number, (name, slots)) in tensors::tables(&layout).into_iter().enumerate() {
        if number < model.set.patterns.len() {
            let (name, places) = (format!("{name}.places"), places(&layout, number));
            // They are known if the set was named.
            let is_needed = patterns.is_none() || arrays.0.contains_key(&name);
            let shape = [places.len(), places[0].len()];
            let found = is_needed.then(|| arrays.take(&name, &shape, 0..=63)).transpose()?;
            if found.is_some_and(|found: Vec<u8>| found != places.concat()) {
                return Err(format!("`{name}`: these are not the places of the pattern on the board"));
            }
        }
        let weight_of_slot = &layout.weight_of_slot()[slots.clone()];
        let name_of_weights = format!("{name}.weights");
        let weights: Vec<i16> = arrays.take(&name_of_weights, &[count, slots.len()], i16::MIN.into()..=most.into())?;
        append(&name_of_weights, &mut model.weights, &weights, weight_of_slot)?;
        let Some(hidden) = &mut model.hidden else { continue };
        let name = format!("{name}.rows");
        let rows: Vec<i8> = match arrays.0.contains_key(&name) {
            true => arrays.take(&name, &[tables, slots.len(), UNITS], i8::MIN.into()..=i8::MAX.into())?,
            // Rows of zeros are left out.
            false => vec![0; tables * slots.len() * UNITS],
        };
        append(&name, &mut hidden.rows, rows.as_chunks::<UNITS>().0, weight_of_slot)?;
    }
    if let Some(name) = arrays.0.keys().next() {
        return Err(format!("`{name}` is not an array of this model"));
    }
    model.check(&layout).map_err(|error| error.to_string())?;
    Ok(model)
}

/// A hidden layer whose rows are still to come.
fn head(arrays: &mut Arrays<'_>, stages: usize, tables: usize) -> Result<HiddenLayer, String> {
    let rows_of_stage = arrays.take("hidden.rows_of_stage", &[stages], 0..=tables as i64 - 1)?;
    let bias: Vec<i16> =
        arrays.take("hidden.bias", &[stages, UNITS], (-HiddenLayer::MAX_BIAS).into()..=HiddenLayer::MAX_BIAS.into())?;
    let output: Vec<i16> = arrays.take("hidden.output", &[stages, UNITS], i16::MIN.into()..=i16::MAX.into())?;
    let heads = bias.as_chunks().0.iter().zip(output.as_chunks().0);
    let heads = heads.map(|(&bias, &output)| Head { bias, output }).collect();
    Ok(HiddenLayer { rows_of_stage, rows: vec![Vec::new(); tables], heads })
}

/// Appends to each table what an array has for its weights. Of slots with one weight, all must have the same.
fn append<T: Copy + PartialEq>(
    name: &str,
    tables: &mut [Vec<T>],
    array: &[T],
    weight_of_slot: &[u32],
) -> Result<(), String> {
    for (number, (table, slots)) in tables.iter_mut().zip(array.chunks_exact(weight_of_slot.len())).enumerate() {
        for (slot, (&found, &weight)) in slots.iter().zip(weight_of_slot).enumerate() {
            // Weights are numbered in the order of slots.
            match table.get(weight as usize) {
                None => table.push(found),
                Some(first) if *first == found => {}
                Some(_) => {
                    let first = weight_of_slot.iter().position(|&other| other == weight).unwrap_or_default();
                    return Err(format!(
                        "`{name}`: [{number}, {first}] and [{number}, {slot}] differ, but these configurations mirror each other and have one \
                         weight: give both the same numbers"
                    ));
                }
            }
        }
    }
    Ok(())
}
