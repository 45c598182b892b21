//! Source code with the weights and a small complete evaluator: a C99 header, and a Rust module.

use std::fmt::Display;
use std::io::{self, Write};

use super::heads;
use crate::eval::{HiddenLayer, UNITS};
use crate::pattern::{Layout, Scalar};
use crate::weights::WeightFile;

/// The evaluators. They use the weights only by the names below.
const C: &str = include_str!("evaluate.h");
const RUST: &str = include_str!("evaluate.rs.txt");

/// An evaluator for models with or without a hidden layer: lines between `IF HIDDEN`, `ELSE` and `END` are for one of the two.
fn evaluator(template: &str, hidden: bool) -> String {
    let mut wanted = true;
    let mut text = String::new();
    for line in template.lines() {
        match line.trim_matches([' ', '/', '*']) {
            "IF HIDDEN" => wanted = hidden,
            "ELSE" => wanted = !hidden,
            "END" => wanted = true,
            _ if wanted => text.extend([line, "\n"]),
            _ => {}
        }
    }
    text
}

/// What both languages need.
struct Tables {
    title: String,
    /// First slot, number of squares, and squares (0 beyond them) of each place of each pattern.
    places: Vec<Vec<usize>>,
    /// First weight of each scalar, and what it counts.
    scalars: Vec<(usize, Scalar)>,
}

impl Tables {
    fn new(file: &WeightFile, layout: &Layout) -> Self {
        let provenance = &file.provenance;
        // The texts come from a file: nothing in them may end a comment or begin a line.
        let plain = |text: &str| -> String {
            text.chars().map(|c| if c.is_ascii_alphanumeric() || " .,:_-".contains(c) { c } else { '?' }).collect()
        };
        let title = [&provenance.program, &provenance.origin, &file.model.set.name].map(|text| plain(text));
        let places = (0..layout.lanes().count()).map(|lane| {
            let (pattern, squares) = layout.lanes().instance(lane);
            let mut place = vec![layout.slots_of(pattern).start, squares.len()];
            place.extend(squares.iter().map(|square| square.index()));
            place.resize(12, 0);
            place
        });
        let weight = |slot: usize| layout.weight_of_slot()[slot] as usize;
        let scalars = layout.scalars().iter().map(|&(scalar, slot)| (weight(slot), scalar));
        Self {
            title: format!("{}; {}; pattern set {}; sha256 {}", title[0], title[1], title[2], file.hash()),
            places: places.collect(),
            scalars: scalars.collect(),
        }
    }
}

/// Numbers with commas, in lines of at most 120 characters.
fn list<T: Display>(writer: &mut dyn Write, numbers: impl IntoIterator<Item = T>) -> io::Result<()> {
    let mut line = String::new();
    for number in numbers {
        let text = format!("{number},");
        if line.len() + text.len() > 120 {
            writeln!(writer, "{line}")?;
            line.clear();
        }
        line.push_str(&text);
    }
    writeln!(writer, "{line}")
}

/// A C99 header.
pub(super) fn write_c(file: &WeightFile, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let tables = Tables::new(file, layout);
    let model = &file.model;
    writeln!(writer, "/* Othello evaluation weights. {}. */", tables.title)?;
    writeln!(writer, "#ifndef FLIPSIDE_WEIGHTS_H\n#define FLIPSIDE_WEIGHTS_H\n\n#include <stdint.h>\n")?;
    writeln!(writer, "#define FLIPSIDE_SCALE {}", model.scale)?;
    writeln!(writer, "#define FLIPSIDE_PLACES {}", tables.places.len())?;
    writeln!(writer, "#define FLIPSIDE_SCALARS {}\n", tables.scalars.len())?;
    writeln!(writer, "static const uint8_t flipside_stage_of_empties[61] = {{")?;
    list(writer, model.stages.table())?;
    writeln!(writer, "}};\n\n/* First configuration, number of squares, squares. */")?;
    writeln!(writer, "static const uint32_t flipside_places[FLIPSIDE_PLACES][12] = {{")?;
    for place in &tables.places {
        writeln!(writer, "{{{}}},", place.iter().map(usize::to_string).collect::<Vec<_>>().join(","))?;
    }
    writeln!(writer, "}};\n\n/* First weight of each scalar feature; the last number is not used. */")?;
    writeln!(writer, "static const uint32_t flipside_scalars[FLIPSIDE_SCALARS + 1] = {{")?;
    list(writer, tables.scalars.iter().map(|&(weight, _)| weight).chain([0]))?;
    writeln!(writer, "}};\n\nstatic const uint32_t flipside_weight_of_configuration[{}] = {{", layout.slots())?;
    list(writer, layout.weight_of_slot())?;
    writeln!(
        writer,
        "}};\n\nstatic const int16_t flipside_weights[{}][{}] = {{",
        model.weights.len(),
        layout.weights()
    )?;
    for weights in &model.weights {
        writeln!(writer, "{{")?;
        list(writer, weights)?;
        writeln!(writer, "}},")?;
    }
    let values = tables.scalars.iter().enumerate();
    let cases: Vec<_> = values.map(|(i, (_, scalar))| format!("    case {i}: return {};\n", scalar.c())).collect();
    writeln!(writer, "}};\n")?;
    if let Some(hidden) = &model.hidden {
        write_c_layer(hidden, layout, writer)?;
    }
    let evaluator = evaluator(C, model.hidden.is_some());
    writeln!(writer, "{}\n#endif", evaluator.replace("    /* CASES */\n", &cases.concat()))
}

/// A hidden layer's tables for C.
fn write_c_layer(hidden: &HiddenLayer, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let stages = hidden.heads.len();
    writeln!(writer, "/* Numbers of a row of the hidden layer. */\n#define FLIPSIDE_UNITS {UNITS}\n")?;
    writeln!(writer, "static const uint8_t flipside_rows_of_stage[{stages}] = {{")?;
    list(writer, &hidden.rows_of_stage)?;
    let rows = (hidden.rows.len(), layout.weights());
    writeln!(writer, "}};\n\nstatic const int8_t flipside_rows[{}][{} * FLIPSIDE_UNITS] = {{", rows.0, rows.1)?;
    for rows in &hidden.rows {
        writeln!(writer, "{{")?;
        list(writer, rows.as_flattened())?;
        writeln!(writer, "}},")?;
    }
    for (name, numbers) in heads(hidden) {
        writeln!(writer, "}};\n\nstatic const int16_t flipside_{name}[{stages}][FLIPSIDE_UNITS] = {{")?;
        for of_stage in numbers {
            writeln!(writer, "{{{}}},", of_stage.map(|number| number.to_string()).join(","))?;
        }
    }
    writeln!(writer, "}};\n")
}

/// A Rust module.
pub(super) fn write_rust(file: &WeightFile, layout: &Layout, writer: &mut dyn Write) -> io::Result<()> {
    let tables = Tables::new(file, layout);
    let model = &file.model;
    let values = tables.scalars.iter().enumerate();
    let cases: Vec<_> = values.map(|(i, (_, scalar))| format!("        {i} => {},\n", scalar.rust())).collect();
    let evaluator = evaluator(RUST, model.hidden.is_some()).replace("        // CASES\n", &cases.concat());
    writeln!(writer, "//! Othello evaluation weights. {}.\n\n{evaluator}", tables.title)?;
    writeln!(writer, "/// Units of a weight in a disc.\npub const SCALE: i32 = {};\n", model.scale)?;
    writeln!(writer, "/// Weights of a stage.\nconst WEIGHTS_OF_STAGE: usize = {};\n", layout.weights())?;
    writeln!(writer, "const STAGE_OF_EMPTIES: [u8; 61] = {:?};\n", model.stages.table())?;
    writeln!(writer, "/// First configuration, number of squares, squares.")?;
    writeln!(writer, "const PLACES: [[u32; 12]; {}] = {:?};\n", tables.places.len(), tables.places)?;
    let firsts: Vec<usize> = tables.scalars.iter().map(|&(weight, _)| weight).collect();
    writeln!(writer, "/// First weight of each scalar feature.")?;
    writeln!(writer, "const SCALARS: [u32; {}] = {firsts:?};\n", firsts.len())?;
    writeln!(writer, "/// Little-endian u32.\nstatic WEIGHT_OF_CONFIGURATION: &[u8] =")?;
    byte_string(writer, layout.weight_of_slot().iter().flat_map(|weight| weight.to_le_bytes()))?;
    writeln!(writer, "\n/// Little-endian i16, stage by stage.\nstatic WEIGHTS: &[u8] =")?;
    byte_string(writer, model.weights.iter().flatten().flat_map(|weight| weight.to_le_bytes()))?;
    model.hidden.as_ref().map_or(Ok(()), |hidden| write_rust_layer(hidden, writer))
}

/// A hidden layer's tables for Rust.
fn write_rust_layer(hidden: &HiddenLayer, writer: &mut dyn Write) -> io::Result<()> {
    let stages = hidden.heads.len();
    writeln!(writer, "\n/// Numbers of a row of the hidden layer.\nconst UNITS: usize = {UNITS};\n")?;
    writeln!(writer, "const ROWS_OF_STAGE: [u8; {stages}] = {:?};", hidden.rows_of_stage)?;
    for (name, numbers) in heads(hidden) {
        writeln!(writer, "\nconst {}: [[i16; UNITS]; {stages}] = {numbers:?};", name.to_uppercase())?;
    }
    writeln!(writer, "\n/// An i8 each.\nstatic ROWS: &[u8] =")?;
    byte_string(writer, hidden.rows.iter().flatten().flatten().map(|number| number.cast_unsigned()))
}

/// Bytes as one literal: compilers read that hundreds of times faster than an array of as many numbers.
fn byte_string(writer: &mut dyn Write, bytes: impl Iterator<Item = u8>) -> io::Result<()> {
    write!(writer, "    b\"")?;
    for (i, byte) in bytes.enumerate() {
        if i % 28 == 0 {
            write!(writer, "\\\n    ")?;
        }
        write!(writer, "\\x{byte:02x}")?;
    }
    writeln!(writer, "\";")
}
