//! The text forms people exchange: 64-character boards, f5d6 transcripts and OBF lines.

use std::fmt;
use std::str::FromStr;

use rand::{Rng, RngExt};

use super::position::{IllegalMove, Position};
use super::square::{ParseSquareError, Square, excerpt, squares};

/// A colour. Black moves first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Side {
    /// `X` in diagrams.
    Black,
    /// `O` in diagrams.
    White,
}

impl Side {
    /// The other colour.
    pub const fn other(self) -> Self {
        match self {
            Self::Black => Self::White,
            Self::White => Self::Black,
        }
    }

    /// 1 for black, -1 for white: turns a result for black into one for this side, and back.
    pub const fn sign(self) -> i32 {
        match self {
            Self::Black => 1,
            Self::White => -1,
        }
    }

    /// `black` or `white`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Black => "black",
            Self::White => "white",
        }
    }
}

/// Why a text is not a position or a game, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotationError {
    /// A board that does not have 64 squares.
    #[error("expected 64 squares and the side to move; squares found: {0}")]
    BoardLength(usize),
    /// A character that no square is written as.
    #[error("column {column}: `{found}` is not a square (X black, O white, - or . empty)")]
    SquareContent {
        /// Column in the text without leading spaces, from 1.
        column: usize,
        /// The character.
        found: char,
    },
    /// The side to move is missing, or none of X, \*, O, b, w, black and white.
    #[error("expected the side to move, X or O, after the board; found `{0}`")]
    SideToMove(String),
    /// Something after the side to move, where only a position is expected.
    #[error("expected nothing after the side to move, found `{0}`")]
    Trailing(String),
    /// Something after the side to move that is neither a score nor OBF data.
    #[error("`{0}` is neither a score in discs (-64 to 64) nor OBF data such as `G8:+18`")]
    Score(String),
    /// OBF data with a score of an illegal move.
    #[error("`{0}` has a score but is not a legal move")]
    IllegalScored(String),
    /// OBF data with two scores of a move.
    #[error("{0} has two scores")]
    ScoredTwice(Square),
    /// A malformed square in a transcript or in OBF data.
    #[error(transparent)]
    Square(#[from] ParseSquareError),
    /// An illegal move in a transcript.
    #[error("move {ply} ({square}): {reason}")]
    Illegal {
        /// Number of the move, from 1.
        ply: usize,
        /// The move.
        square: Square,
        /// What is wrong with it.
        reason: IllegalMove,
    },
}

/// A position and the colour of the player to move. As text it is 64 squares, a1 to h1, then the next row, a space, and the
/// side to move; `X` is black, `O` is white, `-` or `.` is empty. A [`Transcript`] can be parsed too: it gives the position at
/// its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Diagram {
    /// The discs, as the player to move sees them.
    pub position: Position,
    /// The colour of the player to move.
    pub side: Side,
}

impl Diagram {
    /// The diagram with these discs; `None` if a square has a disc of either side.
    pub const fn from_black_and_white(black: u64, white: u64, side: Side) -> Option<Self> {
        let (player, opponent) = match side {
            Side::Black => (black, white),
            Side::White => (white, black),
        };
        match Position::new(player, opponent) {
            Some(position) => Some(Self { position, side }),
            None => None,
        }
    }

    /// [`Position::final_score`] for black, whoever is to move.
    pub fn final_score_for_black(&self) -> i32 {
        self.side.sign() * self.position.final_score()
    }

    /// The start of every game.
    pub const START: Self = Self { position: Position::START, side: Side::Black };

    /// The diagram after a move, or why it is illegal.
    pub fn try_play(self, to: Square) -> Result<Self, IllegalMove> {
        Ok(Self { position: self.position.try_play(to)?, side: self.side.other() })
    }

    /// The same discs with the other side to move.
    #[must_use]
    pub const fn pass(self) -> Self {
        Self { position: self.position.pass(), side: self.side.other() }
    }

    /// The diagram after a pass if only the opponent can move, else the diagram itself.
    #[must_use]
    pub fn pass_if_needed(self) -> Self {
        if self.position.moves() == 0 && self.position.opponent_moves() != 0 { self.pass() } else { self }
    }

    /// The colour of the disc on a square, if there is one.
    pub const fn disc(self, square: Square) -> Option<Side> {
        let (black, white) = self.black_and_white();
        if black & square.bit() != 0 {
            Some(Side::Black)
        } else if white & square.bit() != 0 {
            Some(Side::White)
        } else {
            None
        }
    }

    /// Black's and white's discs.
    pub const fn black_and_white(self) -> (u64, u64) {
        match self.side {
            Side::Black => (self.position.player, self.position.opponent),
            Side::White => (self.position.opponent, self.position.player),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Black => "X",
            Self::White => "O",
        })
    }
}

impl FromStr for Side {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "x" | "*" | "b" | "black" => Ok(Self::Black),
            "o" | "w" | "white" => Ok(Self::White),
            _ => Err(NotationError::SideToMove(excerpt(text))),
        }
    }
}

impl fmt::Display for Diagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for square in Square::all() {
            match self.disc(square) {
                Some(side) => side.fmt(f)?,
                None => f.write_str("-")?,
            }
        }
        write!(f, " {}", self.side)
    }
}

impl FromStr for Diagram {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (diagram, rest) = split_diagram(text)?;
        if rest.trim().is_empty() { Ok(diagram) } else { Err(NotationError::Trailing(excerpt(rest.trim()))) }
    }
}

/// Reads a board and a side, or a transcript, from the start of a line. The rest of the line is returned too.
fn split_diagram(text: &str) -> Result<(Diagram, &str), NotationError> {
    let text = text.trim_start();
    // No board begins with a letter from a to h.
    if text.get(..2).is_some_and(|start| start.parse::<Square>().is_ok()) {
        return Ok((text.parse::<Transcript>()?.last(), ""));
    }
    let board_end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (board, rest) = text.split_at(board_end);
    let (mut black, mut white, mut count) = (0u64, 0u64, 0usize);
    for found in board.chars() {
        let bit = 1u64.checked_shl(count as u32).unwrap_or(0);
        match found {
            'X' | 'x' | '*' => black |= bit,
            'O' | 'o' => white |= bit,
            '-' | '.' => {}
            _ => return Err(NotationError::SquareContent { column: count + 1, found }),
        }
        count += 1;
    }
    if count != 64 {
        return Err(NotationError::BoardLength(count));
    }
    let rest = rest.trim_start();
    let side_end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
    let (side_text, rest) = rest.split_at(side_end);
    let side: Side = side_text.parse()?;
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
                // OBF's way to say that a position has no scored move.
                "--" => {}
                // A pass, a game that is over, or the score without its move.
                "" => without_move = Some(parse_score(score)?),
                "pa" | "ps" if legal == 0 => without_move = Some(parse_score(score)?),
                "pa" | "ps" => return Err(NotationError::IllegalScored(square.trim().to_owned())),
                name => {
                    let to: Square = name.parse()?;
                    if legal & to.bit() == 0 {
                        return Err(NotationError::IllegalScored(to.to_string()));
                    }
                    if moves.iter().any(|&(known, _)| known == to) {
                        return Err(NotationError::ScoredTwice(to));
                    }
                    moves.push((to, parse_score(score)?));
                }
            }
        }
        let score = moves.iter().map(|&(_, score)| score).max().or(without_move);
        Ok(Self { diagram, score, moves })
    }
}

fn parse_score(text: &str) -> Result<i32, NotationError> {
    let score = text.trim().parse().ok().filter(|score| (-64..=64).contains(score));
    score.ok_or_else(|| NotationError::Score(excerpt(text.trim())))
}

/// A game, or the beginning of one, as the moves from the start position: `f5d6c3`. Parsing accepts capital letters, passes, and
/// spaces between moves; passes are not written.
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
        let transcript = Self { moves: moves.to_vec() };
        transcript.replay(|_, _| ())?;
        Ok(transcript)
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
        self.replay(|_, _| ()).expect("a transcript holds legal moves only")
    }

    /// Calls `visit` with each diagram and the move played in it.
    fn replay(&self, mut visit: impl FnMut(Diagram, Square)) -> Result<Diagram, NotationError> {
        let mut diagram = Diagram::START;
        for (i, &square) in self.moves.iter().enumerate() {
            visit(diagram, square);
            let next = diagram.try_play(square);
            diagram = next.map_err(|reason| NotationError::Illegal { ply: i + 1, square, reason })?.pass_if_needed();
        }
        Ok(diagram)
    }

    /// Each diagram of the game with the move played in it.
    pub fn steps(&self) -> Vec<(Diagram, Square)> {
        let mut steps = Vec::with_capacity(self.moves.len());
        self.replay(|diagram, square| steps.push((diagram, square))).expect("a transcript holds legal moves only");
        steps
    }
}

impl FromStr for Transcript {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut moves = Vec::with_capacity(text.len() / 2);
        for word in text.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("pass")) {
            let mut characters = word.chars();
            while let Some(first) = characters.next() {
                let name: String = std::iter::once(first).chain(characters.next()).collect();
                // Some programs write passes; they carry no information.
                if !matches!(name.to_ascii_lowercase().as_str(), "--" | "ps" | "pa") {
                    moves.push(name.parse()?);
                }
            }
        }
        Self::from_moves(&moves)
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.moves.iter().try_for_each(|square| write!(f, "{square}"))
    }
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
        let error = |text: &str| text.parse::<ScoredDiagram>().unwrap_err();
        assert_eq!(error("XO X"), NotationError::BoardLength(2));
        assert_eq!(error(&board.replace('O', "Q")), NotationError::SquareContent { column: 28, found: 'Q' });
        assert_eq!(error(board), NotationError::SideToMove(String::new()));
        assert_eq!(error(&format!("{board} Y")), NotationError::SideToMove("Y".into()));
        assert_eq!(error(&format!("{board} X 65")), NotationError::Score("65".into()));
        assert!(matches!(error(&format!("{board} X; f9:+2;")), NotationError::Square(_)));
        let long = "y".repeat(1_000_000);
        for text in [format!("{board} {long}"), format!("{board} X {long}"), format!("{board} X; {long}:+2;")] {
            assert!(error(&text).to_string().len() < 250, "{text:.70}");
        }
        assert!(format!("{board} X {long}").parse::<Diagram>().unwrap_err().to_string().len() < 250);
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
        for data in ["PS:+4", "PA:+4", "+4"] {
            let scored: ScoredDiagram = format!("{no_move} O; {data};").parse().unwrap();
            assert_eq!((scored.score, scored.moves.len()), (Some(4), 0), "{data}");
        }
        let error = |data: &str| format!("{board} X; {data};").parse::<ScoredDiagram>().unwrap_err();
        assert_eq!(error("F5:+2; A1:+4"), NotationError::IllegalScored("a1".into()));
        assert_eq!(error("PA:+4"), NotationError::IllegalScored("PA".into()));
        assert_eq!(error("F5:+2; f5:+4"), NotationError::ScoredTwice("f5".parse().unwrap()));
    }

    #[test]
    fn transcripts_round_trip_and_refuse_illegal_moves() {
        let game: Transcript = "F5d6c3".parse().unwrap();
        assert_eq!(game.to_string(), "f5d6c3");
        assert_eq!(game.last().side, Side::White);
        for text in ["f5 d6 c3", "F5D6C3", " F5 d6\tC3 ", "f5d6 PASS c3", "f5--d6PAc3"] {
            assert_eq!(text.parse().as_ref(), Ok(&game), "{text}");
            assert_eq!(text.parse(), Ok(game.last()), "as a position: {text}");
        }
        let error = "f5d6a1".parse::<Transcript>().unwrap_err();
        assert!(matches!(error, NotationError::Illegal { ply: 3, reason: IllegalMove::NoFlips(_), .. }), "{error}");
        assert!("f5d".parse::<Transcript>().is_err());
    }
}
