//! The GTP server against scripts.

use std::io::Cursor;

use flipside::board::{Diagram, Side, Square, Transcript, squares};
use flipside::protocol::gtp;

use crate::support::*;

#[test]
fn gtp_answers_every_command() {
    let script = [
        // Some shells begin what they send with a byte order mark.
        ("\u{feff}protocol_version", "= 2"),
        ("7 name", "=7 plain"),
        ("version", "= 1.2"),
        ("known_command undo", "= true"),
        ("known_command dance", "= false"),
        ("boardsize 8", "="),
        ("boardsize 19", "? unacceptable size"),
        ("komi 6.5", "="),
        ("komi x", "? syntax error: expected a number"),
        ("set_game Othello", "="),
        ("set_game Go", "? unsupported game"),
        ("list_games", "= Othello"),
        ("clear_board", "="),
        ("undo", "? cannot undo"),
        ("12 play b F5 # a comment", "=12"),
        ("play BLACK a1", "? illegal move"),
        ("play w pass", "? illegal move"),
        ("play b d6", "? illegal move"),
        ("play green d6", "? syntax error: expected a colour, b or w"),
        ("play w z9", "? illegal move"),
        ("final_score", "? cannot score: the game is not over"),
        ("play", "? syntax error"),
        ("undo", "="),
        ("genmove black", "= d3"),
        ("genmove b", "? illegal move: it is the other side's turn"),
        ("reg_genmove W", "= c3"),
        ("genmove white", "= c3"),
        ("time_settings 60 0 0", "="),
        ("time_left b 10 0", "="),
        ("time_settings -1 nan 0", "? syntax error: expected a number"),
        ("time_left w 1e300 0", "? syntax error: too much time"),
        ("loadsgf /no/such/file", "? cannot load file: No such file or directory (os error 2)"),
        ("dance", "? unknown command"),
        ("99 dance", "?99 unknown command"),
        ("99999999999999999999 name", "? unknown command"),
        ("quit", "="),
    ];
    let commands = script.map(|(command, _)| command);
    let answers = gtp_answers(&commands);
    assert_eq!(answers.len(), script.len());
    for ((command, expected), answer) in script.into_iter().zip(answers) {
        assert_eq!(answer, expected, "{command}");
    }
}

#[test]
fn gtp_lists_what_it_knows_and_knows_what_it_lists() {
    let answers = gtp_answers(&["list_commands"]);
    let commands: Vec<_> = answers[0][2..].lines().map(str::to_owned).collect();
    assert_eq!(commands.len(), 20);
    for command in commands {
        let answer = &gtp_answers(&[&command])[0];
        assert_ne!(answer, "? unknown command", "{command}");
    }
}

#[test]
fn gtp_ends_at_quit_and_at_the_end_of_input() {
    assert_eq!(gtp_talk(b"\n # only a comment\nname\r\nquit\nname\n"), "= plain\n\n=\n\n");
    assert_eq!(gtp_talk(b"na\x07me"), "= plain\n\n");
    assert_eq!(gtp_talk(b""), "");
}

#[test]
fn gtp_shows_the_board_and_passes_when_it_must() {
    let board = &gtp_answers(&["play b f5", "showboard"])[1];
    let expected = "= \n  a b c d e f g h\n1 - - - - - - - -\n2 - - - - - - - -\n3 - - - - - - - -\n4 - - - O X - - -\n\
                    5 - - - X X X - -\n6 - - - - - - - -\n7 - - - - - - - -\n8 - - - - - - - -\nO to move";
    assert_eq!(board, expected);
    // The shortest game: after it neither side can move.
    let mut commands: Vec<String> = Vec::new();
    for (i, square) in "e6f4e3f6g5d6e7f5c5".as_bytes().chunks(2).enumerate() {
        commands.push(format!("play {} {}", ["b", "w"][i % 2], std::str::from_utf8(square).unwrap()));
    }
    commands.extend(
        ["final_score", "genmove w", "genmove b", "play w pass", "undo", "undo", "undo", "undo", "genmove b"]
            .map(String::from),
    );
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let answers = gtp_answers(&commands);
    assert_eq!(answers[9..], ["= B+64", "= pass", "= pass", "=", "=", "=", "=", "=", "= c3"]);
}

/// Moves to the lowest squares until a side has to pass, and the move after that.
fn moves_around_a_pass() -> Vec<(Side, Square)> {
    let mut now = Diagram::START;
    let mut moves = Vec::new();
    loop {
        let square = Square::lowest(now.position.moves());
        moves.push((now.side, square));
        let next = now.try_play(square).unwrap();
        now = next.pass_if_needed();
        if now.side != next.side {
            moves.push((now.side, Square::lowest(now.position.moves())));
            return moves;
        }
    }
}

fn play(&(side, square): &(Side, Square)) -> String {
    format!("play {} {square}", if side == Side::Black { "b" } else { "w" })
}

#[test]
fn gtp_takes_back_a_move_with_the_pass_that_was_left_out_before_it() {
    let moves = moves_around_a_pass();
    let mut commands: Vec<String> = moves.iter().map(play).collect();
    let [before, last] = moves.last_chunk().unwrap();
    assert_eq!(before.0, last.0, "the other side passed");
    commands.extend(["undo", "undo"].map(String::from));
    commands.extend([play(before), play(last)]);
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let answers = gtp_answers(&commands);
    assert_eq!(answers, vec!["="; commands.len()]);
}

#[test]
fn gtp_hands_a_game_to_the_engine_again_only_if_it_ends_differently() {
    // Two games that differ at a move with a choice, as late as possible.
    let ends = |choices: &[usize]| {
        let (mut diagram, mut moves) = (Diagram::START, Vec::new());
        while !diagram.position.is_game_over() {
            diagram = diagram.pass_if_needed();
            let legal: Vec<_> = squares(diagram.position.moves()).collect();
            let choice = choices.get(moves.len()).copied().unwrap_or(0);
            moves.push((diagram.side, *legal.get(choice)?, legal.len()));
            diagram = diagram.try_play(moves.last()?.1).ok()?;
        }
        Some((moves, diagram.final_score_for_black()))
    };
    let (first, discs) = ends(&[]).unwrap();
    let last = first.iter().rposition(|&(.., legal)| legal > 1).unwrap();
    let mut choices = vec![0; last];
    choices.push(1);
    let (other, other_discs) = ends(&choices).unwrap();
    let say = |&(side, square, _): &(Side, Square, usize)| play(&(side, square));
    let mut commands: Vec<String> = first.iter().map(say).collect();
    commands.push("undo".to_owned());
    commands.push(say(first.last().unwrap()));
    commands.extend(vec!["undo".to_owned(); first.len() - last]);
    commands.extend(other[last..].iter().map(say));
    let mut engine = Plain::default();
    let mut output = Vec::new();
    gtp::serve(&mut engine, Cursor::new(commands.join("\n").into_bytes()), &mut output).unwrap();
    assert!(!String::from_utf8(output).unwrap().contains('?'));
    assert_eq!(engine.learned, [(first.len(), discs), (other.len(), other_discs)]);
}

#[test]
fn gtp_loads_games() {
    // GTP's arguments cannot have spaces, but the temporary folder's path may.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let load = |text: &str, extra: &str| {
        let path = directory.path().join("game.sgf");
        std::fs::write(&path, text).unwrap();
        let command = format!("loadsgf {}{extra}", path.display());
        gtp_answers(&["play b f5", &command, "genmove b", "genmove w"])[1..].to_vec()
    };
    let game = "(;FF[4]GM[2]SZ[8]C[a \\] bracket]PB[x]\n;B[f5];W[d6]\n(;B[c3](;W[d3]))(;B[c4]))";
    let answers = load(game, "");
    let line: Transcript = "f5d6c3d3".parse().unwrap();
    let lowest = Square::lowest(line.last().position.moves());
    assert_eq!(answers[..2], ["= black".to_owned(), format!("= {lowest}")]);
    assert_eq!(load(game, " 2")[0], "= white");
    assert!(load("(;GM[1];B[f5])", "")[0].contains("expected a game of Othello"));
    assert!(load("(;GM[2];B[f5];W[f5])", "")[0].contains("move 2 (f5): f5 is occupied"));
    // As Edax writes it, with a result that is none.
    let edax = "(;FF[4]GM[2]AP[edax:4.4]SZ[8]AB[e4][d5]AW[d4][e5]PL[B]RE[Void]B[f5];W[d6];B[c3];)";
    assert_eq!(load(edax, "")[0], "= white");
    assert_eq!(load(edax, " 3")[0], "= black");
    // A set-up position in which black has to pass.
    let set_up = "(;GM[2]AB[c1]AW[a1][b1][d4]PL[B];B[];W[d1])";
    assert_eq!(load(set_up, " 1")[..2], ["= black", "= pass"]);
    assert_eq!(load(set_up, " 2")[..1], ["= white"]);
    // GGF is read too.
    assert_eq!(load("(;GM[Othello]KM[-0.5]RE[-127.000]B[f5]W[d6];)", "")[0], "= black");
    for bad in ["", "rubbish", "(;B[f5", "(;B[f5]", "(;B[f9])", "(;SZ[10])", "(;GM[2];B[f5];AB[f6])"] {
        let answers = load(bad, "");
        assert!(answers[0].starts_with("? cannot load file"), "{bad}: {answers:?}");
        // The earlier game is still there: it is white's turn.
        assert!(answers[1].starts_with("? illegal move") && answers[2].starts_with("= "), "{answers:?}");
    }
    // What the file says cannot pass for another answer.
    let answers = load("(;B[x\n\n= d3])", "");
    assert!(answers[0].contains("= d3") && answers[1].starts_with("? illegal move"), "{answers:?}");
}

#[test]
fn gtp_keeps_to_its_time() {
    let limits = |commands: &str| {
        let mut engine = Plain::default();
        gtp::serve(&mut engine, Cursor::new(commands.to_owned()), Vec::new()).unwrap();
        engine.limits.iter().map(|(_, time)| time.map(|time| time.as_secs_f64())).collect::<Vec<_>>()
    };
    assert_eq!(limits("genmove b\ntime_settings 0 10 0\ngenmove w"), [None, None]);
    assert_eq!(limits("time_settings 0 10 5\ngenmove b"), [Some(1.8)]);
    assert_eq!(
        limits("time_settings 300 0 0\ngenmove b\ntime_left w 30 0\ngenmove w\nreg_genmove b"),
        [Some(13.5), Some(1.35), None]
    );
    // Two seconds a move are there besides the main time, and after it.
    assert_eq!(limits("time_settings 300 10 5\ngenmove b\ntime_left w 0 0\ngenmove w"), [Some(15.3), Some(1.8)]);
    assert_eq!(limits("time_settings 300 10 5\ntime_left b 8 4\ngenmove b"), [Some(1.8)]);
}
