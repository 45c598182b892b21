//! An NBoard server: C. Welty, "NBoard Protocol", version 2.
//!
//! A second thread reads the input, so that `ping`, `quit` or a command that changes the position ends the thinking.
//!
//! Passes are explicit: after a move that leaves the other side without one, that side is to move until `move PA` comes or a game that
//! has the pass is set.

use std::cmp::Reverse;
use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use super::engine::Engine;
use super::line::{ServeError, printable};
use super::listener::{Hurry, Listener};
use crate::board::{Diagram, Square, is_pass, squares};
use crate::record::{Game, MoveNote, tree};
use crate::search::{Analysis, Limits};

/// Answers commands until `quit` or the end of the input. At the end of the input, the commands still waiting are answered with at most
/// a second of thinking each. Unknown commands are ignored, as the protocol demands; invalid ones are answered with a `status` line. After
/// a game or a move that cannot be read, no position is searched until a game is set.
///
/// # Errors
/// Errors of the reader or the writer.
pub fn serve(
    engine: &mut impl Engine,
    input: impl BufRead + Send + 'static,
    output: impl Write,
) -> Result<(), ServeError> {
    let listener = Listener::start(input, interrupts)?;
    let (depth, hurry) = (engine.strength().depth, listener.hurry());
    let mut session =
        Session { engine, output, game: Game::new(Diagram::START), is_lost: false, learned: false, depth, hurry };
    session.engine.new_game();
    while let Some(line) = listener.next() {
        let line = line?;
        let (command, argument) = split_word(line.trim());
        if command == "quit" {
            break;
        }
        session.answer(command, argument)?;
        session.output.flush()?;
    }
    Ok(())
}

/// The square, and the evaluation in discs if there is one, of what an engine says after `===`: `d6/1.00/0.0`, or with spaces as in
/// the protocol's own example.
pub fn parse_answer(text: &str) -> Option<(Square, Option<f32>)> {
    let mut fields = text.split(['/', ' ']).map(str::trim);
    let square = fields.next()?.parse().ok()?;
    Some((square, fields.next().and_then(|text| text.parse().ok()).filter(|value: &f32| value.is_finite())))
}

fn interrupts(line: &str) -> bool {
    let (command, argument) = split_word(line.trim());
    matches!(command, "ping" | "quit" | "move") || (command == "set" && split_word(argument).0 == "game")
}

fn limits(depth: u32, hurry: &Hurry) -> Limits<'_> {
    Limits { depth: Some(depth), stop: hurry.flag(), ..Limits::NONE }
}

/// The `search` line for a move, or the pass `PA`, that was searched.
fn search_line(pass: &str, analysis: &Analysis) -> String {
    let line: String = analysis.pv.iter().map(ToString::to_string).collect();
    let depth = if analysis.exact { "100%".to_owned() } else { analysis.depth.to_string() };
    format!("search {pass}{line} {:.2} 0 {depth}", analysis.score.discs())
}

/// About how many positions are visited for a move in the first round of hints, so that it answers at once: what takes longer to solve is
/// solved in the next round.
const FIRST_HINT_NODES: u64 = 100_000;

struct Session<'a, E: Engine, W: Write> {
    engine: &'a mut E,
    output: W,
    game: Game,
    /// Whether a game or a move could not be read, so that the other side is at a position that is not known here.
    is_lost: bool,
    /// Whether the engine was given the finished game.
    learned: bool,
    depth: u32,
    hurry: Arc<Hurry>,
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
            "move" | "hint" | "go" | "learn" | "analyze" if self.is_lost => self.complain(
                "the position is not known, as a game or a move before could not be read; expected `set game`",
            ),
            "move" => self.play(argument),
            "hint" => self.hint(argument),
            "go" => self.go(),
            "ping" => self.say(format!("pong {argument}").trim_end()),
            "learn" => {
                self.learn();
                self.say("learned")
            }
            "analyze" => self.analyze(),
            _ => Ok(()),
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.output, "{line}")?;
        self.output.flush()
    }

    fn complain(&mut self, text: &str) -> io::Result<()> {
        self.say(&format!("status error: {}", printable(text)))
    }

    fn set_depth(&mut self, text: &str) -> io::Result<()> {
        match text.parse() {
            Ok(depth @ 1..=60) => {
                self.depth = depth;
                Ok(())
            }
            _ => self.complain(&format!("`{text}` is not a depth; expected 1 to 60")),
        }
    }

    /// A game or a move that cannot be read.
    fn lose(&mut self, error: &str) -> io::Result<()> {
        self.is_lost = true;
        self.complain(error)
    }

    fn set_game(&mut self, text: &str) -> io::Result<()> {
        match tree::read(text.as_bytes()).next() {
            Some(Ok(game)) => {
                let played = |game: &Game| -> Vec<_> { game.moves().iter().map(|(to, _)| *to).collect() };
                let (before, now) = (played(&self.game), played(&game));
                // A player may also set the game with two new moves at once, the opponent's and its own.
                let goes_on = game.start() == self.game.start() && now.starts_with(&before);
                if !goes_on {
                    self.engine.new_game();
                }
                self.learned &= goes_on && now == before;
                self.game = game;
                self.is_lost = false;
                Ok(())
            }
            Some(Err(error)) => self.lose(&error.to_string()),
            None => self.lose("expected a game in GGF after `set game`"),
        }
    }

    fn play(&mut self, text: &str) -> io::Result<()> {
        let square = text.split('/').next().unwrap_or_default().trim();
        if is_pass(square) {
            if !self.game.pass_is_due() {
                return self.lose("no pass is due");
            }
            self.game.note_pass();
            return Ok(());
        }
        let played = match square.parse::<Square>() {
            Ok(square) => self.game.push(square, MoveNote::default()),
            Err(error) => Err(error.to_string()),
        };
        self.learn();
        played.or_else(|error| self.lose(&error))
    }

    /// Gives the game to the engine, once, when it is over.
    fn learn(&mut self) {
        let result = self.game.score_on_board().filter(|_| !self.learned && self.game.start() == Diagram::START);
        if let Some(result) = result {
            self.learned = true;
            self.engine.learn(&self.game.steps().collect::<Vec<_>>(), result.discs);
        }
    }

    fn go(&mut self) -> io::Result<()> {
        let diagram = self.game.last();
        if diagram.position.is_game_over() || self.game.pass_is_due() {
            return self.say("=== PA");
        }
        self.say(&format!("status {} is thinking", self.engine.name()))?;
        let begin = Instant::now();
        let analysis = self.engine.choose(&diagram, &limits(self.depth, &self.hurry));
        let seconds = begin.elapsed().as_secs_f64();
        self.say(&format!("nodestats {} {seconds:.2}", analysis.nodes))?;
        let square = analysis.best.map_or("PA".into(), |best| best.to_string());
        self.say(&format!("=== {square}/{:.2}/{seconds:.2}", analysis.score.discs()))?;
        self.say("status")
    }

    /// The best moves at increasing depths, each move searched on its own.
    fn hint(&mut self, count: &str) -> io::Result<()> {
        let count = count.parse().unwrap_or(1).max(1);
        let diagram = self.game.last();
        let moves: Vec<_> = squares(diagram.position.moves()).collect();
        if moves.is_empty() {
            return self.complain("the game is over");
        }
        let (begin, mut nodes) = (Instant::now(), 0);
        self.say(&format!("status {} is analyzing", self.engine.name()))?;
        if self.game.pass_is_due() {
            return self.hint_pass(&diagram.pass());
        }
        for depth in 1..=self.depth {
            let mut analyses = Vec::with_capacity(moves.len());
            for &square in &moves {
                if self.hurry.is_on() {
                    break;
                }
                let most = (depth == 1 && self.depth > 1).then_some(FIRST_HINT_NODES);
                // The move itself is a ply.
                let limits = Limits { nodes: most, ..limits(depth - 1, &self.hurry) };
                let after = diagram.try_play(square).expect("a legal move");
                let analysis = self.engine.think_of_any(&after, &limits).before(Some(square));
                nodes += analysis.nodes;
                analyses.push(analysis);
            }
            // After the first round, a depth only counts if all moves were searched to it.
            if analyses.len() < moves.len() || (depth > 1 && self.hurry.is_on()) {
                break;
            }
            analyses.sort_by_key(|analysis| Reverse(analysis.score));
            for analysis in analyses.iter().take(count) {
                self.say(&search_line("", analysis))?;
            }
            if analyses.iter().all(|analysis| analysis.exact) {
                break;
            }
        }
        self.say(&format!("nodestats {nodes} {:.2}", begin.elapsed().as_secs_f64()))?;
        self.say("status")
    }

    /// The only choice if the side to move has no move.
    fn hint_pass(&mut self, diagram: &Diagram) -> io::Result<()> {
        let analysis = self.engine.think_of_any(diagram, &limits(self.depth, &self.hurry));
        self.say(&search_line("PA", &analysis))?;
        self.say("status")
    }

    /// The value of each position of the game, last first, for the side to move; passes count as moves.
    fn analyze(&mut self) -> io::Result<()> {
        let mut positions = Vec::new();
        let mut side = self.game.start().side;
        let last = self.game.last();
        for diagram in self.game.steps().map(|(diagram, _)| diagram).chain([last]) {
            if diagram.side != side {
                positions.push(diagram.pass());
            }
            positions.push(diagram);
            side = diagram.side.other();
        }
        if self.game.pass_is_due() {
            // The game does not have it yet.
            positions.pop();
        }
        for (number, diagram) in positions.into_iter().enumerate().rev() {
            if self.hurry.is_on() {
                break;
            }
            let discs = self.engine.think_of_any(&diagram, &limits(self.depth, &self.hurry)).score.discs();
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
