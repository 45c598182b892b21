//! The textbook searches on the command line.

use std::fs;

use flipside::board::Diagram;

use crate::support::*;

const POSITION: &str = "-------------------XX------XXO----XOXOO---OOOO------------------ X";

fn table(arguments: &[&str], input: &str) -> Vec<Vec<String>> {
    let output = stdout(&[&["search", "-w", "mobility", "-q"], arguments].concat(), input);
    output.lines().map(|line| columns(line).into_iter().map(str::to_owned).collect()).collect()
}

#[test]
fn every_algorithm_finds_the_same_value() {
    let own = table(&["--depth", "4"], POSITION);
    for name in [
        "minimax",
        "negamax",
        "alpha-beta-hard",
        "alpha-beta-soft",
        "aspiration",
        "bisection",
        "mtd-plain",
        "mtd-f",
        "pvs",
    ] {
        for switches in
            [&["--no-table", "--no-ordering", "--no-deepening"][..], &["--ordering", "killers,history"], &[]]
        {
            let found = table(&[&["--depth", "4", "--algorithm", name], switches].concat(), POSITION);
            assert_eq!(found[0], own[0]);
            assert_eq!(found[1][0], own[1][0], "{name}");
        }
    }
}

#[test]
fn the_best_moves_have_a_line_each() {
    let position: Diagram = POSITION.parse().unwrap();
    let passing = format!("XO{} O", "-".repeat(62));
    let found = table(&["--depth", "4", "--moves", "100"], &format!("{POSITION}\n{passing}\n"));
    assert_eq!(found[0], ["score", "move", "nodes", "seconds", "line", "depth", "position"]);
    let moves = position.position.moves().count_ones() as usize;
    assert_eq!(found.len(), 1 + moves + 1);
    assert_eq!(found[1][0], table(&["--depth", "4"], POSITION)[1][0]);
    let value = |row: &[String]| row[0].parse::<f64>().unwrap();
    assert!(found[1..=moves].is_sorted_by(|one, next| value(one) >= value(next)), "{found:?}");
    for row in &found[1..=moves] {
        let after = position.try_play(row[1].parse().unwrap()).unwrap().to_string();
        let reply = &table(&["--depth", "3"], &after)[1];
        assert_eq!(value(row), -reply[0].parse::<f64>().unwrap());
        assert_eq!((&*row[6], &row[4]), (POSITION, &format!("{}{}", row[1], reply[4])));
    }
    assert_eq!((&found[moves + 1][6], &*found[moves + 1][1]), (&passing, "-"));
    let untimed = |rows: &[Vec<String>]| -> Vec<_> { rows.iter().map(|row| [&row[..3], &row[4..]].concat()).collect() };
    assert_eq!(untimed(&table(&["--depth", "4", "--moves", "2"], POSITION)[1..]), untimed(&found[1..=2]));
    let best = stdout(&["search", "-w", "mobility", "--depth", "4", "--moves", "2", "--json"], POSITION);
    assert_eq!(best.lines().count(), 2);
    assert!(refusal(&["search", "--depth", "0", "--moves", "1"], POSITION, 2).contains("--depth 1"));
}

#[test]
fn a_comparison_lists_all_searches_and_plots_them() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("nodes.svg");
    let path = image.to_str().unwrap();
    let rows = table(&["--depth", "4", "--compare", "--plot", path], POSITION);
    let names =
        ["search", "value", "move", "same_moves", "nodes", "share", "branching", "seconds", "estimated", "depth"];
    assert_eq!(rows[0], names);
    let names: Vec<_> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names.len(), 10);
    assert_eq!((names[0], rows[1][5].as_str(), names[9]), ("minimax", "1.000", "flipside"));
    assert!(rows[2..].iter().all(|row| row[1] == rows[1][1] && row[5] != "1.000"), "{rows:?}");
    let svg = fs::read_to_string(&image).unwrap();
    assert!(names.iter().all(|name| svg.contains(&format!("\n{name}\n"))), "{svg}");

    let two = table(&["--depth", "3", "--compare"], &format!("{POSITION}\n{START}\n"));
    assert!(two[1..].iter().all(|row| row[2] == "-" && ["0", "1", "2"].contains(&&*row[3])), "{two:?}");
    // Without a move and without depth there must be no division by zero.
    let over = table(&["--depth", "0", "--compare", "--plot", path], &format!("{} X", "X".repeat(64)));
    assert!(over[1..].iter().all(|row| row[1] == "64.00" && row[2] == "-" && row[6] == "0.000"), "{over:?}");
}

#[test]
fn too_large_trees_are_estimated() {
    let rows = table(&["--depth", "8", "--compare"], POSITION);
    assert_eq!((rows[1][0].as_str(), rows[1][1].as_str(), &*rows[1][8]), ("minimax", "-", "yes"));
    assert_ne!(rows[2][0], "negamax");
    assert_eq!(rows[2][8], "no");
}

#[test]
fn orderings_are_compared_one_by_one() {
    let rows = table(&["--depth", "5", "--compare=orderings", "--ordering", "hash,mobility"], POSITION);
    let names: Vec<_> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    let expected = ["none", "hash", "killers", "evaluation", "mobility", "history", "cutoffs", "hash+mobility"];
    assert_eq!(names[..8], expected);
    assert_eq!(names[8..], ["without hash", "without mobility"]);
}

#[test]
fn switches_need_a_search_to_act_on() {
    assert!(refusal(&["search", "--no-table"], "", 2).contains("--algorithm"));
    assert!(refusal(&["search", "--plot", "x.svg"], "", 2).contains("--compare"));
    assert!(refusal(&["search", "--algorithm", "sss"], "", 2).contains("mtd-f"));
    assert!(
        refusal(&["search", "--algorithm", "pvs", "--no-ordering", "--ordering", "hash"], "", 2).contains("cannot be")
    );
    assert!(refusal(&["search", "-w", "mobility", "--algorithm", "pvs", "--compare"], POSITION, 2).contains("leave"));
    for without in [&["--no-ordering"][..], &["--algorithm", "negamax"]] {
        let error = refusal(&[&["search", "--compare=orderings"], without].concat(), POSITION, 2);
        assert!(error.contains("--compare=orderings"), "{error}");
    }
}

#[test]
fn quiet_is_quiet_even_if_a_plot_replaces_the_table() {
    let plot = |quiet: &[&str]| {
        let common = ["search", "-w", "squares", "--depth", "2", "--compare", "--plot", "-"];
        let output = run_with(&[&common, quiet].concat(), START);
        assert!(output.stdout.starts_with(b"<svg"));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(plot(&[]).contains("search\tvalue"));
    assert_eq!(plot(&["-q"]), "");
}
