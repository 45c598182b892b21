//! Searching for the best unplayed move of a position.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::measure::Errors;
use super::record::{Leaf, Valued};
use crate::board::{Bitboard, Position, Square, squares};
use crate::eval::{Evaluator, Score};
use crate::search::{Analysis, Engine, Limits};

/// How many plies less deep the search that discards moves is.
const SHALLOWER: u32 = 4;

/// How many standard deviations of that search's error behind its best move one is still searched to full depth.
const CLOSE: f32 = 2.0;

/// Searches on one thread. What it finds depends on the position alone, not on what it searched before.
#[derive(Debug)]
pub struct LeafSearch<'e, E: Evaluator> {
    engine: Engine<'e, E>,
    errors: Errors,
}

impl<'e, E: Evaluator> LeafSearch<'e, E> {
    /// Searches with an engine; `errors` are those of its weights.
    pub fn new(engine: Engine<'e, E>, errors: Errors) -> Self {
        Self { engine, errors }
    }

    /// Positions with at most this number of empty squares are solved.
    pub fn exact_empties(&self) -> u32 {
        self.engine.strength().exact_empties
    }

    /// The best of a position's moves that are not in `played`; none soon after `stop` is set.
    ///
    /// # Panics
    /// If the player has no move.
    pub fn search(&mut self, position: &Position, played: Bitboard, stop: &AtomicBool) -> Option<Leaf> {
        let limits = Limits { stop, ..Limits::NONE };
        self.engine.forget();
        let unplayed = position.moves() & !played;
        let exact = position.empties() <= self.engine.strength().exact_empties;
        let found = if played == 0 || exact {
            Some(self.engine.analyse_within(position, &limits))
        } else {
            self.best_of(position, unplayed, &limits)
        };
        if stop.load(Relaxed) {
            return None;
        }
        Some(found.map_or(Leaf::AllPlayed, |found| self.leaf(position, &found, played == 0 || exact)))
    }

    /// What was found. If moves were left out (`whole` is false), it is not the value of the position.
    fn leaf(&self, position: &Position, found: &Analysis, whole: bool) -> Leaf {
        let empties = position.empties();
        Leaf::Best(Valued {
            to: found.best,
            score: found.score.clamp(Score::MIN, Score::MAX),
            depth: Some(found.depth.min(Valued::MAX_DEPTH.into()) as u8),
            exact: found.exact && whole,
            error: self.errors.of(empties, if found.exact { empties } else { found.depth }),
        })
    }

    /// The best of some moves: those within [`CLOSE`] standard deviations of the best in a shallower search are searched to full depth.
    fn best_of(&mut self, position: &Position, moves: Bitboard, limits: &Limits<'_>) -> Option<Analysis> {
        let (depth, empties) = (self.engine.strength().depth, position.empties());
        let shallow = depth.saturating_sub(SHALLOWER).max(1);
        let margin =
            self.errors.of(empties, shallow).discs().map(|discs| Score((CLOSE * discs * Score::DISC as f32) as i32));
        let mut candidates: Vec<Square> = squares(moves).collect();
        if shallow < depth
            && candidates.len() > 1
            && let Some(margin) = margin
        {
            let values: Vec<_> =
                candidates.iter().map(|&to| self.analyse_move(position, to, shallow, limits).score).collect();
            let best = values.iter().copied().max().unwrap_or_default();
            let mut values = values.into_iter();
            candidates.retain(|_| values.next().is_some_and(|value| value + margin >= best));
        }
        let analyses = candidates.into_iter().map(|to| self.analyse_move(position, to, depth, limits));
        // The first of the best.
        analyses.reduce(|best, other| if other.score > best.score { other } else { best })
    }

    fn analyse_move(&mut self, position: &Position, to: Square, depth: u32, limits: &Limits<'_>) -> Analysis {
        self.engine.analyse_move(position, to, &Limits { depth: Some(depth), ..*limits })
    }
}
