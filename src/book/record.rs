//! What a book knows about a position.

use std::ops::RangeInclusive;

use crate::board::{Bitboard, Position, Square, Symmetry, canonical, squares};
use crate::eval::Score;

/// Bytes of a position in a file.
pub(super) const KEY: usize = 17;
/// Bytes of what is known about it.
pub(super) const VALUE: usize = 37;

/// The SHA-256 of a weight file; all zeros for an evaluation without weights.
pub type Hash = [u8; 32];

/// A position as it is stored, which is also the order: the number of discs, then the set of occupied squares and the player's discs. Of the
/// eight images of a position it is that with the least of these numbers. A move only adds one disc to the set, so the parents of a
/// position are found by its occupied squares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key(u8, u128);

impl Key {
    pub fn of(position: Position) -> Self {
        let images = Symmetry::ALL.map(|symmetry| {
            let image = symmetry.position(position);
            (image.player | image.opponent, image.player)
        });
        let (occupied, player) = images.into_iter().min().expect("there are eight");
        Self::new(occupied, player)
    }

    fn new(occupied: Bitboard, player: Bitboard) -> Self {
        Self(occupied.count_ones() as u8, u128::from(occupied) << 64 | u128::from(player))
    }

    fn occupied(self) -> Bitboard {
        (self.1 >> 64) as Bitboard
    }

    /// The canonical position.
    pub fn position(self) -> Position {
        let player = self.1 as Bitboard;
        canonical(Position { player, opponent: self.occupied() & !player })
    }

    /// The number of discs.
    pub fn discs(self) -> u32 {
        self.0.into()
    }

    /// The range of the keys of positions with a number of discs.
    pub fn ply(discs: u32) -> RangeInclusive<Self> {
        Self(discs as u8, 0)..=Self(discs as u8, u128::MAX)
    }

    /// The range of the keys of positions with discs on exactly these squares, in any orientation.
    pub fn on(squares: Bitboard) -> RangeInclusive<Self> {
        let least = Self::of(Position { player: squares, opponent: 0 }).occupied();
        Self::new(least, 0)..=Self::new(least, Bitboard::MAX)
    }

    /// The least key above this one with the same number of discs.
    pub fn next(self) -> Self {
        Self(self.0, self.1.saturating_add(1))
    }

    /// The greatest key below this one with the same number of discs.
    pub fn before(self) -> Self {
        Self(self.0, self.1.saturating_sub(1))
    }

    /// The key halfway between two with the same number of discs.
    pub fn between(first: Self, last: Self) -> Self {
        Self(first.0, first.1 + (last.1 - first.1) / 2)
    }

    pub fn encode(self) -> [u8; KEY] {
        let mut bytes = [0; KEY];
        bytes[0] = self.0;
        bytes[1..].copy_from_slice(&self.1.to_be_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; KEY]) -> Self {
        let mut rest = &bytes[..];
        let [discs] = take(&mut rest);
        Self(discs, u128::from_be_bytes(take(&mut rest)))
    }
}

/// The standard deviation of a value from the truth, in steps of 1/8 disc up to 31.75.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deviation(u8);

impl Deviation {
    /// The deviation of an exact value.
    pub const EXACT: Self = Self(0);
    /// The least deviation of an estimate.
    pub(super) const SMALLEST: Self = Self(1);
    /// The deviation of a value for which nothing was measured.
    pub const UNKNOWN: Self = Self(u8::MAX);
    /// What an unknown deviation counts as when moves are compared: 4 discs.
    const ASSUMED: u8 = 32;
    /// The least deviation when moves are compared, also of exact values: half a disc.
    const LEAST: u8 = 4;

    /// Rounds the deviation of an estimate in discs to the nearest step, at least one.
    pub fn from_discs(discs: f64) -> Self {
        Self((8.0 * discs).round().clamp(0.0, 254.0) as u8).max(Self::SMALLEST)
    }

    /// The deviation in discs, if it is known.
    pub fn discs(self) -> Option<f32> {
        (self != Self::UNKNOWN).then(|| f32::from(self.0) / 8.0)
    }

    /// How many deviations, in 1/256, a value is behind a best one that is higher by `by`.
    pub(super) fn shortfall(self, by: i32) -> u32 {
        let known = if self == Self::UNKNOWN { Self::ASSUMED } else { self.0.max(Self::LEAST) };
        (by.max(0) * 16 / i32::from(known)) as u32
    }
}

/// The best of the moves that do not lead to a position of the book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaf {
    /// Not searched for yet.
    Unsearched,
    /// All moves lead to positions of the book.
    AllPlayed,
    /// Found by a search.
    Best(Valued),
}

impl Leaf {
    /// The rank of a search: exact ones first, then deeper ones.
    fn rank(&self) -> (u8, Option<u8>, bool) {
        match self {
            Self::Unsearched => (0, None, false),
            Self::Best(valued) => (1 + u8::from(valued.exact), valued.depth, valued.to.is_some()),
            Self::AllPlayed => (1, Some(0), true),
        }
    }
}

/// A move and its value, found by a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Valued {
    /// The move. Without one, the score is the value of the whole position, and counts as long as none of its moves is in the book.
    pub to: Option<Square>,
    /// The value for the player to move.
    pub score: Score,
    /// The search depth in plies, or the level of the engine that gave the value, at most [`Self::MAX_DEPTH`]. None if it is unknown.
    pub depth: Option<u8>,
    /// Whether the score is the proved value of the position, which no move in the book can change.
    pub exact: bool,
    /// How far the score is from the truth.
    pub error: Deviation,
}

impl Valued {
    /// The largest depth.
    pub const MAX_DEPTH: u8 = 62;

    /// Whether the score is proved, if only for its move.
    pub fn is_proved(&self) -> bool {
        self.error == Deviation::EXACT
    }

    /// The score as it counts in [`Derived::play`].
    pub(super) fn play(&self) -> i16 {
        as_played(self.score, self.is_proved())
    }
}

/// The results of the games through a position, for the player to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Games {
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
    /// The sum of the results in discs.
    pub discs: i32,
    /// The sum of their squares; less than 2^40.
    pub squares: u64,
}

/// The largest value of [`Games::squares`].
const MAX_SQUARES: u64 = (1 << 40) - 1;

impl Games {
    /// Counts a game by its result in discs for the player to move.
    pub fn add(&mut self, discs: i32) {
        let one = Self {
            wins: u32::from(discs > 0),
            draws: u32::from(discs == 0),
            losses: u32::from(discs < 0),
            discs,
            squares: discs.unsigned_abs().pow(2).into(),
        };
        self.merge(&one);
    }

    /// Adds the counts of other games.
    pub fn merge(&mut self, other: &Self) {
        self.wins = self.wins.saturating_add(other.wins);
        self.draws = self.draws.saturating_add(other.draws);
        self.losses = self.losses.saturating_add(other.losses);
        self.discs = self.discs.saturating_add(other.discs);
        self.squares = (self.squares + other.squares).min(MAX_SQUARES);
    }

    /// The number of games.
    pub fn count(&self) -> u64 {
        u64::from(self.wins) + u64::from(self.draws) + u64::from(self.losses)
    }

    /// The mean result in discs and its standard deviation, if there was a game.
    pub fn mean(&self) -> Option<(f64, f64)> {
        let count = self.count() as f64;
        let mean = f64::from(self.discs) / count;
        (count > 0.0).then(|| (mean, (self.squares as f64 / count - mean * mean).max(0.0).sqrt()))
    }
}

/// What is derived from a record and the records that its moves lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derived {
    /// The negamax value for the player to move: the best of the leaf and the moves in the book. None if nothing is known.
    pub value: Option<Score>,
    /// The same for choosing a move to play: proved wins are above all estimates, proved losses below. 0 without a value.
    pub play: i16,
    /// How far the value is from the truth.
    pub error: Deviation,
    /// How far from best play the nearest search at or below this position is, in 1/256 standard deviations; [`Self::NEVER`] if nothing
    /// is left to search.
    pub priority: u16,
}

impl Derived {
    /// Nothing is left to search.
    pub const NEVER: u16 = u16::MAX;
    /// Nothing is known yet.
    pub const NOTHING: Self = Self { value: None, play: 0, error: Deviation::UNKNOWN, priority: Self::NEVER };
}

/// The offset of proved results from estimates in [`Derived::play`].
const PROVED: i32 = 100 * Score::DISC;

/// A score as it counts in [`Derived::play`].
pub(super) fn as_played(score: Score, exact: bool) -> i16 {
    (if exact { score.0 + score.0.signum() * PROVED } else { score.0 }) as i16
}

/// Whether [`Derived::play`] is that of a proved loss.
pub(super) fn is_lost(play: i16) -> bool {
    i32::from(play) < -PROVED
}

/// Whether a value, which counts as `play`, is proved and not estimated.
pub(super) fn is_proved(value: Score, play: i16, error: Deviation) -> bool {
    error == Deviation::EXACT && play == as_played(value, true)
}

/// All that a book knows about a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The canonical position; its player has a legal move.
    pub position: Position,
    /// The games through it.
    pub games: Games,
    /// The best unplayed move.
    pub leaf: Leaf,
    /// The weights that searched the leaf: their number in the book's list, from 1, or 0 if unknown.
    pub weights: u32,
    /// The derived values.
    pub derived: Derived,
}

impl Record {
    /// A position about which nothing is known.
    pub fn new(position: Position) -> Self {
        Self {
            position,
            games: Games::default(),
            leaf: Leaf::Unsearched,
            weights: 0,
            derived: Derived { priority: 0, ..Derived::NOTHING },
        }
    }

    /// Adds what another book knows about the position.
    pub(super) fn combine(&mut self, other: &Self) {
        self.games.merge(&other.games);
        if other.leaf.rank() > self.leaf.rank() {
            (self.leaf, self.weights, self.derived) = (other.leaf, other.weights, other.derived);
        }
    }

    /// Whether moves are missing if this number of them is known: neither a leaf nor positions of the book stand for them, since positions
    /// were lost, or another program's book has no more.
    pub fn lacks_moves(&self, known: usize) -> bool {
        self.leaf == Leaf::AllPlayed && known < self.position.moves().count_ones() as usize
    }
}

/// Where a move leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// To a canonical position, in which the other player is to move, or after a pass the same one.
    To {
        /// The position.
        position: Position,
        /// Whether the other player is to move; false after a pass.
        turn: bool,
    },
    /// To the end of the game, with its score for the player who moved.
    End(Score),
}

impl Link {
    /// Where a legal move leads.
    pub fn after(position: Position, to: Square) -> Self {
        let next = position.play(to);
        if next.moves() != 0 {
            Self::To { position: canonical(next), turn: true }
        } else if next.opponent_moves() != 0 {
            Self::To { position: canonical(next.pass()), turn: false }
        } else {
            Self::End(Score::from_discs(-next.final_score()))
        }
    }
}

/// The moves of a position and where they lead.
pub fn links(position: Position) -> impl Iterator<Item = (Square, Link)> {
    squares(position.moves()).map(move |to| (to, Link::after(position, to)))
}

/// The square on a board, in any orientation, that corresponds to a square of its canonical position.
pub(super) fn on_board(board: Position, to: Square) -> Option<Square> {
    let book = canonical(board);
    let symmetry = Symmetry::ALL.into_iter().find(|symmetry| symmetry.position(book) == board)?;
    Some(symmetry.square(to))
}

const ALL_PLAYED: u8 = 64;
const UNSEARCHED: u8 = 65;
const WHOLE: u8 = 66;
const EXACT: u8 = 0x80;
const UNKNOWN: u8 = 63;

impl Record {
    /// What is stored for its [`Key`].
    pub(super) fn encode(&self) -> [u8; VALUE] {
        let mut bytes = [0; VALUE];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        let Games { wins, draws, losses, discs, squares } = self.games;
        let (to, valued) = match self.leaf {
            Leaf::Unsearched => (UNSEARCHED, None),
            Leaf::AllPlayed => (ALL_PLAYED, None),
            Leaf::Best(valued) => (valued.to.map_or(WHOLE, |to| to.index() as u8), Some(valued)),
        };
        [wins, draws, losses].iter().for_each(|count| put(&count.to_le_bytes()));
        put(&discs.to_le_bytes());
        put(&squares.to_le_bytes()[..5]);
        put(&self.weights.to_le_bytes());
        put(&[to]);
        put(&valued.map_or(0, |valued| valued.score.0 as i16).to_le_bytes());
        put(&valued.map_or([0, 0], |valued| {
            [
                valued.depth.map_or(UNKNOWN, |depth| depth.min(Valued::MAX_DEPTH))
                    | if valued.exact { EXACT } else { 0 },
                valued.error.0,
            ]
        }));
        put(&self.derived.value.map_or(i16::MIN, |value| value.0 as i16).to_le_bytes());
        put(&self.derived.play.to_le_bytes());
        put(&[self.derived.error.0]);
        put(&self.derived.priority.to_le_bytes());
        bytes
    }

    /// Decodes a record, and checks it so that nothing done with it later can fail.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn decode(key: Key, bytes: &[u8; VALUE]) -> Result<Self, &'static str> {
        let position = key.position();
        if Key::of(position) != key {
            return Err("the position is not stored as the least of its images");
        }
        let mut rest = &bytes[..];
        let [wins, draws, losses] = [(); 3].map(|()| u32::from_le_bytes(take(&mut rest)));
        let discs = i32::from_le_bytes(take(&mut rest));
        let [a, b, c, d, e] = take(&mut rest);
        let games = Games { wins, draws, losses, discs, squares: u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]) };
        let weights = u32::from_le_bytes(take(&mut rest));
        let [to] = take(&mut rest);
        let score = i16::from_le_bytes(take(&mut rest));
        let [depth, error] = take(&mut rest);
        let [value, play] = [(); 2].map(|()| i16::from_le_bytes(take(&mut rest)));
        let [derived_error] = take(&mut rest);
        let priority = u16::from_le_bytes(take(&mut rest));
        let valued = |to| Valued {
            to,
            score: Score(score.into()),
            depth: Some(depth & UNKNOWN).filter(|&depth| depth != UNKNOWN),
            exact: depth & EXACT != 0,
            error: Deviation(error),
        };
        let leaf = match to {
            ALL_PLAYED => Leaf::AllPlayed,
            UNSEARCHED => Leaf::Unsearched,
            WHOLE => Leaf::Best(valued(None)),
            0..64 => Leaf::Best(valued(Some(Square::new(to)))),
            _ => return Err("the best unplayed move is not a square"),
        };
        let value = (value != i16::MIN).then_some(Score(value.into()));
        let derived = Derived { value, play, error: Deviation(derived_error), priority };
        let record = Self { position, games, leaf, weights, derived };
        record.check().map(|()| record)
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.position.moves() == 0 {
            return Err("the player to move has no move");
        }
        let in_range = |score: Score| (Score::MIN..=Score::MAX).contains(&score);
        let limit = (Score::MAX.0 + PROVED) as i16;
        match self.leaf {
            Leaf::Best(Valued { to: Some(to), .. }) if self.position.moves() & to.bit() == 0 => {
                Err("the best unplayed move is illegal")
            }
            Leaf::Best(Valued { score, .. }) if !in_range(score) => {
                Err("the best unplayed move's value is beyond 64 discs")
            }
            _ if self.derived.value.is_some_and(|value| !in_range(value)) => Err("the value is beyond 64 discs"),
            _ if !(-limit..=limit).contains(&self.derived.play) => Err("the value for play is out of range"),
            _ => Ok(()),
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, others) = rest.split_first_chunk().expect("a record has all its fields");
    *rest = others;
    *first
}

/// The moves of a position that lead to positions for which `test` holds.
pub(super) fn moves_where(position: Position, mut test: impl FnMut(Position) -> bool) -> Bitboard {
    links(position).fold(0, |moves, (to, link)| match link {
        Link::To { position, .. } if test(position) => moves | to.bit(),
        _ => moves,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Transcript;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn records_come_back_as_they_were() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..200 {
            for (diagram, square) in Transcript::random(&mut rng).steps() {
                let position = canonical(diagram.position);
                let to = moves_where(position, |_| true) & rng.random::<u64>();
                let valued = Valued {
                    to: (to != 0).then(|| Square::lowest(to)),
                    score: Score(rng.random_range(-8192..=8192)),
                    depth: Some(rng.random_range(0..64)).filter(|&depth| depth <= Valued::MAX_DEPTH),
                    exact: rng.random(),
                    error: Deviation(rng.random()),
                };
                let leaf = [Leaf::Unsearched, Leaf::AllPlayed, Leaf::Best(valued)][rng.random_range(0..3)];
                let mut games = Games::default();
                (0..rng.random_range(0..4)).for_each(|_| games.add(rng.random_range(-64..=64)));
                let value = rng.random_bool(0.7).then(|| Score(rng.random_range(-8192..=8192)));
                let derived = Derived {
                    value,
                    play: rng.random_range(-20_000..20_000),
                    error: Deviation(rng.random()),
                    priority: rng.random(),
                };
                let record = Record { position, games, leaf, weights: rng.random(), derived };
                assert_eq!(Record::decode(Key::of(diagram.position), &record.encode()), Ok(record));
                let shown = on_board(diagram.position, Square::lowest(position.moves())).unwrap();
                assert!(diagram.position.moves() & shown.bit() != 0, "{square}");
                assert_eq!(
                    Link::after(position, Square::lowest(position.moves())),
                    Link::after(diagram.position, shown),
                );
            }
        }
    }

    #[test]
    fn what_no_book_has_is_refused() {
        let position = canonical(Position::START);
        let (key, good) = (Key::of(position), Record::new(position).encode());
        let changed = |at: usize, to: u8| {
            let mut bytes = good;
            bytes[at] = to;
            Record::decode(key, &bytes).unwrap_err()
        };
        assert_eq!(changed(25, 99), "the best unplayed move is not a square");
        assert_eq!(changed(25, 0), "the best unplayed move is illegal");
        let of = |occupied, player| Record::decode(Key::new(occupied, player), &good).unwrap_err();
        assert!(of(!0, 1).contains("no move"));
        for wrong in [of(position.player << 1 | position.opponent, 1), of(1, 3)] {
            assert!(wrong.contains("images"), "{wrong}");
        }
        let mut discs = key;
        discs.0 += 1;
        assert!(Record::decode(discs, &good).unwrap_err().contains("images"));
    }

    #[test]
    fn results_of_games_add_up() {
        let mut games = Games::default();
        [10, -4, 0, 2].iter().for_each(|&discs| games.add(discs));
        assert_eq!((games.wins, games.draws, games.losses, games.count()), (2, 1, 1, 4));
        let (mean, deviation) = games.mean().unwrap();
        assert!((mean - 2.0).abs() < 1e-12 && (deviation - 26f64.sqrt()).abs() < 1e-12);
        assert_eq!(Games::default().mean(), None);
    }
}
