//! The NBoard server against scripts.

use std::io::Cursor;

use flipside::board::{Square, Transcript};
use flipside::protocol::nboard;
use flipside::search::Strength;

use crate::support::*;

#[test]
fn nboard_answers_as_the_protocol_says() {
    let mut engine = Plain::default();
    let game = "(;GM[Othello]PB[a]PW[b]RE[?]TI[15:00]TY[8]BO[8 ---------------------------O*------*O--------------------------- *]B[F5];)";
    let script = format!("nboard 2\nset contempt 5\nset depth 6\nset game {game}\nnonsense\nlearn\nanalyze\n");
    let answers = nboard_talk(&mut engine, script.as_bytes());
    assert_eq!(answers, ["set myname plain", "learned", "analysis 1 1.50", "analysis 0 1.50", "status"]);
    assert_eq!(engine.limits, [(Some(6), None); 2]);

    assert_eq!(nboard_talk(&mut Plain::default(), b"nboard 2\nquit\nlearn"), ["set myname plain"]);
    // One command after another, so that none interrupts the one before.
    let mut engine = Plain::default();
    let answers = nboard_talk(&mut engine, b"go");
    assert_eq!(answers[0], "status plain is thinking");
    let timed = |line: &str, start: &str| line.strip_prefix(start).is_some_and(|text| text.parse::<f64>().is_ok());
    assert!(timed(&answers[1], "nodestats 7 ") && timed(&answers[2], "=== d3/1.50/"), "{answers:?}");
    let answers = nboard_talk(&mut Plain::default(), b"set depth 2\nhint 2");
    assert_eq!(
        answers[1..5],
        ["search d3c3 -1.50 0 1", "search c4c3 -1.50 0 1", "search d3c3 -1.50 0 2", "search c4c3 -1.50 0 2"]
    );
    let answers = nboard_talk(&mut Plain::default(), b"move F5/1.2/0.5\nmove d6\nping 17");
    assert_eq!(answers, ["pong 17"]);
}

/// The start position cannot be solved, and no hint may wait for that.
#[test]
fn nboard_hints_come_before_moves_are_solved() {
    let mut engine = search_engine(Strength::new(2, 60));
    let mut output = Vec::new();
    nboard::serve(&mut engine, Cursor::new("hint 4"), &mut output).unwrap();
    let answers = String::from_utf8(output).unwrap();
    assert_eq!(answers.matches("search ").count(), 4, "{answers}");
}

#[test]
fn nboard_recognises_a_continued_game() {
    let set = |moves: &str| format!("set game (;GM[Othello]{moves};)\n");
    let mut engine = Plain::default();
    let goes_on = ["", "B[f5]", "B[f5]W[d6]B[c3]", "B[f5]W[d6]B[c3]"].map(set).concat();
    assert_eq!(nboard_talk(&mut engine, format!("{goes_on}ping 1").as_bytes()), ["pong 1"]);
    assert_eq!(engine.games, 1);
    let others = ["B[f5]W[d6]", "B[d3]", "B[d3]W[c3]", "B[f5]"].map(set).concat();
    nboard_talk(&mut engine, others.as_bytes());
    assert_eq!(engine.games, 4);
}

#[test]
fn nboard_reports_errors_in_status_lines_and_continues() {
    for bad in [
        "move f9",
        "move a1",
        "move",
        "move PA",
        "set depth x",
        "set depth 0",
        "set depth 61",
        "set game",
        "set game (;GM[Go];)",
        "set game (;B[d3]",
        "set game (;TY[8r20]B[d3];)",
    ] {
        let answers = nboard_talk(&mut Plain::default(), format!("{bad}\nping 1\n").as_bytes());
        assert!(answers[0].starts_with("status error: ") && answers[1] == "pong 1", "{bad}: {answers:?}");
    }
    let over = "set game (;GM[Othello]B[e6]W[f4]B[e3]W[f6]B[g5]W[d6]B[e7]W[f5]B[c5];)";
    assert_eq!(nboard_talk(&mut Plain::default(), format!("{over}\ngo").as_bytes()), ["=== PA"]);
    assert_eq!(
        nboard_talk(&mut Plain::default(), format!("{over}\nhint 1").as_bytes()),
        ["status error: the game is over"]
    );
    let answers = nboard_talk(&mut Plain::default(), format!("{over}\nanalyze").as_bytes());
    assert_eq!(answers[0], "analysis 9 -64.00");
}

/// What cannot be read leaves the other side at a position that is not known: none is searched or played on from, until one is set.
#[test]
fn nboard_does_not_search_an_old_position_instead_of_one_it_could_not_read() {
    let over = "set game (;GM[Othello]B[e6]W[f4]B[e3]W[f6]B[g5]W[d6]B[e7]W[f5]B[c5];)";
    for bad in ["set game (;GM[Othello]B[f5]W[a1];)", "set game (;B[d3]", "set game", "move a1", "move f9", "move PA"] {
        for begin in ["set game (;GM[Othello]B[f5];)", over] {
            for command in ["go", "hint 2", "analyze", "move d6", "learn"] {
                let mut engine = Plain::default();
                let script = format!("{begin}\n{bad}\n{command}");
                let answers = nboard_talk(&mut engine, script.as_bytes());
                assert!(
                    answers.len() == 2 && answers.iter().all(|line| line.starts_with("status error: ")),
                    "{answers:?}"
                );
                assert!(engine.limits.is_empty(), "{script}: it searched");
            }
        }
        let script = format!("{bad}\ngo\nset game (;GM[Othello]B[f5]W[d6];)\nmove c3\ngo");
        let answers = nboard_talk(&mut Plain::default(), script.as_bytes());
        let lowest = Square::lowest("f5d6c3".parse::<Transcript>().unwrap().last().position.moves());
        assert!(answers.iter().any(|line| line.starts_with(&format!("=== {lowest}/"))), "{bad}: {answers:?}");
    }
}

/// A position is set whatever the record says of the result.
#[test]
fn nboard_sets_games_with_any_result() {
    let board = "BO[8 ---------------------------O*------*O--------------------------- *]";
    for head in ["", "KM[-0.5]RE[8.5]", "RE[-127.000]", "RE[+2.5]", "RE[nonsense]", "KM[x]RE[99:q]", "DT[]RE[]"] {
        let game = format!("set game (;GM[Othello]PC[GGS/os]TY[8k]{head}{board}B[E6]W[F4];)\ngo");
        let answers = nboard_talk(&mut Plain::default(), game.as_bytes());
        // The lowest move after e6f4.
        let lowest = Square::lowest("e6f4".parse::<Transcript>().unwrap().last().position.moves());
        assert!(answers[2].starts_with(&format!("=== {lowest}/")), "{head}: {answers:?}");
    }
}
