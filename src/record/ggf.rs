//! GGF, the Generic Game Format of the GGS server: `(;GM[Othello]PB[a]PW[b]RE[+2.000]BO[8 -------- ... *]B[d3//0.01];)`.
//!
//! M. Buro and I. Durdanovic, "Generic Game Format". A move is `square/evaluation/seconds`, the last two optional. Only ordinary 8x8
//! games are read: other board sizes, anti games and fractional komi results are errors.

use std::io::{self, Write};

use super::game::{Finish, Game, GameResult, MoveNote};
use super::{Fault, Place, RecordError};
use crate::board::{Diagram, NotationError, Side, Square, excerpt};

/// The games of a text, with an error for each that cannot be read. Anything between games is skipped.
pub fn read(text: &[u8]) -> impl Iterator<Item = Result<Game, RecordError>> {
    GgfReader { text, at: 0 }
}

struct GgfReader<'a> {
    text: &'a [u8],
    at: usize,
}

impl GgfReader<'_> {
    fn game(&mut self) -> Result<Game, RecordError> {
        let mut builder = Builder::default();
        self.at += 2;
        loop {
            self.skip_blanks();
            let rest = &self.text[self.at..];
            if rest.starts_with(b";)") {
                self.at += 2;
                return Ok(builder.finish());
            }
            let start = self.at;
            let error = |fault| RecordError { place: Place::Byte(start), fault };
            if rest.is_empty() {
                return Err(error(Fault::Unterminated));
            }
            let name_length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            if name_length == 0 || rest.get(name_length) != Some(&b'[') {
                return Err(error(Fault::Property));
            }
            let value_start = name_length + 1;
            let Some(length) = rest[value_start..].iter().position(|&byte| byte == b']') else {
                // No game can follow; looking for one would only lead here again and again.
                self.at = self.text.len();
                return Err(error(Fault::Unterminated));
            };
            let name = String::from_utf8_lossy(&rest[..name_length]).to_ascii_uppercase();
            let value = String::from_utf8_lossy(&rest[value_start..value_start + length]);
            self.at += value_start + length + 1;
            builder.property(&name, value.trim()).map_err(error)?;
        }
    }

    fn skip_blanks(&mut self) {
        self.at += self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }
}

impl Iterator for GgfReader<'_> {
    type Item = Result<Game, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.text[self.at..].windows(2).position(|two| two == b"(;");
        self.at += found?;
        Some(self.game())
    }
}

/// A game being read: properties may come in any order, except that the board must come before the moves.
struct Builder {
    game: Game,
    result: Option<GameResult>,
}

impl Default for Builder {
    fn default() -> Self {
        Self { game: Game::new(Diagram::START), result: None }
    }
}

impl Builder {
    fn property(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        let fault = |expected| value_fault(name, value, expected);
        let text = || (!value.is_empty()).then(|| value.to_owned());
        match name {
            "GM" if !value.eq_ignore_ascii_case("othello") => return Err(fault("expected a game of Othello")),
            "TY" if value.contains(['a', 'A']) => return Err(fault("games for the fewest discs are not supported")),
            "PB" => self.game.black = value.to_owned(),
            "PW" => self.game.white = value.to_owned(),
            "PC" => self.game.place = text(),
            "DT" => self.game.date = text(),
            "TI" => self.game.clock = text(),
            "RE" => self.result = parse_result(value).map_err(fault)?,
            "BO" if !self.game.moves().is_empty() => return Err(fault("the board must come before the moves")),
            "BO" => self.game.restart(parse_board(value).map_err(fault)?),
            "B" => self.play(Side::Black, value)?,
            "W" => self.play(Side::White, value)?,
            _ => {}
        }
        Ok(())
    }

    fn play(&mut self, side: Side, value: &str) -> Result<(), Fault> {
        let mut fields = value.split('/').map(str::trim);
        let square = fields.next().unwrap_or_default();
        let mut number =
            || fields.next().and_then(|field| field.parse().ok()).filter(|number: &f32| number.is_finite());
        let note = MoveNote { evaluation: number(), seconds: number() };
        let Diagram { position, side: to_move } = self.game.last();
        let fault = |expected| value_fault(colour_letter(side), value, expected);
        if is_pass(square) {
            // A `Game` passes on its own: only check that the pass was due.
            let moves = if side == to_move { position.moves() } else { position.opponent_moves() };
            if moves != 0 {
                return Err(fault("a pass is only allowed without a legal move"));
            }
            self.game.note_pass();
            return Ok(());
        }
        if side != to_move {
            return Err(fault("it is the other side's turn"));
        }
        let square: Square = square.parse().map_err(NotationError::from)?;
        Ok(self.game.push(square, note)?)
    }

    fn finish(mut self) -> Game {
        self.game.result = self.result.or_else(|| self.game.score_on_board());
        self.game
    }
}

fn value_fault(property: &str, value: &str, expected: &'static str) -> Fault {
    Fault::Value { property: property.to_owned(), value: excerpt(value), expected }
}

fn colour_letter(side: Side) -> &'static str {
    match side {
        Side::Black => "B",
        Side::White => "W",
    }
}

fn parse_result(value: &str) -> Result<Option<GameResult>, &'static str> {
    const EXPECTED: &str = "expected a whole number of discs from -64 to 64, perhaps with :r, :t or :s";
    if value.is_empty() || value == "?" {
        return Ok(None);
    }
    let (number, flag) = value.split_once(':').unwrap_or((value, ""));
    let discs: f32 = number.trim().parse().map_err(|_| EXPECTED)?;
    let finish = match flag.trim() {
        "" => Finish::Played,
        "r" => Finish::Resigned,
        "t" => Finish::Forfeited,
        "s" => Finish::Agreed,
        _ => return Err(EXPECTED),
    };
    if discs.fract() != 0.0 || !(-64.0..=64.0).contains(&discs) {
        return Err(EXPECTED);
    }
    Ok(Some(GameResult { discs: discs as i32, finish }))
}

fn parse_board(value: &str) -> Result<Diagram, &'static str> {
    const EXPECTED: &str = "expected `8`, 64 squares of - * O, and the side to move, * or O";
    let mut words = value.split_ascii_whitespace();
    if words.next() != Some("8") {
        return Err("only boards of size 8 are supported");
    }
    let (mut black, mut white, mut count) = (0u64, 0u64, 0u32);
    let mut side = None;
    for cell in words.flat_map(str::chars) {
        let bit = 1u64.checked_shl(count).unwrap_or(0);
        match (cell, count) {
            ('*', 64) => side = Some(Side::Black),
            ('O', 64) => side = Some(Side::White),
            ('*', 0..64) => black |= bit,
            ('O', 0..64) => white |= bit,
            ('-', 0..64) => {}
            _ => return Err(EXPECTED),
        }
        count += 1;
    }
    side.and_then(|side| Diagram::from_black_and_white(black, white, side)).ok_or(EXPECTED)
}

/// Whether a text stands for a pass in place of a square: `PA` in GGF, other forms elsewhere.
pub fn is_pass(text: &str) -> bool {
    ["pa", "pass", "--", "ps"].iter().any(|pass| text.eq_ignore_ascii_case(pass))
}

/// A text as it can be read back from a property's value: characters that would end the value early become spaces.
fn clean(text: &str) -> String {
    text.replace(|c: char| c == '[' || c == ']' || c.is_control(), " ").trim().to_owned()
}

/// Writes a game on one line.
///
/// In names and the like, brackets and control characters become spaces, as the format cannot quote. Evaluations and times have two decimals.
///
/// # Errors
/// Errors of the writer.
pub fn write(out: &mut impl Write, game: &Game) -> io::Result<()> {
    write!(out, "(;GM[Othello]PC[{}]", clean(game.place.as_deref().unwrap_or_default()))?;
    if let Some(date) = &game.date {
        write!(out, "DT[{}]", clean(date))?;
    }
    write!(out, "PB[{}]PW[{}]", clean(&game.black), clean(&game.white))?;
    match game.result {
        None => write!(out, "RE[?]")?,
        Some(GameResult { discs, finish }) => {
            let flag = match finish {
                Finish::Played => "",
                Finish::Resigned => ":r",
                Finish::Forfeited => ":t",
                Finish::Agreed => ":s",
            };
            write!(out, "RE[{discs:+}.000{flag}]")?;
        }
    }
    if let Some(clock) = &game.clock {
        write!(out, "TI[{}]", clean(clock))?;
    }
    let mut board = Vec::with_capacity(72);
    for square in Square::all() {
        if square.index() % 8 == 0 {
            board.push(b' ');
        }
        board.push(match game.start().disc(square) {
            Some(Side::Black) => b'*',
            Some(Side::White) => b'O',
            None => b'-',
        });
    }
    write!(out, "TY[8]BO[8")?;
    out.write_all(&board)?;
    let mut side = game.start().side;
    write!(out, " {}]", if side == Side::Black { '*' } else { 'O' })?;
    for ((diagram, square), (_, note)) in game.steps().zip(game.moves()) {
        if diagram.side != side {
            write!(out, "{}[PA]", colour_letter(side))?;
        }
        write!(out, "{}[{square}", colour_letter(diagram.side))?;
        write_note(out, note)?;
        write!(out, "]")?;
        side = diagram.side.other();
    }
    if game.last().side != side && !game.pass_is_due() {
        write!(out, "{}[PA]", colour_letter(side))?;
    }
    writeln!(out, ";)")
}

fn write_note(out: &mut impl Write, note: &MoveNote) -> io::Result<()> {
    let number = |number: Option<f32>| number.map(|n| format!("{n:.2}")).unwrap_or_default();
    match (note.evaluation, note.seconds) {
        (None, None) => Ok(()),
        (evaluation, None) => write!(out, "/{}", number(evaluation)),
        (evaluation, seconds) => write!(out, "/{}/{}", number(evaluation), number(seconds)),
    }
}
