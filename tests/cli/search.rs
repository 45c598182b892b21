//! Searches on the command line.

use flipside::board::Diagram;

use crate::support::*;

const POSITION: &str = "-------------------XX------XXO----XOXOO---OOOO------------------ X";

fn table(arguments: &[&str], input: &str) -> Vec<Vec<String>> {
    let output = stdout(&[&["search", "-w", "mobility", "-q"], arguments].concat(), input);
    output.lines().map(|line| columns(line).into_iter().map(str::to_owned).collect()).collect()
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
