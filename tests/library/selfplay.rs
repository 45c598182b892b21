//! Self-play games: what is labelled with what, and that a game depends only on its number.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flipside::board::{Transcript, squares};
use flipside::eval::{MobilityEvaluator, PatternEvaluator, Score};
use flipside::search::{EndgameSolver, Searcher, Strength};
use flipside::selfplay::{GameRecord, PlyKind, SelfPlay, SelfPlayConfig, Stopped, UpdateTarget, measured_calibration};
use flipside::weights::WeightFile;

const CONFIG: SelfPlayConfig = SelfPlayConfig::new(Strength::new(2, 8), 20, 0.05);

fn games(config: SelfPlayConfig, generation: u32, first: u32, count: u32) -> Vec<GameRecord> {
    let never = AtomicBool::new(false);
    SelfPlay::new(&MobilityEvaluator, config).play_games(9, generation, first, count, &never).unwrap()
}

#[test]
fn a_game_is_the_same_in_any_company() {
    let all = games(CONFIG, 3, 0, 100);
    // Other games in lockstep, other numbers of them, other threads.
    assert_eq!(games(CONFIG, 3, 17, 50), all[17..67]);
    assert_eq!(games(CONFIG, 3, 99, 1), all[99..]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| games(CONFIG, 3, 0, 100)), all);
    assert_ne!(games(CONFIG, 4, 0, 100), all);
}

#[test]
fn selective_games_are_the_same_in_any_company_and_not_those_of_full_width() {
    let of_depth_5 = |selectivity| {
        let strength = Strength { selectivity, ..Strength::new(5, 8) };
        SelfPlayConfig { strength, ..CONFIG }
    };
    let (full, selective) = (of_depth_5(None), of_depth_5(Some(1.0)));
    let evaluator = PatternEvaluator::new(&WeightFile::embedded().model).unwrap();
    let never = AtomicBool::new(false);
    let calibration = measured_calibration(&evaluator, &selective, &never).unwrap();
    let calibrated = evaluator.clone().with_calibration(calibration);
    let play =
        |config, first, count| SelfPlay::new(&calibrated, config).play_games(9, 0, first, count, &never).unwrap();
    let all = play(selective, 0, 10);
    assert_eq!(play(selective, 3, 2), all[3..5]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| play(selective, 0, 10)), all);
    assert_ne!(play(full, 0, 10), all);
    // Cuts so sure never happen, and without a calibration there are none.
    assert_eq!(play(of_depth_5(Some(100.0)), 0, 10), play(full, 0, 10));
    assert_eq!(SelfPlay::new(&evaluator, selective).play_games(9, 0, 0, 10, &never).unwrap(), play(full, 0, 10));
    assert_eq!(measured_calibration(&evaluator, &full, &never), Ok(None));
}

#[test]
fn games_stopped_anywhere_are_the_first_ones_and_whole() {
    let all = games(CONFIG, 3, 0, 200);
    let players = SelfPlay::new(&MobilityEvaluator, CONFIG);
    for wanted in [1, 40, 100] {
        let stop = AtomicBool::new(false);
        let mut played = Vec::new();
        players.play_in_order(
            9,
            3,
            10..200,
            &stop,
            |_, games| games,
            |games: Vec<_>| {
                played.extend(games.into_iter().flatten());
                stop.store(played.len() >= wanted, Relaxed);
                ControlFlow::Continue(())
            },
        );
        // How many more were in progress depends on the threads.
        assert!(played.len() >= wanted, "{}", played.len());
        assert_eq!(played, all[10..10 + played.len()]);

        let mut played = Vec::new();
        players.play_in_order(
            9,
            3,
            10..200,
            &AtomicBool::new(false),
            |_, games| games,
            |games: Vec<_>| {
                played.extend(games.into_iter().flatten());
                if played.len() < wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        );
        assert!((wanted..wanted + 128).contains(&played.len()), "{}", played.len());
    }
    let stop = AtomicBool::new(true);
    assert_eq!(players.play_games(9, 3, 0, 200, &stop), Err(Stopped));
    let strength = Strength { selectivity: Some(1.0), ..Strength::new(5, 8) };
    let selective = SelfPlayConfig { strength, ..CONFIG };
    assert!(measured_calibration(&MobilityEvaluator, &selective, &stop).is_err());
}

#[test]
fn labels_are_what_search_and_solver_say() {
    let mut searcher = Searcher::new(&MobilityEvaluator, 10);
    let mut solver = EndgameSolver::new(10);
    let (mut exact, mut searched, mut explored) = (0, 0, 0);
    for game in games(CONFIG, 0, 0, 60) {
        let replay = game.replay();
        // The moves are a whole legal game.
        let transcript = Transcript::from_moves(game.moves()).unwrap();
        assert!(transcript.last().position.is_game_over());
        let steps = transcript.steps();
        let unlabelled = game.opening();
        assert!(unlabelled <= CONFIG.opening_plies as usize);
        for (ply, (diagram, played)) in replay.plies.iter().zip(&steps[unlabelled..]) {
            assert_eq!((ply.position, ply.side), (diagram.position, diagram.side));
            if ply.position.empties() <= CONFIG.strength.exact_empties {
                solver.forget();
                let solution = solver.solve(ply.position, -64, 64);
                assert_eq!((ply.value, ply.kind), (solution.score, PlyKind::Exact));
                exact += 1;
            } else {
                searcher.forget();
                let found = searcher.search(&ply.position, CONFIG.strength.depth);
                assert_eq!(ply.value, found.score);
                match ply.kind {
                    PlyKind::Greedy => {
                        // Not always the same one of several best moves.
                        let reached = searcher.search(&ply.position.play(*played), CONFIG.strength.depth - 1);
                        assert_eq!(ply.value, -reached.score);
                    }
                    kind => assert_eq!(kind, PlyKind::Exploratory),
                }
                searched += 1;
                explored += i32::from(ply.kind == PlyKind::Exploratory);
            }
        }
        if let (Some(ply), diagram) = (replay.plies.last(), transcript.last()) {
            let score = diagram.position.final_score();
            assert_eq!(replay.result, Score::from_discs(if ply.side == diagram.side { score } else { -score }));
        }
    }
    assert!(exact > 300 && searched > 1_000 && explored > 30, "{exact} {searched} {explored}");
}

#[test]
fn random_moves_are_within_the_margin() {
    let config = SelfPlayConfig { exploration: 0.5, margin: Some(4.0), ..CONFIG };
    let mut searcher = Searcher::new(&MobilityEvaluator, 10);
    let (mut opening, mut explored) = (0, 0);
    for game in games(config, 0, 0, 60) {
        let transcript = Transcript::from_moves(game.moves()).unwrap();
        let plies = game.replay().plies;
        let kinds = std::iter::repeat_n(None, game.opening()).chain(plies.iter().map(|ply| Some(ply.kind)));
        for ((diagram, played), kind) in transcript.steps().into_iter().zip(kinds) {
            if matches!(kind, Some(PlyKind::Greedy | PlyKind::Exact)) {
                continue;
            }
            let mut value = |to| {
                searcher.forget();
                -searcher.search(&diagram.position.play(to), 1).score
            };
            let best = squares(diagram.position.moves()).map(&mut value).max().unwrap();
            assert!(value(played).0 >= best.0 - 4 * Score::DISC);
            opening += i32::from(kind.is_none());
            explored += i32::from(kind.is_some());
        }
    }
    assert!(opening > 300 && explored > 300, "{opening} {explored}");
    // A margin that no move exceeds is none.
    let wide = SelfPlayConfig { margin: Some(128.0), ..CONFIG };
    assert_eq!(games(wide, 0, 0, 60), games(CONFIG, 0, 0, 60));
    assert_eq!(games(config, 0, 17, 20), games(config, 0, 0, 60)[17..37]);
}

#[test]
fn the_leaf_of_tdleaf_has_the_value_of_the_search() {
    use flipside::eval::Evaluator;
    let config = SelfPlayConfig { update: UpdateTarget::Tdleaf, exploration: 0.0, ..CONFIG };
    let mut leaves = 0;
    for ply in games(config, 0, 0, 20).iter().flat_map(|game| game.replay().plies) {
        if let Some((leaf, side)) = ply.leaf {
            assert_ne!(leaf.moves(), 0);
            let value = MobilityEvaluator.evaluate_position(&leaf);
            assert_eq!(if side == ply.side { value } else { -value }, ply.value);
            leaves += 1;
        }
    }
    assert!(leaves > 300, "{leaves}");
}
