//! The main line of an Othello game in SGF (`GM[2]`), for GTP's `loadsgf`.

use crate::board::{Side, Square};

/// A move of a game record; `None` is a pass.
pub type SgfMove = (Side, Option<Square>);

/// The moves of the first game's main line, legal or not.
///
/// # Errors
/// What is wrong with the text.
pub fn main_line(text: &str) -> Result<Vec<SgfMove>, String> {
    let mut rest = text.find("(;").map(|start| &text[start + 2..]).ok_or("no game tree")?;
    let mut moves = Vec::new();
    let mut name = String::new();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '[' => {
                let (value, after) = value(rest).ok_or("a value does not end")?;
                rest = after;
                property(&name, value.trim(), &mut moves)?;
                // Further values of the same property follow directly; the next letter begins another.
                if !rest.trim_start().starts_with('[') {
                    name.clear();
                }
            }
            ')' => return Ok(moves),
            '(' | ';' => name.clear(),
            c if c.is_ascii_uppercase() => name.push(c),
            _ => {}
        }
    }
    Err("the game tree does not end".into())
}

/// A property's value and what comes after its bracket; a backslash escapes the next character.
fn value(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = c == ']' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

fn property(name: &str, value: &str, moves: &mut Vec<SgfMove>) -> Result<(), String> {
    let side = match name {
        "B" => Side::Black,
        "W" => Side::White,
        "GM" if value != "2" => return Err("not a game of Othello".into()),
        "SZ" if value != "8" => return Err("not a board of size 8".into()),
        "AB" | "AW" | "AE" => return Err("set-up positions are not supported".into()),
        _ => return Ok(()),
    };
    let pass = value.is_empty() || value.eq_ignore_ascii_case("pass") || value.eq_ignore_ascii_case("pa");
    let square = if pass { None } else { Some(value.parse().map_err(|error| format!("{error}"))?) };
    moves.push((side, square));
    Ok(())
}
