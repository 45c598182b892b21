//! Statistics of paired matches, as pure functions.
//!
//! A pair is two games from one opening with colours swapped. Its two results are correlated (a lopsided opening gives a win
//! to each side), so the pair, not the game, is the unit of every variance here. A pair scores 0, 0.5, 1, 1.5 or 2 points;
//! the counts of those five results are the pentanomial.
//!
//! With N pairs, m the mean score per game (0 to 1), v the variance of a pair's mean score:
//! - Elo = 400 log10(m / (1 - m)): A. E. Elo, "The Rating of Chessplayers, Past and Present", 1978.
//! - Interval: Wilson's score interval for m (E. B. Wilson, "Probable inference, the law of succession, and statistical
//!   inference", 1927), with N replaced by N / r, where r = v / (m (1 - m)) says how much less a pair varies than one coin
//!   of the same mean. Shrinking r towards 1 with the weight of one pair keeps the interval honest if v is 0: it always has
//!   some width, and at 0% or 100% one end stays finite.
//! - Interval of the mean disc difference: Student's t.
//! - Likelihood of superiority: the normal distribution function of (m - 1/2) / sqrt(r / (4N)). It exceeds 97.5% exactly if
//!   the 95% interval lies above 0 Elo.
//! - SPRT: see [`Sprt`].

use serde::Serialize;

/// Points of a pair's five possible results, divided by two: the score per game.
const PAIR_SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The 97.5% quantile of the normal distribution: two-sided 95% intervals.
pub(super) const Z95: f64 = 1.959_963_984_540_054;

/// A value with its 95% interval. Ends may be infinite if no game was lost, or none won.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl From<Estimate> for [f64; 3] {
    fn from(Estimate { value, low, high }: Estimate) -> Self {
        [value, low, high]
    }
}

/// The results of a match so far, always from the first player's side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Pairs that scored 0, 0.5, 1, 1.5 and 2 points.
    pub pairs: [u64; 5],
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    disc_sum: i64,
    disc_square_sum: u64,
}

impl Tally {
    /// Counts a pair, given the first player's disc differences (-64 to 64) in its two games.
    pub fn add(&mut self, discs: [i32; 2]) {
        let points: i32 = discs.iter().map(|d| d.signum() + 1).sum();
        self.pairs[points as usize] += 1;
        for d in discs {
            let count = match d.signum() {
                1 => &mut self.wins,
                0 => &mut self.draws,
                _ => &mut self.losses,
            };
            *count += 1;
        }
        let sum = i64::from(discs[0]) + i64::from(discs[1]);
        self.disc_sum += sum;
        self.disc_square_sum += sum.unsigned_abs().pow(2);
    }

    /// Number of pairs.
    pub fn pair_count(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// The mean score per game, 0 to 1 (a draw is a half); 0.5 before the first pair.
    pub fn score(&self) -> f64 {
        mean(&self.pairs.map(|count| count as f64)).unwrap_or(0.5)
    }

    /// The same pairs for the second player.
    #[must_use]
    pub fn turned(&self) -> Self {
        let mut pairs = self.pairs;
        pairs.reverse();
        Self { wins: self.losses, losses: self.wins, disc_sum: -self.disc_sum, pairs, ..*self }
    }

    /// Elo difference with its 95% interval. Before the first pair: 0, from minus to plus infinity.
    pub fn elo(&self) -> Estimate {
        let (Some(score), Some(n)) = (mean(&self.pairs.map(|count| count as f64)), self.effective_pairs()) else {
            return Estimate { value: 0.0, low: f64::NEG_INFINITY, high: f64::INFINITY };
        };
        let shrink = Z95 * Z95 / n;
        let middle = (score + shrink / 2.0) / (1.0 + shrink);
        let half = (Z95 * (score * (1.0 - score) / n + shrink / (4.0 * n)).sqrt()) / (1.0 + shrink);
        // At 0% and 100% one end is the score itself, which rounding must not move.
        let low = if score == 0.0 { 0.0 } else { middle - half };
        let high = if score == 1.0 { 1.0 } else { middle + half };
        Estimate { value: elo_of_score(score), low: elo_of_score(low), high: elo_of_score(high) }
    }

    /// Likelihood of superiority: the probability, 0 to 1, that the first player is the stronger one. 0.5 before any pair.
    pub fn superiority(&self) -> f64 {
        let Some(n) = self.effective_pairs() else { return 0.5 };
        let z = (self.score() - 0.5) * 2.0 * n.sqrt();
        normal_distribution(z)
    }

    /// Mean disc difference per game with its 95% interval within 64 discs; 0 before the first pair.
    pub fn discs(&self) -> Estimate {
        let n = self.pair_count() as f64;
        let mean = self.disc_sum as f64 / n.max(1.0);
        let variance = (self.disc_square_sum as f64 - n * mean * mean).max(0.0) / (n - 1.0);
        let half = if n < 2.0 { f64::INFINITY } else { t95(n - 1.0) * (variance / n).sqrt() / 2.0 };
        let value = mean / 2.0;
        Estimate { value, low: (value - half).max(-64.0), high: (value + half).min(64.0) }
    }

    /// The number of independent coins of the same mean whose average would vary as much as that of these pairs: N / r of the
    /// module's documentation. `None` before the first pair.
    fn effective_pairs(&self) -> Option<f64> {
        let counts = self.pairs.map(|count| count as f64);
        let (n, score) = (counts.iter().sum::<f64>(), mean(&counts)?);
        let coin = score * (1.0 - score);
        let squares = counts.iter().zip(PAIR_SCORES).map(|(count, s)| count * (s - score).powi(2));
        let ratio = if coin == 0.0 { 1.0 } else { (squares.sum::<f64>() / coin + 1.0) / (n + 1.0) };
        Some(n / ratio)
    }
}

/// The 97.5% quantile of Student's t distribution, by its expansion in powers of 1 / `freedom` (M. Abramowitz and I. A. Stegun,
/// "Handbook of Mathematical Functions", 1964, 26.7.5): a ninth too small at one degree of freedom, right to 1% from two on.
fn t95(freedom: f64) -> f64 {
    let z = Z95;
    let terms = [
        z.powi(3) + z,
        5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z,
        3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z,
        79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z,
    ];
    let divisors = [4.0, 96.0, 384.0, 92_160.0];
    let parts = (1..).zip(terms).zip(divisors).map(|((power, term), divisor)| term / divisor / freedom.powi(power));
    z + parts.sum::<f64>()
}

/// The probability that a normally distributed number is at most `deviations` standard deviations above its mean.
pub(super) fn normal_distribution(deviations: f64) -> f64 {
    0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2)
}

/// Mean score per game of pentanomial counts; `None` if there are none.
fn mean(counts: &[f64; 5]) -> Option<f64> {
    let n: f64 = counts.iter().sum();
    (n > 0.0).then(|| counts.iter().zip(PAIR_SCORES).map(|(count, score)| count * score).sum::<f64>() / n)
}

/// The Elo difference that makes a score (0 to 1) the expected one; infinite at 0 and 1.
fn elo_of_score(score: f64) -> f64 {
    400.0 * (score / (1.0 - score)).log10()
}

/// The expected score, 0 to 1, at an Elo difference.
fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Which of the two hypotheses a sequential test accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hypothesis {
    /// The difference is `elo0` or less.
    H0,
    /// The difference is `elo1` or more.
    H1,
}

/// A sequential probability ratio test of H0 "the difference is `elo0`" against H1 "it is `elo1`" (logistic Elo).
///
/// Bounds after A. Wald, "Sequential Tests of Statistical Hypotheses", 1945. The likelihoods are those of the pentanomial
/// distributions that fit the counts best under the constraint of either mean: the generalised test of X. Li, J. Liu and
/// Z. Ying, "Generalized Sequential Probability Ratio Test for Separate Families of Hypotheses", 2014, as M. Van den Bergh
/// derives it for match results in "A Practical Introduction to the GSPRT" (which also gives results not seen yet a count of
/// a thousandth).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sprt {
    elo0: f64,
    elo1: f64,
    lower: f64,
    upper: f64,
}

/// Why a sequential test makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SprtError(String);

impl Sprt {
    /// A test that accepts H1 with probability `alpha` if H0 is true, and H0 with probability `beta` if H1 is true.
    ///
    /// # Errors
    /// Hypotheses out of order or beyond 2000 Elo, or probabilities not within 0 to 0.5.
    pub fn new(elo0: f64, elo1: f64, alpha: f64, beta: f64) -> Result<Self, SprtError> {
        if !(-2000.0 <= elo0 && elo0 < elo1 && elo1 <= 2000.0) {
            let reason = format!("SPRT needs elo0 < elo1, both within -2000 to 2000; got {elo0} and {elo1}");
            return Err(SprtError(reason));
        }
        if !(0.0 < alpha && alpha < 0.5 && 0.0 < beta && beta < 0.5) {
            let reason = format!("SPRT needs error probabilities above 0 and below 0.5; got {alpha} and {beta}");
            return Err(SprtError(reason));
        }
        Ok(Self { elo0, elo1, lower: (beta / (1.0 - alpha)).ln(), upper: ((1.0 - beta) / alpha).ln() })
    }

    /// The two hypotheses, in Elo.
    pub fn hypotheses(&self) -> (f64, f64) {
        (self.elo0, self.elo1)
    }

    /// The log-likelihood ratios at which either hypothesis is accepted.
    pub fn bounds(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }

    /// The generalised log-likelihood ratio of H1 over H0; 0 before the first pair.
    pub fn llr(&self, tally: &Tally) -> f64 {
        if tally.pair_count() == 0 {
            return 0.0;
        }
        let counts = tally.pairs.map(|count| if count == 0 { 1e-3 } else { count as f64 });
        let under_h0 = most_likely_with_mean(&counts, score_of_elo(self.elo0));
        let under_h1 = most_likely_with_mean(&counts, score_of_elo(self.elo1));
        (0..5).map(|i| counts[i] * (under_h1[i] / under_h0[i]).ln()).sum()
    }

    /// The hypothesis accepted at a log-likelihood ratio, or `None` if more games are needed.
    pub fn decide(&self, llr: f64) -> Option<Hypothesis> {
        if llr >= self.upper {
            Some(Hypothesis::H1)
        } else if llr <= self.lower {
            Some(Hypothesis::H0)
        } else {
            None
        }
    }
}

/// Of the distributions over the five pair results with a given mean, the one under which the counts (all positive) are most likely.
///
/// With Lagrange multipliers it is p / (1 + x (s - mean)), p being the observed shares and s the scores; x is the root of a
/// falling function between two poles, found by bisection.
fn most_likely_with_mean(counts: &[f64; 5], wanted: f64) -> [f64; 5] {
    let n: f64 = counts.iter().sum();
    let offsets = PAIR_SCORES.map(|score| score - wanted);
    let excess = |x: f64| (0..5).map(|i| counts[i] * offsets[i] / (1.0 + x * offsets[i])).sum::<f64>();
    let (mut low, mut high) = (-1.0 / offsets[4], -1.0 / offsets[0]);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let x = if excess(low).is_finite() { low } else { high };
    std::array::from_fn(|i| counts[i] / n / (1.0 + x * offsets[i]))
}
