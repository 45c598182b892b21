//! The unit of values.

use std::fmt;
use std::ops::{Add, Neg, Sub};

/// A value in 1/128 disc for the player to move: the expected or exact disc difference at the end of the game.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Score(pub i32);

impl Score {
    /// Units in a disc.
    pub const DISC: i32 = 128;
    /// The best possible result: 64 discs.
    pub const MAX: Self = Self(64 * Self::DISC);
    /// The worst possible result.
    pub const MIN: Self = Self(-64 * Self::DISC);
    /// Above every value: an open window is `(-INFINITY, INFINITY)`.
    pub const INFINITY: Self = Self(65 * Self::DISC);
    /// Static evaluations stay within plus and minus this, so that only exact results reach 64 discs.
    pub const EVAL_LIMIT: Self = Self(64 * Self::DISC - 1);

    /// An exact result.
    #[inline]
    pub const fn from_discs(discs: i32) -> Self {
        Self(discs * Self::DISC)
    }

    /// A margin in discs, 0 or more; more than 128 discs are 128, the difference between the best and the worst result.
    #[inline]
    pub(crate) fn margin(discs: f32) -> Self {
        Self((discs.clamp(0.0, 128.0) * Self::DISC as f32) as i32)
    }

    /// In discs, not rounded.
    #[inline]
    pub fn discs(self) -> f32 {
        self.0 as f32 / Self::DISC as f32
    }

    /// In whole discs, rounded to the nearest, halves away from zero.
    pub const fn rounded_discs(self) -> i32 {
        (self.0 + self.0.signum() * Self::DISC / 2) / Self::DISC
    }

    /// Clamped to the range of static evaluations.
    #[inline]
    pub fn clamp_eval(self) -> Self {
        Self(self.0.clamp(-Self::EVAL_LIMIT.0, Self::EVAL_LIMIT.0))
    }
}

impl Neg for Score {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Add for Score {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Score {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Score {
    /// Discs with a sign and two decimals, or as many as the formatter's precision.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.*}", f.precision().unwrap_or(2), self.discs())
    }
}
