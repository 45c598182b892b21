//! Writing GGF. [`tree`](super::tree) reads it.

use std::io::{self, Write};

use super::game::{Game, MoveNote};
use super::result::{Finish, GameResult};
use crate::board::{Side, Square};

/// Writes a game on one line of GGF.
///
/// In names and the like, brackets and control characters become spaces, as the format cannot quote. Evaluations and times have two decimals.
///
/// # Errors
/// Errors of the writer.
pub fn write(out: &mut impl Write, game: &Game) -> io::Result<()> {
    write!(out, "(;GM[Othello]PC[{}]", clean(game.tag("PC")))?;
    write_tags(out, game, |name| name == "DT")?;
    write!(out, "PB[{}]PW[{}]", clean(&game.black), clean(&game.white))?;
    write_tags(out, game, |name| !matches!(name, "PC" | "DT" | "TY"))?;
    if game.komi != 0.0 {
        write!(out, "KM[{:+.3}]", game.komi)?;
    }
    match game.result {
        None => write!(out, "RE[?]")?,
        Some(GameResult { discs, finish }) => {
            let flag = match finish {
                Finish::Played => "",
                Finish::Resigned => ":r",
                Finish::Forfeited => ":t",
                Finish::Agreed => ":s",
            };
            write!(out, "RE[{:+.3}{flag}]", f64::from(discs) - game.komi)?;
        }
    }
    let kind = if game.tag("TY").is_empty() { "8" } else { game.tag("TY") };
    write!(out, "TY[{}]BO[8", clean(kind))?;
    for square in Square::all() {
        let gap = if square.index().is_multiple_of(8) { " " } else { "" };
        write!(out, "{gap}{}", game.start().disc(square).map_or('-', mark))?;
    }
    write!(out, " {}]", mark(game.start().side))?;
    for (side, played) in game.turns() {
        match played {
            None => write!(out, "{}[PA]", letter(side))?,
            Some((square, note)) => write!(out, "{}[{square}{}]", letter(side), note_text(note))?,
        }
    }
    writeln!(out, ";)")
}

fn write_tags(out: &mut impl Write, game: &Game, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    game.tags
        .iter()
        .filter(|(name, _)| wanted(name))
        .try_for_each(|(name, value)| write!(out, "{name}[{}]", clean(value)))
}

/// How GGF draws a disc.
fn mark(side: Side) -> char {
    if side == Side::Black { '*' } else { 'O' }
}

/// The property of a side's moves.
pub(super) fn letter(side: Side) -> char {
    if side == Side::Black { 'B' } else { 'W' }
}

/// A text as it can be read back from a property's value: characters that would end the value early become spaces.
fn clean(text: &str) -> String {
    text.replace(|c: char| c == '[' || c == ']' || c.is_control(), " ").trim().to_owned()
}

fn note_text(note: MoveNote) -> String {
    let number = |number: Option<f32>| number.map(|n| format!("{n:.2}")).unwrap_or_default();
    match (note.evaluation, note.seconds) {
        (None, None) => String::new(),
        (evaluation, None) => format!("/{}", number(evaluation)),
        (evaluation, seconds) => format!("/{}/{}", number(evaluation), number(seconds)),
    }
}
