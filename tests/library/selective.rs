//! Selective search: what it may change and what it must not.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::helpers::{Constant, random_positions};
use flipside::board::{Position, ScoredDiagram, Transcript, squares};
use flipside::eval::{Calibration, DepthPair, Evaluator, MobilityEvaluator, Score};
use flipside::record::lines::parse_positions;
use flipside::search::calibrate::{Values, fit_exact_pairs, fit_pairs, search_all, solve_all, tree_positions};
use flipside::search::{Analysis, EndgameSolver, Engine, Limits, Searcher, Selectivity, Strength, shallow_depth};
use flipside::weights::WeightFile;

/// Every deep value is `offset` discs above the shallow one, with a standard deviation of `deviation`: at 1 to 60 empties, to depth 10.
fn calibration(offset: f32, deviation: f32) -> Calibration {
    let pair = |deep: u32| DepthPair {
        min_empties: 1,
        max_empties: 60,
        shallow: shallow_depth(deep) as u8,
        deep: deep as u8,
        slope: 1.0,
        offset,
        deviation,
    };
    Calibration::new((2..=10).map(pair).collect()).unwrap()
}

fn scored_positions(file: &str) -> Vec<ScoredDiagram> {
    let path = format!("{}/data/bench/{file}", env!("CARGO_MANIFEST_DIR"));
    parse_positions(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn midgame() -> Vec<Position> {
    scored_positions("midgame.txt").iter().map(|scored| scored.diagram.position).collect()
}

fn selective<'e, E: Evaluator>(evaluator: &'e E, calibration: &Calibration, deviations: f32) -> Searcher<'e, E> {
    let mut searcher = Searcher::new(evaluator, 14);
    searcher.set_selectivity(Some(Selectivity::new(calibration, deviations)));
    searcher
}

#[test]
fn no_cuts_at_extreme_confidence() {
    let calibration = calibration(0.0, 2.0);
    for position in midgame() {
        for depth in [3, 6, 7] {
            let full = Searcher::new(&MobilityEvaluator, 14).search(&position, depth);
            // No value is that far away.
            let found = selective(&MobilityEvaluator, &calibration, 100.0).search(&position, depth);
            assert_eq!(found.selectivity, Some(100.0));
            assert_eq!(Analysis { selectivity: None, ..found }, full);
        }
    }
}

#[test]
fn switching_off_gives_back_the_full_search_node_for_node() {
    let mut searcher = selective(&MobilityEvaluator, &calibration(0.0, 1.0), 1.0);
    let mut fewer = 0;
    for position in midgame() {
        let full = Searcher::new(&MobilityEvaluator, 14).search(&position, 7);
        searcher.set_selectivity(Some(Selectivity::new(&calibration(0.0, 1.0), 1.0)));
        fewer += u32::from(searcher.search(&position, 7).nodes < full.nodes);
        searcher.set_selectivity(None);
        assert_eq!(searcher.search(&position, 7), full);
    }
    assert!(fewer > 35, "only {fewer} of 40 searches were smaller");
}

#[test]
fn right_predictions_do_not_change_values() {
    // If every position is even, deep searches find the same as shallow ones.
    let even = Constant { value: Score(0), calibration: None };
    for position in random_positions(1, 36, 40) {
        for depth in [5, 6, 8] {
            let full = Searcher::new(&even, 14).search(&position, depth);
            let found = selective(&even, &calibration(0.0, 0.0), 1.0).search(&position, depth);
            assert_eq!((found.score, full.score), (Score(0), Score(0)));
            assert!(found.nodes < full.nodes, "{} nodes of {}", found.nodes, full.nodes);
        }
    }
}

#[test]
fn wrong_predictions_change_values() {
    // Forty discs too high for the side to move at every node: if there are any cuts, they must show.
    let differs = |position: &Position| {
        let full = Searcher::new(&MobilityEvaluator, 14).search(position, 7).score;
        selective(&MobilityEvaluator, &calibration(40.0, 0.5), 1.0).search(position, 7).score != full
    };
    let differing = midgame().iter().filter(|&position| differs(position)).count();
    assert!(differing > 20, "only {differing} of 40 values are different");
}

#[test]
fn exact_results_stay_exact() {
    let mut solver = EndgameSolver::new(14);
    let calibration = calibration(0.0, 0.1);
    for position in random_positions(2, 9, 60) {
        let exact = solver.solve(position, -64, 64).score;
        let mut searcher = selective(&MobilityEvaluator, &calibration, 0.0);
        assert_eq!(searcher.search(&position, 9).score, exact);
        assert_eq!(searcher.search(&position, 60).score, exact);
    }
}

#[test]
fn fitted_values_are_those_of_full_searches() {
    let mut positions = midgame();
    positions.extend(random_positions(3, 5, 10));
    let values = search_all(&MobilityEvaluator, &positions, 6, &AtomicBool::new(false), || ()).unwrap();
    for (position, values) in positions.iter().zip(&values) {
        let depths = 0..=6.min(position.empties() - 1);
        let alone: Values =
            depths.map(|depth| Searcher::new(&MobilityEvaluator, 12).search(position, depth).score).collect();
        assert_eq!(values, &alone);
    }
}

/// Selective searches ask about positions such as these: parameters that hold in games do not hold there.
#[test]
fn tree_positions_are_in_the_trees_of_their_roots() {
    let (never, roots) = (AtomicBool::new(false), midgame());
    let chosen = tree_positions(&MobilityEvaluator, &roots, &never).unwrap();
    assert!(chosen.len() >= 35 && chosen.iter().all(|position| position.moves() != 0), "{} of 40", chosen.len());
    let mut chosen_left = chosen.iter().peekable();
    for root in &roots {
        let mut below = vec![vec![*root]];
        for _ in 0..4 {
            let next = below.last().unwrap().iter().flat_map(|from| squares(from.moves()).map(|to| from.play(to)));
            below.push(next.collect());
        }
        // The roots are in order.
        chosen_left.next_if(|position| below[2..].iter().any(|of_ply| of_ply.contains(position)));
    }
    assert_eq!(chosen_left.next(), None);
    let on_three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(on_three.install(|| tree_positions(&MobilityEvaluator, &roots, &never)).unwrap(), chosen);
    assert_eq!(tree_positions(&MobilityEvaluator, &roots, &AtomicBool::new(true)), None);
    assert_eq!(tree_positions(&MobilityEvaluator, &random_positions(5, 2, 5), &never), Some(vec![]));
}

/// With parameters that hold in games only, wrong cuts raise the values of odd depths and lower those of even ones.
#[test]
fn selective_searches_to_odd_and_even_depths_agree() {
    let positions = scored_positions("exact-24.txt");
    let weights = WeightFile::embedded().evaluator().unwrap();
    let selectivity = Selectivity::strongest(&weights);
    let bias = |depth| {
        let mut engine = Engine::new(&weights, Strength { selectivity, ..Strength::new(depth, 0) }, 16).unwrap();
        let errors = positions.iter().map(|scored| {
            engine.forget();
            engine.analyse(&scored.diagram.position).score.discs() - scored.score.unwrap() as f32
        });
        errors.sum::<f32>() / positions.len() as f32
    };
    let biases: Vec<_> = (6..=16).map(bias).collect();
    assert!(biases.iter().all(|bias| bias.abs() < 0.5), "{biases:?}");
    assert!(biases.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 0.3), "{biases:?}");
}

#[test]
fn a_calibrated_search_is_smaller_and_close_to_the_full_one() {
    let positions: Vec<_> = (3..10).flat_map(|group| random_positions(4, 6 * group, 60)).collect();
    let values = search_all(&MobilityEvaluator, &positions, 6, &AtomicBool::new(false), || ()).unwrap();
    let measured = fit_pairs(&positions, &values);
    let calibration = Calibration::new(measured.iter().map(|one| one.pair).collect()).unwrap();
    let (mut nodes, mut full_nodes, mut error, mut spread) = (0, 0, 0.0, 0.0);
    for position in midgame() {
        let full = Searcher::new(&MobilityEvaluator, 14).search(&position, 6);
        let found = selective(&MobilityEvaluator, &calibration, 1.0).search(&position, 6);
        nodes += found.nodes;
        full_nodes += full.nodes;
        error += (found.score - full.score).discs().powi(2);
        spread += full.score.discs().powi(2);
    }
    assert!(nodes * 10 < full_nodes * 9, "{nodes} nodes of {full_nodes}");
    assert!(error * 20.0 < spread, "squares of errors {error}, of values {spread}");
}

#[test]
fn the_strongest_selectivity_is_that_of_depths_and_limits() {
    let calibrated = WeightFile::embedded().evaluator().unwrap();
    assert_eq!(Selectivity::strongest(&calibrated), Some(0.8));
    assert_eq!(Selectivity::strongest(&MobilityEvaluator), None);
    for selectivity in [Some(0.8), None] {
        let strength = Strength { selectivity, ..Strength::new(4, 0) };
        let mut engine = Engine::new(&calibrated, strength, 12).unwrap();
        for limits in [Limits::NONE, Limits { nodes: Some(2_000), ..Limits::NONE }] {
            assert_eq!(engine.analyse_within(&Position::START, &limits).selectivity, selectivity);
        }
    }
}

/// Who searches as deep as the game goes gets the solver's result, not that of a midgame search to the end, which takes much longer.
#[test]
fn depths_to_the_end_are_solved() {
    let weights = WeightFile::embedded().evaluator().unwrap();
    let (mut nodes, mut of_searches) = (0, 0);
    for position in random_positions(8, 13, 10) {
        let solved = EndgameSolver::with_evaluator(&weights, 14).solve_line(position);
        for depth in [13, 14, 60] {
            let found = Engine::new(&weights, Strength::new(depth, 0), 14).unwrap().analyse(&position);
            assert_eq!(Analysis { nodes: solved.nodes, ..found }, solved);
            nodes += found.nodes;
            of_searches += Searcher::new(&weights, 14).search(&position, depth).nodes;
        }
        assert!(!Engine::new(&weights, Strength::new(12, 0), 14).unwrap().analyse(&position).exact);
    }
    assert!(nodes * 4 < of_searches, "{nodes} nodes, {of_searches}");
}

/// Whatever stops an engine, and however early, it has a move to play.
#[test]
fn an_engine_that_is_stopped_at_once_has_a_move() {
    let weights = WeightFile::embedded().evaluator().unwrap();
    let stopped = Limits { stop: &AtomicBool::new(true), ..Limits::NONE };
    let no_nodes = Limits { nodes: Some(1), ..Limits::NONE };
    let no_time = Limits { time: Some(Duration::ZERO), ..Limits::NONE };
    for selectivity in [Selectivity::strongest(&weights), None] {
        for strength in
            [Strength::new(4, 12), Strength::new(60, 0)].map(|strength| Strength { selectivity, ..strength })
        {
            let mut engine = Engine::new(&weights, strength, 12).unwrap();
            for position in (1..=20).flat_map(|empties| random_positions(9, empties, 5)) {
                for limits in [stopped, no_nodes, no_time] {
                    let found = engine.analyse_within(&position, &limits);
                    assert_eq!(found.best.is_some(), position.moves() != 0, "{position:?}: {found:?}");
                    assert!(found.nodes < 100_000, "{position:?}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn limits_decide_how_surely_the_end_is_searched() {
    let weights = WeightFile::embedded().evaluator().unwrap();
    let game =
        "c4c5d6c7c6e3e7b5f6b7b8f5f4e6d2e8d8g5f7c8b6a7h5g3a8c1f8a5e2h6b4h4h2a6a4c3c2d3d7f2g1".parse::<Transcript>();
    let position = game.unwrap().last().position;
    let exact = EndgameSolver::with_evaluator(&weights, 16).solve(position, -64, 64).score;
    let (mut selective, mut full) = (Vec::new(), 0);
    for nodes in (4..24).map(|log2| 1 << log2) {
        let limits = Limits { nodes: Some(nodes), ..Limits::NONE };
        let engine = |selectivity| Engine::new(&weights, Strength { selectivity, ..Strength::new(60, 0) }, 16).unwrap();
        let found = engine(Selectivity::strongest(&weights)).analyse_within(&position, &limits);
        // The plies that are searched in any case, and what a solver visits between two looks at its limit.
        assert!(found.nodes < nodes + 5_000, "{nodes}: {found:?}");
        // The nodes of a solve that was given up count.
        assert!(found.exact || found.nodes >= nodes, "{nodes}: {found:?}");
        assert!(!found.exact || (found.score, found.selectivity) == (exact, None), "{found:?}");
        selective.push((found.depth < position.empties(), found.exact, found.selectivity));
        let found = engine(None).analyse_within(&position, &limits);
        assert_eq!(found.exact, found.depth == position.empties());
        assert_eq!(found.selectivity, None);
        full += u32::from(found.exact);
    }
    selective.dedup();
    let passes = [0.8, 1.8, 3.0].map(|deviations| (false, false, Some(deviations)));
    assert_eq!(selective[0], (true, false, Some(0.8)));
    assert_eq!(selective.last(), Some(&(false, true, None)));
    let between = &selective[1..selective.len() - 1];
    assert!(!between.is_empty() && between.is_sorted_by(|a, b| a.2 < b.2), "{between:?}");
    assert!(between.iter().all(|one| passes.contains(one)), "{between:?}");
    assert!(full > 0);
}

#[test]
fn predictions_of_exact_values_are_measured_on_solved_positions() {
    let never = AtomicBool::new(false);
    let positions = [random_positions(5, 9, 40), random_positions(6, 14, 40), random_positions(7, 26, 40)].concat();
    let values = search_all(&MobilityEvaluator, &positions, 6, &never, || ()).unwrap();
    let exact = solve_all(&MobilityEvaluator, &positions, 14, &never, || ()).unwrap();
    let mut solver = EndgameSolver::new(12);
    for (position, exact) in positions.iter().zip(&exact) {
        let solved = (position.empties() <= 14).then(|| solver.solve(*position, -64, 64).score);
        assert_eq!(*exact, solved);
    }
    let measured: Vec<_> = fit_exact_pairs(&positions, &values, &exact).iter().map(|one| one.pair).collect();
    assert!(measured.iter().all(DepthPair::predicts_the_end));
    let depths: Vec<_> = measured.iter().map(|pair| (pair.max_empties, pair.shallow)).collect();
    assert_eq!(depths, [(12, 2), (12, 4), (12, 6), (18, 2), (18, 4), (18, 6)]);
    // Deeper searches know more.
    assert!(measured[2].deviation < measured[0].deviation && measured[5].deviation < measured[3].deviation);
    let stopped = solve_all(&MobilityEvaluator, &positions, 26, &AtomicBool::new(true), || ());
    assert_eq!(stopped, None);
}
