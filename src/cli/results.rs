//! Results: a command makes values that serialise, and they are written here, the same fields in the same order everywhere: as aligned
//! columns on a terminal, separated by tabs elsewhere, or as JSON.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::error::CliError;
use super::escape::on_one_line;
use flipside::text::{bytes, count, duration};

/// The option of commands that have results.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct FormatArgument {
    /// Print JSON, one object per line, with unrounded numbers
    #[arg(long)]
    pub json: bool,
}

impl FormatArgument {
    /// Results written to standard output.
    pub fn to<'o>(self, out: &'o mut dyn Write) -> Results<'o> {
        self.to_stream(out, io::stdout().is_terminal())
    }

    /// Results written to standard error, while standard output takes something else.
    pub fn to_error<'o>(self, out: &'o mut dyn Write) -> Results<'o> {
        self.to_stream(out, io::stderr().is_terminal())
    }

    fn to_stream<'o>(self, out: &'o mut dyn Write, is_terminal: bool) -> Results<'o> {
        let format = match self.json {
            true => Format::Json,
            false if is_terminal => Format::Aligned,
            false => Format::Tabs,
        };
        Results { out, format, widths: Vec::new() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Aligned,
    Tabs,
    Json,
}

/// Writes results.
pub struct Results<'o> {
    out: &'o mut dyn Write,
    format: Format,
    /// Of the columns of the table that is being written; none before its first row.
    widths: Vec<usize>,
}

/// A serialised value with its members in order.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Object(IndexMap<String, Tree>),
}

impl Results<'_> {
    /// Whether they are written as JSON.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes the next row of a table, an object, and hands it on at once. The table has a column for each member that is a single
    /// value; lists and objects in it are left out, except in JSON. A first member without a value stands for the sum of all rows.
    ///
    /// # Errors
    /// The output's.
    pub fn row(&mut self, row: &impl Serialize) -> Result<(), CliError> {
        match self.format {
            Format::Json => self.json(row)?,
            _ => {
                let cells = self.cells(&tree(row)?);
                self.line(&cells)?;
            }
        }
        Ok(self.out.flush()?)
    }

    /// Writes rows as [`Self::row`] does, aligned by the widest of each column.
    ///
    /// # Errors
    /// The output's.
    pub fn table(&mut self, rows: &[impl Serialize]) -> Result<(), CliError> {
        if self.format == Format::Json {
            return rows.iter().try_for_each(|row| self.json(row));
        }
        let rows = rows.iter().map(tree).collect::<Result<Vec<_>, _>>()?;
        self.rows(&rows)
    }

    /// Writes one result, an object. As text, each member is a line: its name, and its value or values. Members of an object in it are
    /// lines with names like `budget.seconds`; a list of objects becomes a table below the lines.
    ///
    /// # Errors
    /// The output's.
    pub fn object(&mut self, result: &impl Serialize) -> Result<(), CliError> {
        match self.format {
            Format::Json => self.json(result),
            _ => self.members(tree(result)?, true),
        }
    }

    fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        serde_json::to_writer(&mut *self.out, value).map_err(io::Error::from)?;
        Ok(writeln!(self.out)?)
    }

    fn rows(&mut self, rows: &[Tree]) -> Result<(), CliError> {
        self.widths.clear();
        let cells: Vec<_> = rows.iter().map(|row| self.cells(row)).collect();
        if let Some(first) = cells.first() {
            self.widths = first.iter().map(|(name, _)| name.chars().count()).collect();
            cells.iter().for_each(|cells| self.widen(cells));
            self.header(&cells[0])?;
        }
        cells.iter().try_for_each(|cells| self.line(cells))
    }

    fn members(&mut self, result: Tree, is_first: bool) -> Result<(), CliError> {
        let (mut lines, mut tables) = (Vec::new(), Vec::new());
        sort_out(String::new(), result, &mut lines, &mut tables);
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let mut is_first = is_first;
        for (name, values) in lines {
            is_first = false;
            let values: Vec<_> = values.iter().map(|value| self.text(&name, value)).collect();
            match self.format {
                Format::Aligned => writeln!(self.out, "{name:width$}  {}", values.join("  "))?,
                _ => writeln!(self.out, "{name}\t{}", values.join("\t"))?,
            }
        }
        for table in tables {
            if !std::mem::take(&mut is_first) {
                writeln!(self.out)?;
            }
            let has_tables = |row: &Tree| matches!(row, Tree::Object(members) if members.values().any(is_table));
            if table.iter().any(has_tables) {
                for (i, result) in table.into_iter().enumerate() {
                    if i > 0 {
                        writeln!(self.out)?;
                    }
                    self.members(result, true)?;
                }
            } else {
                self.rows(&table)?;
            }
        }
        Ok(())
    }

    /// The names and texts of the single values of a row.
    fn cells(&self, row: &Tree) -> Vec<(String, String)> {
        let Tree::Object(members) = row else { return Vec::new() };
        let single = members.iter().filter(|(_, value)| !matches!(value, Tree::List(_) | Tree::Object(_)));
        let cell = |(i, (name, value)): (usize, (&String, &Tree))| {
            let text = if i == 0 && matches!(value, Tree::Null) { "all".to_owned() } else { self.text(name, value) };
            (name.clone(), text)
        };
        single.enumerate().map(cell).collect()
    }

    fn header(&mut self, cells: &[(String, String)]) -> io::Result<()> {
        let names: Vec<_> = cells.iter().map(|(name, _)| (String::new(), name.clone())).collect();
        self.put(&names)
    }

    fn widen(&mut self, cells: &[(String, String)]) {
        for (width, (_, text)) in self.widths.iter_mut().zip(cells) {
            *width = text.chars().count().max(*width);
        }
    }

    fn line(&mut self, cells: &[(String, String)]) -> Result<(), CliError> {
        if self.widths.is_empty() {
            self.widths = cells.iter().map(|(name, _)| name.chars().count()).collect();
            self.widen(cells);
            self.header(cells)?;
        }
        self.widen(cells);
        Ok(self.put(cells)?)
    }

    fn put(&mut self, cells: &[(String, String)]) -> io::Result<()> {
        let texts = cells.iter().map(|(_, text)| text.as_str());
        if self.format == Format::Tabs {
            return writeln!(self.out, "{}", texts.collect::<Vec<_>>().join("\t"));
        }
        let padded: String = texts.zip(&self.widths).map(|(text, width)| format!("{text:width$}  ")).collect();
        writeln!(self.out, "{}", padded.trim_end())
    }

    /// A single value as text. On a terminal, times and sizes are as people read them.
    fn text(&self, name: &str, value: &Tree) -> String {
        let last = name.rsplit('.').next().unwrap_or(name);
        match value {
            Tree::Null | Tree::List(_) | Tree::Object(_) => "-".to_owned(),
            Tree::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Tree::Text(text) if text.is_empty() => "-".to_owned(),
            Tree::Text(text) => on_one_line(text),
            Tree::Number(number) => {
                let (whole, real) = (number.as_u64(), number.as_f64().unwrap_or(f64::NAN));
                match whole {
                    _ if self.format == Format::Tabs => in_decimals(number),
                    _ if last.starts_with("seconds") && real >= 60.0 => duration(real),
                    Some(whole) if last == "bytes" => bytes(whole),
                    Some(whole) => count(whole),
                    None => in_decimals(number),
                }
            }
        }
    }
}

/// A value as it serialises.
fn tree(value: &impl Serialize) -> Result<Tree, CliError> {
    let text = serde_json::to_string(value).map_err(io::Error::from)?;
    Ok(serde_json::from_str(&text).map_err(io::Error::from)?)
}

/// Whether it is a list of objects.
fn is_table(value: &Tree) -> bool {
    matches!(value, Tree::List(list) if matches!(list.first(), Some(Tree::Object(_))))
}

/// Lines with names and values, and tables, of a value with a name.
fn sort_out(name: String, value: Tree, lines: &mut Vec<(String, Vec<Tree>)>, tables: &mut Vec<Vec<Tree>>) {
    match value {
        Tree::Object(members) if members.contains_key("value") => {
            lines.push((name, members.into_values().collect()));
        }
        Tree::Object(members) => {
            for (member, value) in members {
                let name = if name.is_empty() { member } else { format!("{name}.{member}") };
                sort_out(name, value, lines, tables);
            }
        }
        Tree::List(list) if matches!(list.first(), Some(Tree::Object(_))) => tables.push(list),
        Tree::List(list) if list.is_empty() => {}
        Tree::List(list) => lines.push((name, list)),
        single => lines.push((name, vec![single])),
    }
}

/// A number with four significant digits or more, and at most three decimals unless it is below 0.1.
fn in_decimals(number: &Number) -> String {
    match number.as_f64() {
        Some(real) if number.is_f64() => {
            let size = real.abs();
            let decimals = match size {
                1000.0.. => 0,
                100.0..1000.0 => 1,
                10.0..100.0 => 2,
                0.0 | 0.1..10.0 => 3,
                _ => (2.0 - size.log10().floor()).clamp(3.0, 12.0) as usize,
            };
            // Not -0.
            format!("{:.decimals$}", real + 0.0)
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        section: Option<&'static str>,
        count: u64,
        seconds: f64,
        all: Vec<u32>,
    }

    #[derive(Serialize)]
    struct Found {
        name: &'static str,
        elo: flipside::arena::Estimate,
        pairs: [u64; 3],
        budget: Budget,
        none: Option<f64>,
        rows: Vec<Row>,
    }

    #[derive(Serialize)]
    struct Budget {
        seconds: f64,
    }

    fn found() -> Found {
        let row = |section, count| Row { section, count, seconds: 0.012_345, all: vec![1, 2] };
        Found {
            name: "a\tb",
            elo: flipside::arena::Estimate { value: 12.345, low: -3.0, high: f64::INFINITY },
            pairs: [1, 2, 3],
            budget: Budget { seconds: 7200.0 },
            none: None,
            rows: vec![row(Some("perft"), 24_571_284), row(None, 1)],
        }
    }

    fn written(format: Format, write: impl FnOnce(&mut Results<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Results { out: &mut out, format, widths: Vec::new() });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_result_is_lines_and_tables_or_json() {
        let tabs = "name\ta\\tb\nelo\t12.35\t-3.000\t-\npairs\t1\t2\t3\nbudget.seconds\t7200\nnone\t-\n\n\
                    section\tcount\tseconds\nperft\t24571284\t0.0123\nall\t1\t0.0123\n";
        assert_eq!(written(Format::Tabs, |results| results.object(&found()).unwrap()), tabs);
        let aligned = "name            a\\tb\nelo             12.35  -3.000  -\npairs           1  2  3\nbudget.seconds  2 h 0 min\n\
                       none            -\n\nsection  count       seconds\nperft    24,571,284  0.0123\nall      1           0.0123\n";
        assert_eq!(written(Format::Aligned, |results| results.object(&found()).unwrap()), aligned);
        let json: serde_json::Value =
            serde_json::from_str(&written(Format::Json, |results| results.object(&found()).unwrap())).unwrap();
        assert_eq!((&json["rows"][0]["all"][1], &json["elo"]["value"]), (&2.into(), &12.345.into()));
    }

    #[test]
    fn rows_one_by_one_are_those_of_a_table() {
        let rows = found().rows;
        let one_by_one = written(Format::Tabs, |results| rows.iter().for_each(|row| results.row(row).unwrap()));
        assert_eq!(one_by_one, written(Format::Tabs, |results| results.table(&rows).unwrap()));
        assert_eq!(one_by_one.lines().count(), 3);
    }

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let text = |number: f64| in_decimals(&Number::from_f64(number).unwrap());
        assert_eq!(
            [0.0, -0.0, 1.5, 12.345, 1234.5, 0.000_123].map(text),
            ["0.000", "0.000", "1.500", "12.35", "1234", "0.000123"]
        );
    }
}
