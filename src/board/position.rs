//! The position from the mover's side, and the rules on it.

use super::square::{Bitboard, Square};
use super::{flip, moves};

/// A position as the player to move sees it: own discs and the opponent's, without colours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Position {
    /// Discs of the player to move.
    pub player: Bitboard,
    /// Discs of the other player.
    pub opponent: Bitboard,
}

/// A move that the rules do not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMove {
    /// The square holds a disc.
    #[error("{0} is occupied")]
    Occupied(Square),
    /// No disc would be turned over.
    #[error("{0} turns no disc over")]
    NoFlips(Square),
}

impl Position {
    /// The position every game starts from, black (the mover) on d5 and e4.
    pub const START: Self = Self { player: 0x0000_0008_1000_0000, opponent: 0x0000_0010_0800_0000 };

    /// A position from two disjoint sets of discs, or `None` if they overlap.
    pub const fn new(player: Bitboard, opponent: Bitboard) -> Option<Self> {
        if player & opponent == 0 { Some(Self { player, opponent }) } else { None }
    }

    /// Squares without a disc.
    #[inline]
    pub const fn empty(self) -> Bitboard {
        !(self.player | self.opponent)
    }

    /// Number of empty squares, 0 to 64 (60 at the start).
    #[inline]
    pub const fn empties(self) -> u32 {
        self.empty().count_ones()
    }

    /// Number of discs, 64 - empties.
    #[inline]
    pub const fn discs(self) -> u32 {
        64 - self.empties()
    }

    /// The squares the player may move to; none means a pass or the end of the game.
    #[inline]
    pub fn moves(self) -> Bitboard {
        moves::moves(self.player, self.opponent)
    }

    /// The squares the opponent could move to, were it their turn.
    #[inline]
    pub fn opponent_moves(self) -> Bitboard {
        moves::moves(self.opponent, self.player)
    }

    /// [`Self::moves`] and [`Self::opponent_moves`], faster than one after the other.
    #[inline]
    pub fn both_moves(self) -> [Bitboard; 2] {
        moves::both(self.player, self.opponent)
    }

    /// The empty squares that may become moves of the player: those next to a disc of the opponent behind which the line goes on. All
    /// [`Self::moves`] are among them.
    #[inline]
    pub fn potential_moves(self) -> Bitboard {
        moves::potential(self.player, self.opponent)
    }

    /// The discs a move to the empty square `to` turns over; 0 if the move is illegal.
    #[inline(always)]
    pub fn flips(self, to: Square) -> Bitboard {
        flip::flips(self.player, self.opponent, to)
    }

    /// How many discs the player and the opponent would turn over by filling `to`, the only empty square; 0 if the move is
    /// illegal. The result is meaningless if other squares are empty too.
    #[inline]
    pub fn count_last_flips(self, to: Square) -> [u32; 2] {
        flip::count_last_flips(self.player, to)
    }

    /// The position after the player's move to `to`, seen by the opponent, who is now to move.
    ///
    /// # Panics
    /// If the move is illegal; [`Self::try_play`] returns an error instead.
    #[inline]
    #[must_use]
    pub fn play(self, to: Square) -> Self {
        match self.try_play(to) {
            Ok(next) => next,
            Err(illegal) => panic!("{illegal}"),
        }
    }

    /// [`Self::play`], or why the move is illegal.
    #[inline]
    pub fn try_play(self, to: Square) -> Result<Self, IllegalMove> {
        if self.empty() & to.bit() == 0 {
            return Err(IllegalMove::Occupied(to));
        }
        match self.flips(to) {
            0 => Err(IllegalMove::NoFlips(to)),
            flips => Ok(self.play_unchecked(to, flips)),
        }
    }

    /// [`Self::play`] with the flips already known and nothing checked: a wrong `to` or `flips` gives a meaningless position
    /// (never undefined behaviour).
    #[inline]
    #[must_use]
    pub const fn play_unchecked(self, to: Square, flips: Bitboard) -> Self {
        Self { player: self.opponent ^ flips, opponent: self.player ^ (flips | to.bit()) }
    }

    /// The same discs with the opponent to move. Only legal as a pass when [`Self::moves`] is empty.
    #[inline]
    #[must_use]
    pub const fn pass(self) -> Self {
        Self { player: self.opponent, opponent: self.player }
    }

    /// Whether neither player has a move.
    pub fn is_game_over(self) -> bool {
        self.moves() == 0 && self.opponent_moves() == 0
    }

    /// The result in discs for the player, -64 to 64, empty squares going to the winner. Meant for finished games.
    #[inline]
    pub const fn final_score(self) -> i32 {
        let difference = self.player.count_ones() as i32 - self.opponent.count_ones() as i32;
        let empties = self.empties() as i32;
        difference + difference.signum() * empties
    }

    /// A hash of the position that is the same on every machine and in every run.
    #[inline]
    pub const fn hash64(self) -> u64 {
        // Folded twice, every bit is good enough to be used on its own.
        fold(self.hashes()[0], 0xa076_1d64_78bd_642f)
    }

    /// Two independent hashes, for hash tables: quicker than [`Self::hash64`], but not every bit of the first is good on its own.
    #[inline]
    pub(crate) const fn hashes(self) -> [u64; 2] {
        let (player, opponent) = (self.player, self.opponent.rotate_left(32));
        [
            fold(player ^ 0x9e37_79b9_7f4a_7c15, opponent ^ 0xd6e8_feb8_6659_fd93),
            fold(player ^ 0xa076_1d64_78bd_642f, opponent ^ 0xe703_7ed1_a0b4_28db),
        ]
    }
}

/// Multiplies to 128 bits and folds the halves: each bit of the result depends on most bits of both factors.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}
