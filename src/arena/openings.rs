//! The openings a match is played from.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::board::{NotationError, Transcript};

const XOT: &str = include_str!("../../data/openings/xot.txt");

/// A text that is no list of openings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpeningsError {
    /// A line that is no game.
    #[error("line {line}: {reason}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: NotationError,
    },
    /// An opening after which nobody can move.
    #[error("line {line}: the game is over at the end of the opening")]
    GameOver {
        /// Line number, from 1.
        line: usize,
    },
    /// No opening at all.
    #[error("no opening found: expected one game a line, such as f5d6c3d3")]
    Empty,
}

/// The 10,784 balanced openings of 8 plies known as XOT ("extended Othello tournament").
pub fn xot_openings() -> Vec<Transcript> {
    parse_openings(XOT).expect("the built-in openings are legal games")
}

/// Reads openings, one f5d6 transcript a line; empty lines and lines starting with `#` or `%` are skipped.
///
/// # Errors
/// The first line that is no opening, or a text without any.
pub fn parse_openings(text: &str) -> Result<Vec<Transcript>, OpeningsError> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let openings: Vec<_> = lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '%']))
        .map(|(line, text)| {
            let opening: Transcript = text.parse().map_err(|reason| OpeningsError::Line { line, reason })?;
            if opening.last().position.is_game_over() { Err(OpeningsError::GameOver { line }) } else { Ok(opening) }
        })
        .collect::<Result<_, _>>()?;
    if openings.is_empty() { Err(OpeningsError::Empty) } else { Ok(openings) }
}

/// An opening for each pair of a match: a choice without repetition where there are more openings than pairs, drawn by
/// `seed` (a longer choice begins with the shorter one); else all of them in order, again and again.
pub fn select_openings(openings: &[Transcript], pairs: usize, seed: u64) -> Vec<Transcript> {
    if pairs >= openings.len() {
        return openings.iter().cycle().take(pairs).cloned().collect();
    }
    let mut order: Vec<usize> = (0..openings.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order[..pairs].iter().map(|&i| openings[i].clone()).collect()
}
