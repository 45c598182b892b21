//! The searches, and where they come from.

/// A search of the literature. All find the same value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Algorithm {
    /// Every node is visited; one player takes the maximum, the other the minimum (John von Neumann, "Zur Theorie der
    /// Gesellschaftsspiele", 1928; Claude Shannon, "Programming a computer for playing chess", 1950).
    Minimax,
    /// The same with one rule for both players: the maximum of the negated values (Donald Knuth and Ronald Moore, "An
    /// analysis of alpha-beta pruning", 1975, function F0).
    Negamax,
    /// Alpha-beta whose value stays within its window (Knuth and Moore 1975, function F2).
    AlphaBetaHard,
    /// Alpha-beta whose value outside the window is still a bound (John Fishburn, "Another optimization of alpha-beta
    /// search", 1983).
    AlphaBetaSoft,
    /// Fail-soft alpha-beta with a window around the guess, wider after each failure (Gerard Baudet, "The design and
    /// analysis of algorithms for asynchronous multiprocessors", 1978).
    Aspiration,
    /// Halving the range of values by null-window searches (Kevin Coplan, "A special-purpose machine for an improved
    /// search algorithm for deep chess combinations", 1982: C*).
    Bisection,
    /// Null-window searches, each next to the value that the one before returned, until a value is returned twice; with a
    /// guard against oscillation (David Eppstein, lecture notes "Variants of alpha-beta search", 1999).
    MtdPlain,
    /// The same between a lower and an upper bound, which cannot oscillate (Aske Plaat, Jonathan Schaeffer, Wim Pijls
    /// and Arie de Bruin, "Best-first fixed-depth minimax algorithms", 1996: MTD(f)).
    MtdF,
    /// Principal variation search: the first move with the window, the others with a null window, and again with the
    /// window if they turn out better (Tony Marsland and Murray Campbell, "Parallel search of strongly ordered game
    /// trees", 1982; Alexander Reinefeld, "An improvement to the Scout tree search algorithm", 1983: NegaScout).
    Pvs,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Minimax,
        Self::Negamax,
        Self::AlphaBetaHard,
        Self::AlphaBetaSoft,
        Self::Aspiration,
        Self::Bisection,
        Self::MtdPlain,
        Self::MtdF,
        Self::Pvs,
    ];

    /// Whether it skips what cannot change the value.
    pub const fn prunes(self) -> bool {
        !matches!(self, Self::Minimax | Self::Negamax)
    }
}
