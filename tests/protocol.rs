//! The servers against scripts and rubbish, the clients against our own servers and against engines that misbehave.
#![cfg(unix)]

use std::io::{self, BufRead, BufReader, Cursor, PipeReader, PipeWriter, Read, Write, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod naive_rules;

use flipside::arena::{
    Ending, ForfeitReason, Match, PlayedGame, Player, PlayerError, SearchPlayer, play_game, select_openings,
    xot_openings,
};
use flipside::board::{Diagram, Side, Square, Transcript, squares};
use flipside::eval::{MobilityEvaluator, Score};
use flipside::protocol::{Engine, ExternalPlayer, ExternalSpec, Limits, SearchEngine, ServeError, gtp, nboard};
use flipside::search::{self, Analysis, Strength};
use naive_rules::Board;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const STRENGTH: Strength = Strength::new(1, 6);

static NEVER: AtomicBool = AtomicBool::new(false);

fn played(black: &mut dyn Player, white: &mut dyn Player, opening: &Transcript) -> PlayedGame {
    play_game(black, white, opening, &NEVER).unwrap()
}

/// An analysis by one who takes the first move there is.
fn first_move(diagram: &Diagram, score: Score, depth: u32, nodes: u64) -> Analysis {
    let best = Square::lowest(diagram.position.moves());
    let pv = [best].into_iter().collect();
    Analysis { score, best: Some(best), pv, depth, nodes, exact: false, selectivity: None }
}

fn search_engine(strength: Strength) -> search::Engine<'static, MobilityEvaluator> {
    search::Engine::new(&MobilityEvaluator, strength, 10).unwrap()
}

fn engine_player() -> SearchPlayer<'static, MobilityEvaluator> {
    SearchPlayer::new(search_engine(STRENGTH))
}

/// Plays the lowest legal square and records what it was asked.
#[derive(Default)]
struct Plain {
    limits: Vec<(Option<u32>, Option<Duration>)>,
    games: usize,
}

impl Engine for Plain {
    fn name(&self) -> &str {
        "plain"
    }

    fn version(&self) -> &str {
        "1.2"
    }

    fn default_depth(&self) -> u32 {
        3
    }

    fn new_game(&mut self) {
        self.games += 1;
    }

    fn think(&mut self, diagram: &Diagram, limits: &search::Limits<'_>) -> Analysis {
        assert!(diagram.position.moves() != 0);
        self.limits.push((limits.depth, limits.time));
        first_move(diagram, Score(192), limits.depth.unwrap_or(3), 7)
    }
}

fn gtp_talk(input: &[u8]) -> String {
    let mut output = Vec::new();
    gtp::serve(&mut Plain::default(), Cursor::new(input.to_vec()), &mut output).unwrap();
    String::from_utf8(output).unwrap()
}

/// The answers to commands, one each, without the empty lines.
fn gtp_answers(commands: &[&str]) -> Vec<String> {
    let output = gtp_talk(commands.join("\n").as_bytes());
    output.trim_end().split("\n\n").map(str::to_owned).collect()
}

fn nboard_talk(engine: &mut Plain, input: &[u8]) -> Vec<String> {
    let mut output = Vec::new();
    nboard::serve(engine, Cursor::new(input.to_vec()), &mut output).unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn gtp_answers_every_command() {
    let script = [
        ("protocol_version", "= 2"),
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
    assert_eq!(commands.len(), 19);
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
        ["genmove w", "genmove b", "play w pass", "undo", "undo", "undo", "undo", "genmove b"].map(String::from),
    );
    let commands: Vec<_> = commands.iter().map(String::as_str).collect();
    let answers = gtp_answers(&commands);
    assert_eq!(answers[9..], ["= pass", "= pass", "=", "=", "=", "=", "=", "= c3"]);
}

#[test]
fn gtp_loads_games() {
    let directory = tempfile::tempdir().unwrap();
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
    assert_eq!(load("(;GM[1];B[f5])", "")[0], "? cannot load file: not a game of Othello");
    assert_eq!(load("(;GM[2];B[f5];W[f5])", "")[0], "? cannot load file: move 2 is illegal");
    for bad in ["", "rubbish", "(;B[f5", "(;B[f5]", "(;B[f9])", "(;SZ[10])", "(;AB[f5])"] {
        let answers = load(bad, "");
        assert!(answers[0].starts_with("? cannot load file"), "{bad}: {answers:?}");
        // The game before is still there: it is white's turn.
        assert!(answers[1].starts_with("? illegal move") && answers[2].starts_with("= "), "{answers:?}");
    }
}

#[test]
fn gtp_keeps_to_the_time_it_is_given() {
    let limits = |commands: &str| {
        let mut engine = Plain::default();
        gtp::serve(&mut engine, Cursor::new(commands.to_owned()), Vec::new()).unwrap();
        engine.limits.iter().map(|(_, time)| time.map(|time| time.as_secs_f64())).collect::<Vec<_>>()
    };
    assert_eq!(limits("genmove b\ntime_settings 0 10 0\ngenmove w"), [None, None]);
    assert_eq!(limits("time_settings 0 10 5\ngenmove b"), [Some(1.8)]);
    assert_eq!(
        limits("time_settings 300 0 0\ngenmove b\ntime_left w 30 0\ngenmove w\nreg_genmove b"),
        [Some(9.0), Some(0.9), None]
    );
}

#[test]
fn nboard_answers_as_the_protocol_has_it() {
    let mut engine = Plain::default();
    let game = "(;GM[Othello]PB[a]PW[b]RE[?]TI[15:00]TY[8]BO[8 ---------------------------O*------*O--------------------------- *]B[F5];)";
    let script = format!("nboard 2\nset contempt 5\nset depth 6\nset game {game}\nnonsense\nlearn\nanalyze\n");
    let answers = nboard_talk(&mut engine, script.as_bytes());
    assert_eq!(answers, ["set myname plain", "learned", "analysis 1 1.50", "analysis 0 1.50", "status"]);
    assert_eq!(engine.limits, [(Some(6), None); 2]);

    assert_eq!(nboard_talk(&mut Plain::default(), b"nboard 2\nquit\nlearn"), ["set myname plain"]);
    // One command after the other, so that none interrupts the one before.
    let mut engine = Plain::default();
    let answers = nboard_talk(&mut engine, b"go");
    assert_eq!(answers[0], "status plain is thinking");
    assert!(answers[1].starts_with("nodestats 7 0.0") && answers[2].starts_with("=== d3/1.50/0.0"), "{answers:?}");
    let answers = nboard_talk(&mut Plain::default(), b"set depth 2\nhint 2");
    assert_eq!(
        answers[1..5],
        ["search d3c3 -1.50 0 1", "search c4c3 -1.50 0 1", "search d3c3 -1.50 0 2", "search c4c3 -1.50 0 2"]
    );
    let answers = nboard_talk(&mut Plain::default(), b"move F5/1.2/0.5\nmove d6\nmove PA\nping 17");
    assert_eq!(answers, ["pong 17"]);
}

#[test]
fn nboard_complains_in_status_lines_and_stays() {
    for bad in [
        "move f9",
        "move a1",
        "move",
        "set depth x",
        "set depth 0",
        "set game",
        "set game (;GM[Go];)",
        "set game (;B[d3]",
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

/// Thinks until it is told to stop.
struct Thinker(AtomicBool);
impl Engine for Thinker {
    fn name(&self) -> &str {
        "thinker"
    }
    fn version(&self) -> &str {
        "0"
    }
    fn default_depth(&self) -> u32 {
        60
    }
    fn new_game(&mut self) {}
    fn think(&mut self, diagram: &Diagram, limits: &search::Limits<'_>) -> Analysis {
        while !limits.stop.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        self.0.store(true, Ordering::SeqCst);
        first_move(diagram, Score(0), 1, 1)
    }
}

#[test]
fn a_ping_ends_the_thinking() {
    let mut engine = Thinker(AtomicBool::new(false));
    let mut output = Vec::new();
    nboard::serve(&mut engine, Cursor::new(b"hint 3\nping 1\ngo\nping 2\n".to_vec()), &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("pong 1\n") && output.contains("=== d3") && output.ends_with("pong 2\n"), "{output}");
    assert!(engine.0.into_inner());
}

#[test]
fn the_end_of_the_input_ends_the_thinking() {
    // Both would think for ever.
    let (mut engine, mut output) = (Thinker(AtomicBool::new(false)), Vec::new());
    let commands = "set depth 60\ngo\nhint 2\nanalyze\n";
    nboard::serve(&mut engine, Cursor::new(commands), &mut output).unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("=== d3") && output.ends_with("status\nanalysis 0 0.00\nstatus\n"), "{output}");
    let mut output = Vec::new();
    gtp::serve(&mut engine, Cursor::new("genmove b\ngenmove w\n"), &mut output).unwrap();
    assert_eq!(String::from_utf8(output).unwrap(), "= d3\n\n= c3\n\n");
}

/// Gives one command, then no more; takes no answer.
struct Broken(&'static [u8]);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(io::Error::other("unplugged")) } else { self.0.read(buffer) }
    }
}

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("unplugged"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn servers_tell_which_side_of_the_line_is_broken() {
    let broken = || BufReader::new(Broken(b"name\nping 1\n"));
    let engine = &mut Plain::default();
    assert!(matches!(gtp::serve(engine, broken(), Vec::new()), Err(ServeError::Input(_))));
    assert!(matches!(nboard::serve(engine, broken(), Vec::new()), Err(ServeError::Input(_))));
    assert!(matches!(gtp::serve(engine, &b"name\n"[..], Broken(b"")), Err(ServeError::Output(_))));
    assert!(matches!(nboard::serve(engine, &b"ping 1\n"[..], Broken(b"")), Err(ServeError::Output(_))));
}

#[test]
fn our_engine_stops_at_once_with_a_move() {
    // Deep searches and long solves of positions with many empty squares would take hours.
    for (exact_empties, threads) in [(0, 1), (60, 1), (60, 2)] {
        let mut engine =
            SearchEngine::new(search_engine(Strength::new(4, exact_empties)).with_threads(threads).unwrap(), "ours");
        for depth in [39, 40] {
            let limits = search::Limits { depth: Some(depth), time: None, stop: &AtomicBool::new(true) };
            let analysis = engine.think(&Diagram::START, &limits);
            assert!((1..=4).contains(&analysis.depth) && !analysis.exact, "{analysis:?}");
            assert_eq!(analysis.pv.len(), analysis.depth as usize, "{analysis:?}");
        }
    }
}

#[test]
fn no_input_makes_a_server_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let words = [
        "play",
        "genmove",
        "b",
        "w",
        "f5",
        "d6",
        "pass",
        "undo",
        "clear_board",
        "loadsgf",
        "/",
        "time_settings",
        "time_left",
        "-1",
        "0",
        "1e9",
        "nan",
        "99999999999",
        "known_command",
        "komi",
        "showboard",
        "set",
        "game",
        "depth",
        "move",
        "hint",
        "go",
        "ping",
        "analyze",
        "learn",
        "nboard",
        "(;GM[Othello]B[F5];)",
        "(;",
        "F5/1/2",
        "PA",
        "#",
        "\u{fffd}",
        "=",
        "\r",
    ];
    for _ in 0..1500 {
        let mut input = Vec::new();
        for _ in 0..rng.random_range(1..40) {
            if rng.random_bool(0.1) {
                input.extend((0..rng.random_range(0..20)).map(|_| rng.random::<u8>()));
            } else {
                input.extend(words[rng.random_range(0..words.len())].as_bytes());
            }
            input.push(*b"  \n\n\t".get(rng.random_range(0..5)).unwrap());
        }
        for block in gtp_talk(&input).split_terminator("\n\n") {
            assert!(block.starts_with(['=', '?']), "{block}");
        }
        nboard_talk(&mut Plain::default(), &input);
    }
    // A line without end neither fills the memory nor ends the talk.
    let mut endless = vec![b'x'; 1 << 20];
    endless.extend(b"\nname\n");
    assert_eq!(gtp_talk(&endless), "? unknown command\n\n= plain\n\n");
}

/// The engine on the other side: this test program, started again by a test with `FLIPSIDE_TEST_ENGINE` set.
#[test]
fn engine() {
    let Ok(kind) = std::env::var("FLIPSIDE_TEST_ENGINE") else { return };
    // The test harness may have left a line unfinished.
    println!();
    let ours = || SearchEngine::new(search_engine(STRENGTH), "ours");
    match kind.as_str() {
        "gtp" => gtp::serve(&mut ours(), BufReader::new(stdin()), stdout().lock()).unwrap(),
        "nboard" => nboard::serve(&mut ours(), BufReader::new(stdin()), stdout().lock()).unwrap(),
        rude => rude_engine(rude),
    }
}

/// Speaks enough GTP and NBoard to be let in, then misbehaves from its second move on.
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

/// The position after the moves of a game in GGF, each of which must be legal: with the passes, without anything left out.
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

fn spec(dialect: &str, kind: &str) -> ExternalSpec {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().expect("a path in UTF-8").to_owned();
    let quoted = format!("'{}'", program.replace('\'', "'\\''"));
    format!("{dialect}:env FLIPSIDE_TEST_ENGINE={kind} {quoted} --exact engine --nocapture").parse().unwrap()
}

/// Generous where the engine answers, short where it will not.
fn limits(per_move: f64) -> Limits {
    Limits { start: Duration::from_secs(60), per_move: Duration::from_secs_f64(per_move), depth: None }
}

fn rude(dialect: &str, kind: &str, per_move: f64) -> ExternalPlayer {
    ExternalPlayer::start(&spec(dialect, kind), limits(per_move), &NEVER).unwrap()
}

#[test]
fn our_engine_plays_the_same_moves_in_a_process_of_its_own() {
    for dialect in ["gtp", "nboard"] {
        let mut external = rude(dialect, dialect, 60.0);
        assert_eq!(external.name(), "ours");
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
    let start = |dialect| move || ExternalPlayer::start(&spec(dialect, dialect), limits(60.0), &NEVER);
    let report = pool.install(|| plan.run(start("gtp"), start("nboard"), &AtomicBool::new(false), |_| ())).unwrap();
    assert_eq!((report.ending, report.tally.pairs), (Ending::Complete, [0, 0, 6, 0, 0]));
}

#[test]
fn chatter_is_ignored() {
    let game = played(&mut rude("gtp", "chatty", 60.0), &mut engine_player(), &Transcript::default());
    assert_eq!(game.forfeit, None);
}

#[test]
fn rudeness_loses_the_game_with_the_reason_and_the_next_game_starts_afresh() {
    let opening: Transcript = "f5d6".parse().unwrap();
    for (dialect, kind, reason) in [
        ("gtp", "illegal", "illegal move: a1 turns no disc over"),
        ("gtp", "passing", "answered `genmove w` with `pass`"),
        ("gtp", "garbage", "answered `genmove w` with `\u{1b}[1mf5?`"),
        ("gtp", "failing", "answered `genmove w` with `cannot think`"),
        ("gtp", "dying", "the engine ended while asked `genmove w` (exit status: 3), saying `out of cheese`"),
        ("gtp", "stuck", "no answer to `genmove w` within 0.5 s"),
        ("gtp", "babbling", "no answer to `genmove w` within 0.5 s"),
        ("gtp", "endless", "no answer to `genmove w` within 0.5 s"),
        ("nboard", "illegal", "illegal move: a1 turns no disc over"),
        ("nboard", "garbage", "answered `go` with `?`"),
        ("nboard", "dying", "the engine ended while asked `go` (exit status: 0)"),
        ("nboard", "stuck", "no answer to `go` within 0.5 s"),
    ] {
        let per_move = if reason.starts_with("no answer") { 0.5 } else { 60.0 };
        let mut engine = rude(dialect, kind, per_move);
        for _ in 0..2 {
            let game = played(&mut engine_player(), &mut engine, &opening);
            let forfeit = game.forfeit.expect(kind);
            assert_eq!((forfeit.side, game.discs), (Side::White, 64), "{kind}");
            // A busy machine may need its half second for the answer before, too.
            let timed_out = matches!(forfeit.reason, ForfeitReason::Player(PlayerError::TimedOut { .. }));
            assert!(forfeit.reason.to_string() == reason || per_move < 1.0 && timed_out, "{kind}: {}", forfeit.reason);
        }
    }
}

#[test]
fn engines_that_do_not_start_are_an_error() {
    let start = |text: &str, limit: f64| {
        let limits = Limits { start: Duration::from_secs_f64(limit), ..limits(1.0) };
        ExternalPlayer::start(&text.parse().unwrap(), limits, &NEVER).map(|_| ()).unwrap_err().to_string()
    };
    let error = start("gtp:/no/such/engine --fast", 60.0);
    assert!(error.starts_with("could not start `/no/such/engine --fast`: No such file"), "{error}");
    let silent = spec("gtp", "silent").to_string();
    assert!(start(&silent, 0.2).ends_with("no answer to `name` within 0.2 s"));
    assert!(start(&silent.replacen("gtp", "nboard", 1), 0.2).ends_with("no answer to `ping 1` within 0.2 s"));
    let error = start("nboard:sh -c 'echo alas >&2; exit 7'", 60.0);
    assert!(error.contains("the engine ended while asked"), "{error}");
    for bad in ["", "gtp", "gtp:", "uci:x", "gtp:'unbalanced", "gtp:  "] {
        assert!(bad.parse::<ExternalSpec>().is_err(), "{bad}");
    }
}

#[test]
fn what_was_started_is_killed_with_all_it_started() {
    use rustix::process::{Pid, test_kill_process};
    let directory = tempfile::tempdir().unwrap();
    let note = directory.path().join("pid");
    let script =
        format!("sleep 3600 & echo $! > {}; while read line; do echo '= x'; echo pong 1; done", note.display());
    let player = ExternalPlayer::start(
        &format!("gtp:sh -c \"{}\"", script.replace('$', "\\$")).parse().unwrap(),
        limits(60.0),
        &NEVER,
    );
    let pid: i32 = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    assert!(test_kill_process(pid).is_ok());
    drop(player);
    // The grandchild is nobody's to wait for; whoever adopts it takes a moment, or leaves a zombie.
    let gone = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
        test_kill_process(pid).is_err() || state.contains(") Z ")
    };
    let begin = Instant::now();
    while !gone() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(gone());
}

#[test]
fn a_game_that_is_stopped_is_given_up_in_the_middle_of_a_thought() {
    let (mut stuck, stop) = (rude("gtp", "stuck", 3600.0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let stop = &stop;
        let game = scope.spawn(move || play_game(&mut stuck, &mut engine_player(), &Transcript::default(), stop));
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(game.join().unwrap(), Err(PlayerError::Stopped));
    });
}

#[test]
fn a_search_engine_thinks_within_its_limits() {
    let mut engine = SearchEngine::new(search_engine(STRENGTH), "x");
    let stop = AtomicBool::new(false);
    let start = Diagram::START;
    let think = |engine: &mut SearchEngine<'_, _>, depth, time| {
        engine.think(&start, &search::Limits { depth, time, stop: &stop })
    };
    assert_eq!(think(&mut engine, Some(5), None).depth, 5);
    assert_eq!(think(&mut engine, None, None).depth, STRENGTH.depth);
    // Four plies take no time to speak of.
    assert_eq!(think(&mut engine, None, Some(Duration::ZERO)).depth, 4);
    assert_eq!(think(&mut engine, Some(0), None).depth, 0);
    stop.store(true, Ordering::SeqCst);
    let analysis = engine.think(&start, &search::Limits { depth: Some(60), time: None, stop: &stop });
    assert_eq!(analysis.depth, 4);
    assert!(squares(start.position.moves()).any(|square| Some(square) == analysis.best));
}

#[test]
fn the_referee_hears_of_passes_over_gtp() {
    // An opponent that plays at random soon leaves somebody without a move; a wrong turn would be an illegal move.
    struct Random(ChaCha8Rng);
    impl Player for Random {
        fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
            let moves: Vec<_> = squares(diagram.position.moves()).collect();
            Ok(moves[self.0.random_range(0..moves.len())])
        }
    }
    let (mut gtp, mut nboard) = (rude("gtp", "gtp", 60.0), rude("nboard", "nboard", 60.0));
    let mut random = Random(ChaCha8Rng::seed_from_u64(8));
    let mut passes = 0;
    for _ in 0..12 {
        for game in [
            played(&mut random, &mut gtp, &Transcript::default()),
            played(&mut nboard, &mut random, &Transcript::default()),
        ] {
            assert_eq!(game.forfeit, None);
            let sides: Vec<_> =
                Transcript::from_moves(&game.moves).unwrap().steps().iter().map(|(diagram, _)| diagram.side).collect();
            passes += sides.windows(2).filter(|two| two[0] == two[1]).count();
        }
    }
    assert!(passes > 5, "{passes}");
}

/// Picks moves by a hash of the position; weak enough to run out of them now and then.
struct Scatterbrain;

impl Player for Scatterbrain {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let moves: Vec<_> = squares(diagram.position.moves()).collect();
        Ok(moves[(diagram.position.hash64() >> 32) as usize % moves.len()])
    }
}

/// How often a game passed just before a move of the second player's.
fn passes_before_second(game: &PlayedGame, second: Side) -> usize {
    let steps = Transcript::from_moves(&game.moves).unwrap().steps();
    steps.windows(2).filter(|two| two[0].0.side == second && two[1].0.side == second).count()
}

#[test]
fn an_engine_that_takes_the_game_at_its_word_is_told_of_every_pass() {
    let plan = Match { openings: select_openings(&xot_openings(), 200, 5), sprt: None, held: Vec::new() };
    let strict = || ExternalPlayer::start(&spec("nboard", "strict"), limits(60.0), &NEVER);
    let mut passes = 0;
    let report = plan.run(
        || Ok(Scatterbrain),
        strict,
        &NEVER,
        |event| {
            for (game, second) in event.pair.games.iter().zip([Side::White, Side::Black]) {
                assert_eq!(game.forfeit, None);
                let mut board = Board::start();
                for square in &game.moves {
                    if board.moves().is_empty() {
                        board.play("pa").unwrap();
                    }
                    board.play(&square.to_string()).unwrap();
                }
                assert!(board.is_over());
                assert_eq!(board.score(), game.discs);
                passes += passes_before_second(game, second);
            }
        },
    );
    assert_eq!(report.unwrap().tally.pair_count(), 200);
    assert!(passes > 60, "{passes}");
}

/// The other end of a server's conversation.
struct Conversation {
    to: PipeWriter,
    from: BufReader<PipeReader>,
}

impl Conversation {
    fn say(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    /// The move that `go` brings.
    fn go(&mut self) -> String {
        self.say("go");
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server has gone");
            if let Some(answer) = line.strip_prefix("=== ") {
                return answer.trim().split('/').next().unwrap().to_owned();
            }
        }
    }
}

/// Plays a game of the server, which has a colour, against random moves. Counts the passes that the server says.
fn referee_a_game(server: &mut Conversation, server_side: i8, by_moves: bool, random: &mut ChaCha8Rng) -> usize {
    const HEAD: &str = "(;GM[Othello]PB[a]PW[b]RE[?]TY[8]\
        BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]";
    let (mut board, mut text, mut said) = (Board::start(), HEAD.to_owned(), 0);
    server.say(&format!("set game {text};)"));
    while !board.is_over() {
        let moves = board.moves();
        let chosen = if board.side == server_side {
            if !by_moves {
                server.say(&format!("set game {text};)"));
            }
            let answer = server.go();
            said += usize::from(answer.eq_ignore_ascii_case("pa"));
            answer
        } else if moves.is_empty() {
            "PA".to_owned()
        } else {
            moves[random.random_range(0..moves.len())].clone()
        };
        text += &format!("{}[{chosen}]", if board.side == 1 { "B" } else { "W" });
        board.play(&chosen).unwrap();
        if by_moves {
            server.say(&format!("move {chosen}"));
        }
    }
    said
}

#[test]
fn the_nboard_server_says_its_own_passes_and_no_others() {
    let (input, to) = io::pipe().unwrap();
    let (from, output) = io::pipe().unwrap();
    let serve = move || nboard::serve(&mut Plain::default(), BufReader::new(input), output);
    let server = std::thread::spawn(serve);
    let mut conversation = Conversation { to, from: BufReader::new(from) };
    let (mut random, mut passes) = (ChaCha8Rng::seed_from_u64(4), 0);
    for pair in 0..200 {
        for server_side in [1, -1] {
            passes += referee_a_game(&mut conversation, server_side, pair % 2 == 0, &mut random);
        }
    }
    assert!(passes > 60, "{passes}");
    drop(conversation.to);
    server.join().unwrap().unwrap();
}

#[test]
fn the_nboard_server_waits_for_a_pass_to_be_said() {
    // A game that comes to a pass, cut off there.
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let moves = std::iter::repeat_with(|| Transcript::random(&mut random).steps()).find_map(|steps| {
        let pass = steps.windows(2).position(|two| two[0].0.side == two[1].0.side)?;
        Some(steps[..=pass].to_vec())
    });
    let moves: String = moves.unwrap().iter().map(|(_, square)| format!("move {square}\n")).collect();
    let answers = |more: &str| nboard_talk(&mut Plain::default(), format!("{moves}{more}\n").as_bytes());
    assert_eq!(answers("go"), ["=== PA"]);
    assert!(answers("move PA\ngo")[2].starts_with("=== ") && !answers("move PA\ngo")[2].starts_with("=== PA"));
    assert!(answers("hint 2")[1].starts_with("search PA") && !answers("move PA\nhint 2")[1].starts_with("search PA"));
}
