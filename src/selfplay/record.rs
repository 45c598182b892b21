//! Self-play games as they are kept: moves and labels. The positions follow from the moves.

use crate::board::{Diagram, IllegalMove, Position, Side, Square};
use crate::eval::Score;

/// The kind of a ply, which decides what is learned from its label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlyKind {
    /// The best move of a search was played.
    Greedy,
    /// Another move was played, at random.
    Exploratory,
    /// The value is exact.
    Exact,
}

/// What self-play says about a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its value by search, for the side to move.
    pub value: Score,
    /// How the move was chosen.
    pub kind: PlyKind,
    /// The principal variation, if the label is learned at its end ([`UpdateTarget::Tdleaf`](super::UpdateTarget)); else
    /// empty. Passes are left out.
    pub line: Vec<Square>,
}

/// A whole game of self-play: its moves, and a label for each position after the random opening.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameRecord {
    moves: Vec<Square>,
    labels: Vec<Label>,
}

/// A labelled position of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ply {
    /// The position.
    pub position: Position,
    /// The side to move.
    pub side: Side,
    /// Its value by search, for the side to move.
    pub value: Score,
    /// How the move was chosen.
    pub kind: PlyKind,
    /// The leaf of the principal variation and the side to move there, if the label is learned there. `None` if the game is over
    /// at the leaf: there is nothing to evaluate.
    pub leaf: Option<(Position, Side)>,
}

/// A game with its positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// The labelled positions in order.
    pub plies: Vec<Ply>,
    /// The result for the side of the last labelled ply.
    pub result: Score,
}

/// Why moves and labels are not a game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct GameError(String);

impl GameRecord {
    /// A game from all its moves, without passes, and its labels, which belong to the positions before the last moves. The moves
    /// without a label are the random opening.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(moves: Vec<Square>, labels: Vec<Label>) -> Result<Self, GameError> {
        if labels.len() > moves.len() {
            return Err(GameError(format!("{} labels for {} moves", labels.len(), moves.len())));
        }
        if let Some(label) = labels.iter().position(|label| label.value.0.abs() > Score::MAX.0) {
            return Err(GameError(format!("the value of label {} is beyond 64 discs", label + 1)));
        }
        let game = Self { moves, labels };
        game.play_through(|_| ())?;
        Ok(game)
    }

    /// All moves from the start position. Passes are left out.
    pub fn moves(&self) -> &[Square] {
        &self.moves
    }

    /// The labels of the positions after the random opening.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Number of random moves at the beginning, which have no label.
    pub fn opening(&self) -> usize {
        self.moves.len() - self.labels.len()
    }

    /// The game with its positions.
    pub fn replay(&self) -> Replay {
        let mut plies: Vec<Ply> = Vec::with_capacity(self.labels.len());
        let end = self.play_through(|ply| plies.push(ply)).expect("checked when it was made");
        let result = Score::from_discs(end.position.final_score());
        let last_side = plies.last().map_or(end.side, |ply| ply.side);
        Replay { plies, result: if last_side == end.side { result } else { -result } }
    }

    /// Plays the game to its end and calls `each` with the labelled plies.
    fn play_through(&self, mut each: impl FnMut(Ply)) -> Result<Diagram, GameError> {
        let mut diagram = Diagram::START;
        for (i, &to) in self.moves.iter().enumerate() {
            let number = i + 1;
            if let Some(Label { value, kind, line }) = i.checked_sub(self.opening()).map(|label| &self.labels[label]) {
                let Diagram { position, side } = diagram;
                let leaf = if line.is_empty() { Ok(None) } else { leaf(diagram, line) };
                let leaf =
                    leaf.map_err(|reason| GameError(format!("the principal variation at move {number}: {reason}")))?;
                each(Ply { position, side, value: *value, kind: *kind, leaf });
            }
            let next = diagram.try_play(to).map_err(|reason| GameError(format!("move {number}: {reason}")))?;
            diagram = next.pass_if_needed();
        }
        if diagram.position.moves() != 0 {
            return Err(GameError(format!("the game stops after {} moves, before its end", self.moves.len())));
        }
        Ok(diagram)
    }
}

/// The position at the end of a principal variation whose evaluation is the variation's value; `None` if the game is over there.
pub(crate) fn leaf(mut diagram: Diagram, line: &[Square]) -> Result<Option<(Position, Side)>, IllegalMove> {
    for &to in line {
        diagram = diagram.try_play(to)?.pass_if_needed();
    }
    let Diagram { position, side } = diagram;
    Ok((position.moves() != 0).then_some((position, side)))
}
