//! An NBoard server: C. Welty, "NBoard Protocol", version 2.
//!
//! A second thread reads the input, so that a command that changes the position, and `ping` before it, ends the thinking.

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::engine::{Engine, Limit, Opinion};
use super::line::read_line;
use crate::board::{Diagram, Square, squares};
use crate::record::{Game, MoveNote, ggf};

/// Answers commands until `quit` or the end of the input. Commands it does not know are ignored, as the protocol demands;
/// others that make no sense are answered by a `status` line.
///
/// # Errors
/// What the reader or the writer reports.
pub fn serve(engine: &mut impl Engine, input: impl BufRead + Send + 'static, output: impl Write) -> io::Result<()> {
    let interruptions = Arc::new(Interruptions::default());
    let lines = read_ahead(input, Arc::clone(&interruptions));
    let depth = engine.default_depth();
    let mut session = Session { engine, output, game: Game::new(Diagram::START), depth, interruptions };
    session.engine.new_game();
    for line in lines {
        let line = line?;
        if interrupts(&line) {
            session.interruptions.taken();
        }
        let (command, argument) = split_word(line.trim());
        if command == "quit" {
            break;
        }
        session.answer(command, argument)?;
        session.output.flush()?;
    }
    Ok(())
}

/// The square and the evaluation in discs, if any, of what an engine says after `===`: `d6/1.00/0.0`; the protocol's own example
/// has spaces.
pub fn parse_answer(text: &str) -> Option<(Square, Option<f32>)> {
    let mut fields = text.split(['/', ' ']).map(str::trim);
    let square = fields.next()?.parse().ok()?;
    Some((square, fields.next().and_then(|text| text.parse().ok()).filter(|value: &f32| value.is_finite())))
}

/// Reads lines on a thread of their own, counting those that interrupt. It ends with the input, or at the first line that
/// nobody wants any more.
fn read_ahead(
    mut input: impl BufRead + Send + 'static,
    interruptions: Arc<Interruptions>,
) -> Receiver<io::Result<String>> {
    let (sender, receiver) = sync_channel(1024);
    thread::spawn(move || {
        while let Some(line) = read_line(&mut input).transpose() {
            let failed = line.is_err();
            if line.as_deref().is_ok_and(interrupts) {
                interruptions.arrived();
            }
            if sender.send(line).is_err() || failed {
                break;
            }
        }
    });
    receiver
}

fn interrupts(line: &str) -> bool {
    let (command, argument) = split_word(line.trim());
    matches!(command, "ping" | "quit" | "move") || (command == "set" && split_word(argument).0 == "game")
}

/// Counts lines that have arrived and must end the thinking, until they are answered.
#[derive(Default)]
struct Interruptions {
    waiting: Mutex<usize>,
    /// Whether any is waiting.
    stop: AtomicBool,
}

impl Interruptions {
    fn arrived(&self) {
        self.count(|waiting| waiting + 1);
    }

    fn taken(&self) {
        self.count(|waiting| waiting - 1);
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = change(*waiting);
        self.stop.store(*waiting > 0, Ordering::SeqCst);
    }
}

struct Session<'a, E: Engine, W: Write> {
    engine: &'a mut E,
    output: W,
    game: Game,
    depth: u32,
    interruptions: Arc<Interruptions>,
}

impl<E: Engine, W: Write> Session<'_, E, W> {
    fn answer(&mut self, command: &str, argument: &str) -> io::Result<()> {
        match command {
            "nboard" => {
                let name = self.engine.name().to_owned();
                self.say(&format!("set myname {name}"))
            }
            "set" => match split_word(argument) {
                ("game", text) => self.set_game(text),
                ("depth", text) => self.set_depth(text),
                _ => Ok(()),
            },
            "move" => self.play(argument),
            "hint" => self.hint(argument),
            "go" => self.go(),
            "ping" => self.say(format!("pong {argument}").trim_end()),
            "learn" => self.say("learned"),
            "analyze" => self.analyze(),
            _ => Ok(()),
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.output, "{line}")?;
        self.output.flush()
    }

    fn complain(&mut self, text: &str) -> io::Result<()> {
        // What is quoted came from a line, but perhaps with other control characters.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        self.say(&format!("status error: {text}"))
    }

    fn set_depth(&mut self, text: &str) -> io::Result<()> {
        match text.parse() {
            Ok(depth @ 1..=60) => {
                self.depth = depth;
                Ok(())
            }
            Ok(0) | Err(_) => self.complain(&format!("`{text}` is no depth; expected 1 to 60")),
            Ok(_) => {
                self.depth = 60;
                Ok(())
            }
        }
    }

    fn set_game(&mut self, text: &str) -> io::Result<()> {
        match ggf::read(text.as_bytes()).next() {
            Some(Ok(game)) => {
                self.game = game;
                self.engine.new_game();
                Ok(())
            }
            Some(Err(error)) => self.complain(&error.to_string()),
            None => self.complain("expected a game in GGF after `set game`"),
        }
    }

    fn play(&mut self, text: &str) -> io::Result<()> {
        let square = text.split('/').next().unwrap_or_default().trim();
        if ggf::is_pass(square) {
            // The game passes by itself.
            return Ok(());
        }
        let played = match square.parse::<Square>() {
            Ok(square) => self.game.push(square, MoveNote::default()).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        played.or_else(|error| self.complain(&error))
    }

    fn go(&mut self) -> io::Result<()> {
        let diagram = self.game.last();
        if diagram.position.is_game_over() {
            return self.say("=== PA");
        }
        self.say(&format!("status {} is thinking", self.engine.name()))?;
        let begin = Instant::now();
        let opinion = self.think(&diagram, self.depth);
        let seconds = begin.elapsed().as_secs_f64();
        self.say(&format!("nodestats {} {seconds:.2}", opinion.nodes))?;
        let square = opinion.line.first().map_or("PA".into(), ToString::to_string);
        self.say(&format!("=== {square}/{:.2}/{seconds:.2}", opinion.discs))?;
        self.say("status")
    }

    fn think(&mut self, diagram: &Diagram, depth: u32) -> Opinion {
        let interruptions = Arc::clone(&self.interruptions);
        let limit = Limit { depth: Some(depth), time: None, stop: &interruptions.stop };
        self.engine.think(diagram, &limit)
    }

    /// The best moves, deeper and deeper, each move searched on its own.
    fn hint(&mut self, count: &str) -> io::Result<()> {
        let count = count.parse().unwrap_or(1).max(1);
        let diagram = self.game.last();
        let moves: Vec<_> = squares(diagram.position.moves()).collect();
        if moves.is_empty() {
            return self.complain("the game is over");
        }
        let (begin, mut nodes) = (Instant::now(), 0);
        self.say(&format!("status {} is analyzing", self.engine.name()))?;
        for depth in 1..=self.depth {
            let mut opinions = Vec::with_capacity(moves.len());
            for &square in &moves {
                if self.interruptions.stop.load(Ordering::SeqCst) {
                    break;
                }
                let opinion = self.opinion_of(&diagram, square, depth);
                nodes += opinion.nodes;
                opinions.push(opinion);
            }
            if opinions.len() < moves.len() {
                break;
            }
            opinions.sort_by(|a, b| b.discs.total_cmp(&a.discs));
            for opinion in opinions.iter().take(count) {
                let line: String = opinion.line.iter().map(ToString::to_string).collect();
                self.say(&format!("search {line} {:.2} 0 {}", opinion.discs, opinion.depth))?;
            }
            if opinions.iter().all(|opinion| opinion.exact) {
                break;
            }
        }
        self.say(&format!("nodestats {nodes} {:.2}", begin.elapsed().as_secs_f64()))?;
        self.say("status")
    }

    /// What the engine thinks of a legal move.
    fn opinion_of(&mut self, diagram: &Diagram, square: Square, depth: u32) -> Opinion {
        let after = diagram.try_play(square).expect("a legal move");
        let mut opinion = self.opinion(&after, depth - 1);
        opinion.discs = -opinion.discs;
        opinion.depth += 1;
        opinion.line.insert(0, square);
        opinion
    }

    /// What the engine thinks of any position: after a pass where one is due, exact where the game is over.
    fn opinion(&mut self, diagram: &Diagram, depth: u32) -> Opinion {
        let position = diagram.position;
        if position.moves() != 0 {
            return self.think(diagram, depth);
        }
        if position.opponent_moves() == 0 {
            let discs = position.final_score() as f32;
            return Opinion { line: Vec::new(), discs, depth: 0, exact: true, nodes: 1 };
        }
        let mut opinion = self.think(&diagram.pass(), depth);
        opinion.discs = -opinion.discs;
        opinion
    }

    /// The value of each position of the game, last first, for the side to move; passes count as moves.
    fn analyze(&mut self) -> io::Result<()> {
        let start = self.game.start();
        let mut numbered = Vec::new();
        let (mut number, mut side) = (0, start.side);
        let last = self.game.last();
        for diagram in self.game.steps().map(|(diagram, _)| diagram).chain([last]) {
            number += usize::from(diagram.side != side);
            numbered.push((number, diagram));
            number += 1;
            side = diagram.side.other();
        }
        for (number, diagram) in numbered.into_iter().rev() {
            if self.interruptions.stop.load(Ordering::SeqCst) {
                break;
            }
            let discs = self.opinion(&diagram, self.depth).discs;
            self.say(&format!("analysis {number} {discs:.2}"))?;
        }
        self.say("status")
    }
}

/// The first word of a text, and the rest.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}
