//! One game with everything a record may say about it.

use crate::board::{Diagram, NotationError, ScoredDiagram, Square, Transcript};

/// A player's note on a move.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MoveNote {
    /// The player's evaluation of the position, in discs for the player.
    pub evaluation: Option<f32>,
    /// Thinking time.
    pub seconds: Option<f32>,
}

/// How a game came to its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Finish {
    /// By the discs on the board, or unknown.
    #[default]
    Played,
    /// A player gave up.
    Resigned,
    /// A player ran out of time, or lost by an illegal move or a crash: the position does not show it.
    Forfeited,
    /// The players agreed on it.
    Agreed,
}

/// The result of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameResult {
    /// Disc difference for black, -64 to 64, empty squares going to the winner.
    pub discs: i32,
    /// How it came about.
    pub finish: Finish,
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
    /// Where or for what it was played.
    pub place: Option<String>,
    /// When it was played, in the record's own form.
    pub date: Option<String>,
    /// The time allowed, in GGF's form such as `05:00//02:00`.
    pub clock: Option<String>,
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
            place: None,
            date: None,
            clock: None,
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

    /// A game from the start position. If it is over, its result is set.
    pub fn from_transcript(transcript: &Transcript) -> Self {
        let mut game = Self::new(Diagram::START);
        for &square in transcript.moves() {
            game.push(square, MoveNote::default()).expect("a transcript holds legal moves only");
        }
        game.result = game.score_on_board();
        game
    }

    /// Adds a move of the player to move. A pass before it is implied.
    ///
    /// # Errors
    /// The rules do not allow it.
    pub fn push(&mut self, square: Square, note: MoveNote) -> Result<(), NotationError> {
        let ply = self.moves.len() + 1;
        let next = self.last.try_play(square);
        let next = next.map_err(|reason| NotationError::Illegal { ply, square, reason })?;
        self.arrive(next);
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

    /// The game as a transcript, or `None` if it did not begin at the start position.
    pub fn transcript(&self) -> Option<Transcript> {
        let moves: Vec<_> = self.moves.iter().map(|&(square, _)| square).collect();
        (self.start == Diagram::START).then(|| Transcript::from_moves(&moves).expect("a game holds legal moves only"))
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
