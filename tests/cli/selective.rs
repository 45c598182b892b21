//! Calibrating weights and searching selectively.

use std::fs;
use std::path::Path;

use flipside::pattern::{Layout, Scalar};
use flipside::weights::WeightFile;
use serde_json::{Value, json};

use crate::support::*;

fn calibrate(folder: &Path, name: &str, arguments: &[&str]) -> (String, String) {
    let path = folder.join(name).to_str().unwrap().to_owned();
    let table = stdout(
        &[&["calibrate", "default", "-o", &path, "-q", "--depth", "4", "--exact-empties", "18"], arguments].concat(),
        "",
    );
    (path, table)
}

#[test]
fn the_parameters_are_printed_and_kept_with_the_weights() {
    let folder = tempfile::tempdir().unwrap();
    let few = |threads| ["--positions-per-stage", "40", "--threads", threads];
    let (path, table) = calibrate(folder.path(), "one.fsw", &few("1"));
    let rows: Vec<_> = table.lines().map(columns).collect();
    assert_eq!(rows[0], ["empties", "shallow", "deep", "slope", "offset", "deviation", "correlation", "positions"]);
    let kept = WeightFile::load(&path).unwrap();
    let pairs = kept.calibration.as_ref().unwrap().pairs();
    assert_eq!(pairs.len(), rows.len() - 1);
    for (pair, row) in pairs.iter().zip(&rows[1..]) {
        assert_eq!(row[0], format!("{}-{}", pair.min_empties, pair.max_empties));
        let deep = if pair.predicts_the_end() { "end".to_owned() } else { pair.deep.to_string() };
        assert_eq!([row[1], row[2]], [pair.shallow.to_string(), deep]);
        assert!((row[5].parse::<f32>().unwrap() - pair.deviation).abs() < 0.01, "{row:?}");
        assert!(row[6].parse::<f32>().unwrap() > 0.8 && row[7].parse::<u32>().unwrap() >= 30, "{row:?}");
    }
    // The weights are as they were, but for the scalar that tells odd numbers of empty squares from even ones.
    let default = WeightFile::embedded();
    assert_eq!(kept.provenance, default.provenance);
    let first = Layout::new(&default.model.set).unwrap().first_weight(Scalar::OddQuadrants).unwrap();
    let shifted = first..first + Scalar::OddQuadrants.values();
    for (kept, default) in kept.model.weights.iter().zip(&default.model.weights) {
        assert!((0..kept.len()).all(|weight| kept[weight] == default[weight] || shifted.contains(&weight)));
    }
    assert_eq!(kept.model.hidden, default.model.hidden);

    // Any number of threads gives the same bytes; another seed does not.
    let bytes = fs::read(&path).unwrap();
    assert_eq!(fs::read(calibrate(folder.path(), "three.fsw", &few("3")).0).unwrap(), bytes);
    let other = [&few("3")[..], &["--seed", "2"]].concat();
    assert_ne!(fs::read(calibrate(folder.path(), "other.fsw", &other).0).unwrap(), bytes);

    // Calibrated weights can be calibrated again.
    let (calibrated, path) = (path, folder.path().join("again.fsw").display().to_string());
    let few = ["--positions-per-stage", "30", "--exact-empties", "0"];
    stdout(&[&["calibrate", &calibrated, "-o", &path, "-q", "--depth", "3"], &few[..]].concat(), "");
    let again = WeightFile::load(&path).unwrap();
    assert!(again.calibration.unwrap().pairs().iter().all(|pair| (2..=3).contains(&pair.deep)));
    let shown = stdout(&["inspect", &path, "--top", "0"], "");
    assert!(shown.contains("deep searches of 2 to 3 plies"), "{shown}");
}

/// The mean value of positions by searches to a depth, in discs.
fn mean(weights: &str, depth: u32, positions: &str) -> f64 {
    let table = stdout(&["search", "-w", weights, "--depth", &depth.to_string(), positions], "");
    let scores: Vec<f64> = table.lines().skip(1).map(|line| columns(line)[0].parse().unwrap()).collect();
    scores.iter().sum::<f64>() / scores.len() as f64
}

#[test]
fn odd_and_even_depths_agree_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let midgame = data("bench/midgame.txt");
    let mut tilted = WeightFile::embedded();
    tilted.model.shift(&[-1.0; 61]);
    fs::write(path("tilted.fsw"), tilted.to_bytes()).unwrap();
    let arguments = ["--positions-per-stage", "60", "--exact-empties", "0", "--depth", "7", "-q"];
    stdout(&[&["calibrate", &path("tilted.fsw"), "-o", &path("level.fsw")], &arguments[..]].concat(), "");
    let gap = |weights: &str| mean(weights, 5, &midgame) - mean(weights, 4, &midgame);
    assert!(gap(&path("tilted.fsw")) > 1.5, "{}", gap(&path("tilted.fsw")));
    for weights in [&path("level.fsw"), "default"] {
        assert!(gap(weights).abs() < 0.5, "{weights}: {}", gap(weights));
    }
    // A choice at one depth stays as it was.
    let moves = |weights: &str| -> Vec<String> {
        let table = stdout(&["search", "-w", weights, "--depth", "4", &midgame], "");
        table.lines().skip(1).map(|line| columns(line)[1].to_owned()).collect()
    };
    assert_eq!(moves(&path("level.fsw")), moves(&path("tilted.fsw")));
}

#[test]
fn positions_of_a_file_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let all = fs::read_to_string(data("bench/midgame.txt")).unwrap();
    let file = folder.path().join("positions.txt");
    // Forty positions, at 50, 44, 38 and 32 empties: four times over they give forty positions of trees a stage, two to four plies later.
    fs::write(&file, all.repeat(4)).unwrap();
    let (_, table) = calibrate(folder.path(), "file.fsw", &["--positions", file.to_str().unwrap(), "--seed", "7"]);
    let rows: Vec<_> = table.lines().skip(1).map(columns).collect();
    assert_eq!(rows.len(), 12, "{table}");
    assert!(rows.iter().all(|row| row[7] == "40"), "{table}");
    let output = run_with(&["calibrate", "default", "-o", "/dev/null", "--positions", "-"], START);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 position of standard input can be searched"));
    let error = refusal(&["calibrate", "squares", "-o", "x.fsw"], "", 1);
    assert!(error.contains("without weights"), "{error}");
}

#[test]
fn searches_and_matches_are_selective_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = calibrate(folder.path(), "w.fsw", &["--positions-per-stage", "40"]);
    let midgame = data("bench/midgame.txt");
    let nodes = |selectivity: &str| {
        let table = stdout(&["search", "-w", &path, "--depth", "6", "--selectivity", selectivity, &midgame], "");
        table.lines().skip(1).map(|line| columns(line)[2].parse::<u64>().unwrap()).sum::<u64>()
    };
    let (full, sure, bold) = (nodes("off"), nodes("2"), nodes("1"));
    assert!(bold < sure && sure < full, "{bold} {sure} {full}");
    assert_eq!(nodes("100"), full);

    let selective = format!("{path}:depth=5,selectivity=1");
    let results = stdout(&["match", &selective, &path, "--depth", "1", "--pairs", "10", "--times", "-q"], "");
    assert!(results.starts_with(&format!("first\t{selective}\nsecond\t{path}\n")), "{results}");
    let line = |name: &str| columns(results.lines().find(|line| line.starts_with(name)).unwrap());
    assert!(line("score")[1].parse::<f32>().unwrap() > 0.6, "{results}");
    let seconds: Vec<f64> = line("seconds")[1..].iter().map(|text| text.parse().unwrap()).collect();
    assert!(seconds.len() == 2 && seconds.iter().all(|time| *time >= 0.0), "{results}");
    let moves = "genmove b\ngenmove w\nquit\n";
    assert!(stdout(&["gtp", "-w", &path, "--selectivity", "1.5", "--depth", "6"], moves).starts_with("= "));
}

#[test]
fn players_with_a_limit_are_selective_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let limited = |players: [&str; 2], options: &[&str]| {
        let log = folder.path().join(format!("{}.jsonl", players[1])).display().to_string();
        let few = ["--pairs", "1", "--games", &log, "-q"];
        stdout(&[&["match", players[0], players[1]], &few[..], options].concat(), "");
        let games = fs::read_to_string(&log).unwrap();
        let lines = games.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| line.pointer("/player/settings/selectivity").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(limited(["default:nodes=500", "mobility:nodes=500"], &[]), [json!(0.8), json!("off")]);
    assert_eq!(limited(["default", "default:nodes=500,selectivity=off"], &[]), ["off", "off"]);
    assert_eq!(limited(["default:nodes=400", "default:nodes=500"], &["--selectivity", "1.5"]), [1.5, 1.5]);
}

/// An opponent that searches to a depth is as selective as one with a clock.
#[test]
fn servers_are_selective_by_default() {
    let nodes = |options: &[&str]| {
        let answers = stdout(&[&["nboard", "--threads", "1"], options].concat(), "set depth 8\nmove f5\ngo\n");
        let line = answers.lines().find_map(|line| line.strip_prefix("nodestats ")).unwrap();
        line.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let (usual, full) = (nodes(&[]), nodes(&["--selectivity", "off"]));
    assert_eq!(usual, nodes(&["--selectivity", "0.8"]));
    assert!(usual * 2 < full, "{usual} of {full} nodes");
    assert_eq!(nodes(&["-w", "mobility"]), nodes(&["-w", "mobility", "--selectivity", "off"]));
}

#[test]
fn selectivity_without_parameters_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plain = constant_weights(folder.path(), 1).display().to_string();
    for (weights, hint) in [(&*plain, "flipside calibrate"), ("squares", "a calibrated file or `default`")] {
        let error = refusal(&["search", "-w", weights, "--selectivity", "1.5"], START, 1);
        assert!(error.contains("is not calibrated") && error.contains(hint), "{error}");
    }
    let error = refusal(&["match", "squares:selectivity=1", "mobility"], "", 1);
    assert!(error.contains("is not calibrated"), "{error}");
    assert!(refusal(&["search", "--selectivity=-1"], START, 2).contains("--selectivity"));
    assert!(refusal(&["match", "squares:speed=1", "mobility"], "", 2).contains("`speed=1` is none of"));
}
