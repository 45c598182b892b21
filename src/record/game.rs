//! One game with everything a record may say about it.

use super::result::{Finish, GameResult};
use crate::board::{Diagram, IllegalMove, ScoredDiagram, Side, Square, Transcript, mirrored, start_of};

/// A player's note on a move.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveNote {
    /// The player's evaluation of the position, in discs for the player.
    pub evaluation: Option<f32>,
    /// Thinking time.
    pub seconds: Option<f32>,
}

/// A game, finished or not, from the start position or another one.
#[derive(Clone, PartialEq, Debug)]
pub struct Game {
    start: Diagram,
    moves: Vec<(Square, MoveNote)>,
    last: Diagram,
    pass_due: bool,
    /// Black's name, empty if unknown.
    pub black: String,
    /// White's name, empty if unknown.
    pub white: String,
    /// What else the record says, under the names of GGF: `PC` (place), `DT` (date), `RB` and `RW` (ratings), `TI` (time), `TY` (type).
    pub tags: Vec<(String, String)>,
    /// Discs that the record subtracts from black's in its result. [`Self::result`] is the one before.
    pub komi: f64,
    /// The result, if known.
    pub result: Option<GameResult>,
}

impl Game {
    /// A game without moves, without names.
    pub fn new(start: Diagram) -> Self {
        let (black, white) = (String::new(), String::new());
        let mut game = Self {
            start,
            moves: Vec::new(),
            last: start,
            pass_due: false,
            black,
            white,
            tags: Vec::new(),
            komi: 0.0,
            result: None,
        };
        game.arrive(start);
        game
    }

    /// Forgets the moves and begins elsewhere; names and the like stay.
    pub(super) fn restart(&mut self, start: Diagram) {
        self.moves.clear();
        self.start = start;
        self.arrive(start);
    }

    /// Makes a position the last one, after a pass if one is due.
    fn arrive(&mut self, diagram: Diagram) {
        self.last = diagram.pass_if_needed();
        self.pass_due = self.last.side != diagram.side;
    }

    /// A game from its moves, from whichever start position the first is legal. If it is over, its result is set.
    ///
    /// # Errors
    /// The first illegal move.
    pub fn from_moves(moves: &[Square]) -> Result<Self, String> {
        let mut game = Self::new(start_of(moves));
        moves.iter().try_for_each(|&square| game.push(square, MoveNote::default()))?;
        game.result = game.score_on_board();
        Ok(game)
    }

    /// What the record says under a name of GGF; empty if nothing.
    pub fn tag(&self, name: &str) -> &str {
        self.tags.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Adds what the record says under a name of GGF.
    pub fn add_tag(&mut self, name: &str, value: impl Into<String>) {
        self.tags.push((name.to_owned(), value.into()));
    }

    /// Adds a move of the player to move. A pass before it is implied.
    ///
    /// # Errors
    /// The rules do not allow it.
    pub fn push(&mut self, square: Square, note: MoveNote) -> Result<(), String> {
        let ply = self.moves.len() + 1;
        let illegal = |reason: IllegalMove| format!("move {ply} ({square}): {reason}");
        self.arrive(self.last.try_play(square).map_err(illegal)?);
        self.moves.push((square, note));
        Ok(())
    }

    /// Takes the last move back; `None` if there is none.
    pub fn pop(&mut self) -> Option<Square> {
        let (square, _) = self.moves.pop()?;
        let last = self.steps().last();
        self.arrive(last.map_or(self.start, |(before, to)| before.try_play(to).expect("the moves before were legal")));
        Some(square)
    }

    /// Whether the record ends without the pass before [`Self::last`].
    pub fn pass_is_due(&self) -> bool {
        self.pass_due
    }

    /// Notes that the record has the pass before [`Self::last`].
    pub fn note_pass(&mut self) {
        self.pass_due = false;
    }

    /// The position the game started from.
    pub fn start(&self) -> Diagram {
        self.start
    }

    /// The position after the last move. A player without a move has passed, unless the game is over.
    pub fn last(&self) -> Diagram {
        self.last
    }

    /// The moves with their notes, passes left out.
    pub fn moves(&self) -> &[(Square, MoveNote)] {
        &self.moves
    }

    /// Each position of the game with the move played in it.
    pub fn steps(&self) -> impl Iterator<Item = (Diagram, Square)> {
        let mut diagram = self.start.pass_if_needed();
        self.moves.iter().map(move |&(square, _)| {
            let before = diagram;
            diagram = before.try_play(square).expect("a game holds legal moves only").pass_if_needed();
            (before, square)
        })
    }

    /// The moves and passes in order, each with the side that made it; a pass has no square.
    pub fn turns(&self) -> impl Iterator<Item = (Side, Option<(Square, MoveNote)>)> {
        let mut side = self.start.side;
        let moves = self.steps().zip(&self.moves).map(|((diagram, _), &played)| (diagram.side, Some(played)));
        let end = (self.last.side, None);
        let mut turns = Vec::with_capacity(self.moves.len() + 1);
        for (mover, played) in moves.chain([end]) {
            let is_end = played.is_none();
            if mover != side && !(is_end && self.pass_due) {
                turns.push((side, None));
            }
            if !is_end {
                turns.push((mover, played));
                side = mover.other();
            }
        }
        turns.into_iter()
    }

    /// The game as a transcript, mirrored if it began at the mirrored start, or `None` if it began elsewhere.
    pub fn transcript(&self) -> Option<Transcript> {
        let turn = match self.start {
            Diagram::START => |square| square,
            Diagram::MIRRORED_START => mirrored,
            _ => return None,
        };
        let moves: Vec<_> = self.moves.iter().map(|&(square, _)| turn(square)).collect();
        Some(Transcript::from_moves(&moves).expect("a game holds legal moves only"))
    }

    /// The result by the discs on the board, or `None` if the game is not over.
    pub fn score_on_board(&self) -> Option<GameResult> {
        let discs = self.last.final_score_for_black();
        self.last.position.is_game_over().then_some(GameResult { discs, finish: Finish::Played })
    }

    /// The result in discs for black: by the board if the game is over, else as the players agreed. A game that was resigned or lost on
    /// time has none.
    pub fn exact_discs(&self) -> Option<i32> {
        let result = self.score_on_board().or(self.result);
        result.filter(|result| matches!(result.finish, Finish::Played | Finish::Agreed)).map(|result| result.discs)
    }

    /// Each position with the move played in it, both scored by [`Self::exact_discs`] for the side to move; nothing without such a score.
    pub fn scored_positions(&self) -> impl Iterator<Item = ScoredDiagram> {
        self.exact_discs().into_iter().flat_map(|discs| {
            self.steps().map(move |(diagram, square)| {
                let score = diagram.side.sign() * discs;
                ScoredDiagram { diagram, score: Some(score), moves: vec![(square, score)] }
            })
        })
    }
}

/// One record of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// A game.
    Game(Game),
    /// A position, with or without a score.
    Position(ScoredDiagram),
}

impl Record {
    /// The position, or the one at the end of the game, without a score.
    pub fn into_position(self) -> ScoredDiagram {
        match self {
            Self::Game(game) => ScoredDiagram { diagram: game.last(), score: None, moves: Vec::new() },
            Self::Position(position) => position,
        }
    }
}
