//! Squares, and walking over the squares of a bitboard.

use std::fmt;
use std::str::FromStr;

/// A set of squares, one bit each: bit 0 is a1, bit 7 is h1, bit 63 is h8.
pub type Bitboard = u64;

/// One of the 64 squares; its index is 8 x row + column, a1 = 0, h1 = 7, a2 = 8, h8 = 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square(u8);

impl Square {
    /// The square of an index.
    ///
    /// # Panics
    /// If `index` is 64 or more.
    #[inline]
    pub const fn new(index: u8) -> Self {
        assert!(index < 64, "a square's index is below 64");
        Self(index)
    }

    /// The square of the lowest bit of a bitboard; a1 if it is empty.
    #[inline]
    pub const fn lowest(bitboard: Bitboard) -> Self {
        Self((bitboard.trailing_zeros() & 63) as u8)
    }

    /// 8 x row + column, 0 to 63.
    #[inline]
    pub const fn index(self) -> usize {
        // The mask changes nothing; it lets the compiler drop bounds checks on tables of 64.
        (self.0 & 63) as usize
    }

    /// The bitboard holding just this square.
    #[inline]
    pub const fn bit(self) -> Bitboard {
        1 << (self.0 & 63)
    }

    /// All 64 squares, a1 first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..64).map(Self)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", (b'a' + self.0 % 8) as char, self.0 / 8 + 1)
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a square, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a square: expected a letter a-h and a digit 1-8, like f5")]
pub struct ParseSquareError(pub String);

impl FromStr for Square {
    type Err = ParseSquareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.as_bytes() {
            &[column, row @ b'1'..=b'8'] if (b'a'..=b'h').contains(&column.to_ascii_lowercase()) => {
                Ok(Self((row - b'1') * 8 + column.to_ascii_lowercase() - b'a'))
            }
            _ => Err(ParseSquareError(excerpt(text))),
        }
    }
}

/// The beginning of a text that may be of any length, for an error.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The squares of a bitboard, lowest index first.
#[inline]
pub const fn squares(bitboard: Bitboard) -> Squares {
    Squares(bitboard)
}

/// Iterator over the squares of a bitboard, made by [`squares`].
#[derive(Clone, Debug)]
pub struct Squares(Bitboard);

impl Iterator for Squares {
    type Item = Square;

    #[inline]
    fn next(&mut self) -> Option<Square> {
        if self.0 == 0 {
            return None;
        }
        let square = Square::lowest(self.0);
        self.0 &= self.0 - 1;
        Some(square)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Squares {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices_agree() {
        assert_eq!("a1".parse::<Square>().unwrap().index(), 0);
        assert_eq!("h1".parse::<Square>().unwrap().index(), 7);
        assert_eq!("F5".parse::<Square>().unwrap().index(), 37);
        for square in Square::all() {
            assert_eq!(square.to_string().parse(), Ok(square));
        }
        for bad in ["", "a", "a0", "a9", "i1", "a11", "ß", "1a"] {
            assert!(bad.parse::<Square>().is_err(), "{bad}");
        }
        assert_eq!("ß".repeat(1000).parse::<Square>(), Err(ParseSquareError("ß".repeat(80))));
    }

    #[test]
    fn squares_walk_lowest_first() {
        let walked: Vec<_> = squares(1 << 63 | 1 << 9 | 1).map(Square::index).collect();
        assert_eq!(walked, [0, 9, 63]);
    }
}
