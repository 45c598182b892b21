//! Reading GGF and SGF: games as properties in brackets.
//!
//! GGF is the Generic Game Format of the GGS server (M. Buro and I. Durdanovic), `(;GM[Othello]PB[a]BO[8 -------- ... *]B[d3//0.01];)`, in
//! which a move is `square/evaluation/seconds`. SGF (`GM[2]`) writes `(;FF[4]GM[2]PB[a];B[d3];W[c3])`, with set-up stones, variations and
//! escapes. Both are read by the same rules here: what is usual in one is allowed in the other.

use super::RecordError;
use super::game::{Game, MoveNote};
use super::result::{Finish, GameResult};
use crate::board::{Diagram, Side, Square, excerpt, is_pass, start_of};

/// The games of a text: the first line of play of each, with an error for each that cannot be read. Anything between games is skipped. If a
/// game is cut off, the next begins where its `(;GM[` or `(;FF[` does.
pub fn read(text: &[u8]) -> impl Iterator<Item = Result<Game, RecordError>> + Send {
    TreeReader { text, at: 0, counted: 0, line: 1, is_lost: false }
}

struct TreeReader<'a> {
    text: &'a [u8],
    at: usize,
    /// Line ends are counted up to here.
    counted: usize,
    /// The line of that place, from 1.
    line: usize,
    /// After something that is no property, only a game's head shows where the next begins.
    is_lost: bool,
}

const CUT_OFF: &str = "the game does not end: expected `;)` in GGF or `)` in SGF";

impl TreeReader<'_> {
    fn game(&mut self) -> Result<Game, RecordError> {
        let mut builder = Builder::default();
        let (mut depth, mut is_main_line, mut wrong) = (1, true, None);
        let mut name = String::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            let rest = &self.text[start..];
            match rest.first() {
                None => return Err(self.error(start, CUT_OFF)),
                Some(b'(') if builder.is_ggf || begins_game(rest) => return Err(self.lose(start, CUT_OFF)),
                Some(b'(') => depth += 1,
                Some(b')') if depth == 1 => {
                    self.at += 1;
                    let game = builder.finish().map_err(|reason| self.error(start, reason));
                    return wrong.map_or(game, Err);
                }
                Some(b')') => (depth, is_main_line) = (depth - 1, false),
                Some(b';') => builder.nodes += 1,
                // Further values of a property follow directly.
                Some(b'[') if !name.is_empty() => {
                    self.at += 1;
                    let value = self.value(!builder.is_ggf).map_err(|()| self.lose(start, CUT_OFF))?;
                    if is_main_line && wrong.is_none() {
                        let property = builder.property(&name, value.trim());
                        wrong = property.err().map(|reason| self.error(start, reason));
                    }
                    continue;
                }
                Some(_) => {
                    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                    self.at += length;
                    self.skip_blanks();
                    if length == 0 || self.text.get(self.at) != Some(&b'[') {
                        return Err(self.lose(start, "expected a property such as `PB[name]`"));
                    }
                    name = property_name(&rest[..length]);
                    continue;
                }
            }
            self.at += 1;
            name.clear();
        }
    }

    /// Reads a value up to its bracket. An error if it does not end within the game.
    fn value(&mut self, has_escapes: bool) -> Result<String, ()> {
        let mut value = Vec::new();
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b']' => {
                    self.at += 1;
                    return Ok(text_of(value));
                }
                b'(' if begins_game(&self.text[self.at..]) => return Err(()),
                b'\\' if has_escapes => {
                    self.at += 1;
                    value.extend(self.text.get(self.at).filter(|&&byte| byte != b'\n'));
                }
                _ => value.push(byte),
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        Err(())
    }

    fn skip_blanks(&mut self) {
        self.at += blanks(&self.text[self.at..]);
    }

    /// An error after which only the next game's head can be trusted.
    fn lose(&mut self, at: usize, reason: &str) -> RecordError {
        self.is_lost = true;
        self.error(at, reason)
    }

    /// An error at an offset, none of which is before that of an earlier error.
    fn error(&mut self, at: usize, reason: impl std::fmt::Display) -> RecordError {
        self.line += self.text[self.counted.min(at)..at].iter().filter(|&&byte| byte == b'\n').count();
        self.counted = self.counted.max(at);
        RecordError::on_line(self.line, reason)
    }
}

impl Iterator for TreeReader<'_> {
    type Item = Result<Game, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = &self.text[self.at..];
            let start = rest.iter().position(|&byte| byte == b'(')?;
            self.at += start;
            let rest = &rest[start + 1..];
            if if self.is_lost { begins_game(&self.text[self.at..]) } else { rest[blanks(rest)..].starts_with(b";") } {
                self.is_lost = false;
                self.at += 1;
                return Some(self.game());
            }
            self.at += 1;
        }
    }
}

/// A value as text: UTF-8, or else Latin-1, which older files are in.
fn text_of(value: Vec<u8>) -> String {
    String::from_utf8(value).unwrap_or_else(|error| error.as_bytes().iter().map(|&byte| char::from(byte)).collect())
}

fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Whether a game's head is here: `(;GM[` or `(;FF[`.
fn begins_game(text: &[u8]) -> bool {
    let mut rest = text;
    for expected in [&b"("[..], b";", b"gmff", b"["] {
        let length = if expected.len() > 1 { 2 } else { 1 };
        rest = &rest[blanks(rest)..];
        let Some((found, after)) = rest.split_at_checked(length) else { return false };
        if !expected.chunks(length).any(|expected| found.eq_ignore_ascii_case(expected)) {
            return false;
        }
        rest = after;
    }
    true
}

/// A property's name in capital letters. Old SGF has small letters among them that do not count, `White` for `W`.
fn property_name(letters: &[u8]) -> String {
    let capitals: String =
        letters.iter().filter(|byte| byte.is_ascii_uppercase()).map(|&byte| char::from(byte)).collect();
    if capitals.is_empty() { String::from_utf8_lossy(letters).to_ascii_uppercase() } else { capitals }
}

/// The squares in the middle, which every game has discs on.
pub(super) const CENTRE: u64 = 0x0000_0018_1800_0000;

/// A game being read: properties may come in any order, except that the board must come before the moves.
struct Builder {
    game: Game,
    is_ggf: bool,
    /// Nodes begun.
    nodes: usize,
    /// Whether it has a `BO`.
    has_board: bool,
    /// Set-up stones of black and of white, and squares that are set up to be empty.
    set_up: [u64; 3],
    /// The side that is said to move first.
    turn: Option<Side>,
    /// `None` if it is not a number.
    komi: Option<f64>,
    result: String,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            game: Game::new(Diagram::START),
            is_ggf: false,
            nodes: 0,
            has_board: false,
            set_up: [0; 3],
            turn: None,
            komi: Some(0.0),
            result: String::new(),
        }
    }
}

impl Builder {
    fn property(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |expected: &str| Err(format!("{name}[{}]: {expected}", excerpt(value)));
        let done = match name {
            "GM" => {
                self.is_ggf = value.eq_ignore_ascii_case("othello");
                if self.is_ggf || value == "2" {
                    Ok(())
                } else {
                    Err("expected a game of Othello: Othello in GGF, 2 in SGF")
                }
            }
            "SZ" if !matches!(value, "8" | "8:8") => Err("expected a board of size 8"),
            "TY" if value.contains(['a', 'A']) => Err("games for the fewest discs are not supported"),
            "PB" | "PW" | "KM" | "RE" => {
                match name {
                    "PB" => self.game.black = value.to_owned(),
                    "PW" => self.game.white = value.to_owned(),
                    "KM" if value.is_empty() => {}
                    "KM" => self.komi = value.parse().ok().filter(|komi: &f64| komi.is_finite()),
                    _ => self.result = value.to_owned(),
                }
                Ok(())
            }
            "BO" | "AB" | "AW" | "AE" | "PL" if !self.game.moves().is_empty() => {
                Err("the board must come before the moves")
            }
            "BO" => self.board(value),
            "AB" => self.stones(0, value),
            "AW" => self.stones(1, value),
            "AE" => self.stones(2, value),
            "PL" => value.parse().map(|side| self.turn = Some(side)).map_err(|_| "expected B or W"),
            "B" => self.play(Side::Black, value)?,
            "W" => self.play(Side::White, value)?,
            // They belong to one of the formats, not to the game.
            "FF" | "AP" | "CA" | "ST" | "SZ" | "C" | "N" => Ok(()),
            _ if self.nodes <= 1 && !value.is_empty() => {
                let name = match name {
                    "BR" => "RB",
                    "WR" => "RW",
                    other => other,
                };
                self.game.add_tag(name, value);
                Ok(())
            }
            _ => Ok(()),
        };
        done.or_else(wrong)
    }

    fn board(&mut self, value: &str) -> Result<(), &'static str> {
        let (size, board) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
        if size != "8" {
            return Err("only boards of size 8 are supported");
        }
        let start = board.parse().map_err(|_| "expected `8`, 64 squares of - * O, and the side to move, * or O")?;
        self.game.restart(start);
        self.has_board = true;
        Ok(())
    }

    /// Set-up stones on a square, or on all squares between two corners, as in `a1:b2`.
    fn stones(&mut self, of: usize, value: &str) -> Result<(), &'static str> {
        let (from, to) = value.split_once(':').unwrap_or((value, value));
        let (Some(from), Some(to)) = (square_of(from), square_of(to)) else {
            return Err("expected a square such as f5");
        };
        let between = |of: fn(usize) -> usize, square: usize| {
            let ends = [of(from.index()), of(to.index())];
            (ends[0].min(ends[1])..=ends[0].max(ends[1])).contains(&of(square))
        };
        for square in Square::all().filter(|s| between(|i| i / 8, s.index()) && between(|i| i % 8, s.index())) {
            self.set_up.iter_mut().enumerate().for_each(|(i, set)| match i == of {
                true => *set |= square.bit(),
                false => *set &= !square.bit(),
            });
        }
        Ok(())
    }

    /// Puts the set-up stones on the board before the first move. Without any in the middle they are added to the usual start, as handicaps.
    fn begin(&mut self, first: Option<Side>) -> Result<(), String> {
        let [black, white, empty] = self.set_up;
        if !self.game.moves().is_empty() || self.has_board {
            return Ok(());
        }
        if black | white | empty == 0 && self.turn.is_none() {
            return self.check_type();
        }
        let usual = if (black | white) & CENTRE == 0 { Diagram::START.black_and_white() } else { (0, 0) };
        let set = |usual: u64, stones: u64, others: u64| usual & !(others | empty) | stones;
        let (black, white) = (set(usual.0, black, white), set(usual.1, white, black));
        let side = self.turn.or(first).unwrap_or(Side::Black);
        self.game.restart(Diagram::from_black_and_white(black, white, side).expect("one disc a square"));
        Ok(())
    }

    /// Refuses a type of GGF that begins from a board of its own, where none is given.
    fn check_type(&self) -> Result<(), String> {
        let kind = self.game.tag("TY");
        let size = kind.trim_start_matches(['s', 'S']);
        let end = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
        let (size, variant) = size.split_at(end);
        if matches!(size, "" | "8") && !variant.contains(['r', 'R', 'b', 'B']) {
            return Ok(());
        }
        Err(format!(
            "TY[{}]: games of this type have a board of their own, and there is no BO[8 ...] with it",
            excerpt(kind)
        ))
    }

    /// Plays a move. The outer error names no property.
    fn play(&mut self, side: Side, value: &str) -> Result<Result<(), &'static str>, String> {
        self.begin(Some(side))?;
        let mut fields = value.split('/').map(str::trim);
        let name = fields.next().unwrap_or_default();
        let mut number =
            || fields.next().and_then(|field| field.parse().ok()).filter(|number: &f32| number.is_finite());
        let note = MoveNote { evaluation: number(), seconds: number() };
        let Diagram { position, side: to_move } = self.game.last();
        if name.is_empty() || is_pass(name) || name.eq_ignore_ascii_case("tt") {
            // A `Game` passes on its own: only check that the pass was due.
            let moves = if side == to_move { position.moves() } else { position.opponent_moves() };
            if moves != 0 {
                return Ok(Err("a pass is only allowed without a legal move"));
            }
            self.game.note_pass();
            return Ok(Ok(()));
        }
        if side != to_move {
            return Ok(Err("it is the other side's turn"));
        }
        let Some(square) = square_of(name) else { return Ok(Err("expected a square such as f5")) };
        let is_first = self.game.moves().is_empty() && self.game.start() == Diagram::START && !self.has_board;
        if is_first && self.set_up == [0; 3] {
            self.game.restart(start_of(&[square]));
        }
        self.game.push(square, note).map(Ok)
    }

    fn finish(mut self) -> Result<Game, String> {
        self.begin(None)?;
        let stated = self.komi.and_then(|komi| GameResult::parse(&self.result, komi));
        let is_by_loss = |result: &GameResult| matches!(result.finish, Finish::Resigned | Finish::Forfeited);
        // What the board shows is right, whatever is stated.
        self.game.result = stated.filter(is_by_loss).or_else(|| self.game.score_on_board()).or(stated);
        self.game.komi = self.komi.unwrap_or_default();
        Ok(self.game)
    }
}

/// A square such as f5; also with a letter for the rank, as some write it in SGF.
fn square_of(text: &str) -> Option<Square> {
    let text = text.trim();
    text.parse().ok().or_else(|| match text.as_bytes() {
        &[file, rank] => format!("{}{}", file as char, rank.to_ascii_lowercase().checked_sub(b'a' - 1)?).parse().ok(),
        _ => None,
    })
}
