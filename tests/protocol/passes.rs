//! Passes, which each protocol expresses in its own way.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use flipside::arena::{Match, PlayedGame, Player, PlayerError, select_openings, xot_openings};
use flipside::board::{Diagram, Side, Square, Transcript, squares};
use flipside::protocol::nboard;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::clients::{AN_HOUR, limits, rude, spec};
use crate::naive_rules::Board;
use crate::support::*;

#[test]
fn the_referee_hears_of_passes_over_gtp() {
    // A random opponent soon leaves somebody without a move; a wrong turn would be an illegal move.
    struct Random(ChaCha8Rng);
    impl Player for Random {
        fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
            let moves: Vec<_> = squares(diagram.position.moves()).collect();
            Ok(moves[self.0.random_range(0..moves.len())])
        }
    }
    let (mut gtp, mut nboard) = (rude("gtp", "gtp", AN_HOUR), rude("nboard", "nboard", AN_HOUR));
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

/// Picks moves by a hash of the position: weak enough to run out of moves now and then.
struct Scatterbrain;

impl Player for Scatterbrain {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let moves: Vec<_> = squares(diagram.position.moves()).collect();
        Ok(moves[(diagram.position.hash64() >> 32) as usize % moves.len()])
    }
}

/// How often a game has a pass just before a move of the second player.
fn passes_before_second(game: &PlayedGame, second: Side) -> usize {
    let steps = Transcript::from_moves(&game.moves).unwrap().steps();
    steps.windows(2).filter(|two| two[0].0.side == second && two[1].0.side == second).count()
}

#[test]
fn an_engine_that_relies_on_explicit_passes_gets_every_pass() {
    let plan = Match { openings: select_openings(&xot_openings(), 200, 5), sprt: None, held: Vec::new() };
    let strict = || spec("nboard", "strict").start(limits(AN_HOUR), &NEVER);
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
            ControlFlow::Continue(())
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

    /// The move that `go` gives.
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

/// Plays a game of the server, which has a colour, against random moves. Counts the server's passes.
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
fn the_nboard_server_only_sends_its_own_passes() {
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
fn the_nboard_server_waits_for_an_explicit_pass() {
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
    // Before the pass the game has one position less to analyse, and the pass is the last.
    let [before, after] = ["analyze", "move PA\nanalyze"].map(|more| answers(more).len());
    assert_eq!(before + 1, after);
    let number = |answer: &str| answer.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    assert_eq!(
        [&answers("analyze")[0], &answers("move PA\nanalyze")[0]].map(|line| number(line)),
        [before - 2, after - 2]
    );
    assert!(answers("hint 2")[1].starts_with("search PA") && !answers("move PA\nhint 2")[1].starts_with("search PA"));
}
