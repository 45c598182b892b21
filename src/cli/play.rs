//! `flipside play`.

use std::cmp::Reverse;
use std::io::{self, BufRead, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use clap::{Args, ValueEnum};
use console::style;

use super::error::CliError;
use super::evaluator::AnyEvaluator;
use super::input::parse_move_seconds;
use super::player::EngineArguments;
use super::session::Session;
use super::with_book::{WithBook, WithBookArguments};
use flipside::board::{Diagram, Side, Square, is_pass, picture, squares};
use flipside::protocol::read_line;
use flipside::record::{Game, MoveNote};
use flipside::search::{Analysis, Engine, Limits};
use flipside::text::plies;

/// Play against the weights in the terminal
///
/// The board shows black as X, white as O, and your legal moves as `*`. Type a move such as f5, or `help` for the other commands. End
/// of input ends the game. The last line is the game's transcript, without passes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside play --colour white --depth 8 --exact-empties 16")]
pub struct PlayArguments {
    #[command(flatten)]
    engine: EngineArguments,

    #[command(flatten)]
    book: WithBookArguments,

    /// Your colour; black moves first
    #[arg(long, alias = "color", value_enum, default_value = "black")]
    colour: Colour,

    /// Approximate seconds to think per move, such as 1.5 or 50ms, instead of a fixed --depth
    #[arg(long, value_name = "SECONDS", conflicts_with = "depth", value_parser = parse_move_seconds)]
    time: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Colour {
    Black,
    White,
}

impl PlayArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let loaded = self.engine.load()?;
        let book = self.book.load(&loaded, self.engine.strength(), session)?;
        let human = if self.colour == Colour::Black { Side::Black } else { Side::White };
        let engine = self.engine.engine(&loaded.evaluator, session)?;
        let game = Game::new(Diagram::START);
        HumanGame { engine, book, game, human, time: self.time, must_pass: false, out }.run(&mut io::stdin().lock())
    }
}

const HELP: &str =
    "f5: play there; pass: if you have no move; hint [N]: the best N moves (3); undo: take back your last move; quit";

/// A game between a human and the engine, being played.
struct HumanGame<'a, 'e> {
    engine: Engine<'e, AnyEvaluator>,
    book: Option<WithBook>,
    game: Game,
    human: Side,
    time: Option<Duration>,
    /// Whether the human has no move and has not said `pass` yet.
    must_pass: bool,
    out: &'a mut dyn Write,
}

impl HumanGame<'_, '_> {
    /// Plays until the game or the input ends, or the human quits.
    fn run(&mut self, input: &mut impl BufRead) -> Result<(), CliError> {
        while !self.now().position.is_game_over() {
            if self.now().side == self.human || self.must_pass {
                self.draw()?;
                let before = self.game.moves().len();
                if self.ask(input)?.is_break() {
                    break;
                }
                let now = self.now();
                if self.game.moves().len() > before && now.side == self.human && !now.position.is_game_over() {
                    let other = self.human.other();
                    writeln!(self.out, "{} ({other}) has no legal move and passes.", other.name())?;
                }
            } else {
                self.reply()?;
            }
        }
        self.finish()
    }

    /// The position; a side without a move has passed.
    fn now(&self) -> Diagram {
        self.game.last()
    }

    fn draw(&mut self) -> Result<(), CliError> {
        let now = self.now();
        let moves = if now.side == self.human { now.position.moves() } else { 0 };
        let last = self.game.moves().last().map(|&(square, _)| square);
        let cell = |square: Square| match now.disc(square) {
            Some(side) => {
                let disc = style(side).bold();
                let disc = if side == Side::Black { disc.cyan() } else { disc.yellow() };
                (if last == Some(square) { disc.underlined() } else { disc }).to_string()
            }
            None if moves & square.bit() != 0 => style("*").green().to_string(),
            None => style("-").dim().to_string(),
        };
        let (black, white) = now.black_and_white();
        let (black, white) = (black.count_ones(), white.count_ones());
        Ok(writeln!(self.out, "\n{}\nblack (X) {black}, white (O) {white}", picture(cell))?)
    }

    /// Takes commands until one changes the position.
    fn ask(&mut self, input: &mut impl BufRead) -> Result<ControlFlow<()>, CliError> {
        if self.must_pass {
            writeln!(self.out, "You have no legal move: type pass.")?;
        }
        loop {
            write!(self.out, "{} ({})> ", self.human.name(), self.human)?;
            self.out.flush()?;
            let Some(line) = read_line(input)? else {
                writeln!(self.out)?;
                return Ok(ControlFlow::Break(()));
            };
            let line = line.trim().to_ascii_lowercase();
            let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
            let done = match (command, argument.trim()) {
                ("quit" | "exit" | "q", "") => {
                    // On a terminal the line that was typed ends the prompt's.
                    if !io::stdin().is_terminal() {
                        writeln!(self.out)?;
                    }
                    return Ok(ControlFlow::Break(()));
                }
                ("help" | "?", "") => Err(HELP.to_owned()),
                ("undo", "") => self.undo(),
                (pass, "") if is_pass(pass) => self.pass(),
                ("hint", count) => {
                    self.hint(count)?;
                    continue;
                }
                ("", _) => continue,
                _ => self.play(&line),
            };
            match done {
                Ok(()) => return Ok(ControlFlow::Continue(())),
                Err(text) => writeln!(self.out, "{text}")?,
            }
        }
    }

    fn play(&mut self, text: &str) -> Result<(), String> {
        let square: Square = text.parse().map_err(|_| format!("`{text}` is not a move or command. {HELP}"))?;
        if self.must_pass {
            return Err("You have no legal move: type pass.".to_owned());
        }
        let now = self.now();
        if let Err(reason) = now.try_play(square) {
            let legal: Vec<_> = squares(now.position.moves()).map(|square| square.to_string()).collect();
            return Err(format!("{reason}; legal moves: {}", legal.join(" ")));
        }
        self.game.push(square, MoveNote::default())
    }

    fn pass(&mut self) -> Result<(), String> {
        if !self.must_pass {
            return Err("You may pass only if you have no legal move.".to_owned());
        }
        self.must_pass = false;
        Ok(())
    }

    /// Back to before the human's last move.
    fn undo(&mut self) -> Result<(), String> {
        let own = self.game.steps().filter(|(diagram, _)| diagram.side == self.human).count();
        if own == 0 {
            return Err("You have made no move to take back.".to_owned());
        }
        self.must_pass = false;
        while self.game.steps().filter(|(diagram, _)| diagram.side == self.human).count() == own {
            self.game.pop();
        }
        Ok(())
    }

    /// The best moves, each searched on its own.
    fn hint(&mut self, count: &str) -> Result<(), CliError> {
        let Ok(count) = (if count.is_empty() { Ok(3) } else { count.parse::<usize>() }) else {
            return Ok(writeln!(self.out, "`{count}` is not a number of moves: expected hint or hint 3.")?);
        };
        if self.must_pass {
            return Ok(writeln!(self.out, "You have no legal move: type pass.")?);
        }
        let position = self.now().position;
        let time = self.time.map(|time| time / position.moves().count_ones());
        let limits = Limits { time, ..Limits::NONE };
        let mut analyses: Vec<Analysis> =
            squares(position.moves()).map(|square| self.engine.analyse_move(&position, square, &limits)).collect();
        analyses.sort_by_key(|analysis| Reverse(analysis.score));
        for analysis in analyses.iter().take(count) {
            let line: Vec<_> = analysis.pv.iter().map(ToString::to_string).collect();
            writeln!(self.out, "{}: {}", line[0], estimate(analysis, &line[1..].join(" ")))?;
        }
        Ok(())
    }

    /// The engine's move.
    fn reply(&mut self) -> Result<(), CliError> {
        let now = self.now();
        let known = self.book.as_ref().and_then(|book| book.choose(&now));
        let from_book = known.is_some();
        let limits = Limits { time: self.time, ..Limits::NONE };
        let analysis = known.unwrap_or_else(|| self.engine.choose_within(&now.position, &limits));
        let square = analysis.best.expect("an engine asked to look ahead finds a move");
        self.game.push(square, MoveNote::default()).expect("the engine plays legal moves");
        let side = now.side.name();
        let (source, value) = if from_book {
            (" from the book", format!("{} discs", analysis.score))
        } else {
            ("", estimate(&analysis, ""))
        };
        writeln!(self.out, "{side} ({}) plays {square}{source}: {value}", now.side)?;
        self.must_pass = self.now().side == now.side && !self.now().position.is_game_over();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), CliError> {
        let mut learned = Ok(());
        if let Some(result) = self.game.score_on_board() {
            self.draw()?;
            let own = self.human.sign() * result.discs;
            let verdict = match own {
                0 => "a draw".to_owned(),
                1.. => format!("you win by {own}"),
                _ => format!("you lose by {}", -own),
            };
            writeln!(self.out, "Game over: {verdict}.")?;
            self.out.flush()?;
            if let Some(book) = &self.book {
                learned = book.learn(&self.game.steps().collect::<Vec<_>>(), result.discs);
            }
        }
        let transcript = self.game.transcript().expect("the game began at the start position");
        if !transcript.moves().is_empty() {
            writeln!(self.out, "{transcript}")?;
        }
        self.out.flush()?;
        // Whatever happens to the book, the game is not lost.
        learned
    }
}

/// The value for the side to move, how it was found, and the expected line.
fn estimate(analysis: &Analysis, line: &str) -> String {
    let how = if analysis.exact { "exact".to_owned() } else { plies(analysis.depth) };
    let line = if line.is_empty() { String::new() } else { format!(", then {line}") };
    format!("{} discs, {how}{line}", analysis.score)
}
