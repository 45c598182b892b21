//! `flipside inspect`.

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::error::{CliError, Context};
use super::escape::on_one_line;
use super::evaluator::EvaluatorChoice;
use super::results::FormatArgument;
use super::session::Session;
use flipside::board::{Bitboard, Position, Square};
use flipside::eval::{DepthPair, HiddenLayer, Model, Row, ValuedConfiguration, strongest_configurations};
use flipside::pattern::{Layout, Pattern};
use flipside::text::counted;
use flipside::weights::WeightFile;

/// Show the origin, patterns, stages and strongest configurations of a weight file
///
/// In the pictures, X is a disc of the side to move, O one of the opponent's, and - an empty square of the pattern.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside inspect runs/latest/best.fsw --empties 24 --top 6")]
pub struct InspectArguments {
    /// A weight file, or `default`
    #[arg(value_name = "WEIGHTS", default_value = "default")]
    weights: EvaluatorChoice,

    /// Show configurations of the stage with N empty squares
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=60))]
    empties: u32,

    /// Configurations to show per pattern
    #[arg(long, value_name = "N", default_value_t = 4)]
    top: usize,

    /// Show only this pattern
    #[arg(long, value_name = "NAME")]
    pattern: Option<String>,

    #[command(flatten)]
    format: FormatArgument,
}

/// Pictures in a row.
const IN_A_ROW: usize = 4;

impl InspectArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let file = self.weights.weight_file()?;
        let layout = Layout::new(&file.model.set).context(|| "cannot use the weights")?;
        let numbers = self.patterns(&file.model)?;
        if self.format.json {
            return self.write_json(&file, &layout, &numbers, out);
        }
        write_provenance(&self.weights, &file, out)?;
        write_sizes(&file.model, &layout, out)?;
        if let Some(calibration) = &file.calibration {
            let (to_the_end, pairs): (Vec<DepthPair>, Vec<DepthPair>) =
                calibration.pairs().iter().partition(|pair| pair.predicts_the_end());
            let deep = || pairs.iter().map(|pair| pair.deep);
            let (count, min, max) = (pairs.len(), deep().min().unwrap_or(0), deep().max().unwrap_or(0));
            writeln!(out, "  {:<12} {count} depth pairs, deep searches of {min} to {max} plies", "calibration")?;
            if !to_the_end.is_empty() {
                writeln!(out, "  {:<12} {} depth pairs to the end of the game", "", to_the_end.len())?;
            }
        }
        let Model { set, stages, .. } = &file.model;
        let stage = stages.of_empties(self.empties);
        for number in numbers {
            let strongest = strongest_configurations(&file.model, &layout, stage, number, self.top);
            let empties = stages.empties_of(stage);
            write_configurations(&strongest, "strongest configurations", &set.patterns[number], &empties, out)?;
        }
        Ok(())
    }

    fn write_json(
        &self,
        file: &WeightFile,
        layout: &Layout,
        numbers: &[usize],
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let model = &file.model;
        let stage = model.stages.of_empties(self.empties);
        let pattern = |&number: &usize| {
            let pattern = &model.set.patterns[number];
            let squares: Vec<_> = pattern.squares().map(|square| square.to_string()).collect();
            let strongest = strongest_configurations(model, layout, stage, number, self.top);
            let strongest: Vec<_> = strongest.iter().map(object_of).collect();
            json!({ "name": pattern.name, "squares": squares, "strongest": strongest })
        };
        let used: Vec<_> =
            model.weights.iter().map(|weights| weights.iter().filter(|&&weight| weight != 0).count()).collect();
        let stages: Vec<_> = (0..model.stages.count()).map(|stage| model.stages.empties_of(stage)).collect();
        let scalars: Vec<_> = model.set.scalars.iter().map(|scalar| scalar.name()).collect();
        let found = json!({
            "weights": self.weights.to_string(),
            "hash": file.hash(),
            "provenance": file.provenance,
            "set": model.set.name,
            "patterns": numbers.iter().map(pattern).collect::<Vec<_>>(),
            "scalars": scalars,
            "empties_of_stage": stages,
            "weights_a_stage": layout.weights(),
            "not_zero_by_stage": used,
            "scale": model.scale,
            "hidden_units": model.hidden.as_ref().map_or(0, HiddenLayer::units),
            "calibrated": file.calibration.is_some(),
            "empties": self.empties,
        });
        self.format.to(out).object(&found)
    }

    /// The numbers of the patterns to show.
    fn patterns(&self, model: &Model) -> Result<Vec<usize>, CliError> {
        let patterns = &model.set.patterns;
        let Some(name) = &self.pattern else { return Ok((0..patterns.len()).collect()) };
        let number = patterns.iter().position(|pattern| pattern.name == *name);
        number.map(|number| vec![number]).ok_or_else(|| {
            let names: Vec<_> = patterns.iter().map(|pattern| on_one_line(&pattern.name)).collect();
            CliError::Usage(format!("there is no pattern `{name}` in `{}`; it has {}", self.weights, names.join(", ")))
        })
    }
}

/// A configuration as JSON.
pub fn object_of(found: &ValuedConfiguration) -> serde_json::Value {
    let squares = |discs: Bitboard| {
        let found = Square::all().filter(|square| discs & square.bit() != 0);
        found.map(|square| square.to_string()).collect::<Vec<_>>()
    };
    json!({ "player": squares(found.discs.player), "opponent": squares(found.discs.opponent), "discs": found.value })
}

/// Writes the configurations found for a pattern in a stage, as pictures.
pub fn write_configurations(
    found: &[ValuedConfiguration],
    what: &str,
    pattern: &Pattern,
    empties: &[u32],
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}, {} empties, {what} in discs for X:", on_one_line(&pattern.name), empties_text(empties))?;
    for row in found.chunks(IN_A_ROW) {
        for line in pictures(row, pattern.mask()) {
            writeln!(out, "  {}", line.trim_end())?;
        }
    }
    Ok(())
}

/// Writes where weights come from.
pub fn write_provenance(choice: &EvaluatorChoice, file: &WeightFile, out: &mut dyn Write) -> Result<(), CliError> {
    let from = &file.provenance;
    writeln!(out, "{choice}: weights {}", file.hash())?;
    let number = |number: u64| if number == 0 { None } else { Some(number.to_string()) };
    let rows = [
        ("origin", Some(from.origin.clone())),
        ("program", Some(from.program.clone())),
        ("commit", from.commit.clone()),
        ("date", from.date.clone()),
        ("seed", from.seed.map(|seed| seed.to_string())),
        ("generations", number(from.generations)),
        ("games", number(from.games)),
        ("samples", number(from.samples)),
        ("parent", from.parent.clone()),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            writeln!(out, "  {name:<12} {}", on_one_line(&value))?;
        }
    }
    if !from.config.is_empty() {
        writeln!(out, "  configuration")?;
        from.config.lines().try_for_each(|line| writeln!(out, "    {}", on_one_line(line)))?;
    }
    Ok(())
}

fn write_sizes(model: &Model, layout: &Layout, out: &mut dyn Write) -> Result<(), CliError> {
    let all = || model.weights.iter().flatten();
    let (total, used) = (all().count(), all().filter(|&&weight| weight != 0).count());
    let largest = all().map(|weight| weight.unsigned_abs()).max().unwrap_or(0);
    writeln!(
        out,
        "  {:<12} {}, {} instances on the board",
        "pattern set",
        on_one_line(&model.set.name),
        layout.lanes().count()
    )?;
    for pattern in &model.set.patterns {
        let squares: Vec<_> = pattern.squares().map(|square| square.to_string()).collect();
        writeln!(out, "    {:<17} {}", on_one_line(&pattern.name), squares.join(" "))?;
    }
    for scalar in &model.set.scalars {
        writeln!(out, "    {:<17} {}", scalar.name(), counted(scalar.values() as u64, "value"))?;
    }
    writeln!(out, "  {:<12} {}", "stages", model.stages.count())?;
    let share = 100.0 * used as f64 / total.max(1) as f64;
    writeln!(out, "  {:<12} {} per stage, {total} in all, {share:.1}% not zero", "weights", layout.weights())?;
    let (scale, largest) = (model.scale, model.discs(largest));
    writeln!(out, "  {:<12} {scale} units per disc; the largest weight is {largest:.2} discs", "scale")?;
    if let Some(hidden) = &model.hidden {
        let (units, rows) = (hidden.units(), &hidden.rows);
        let all = || rows.iter().flatten();
        let share = 100.0 * all().filter(|&&row| row != Row::default()).count() as f64 / all().count().max(1) as f64;
        writeln!(out, "  {:<12} {units} units, {} tables of rows, {share:.1}% not zero", "hidden layer", rows.len())?;
    }
    Ok(())
}

/// The numbers of empty squares of a stage, the highest first, in words.
pub fn empties_text(empties: &[u32]) -> String {
    match *empties {
        [high, .., low] if (high - low) as usize == empties.len() - 1 => format!("{low} to {high}"),
        _ => empties.iter().rev().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Lines with the pictures of some configurations side by side, the values above them. Only the rows of the board that the
/// pattern touches are drawn.
fn pictures(configurations: &[ValuedConfiguration], pattern: u64) -> Vec<String> {
    const WIDTH: usize = 20;
    let values = configurations.iter().map(|c| format!("{:<WIDTH$}", format!("{:+.2}", c.value))).collect();
    let row = |row: usize| -> String {
        let one = |c: &ValuedConfiguration| format!("{:<WIDTH$}", picture_row(c.discs, pattern, row));
        configurations.iter().map(one).collect()
    };
    let touched = (0..8).filter(|row| pattern >> (8 * row) & 0xff != 0);
    std::iter::once(values).chain(touched.map(row)).collect()
}

fn picture_row(discs: Position, pattern: u64, row: usize) -> String {
    let content = |square: Square| match square.bit() {
        bit if discs.player & bit != 0 => "X ",
        bit if discs.opponent & bit != 0 => "O ",
        bit if pattern & bit != 0 => "- ",
        _ => ". ",
    };
    Square::all().skip(8 * row).take(8).map(content).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_stand_side_by_side() {
        let discs = Position { player: 1, opponent: 1 << 9 };
        let configuration = ValuedConfiguration { discs, value: -1.5 };
        let lines = pictures(&[configuration, configuration], 0x0303);
        assert_eq!(lines[0].trim_end(), "-1.50               -1.50");
        assert_eq!(lines[1].trim_end(), "X - . . . . . .     X - . . . . . .");
        assert_eq!(lines[2].trim_end(), "- O . . . . . .     - O . . . . . .");
        assert_eq!(lines.len(), 3);
    }
}
