//! Writing SGF (`GM[2]`). [`tree`](super::tree) reads it.

use std::io::{self, Write};

use super::game::Game;
use super::ggf::letter;
use super::result::{Finish, GameResult};
use super::tree::CENTRE;
use crate::board::squares;

/// Writes a game on one line of SGF, with its start position always set up, since programs differ in which one is usual. Evaluations and
/// times are left out.
///
/// # Errors
/// Errors of the writer.
pub fn write(out: &mut impl Write, game: &Game) -> io::Result<()> {
    write!(out, "(;FF[4]GM[2]CA[UTF-8]AP[{}]SZ[8]", env!("CARGO_PKG_NAME"))?;
    let names = [("PB", &game.black), ("PW", &game.white)].into_iter();
    let tags = game.tags.iter().map(|(name, value)| match name.as_str() {
        "RB" => ("BR", value),
        "RW" => ("WR", value),
        name => (name, value),
    });
    for (name, value) in names.chain(tags).filter(|(_, value)| !value.is_empty()) {
        write!(out, "{name}[{}]", escaped(value))?;
    }
    if game.komi != 0.0 {
        write!(out, "KM[{}]", game.komi)?;
    }
    if let Some(result) = game.result {
        write!(out, "RE[{}]", result_text(result, game.komi))?;
    }
    let (black, white) = game.start().black_and_white();
    // Stones away from the middle alone would be added to the usual start.
    let empty = if (black | white) & CENTRE == 0 { CENTRE } else { 0 };
    for (name, discs) in [("AB", black), ("AW", white), ("AE", empty)].into_iter().filter(|&(_, discs)| discs != 0) {
        write!(out, "{name}")?;
        squares(discs).try_for_each(|square| write!(out, "[{square}]"))?;
    }
    write!(out, "PL[{}]", letter(game.start().side))?;
    for (side, played) in game.turns() {
        let square = played.map(|(square, _)| square.to_string()).unwrap_or_default();
        write!(out, ";{}[{square}]", letter(side))?;
    }
    writeln!(out, ")")
}

/// The winner, and by how many discs or how.
fn result_text(result: GameResult, komi: f64) -> String {
    let discs = f64::from(result.discs) - komi;
    let (how, draw) = match result.finish {
        Finish::Played | Finish::Agreed => (discs.abs().to_string(), "0"),
        Finish::Resigned => ("R".to_owned(), "?"),
        Finish::Forfeited => ("T".to_owned(), "?"),
    };
    match discs {
        0.0 => draw.to_owned(),
        0.0.. => format!("B+{how}"),
        _ => format!("W+{how}"),
    }
}

/// A text with SGF's escapes, on one line.
fn escaped(text: &str) -> String {
    let on_one_line = text.replace(|c: char| c.is_control(), " ");
    let escape = |text: String, c: char| text.replace(c, &format!("\\{c}"));
    ['\\', '[', ']'].into_iter().fold(on_one_line.trim().to_owned(), escape)
}
