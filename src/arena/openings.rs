//! The openings a match is played from.

use std::collections::HashSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::board::{NotationError, Transcript, canonical, squares};
use crate::record::lines::data_lines;
use crate::storage::hex;

const XOT: &str = include_str!("../../data/openings/xot.txt");

/// Why a text is not a list of openings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpeningsError {
    /// A line that is not a game.
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

/// The 10,784 balanced openings of 8 plies known as XOT, the large list of Matthias Berg and Borja Moreno (berg.earthlingz.de/xot), even
/// within 2 discs by Edax and NTest.
pub fn xot_openings() -> Vec<Transcript> {
    parse_openings(XOT).expect("the built-in openings are legal games")
}

/// An opening for each position after a number of moves; rotated and mirrored positions count once.
pub fn short_openings(plies: u32) -> Vec<Transcript> {
    let mut openings = vec![Transcript::default()];
    for _ in 0..plies {
        let mut seen = HashSet::new();
        let longer = openings.iter().flat_map(|opening| {
            squares(opening.last().position.moves()).map(|to| {
                let moves: Vec<_> = opening.moves().iter().copied().chain([to]).collect();
                Transcript::from_moves(&moves).expect("each move is legal")
            })
        });
        openings = longer.filter(|opening| seen.insert(canonical(opening.last().position))).collect();
    }
    openings
}

/// Reads openings, one f5d6 transcript a line; empty lines and lines starting with `#` or `%` are skipped.
///
/// # Errors
/// The first line that is not an opening, or a text without any.
pub fn parse_openings(text: &str) -> Result<Vec<Transcript>, OpeningsError> {
    let openings: Vec<_> = data_lines(text.as_bytes())
        .map(|(line, text)| {
            let opening: Transcript = text.parse().map_err(|reason| OpeningsError::Line { line, reason })?;
            if opening.last().position.is_game_over() { Err(OpeningsError::GameOver { line }) } else { Ok(opening) }
        })
        .collect::<Result<_, _>>()?;
    if openings.is_empty() { Err(OpeningsError::Empty) } else { Ok(openings) }
}

/// An opening for each pair of a match, drawn by `seed`: `pairs` of them, or all different ones if there are fewer. A longer choice
/// begins with the shorter one.
///
/// Openings that end in the same position up to symmetry count as one: players whose moves depend only on the position would play the
/// same games again, which proves nothing new.
pub fn select_openings(openings: &[Transcript], pairs: usize, seed: u64) -> Vec<Transcript> {
    let mut seen = HashSet::with_capacity(openings.len());
    let mut different: Vec<&Transcript> =
        openings.iter().filter(|opening| seen.insert(canonical(opening.last().position))).collect();
    different.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    different.into_iter().take(pairs).cloned().collect()
}

/// A name for a list of openings: the SHA-256 of its transcripts, one a line, in hexadecimal.
pub fn hash_openings(openings: &[Transcript]) -> String {
    let mut hash = Sha256::new();
    for opening in openings {
        hash.update(format!("{opening}\n"));
    }
    hex(&hash.finalize())
}
