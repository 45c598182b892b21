//! The openings a match is played from.

use std::collections::HashSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::board::{Diagram, Position, ScoredDiagram, Square, Transcript, canonical, mirrored, squares};
use crate::record::{Record, RecordError, lines};
use crate::storage::hex;

const XOT: &str = include_str!("../../data/openings/xot.txt");

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

/// The openings of a text: a game or a position a line, as [`lines::read`] takes them.
///
/// # Errors
/// The first line that is not an opening, or a text without any.
pub fn parse_openings(text: &str) -> Result<Vec<Transcript>, RecordError> {
    openings_of(lines::read(text.as_bytes()))
}

/// Records as openings. A position becomes a game that leads to it.
///
/// # Errors
/// The first record that cannot be read, is over, or begins elsewhere than at the start position; or no record at all.
pub fn openings_of(records: impl Iterator<Item = Result<Record, RecordError>>) -> Result<Vec<Transcript>, RecordError> {
    let opening = |(i, record): (usize, Result<Record, RecordError>)| {
        let unfit = |reason| RecordError::new(format_args!("number {}", i + 1), reason);
        let opening = match record? {
            Record::Game(game) => game.transcript().ok_or("the game does not begin at the start position"),
            Record::Position(ScoredDiagram { diagram, .. }) => {
                moves_to(diagram).ok_or("no game from the start position to this one was found: give its moves instead")
            }
        };
        let opening = opening.map_err(unfit)?;
        let is_over = opening.last().position.is_game_over();
        if is_over { Err(unfit("the game is over at the end of the opening")) } else { Ok(opening) }
    };
    let openings: Vec<_> = records.enumerate().map(opening).collect::<Result<_, _>>()?;
    let nothing =
        || RecordError::new("openings", "none found: expected one game a line, such as f5d6c3d3, or one position");
    if openings.is_empty() { Err(nothing()) } else { Ok(openings) }
}

/// A game that leads to a position, to its image if it is of the mirrored start, or to either with the colours exchanged, since some formats do
/// not say whose turn it is. `None` if there is none, or none is found soon.
fn moves_to(target: Diagram) -> Option<Transcript> {
    let mirror = |discs: u64| squares(discs).fold(0, |set, square| set | mirrored(square).bit());
    let Position { player, opponent } = target.position;
    let image = Diagram { position: Position { player: mirror(player), opponent: mirror(opponent) }, ..target };
    let swapped = |diagram: Diagram| Diagram { side: diagram.side.other(), ..diagram };
    [target, image, swapped(target), swapped(image)].into_iter().find_map(|target| {
        let (mut moves, mut seen) = (Vec::new(), HashSet::new());
        let is_found = search_moves(Diagram::START, target.pass_if_needed(), &mut moves, &mut seen);
        is_found.then(|| Transcript::from_moves(&moves).expect("the search plays legal moves"))
    })
}

/// Extends a game to a position by moves to squares that have discs there. All that leads nowhere is remembered.
fn search_moves(now: Diagram, target: Diagram, moves: &mut Vec<Square>, seen: &mut HashSet<Diagram>) -> bool {
    const MOST: usize = 1 << 20;
    if now == target {
        return true;
    }
    if !seen.insert(now) || seen.len() > MOST {
        return false;
    }
    squares(now.position.moves() & !target.position.empty()).any(|to| {
        moves.push(to);
        let next = now.try_play(to).expect("the move is legal").pass_if_needed();
        let is_found = search_moves(next, target, moves, seen);
        if !is_found {
            moves.pop();
        }
        is_found
    })
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
