//! The algorithms: the few lines in which they differ.

use std::fmt;
use std::str::FromStr;

use super::explorer::Explorer;
use super::tree::Tree;
use crate::eval::Score;

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
    /// Zero-window searches, each next to the value the one before came back with, until that comes back again; with a
    /// guard against going to and fro (David Eppstein, lecture notes "Variants of alpha-beta search", 1999).
    MtdPlain,
    /// The same between a lower and an upper bound, which cannot oscillate (Aske Plaat, Jonathan Schaeffer, Wim Pijls
    /// and Arie de Bruin, "Best-first fixed-depth minimax algorithms", 1996: MTD(f)).
    MtdF,
    /// Principal variation search: the first move with the window, the others with a null window, and again with the
    /// window where they turn out better (Tony Marsland and Murray Campbell, "Parallel search of strongly ordered game
    /// trees", 1982; Alexander Reinefeld, "An improvement to the Scout tree search algorithm", 1983: NegaScout).
    Pvs,
}

/// A name that is no algorithm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no search algorithm `{0}`")]
pub struct UnknownAlgorithm(pub String);

impl Algorithm {
    /// All, from the plainest on.
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

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Minimax => "minimax",
            Self::Negamax => "negamax",
            Self::AlphaBetaHard => "alpha-beta-hard",
            Self::AlphaBetaSoft => "alpha-beta-soft",
            Self::Aspiration => "aspiration",
            Self::Bisection => "bisection",
            Self::MtdPlain => "mtd-plain",
            Self::MtdF => "mtd-f",
            Self::Pvs => "pvs",
        }
    }

    /// Whether it leaves out what cannot matter.
    pub const fn prunes(self) -> bool {
        !matches!(self, Self::Minimax | Self::Negamax)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|algorithm| algorithm.name() == text);
        known.ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

const LOW: Score = Score(-Score::INFINITY.0);
const HIGH: Score = Score::INFINITY;

/// Null-window searches after which plain MTD(f) gives up and opens the window.
const MTD_MAX_SEARCHES: u32 = 100;

impl<T: Tree> Explorer<'_, T> {
    /// One search to a depth, which a guess of the value may speed up.
    pub(super) fn search_once(
        &mut self,
        algorithm: Algorithm,
        root: &T::Node,
        depth: u32,
        guess: Option<Score>,
    ) -> Score {
        match algorithm {
            Algorithm::Minimax => self.maximum(root, depth),
            Algorithm::Negamax => self.negamax(root, depth),
            Algorithm::AlphaBetaHard => self.fail_hard(root, depth, LOW, HIGH),
            Algorithm::AlphaBetaSoft => self.fail_soft(root, depth, LOW, HIGH),
            Algorithm::Aspiration => self.aspiration(root, depth, guess),
            Algorithm::Bisection => self.bisection(root, depth),
            Algorithm::MtdPlain => self.mtd_plain(root, depth, guess.unwrap_or_default()),
            Algorithm::MtdF => self.mtd_f(root, depth, guess.unwrap_or_default()),
            Algorithm::Pvs => self.pvs(root, depth, LOW, HIGH),
        }
    }

    /// Minimax at a node of the player at the root. The value is that player's.
    fn maximum(&mut self, node: &T::Node, depth: u32) -> Score {
        self.visit(node, depth, (LOW, HIGH), |search, successors| {
            let (mut best, mut name) = (LOW, None);
            for successor in successors {
                let value = search.minimum(&successor.node, depth - successor.plies);
                if value > best {
                    (best, name) = (value, Some(successor.name));
                }
            }
            (best, name)
        })
    }

    /// Minimax at a node of the other player. The value is that of the player at the root; the tree and the table know
    /// only those of the player to move.
    fn minimum(&mut self, node: &T::Node, depth: u32) -> Score {
        -self.visit(node, depth, (LOW, HIGH), |search, successors| {
            let (mut best, mut name) = (HIGH, None);
            for successor in successors {
                let value = search.maximum(&successor.node, depth - successor.plies);
                if value < best {
                    (best, name) = (value, Some(successor.name));
                }
            }
            (-best, name)
        })
    }

    fn negamax(&mut self, node: &T::Node, depth: u32) -> Score {
        self.visit(node, depth, (LOW, HIGH), |search, successors| {
            let (mut best, mut name) = (LOW, None);
            for successor in successors {
                let value = -search.negamax(&successor.node, depth - successor.plies);
                if value > best {
                    (best, name) = (value, Some(successor.name));
                }
            }
            (best, name)
        })
    }

    fn fail_hard(&mut self, node: &T::Node, depth: u32, alpha: Score, beta: Score) -> Score {
        let value = self.visit(node, depth, (alpha, beta), |search, successors| {
            let (mut best, mut name) = (alpha, None);
            for successor in successors {
                let value = -search.fail_hard(&successor.node, depth - successor.plies, -beta, -best);
                if value > best {
                    (best, name) = (value, Some(successor.name));
                }
                if best >= beta {
                    break;
                }
            }
            (best, name)
        });
        value.clamp(alpha, beta)
    }

    fn fail_soft(&mut self, node: &T::Node, depth: u32, alpha: Score, beta: Score) -> Score {
        self.visit(node, depth, (alpha, beta), |search, successors| {
            let (mut best, mut name) = (LOW, None);
            for successor in successors {
                let value = -search.fail_soft(&successor.node, depth - successor.plies, -beta, -alpha.max(best));
                if value > best {
                    (best, name) = (value, Some(successor.name));
                }
                if best >= beta {
                    break;
                }
            }
            (best, name)
        })
    }

    fn pvs(&mut self, node: &T::Node, depth: u32, alpha: Score, beta: Score) -> Score {
        self.visit(node, depth, (alpha, beta), |search, successors| {
            let (mut best, mut name) = (LOW, None);
            for successor in successors {
                let (node, depth, lower) = (&successor.node, depth - successor.plies, alpha.max(best));
                let mut value = lower;
                if name.is_some() {
                    value = -search.pvs(node, depth, -above(lower), -lower);
                }
                if name.is_none() || (value > lower && value < beta) {
                    value = -search.pvs(node, depth, -beta, -lower);
                }
                if value > best {
                    (best, name) = (value, Some(successor.name));
                }
                if best >= beta {
                    break;
                }
            }
            (best, name)
        })
    }

    /// Whether the value is above `alpha`: if so, the answer is a lower bound above `alpha`, else an upper bound.
    fn null_window(&mut self, root: &T::Node, depth: u32, alpha: Score) -> Score {
        self.fail_soft(root, depth, alpha, above(alpha))
    }

    fn aspiration(&mut self, root: &T::Node, depth: u32, guess: Option<Score>) -> Score {
        let Some(guess) = guess else { return self.fail_soft(root, depth, LOW, HIGH) };
        let (mut down, mut up) = (self.options.aspiration.0, self.options.aspiration.0);
        loop {
            let alpha = Score(guess.0.saturating_sub(down)).max(LOW);
            let beta = Score(guess.0.saturating_add(up)).min(HIGH);
            let value = self.fail_soft(root, depth, alpha, beta);
            if value <= alpha {
                down = self.wider(down);
            } else if value >= beta {
                up = self.wider(up);
            } else {
                return value;
            }
        }
    }

    fn wider(&self, distance: i32) -> i32 {
        distance.max(1).saturating_mul(self.options.widening.clamp(2, i32::MAX as u32) as i32)
    }

    fn bisection(&mut self, root: &T::Node, depth: u32) -> Score {
        let (mut lower, mut upper) = (LOW, HIGH);
        while lower < upper {
            let middle = Score((lower.0 + upper.0).div_euclid(2));
            let value = self.null_window(root, depth, middle);
            if value > middle {
                lower = value;
            } else {
                upper = value;
            }
        }
        lower
    }

    /// Eppstein's notes test at the value that came back, whichever side it came from. Below a value that came from
    /// above, that would test the same bound again and end too early; so the next test is on the other side of the
    /// value, and a value that comes back twice is both a lower and an upper bound.
    fn mtd_plain(&mut self, root: &T::Node, depth: u32, guess: Score) -> Score {
        let (mut alpha, mut before) = (guess, None);
        for _ in 0..MTD_MAX_SEARCHES {
            let value = self.null_window(root, depth, alpha);
            if before == Some(value) {
                return value;
            }
            alpha = if value > alpha { value } else { below(value) };
            before = Some(value);
        }
        self.fail_soft(root, depth, LOW, HIGH)
    }

    fn mtd_f(&mut self, root: &T::Node, depth: u32, guess: Score) -> Score {
        let (mut lower, mut upper) = (LOW, HIGH);
        let mut value = guess;
        while lower < upper {
            let beta = if value == lower { above(value) } else { value };
            value = self.null_window(root, depth, below(beta));
            if value < beta {
                upper = value;
            } else {
                lower = value;
            }
        }
        value
    }
}

/// The next value up: with the values in whole units, nothing lies between.
fn above(score: Score) -> Score {
    Score(score.0 + 1)
}

fn below(score: Score) -> Score {
    Score(score.0 - 1)
}
