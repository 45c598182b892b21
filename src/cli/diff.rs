//! `flipside diff`.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::error::{CliError, Context};
use super::escape::on_one_line;
use super::evaluator::EvaluatorChoice;
use super::inspect::{empties_text, object_of, write_configurations, write_provenance};
use super::results::FormatArgument;
use super::session::Session;
use flipside::eval::{Model, Moments, StageMap, ValuedConfiguration, mean, strongest_configurations};
use flipside::pattern::Layout;
use flipside::text::or_dash;
use flipside::weights::WeightFile;

/// Compare two weight files: their origins, how their weights differ, and what moved most
///
/// Both must have the same patterns; stages may differ. Prints the origin of each, then a tab-separated table by stage: empty squares,
/// weights that are nonzero in at least one file, their correlation, and the root mean square and largest difference in discs. Then, for
/// each pattern, pictures of the configurations that moved most, with the second value minus the first.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside diff runs/latest/best.fsw runs/latest/last.fsw")]
pub struct DiffArguments {
    /// The first weight file, or `default`
    #[arg(value_name = "WEIGHTS")]
    first: EvaluatorChoice,

    /// The second weight file, or `default`
    #[arg(value_name = "WEIGHTS")]
    second: EvaluatorChoice,

    /// Show configurations of the stage with N empty squares
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=60))]
    empties: u32,

    /// Configurations to show per pattern
    #[arg(long, value_name = "N", default_value_t = 4)]
    top: usize,

    #[command(flatten)]
    format: FormatArgument,
}

/// How the weights of a stage differ, in discs.
#[derive(Serialize)]
struct StageDifference {
    /// The numbers of empty squares, the highest first.
    empties: Vec<u32>,
    /// Weights that are nonzero in at least one file.
    weights: usize,
    /// Of these; none if one file has the same weight everywhere.
    correlation: Option<f64>,
    rms: f64,
    largest: f64,
}

impl DiffArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let [first, second] = [self.first.weight_file()?, self.second.weight_file()?];
        let (a, b) = (&first.model, &second.model);
        if (&a.set.patterns, &a.set.scalars) != (&b.set.patterns, &b.set.scalars) {
            let (one, other) = (on_one_line(&a.set.name), on_one_line(&b.set.name));
            return Err(CliError::failure(format!("the weights have different patterns: `{one}` and `{other}`"))
                .hint("`flipside match` and `flipside accuracy` compare weights of any patterns."));
        }
        let layout = Layout::new(&a.set).context(|| "cannot use the weights")?;
        let stages = StageMap::grouped(|empties| (a.stages.of_empties(empties), b.stages.of_empties(empties)));
        let rows: Vec<_> = (0..stages.count()).map(|stage| difference(a, b, stages.empties_of(stage))).collect();
        let moved = moved(a, b, &stages, session);
        let shown = stages.of_empties(self.empties);
        let top = |pattern| strongest_configurations(&moved, &layout, shown, pattern, self.top);
        if self.format.json {
            return self.format.to(out).object(&self.object(&first, &second, &rows, &top));
        }
        write_provenance(&self.first, &first, out)?;
        write_provenance(&self.second, &second, out)?;
        if let Some(words) = hidden_layers(a, b) {
            writeln!(out, "hidden layer\t{words}")?;
        }
        writeln!(out, "empties\tweights\tcorrelation\trms\tlargest")?;
        for StageDifference { empties, weights, correlation, rms, largest } in &rows {
            let correlation = or_dash(correlation.map(|correlation| format!("{correlation:.4}")));
            writeln!(out, "{}\t{weights}\t{correlation}\t{rms:.3}\t{largest:.2}", empties_text(empties))?;
        }
        for (number, pattern) in a.set.patterns.iter().enumerate() {
            write_configurations(&top(number), "what moved most", pattern, &stages.empties_of(shown), out)?;
        }
        Ok(())
    }

    fn object(
        &self,
        first: &WeightFile,
        second: &WeightFile,
        rows: &[StageDifference],
        top: &dyn Fn(usize) -> Vec<ValuedConfiguration>,
    ) -> serde_json::Value {
        let file = |choice: &EvaluatorChoice, file: &WeightFile| serde_json::json!({ "weights": choice.to_string(), "hash": file.hash(), "provenance": file.provenance });
        let pattern = |(number, name): (usize, &String)| {
            let moved: Vec<_> = top(number).iter().map(object_of).collect();
            serde_json::json!({ "name": name, "moved": moved })
        };
        let names = first.model.set.patterns.iter().map(|pattern| &pattern.name);
        serde_json::json!({
            "first": file(&self.first, first),
            "second": file(&self.second, second),
            "hidden_layer": hidden_layers(&first.model, &second.model),
            "stages": rows,
            "empties": self.empties,
            "patterns": names.enumerate().map(pattern).collect::<Vec<_>>(),
        })
    }
}

/// How two models' hidden layers compare; none if neither has one.
fn hidden_layers(a: &Model, b: &Model) -> Option<&'static str> {
    match (&a.hidden, &b.hidden) {
        (None, None) => None,
        (Some(_), None) => Some("only in the first"),
        (None, Some(_)) => Some("only in the second"),
        (Some(one), Some(other)) => Some(if one == other { "equal" } else { "different" }),
    }
}

/// The weights of two models at a number of empty squares, in discs.
fn paired<'m>(a: &'m Model, b: &'m Model, empties: u32) -> impl Iterator<Item = (f64, f64)> + 'm {
    let [first, second] = [a, b].map(|model| &model.weights[model.stages.of_empties(empties)]);
    first.iter().zip(second).map(|(&x, &y)| (a.discs(x), b.discs(y)))
}

fn difference(a: &Model, b: &Model, empties: Vec<u32>) -> StageDifference {
    let pairs: Vec<_> = paired(a, b, empties[0]).filter(|&pair| pair != (0.0, 0.0)).collect();
    StageDifference {
        empties,
        weights: pairs.len(),
        correlation: Moments::of(&pairs).correlation(),
        rms: mean(&pairs, |x, y| (y - x).powi(2)).sqrt(),
        largest: pairs.iter().map(|pair| (pair.1 - pair.0).abs()).fold(0.0, f64::max),
    }
}

/// A model of the differences, with the finer scale of the two. Those too large for it are clipped and reported.
fn moved(a: &Model, b: &Model, stages: &StageMap, session: &Session) -> Model {
    let (mut cut, scale) = (0u64, a.scale.max(b.scale));
    let mut unit = |difference: f64| {
        let units = (difference * f64::from(scale)).round();
        cut += u64::from(units.abs() > f64::from(i16::MAX));
        units.clamp(-f64::from(i16::MAX), f64::from(i16::MAX)) as i16
    };
    let mut weights = Vec::new();
    for stage in 0..stages.count() {
        let empties = stages.empties_of(stage)[0];
        weights.push(paired(a, b, empties).map(|(x, y)| unit(y - x)).collect());
    }
    if cut > 0 {
        session.say(format_args!("{cut} differences exceed the range of weights and are shown clipped"));
    }
    Model { set: a.set.clone(), stages: stages.clone(), scale, weights, hidden: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::session::Progress;
    use flipside::pattern::PatternSet;

    #[test]
    fn differences_are_told_by_the_stages_that_both_have() {
        let set = PatternSet::from_toml("name = 'corner'\npatterns = { corner = 'a1' }").unwrap();
        let mut a = Model::zero(&set, &StageMap::uniform(60), 128).unwrap();
        let mut b = Model::zero(&set, &StageMap::uniform(30), 256).unwrap();
        a.weights.iter_mut().for_each(|weights| weights.copy_from_slice(&[-128, 0, 128]));
        b.weights.iter_mut().for_each(|weights| weights.copy_from_slice(&[-512, 0, 512]));
        let stages = StageMap::grouped(|empties| (a.stages.of_empties(empties), b.stages.of_empties(empties)));
        assert_eq!(stages.count(), b.stages.count());
        let row = difference(&a, &b, stages.empties_of(0));
        assert_eq!((row.weights, row.rms, row.largest), (2, 1.0, 1.0));
        assert!((row.correlation.unwrap() - 1.0).abs() < 1e-9);
        let session = Session { progress: Progress::Silent, threads: 1 };
        let moved = moved(&a, &b, &stages, &session);
        assert_eq!((moved.scale, &moved.weights[0][..]), (256, &[-256, 0, 256][..]));
    }
}
