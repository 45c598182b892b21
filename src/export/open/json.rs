//! JSON.

use std::io::{self, Write};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::{Deserializer, Value};

use super::read::{Array, Arrays, Content, Metadata, whole};
use super::tensors::of_pattern;
use super::{heads, metadata, places};
use crate::eval::{Row, UNITS};
use crate::pattern::Layout;
use crate::weights::WeightFile;

#[derive(Serialize)]
struct File<'a> {
    metadata: Value,
    scale: u16,
    stage_of_empties: &'a [u8],
    patterns: Vec<Pattern<'a>>,
    scalars: Vec<Scalar>,
    weights: &'a [Vec<i16>],
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<Hidden<'a>>,
}

#[derive(Serialize)]
struct Hidden<'a> {
    rows_of_stage: &'a [u8],
    rows: &'a [Vec<Row>],
    bias: Vec<[i16; UNITS]>,
    output: Vec<[i16; UNITS]>,
}

#[derive(Serialize)]
struct Pattern<'a> {
    name: &'a str,
    places: Vec<Vec<u8>>,
    weight_of_configuration: &'a [u32],
}

#[derive(Serialize)]
struct Scalar {
    name: &'static str,
    weight_of_value: Vec<u32>,
}

pub(super) fn write(file: &WeightFile, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let patterns = file.model.set.patterns.iter().enumerate().map(|(number, pattern)| Pattern {
        name: &pattern.name,
        places: places(layout, number),
        weight_of_configuration: &layout.weight_of_slot()[layout.slots_of(number)],
    });
    let scalars = layout.scalars().iter().map(|&(scalar, first)| Scalar {
        name: scalar.name(),
        weight_of_value: layout.weight_of_slot()[first..first + scalar.values()].to_vec(),
    });
    let json = File {
        metadata: metadata(file),
        scale: file.model.scale,
        stage_of_empties: file.model.stages.table(),
        patterns: patterns.collect(),
        scalars: scalars.collect(),
        weights: &file.model.weights,
        hidden: file.model.hidden.as_ref().map(|hidden| {
            let [(_, bias), (_, output)] = heads(hidden);
            Hidden { rows_of_stage: &hidden.rows_of_stage, rows: &hidden.rows, bias, output }
        }),
    };
    serde_json::to_writer(&mut *writer, &json)?;
    writeln!(writer)
}

/// A file as others may have changed it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    metadata: Option<Metadata>,
    scale: f64,
    stage_of_empties: Vec<f64>,
    patterns: Vec<ChangedPattern>,
    scalars: Vec<ChangedScalar>,
    weights: Vec<Vec<f64>>,
    hidden: Option<ChangedHidden>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedHidden {
    rows_of_stage: Vec<f64>,
    rows: Vec<Vec<[f64; UNITS]>>,
    bias: Vec<[f64; UNITS]>,
    output: Vec<[f64; UNITS]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedPattern {
    name: String,
    places: Vec<Vec<f64>>,
    weight_of_configuration: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedScalar {
    name: String,
    weight_of_value: Vec<f64>,
}

/// The arrays of a file, with those of each pattern and scalar as the other layouts have them.
pub(super) fn read(bytes: &[u8]) -> Result<Content<'static>, String> {
    let mut text = Deserializer::from_slice(bytes);
    let file: Changed = serde_path_to_error::deserialize(&mut text).map_err(|error| error.to_string())?;
    text.end().map_err(|error| error.to_string())?;
    let mut arrays = Arrays::default();
    let mut add = |name: &str, shape: &[usize], numbers: &[f64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        arrays.add(name.to_owned(), Array::new("f8", shape.to_vec(), bytes))
    };
    add("scale", &[], &[file.scale])?;
    add("stage_of_empties", &[file.stage_of_empties.len()], &file.stage_of_empties)?;
    if let Some(hidden) = &file.hidden {
        add("hidden.rows_of_stage", &[hidden.rows_of_stage.len()], &hidden.rows_of_stage)?;
        add("hidden.bias", &[hidden.bias.len(), UNITS], hidden.bias.as_flattened())?;
        add("hidden.output", &[hidden.output.len(), UNITS], hidden.output.as_flattened())?;
    }
    for pattern in &file.patterns {
        let name = format!("{}.places", of_pattern(&pattern.name));
        let squares = pattern.places.first().map_or(0, Vec::len);
        add(&name, &[pattern.places.len(), squares], &pattern.places.concat())?;
    }
    let weights: Vec<_> = file.weights.iter().map(|stage| stage.as_chunks::<1>().0).collect();
    let (weights, entries) = entries_of::<i16, 1>("weights", &weights, i16::MIN.into()..=i16::MAX.into())?;
    let rows = file.hidden.as_ref().map(|hidden| {
        let rows: Vec<_> = hidden.rows.iter().map(Vec::as_slice).collect();
        entries_of::<i8, UNITS>("hidden.rows", &rows, i8::MIN.into()..=i8::MAX.into())
    });
    let rows = rows.transpose()?;
    if let Some((_, found)) = rows.as_ref().filter(|(_, found)| *found != entries) {
        return Err(format!("`hidden.rows`: {found} in a table, where a stage has {entries} weights"));
    }
    let patterns = file
        .patterns
        .iter()
        .map(|pattern| (of_pattern(&pattern.name), "weight_of_configuration", &pattern.weight_of_configuration));
    let scalars = file.scalars.iter();
    let scalars = scalars.map(|scalar| (format!("scalar.{}", scalar.name), "weight_of_value", &scalar.weight_of_value));
    let mut used = 0;
    for (name, key, numbers) in patterns.chain(scalars) {
        let slots = numbers.len();
        let entry_of_slot: Vec<usize> =
            whole(&format!("{name}.{key}"), &[slots], numbers.iter().copied(), 0..=entries as i64 - 1)?;
        used = entry_of_slot.iter().fold(used, |used, &entry| used.max(entry + 1));
        let of_slots = weights.chunks_exact(entries).flat_map(|stage| entry_of_slot.iter().map(|&entry| stage[entry]));
        let bytes: Vec<u8> = of_slots.flat_map(|[weight]| weight.to_le_bytes()).collect();
        arrays.add(format!("{name}.weights"), Array::new("i2", vec![file.weights.len(), slots], bytes))?;
        if let Some((rows, _)) = &rows {
            let of_slots = rows.chunks_exact(entries).flat_map(|table| entry_of_slot.iter().map(|&entry| table[entry]));
            let bytes: Vec<u8> = of_slots.flatten().map(i8::cast_unsigned).collect();
            arrays.add(format!("{name}.rows"), Array::new("i1", vec![rows.len() / entries, slots, UNITS], bytes))?;
        }
    }
    if used != entries {
        return Err(format!("`weights`: {entries} in a stage, where the patterns and scalars use {used}"));
    }
    Ok((arrays, file.metadata))
}

/// The entries of all tables, one table after another, and how many each has.
fn entries_of<T: TryFrom<i64> + Copy, const N: usize>(
    name: &str,
    tables: &[&[[f64; N]]],
    range: RangeInclusive<i64>,
) -> Result<(Vec<[T; N]>, usize), String> {
    let entries = tables.first().map_or(0, |table| table.len());
    match tables.iter().find(|table| table.len() != entries) {
        _ if entries == 0 => return Err(format!("`{name}` is empty")),
        Some(other) => return Err(format!("`{name}`: {entries} in the first table, {} in another", other.len())),
        None => {}
    }
    let shape = [tables.len(), entries, N];
    let shape = if N == 1 { &shape[..2] } else { &shape };
    let numbers: Vec<T> = whole(name, shape, tables.iter().flat_map(|table| table.as_flattened()).copied(), range)?;
    Ok((numbers.as_chunks().0.to_vec(), entries))
}
