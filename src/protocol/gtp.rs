//! A GTP server, as Othello programs speak it: G. Farnebäck, "Specification of the Go Text Protocol, version 2", 2002.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::line::{ServeError, printable};
use super::listener::{Hurry, Listener};
use crate::board::{Diagram, Side, Square, is_pass, picture};
use crate::record::{Game, tree};
use crate::search::Limits;

const COMMANDS: [&str; 20] = [
    "boardsize",
    "clear_board",
    "final_score",
    "genmove",
    "known_command",
    "komi",
    "list_commands",
    "list_games",
    "loadsgf",
    "name",
    "play",
    "protocol_version",
    "quit",
    "reg_genmove",
    "set_game",
    "showboard",
    "time_left",
    "time_settings",
    "undo",
    "version",
];

/// Empty squares from which most games are solved with a clock, so that later moves take hardly any time.
const SOLVED_EMPTIES: u32 = 20;

/// Limit in bytes of an SGF file.
const MAX_SGF: u64 = 1 << 20;

/// If a line is the first of an answer: whether the engine did what was asked, and its text. A command's number is left in the text.
pub fn parse_answer(line: &str) -> Option<(bool, &str)> {
    let line = line.trim();
    Some((line.starts_with('='), line.strip_prefix(['=', '?'])?.trim()))
}

/// Answers commands until `quit` or the end of the input. At the end of the input, the commands still waiting are answered with at most
/// a second of thinking each.
///
/// # Errors
/// Errors of the reader or the writer. Invalid input is answered with a GTP error.
pub fn serve(
    engine: &mut impl Engine,
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> Result<(), ServeError> {
    // Nothing interrupts: a referee that has sent several commands wants each of them answered in full.
    let listener = Listener::start(input, |_| false)?;
    let hurry = listener.hurry();
    let mut session =
        Session { engine, history: History::new(Diagram::START), learned: Vec::new(), clock: Clock::default(), hurry };
    session.engine.new_game();
    while let Some(line) = listener.next() {
        let line = printable(&line?);
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace().peekable();
        let id = words.next_if(|word| word.parse::<u64>().is_ok()).unwrap_or_default();
        let Some(command) = words.next() else { continue };
        let arguments: Vec<_> = words.collect();
        match session.answer(command, &arguments) {
            Ok(text) if text.is_empty() => write!(output, "={id}\n\n")?,
            Ok(text) => write!(output, "={id} {text}\n\n")?,
            Err(text) => write!(output, "?{id} {}\n\n", printable(&text))?,
        }
        output.flush()?;
        if command == "quit" {
            break;
        }
    }
    Ok(())
}

/// The text of an answer, or of a GTP error.
type Answer = Result<String, String>;

struct Session<'a, E: Engine> {
    engine: &'a mut E,
    history: History,
    /// The moves of the finished game that the engine was given last.
    learned: Vec<(Diagram, Square)>,
    clock: Clock,
    hurry: Arc<Hurry>,
}

/// The game so far.
struct History {
    start: Diagram,
    /// For each move the position it was made in, with the move (`None`: a pass), and the position after it.
    moves: Vec<((Diagram, Option<Square>), Diagram)>,
}

impl History {
    fn new(start: Diagram) -> Self {
        Self { start, moves: Vec::new() }
    }

    /// The first turns of a recorded game, at most `count`; passes count.
    fn of_game(game: &Game, count: usize) -> Self {
        let mut history = Self::new(game.start());
        for (side, played) in game.turns().take(count) {
            history.play(side, played.map(|(square, _)| square)).expect("a recorded game is legal");
        }
        history
    }

    fn now(&self) -> Diagram {
        self.moves.last().map_or(self.start, |(_, after)| *after)
    }

    /// The position with a side to move: after a pass if that was left out. `None` if it is the other side's turn.
    fn turn_of(&self, side: Side) -> Option<Diagram> {
        let now = self.now();
        match now.side == side {
            true => Some(now),
            false => (now.position.moves() == 0).then(|| now.pass()),
        }
    }

    /// Plays a move (`None` passes). Returns `None` if it is illegal.
    fn play(&mut self, side: Side, square: Option<Square>) -> Option<()> {
        let before = self.turn_of(side)?;
        let after = match square {
            Some(square) => before.try_play(square).ok()?,
            None => (before.position.moves() == 0).then(|| before.pass())?,
        };
        self.moves.push(((before, square), after));
        Some(())
    }

    /// The moves with the positions they were made in, without passes.
    fn steps(&self) -> Vec<(Diagram, Square)> {
        self.moves.iter().filter_map(|&((before, square), _)| Some((before, square?))).collect()
    }
}

impl<E: Engine> Session<'_, E> {
    fn answer(&mut self, command: &str, arguments: &[&str]) -> Answer {
        match (command, arguments) {
            ("protocol_version", _) => Ok("2".into()),
            ("name", _) => Ok(self.engine.name().into()),
            ("version", _) => Ok(self.engine.version().into()),
            ("list_commands", _) => Ok(COMMANDS.join("\n")),
            ("known_command", [name, ..]) => Ok(COMMANDS.contains(name).to_string()),
            ("list_games", _) => Ok("Othello".into()),
            ("set_game", [name, ..]) if name.eq_ignore_ascii_case("othello") => Ok(String::new()),
            ("set_game", [_, ..]) => Err("unsupported game".into()),
            ("boardsize", ["8", ..]) => Ok(String::new()),
            ("boardsize", [_, ..]) => Err("unacceptable size".into()),
            ("komi", [komi, ..]) => finite(komi).map(|_| String::new()),
            ("clear_board", _) => self.clear(),
            ("play", [colour, square, ..]) => self.play(parse_side(colour)?, parse_move(square)?),
            ("genmove", [colour, ..]) => self.generate(parse_side(colour)?, true),
            ("reg_genmove", [colour, ..]) => self.generate(parse_side(colour)?, false),
            ("undo", _) => self.undo(),
            ("time_settings", [main, period, stones, ..]) => self.clock.set(main, period, stones),
            ("time_left", [colour, seconds, stones, ..]) => self.clock.left(parse_side(colour)?, seconds, stones),
            ("loadsgf", [path, rest @ ..]) => self.load(path, rest.first().copied()),
            ("final_score", _) => final_score(&self.history.now()),
            ("showboard", _) => Ok(show(&self.history.now())),
            ("quit", _) => Ok(String::new()),
            _ if COMMANDS.contains(&command) => Err("syntax error".into()),
            _ => Err("unknown command".into()),
        }
    }

    fn clear(&mut self) -> Answer {
        self.history = History::new(Diagram::START);
        self.learned.clear();
        self.clock.reset();
        self.engine.new_game();
        Ok(String::new())
    }

    fn play(&mut self, side: Side, square: Option<Square>) -> Answer {
        self.history.play(side, square).ok_or("illegal move")?;
        self.learn();
        Ok(String::new())
    }

    /// Gives the game to the engine when it is over, and again only if moves were taken back and it ended differently.
    fn learn(&mut self) {
        let last = self.history.now();
        if !last.position.is_game_over() || self.history.start != Diagram::START {
            return;
        }
        let steps = self.history.steps();
        if steps != self.learned {
            self.engine.learn(&steps, last.final_score_for_black());
            self.learned = steps;
        }
    }

    fn undo(&mut self) -> Answer {
        self.history.moves.pop().ok_or("cannot undo")?;
        Ok(String::new())
    }

    fn generate(&mut self, side: Side, play: bool) -> Answer {
        let diagram = self.history.turn_of(side).ok_or("illegal move: it is the other side's turn")?;
        let begin = Instant::now();
        let best = if diagram.position.moves() == 0 {
            None
        } else {
            let time = if play { self.clock.allowance(side, diagram.position.empties()) } else { None };
            let limits = Limits { time, stop: self.hurry.flag(), ..Limits::NONE };
            self.engine.choose(&diagram, &limits).best
        };
        if play {
            self.clock.spend(side, begin.elapsed());
            self.play(side, best)?;
        }
        Ok(best.map_or("pass".into(), |square| square.to_string()))
    }

    fn load(&mut self, path: &str, stop_before: Option<&str>) -> Answer {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_SGF + 1).read_to_end(&mut text));
        let length = read.map_err(|error| format!("cannot load file: {error}"))?;
        if length as u64 > MAX_SGF {
            return Err(format!("cannot load file: it has more than {MAX_SGF} bytes"));
        }
        let before =
            stop_before.map_or(Ok(usize::MAX), |number| number.parse::<usize>().map_err(|_| "syntax error"))?;
        let game = tree::read(&text).next().ok_or("cannot load file: there is no game in it")?;
        let game = game.map_err(|error| format!("cannot load file: {error}"))?;
        self.clear()?;
        self.history = History::of_game(&game, before.saturating_sub(1));
        Ok(self.history.now().side.name().into())
    }
}

fn parse_side(text: &str) -> Result<Side, String> {
    text.parse().map_err(|_| "syntax error: expected a colour, b or w".into())
}

fn parse_move(text: &str) -> Result<Option<Square>, String> {
    if is_pass(text) {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| "illegal move".into())
}

fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or("syntax error: expected a number".into())
}

/// The board, X black, O white, and the side to move.
fn show(diagram: &Diagram) -> String {
    let cell = |square| diagram.disc(square).map_or("-".to_owned(), |side| side.to_string());
    format!("\n{}\n{} to move", picture(cell), diagram.side)
}

/// The result of a game that is over, as Go programs write it: `B+12`, `W+2`, or 0 for a draw. Empty squares count for the winner.
fn final_score(last: &Diagram) -> Answer {
    if !last.position.is_game_over() {
        return Err("cannot score: the game is not over".into());
    }
    Ok(match last.final_score_for_black() {
        0 => "0".into(),
        score if score > 0 => format!("B+{score}"),
        score => format!("W+{}", -score),
    })
}

/// Times as `time_settings` and `time_left` give them.
#[derive(Default)]
struct Clock {
    settings: Option<Budget>,
    left: [Option<Budget>; 2],
}

/// Time for a number of moves, or for the rest of the game if the number is 0.
#[derive(Clone, Copy)]
struct Budget {
    time: Duration,
    moves: u32,
    /// Time for each move once that for the rest of the game is used up.
    overtime: Duration,
}

impl Clock {
    fn set(&mut self, main: &str, period: &str, stones: &str) -> Answer {
        let (main, period, moves) = (seconds(main)?, seconds(period)?, whole(stones)?);
        // By the specification, a period without stones means no limit at all.
        let overtime = if moves == 0 { Duration::ZERO } else { period / moves };
        self.settings = match (main.is_zero(), moves) {
            (_, 0) if !period.is_zero() => None,
            (false, _) => Some(Budget { time: main, moves: 0, overtime }),
            (true, _) => Some(Budget { time: period, moves, overtime }),
        };
        self.reset();
        Ok(String::new())
    }

    fn left(&mut self, side: Side, time: &str, stones: &str) -> Answer {
        let overtime = self.settings.map_or(Duration::ZERO, |settings| settings.overtime);
        self.left[side as usize] = Some(Budget { time: seconds(time)?, moves: whole(stones)?, overtime });
        Ok(String::new())
    }

    fn reset(&mut self) {
        self.left = [self.settings; 2];
    }

    /// The time for the next move with `empties` empty squares, or `None` without a limit. Time for the whole game is spent mostly before
    /// [`SOLVED_EMPTIES`]: moves after the first solve need little.
    fn allowance(&self, side: Side, empties: u32) -> Option<Duration> {
        let Budget { time, moves, overtime } = self.left[side as usize]?;
        let (moves, overtime) = match moves {
            0 => (empties.saturating_sub(SOLVED_EMPTIES).div_ceil(2).max(2), overtime),
            moves => (moves, Duration::ZERO),
        };
        Some((time / moves).saturating_add(overtime).mul_f64(0.9))
    }

    /// Subtracts time from the game's. A referee that knows better sends `time_left`.
    fn spend(&mut self, side: Side, time: Duration) {
        if let Some(budget) = &mut self.left[side as usize]
            && budget.moves == 0
        {
            *budget = match budget.time.checked_sub(time) {
                None if !budget.overtime.is_zero() => Budget { time: budget.overtime, moves: 1, ..*budget },
                left => Budget { time: left.unwrap_or_default(), ..*budget },
            };
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = finite(text)?.max(0.0);
    Duration::try_from_secs_f64(seconds).map_err(|_| "syntax error: too much time".into())
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "syntax error: expected a whole number".into())
}
