//! Measuring the parameters of selective search ([`Calibration`](crate::eval::Calibration)): positions of search trees searched shallowly
//! and deeply, or to the end of the game, and a line fitted through the values.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::SeedableRng;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::endgame::EndgameSolver;
use super::probcut::shallow_depth;
use super::searcher::Searcher;
use crate::board::Position;
use crate::eval::{DepthPair, Evaluator, Moments, Score};

/// Numbers of empty squares in a group, which shares parameters.
const GROUP_EMPTIES: u32 = 6;
/// Empty squares from which positions are measured: with fewer, a whole search costs less than cuts would save.
const MIN_EMPTIES: u32 = 7;
/// The smallest depth, in plies, that a shallow search predicts: two plies are predicted by the static value.
const MIN_DEEP_DEPTH: u32 = 2;
/// Fewer positions say too little about a deviation.
pub const MIN_POSITIONS: usize = 30;
/// Plies of the searches whose trees [`tree_positions`] takes positions from.
const TREE_DEPTH: u32 = 6;
/// Fewest plies from the root to these positions.
const MIN_TREE_PLY: u32 = 2;
/// Sweeps in which [`offsets`] are solved for: those of the opening follow from those near the end over several groups.
const SWEEPS: usize = 2000;
/// The tables of each thread have 2^this entries.
const LOG2_ENTRIES: u32 = 18;

/// The groups of numbers of empty squares that share parameters: smallest and largest of each, in rising order.
pub fn groups() -> impl Iterator<Item = (u32, u32)> {
    (MIN_EMPTIES..=60).step_by(GROUP_EMPTIES as usize).map(|min| (min, (min + GROUP_EMPTIES - 1).min(60)))
}

/// A position's values by full-width searches to 0, 1, 2, ... plies, for the player to move.
pub type Values = Vec<Score>;

/// A random position from the search tree of each root, some plies below it; none of a root whose tree has none. Selective searches ask
/// about such positions. Most follow a bad move and its refutation, and so a shallow search predicts them otherwise than positions of games:
/// there the static value is a disc too high for one of two plies, in trees it is too low and errs by a lot more often.
///
/// Searches on the threads of the current rayon pool; `None` if `stop` was set before all were searched.
pub fn tree_positions<E: Evaluator>(evaluator: &E, roots: &[Position], stop: &AtomicBool) -> Option<Vec<Position>> {
    let choose = |searcher: &mut Searcher<'_, E>, root: &Position| {
        searcher.forget();
        let depth = TREE_DEPTH.min(root.empties().saturating_sub(1));
        let found = searcher.search_until(root, depth, stop);
        let nodes = searcher.tree(root, found.depth).into_iter();
        let nodes = nodes.filter(|node| node.ply >= MIN_TREE_PLY && node.position.moves() != 0);
        let mut rng = ChaCha8Rng::seed_from_u64(root.player ^ root.opponent.rotate_left(32));
        (!stop.load(Relaxed)).then(|| nodes.choose(&mut rng).map(|node| node.position))
    };
    let chosen = roots.par_iter().map_init(|| Searcher::new(evaluator, LOG2_ENTRIES), choose);
    Some(chosen.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Searches positions on the threads of the current rayon pool, each to all depths up to `deepest` that end before the game can.
/// `on_searched` is called for every position, on the thread that searched it. `None` if `stop` was set before all were searched.
pub fn search_all<E: Evaluator>(
    evaluator: &E,
    positions: &[Position],
    deepest: u32,
    stop: &AtomicBool,
    on_searched: impl Fn() + Sync,
) -> Option<Vec<Values>> {
    let search = |searcher: &mut Searcher<'_, E>, position: &Position| {
        searcher.forget();
        let depths = 0..=deepest.min(position.empties().saturating_sub(1));
        let values = depths.map(|depth| searcher.search_until(position, depth, stop).score).collect();
        on_searched();
        (!stop.load(Relaxed)).then_some(values)
    };
    positions.par_iter().map_init(|| Searcher::new(evaluator, LOG2_ENTRIES), search).collect()
}

/// Solves the positions that have at most `max_empties` empty squares, on the threads of the current rayon pool. `on_solved` is called
/// for every position, solved or not, on the thread that took it. `None` if `stop` was set before all were solved.
pub fn solve_all<E: Evaluator>(
    evaluator: &E,
    positions: &[Position],
    max_empties: u32,
    stop: &AtomicBool,
    on_solved: impl Fn() + Sync,
) -> Option<Vec<Option<Score>>> {
    let solve = |solver: &mut EndgameSolver<'_, E>, position: &Position| {
        let mut value = None;
        if position.empties() <= max_empties {
            solver.forget();
            value = Some(solver.solve_until(*position, -64, 64, stop)?.score);
        }
        on_solved();
        Some(value)
    };
    positions.par_iter().map_init(|| EndgameSolver::with_evaluator(evaluator, LOG2_ENTRIES), solve).collect()
}

/// What to add to the values of positions, by their number of empty squares, in discs for the player to move, so that searches to all depths
/// agree with each other and, near the end, with exact values. A search chooses among leaves, and so prefers those that are overrated for
/// whoever moved last: searches to odd depths come out too high, those to even depths too low. Who moves last in the game has an advantage
/// that an evaluation may not see: it raises the values for odd numbers of empty squares and lowers those for even ones.
///
/// Every search to two plies or more, with the offset of its leaves, should give the position's exact value, or if that is unknown, the mean
/// of its searches: the offsets are the least-squares solution, one for the odd and one for the even numbers of a [group](groups). Groups
/// with fewer than thirty searches get the offset of the nearest other one. `values` and `exact` are those of the positions, as
/// [`search_all`] and [`solve_all`] return them.
///
/// # Panics
/// If there are not as many values as positions.
pub fn offsets(positions: &[Position], values: &[Values], exact: &[Option<Score>]) -> [f64; 61] {
    assert_eq!([positions.len(); 2], [values.len(), exact.len()], "values of other positions");
    let groups: Vec<_> = groups().collect();
    let cell_of = |empties: u32| {
        let group = groups.iter().position(|group| empties <= group.1).expect("the last group ends at 60");
        2 * group + empties as usize % 2
    };
    // The searches of a position: the cell of the leaves, whether the player moves there, and the value in discs.
    let searches = |(position, values): (&Position, &Values)| -> Vec<(usize, f64, f64)> {
        let of_depth = |(depth, value): (u32, &Score)| {
            (cell_of(position.empties() - depth), [1.0, -1.0][depth as usize % 2], f64::from(value.discs()))
        };
        (0..).zip(values).skip(2).map(of_depth).collect()
    };
    let searched: Vec<_> = positions.iter().zip(values).map(searches).collect();
    let mut counts = vec![0usize; 2 * groups.len()];
    searched.iter().flatten().for_each(|&(cell, ..)| counts[cell] += 1);
    let mut offsets = vec![0.0; counts.len()];
    for _ in 0..SWEEPS {
        let mut sums = vec![0.0; counts.len()];
        for (searches, exact) in searched.iter().zip(exact) {
            let corrected = searches.iter().map(|&(cell, sign, value)| value + sign * offsets[cell]);
            let mean = || corrected.sum::<f64>() / searches.len() as f64;
            let true_value = exact.map_or_else(mean, |exact| f64::from(exact.discs()));
            searches.iter().for_each(|&(cell, sign, value)| sums[cell] += sign * (true_value - value));
        }
        for ((offset, sum), &count) in offsets.iter_mut().zip(sums).zip(&counts) {
            *offset = sum / count.max(1) as f64;
        }
    }
    let nearest = |cell: usize| {
        let measured = (cell % 2..counts.len()).step_by(2).filter(|&other| counts[other] >= MIN_POSITIONS);
        measured.min_by_key(|other| other.abs_diff(cell)).map_or(0.0, |cell| offsets[cell])
    };
    std::array::from_fn(|empties| nearest(cell_of(empties as u32)))
}

/// A least-squares line through points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Change of y per unit of x.
    pub slope: f64,
    /// y when x is 0.
    pub offset: f64,
    /// Standard deviation of y from the line.
    pub deviation: f64,
    /// Pearson's correlation of x and y, -1 to 1.
    pub correlation: f64,
    /// Number of points.
    pub count: usize,
}

impl Fit {
    /// The least-squares line through points `(x, y)`. `None` if there are fewer than three, or all x are equal.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let (count, moments) = (points.len(), Moments::of(points));
        let Moments { x, y, xx, yy, xy } = moments;
        let slope = moments.slope().filter(|_| count >= 3)?;
        let unexplained = (yy - xy * xy / xx).max(0.0);
        // Two degrees of freedom went into the line.
        let deviation = (unexplained * count as f64 / (count - 2) as f64).sqrt();
        let correlation = moments.correlation().unwrap_or(0.0);
        Some(Self { slope, offset: y - slope * x, deviation, correlation, count })
    }
}

/// A measured pair of depths, with its fit, which weight files do not store.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measurement {
    /// The parameters.
    pub pair: DepthPair,
    /// The fit that they come from, in discs.
    pub fit: Fit,
}

/// Fits the parameters of every group and pair of depths with thirty positions or more; a pair whose shallow value does not rise
/// with the deep one predicts nothing and is left out. Positions in which a search wipes out one side have no part in the pair: a few of
/// them would decide its deviation. `values` are those of the positions, as [`search_all`] returns them.
///
/// # Panics
/// If there are not as many values as positions.
pub fn fit_pairs(positions: &[Position], values: &[Values]) -> Vec<Measurement> {
    assert_eq!(positions.len(), values.len(), "values of other positions");
    let depths = values.iter().map(Vec::len).max().unwrap_or(0) as u32;
    let mut measured = Vec::new();
    for group in groups() {
        let members: Vec<_> = positions.iter().zip(values).filter(|(position, _)| is_in(group, position)).collect();
        for deep in MIN_DEEP_DEPTH..depths {
            let shallow = shallow_depth(deep);
            // Near the end of the game a position has no deep value, and perhaps no shallow one.
            let open = |depth, values| value(values, depth).filter(|value| value.clamp_eval() == *value);
            let points = members.iter().filter_map(|(_, values)| Some((open(shallow, values)?, open(deep, values)?)));
            measured.extend(fit_pair(group, (shallow, deep), points));
        }
    }
    measured
}

/// Fits how searches to 2, 4, 6, ... plies predict exact values, for every group with thirty solved positions or more. `values` and
/// `exact` are those of the positions, as [`search_all`] and [`solve_all`] return them.
///
/// # Panics
/// If there are not as many values as positions.
pub fn fit_exact_pairs(positions: &[Position], values: &[Values], exact: &[Option<Score>]) -> Vec<Measurement> {
    assert_eq!([positions.len(); 2], [values.len(), exact.len()], "values of other positions");
    let depths = values.iter().map(Vec::len).max().unwrap_or(0) as u32;
    let mut measured = Vec::new();
    for group in groups() {
        let all = positions.iter().zip(values.iter().zip(exact));
        let members: Vec<_> = all.filter(|(position, _)| is_in(group, position)).collect();
        for shallow in (2..depths.min(group.1)).step_by(2) {
            let points = members.iter().filter_map(|(_, (values, exact))| Some((value(values, shallow)?, (**exact)?)));
            measured.extend(fit_pair(group, (shallow, group.1), points));
        }
    }
    measured
}

fn is_in((min, max): (u32, u32), position: &Position) -> bool {
    (min..=max).contains(&position.empties())
}

fn value(values: &Values, depth: u32) -> Option<Score> {
    values.get(depth as usize).copied()
}

/// Fits one pair of depths to the shallow and deep values of a group's positions.
fn fit_pair(
    (min, max): (u32, u32),
    (shallow, deep): (u32, u32),
    values: impl Iterator<Item = (Score, Score)>,
) -> Option<Measurement> {
    let discs = |score: Score| f64::from(score.discs());
    let points: Vec<_> = values.map(|(shallow, deep)| (discs(shallow), discs(deep))).collect();
    let fit = Fit::of(&points).filter(|fit| fit.count >= MIN_POSITIONS && fit.slope > 0.0)?;
    let pair = DepthPair {
        min_empties: min as u8,
        max_empties: max as u8,
        shallow: shallow as u8,
        deep: deep as u8,
        slope: fit.slope as f32,
        offset: fit.offset as f32,
        deviation: fit.deviation as f32,
    };
    Some(Measurement { pair, fit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// About normal with deviation 1: the sum of twelve uniform variables.
    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn a_fit_finds_the_line_behind_noise() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let points: Vec<_> = (0..20_000)
            .map(|_| {
                let x = 10.0 * normal(&mut rng);
                (x, 0.9 * x - 1.5 + 3.0 * normal(&mut rng))
            })
            .collect();
        let fit = Fit::of(&points).unwrap();
        assert!((fit.slope - 0.9).abs() < 0.01, "{fit:?}");
        assert!((fit.offset + 1.5).abs() < 0.1, "{fit:?}");
        assert!((fit.deviation - 3.0).abs() < 0.1, "{fit:?}");
        // Of the variance of y, 81 + 9, the line explains 81.
        assert!((fit.correlation - (81.0f64 / 90.0).sqrt()).abs() < 0.01, "{fit:?}");
        assert_eq!(fit.count, 20_000);
    }

    #[test]
    fn exact_lines_and_points_without_a_line() {
        let fit = Fit::of(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
        assert_eq!((fit.slope, fit.offset, fit.deviation, fit.correlation), (2.0, 1.0, 0.0, 1.0));
        // Sums of squares by hand: slope 1/2, residuals -1/6, 1/3, -1/6, one degree of freedom.
        let fit = Fit::of(&[(0.0, 0.0), (1.0, 1.0), (2.0, 1.0)]).unwrap();
        assert!((fit.slope - 0.5).abs() < 1e-12 && (fit.deviation - (1.0f64 / 6.0).sqrt()).abs() < 1e-12);
        assert_eq!(Fit::of(&[(0.0, 1.0), (1.0, 3.0)]), None);
        assert_eq!(Fit::of(&[(4.0, 1.0), (4.0, 3.0), (4.0, 2.0)]), None);
    }

    #[test]
    fn offsets_make_all_depths_agree_with_exact_values() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        // What is wrong with values, by empty squares: too low for the player to move, most near the end, and blind to who moves last.
        let error = |empties: u32| if empties > 36 { 0.5 } else { 1.0 } + if empties % 2 == 1 { 2.0 } else { -2.0 };
        let (mut positions, mut all, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..4000 {
            let empties = rng.random_range(10..=56);
            positions.push(Position { player: 1, opponent: !1 << empties });
            let true_value = 10.0 * normal(&mut rng);
            let value = |depth: u32| {
                let error = error(empties - depth);
                let seen = true_value + if depth.is_multiple_of(2) { -error } else { error } + normal(&mut rng);
                Score((128.0 * seen).round() as i32)
            };
            all.push((0..=9).map(value).collect::<Values>());
            exact.push((empties <= 18).then_some(Score((128.0 * true_value).round() as i32)));
        }
        let found = offsets(&positions, &all, &exact);
        for empties in 1..=54 {
            let off = found[empties as usize] - error(empties);
            assert!(off.abs() < 0.3, "{empties} empties: {off}");
        }
        // Without exact values depths still agree, but who moves last is not known.
        let without = offsets(&positions, &all, &vec![None; all.len()]);
        for empties in 1..54 {
            let rise = |offsets: &[f64; 61]| offsets[empties] + offsets[empties + 1];
            assert!((rise(&without) - rise(&found)).abs() < 0.3, "{empties} empties");
        }
        assert_eq!(offsets(&positions[..3], &all[..3], &exact[..3]), [0.0; 61]);
    }

    #[test]
    fn groups_follow_each_other_up_to_60() {
        let all: Vec<_> = groups().collect();
        assert_eq!((all[0].0, all[all.len() - 1].1), (MIN_EMPTIES, 60));
        assert!(all.windows(2).all(|pair| pair[1].0 == pair[0].1 + 1));
    }

    #[test]
    fn positions_near_the_end_have_no_part_in_deep_pairs() {
        let position = |empties: u32| Position { player: 1, opponent: !1 << empties };
        let values = |depths: i32| (0..depths).map(|depth| Score(128 * depth)).collect::<Values>();
        let positions = [vec![position(7); 40], vec![position(12); 40]].concat();
        let all: Vec<_> =
            [vec![values(7); 40], (0..40).map(|i| values(16).iter().map(|&v| v + Score(i)).collect()).collect()]
                .concat();
        let counts: Vec<_> =
            fit_pairs(&positions, &all).iter().map(|measured| (measured.pair.deep, measured.fit.count)).collect();
        assert!(counts.contains(&(3, 80)) && counts.contains(&(15, 40)), "{counts:?}");
    }

    #[test]
    fn wiped_out_sides_have_no_part_in_pairs() {
        let positions = [Position { player: 1, opponent: !1 << 50 }; 60];
        let values = |i: i32| [i, 0, i + [-1, 1][i as usize % 2]].map(|discs| Score(128 * discs)).to_vec();
        let mut all: Vec<_> = (0..60).map(values).collect();
        let [before] = fit_pairs(&positions, &all)[..] else { panic!("one pair") };
        all[5][2] = Score::MIN;
        let [after] = fit_pairs(&positions, &all)[..] else { panic!("one pair") };
        assert_eq!((before.fit.count, after.fit.count), (60, 59));
        assert!((after.fit.deviation - before.fit.deviation).abs() < 0.1, "{after:?}");
    }

    #[test]
    fn pairs_of_known_parameters_are_found_group_by_group() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (mut positions, mut all) = (Vec::new(), Vec::new());
        for i in 0..3000u32 {
            let empties = if i % 2 == 0 { 20 } else { 30 };
            positions.push(Position { player: 1, opponent: !1 << empties });
            let shallow = 8.0 * normal(&mut rng);
            let (offset, deviation) = if empties == 20 { (2.0, 1.0) } else { (-2.0, 4.0) };
            let deep = 0.8 * shallow + offset + deviation * normal(&mut rng);
            let score = |discs: f64| Score((discs * 128.0).round() as i32);
            all.push([0.0, shallow, 0.0, deep].map(score).to_vec());
        }
        // A third group with too few positions.
        positions.extend([Position { player: 1, opponent: !1 << 40 }; 29]);
        all.extend(vec![all[0].clone(); 29]);
        let measured = fit_pairs(&positions, &all);
        assert_eq!(measured.len(), 2);
        for (Measurement { pair, fit }, (offset, deviation)) in measured.iter().zip([(2.0, 1.0), (-2.0, 4.0)]) {
            assert_eq!((pair.shallow, pair.deep, fit.count), (1, 3, 1500));
            assert!((pair.slope - 0.8).abs() < 0.05, "{pair:?}");
            assert!((pair.offset - offset).abs() < 0.3 && (pair.deviation - deviation).abs() < 0.3, "{pair:?}");
        }
        assert!((measured[0].pair.min_empties..=measured[0].pair.max_empties).contains(&20));
        assert!((measured[1].pair.min_empties..=measured[1].pair.max_empties).contains(&30));
    }
}
