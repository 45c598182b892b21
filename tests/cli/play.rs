//! A game in the terminal, driven over pipes.

use crate::support::*;

/// The output of a game with these lines typed.
fn play(options: &[&str], lines: &[&str]) -> String {
    let typed: String = lines.iter().map(|line| format!("{line}\n")).collect();
    stdout(&[&["play", "-w", "squares", "--exact-empties", "8"], options].concat(), &typed)
}

fn last_line(shown: &str) -> &str {
    shown.lines().last().unwrap()
}

/// Plays the first legal move that each board shows until the game is over; returns everything typed.
fn whole_game(colour: &str) -> (Vec<String>, String) {
    let mut typed: Vec<String> = Vec::new();
    loop {
        let lines: Vec<&str> = typed.iter().map(String::as_str).collect();
        let shown = play(&["--colour", colour, "--depth", "1"], &lines);
        if shown.contains("Game over") {
            return (typed, shown);
        }
        typed.push(if shown.contains("type pass") && shown.rfind("type pass") > shown.rfind("h\n1 ") {
            "pass".to_owned()
        } else {
            first_legal(&shown)
        });
    }
}

/// The first `*` on the last board.
fn first_legal(shown: &str) -> String {
    let board = &shown[shown.rfind("  a b c d e f g h").unwrap()..];
    let (row, line) = board.lines().enumerate().find(|(_, line)| line.contains('*')).unwrap();
    let column = b"abcdefgh"[line.find('*').unwrap() / 2 - 1] as char;
    format!("{column}{row}")
}

#[test]
fn a_whole_game_ends_with_its_transcript() {
    for colour in ["black", "white"] {
        let (typed, shown) = whole_game(colour);
        let transcript: flipside::board::Transcript = last_line(&shown).parse().unwrap();
        assert!(transcript.last().position.is_game_over(), "{shown}");
        let moves: Vec<_> = typed.iter().filter(|line| *line != "pass").map(String::as_str).collect();
        let side = if colour == "black" { flipside::board::Side::Black } else { flipside::board::Side::White };
        let own: Vec<_> =
            transcript.steps().iter().filter(|(d, _)| d.side == side).map(|(_, s)| s.to_string()).collect();
        assert_eq!(own, moves);
        let score = transcript.last().position.final_score();
        assert!(shown.contains(&format!("by {}.", score.abs())) || shown.contains("a draw"), "{shown}");
    }
}

#[test]
fn the_board_shows_discs_and_legal_moves() {
    let shown = play(&[], &[]);
    let board = "  a b c d e f g h\n1 - - - - - - - -\n2 - - - - - - - -\n3 - - - * - - - -\n4 - - * O X - - -\n\
                 5 - - - X O * - -\n6 - - - - * - - -\n7 - - - - - - - -\n8 - - - - - - - -\n";
    assert!(shown.contains(board) && shown.contains("black (X) 2, white (O) 2"), "{shown}");
    assert!(shown.ends_with("black (X)> \n"), "no move, no transcript: {shown}");
    // White waits for black's move.
    let shown = play(&["--color", "white"], &["quit", "f5"]);
    assert!(shown.starts_with("black (X) plays ") && shown.contains("white (O)> "), "{shown}");
    assert_eq!(last_line(&shown).trim_start_matches("white (O)> ").len(), 2, "{shown}");
}

#[test]
fn odd_input_is_answered_with_what_is_expected() {
    let expected = [
        ("f9", "`f9` is not a move or command. f5: play there"),
        ("resign now", "`resign now` is not a move"),
        ("a1", "a1 turns no disc over; legal moves: d3 c4 f5 e6"),
        ("d4", "legal moves: d3"),
        ("pass", "only if you have no legal move"),
        ("undo", "no move to take back"),
        ("hint many", "`many` is not a number of moves"),
        ("HELP", "undo: take back your last move"),
        ("\u{7}\u{fffd}", "is not a move"),
    ];
    for (line, answer) in expected {
        let shown = play(&[], &[line, "F5"]);
        assert!(shown.contains(answer), "{line}: {shown}");
        assert!(last_line(&shown).starts_with("f5") && last_line(&shown).len() == 4, "the game goes on: {shown}");
    }
    assert!(refusal(&["play", "--colour", "red"], "", 2).contains("black"));
    assert!(refusal(&["play", "--depth", "2", "--time", "1"], "", 2).contains("--time"));
    assert!(refusal(&["play", "--depth", "0"], "", 2).contains("1..=60"));
    assert!(refusal(&["play", "--time", "-1"], "", 2).contains("expected seconds from 0.001 to 86400"));
}

#[test]
fn moves_are_taken_back_and_hinted() {
    let (once, again) = (play(&[], &["f5"]), play(&[], &["f5", "undo", "f5"]));
    assert_eq!(last_line(&once), last_line(&again));
    let other = play(&[], &["f5", "undo", "d3"]);
    assert!(last_line(&other).starts_with("d3"), "{other}");
    let as_white = play(&["--colour", "white"], &["undo"]);
    assert!(as_white.contains("no move to take back"), "{as_white}");

    let hints = play(&["--depth", "3", "--threads", "2"], &["f5", "hint 2", "hint 60"]);
    let values: Vec<(&str, f32)> = hints
        .lines()
        .filter(|line| line.contains(" discs, 3 plies, then "))
        .map(|line| line.trim_start_matches("black (X)> ").split_once(": ").unwrap())
        .map(|(square, rest)| (square, rest.split(' ').next().unwrap().parse().unwrap()))
        .collect();
    assert!(values.len() > 4 && values[..2] == values[2..4], "{hints}");
    assert!(values[2..].is_sorted_by(|a, b| a.1 >= b.1), "{hints}");
}

#[test]
fn hints_take_about_the_time_of_a_move() {
    let shown = play(&["--time", "1.0"], &["hint 1"]);
    let plies = shown.split(" discs, ").nth(1).and_then(|rest| rest.split(" plies").next()).unwrap();
    assert!(plies.parse::<u32>().unwrap() > 4, "{shown}");
}
