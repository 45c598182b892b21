//! The algorithms: the few lines in which they differ.

use super::algorithm::Algorithm;
use super::explorer::Explorer;
use super::tree::{Successor, Tree};
use flipside::eval::Score;

const LOW: Score = Score(-Score::INFINITY.0);
const HIGH: Score = Score::INFINITY;

/// Null-window searches after which plain MTD(f) gives up and opens the window.
const MTD_MAX_SEARCHES: u32 = 100;

impl<T: Tree> Explorer<'_, T> {
    /// One search to a depth, which a guess of the value may speed up.
    pub(super) fn search_once(&mut self, root: &T::Node, depth: u32, guess: Option<Score>) -> Score {
        match self.algorithm {
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

    /// Minimax at a node where the player at the root is to move. The value is for that player.
    fn maximum(&mut self, node: &T::Node, depth: u32) -> Score {
        self.visit(node, depth, (LOW, HIGH), |search, successors| {
            best(successors, LOW, HIGH, |next, _| search.minimum(&next.node, depth - next.plies))
        })
    }

    /// Minimax at a node where the other player is to move. The value is for the player at the root; the tree and the
    /// table have only values for the player to move.
    fn minimum(&mut self, node: &T::Node, depth: u32) -> Score {
        -self.visit(node, depth, (LOW, HIGH), |search, successors| {
            best(successors, LOW, HIGH, |next, _| -search.maximum(&next.node, depth - next.plies))
        })
    }

    fn negamax(&mut self, node: &T::Node, depth: u32) -> Score {
        self.visit(node, depth, (LOW, HIGH), |search, successors| {
            best(successors, LOW, HIGH, |next, _| -search.negamax(&next.node, depth - next.plies))
        })
    }

    fn fail_hard(&mut self, node: &T::Node, depth: u32, alpha: Score, beta: Score) -> Score {
        let value = self.visit(node, depth, (alpha, beta), |search, successors| {
            best(successors, alpha, beta, |next, best| -search.fail_hard(&next.node, depth - next.plies, -beta, -best))
        });
        value.clamp(alpha, beta)
    }

    fn fail_soft(&mut self, node: &T::Node, depth: u32, alpha: Score, beta: Score) -> Score {
        self.visit(node, depth, (alpha, beta), |search, successors| {
            best(successors, LOW, beta, |next, best| {
                -search.fail_soft(&next.node, depth - next.plies, -beta, -alpha.max(best))
            })
        })
    }

    fn pvs(&mut self, node: &T::Node, depth: u32, alpha: Score, beta: Score) -> Score {
        self.visit(node, depth, (alpha, beta), |search, successors| {
            best(successors, LOW, beta, |next, best| {
                let (node, depth, lower) = (&next.node, depth - next.plies, alpha.max(best));
                if best > LOW {
                    let value = -search.pvs(node, depth, -above(lower), -lower);
                    if value <= lower || value >= beta {
                        return value;
                    }
                }
                -search.pvs(node, depth, -beta, -lower)
            })
        })
    }

    /// Whether the value is above `alpha`: if so, the result is a lower bound above `alpha`, else an upper bound.
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

    /// Eppstein's notes test at the returned value, whether it is a lower or an upper bound. After an upper bound, that
    /// would test the same bound again and end too early. So the next test here is on the other side of the value, and a
    /// value that is returned twice is both a lower and an upper bound.
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

/// The best value of the successors above `start`, or else `start`, and its move. Each is valued with the best so far; none is after one
/// of `beta` or more.
fn best<N>(
    successors: &[Successor<N>],
    start: Score,
    beta: Score,
    mut value_of: impl FnMut(&Successor<N>, Score) -> Score,
) -> (Score, Option<u8>) {
    let (mut best, mut name) = (start, None);
    for successor in successors {
        let value = value_of(successor, best);
        if value > best {
            (best, name) = (value, Some(successor.name));
        }
        if best >= beta {
            break;
        }
    }
    (best, name)
}

/// The next value up: with the values in whole units, nothing lies between.
fn above(score: Score) -> Score {
    Score(score.0 + 1)
}

fn below(score: Score) -> Score {
    Score(score.0 - 1)
}
