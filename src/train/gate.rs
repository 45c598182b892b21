//! The gate: matches that measure the newest weights.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::config::GateConfig;
use super::event::GateMatch;
use crate::arena::{Match, SearchPlayer, SearchSettings, select_openings, xot_openings};
use crate::board::Transcript;
use crate::eval::{Evaluator, MobilityEvaluator, Model, PatternEvaluator};
use crate::pattern::Layout;

/// Plays a match of `first` against `second`, a pair of games from each opening.
fn play<A: Evaluator, B: Evaluator>(
    first: &A,
    second: &B,
    config: &GateConfig,
    openings: Vec<Transcript>,
) -> GateMatch {
    let settings =
        SearchSettings { depth: config.depth, exact_empties: config.exact_empties, ..SearchSettings::default() };
    let plan = Match { openings, sprt: None, held: Vec::new() };
    // A gate takes seconds and its outcome decides what comes after: it is always played to its end.
    let never = AtomicBool::new(false);
    let first = || Ok(SearchPlayer::new(first, settings.clone()));
    let second = || Ok(SearchPlayer::new(second, settings.clone()));
    let report = plan.run(first, second, &never, |_| ());
    GateMatch::of(&report.expect("built-in players always start"))
}

/// The newest model against the best so far, if any, and against `mobility`, from the same openings, drawn by `seed`.
pub(super) fn measure(
    newest: &Model,
    best: Option<&Model>,
    layout: &Arc<Layout>,
    config: &GateConfig,
    seed: u64,
) -> (Option<GateMatch>, GateMatch) {
    let evaluator = |model: &Model| {
        PatternEvaluator::with_layout(model, layout.clone()).expect("the learner's models fit the layout")
    };
    let newest = evaluator(newest);
    let openings = select_openings(&xot_openings(), config.pairs as usize, seed);
    let against_best = best.map(|best| play(&newest, &evaluator(best), config, openings.clone()));
    (against_best, play(&newest, &MobilityEvaluator, config, openings))
}
