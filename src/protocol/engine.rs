//! What a server needs from an engine, and our own engine.

use crate::board::{Diagram, Square};
use crate::eval::{Evaluator, Score};
use crate::search::{self, Analysis, Limits, Line, Strength};

/// An engine for a server.
pub trait Engine {
    /// Its name, without line breaks.
    fn name(&self) -> &str {
        env!("CARGO_PKG_NAME")
    }

    /// Its version.
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    /// Its strength where no other limits are given.
    fn strength(&self) -> Strength;

    /// Forgets what it knows of earlier positions.
    fn new_game(&mut self) {}

    /// Analyses a position in which the side to move has a legal move.
    fn think(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis;

    /// Chooses a move to play there: not always the one it thinks best.
    fn choose(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis {
        self.think(diagram, limits)
    }

    /// Gets a finished game: each position with the move played, and black's result in discs.
    fn learn(&mut self, _steps: &[(Diagram, Square)], _black_discs: i32) {}

    /// Analyses any position: after a pass if one is due, and exactly if the game is over.
    fn think_of_any(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis {
        let position = diagram.position;
        if position.moves() != 0 {
            return self.think(diagram, limits);
        }
        if position.opponent_moves() != 0 {
            return self.think(&diagram.pass(), limits).before(None);
        }
        let score = Score::from_discs(position.final_score());
        Analysis { score, best: None, pv: Line::new(), depth: 0, nodes: 1, exact: true, selectivity: None }
    }
}

/// The program's own engine.
impl<E: Evaluator> Engine for search::Engine<'_, E> {
    fn strength(&self) -> Strength {
        self.strength()
    }

    fn new_game(&mut self) {
        self.forget();
    }

    fn think(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis {
        self.analyse_within(&diagram.position, limits)
    }

    fn choose(&mut self, diagram: &Diagram, limits: &Limits<'_>) -> Analysis {
        self.choose_within(&diagram.position, limits)
    }
}
