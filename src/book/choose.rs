//! What to play by a book.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::derive::{children_in, open_leaf};
use super::error::BookError;
use super::record::{Deviation, Games, Leaf, Record, as_played, on_board};
use super::store::Book;
use crate::board::{Position, Square};
use crate::eval::Score;

/// Which of a position's moves to play.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Choice {
    /// The best.
    Best,
    /// Any within this number of discs of the best, all equally likely.
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

/// A move that a book knows the worth of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BookMove {
    /// The move.
    pub to: Square,
    /// Its value for the player who makes it.
    pub value: Score,
    /// The value as play sees it: proved wins are above all estimates, proved losses below.
    pub play: i16,
    /// How far the value is from the truth.
    pub error: Deviation,
    /// Plies that the move was searched to, where it is the best unplayed one.
    pub depth: Option<u8>,
    /// The games that came by its position, for the player who makes it.
    pub games: Games,
}

impl BookMove {
    /// Whether its value is proved, and not estimated.
    pub fn is_proved(&self) -> bool {
        self.error == Deviation::EXACT && self.play == as_played(self.value, true)
    }
}

impl Book {
    /// What the book knows of a position, shown from any side, and the moves it knows the worth of, the best for play first.
    ///
    /// # Errors
    /// The file system's, or damage.
    pub fn moves(&mut self, position: Position) -> Result<Option<(Record, Vec<BookMove>)>, BookError> {
        let Some(record) = self.get(position)? else { return Ok(None) };
        let children = children_in(self, record.position)?;
        let mut moves = Vec::with_capacity(children.len() + 1);
        for child in &children {
            let Some(value) = child.derived.value else { continue };
            let there = self.find(child.position)?.map_or(Games::default(), |record| record.games);
            let (play, error) = (child.derived.play, child.derived.error);
            let turn = record.position.play(child.to).moves() != 0;
            let games = if turn { reversed(there) } else { there };
            moves.push(BookMove { to: child.to, value, play, error, depth: None, games });
        }
        if let Some(leaf) = open_leaf(&record, &children)
            && let Some(to) = leaf.to
        {
            let play = as_played(leaf.score, leaf.exact);
            let known = moves.iter().position(|known| known.to == to).map(|known| moves.remove(known));
            let games = known.map_or(Games::default(), |known| known.games);
            moves.push(BookMove { to, value: leaf.score, play, error: leaf.error, depth: Some(leaf.depth), games });
        }
        moves.sort_by_key(|known| (std::cmp::Reverse((known.play, known.value)), known.to));
        for known in &mut moves {
            known.to = on_board(position, known.to).expect("the record is that of the position");
        }
        Ok(Some((record, moves)))
    }

    /// The move to play in a position, if the book knows one. Chance is drawn from `random`.
    ///
    /// # Errors
    /// As of [`Self::moves`].
    pub fn choose(
        &mut self,
        position: Position,
        choice: Choice,
        random: &mut ChaCha8Rng,
    ) -> Result<Option<BookMove>, BookError> {
        let Some((record, moves)) = self.moves(position)? else { return Ok(None) };
        // Until the other moves were searched, those that were played need not be any good.
        let Some(&best) = moves.first().filter(|_| record.leaf != Leaf::Unsearched) else { return Ok(None) };
        let near = |within: f32| {
            let margin = (within * Score::DISC as f32) as i32;
            moves.iter().filter(move |known| i32::from(known.play) + margin >= i32::from(best.play)).copied()
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

/// The same games for the other player.
fn reversed(games: Games) -> Games {
    Games { wins: games.losses, losses: games.wins, discs: games.discs.saturating_neg(), ..games }
}
