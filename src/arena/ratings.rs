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

use std::collections::{BTreeMap, BTreeSet};

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
    unknown: Vec<Option<usize>>,
    /// Of the information matrix, H.
    factor: Factor,
    /// The matrix between two H^-1.
    middle: Matrix,
    one_sided: bool,
}

/// Elo in a unit of the natural logarithm of the odds.
const ELO: f64 = 400.0 / std::f64::consts::LN_10;

/// Newton's method ends when no rating moves by more than this, in units of the natural logarithm of the odds.
const PRECISION: f64 = 1e-11;

/// Newton's method converges quadratically: no data came near this number of steps.
const MOST_STEPS: usize = 200;

impl Ratings {
    /// Rates `count` players; `anchor` is the number of the one whose rating is 0. The matrices are sparse: if each player meets the
    /// anchor and one player before it, as in the gates of a run, the time hardly grows faster than `count`.
    ///
    /// # Panics
    /// If a player's number is `count` or more.
    pub fn fit(count: usize, anchor: usize, results: &[PairPoints]) -> Self {
        let mut met = vec![BTreeSet::new(); count];
        for &PairPoints { players: [a, b], .. } in results {
            met[a].insert(b);
            met[b].insert(a);
        }
        let tied = reached_from(anchor, &met);
        // Unknowns: the tied players except the anchor. The last ones come first: eliminating a player ties those that it met.
        let (mut unknown, mut unknowns) = (vec![None; count], 0);
        for player in (0..count).rev().filter(|&player| tied[player] && player != anchor) {
            unknown[player] = Some(unknowns);
            unknowns += 1;
        }
        let results: Vec<_> = results.iter().filter(|result| tied[result.players[0]]).copied().collect();
        let (pairings, one_sided) = Pairing::collect(count, &results);
        let system = System { unknown, unknowns, pairings };
        let values = system.solve();
        let factor = system.information(&values).factor();
        let middle = system.middle(&values, &results);
        let value = |player: usize| tied[player].then(|| system.value(&values, player));
        let values = (0..count).map(value).collect();
        Self { values, unknown: system.unknown, factor, middle, one_sided }
    }

    /// Whether finite ratings needed a correction.
    pub fn one_sided(&self) -> bool {
        self.one_sided
    }

    /// A player's rating in Elo with its 95% interval, relative to the anchor.
    pub fn elo(&self, player: usize) -> Option<Estimate> {
        self.values[player].map(|value| estimate(value, self.variance(&[(player, 1.0)])))
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
        let difference = self.values[first]? - self.values[second]?;
        Some((difference, self.variance(&[(first, 1.0), (second, -1.0)])))
    }

    /// The variance of a sum of ratings, each with a factor.
    fn variance(&self, sum: &[(usize, f64)]) -> f64 {
        let mut vector = vec![0.0; self.middle.rows.len()];
        for &(player, times) in sum {
            if let Some(i) = self.unknown[player] {
                vector[i] += times;
            }
        }
        self.middle.square(&self.factor.solve(vector)).max(0.0)
    }
}

fn estimate(value: f64, variance: f64) -> Estimate {
    let half = Z95 * variance.sqrt();
    Estimate { value: ELO * value, low: ELO * (value - half), high: ELO * (value + half) }
}

/// The players that can be reached from one by steps, given those one step away from each.
fn reached_from(start: usize, steps: &[BTreeSet<usize>]) -> Vec<bool> {
    let (mut reached, mut waiting) = (vec![false; steps.len()], vec![start]);
    reached[start] = true;
    while let Some(from) = waiting.pop() {
        for &to in &steps[from] {
            if !reached[to] {
                reached[to] = true;
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
        // Games, and the points of the player with the lower number.
        let mut met: BTreeMap<[usize; 2], (f64, f64)> = BTreeMap::new();
        let (mut beaten, mut beaten_by) = (vec![BTreeSet::new(); count], vec![BTreeSet::new(); count]);
        for &PairPoints { players: [a, b], half_points, .. } in results {
            let points = f64::from(half_points) / 2.0;
            let (games, of_lower) = met.entry([a.min(b), a.max(b)]).or_default();
            *games += 2.0;
            *of_lower += if a < b { points } else { 2.0 - points };
            for (winner, loser, points) in [(a, b, points), (b, a, 2.0 - points)] {
                if points > 0.0 {
                    beaten[winner].insert(loser);
                    beaten_by[loser].insert(winner);
                }
            }
        }
        // The best ratings are finite exactly if every player can be reached from every other through players who took points.
        let one_sided = results.first().is_some_and(|&PairPoints { players: [start, _], .. }| {
            let (down, up) = (reached_from(start, &beaten), reached_from(start, &beaten_by));
            met.keys().flatten().any(|&player| !up[player] || !down[player])
        });
        let pairing = |(players, (games, points)): ([usize; 2], (f64, f64))| {
            let corrected = if one_sided { points.clamp(0.5, games - 0.5) } else { points };
            Self { players, games, points: corrected, is_corrected: corrected != points }
        };
        (met.into_iter().map(pairing).collect(), one_sided)
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
                self.spread(pairing.players, surplus, |i, amount| gradient[i] += amount);
            }
            let step = self.information(&values).factor().solve(gradient);
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
    fn spread(&self, [a, b]: [usize; 2], amount: f64, mut add: impl FnMut(usize, f64)) {
        if let Some(a) = self.unknown[a] {
            add(a, amount);
        }
        if let Some(b) = self.unknown[b] {
            add(b, -amount);
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
        }
    }

    /// The middle matrix of the covariance, from how openings differ. If all points of a pairing went one way, nothing differs, which does
    /// not prove that nothing could: its pairs count as coins, with the variance of the model.
    fn middle(&self, values: &[f64], results: &[PairPoints]) -> Matrix {
        let mut sorted = results.to_vec();
        sorted.sort_by_key(|result| result.opening);
        let mut middle = Matrix::zero(self.unknowns);
        let corrected = || self.pairings.iter().filter(|pairing| pairing.is_corrected);
        let one_sided: BTreeSet<[usize; 2]> = corrected().map(|pairing| pairing.players).collect();
        let mut openings = 0.0;
        for group in sorted.chunk_by(|a, b| a.opening == b.opening) {
            let mut gradient = BTreeMap::<usize, f64>::new();
            for &PairPoints { players: players @ [a, b], half_points, .. } in group {
                if one_sided.contains(&[a.min(b), a.max(b)]) {
                    continue;
                }
                let surplus = f64::from(half_points) / 2.0 - 2.0 * self.score(values, players);
                self.spread(players, surplus, |i, amount| *gradient.entry(i).or_default() += amount);
            }
            for (&i, a) in &gradient {
                for (&j, b) in gradient.range(i..) {
                    *middle.at(i, j) += a * b;
                }
            }
            openings += 1.0;
        }
        corrected().for_each(|pairing| self.add_information(&mut middle, pairing, values, 2.0));
        self.pairings.iter().for_each(|pairing| self.add_information(&mut middle, pairing, values, 2.0 / openings));
        middle.rows.iter_mut().flat_map(BTreeMap::values_mut).for_each(|entry| *entry *= openings / (openings + 1.0));
        middle
    }
}

/// A sparse symmetric matrix.
#[derive(Clone, PartialEq, Debug)]
struct Matrix {
    /// By row, the entries from the diagonal on that are not zero.
    rows: Vec<BTreeMap<usize, f64>>,
}

impl Matrix {
    fn zero(size: usize) -> Self {
        Self { rows: vec![BTreeMap::new(); size] }
    }

    /// The entry of two unknowns, in either order.
    fn at(&mut self, a: usize, b: usize) -> &mut f64 {
        self.rows[a.min(b)].entry(a.max(b)).or_default()
    }

    /// The product v' M v.
    fn square(&self, vector: &[f64]) -> f64 {
        let entries =
            self.rows.iter().enumerate().flat_map(|(a, row)| row.iter().map(move |(&b, entry)| (a, b, entry)));
        entries.map(|(a, b, entry)| if a == b { 1.0 } else { 2.0 } * vector[a] * entry * vector[b]).sum()
    }

    /// The Cholesky factor of a positive definite matrix.
    fn factor(mut self) -> Factor {
        let mut columns = Vec::with_capacity(self.rows.len());
        for k in 0..self.rows.len() {
            let row = std::mem::take(&mut self.rows[k]);
            let root = row.get(&k).copied().unwrap_or_default().sqrt();
            let below: Vec<(usize, f64)> = row.range(k + 1..).map(|(&i, entry)| (i, entry / root)).collect();
            for (first, &(i, a)) in below.iter().enumerate() {
                for &(j, b) in &below[first..] {
                    *self.at(i, j) -= a * b;
                }
            }
            columns.push((root, below));
        }
        Factor { columns }
    }
}

/// A sparse lower triangular matrix L that stands for L L'.
#[derive(Clone, PartialEq, Debug)]
struct Factor {
    /// By column, the entry on the diagonal and those below it that are not zero.
    columns: Vec<(f64, Vec<(usize, f64)>)>,
}

impl Factor {
    /// The vector that the matrix maps to this one.
    fn solve(&self, mut vector: Vec<f64>) -> Vec<f64> {
        for (k, (root, below)) in self.columns.iter().enumerate() {
            vector[k] /= root;
            let value = vector[k];
            below.iter().for_each(|&(i, entry)| vector[i] -= entry * value);
        }
        for (k, (root, below)) in self.columns.iter().enumerate().rev() {
            let dot: f64 = below.iter().map(|&(i, entry)| entry * vector[i]).sum();
            vector[k] = (vector[k] - dot) / root;
        }
        vector
    }
}
