//! Positions to calibrate selective search on, from quick and varied self-play.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::game::{SelfPlay, SelfPlayConfig, Stopped};
use crate::board::Position;
use crate::eval::{Calibration, Evaluator};
use crate::search::Strength;
use crate::search::calibrate::{fit_pairs, groups, search_all, tree_positions};

/// How the games are played that the positions come from. Random moves are close to the best: after worse ones odd and even depths differ by
/// another amount, above all in the opening.
const GAMES: SelfPlayConfig =
    SelfPlayConfig { margin: Some(5.0), ..SelfPlayConfig::new(Strength::new(2, 6), 20, 0.05) };
/// Games played at once.
const BATCH: u32 = 256;
/// Games played at most per wanted position: early in the game there are few different ones.
const MAX_GAMES: usize = 8;

/// Positions of self-play: `count` different ones for each of the [`groups`] of numbers of empty squares (fewer if the games do not have
/// them), at most one per group and game. They depend only on the weights and the seed.
///
/// # Errors
/// `stop` was set before the games were played.
pub fn varied_positions<E: Evaluator>(
    evaluator: &E,
    seed: u64,
    count: usize,
    stop: &AtomicBool,
) -> Result<Vec<Position>, Stopped> {
    let players = SelfPlay::new(evaluator, GAMES);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut wanted: Vec<_> = groups().map(|group| (group, Vec::new())).collect();
    let mut seen = HashSet::new();
    for first in (0..(MAX_GAMES * count) as u32).step_by(BATCH as usize) {
        for game in players.play_games(seed, 0, first, BATCH, stop)? {
            let plies = game.replay().plies;
            for ((min, max), positions) in &mut wanted {
                let of_group: Vec<_> = plies
                    .iter()
                    .map(|ply| ply.position)
                    .filter(|position| (*min..=*max).contains(&position.empties()))
                    .collect();
                let Some(&position) = of_group.choose(&mut rng) else { continue };
                if positions.len() < count && seen.insert(position) {
                    positions.push(position);
                }
            }
        }
        if wanted.iter().all(|(_, positions)| positions.len() == count) {
            break;
        }
    }
    Ok(wanted.into_iter().flat_map(|(_, positions)| positions).collect())
}

/// Positions per group to calibrate self-play's own searches on: enough to know a deviation to about 6%.
const POSITIONS: usize = 128;

/// The calibration of an evaluator for the searches of a configuration; `None` if these are not selective, or if shallow searches
/// predict nothing, as with weights that have learned nothing yet. It is measured by full-width searches on all threads, which take
/// a second of one core at depth 6 and about 20 seconds at depth 10.
///
/// # Errors
/// `stop` was set before it was measured.
pub fn measured_calibration<E: Evaluator>(
    evaluator: &E,
    config: &SelfPlayConfig,
    stop: &AtomicBool,
) -> Result<Option<Calibration>, Stopped> {
    if config.strength.selectivity.is_none() {
        return Ok(None);
    }
    let roots = varied_positions(evaluator, 0, POSITIONS, stop)?;
    let positions = tree_positions(evaluator, &roots, stop).ok_or(Stopped)?;
    let values = search_all(evaluator, &positions, config.strength.depth, stop, || {}).ok_or(Stopped)?;
    let pairs = fit_pairs(&positions, &values).into_iter().map(|measurement| measurement.pair);
    Ok(Calibration::new(pairs.collect()).ok())
}
