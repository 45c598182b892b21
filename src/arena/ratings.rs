//! Ratings of many players from pairs of games between them: one fit for all.
//!
//! - Model: a player scores 1 / (1 + 10^((b - a) / 400)) a game, a draw being half a point; a and b are the ratings (R. A. Bradley
//!   and M. E. Terry, "Rank analysis of incomplete block designs", 1952; Elo's scale). The ratings are those under which the scores
//!   are most likely, found by Newton's method; the log-likelihood is concave, and the anchor's rating is 0.
//! - Intervals: games of a pair are correlated, and so are pairs from the same opening. So the opening is the unit of every
//!   variance: with H the information matrix of the model and g the gradient that one opening contributes, the covariance is
//!   H^-1 (sum of g g') H^-1 (P. J. Huber, "The behavior of maximum likelihood estimates under nonstandard conditions", 1967). As in
//!   [`super::stats`], the middle matrix is shrunk with the weight of one opening towards what it would be if every pair were one coin.
//! - If some players won every game against the others, no finite ratings fit best: then a side without a point in a pairing is given
//!   half a point, and [`Ratings::one_sided`] says so.

use std::collections::BTreeSet;

use super::stats::{Estimate, Z95, normal_distribution};

/// Points of a pair of games.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairPoints {
    /// The two players' numbers.
    pub players: [usize; 2],
    /// The opening's number.
    pub opening: usize,
    /// The first player's points doubled, 0 to 4.
    pub half_points: u32,
}

/// Ratings with their errors.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratings {
    /// In units of the natural logarithm of the odds; none for players not connected to the anchor by games.
    values: Vec<Option<f64>>,
    covariance: Matrix,
    one_sided: bool,
}

/// Elo in a unit of the natural logarithm of the odds.
const ELO: f64 = 400.0 / std::f64::consts::LN_10;

/// Newton's method ends when no rating moves by more than this, in units of the natural logarithm of the odds.
const PRECISION: f64 = 1e-11;

/// Newton's method converges quadratically: no data came near this number of steps.
const MOST_STEPS: usize = 200;

impl Ratings {
    /// Rates `count` players; `anchor` is the number of the one whose rating is 0.
    ///
    /// # Panics
    /// If a player's number is `count` or more.
    pub fn fit(count: usize, anchor: usize, results: &[PairPoints]) -> Self {
        let tied = tied_to(anchor, count, results);
        // Unknowns: the tied players except the anchor.
        let mut unknown = vec![None; count];
        let mut unknowns = 0;
        for player in (0..count).filter(|&player| tied[player] && player != anchor) {
            unknown[player] = Some(unknowns);
            unknowns += 1;
        }
        let results: Vec<_> = results.iter().filter(|result| tied[result.players[0]]).copied().collect();
        let (pairings, one_sided) = Pairing::collect(count, &results);
        let system = System { unknown, unknowns, pairings };
        let values = system.solve();
        let covariance = system.covariance(&values, &results);
        let value = |player: usize| tied[player].then(|| system.value(&values, player));
        let values = (0..count).map(value).collect();
        let mut whole = Matrix::zero(count);
        for (a, &row) in system.unknown.iter().enumerate() {
            for (b, &column) in system.unknown.iter().enumerate() {
                if let (Some(row), Some(column)) = (row, column) {
                    *whole.at(a, b) = covariance.get(row, column);
                }
            }
        }
        Self { values, covariance: whole, one_sided }
    }

    /// Whether finite ratings needed a correction.
    pub fn one_sided(&self) -> bool {
        self.one_sided
    }

    /// A player's rating in Elo with its 95% interval, relative to the anchor.
    pub fn elo(&self, player: usize) -> Option<Estimate> {
        self.values[player].map(|value| estimate(value, self.covariance.get(player, player)))
    }

    /// How much higher the first player is rated than the second, in Elo with the 95% interval.
    pub fn difference(&self, first: usize, second: usize) -> Option<Estimate> {
        let (difference, variance) = self.difference_and_variance(first, second)?;
        Some(estimate(difference, variance))
    }

    /// Likelihood of superiority: the probability, 0 to 1, that the first player is the stronger one.
    pub fn superiority(&self, first: usize, second: usize) -> Option<f64> {
        let (difference, variance) = self.difference_and_variance(first, second)?;
        Some(if difference == 0.0 { 0.5 } else { normal_distribution(difference / variance.sqrt()) })
    }

    fn difference_and_variance(&self, first: usize, second: usize) -> Option<(f64, f64)> {
        let covariance = |a, b| self.covariance.get(a, b);
        let variance = covariance(first, first) - 2.0 * covariance(first, second) + covariance(second, second);
        Some((self.values[first]? - self.values[second]?, variance.max(0.0)))
    }
}

fn estimate(value: f64, variance: f64) -> Estimate {
    let half = Z95 * variance.sqrt();
    Estimate { value: ELO * value, low: ELO * (value - half), high: ELO * (value + half) }
}

/// Which players are connected to the anchor by games.
fn tied_to(anchor: usize, count: usize, results: &[PairPoints]) -> Vec<bool> {
    let mut met = Matrix::zero(count);
    for PairPoints { players: [a, b], .. } in results {
        (*met.at(*a, *b), *met.at(*b, *a)) = (1.0, 1.0);
    }
    reached_from(anchor, count, |a, b| met.get(a, b) > 0.0)
}

/// The players that can be reached from one by steps.
fn reached_from(start: usize, count: usize, step: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    let (mut reached, mut waiting) = (vec![false; count], vec![start]);
    reached[start] = true;
    while let Some(from) = waiting.pop() {
        for (to, reached) in reached.iter_mut().enumerate() {
            if !*reached && step(from, to) {
                *reached = true;
                waiting.push(to);
            }
        }
    }
    reached
}

/// All games between two players.
struct Pairing {
    players: [usize; 2],
    games: f64,
    /// The first player's.
    points: f64,
    /// Whether the points were all or none, and were corrected by half a point.
    is_corrected: bool,
}

impl Pairing {
    /// The pairings of all results, and whether they had to be corrected.
    fn collect(count: usize, results: &[PairPoints]) -> (Vec<Self>, bool) {
        let (mut games, mut points) = (Matrix::zero(count), Matrix::zero(count));
        for &PairPoints { players: [a, b], half_points, .. } in results {
            let first_points = f64::from(half_points) / 2.0;
            *games.at(a.min(b), a.max(b)) += 2.0;
            *points.at(a, b) += first_points;
            *points.at(b, a) += 2.0 - first_points;
        }
        // The best ratings are finite exactly if every player can be reached from every other through players who took points.
        let players: Vec<usize> =
            (0..count).filter(|&a| (0..count).any(|b| points.get(a, b) + points.get(b, a) > 0.0)).collect();
        let one_sided = players.first().is_some_and(|&start| {
            let up = reached_from(start, count, |a, b| points.get(a, b) > 0.0);
            let down = reached_from(start, count, |a, b| points.get(b, a) > 0.0);
            players.iter().any(|&player| !up[player] || !down[player])
        });
        let mut pairings = Vec::new();
        for a in 0..count {
            for b in a + 1..count {
                let (games, points) = (games.get(a, b), points.get(a, b));
                if games > 0.0 {
                    let corrected = if one_sided { points.clamp(0.5, games - 0.5) } else { points };
                    let is_corrected = corrected != points;
                    pairings.push(Self { players: [a, b], games, points: corrected, is_corrected });
                }
            }
        }
        (pairings, one_sided)
    }
}

/// The equations to solve.
struct System {
    /// By player; none for the anchor and for players that are not rated.
    unknown: Vec<Option<usize>>,
    unknowns: usize,
    pairings: Vec<Pairing>,
}

impl System {
    fn value(&self, values: &[f64], player: usize) -> f64 {
        self.unknown[player].map_or(0.0, |i| values[i])
    }

    /// The expected score per game of the first of two players.
    fn score(&self, values: &[f64], [a, b]: [usize; 2]) -> f64 {
        1.0 / (1.0 + (self.value(values, b) - self.value(values, a)).exp())
    }

    fn solve(&self) -> Vec<f64> {
        let mut values = vec![0.0; self.unknowns];
        let mut likelihood = self.log_likelihood(&values);
        for _ in 0..MOST_STEPS {
            let mut gradient = vec![0.0; self.unknowns];
            for pairing in &self.pairings {
                let surplus = pairing.points - pairing.games * self.score(&values, pairing.players);
                self.spread(&mut gradient, pairing.players, surplus);
            }
            let step = self.information(&values).factor().solve(&gradient);
            // Far from the solution a whole step may overshoot.
            let mut share = 1.0;
            let (next, better) = loop {
                let next: Vec<f64> = values.iter().zip(&step).map(|(value, step)| value + share * step).collect();
                let better = self.log_likelihood(&next);
                if better >= likelihood || share < 1e-9 {
                    break (next, better);
                }
                share /= 2.0;
            };
            let moved = values.iter().zip(&next).map(|(old, new)| (old - new).abs()).fold(0.0, f64::max);
            (values, likelihood) = (next, better);
            if moved < PRECISION {
                break;
            }
        }
        values
    }

    fn log_likelihood(&self, values: &[f64]) -> f64 {
        let of = |pairing: &Pairing| {
            let score = self.score(values, pairing.players);
            pairing.points * score.ln() + (pairing.games - pairing.points) * (1.0 - score).ln()
        };
        self.pairings.iter().map(of).sum()
    }

    /// Adds to the first player's entry of a vector, and subtracts from the second's.
    fn spread(&self, vector: &mut [f64], [a, b]: [usize; 2], amount: f64) {
        if let Some(a) = self.unknown[a] {
            vector[a] += amount;
        }
        if let Some(b) = self.unknown[b] {
            vector[b] -= amount;
        }
    }

    /// The model's information matrix.
    fn information(&self, values: &[f64]) -> Matrix {
        let mut information = Matrix::zero(self.unknowns);
        self.pairings.iter().for_each(|pairing| self.add_information(&mut information, pairing, values, 1.0));
        information
    }

    /// Adds a pairing's part of the information matrix `times` times.
    fn add_information(&self, matrix: &mut Matrix, pairing: &Pairing, values: &[f64], times: f64) {
        let score = self.score(values, pairing.players);
        let weight = times * pairing.games * score * (1.0 - score);
        let [a, b] = pairing.players.map(|player| self.unknown[player]);
        for i in [a, b].into_iter().flatten() {
            *matrix.at(i, i) += weight;
        }
        if let (Some(a), Some(b)) = (a, b) {
            *matrix.at(a, b) -= weight;
            *matrix.at(b, a) -= weight;
        }
    }

    /// The covariance of the unknowns, from how openings differ. If all points of a pairing went one way, nothing differs, which does not
    /// prove that nothing could: its pairs count as coins, with the variance of the model.
    fn covariance(&self, values: &[f64], results: &[PairPoints]) -> Matrix {
        let mut sorted = results.to_vec();
        sorted.sort_by_key(|result| result.opening);
        let mut middle = Matrix::zero(self.unknowns);
        let corrected = || self.pairings.iter().filter(|pairing| pairing.is_corrected);
        let one_sided: BTreeSet<[usize; 2]> = corrected().map(|pairing| pairing.players).collect();
        let mut openings = 0.0;
        for group in sorted.chunk_by(|a, b| a.opening == b.opening) {
            let mut gradient = vec![0.0; self.unknowns];
            for &PairPoints { players: players @ [a, b], half_points, .. } in group {
                if one_sided.contains(&[a.min(b), a.max(b)]) {
                    continue;
                }
                let surplus = f64::from(half_points) / 2.0 - 2.0 * self.score(values, players);
                self.spread(&mut gradient, players, surplus);
            }
            for (i, &a) in gradient.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                for (j, &b) in gradient.iter().enumerate() {
                    *middle.at(i, j) += a * b;
                }
            }
            openings += 1.0;
        }
        corrected().for_each(|pairing| self.add_information(&mut middle, pairing, values, 2.0));
        let information = self.information(values);
        for i in 0..self.unknowns {
            for j in 0..self.unknowns {
                let coins = 2.0 * information.get(i, j) / openings;
                let entry = middle.at(i, j);
                *entry = (*entry + coins) * openings / (openings + 1.0);
            }
        }
        let factor = information.factor();
        // H^-1 M H^-1, both matrices being symmetric: solve for the columns, then for the rows.
        let half = middle.map_columns(|column| factor.solve(column));
        half.transposed().map_columns(|column| factor.solve(column))
    }
}

/// A square matrix.
#[derive(Clone, PartialEq, Debug)]
struct Matrix {
    size: usize,
    /// Row by row.
    entries: Vec<f64>,
}

impl Matrix {
    fn zero(size: usize) -> Self {
        Self { size, entries: vec![0.0; size * size] }
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.size + column]
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.entries[row * self.size + column]
    }

    fn transposed(&self) -> Self {
        let mut transposed = Self::zero(self.size);
        for row in 0..self.size {
            for column in 0..self.size {
                *transposed.at(column, row) = self.get(row, column);
            }
        }
        transposed
    }

    fn map_columns(&self, map: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let entries = self.transposed().entries;
        let columns = entries.chunks(self.size.max(1)).flat_map(map).collect();
        Self { size: self.size, entries: columns }.transposed()
    }

    /// The Cholesky factor of a symmetric, positive definite matrix.
    fn factor(&self) -> Factor {
        let mut lower = Self::zero(self.size);
        for row in 0..self.size {
            for column in 0..=row {
                let dot: f64 = (0..column).map(|k| lower.get(row, k) * lower.get(column, k)).sum();
                let rest = self.get(row, column) - dot;
                *lower.at(row, column) = if row == column { rest.sqrt() } else { rest / lower.get(column, column) };
            }
        }
        Factor(lower)
    }
}

/// A lower triangular matrix L that stands for L L'.
struct Factor(Matrix);

impl Factor {
    /// The vector that the matrix maps to this one.
    fn solve(&self, vector: &[f64]) -> Vec<f64> {
        let Self(lower) = self;
        let mut solution = vector.to_vec();
        for row in 0..lower.size {
            let dot: f64 = (0..row).map(|k| lower.get(row, k) * solution[k]).sum();
            solution[row] = (solution[row] - dot) / lower.get(row, row);
        }
        for row in (0..lower.size).rev() {
            let dot: f64 = (row + 1..lower.size).map(|k| lower.get(k, row) * solution[k]).sum();
            solution[row] = (solution[row] - dot) / lower.get(row, row);
        }
        solution
    }
}
