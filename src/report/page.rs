//! A report as one self-contained HTML page.

use std::path::Path;

use plotters::style::RGBColor;

use super::figures::{Figures, SOME_EMPTIES, StepTime};
use super::history::Learned;
use super::plot::{Chart, Drawing, Line, colour};
use super::status::RunState;
use crate::text::{bytes, count, counted, duration, elo, or_dash, typed};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page about some runs.
pub fn page(runs: &[Figures]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| &*run.status.run).collect();
    let title = escaped(&format!("flipside report: {}", names.join(", ")));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n"
    );
    let mut add = |part: String| html.push_str(&part);
    runs.iter().for_each(|run| add(verdict(run)));
    let strength = figure(
        &strength(runs),
        "Elo relative to the built-in weights <code>default</code>, which are the same in every run, with 95% intervals: \
        one fit over all games of all gates.",
    );
    if !strength.is_empty() {
        add(format!("<h2>Strength</h2>\n{strength}"));
    }
    add("<h2>Learning</h2>\n".to_owned());
    learning(runs).into_iter().for_each(&mut add);
    add("<h2>The best weights</h2>\n".to_owned());
    add(figure(&errors(runs), "Against the results of kept games: root mean square error of the static value."));
    add(figure(
        &slopes(runs),
        "The slope of the line that best predicts the result from the static value: above 1 where static values are \
         too small.",
    ));
    add(figure(&calibration(runs), "Mean result by the static value. On the straight line they are equal."));
    for run in runs {
        add(fault(run));
    }
    add("<h2>Time</h2>\n".to_owned());
    for run in runs {
        add(times(run));
    }
    add("<h2>To repeat it</h2>\n".to_owned());
    for run in runs {
        add(origin(run));
    }
    let json = serde_json::to_string(runs).expect("figures are plain data").replace('<', "\\u003c");
    add(format!(
        "<script type=\"application/json\" id=\"data\">{json}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    ));
    html
}

/// How the errors fell.
fn learning(runs: &[Figures]) -> [String; 6] {
    [
        figure(
            &losses(runs),
            "Root mean square error in discs on each generation's own positions, before they were learned.",
        ),
        figure(
            &over_time(runs, "Error on new games, over time", "discs", |run, at| {
                run.validation.iter().filter_map(|point| Some((point.hours, point.errors[at]?))).collect()
            }),
            "The same by number of empty squares.",
        ),
        figure(
            &over_time(runs, "Slope on new games, over time", "slope", |run, at| {
                run.validation.iter().filter_map(|point| Some((point.hours, point.slopes[at]?))).collect()
            }),
            "The slope of the line that best predicts the labels of new games from the values: above 1 where values are too small.",
        ),
        figure(
            &held_out(runs),
            "Root mean square error on games that were held out from learning, by number of empty squares.",
        ),
        figure(
            &over_time(runs, "Loss on games held out, over time", "discs", |run, at| {
                held_out_over_time(run, at, |learned| &learned.by_empties)
            }),
            "The same over time, at some numbers of empty squares.",
        ),
        figure(
            &over_time(runs, "Slope on games held out, over time", "slope", |run, at| {
                held_out_over_time(run, at, |learned| &learned.slopes)
            }),
            "The slope of the line that best predicts their labels from the values.",
        ),
    ]
}

/// Escapes text for HTML text and attributes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn verdict(run: &Figures) -> String {
    let status = &run.status;
    let strength = match (&status.best, &status.last) {
        (None, None) => "No gate has measured it yet.".to_owned(),
        (None, Some(last)) => format!(
            "No gate has found better weights than those it began with. The newest measured, after generation {}: {}.",
            last.generation,
            elo(last.elo)
        ),
        (Some(best), last) => {
            let newest = match last {
                Some(last) if last.generation == best.generation && last.fitted == best.fitted => String::new(),
                Some(last) => format!(" The newest measured, after generation {}: {}.", last.generation, elo(last.elo)),
                None => String::new(),
            };
            let verdict = match best.elo {
                [_, low, _] if low > 0.0 => "stronger than",
                [_, _, high] if high < 0.0 => "weaker than",
                _ => "not significantly stronger than",
            };
            format!(
                "Its best weights, after generation {}, are <strong>{verdict} <code>default</code></strong>: Elo {}.{newest}",
                best.generation,
                elo(best.elo)
            )
        }
    };
    let left = status.seconds_left.filter(|&left| left > 0.0 && status.state != RunState::Finished);
    let left = left.map_or(String::new(), |left| format!(", {} left", duration(left)));
    let until = if status.budget.is_none() { String::new() } else { format!(" of {}", status.budget) };
    format!(
        "<section class=\"verdict\">\n<p><strong>{}</strong> is {}{left}. {strength}</p>\n<p>{}, {}, {} in {}{until}; {} on the disk.</p>\n</section>\n",
        escaped(&status.run),
        status.state,
        counted(status.generations.into(), "generation"),
        counted(status.games, "game"),
        counted(status.positions, "position"),
        duration(status.seconds),
        bytes(status.bytes)
    )
}

fn figure(chart: &Chart, caption: &str) -> String {
    // A single point is no plot.
    let has_line = chart.lines.iter().any(|line| line.points.len() > 1);
    let Some(Drawing { svg, lines, points }) = chart.drawing().filter(|_| has_line) else { return String::new() };
    let names: Vec<&str> = chart.lines.iter().map(|line| &*line.name).collect();
    let key = |number: &usize| {
        let line = &chart.lines[*number];
        let RGBColor(red, green, blue) = colour(line.colour);
        let style = if line.dashes == 0 { "solid" } else { "dashed" };
        format!("<li style=\"--c: rgb({red},{green},{blue}); --s: {style}\">{}</li>", escaped(&line.name))
    };
    let keys: String = lines.iter().map(key).collect();
    let json = |value: String| value.replace('&', "&amp;").replace('\'', "&#39;").replace('<', "&lt;");
    format!(
        "<figure class=\"plot\" data-names='{}' data-points='{}'>\n{svg}\n<ul>{keys}</ul>\n<output>&nbsp;</output>\n\
         <figcaption>{caption}</figcaption>\n</figure>\n",
        json(serde_json::to_string(&names).expect("plain data")),
        json(serde_json::to_string(&points).expect("plain data"))
    )
}

fn chart(title: &str, x: &str, y: &str, lines: Vec<Line>) -> Chart {
    Chart { title: title.into(), x: x.into(), y: y.into(), lines, marks: Vec::new() }
}

/// The colour of what belongs to no run.
const GREY: usize = 6;

/// The end of a path is enough to name a run.
fn name(run: &Figures) -> String {
    let path = run.status.run.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

fn line(name: String, colour: usize, points: Vec<(f64, f64)>) -> Line {
    Line { name, colour, dashes: 0, points, band: Vec::new(), marked: false }
}

/// A line for each run.
fn each_run(runs: &[Figures], points: impl Fn(&Figures) -> Vec<(f64, f64)>) -> Vec<Line> {
    runs.iter().enumerate().map(|(number, run)| line(name(run), number, points(run))).collect()
}

/// A chart over the time of the runs, given in hours; if all runs are short, it shows minutes.
fn timed(runs: &[Figures], title: &str, y: &str, mut lines: Vec<Line>) -> Chart {
    let is_short = runs.iter().all(|run| run.status.seconds < 2.0 * 3600.0);
    let (unit, factor) = if is_short { ("minutes", 60.0) } else { ("hours", 1.0) };
    for line in &mut lines {
        line.points.iter_mut().for_each(|point| point.0 *= factor);
        line.band.iter_mut().for_each(|interval| interval.0 *= factor);
    }
    // The marks of several runs would hide the lines.
    let marks = if let [run] = runs { run.marks() } else { Vec::new() };
    let marks = marks.into_iter().map(|(hours, word)| (factor * hours, word)).collect();
    Chart { marks, ..chart(title, unit, y, lines) }
}

fn strength(runs: &[Figures]) -> Chart {
    let of = |(number, run): (usize, &Figures)| Line {
        band: run.ratings.iter().map(|rating| (rating.hours, rating.elo[1], rating.elo[2])).collect(),
        marked: true,
        ..line(name(run), number, run.ratings.iter().map(|rating| (rating.hours, rating.elo[0])).collect())
    };
    timed(runs, "Strength over time", "Elo relative to default", runs.iter().enumerate().map(of).collect())
}

fn losses(runs: &[Figures]) -> Chart {
    let lines = each_run(runs, |run| run.losses.iter().map(|&(_, hours, loss)| (hours, loss)).collect());
    timed(runs, "Loss on new games", "discs", lines)
}

fn by_empties(values: &[Option<f64>]) -> Vec<(f64, f64)> {
    values.iter().enumerate().filter_map(|(empties, value)| Some((empties as f64, (*value)?))).collect()
}

fn held_out(runs: &[Figures]) -> Chart {
    let lines = runs.iter().enumerate().flat_map(|(run_number, run)| {
        let fits = run.held_out.iter().rev().take(if runs.len() == 1 { 4 } else { 2 }).enumerate();
        fits.map(move |(number, fit)| {
            let (colour, dashes) = if runs.len() == 1 { (number, 0) } else { (run_number, number) };
            let name = if runs.len() == 1 { String::new() } else { name(run) + ", " };
            let when = if fit.step == 0 { "at the end".to_owned() } else { format!("in step {}", fit.step) };
            let name = format!("{name}after generation {}, {when}", fit.generation);
            Line { dashes, ..line(name, colour, by_empties(&fit.by_empties)) }
        })
    });
    chart("Loss on games held out, by the last fits", "empty squares", "discs", lines.collect())
}

/// A chart over time at some numbers of empties; fewer of them if there are several runs.
fn over_time(runs: &[Figures], title: &str, y: &str, points: impl Fn(&Figures, usize) -> Vec<(f64, f64)>) -> Chart {
    let shown: &[usize] = if runs.len() == 1 { &[0, 1, 2, 3, 4] } else { &[1, 3] };
    let lines = runs.iter().enumerate().flat_map(|(run_number, run)| {
        let points = &points;
        shown.iter().enumerate().map(move |(number, &at)| {
            let points = points(run, at);
            let marked = points.len() < 20;
            let (colour, dashes) = if runs.len() == 1 { (number, 0) } else { (run_number, number) };
            let of = if runs.len() == 1 { String::new() } else { name(run) + ", " };
            Line { marked, dashes, ..line(format!("{of}{} empties", SOME_EMPTIES[at]), colour, points) }
        })
    });
    timed(runs, title, y, lines.collect())
}

fn held_out_over_time(run: &Figures, at: usize, values: impl Fn(&Learned) -> &Vec<Option<f64>>) -> Vec<(f64, f64)> {
    let value = |learned: &Learned| Some((learned.hours, (*values(learned).get(SOME_EMPTIES[at])?)?));
    run.held_out.iter().filter_map(value).collect()
}

fn errors(runs: &[Figures]) -> Chart {
    let lines = each_run(runs, |run| {
        let rows = run.weights.iter().flat_map(|weights| &weights.accuracy);
        rows.map(|&(empties, _, rmse, _)| (f64::from(empties), rmse)).collect()
    });
    chart("Error against results", "empty squares", "discs", lines)
}

fn slopes(runs: &[Figures]) -> Chart {
    // With more empties nothing is decided yet, and a slope means nothing.
    const MOST_EMPTIES: u32 = 50;
    let lines = each_run(runs, |run| {
        let rows = run.weights.iter().flat_map(|weights| &weights.accuracy).filter(|row| row.0 <= MOST_EMPTIES);
        rows.filter_map(|&(empties, _, _, slope)| Some((f64::from(empties), slope?))).collect()
    });
    chart("Slope against results", "empty squares", "slope", lines)
}

fn calibration(runs: &[Figures]) -> Chart {
    let mut lines = each_run(runs, |run| {
        let bins = run.weights.iter().flat_map(|weights| &weights.calibration);
        bins.map(|&(predicted, mean, _)| (f64::from(predicted), mean)).collect()
    });
    lines.push(line("equal".to_owned(), GREY, vec![(-64.0, -64.0), (64.0, 64.0)]));
    chart("Prediction and result", "predicted discs", "mean result", lines)
}

/// Why a run has no figures of its best weights, if it has none.
fn fault(run: &Figures) -> String {
    run.weights_fault.as_ref().map_or(String::new(), |fault| {
        format!("<p>No figures of the best weights of {}: {}.</p>\n", escaped(&run.status.run), escaped(fault))
    })
}

fn times(run: &Figures) -> String {
    let row = |step: &StepTime| {
        let [rate, positions] =
            [step.games_a_second, step.positions_a_second].map(|rate| or_dash(rate.map(|rate| count(rate as u64))));
        format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{rate}</td><td>{positions}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            step.step,
            step.generations,
            count(step.games),
            duration(step.playing),
            duration(step.learning),
            duration(step.gates)
        )
    };
    let rows: String = run.steps.iter().map(row).collect();
    format!(
        "<h3>{}</h3>\n<div class=\"wide\"><table>\n<tr><th>step</th><th>generations</th><th>games</th><th>games/s</th>\
         <th>positions/s</th><th>playing</th><th>learning</th><th>gates</th></tr>\n{rows}</table></div>\n",
        escaped(&run.status.run)
    )
}

fn origin(run: &Figures) -> String {
    let run_name = escaped(&run.status.run);
    let run_typed = escaped(&typed(Path::new(&run.status.run)));
    let weights = run.weights.as_ref().map_or(String::new(), |weights| {
        format!("<p>Best weights <code>{}</code>, by {}.</p>\n", weights.hash, escaped(&weights.program))
    });
    let from = run.parent.as_ref().filter(|_| run.continues.is_none()).map_or(String::new(), |parent| {
        format!("<p>It began from the weights <code>{parent}</code>: add <code>--from</code> with their file.</p>\n")
    });
    let older = run.continues.as_ref().map(|older| escaped(&typed(Path::new(older))));
    let continues = older.map_or(String::new(), |older| format!("--continue {older} "));
    let generations = run.own_generations.max(1);
    format!(
        "<h3>{run_name}</h3>\n{weights}{from}<pre>flipside config --run {run_typed} &gt; run.toml\nflipside train {continues}--config run.toml \
         --run runs/again --generations {generations}</pre>\n<p>These give the same weights if one build of the program did all of \
         it, its budget was never raised, its time was not up within a generation, and the run that it continues, if any, has not gone \
         on.</p>\n<details><summary>Configuration</summary>\n<pre>{}</pre></details>\n",
        escaped(&run.config)
    )
}
