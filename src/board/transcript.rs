//! Games as the moves from the start position: `f5d6c3`.

use std::fmt;
use std::str::FromStr;

use rand::{Rng, RngExt};

use super::diagram::{Diagram, NotationError};
use super::square::{Square, excerpt, squares};

/// A game, or the beginning of one, as the moves from the start position, passes left out: `f5d6c3`.
///
/// Parsing accepts capital letters, passes (`pa`, `ps`, `pass`, `--`), spaces, commas and hyphens between moves, move numbers (`1. f5`), a
/// result behind the moves (`+12`, `40-24`, `B+12`), which is skipped, and a comment behind `#`, `%` or `;`. Moves that are only legal from
/// [`Diagram::MIRRORED_START`] are mirrored.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
pub struct Transcript {
    moves: Vec<Square>,
}

impl Transcript {
    /// A game from its moves.
    ///
    /// # Errors
    /// The first illegal move.
    pub fn from_moves(moves: &[Square]) -> Result<Self, NotationError> {
        replay(Diagram::START, moves, |_, _| ())?;
        Ok(Self { moves: moves.to_vec() })
    }

    /// A complete game of random moves, all legal moves being equally likely.
    pub fn random(random: &mut impl Rng) -> Self {
        let mut diagram = Diagram::START;
        let mut played = Vec::with_capacity(60);
        while diagram.position.moves() != 0 {
            let moves = diagram.position.moves();
            let choice = random.random_range(0..moves.count_ones() as usize);
            let square = squares(moves).nth(choice).expect("the choice is among the moves");
            played.push(square);
            diagram = diagram.try_play(square).expect("the move is legal").pass_if_needed();
        }
        Self { moves: played }
    }

    /// The moves, without passes.
    pub fn moves(&self) -> &[Square] {
        &self.moves
    }

    /// The position at the end. If the side to move must pass and the other can move, it has passed.
    pub fn last(&self) -> Diagram {
        replay(Diagram::START, &self.moves, |_, _| ()).expect("a transcript holds legal moves only")
    }

    /// Each diagram of the game with the move played in it.
    pub fn steps(&self) -> Vec<(Diagram, Square)> {
        let mut steps = Vec::with_capacity(self.moves.len());
        replay(Diagram::START, &self.moves, |diagram, square| steps.push((diagram, square)))
            .expect("a transcript holds legal moves only");
        steps
    }
}

impl FromStr for Transcript {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut moves = parse_moves(text)?;
        if start_of(&moves) == Diagram::MIRRORED_START {
            moves.iter_mut().for_each(|square| *square = mirrored(*square));
        }
        Self::from_moves(&moves)
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.moves.iter().try_for_each(|square| write!(f, "{square}"))
    }
}

/// Calls `visit` with each diagram of a game and the move played in it; returns the position at the end, after a pass if one is due.
pub(super) fn replay(
    start: Diagram,
    moves: &[Square],
    mut visit: impl FnMut(Diagram, Square),
) -> Result<Diagram, NotationError> {
    let mut diagram = start;
    for (i, &square) in moves.iter().enumerate() {
        visit(diagram, square);
        let next = diagram.try_play(square);
        diagram =
            next.map_err(|reason| NotationError(format!("move {} ({square}): {reason}", i + 1)))?.pass_if_needed();
    }
    Ok(diagram)
}

/// The square on the other side of the line between the files d and e.
pub(crate) fn mirrored(square: Square) -> Square {
    Square::new(square.index() as u8 ^ 7)
}

/// The start position from which the first of some moves is legal; the usual one if there is none.
pub(crate) fn start_of(moves: &[Square]) -> Diagram {
    let is_mirrored = moves.first().is_some_and(|first| Diagram::MIRRORED_START.position.moves() & first.bit() != 0);
    if is_mirrored { Diagram::MIRRORED_START } else { Diagram::START }
}

/// Whether a text stands for a pass in place of a square.
pub fn is_pass(text: &str) -> bool {
    ["pa", "pass", "--", "ps"].iter().any(|pass| text.eq_ignore_ascii_case(pass))
}

/// A square, or the error that everything here has.
pub(super) fn parse_square(text: &str) -> Result<Square, NotationError> {
    text.parse().map_err(|error: super::square::ParseSquareError| NotationError(error.to_string()))
}

/// The first move of a text, and what follows it.
fn split_move(text: &str) -> Option<(Square, &str)> {
    Some((text.get(..2)?.parse().ok()?, &text[2..]))
}

/// What follows the pass that a text begins with.
fn after_pass(text: &str) -> Option<&str> {
    [4, 2].into_iter().find_map(|length| text.get(..length).filter(|word| is_pass(word)).map(|_| &text[length..]))
}

/// The number that a text begins with, and what follows it.
fn split_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Whether a text is one of moves: a move, or a move number and a move.
pub(crate) fn begins_with_move(text: &str) -> bool {
    let after_number = split_number(text).map(|(_, rest)| rest.trim_start_matches(is_separator));
    split_move(text).is_some() || after_number.is_some_and(|rest| split_move(rest).is_some())
}

/// What may stand between moves, and between a move and its number. A pass `--` carries no information either.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || ",-.:)|".contains(c)
}

/// The moves of a text, legal or not, passes left out.
pub(crate) fn parse_moves(text: &str) -> Result<Vec<Square>, NotationError> {
    let mut moves = Vec::with_capacity(text.len() / 2);
    let mut rest = text.split(['#', '%', ';']).next().unwrap_or_default();
    loop {
        let before = rest.len();
        rest = rest.trim_start_matches(is_separator);
        let is_apart = rest.len() < before || moves.is_empty();
        if let Some((square, after)) = split_move(rest) {
            moves.push(square);
            rest = after;
        } else if let Some(after) = after_pass(rest) {
            rest = after;
        } else if let Some(after) = after_move_number(rest, moves.len()).filter(|_| is_apart) {
            rest = after;
        } else if rest.is_empty() || is_apart && !moves.is_empty() && is_result(rest) {
            return Ok(moves);
        } else {
            let found = excerpt(rest.split(is_separator).next().unwrap_or_default());
            let number = moves.len() + 1;
            return Err(NotationError(format!("move {number}: expected a square such as f5, found `{found}`")));
        }
    }
}

/// What follows a move number: any with a dot or the like, without one only that of the next move or pair of moves.
fn after_move_number(text: &str, played: usize) -> Option<&str> {
    let (number, rest) = split_number(text)?;
    let is_next = number == played + 1 || number == played / 2 + 1;
    let after = rest.trim_start_matches(is_separator);
    let is_marked = rest.starts_with(['.', ')', ':']);
    let leads_on = split_move(after).is_some() || after_pass(after).is_some();
    ((is_marked || is_next && after.len() < rest.len()) && leads_on).then_some(after)
}

/// Whether a text is a game's result, such as `+12`, `40-24`, `B+12` or `draw`.
fn is_result(text: &str) -> bool {
    const WORDS: [&str; 9] = ["b", "w", "black", "white", "x", "o", "draw", "wins", "by"];
    let is_part = |part: &str| match part.parse::<f32>() {
        Ok(number) => (0.0..=64.0).contains(&number),
        Err(_) => WORDS.iter().any(|word| part.eq_ignore_ascii_case(word)),
    };
    let is_between = |c: char| c.is_whitespace() || "+-:/=(),".contains(c);
    text.split(is_between).filter(|part| !part.is_empty()).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    #[test]
    fn transcripts_are_read_as_people_have_them() {
        let game: Transcript = "F5d6c3".parse().unwrap();
        assert_eq!(game.to_string(), "f5d6c3");
        assert_eq!(game.last().side, Side::White);
        for text in [
            "f5 d6 c3",
            "F5D6C3",
            " F5 d6\tC3 ",
            "f5 d6 PASS c3",
            "f5--d6PAc3",
            "1. f5 d6 2. c3",
            "1.f5 2.d6 3.c3",
            "1 f5 2 d6 3 c3",
            "1) F5, D6 3) c3; a comment",
            "f5-d6-c3",
            "f5, d6, c3",
            "f5d6c3 +12",
            "f5d6c3: -4",
            "f5d6c3 40-24",
            "f5d6c3, B+12",
            "f5 d6 c3 33:31 # a comment",
        ] {
            assert_eq!(text.parse().as_ref(), Ok(&game), "{text}");
            assert_eq!(text.parse(), Ok(game.last()), "as a position: {text}");
        }
        for (text, expected) in [
            ("f5d6a1", "move 3 (a1): a1 turns no disc over"),
            ("f5d", "move 2: expected a square such as f5, found `d`"),
            ("f5d66", "move 3: expected a square such as f5, found `6`"),
            ("f5 d6 33 c3", "move 3: expected a square such as f5, found `33`"),
            ("f5d6 40-240", "move 3: expected a square such as f5, found `40`"),
        ] {
            assert_eq!(text.parse::<Transcript>().unwrap_err().0, expected, "{text}");
        }
    }

    #[test]
    fn games_from_any_start_are_the_same_game() {
        let game: Transcript = "c4c3d3c5b4".parse().unwrap();
        // The same moves from the start in which black has d4 and e5.
        let mirrored_game = "f4f3e3f5g4";
        assert_eq!(mirrored_game.parse(), Ok(game.clone()));
        let typed: Diagram = mirrored_game.parse().unwrap();
        assert_eq!(typed.disc("f4".parse().unwrap()), Some(Side::Black), "a position is not turned");
        for first in squares(Diagram::START.position.moves()) {
            assert_eq!(first.to_string().parse(), Transcript::from_moves(&[first]));
        }
    }
}
