//! The clients against our own servers, and against engines that misbehave.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flipside::arena::{Ending, Match, Player, PlayerError, play_game, select_openings, xot_openings};
use flipside::board::{Diagram, Side, Square, Transcript};
use flipside::protocol::{ExternalSpec, ProcessLimits, gtp, nboard};
use flipside::record::log::End;

use crate::naive_rules::Board;
use crate::support::*;

/// The engine on the other side: this test program, started again by a test with `FLIPSIDE_TEST_ENGINE` set.
#[test]
#[ignore = "the other side of other tests"]
fn engine() {
    let Ok(kind) = std::env::var("FLIPSIDE_TEST_ENGINE") else { return };
    // The test harness may have left a line unfinished.
    println!();
    let ours = || search_engine(STRENGTH);
    match kind.as_str() {
        "gtp" => gtp::serve(&mut ours(), BufReader::new(stdin()), stdout().lock()).unwrap(),
        "nboard" => nboard::serve(&mut ours(), BufReader::new(stdin()), stdout().lock()).unwrap(),
        rude => rude_engine(rude),
    }
}

/// Speaks enough GTP and NBoard to be accepted, then misbehaves from its second move on.
fn rude_engine(kind: &str) {
    let mut diagram = Diagram::START;
    let mut moves = 0;
    let mut game = Board::start();
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        if kind == "chatty" {
            (0..3000).for_each(|i| println!("info {i} of nothing = much"));
        }
        match words.as_slice() {
            _ if kind == "silent" => {}
            ["set", "game", ..] if kind == "strict" => game = board_after(&line),
            ["go"] if kind == "strict" => println!("=== {}", game.moves().first().map_or("PA", String::as_str)),
            ["play", _, square] => {
                diagram = square.parse().map_or(diagram.pass(), |square| diagram.try_play(square).unwrap());
                println!("=\n");
            }
            ["clear_board"] => {
                (diagram, moves) = (Diagram::START, 0);
                println!("= \n");
            }
            ["genmove", _] => {
                moves += 1;
                let square = Square::lowest(diagram.position.moves());
                diagram = diagram.try_play(square).unwrap();
                match kind {
                    _ if moves < 2 => println!("= {square}\n"),
                    "illegal" => println!("= a1\n"),
                    "passing" => println!("= pass\n"),
                    "resigning" => println!("= resign\n"),
                    "garbage" => println!("= \u{1b}[1mf5?\n"),
                    "failing" => println!("? cannot think\n"),
                    "dying" => {
                        eprintln!("out of cheese");
                        std::process::exit(3)
                    }
                    "stuck" => std::thread::sleep(Duration::from_secs(3600)),
                    "babbling" => loop {
                        println!("thinking");
                    },
                    "endless" => loop {
                        print!("x");
                    },
                    _ => println!("= {}\n", square.to_string().to_uppercase()),
                }
            }
            ["ping", number] => println!("pong {number}"),
            ["go"] if kind == "illegal" => println!("=== a1/0.0"),
            ["go"] if kind == "dying" => return,
            ["go"] if kind == "garbage" => println!("=== ?"),
            ["go"] => std::thread::sleep(Duration::from_secs(3600)),
            ["set", ..] | ["nboard", _] => println!("= \n"),
            _ => println!("= rude\n"),
        }
        stdout().flush().unwrap();
    }
}

/// The position after the moves of a game in GGF, all of which must be legal and none left out, passes included.
fn board_after(text: &str) -> Board {
    let mut board = Board::start();
    let (_, moves) = text.split_once("BO[").and_then(|(_, rest)| rest.split_once(']')).expect("a board");
    for played in moves.strip_suffix(";)").expect("an end").split_terminator(']') {
        let (side, square) = played.split_once('[').unwrap();
        assert_eq!(side, if board.side == 1 { "B" } else { "W" }, "{text}");
        board.play(square.split('/').next().unwrap()).unwrap();
    }
    board
}

pub fn spec(dialect: &str, kind: &str) -> ExternalSpec {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().expect("a path in UTF-8").to_owned();
    let quoted = format!("'{}'", program.replace('\'', "'\\''"));
    format!("{dialect}:env FLIPSIDE_TEST_ENGINE={kind} {quoted} --exact clients::engine --ignored --nocapture")
        .parse()
        .unwrap()
}

/// Seconds for an engine that will answer: no machine is that slow.
pub const AN_HOUR: f64 = 3600.0;

/// An hour to start, and some seconds for each move.
pub fn limits(per_move: f64) -> ProcessLimits {
    let [start, per_move] = [AN_HOUR, per_move].map(Duration::from_secs_f64);
    ProcessLimits { start, per_move, depth: None }
}

pub fn rude(dialect: &str, kind: &str, per_move: f64) -> Box<dyn Player + Send> {
    spec(dialect, kind).start(limits(per_move), &NEVER).unwrap()
}

#[test]
fn our_engine_plays_the_same_moves_in_a_process_of_its_own() {
    for dialect in ["gtp", "nboard"] {
        let mut external = rude(dialect, dialect, AN_HOUR);
        for opening in select_openings(&xot_openings(), 4, 1) {
            let (mut ours, mut opponent) = (engine_player(), engine_player());
            let inside = played(&mut ours, &mut opponent, &opening);
            let outside = played(&mut external, &mut opponent, &opening);
            assert_eq!((inside.moves, inside.discs, None), (outside.moves, outside.discs, outside.forfeit));
            let swapped = played(&mut opponent, &mut external, &opening);
            assert_eq!((swapped.forfeit, swapped.discs), (None, inside.discs));
        }
    }
}

#[test]
fn matches_run_on_several_processes() {
    let plan = Match { openings: select_openings(&xot_openings(), 6, 2), sprt: None, held: Vec::new() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let start = |dialect| move || spec(dialect, dialect).start(limits(AN_HOUR), &NEVER);
    let report =
        pool.install(|| plan.run(start("gtp"), start("nboard"), &NEVER, |_| ControlFlow::Continue(()))).unwrap();
    assert_eq!((report.ending, report.tally.pairs), (Ending::Complete, [0, 0, 6, 0, 0]));
}

#[test]
fn chatter_is_ignored_and_limits_beyond_the_clock_are_none() {
    let limits = ProcessLimits { start: Duration::MAX, per_move: Duration::MAX, depth: None };
    let mut chatty = spec("gtp", "chatty").start(limits, &NEVER).unwrap();
    let game = played(&mut chatty, &mut engine_player(), &Transcript::default());
    assert_eq!(game.forfeit, None);
}

#[test]
fn misbehaviour_loses_the_game_with_the_reason_and_the_next_game_starts_afresh() {
    let opening: Transcript = "f5d6".parse().unwrap();
    for (dialect, kind, reason) in [
        ("gtp", "illegal", "illegal move: a1 turns no disc over"),
        ("gtp", "passing", "answered `genmove w` with `pass`"),
        ("gtp", "resigning", "resigned"),
        ("gtp", "garbage", "answered `genmove w` with `\u{1b}[1mf5?`"),
        ("gtp", "failing", "answered `genmove w` with `cannot think`"),
        ("gtp", "dying", "the engine ended before it answered `genmove w` (exit status: 3), saying `out of cheese`"),
        ("gtp", "stuck", "no answer to `genmove w` within 0.5 s"),
        ("gtp", "babbling", "no answer to `genmove w` within 0.5 s"),
        ("gtp", "endless", "no answer to `genmove w` within 0.5 s"),
        ("nboard", "illegal", "illegal move: a1 turns no disc over"),
        ("nboard", "garbage", "answered `go` with `?`"),
        ("nboard", "dying", "the engine ended before it answered `go` (exit status: 0)"),
        ("nboard", "stuck", "no answer to `go` within 0.5 s"),
    ] {
        let per_move = if reason.starts_with("no answer") { 0.5 } else { AN_HOUR };
        let mut engine = rude(dialect, kind, per_move);
        for _ in 0..2 {
            let game = played(&mut engine_player(), &mut engine, &opening);
            let forfeit = game.forfeit.expect(kind);
            assert_eq!((forfeit.side, game.discs), (Side::White, 64), "{kind}");
            assert_eq!(forfeit.end == End::Resigned, kind == "resigning", "{kind}");
            // A busy machine may use up the half second on the answer before.
            let timed_out = forfeit.end == End::Time;
            assert!(forfeit.reason == reason || per_move < 1.0 && timed_out, "{kind}: {}", forfeit.reason);
        }
    }
}

#[test]
fn engines_that_do_not_start_are_an_error() {
    let start = |text: &str, limit: f64| {
        let limits = ProcessLimits { start: Duration::from_secs_f64(limit), ..limits(1.0) };
        text.parse::<ExternalSpec>().unwrap().start(limits, &NEVER).map(|_| ()).unwrap_err().to_string()
    };
    let error = start("gtp:/no/such/engine --fast", AN_HOUR);
    assert!(error.starts_with("could not start `/no/such/engine --fast`: No such file"), "{error}");
    let silent = spec("gtp", "silent").to_string();
    assert!(start(&silent, 0.2).ends_with("no answer to `name` within 0.2 s"));
    assert!(start(&silent.replacen("gtp", "nboard", 1), 0.2).ends_with("no answer to `ping 1` within 0.2 s"));
    let error = start("nboard:sh -c 'echo alas >&2; exit 7'", AN_HOUR);
    assert!(error.contains("the engine ended before it answered"), "{error}");
    for bad in ["", "gtp", "gtp:", "uci:x", "gtp:'unbalanced", "gtp:  "] {
        assert!(bad.parse::<ExternalSpec>().is_err(), "{bad}");
    }
}

#[test]
fn engines_are_killed_with_all_they_started() {
    use rustix::process::{Pid, test_kill_process};
    let directory = tempfile::tempdir().unwrap();
    let note = directory.path().join("pid");
    let script =
        format!("sleep 3600 & echo $! > '{}'; while read line; do echo '= x'; echo pong 1; done", note.display());
    let engine: ExternalSpec = format!("gtp:sh -c \"{}\"", script.replace('$', "\\$")).parse().unwrap();
    let player = engine.start(limits(AN_HOUR), &NEVER);
    let pid: i32 = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    assert!(test_kill_process(pid).is_ok());
    drop(player);
    // Nobody waits for the grandchild: whoever adopts it takes a moment, or leaves a zombie.
    let gone = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
        test_kill_process(pid).is_err() || state.contains(") Z ")
    };
    // A test that waits in vain does not end.
    while !gone() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_stopped_game_is_abandoned_in_the_middle_of_a_search() {
    let (mut stuck, stop) = (rude("gtp", "stuck", AN_HOUR), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let stop = &stop;
        let game = scope.spawn(move || play_game(&mut stuck, &mut engine_player(), &Transcript::default(), stop));
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(game.join().unwrap(), Err(PlayerError::Stopped));
    });
}
