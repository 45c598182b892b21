//! Choosing moves from a book.

use std::cmp::Reverse;

use rand::{Rng, RngExt};

use super::derive::{children_in, open_leaf};
use super::error::BookError;
use super::record::{Deviation, Games, Leaf, Record, Valued, as_played, is_proved, on_board};
use super::store::Book;
use crate::board::{Position, Square, canonical};
use crate::eval::Score;
use crate::search::Analysis;

/// Which of a position's moves to play.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Choice {
    /// The best.
    Best,
    /// Any within this number of discs of the best, with equal probability.
    Varied {
        /// Discs.
        within: f32,
    },
    /// Of those within this number of discs of the best, the one that was played least.
    Surprising {
        /// Discs.
        within: f32,
    },
}

/// A move whose value a book knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BookMove {
    /// The move.
    pub to: Square,
    /// Its value for the player who makes it.
    pub value: Score,
    /// The value for choosing a move: proved wins are above all estimates, proved losses below.
    pub play: i16,
    /// How far the value is from the truth.
    pub error: Deviation,
    /// How it was searched, if it is the best unplayed one.
    pub leaf: Option<Valued>,
    /// The games through the position it leads to, for the player who makes it.
    pub games: Games,
}

impl BookMove {
    /// Whether its value is proved, not estimated.
    pub fn is_proved(&self) -> bool {
        is_proved(self.value, self.play, self.error)
    }
}

impl From<BookMove> for Analysis {
    fn from(found: BookMove) -> Self {
        Self {
            score: found.value,
            best: Some(found.to),
            pv: [found.to].into_iter().collect(),
            depth: found.leaf.and_then(|leaf| leaf.depth).unwrap_or(0).into(),
            nodes: 1,
            exact: found.is_proved(),
            selectivity: None,
        }
    }
}

impl Book {
    /// What the book knows about a position, in any orientation, and the moves whose values it knows, best [`BookMove::play`] first. If
    /// the position is solved, no move counts for more than its value, and the move that solves it comes first.
    ///
    /// # Errors
    /// I/O errors, or damage.
    pub fn moves(&self, position: Position) -> Result<Option<(Record, Vec<BookMove>)>, BookError> {
        let view = self.view()?;
        let Some(record) = view.find(canonical(position))? else { return Ok(None) };
        let children = children_in(&view, record.position)?;
        let mut moves = Vec::with_capacity(children.len() + 1);
        for child in &children {
            let Some(value) = child.derived.value else { continue };
            let there = view.find(child.position)?.map_or(Games::default(), |record| record.games);
            let (play, error) = (child.derived.play, child.derived.error);
            let turn = record.position.play(child.to).moves() != 0;
            let games = if turn { reversed(there) } else { there };
            moves.push(BookMove { to: child.to, value, play, error, leaf: None, games });
        }
        let leaf = open_leaf(&record, &children);
        if let Some(leaf) = leaf
            && let Some(to) = leaf.to
        {
            let play = leaf.play();
            let known = moves.iter().position(|known| known.to == to).map(|known| moves.remove(known));
            let games = known.map_or(Games::default(), |known| known.games);
            moves.push(BookMove { to, value: leaf.score, play, error: leaf.error, leaf: Some(leaf), games });
        }
        let solution = leaf.filter(|leaf| leaf.exact);
        let counted = |known: &BookMove| match solution {
            Some(Valued { score, .. }) => (known.play.min(as_played(score, true)), known.value.min(score)),
            None => (known.play, known.value),
        };
        moves.sort_by_key(|known| {
            let solves = solution.is_some_and(|leaf| leaf.to == Some(known.to));
            (Reverse((counted(known), solves, known.play, known.value)), known.to)
        });
        for known in &mut moves {
            (known.play, known.value) = counted(known);
            known.to = on_board(position, known.to).expect("the record is that of the position");
        }
        Ok(Some((record, moves)))
    }

    /// The move to play in a position, if the book knows one. Random choices are drawn from `random`.
    ///
    /// # Errors
    /// Same as [`Self::moves`].
    pub fn choose(
        &self,
        position: Position,
        choice: Choice,
        random: &mut impl Rng,
    ) -> Result<Option<BookMove>, BookError> {
        let Some((record, moves)) = self.moves(position)? else { return Ok(None) };
        // Until the other moves have been searched, those that were played may all be bad.
        let is_searched = record.leaf != Leaf::Unsearched && !record.lacks_moves(moves.len());
        let Some(&best) = moves.first().filter(|_| is_searched) else { return Ok(None) };
        let near = |within: f32| {
            let margin = Score::margin(within);
            moves.iter().filter(move |known| i32::from(known.play) + margin.0 >= i32::from(best.play)).copied()
        };
        Ok(match choice {
            Choice::Best => Some(best),
            Choice::Varied { within } => {
                let near: Vec<_> = near(within).collect();
                Some(near[random.random_range(0..near.len())])
            }
            // The first of the least played is the best of them.
            Choice::Surprising { within } => near(within).min_by_key(|known| known.games.count()),
        })
    }
}

/// The same games, for the other player.
fn reversed(games: Games) -> Games {
    Games { wins: games.losses, losses: games.wins, discs: games.discs.saturating_neg(), ..games }
}
