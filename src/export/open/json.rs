//! JSON.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

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
