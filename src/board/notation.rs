//! The text forms of positions that people exchange: boards of 64 characters and OBF lines.

use std::str::FromStr;

use super::diagram::{Diagram, NotationError, Side};
use super::square::{Square, excerpt};
use super::transcript::{begins_with_move, is_pass, parse_moves, parse_square, replay, start_of};

impl FromStr for Diagram {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (diagram, rest) = split_diagram(text)?;
        let rest = rest.trim();
        if rest.is_empty() {
            return Ok(diagram);
        }
        Err(NotationError(format!("expected nothing after the side to move, found `{}`", excerpt(rest))))
    }
}

/// How squares are written: black, white and empty ones.
const ALPHABETS: [[&str; 3]; 3] = [["Xx*", "Oo", "-._"], ["Bb", "Ww", "-._"], ["1", "2", "0-._"]];

/// Whether a character may stand for a square of a board.
pub(crate) fn is_cell(c: char) -> bool {
    ALPHABETS.as_flattened().iter().any(|cells| cells.contains(c))
}

/// Reads a board and a side, or moves, from the start of a line. The rest of the line is returned too.
fn split_diagram(text: &str) -> Result<(Diagram, &str), NotationError> {
    let text = text.trim_start();
    if begins_with_move(text) {
        let moves = parse_moves(text)?;
        return Ok((replay(start_of(&moves), &moves, |_, _| ())?, ""));
    }
    let is_mark = |&c: &char| !"-._".contains(c) && !c.is_whitespace();
    let of = |c| ALPHABETS.iter().find(|cells| cells.iter().any(|cells| cells.contains(c)));
    let [blacks, whites, empties] = text.chars().find(is_mark).and_then(of).unwrap_or(&ALPHABETS[0]);
    let (mut black, mut white, mut count) = (0u64, 0u64, 0u32);
    let mut rest = text;
    for (column, found) in text.chars().enumerate() {
        let bit = 1u64.checked_shl(count).unwrap_or(0);
        let is_gap = found.is_whitespace() && count.is_multiple_of(8);
        match found {
            _ if count == 64 => break,
            _ if is_gap => {}
            _ if blacks.contains(found) => black |= bit,
            _ if whites.contains(found) => white |= bit,
            _ if empties.contains(found) => {}
            _ if found.is_whitespace() => break,
            _ => {
                let column = column + 1;
                return Err(NotationError(format!(
                    "column {column}: `{found}` is not a square (X black, O white, - or . empty; or B, W; or 1, 2, 0)"
                )));
            }
        }
        count += u32::from(!is_gap);
        rest = &rest[found.len_utf8()..];
    }
    let glued = rest.chars().take_while(|&c| is_cell(c)).count() as u32;
    let is_side = |text: &str| text.parse::<Side>().is_ok();
    if count < 64 || glued > 1 || glued == 1 && !is_side(&rest[..1]) {
        let found = count + glued;
        return Err(NotationError(format!("expected 64 squares and the side to move; squares found: {found}")));
    }
    let rest = rest.trim_start();
    let side_end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
    let (side, rest) = rest.split_at(side_end);
    let side = match side {
        // These would be scores after other boards.
        "1" if *blacks == "1" => Side::Black,
        "2" if *blacks == "1" => Side::White,
        _ => side.parse()?,
    };
    let words = rest.trim_start();
    let rest = ["to move", "to play"].iter().find_map(|words_after| words.strip_prefix(words_after)).unwrap_or(rest);
    Ok((Diagram::from_black_and_white(black, white, side).expect("one disc a square"), rest))
}

/// A diagram and its value, if known: `<diagram> <score>`, or an OBF line `<diagram>; G8:+18; H7:-2;`. A transcript is read as
/// the position at its end, with unknown value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScoredDiagram {
    /// The position.
    pub diagram: Diagram,
    /// Its value in discs for the side to move: the score given, the best of the moves' scores, or the score of a pass or of a
    /// finished game.
    pub score: Option<i32>,
    /// The scored moves of an OBF line, in its order.
    pub moves: Vec<(Square, i32)>,
}

impl FromStr for ScoredDiagram {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (diagram, rest) = split_diagram(text)?;
        let rest = rest.trim();
        let legal = diagram.position.moves();
        let (mut moves, mut without_move) = (Vec::<(Square, i32)>::new(), None);
        if !rest.is_empty() && !rest.starts_with(';') {
            let score = parse_score(rest)?;
            return Ok(Self { diagram, score: Some(score), moves });
        }
        for field in rest.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (square, score) = field.split_once(':').unwrap_or(("", field));
            match square.trim().to_ascii_lowercase().as_str() {
                // OBF's way to say that a position has no scored move; without a legal move it is the pass.
                "--" if legal != 0 || score.trim() == "-127" => {}
                // The score without its move.
                "" => without_move = Some(parse_score(score)?),
                name if is_pass(name) && legal == 0 => without_move = Some(parse_score(score)?),
                name if is_pass(name) => return Err(illegal_scored(square.trim())),
                name => {
                    let to = parse_square(name)?;
                    if legal & to.bit() == 0 {
                        return Err(illegal_scored(name));
                    }
                    if moves.iter().any(|&(known, _)| known == to) {
                        return Err(NotationError(format!("{to} has two scores")));
                    }
                    moves.push((to, parse_score(score)?));
                }
            }
        }
        let score = moves.iter().map(|&(_, score)| score).max().or(without_move);
        Ok(Self { diagram, score, moves })
    }
}

fn illegal_scored(name: &str) -> NotationError {
    NotationError(format!("`{name}` has a score but is not a legal move"))
}

fn parse_score(text: &str) -> Result<i32, NotationError> {
    let text = text.trim();
    let score = text.parse().ok().filter(|score| (-64..=64).contains(score));
    score.ok_or_else(|| {
        let found = excerpt(text);
        NotationError(format!("`{found}` is neither a score in discs (-64 to 64) nor OBF data such as `G8:+18`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagrams_round_trip() {
        let text = "---------------------------OX------XO--------------------------- X";
        let diagram: Diagram = text.parse().unwrap();
        assert_eq!(diagram, Diagram::START);
        assert_eq!(diagram.to_string(), text);
        let white = diagram.try_play("f5".parse().unwrap()).unwrap();
        assert_eq!(white.side, Side::White);
        assert_eq!(white.to_string().parse(), Ok(white));
    }

    #[test]
    fn sides_have_many_names() {
        let board = "---------------------------OX------XO---------------------------";
        let side = |name: &str| format!("{board} {name}").parse::<ScoredDiagram>().map(|scored| scored.diagram.side);
        for name in ["X", "x", "*", "b", "B", "black", "Black", "BLACK"] {
            assert_eq!(side(name), Ok(Side::Black), "{name}");
        }
        for name in ["O", "o", "w", "W", "white 3", "White; F4:+2;"] {
            assert_eq!(side(name), Ok(Side::White), "{name}");
        }
    }

    #[test]
    fn bad_diagrams_say_what_is_wrong() {
        let board = "---------------------------OX------XO---------------------------";
        let error = |text: &str| text.parse::<ScoredDiagram>().unwrap_err().0;
        for (text, expected) in [
            ("XO X".to_owned(), "squares found: 2"),
            (board.replacen('-', "", 1) + " X", "squares found: 63"),
            (format!("-{board} X"), "squares found: 65"),
            (board.replace('O', "Q"), "column 28: `Q` is not a square"),
            (board.replace('O', "W"), "column 29: `X` is not a square"),
            (board.to_owned(), "expected the side to move, X or O, after the board; found ``"),
            (format!("{board} Y"), "found `Y`"),
            (format!("{board} X 65"), "`65` is neither a score"),
            (format!("{board} X; f9:+2;"), "`f9` is not a square"),
        ] {
            assert!(error(&text).contains(expected), "{text}: {}", error(&text));
        }
        let long = "y".repeat(1_000_000);
        for text in [format!("{board} {long}"), format!("{board} X {long}"), format!("{board} X; {long}:+2;")] {
            assert!(error(&text).len() < 250, "{text:.70}");
        }
        assert!(format!("{board} X {long}").parse::<Diagram>().unwrap_err().0.len() < 250);
    }

    #[test]
    fn boards_have_many_alphabets() {
        let board = "---------------------------OX------XO---------------------------";
        let with =
            |black: &str, white: &str, empty: &str| board.replace('X', black).replace('O', white).replace('-', empty);
        for text in [
            with("*", "O", ".") + " *",
            with("x", "o", "_") + " X to move",
            with("B", "W", ".") + " B",
            with("b", "w", "-") + " black to play",
            with("1", "2", "0") + " 1",
            with("1", "2", ".") + " X",
            board.to_owned() + "X",
            board.as_bytes().chunks(8).map(|row| String::from_utf8_lossy(row) + " ").collect::<String>() + "X",
        ] {
            assert_eq!(text.parse(), Ok(Diagram::START), "{text}");
        }
        assert_eq!((with("1", "2", "0") + " 2").parse(), Ok(Diagram::START.pass()));
    }

    #[test]
    fn obf_lines_give_the_best_score() {
        let board = "---------------------------OX------XO---------------------------";
        let scored: ScoredDiagram = format!("{board} X; F5:+2; D3:-4;").parse().unwrap();
        assert_eq!(scored.score, Some(2));
        assert_eq!(scored.moves.len(), 2);
        let unscored: ScoredDiagram = format!("{board} X; --:-127;").parse().unwrap();
        assert_eq!((unscored.score, unscored.moves.len()), (None, 0));
        // Edax's words for a pass and for a game that is over.
        let no_move = "XO".to_owned() + &"-".repeat(62);
        for data in ["PS:+4", "PA:+4", "pass:+4", "--:+4", "+4"] {
            let scored: ScoredDiagram = format!("{no_move} O; {data};").parse().unwrap();
            assert_eq!((scored.score, scored.moves.len()), (Some(4), 0), "{data}");
        }
        let error = |data: &str| format!("{board} X; {data};").parse::<ScoredDiagram>().unwrap_err();
        assert!(error("F5:+2; A1:+4").0.starts_with("`a1` has a score"));
        assert!(error("PA:+4").0.starts_with("`PA` has a score"));
        assert_eq!(error("F5:+2; f5:+4").0, "f5 has two scores");
    }
}
