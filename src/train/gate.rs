//! The gate: matches that measure the newest weights.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::config::GateConfig;
use super::event::{Anchor, GateMatch};
use crate::arena::{Match, SearchPlayer, select_openings, xot_openings};
use crate::board::Transcript;
use crate::eval::{Evaluator, MobilityEvaluator, Model, PatternEvaluator};
use crate::pattern::Layout;
use crate::search::{Engine, Strength};
use crate::selfplay::Stopped;
use crate::weights::WeightFile;

/// New weights become the best if they are stronger with at least this likelihood. Weights of equal strength do in one gate of
/// twenty.
pub const SUPERIORITY: f64 = 0.95;

fn player<E: Evaluator>(evaluator: &E, strength: Strength) -> SearchPlayer<'_, E> {
    let engine = Engine::new(evaluator, strength, strength.log2_entries());
    SearchPlayer::new(engine.expect("checked: gates are played at full width"))
}

/// A match, and in how many pairs the newest weights scored 0 to 2 points.
pub(super) type Measured = (GateMatch, [u64; 5]);

/// Plays a match of `first` against `second`, a pair of games from each opening.
fn play<A: Evaluator, B: Evaluator>(
    first: &A,
    second: &B,
    config: &GateConfig,
    openings: Vec<Transcript>,
    stop: &AtomicBool,
    on_pair: &mut (dyn FnMut() + Send),
) -> Result<Measured, Stopped> {
    let plan = Match { openings, sprt: None, held: Vec::new() };
    let first = || Ok(player(first, config.strength()));
    let second = || Ok(player(second, config.strength()));
    let report = plan.run(first, second, stop, |_| {
        on_pair();
        ControlFlow::Continue(())
    });
    let report = report.expect("built-in players always start");
    if stop.load(Relaxed) { Err(Stopped) } else { Ok((GateMatch::of(&report), report.tally.pairs)) }
}

/// Pairs against the embedded weights that tell whether these are near enough to measure against.
const PROBE: usize = 10;

/// The score of the probe from which on they are.
const NEAR: f64 = 0.1;

/// The newest model against the best so far, if any, and against the nearer anchor, from the same openings, drawn by `seed`.
/// `on_pairs` gets the number of pairs played in all matches, and of all pairs.
pub(super) fn measure(
    newest: &Model,
    best: Option<&Model>,
    layout: &Arc<Layout>,
    config: &GateConfig,
    seed: u64,
    stop: &AtomicBool,
    on_pairs: &mut (dyn FnMut(u32, u32) + Send),
) -> Result<(Option<Measured>, Anchor, Measured), Stopped> {
    let evaluator = |model: &Model| {
        PatternEvaluator::with_layout(model, layout.clone()).expect("the learner's models fit the layout")
    };
    let newest = evaluator(newest);
    let openings = select_openings(&xot_openings(), config.pairs as usize, seed);
    let matches = if best.is_some() { 2 } else { 1 };
    let probe: Vec<_> = openings.iter().take(PROBE).cloned().collect();
    let (mut done, all) = (0, matches * openings.len() as u32 + probe.len() as u32);
    on_pairs(done, all);
    let mut on_pair = || {
        done += 1;
        on_pairs(done, all);
    };
    let against_best =
        best.map(|best| play(&newest, &evaluator(best), config, openings.clone(), stop, &mut on_pair)).transpose()?;
    let default = WeightFile::embedded().evaluator().expect("the embedded weights are whole");
    let (probed, _) = play(&newest, &default, config, probe, stop, &mut on_pair)?;
    let (anchor, measured) = if probed.score >= NEAR {
        (Anchor::Default, play(&newest, &default, config, openings, stop, &mut on_pair)?)
    } else {
        (Anchor::Mobility, play(&newest, &MobilityEvaluator, config, openings, stop, &mut on_pair)?)
    };
    Ok((against_best, anchor, measured))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::StageMap;

    #[test]
    fn results_are_those_of_the_newest() {
        let strong = WeightFile::embedded().model;
        let weak = Model::zero(&strong.set, &StageMap::uniform(60), 128).unwrap();
        let layout = Arc::new(Layout::new(&strong.set).unwrap());
        let config = GateConfig { pairs: 20, depth: 2, exact_empties: 8 };
        let stop = AtomicBool::new(false);
        for (newest, best, is_strong) in [(&strong, &weak, true), (&weak, &strong, false)] {
            let measured = measure(newest, Some(best), &layout, &config, 1, &stop, &mut |_, _| ()).unwrap();
            let (Some((against_best, pairs)), anchor, (baseline, _)) = measured else { panic!("it has a best") };
            assert_eq!(pairs.iter().sum::<u64>(), 20);
            assert_eq!(
                (against_best.score > 0.5, against_best.discs > 0.0, against_best.superiority > 0.5),
                (is_strong, is_strong, is_strong)
            );
            // The strong ones are the embedded weights themselves.
            let near = if is_strong { (Anchor::Default, true) } else { (Anchor::Mobility, false) };
            assert_eq!((anchor, baseline.score == 0.5), near);
        }
    }
}
