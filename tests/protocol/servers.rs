//! Both servers: what ends the thinking, broken lines, and rubbish.

use std::io::{self, BufReader, Cursor, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use flipside::board::Diagram;
use flipside::eval::Score;
use flipside::protocol::{Engine, ServeError, gtp, nboard};
use flipside::search::{self, Analysis, Strength};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::*;

/// Thinks until it is stopped.
struct Thinker(AtomicBool);
impl Engine for Thinker {
    fn strength(&self) -> Strength {
        Strength::new(60, 0)
    }

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

/// Gives one command, then nothing; accepts no answer.
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
fn servers_report_which_side_of_the_connection_failed() {
    let broken = || BufReader::new(Broken(b"name\nping 1\n"));
    let engine = &mut Plain::default();
    assert!(matches!(gtp::serve(engine, broken(), Vec::new()), Err(ServeError::Input(_))));
    assert!(matches!(nboard::serve(engine, broken(), Vec::new()), Err(ServeError::Input(_))));
    assert!(matches!(gtp::serve(engine, &b"name\n"[..], Broken(b"")), Err(ServeError::Output(_))));
    assert!(matches!(nboard::serve(engine, &b"ping 1\n"[..], Broken(b"")), Err(ServeError::Output(_))));
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
    // An endless line neither fills the memory nor ends the conversation.
    let mut endless = vec![b'x'; 1 << 20];
    endless.extend(b"\nname\n");
    assert_eq!(gtp_talk(&endless), "? unknown command\n\n= plain\n\n");
}
