//! The endgame solver against a naive search, the FFO suite, and the laws of windows, lines and symmetry.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::helpers::{Constant, random_positions};
use flipside::board::{Position, ScoredDiagram, Symmetry, squares};
use flipside::eval::{Calibration, DepthPair, PatternEvaluator, Score, SquareEvaluator};
use flipside::record::lines::parse_positions;
use flipside::search::EndgameSolver;
use flipside::weights::WeightFile;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Plain minimax.
fn naive_value(position: Position) -> i32 {
    let moves = position.moves();
    if moves == 0 {
        return if position.opponent_moves() == 0 { position.final_score() } else { -naive_value(position.pass()) };
    }
    squares(moves).map(|to| -naive_value(position.play(to))).max().unwrap()
}

/// Boards no game leads to: random discs with a bias, so that there are many passes, wipe-outs and early ends.
fn random_boards(seed: u64, empties: u32, count: usize) -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let board = |_| {
        let mut empty = 0u64;
        while empty.count_ones() < empties {
            empty |= 1 << rng.random_range(0..64);
        }
        let mut player: u64 = rng.random();
        for _ in 0..rng.random_range(0..4) {
            player &= rng.random::<u64>();
        }
        if rng.random() {
            player = !player;
        }
        Position::new(player & !empty, !player & !empty).unwrap()
    };
    (0..count).map(board).collect()
}

fn ffo(file: &str) -> Vec<ScoredDiagram> {
    let path = format!("{}/data/ffo/{file}", env!("CARGO_MANIFEST_DIR"));
    parse_positions(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn values_and_moves_equal_minimax() {
    let mut solver = EndgameSolver::new(12);
    for empties in 0..=8 {
        let count = if empties == 8 { 40 } else { 300 };
        let positions = [random_positions(1, empties.max(1), count), random_boards(2, empties, count)].concat();
        for position in positions {
            let value = naive_value(position);
            solver.forget();
            let solution = solver.solve(position, -64, 64);
            assert_eq!(solution.discs(), value, "{position:?}");
            match solution.best {
                Some(to) => assert_eq!(-naive_value(position.play(to)), value, "{position:?} {to}"),
                None => assert_eq!(position.moves(), 0),
            }
        }
    }
}

#[test]
fn every_window_gives_the_right_bound() {
    let mut solver = EndgameSolver::new(12);
    let positions = [random_positions(3, 9, 40), random_boards(4, 7, 40)].concat();
    for position in positions {
        let value = solver.solve(position, -64, 64).discs();
        for (alpha, beta) in
            [(-64, -63), (-1, 1), (0, 1), (value - 1, value), (value, value + 1), (value - 6, value + 2)]
        {
            let (alpha, beta) = (alpha.clamp(-64, 63), beta.clamp(-63, 64));
            solver.forget();
            let score = solver.solve(position, alpha, beta).discs();
            let exact = solver.solve(position, alpha, beta).exact;
            assert_eq!(exact, (score > alpha || alpha == -64) && (score < beta || beta == 64));
            if score <= alpha {
                assert!(value <= score, "{position:?} ({alpha}, {beta})");
            } else if score >= beta {
                assert!(value >= score, "{position:?} ({alpha}, {beta})");
            } else {
                assert_eq!(score, value, "{position:?} ({alpha}, {beta})");
            }
        }
    }
}

#[test]
fn a_wrong_guess_changes_no_value() {
    let mut solver = EndgameSolver::new(12);
    for position in [random_positions(13, 12, 10), random_boards(14, 10, 100)].concat() {
        solver.forget();
        let value = solver.solve(position, -64, 64).discs();
        for guess in [-64, 3, 64] {
            let guide = Constant { value: Score::from_discs(guess), calibration: None };
            let mut misled = EndgameSolver::with_evaluator(&guide, 12);
            let solution = misled.solve(position, -64, 64);
            assert_eq!((solution.discs(), solution.exact), (value, true), "{position:?} {guess}");
            assert_eq!(solution.best.is_some(), position.moves() != 0, "{position:?} {guess}");
        }
    }
}

#[test]
fn what_was_solved_before_changes_nothing() {
    let positions = [random_positions(5, 13, 8), random_positions(6, 12, 30), random_positions(6, 18, 2)].concat();
    // A small table, so that entries are replaced.
    let mut used = EndgameSolver::new(10);
    for &position in positions.iter().chain(positions.iter().rev()) {
        used.forget();
        let mut fresh = EndgameSolver::new(10);
        assert_eq!(used.solve_line(position), fresh.solve_line(position));
    }
}

#[test]
fn lines_keep_the_value_to_the_end() {
    let mut solver = EndgameSolver::new(12);
    for start in [random_positions(7, 12, 40), random_boards(8, 10, 200)].concat() {
        solver.forget();
        let analysis = solver.solve_line(start);
        assert_eq!(
            (analysis.best, analysis.exact),
            (analysis.pv.first().copied().filter(|_| start.moves() != 0), true)
        );
        let (mut position, mut moves, mut score) = (start, analysis.pv.iter(), analysis.discs());
        while !position.is_game_over() {
            position = if position.moves() == 0 { position.pass() } else { position.play(*moves.next().unwrap()) };
            score = -score;
            let mut fresh = EndgameSolver::new(8);
            assert_eq!(fresh.solve(position, -64, 64).discs(), score, "{start:?} {analysis:?}");
        }
        assert_eq!(position.final_score(), score);
        assert_eq!(moves.next(), None);
    }
}

#[test]
#[should_panic(expected = "no window: (4, 4)")]
fn an_empty_window_is_refused() {
    EndgameSolver::new(10).solve(Position::START, 4, 4);
}

#[test]
fn values_are_the_same_under_symmetry() {
    let mut solver = EndgameSolver::new(12);
    for position in random_positions(9, 11, 20) {
        let value = solver.solve(position, -64, 64).discs();
        for symmetry in Symmetry::ALL {
            solver.forget();
            assert_eq!(solver.solve(symmetry.position(position), -64, 64).discs(), value);
        }
    }
}

#[test]
fn the_ffo_suite_is_solved() {
    let mut solver = EndgameSolver::new(20);
    let quick = ffo("fforum-1-19.obf").into_iter().chain(ffo("fforum-20-39.obf"));
    for scored in quick.filter(|scored| scored.diagram.position.empties() <= 18) {
        let position = scored.diagram.position;
        solver.forget();
        let solution = solver.solve(position, -64, 64);
        let score = scored.score.unwrap();
        assert_eq!(solution.discs(), score, "{}", scored.diagram);
        let best = solution.best.unwrap();
        assert!(scored.moves.contains(&(best, score)), "{} {best}", scored.diagram);
    }
}

#[test]
fn threads_and_guides_change_no_value() {
    let guide = SquareEvaluator::default();
    let mut solvers = [1, 2, 3].map(|threads| EndgameSolver::with_evaluator(&guide, 18).with_threads(threads).unwrap());
    // From 17 empty squares on, threads share the moves of a node.
    let shared =
        ffo("fforum-20-39.obf").into_iter().filter(|scored| (17..=18).contains(&scored.diagram.position.empties()));
    for scored in ffo("fforum-1-19.obf").into_iter().chain(shared) {
        for solver in &mut solvers {
            solver.forget();
            let solution = solver.solve(scored.diagram.position, -64, 64);
            assert_eq!(solution.discs(), scored.score.unwrap(), "{}", scored.diagram);
            assert!(scored.moves.contains(&(solution.best.unwrap(), solution.discs())), "{}", scored.diagram);
        }
    }
}

#[test]
fn entries_of_another_position_do_not_harm_solves_with_many_empties() {
    let evaluator = PatternEvaluator::new(&WeightFile::embedded().model).unwrap();
    let suite = ffo("fforum-40-59.obf");
    for threads in [1, 2] {
        let mut solver = EndgameSolver::with_evaluator(&evaluator, 20).with_threads(threads).unwrap();
        // 25 and 34 empty squares: two and three searches precede the exact one.
        for scored in [7, 19, 7].map(|i| &suite[i]) {
            let solution = solver.solve(scored.diagram.position, -64, 64);
            assert_eq!(solution.discs(), scored.score.unwrap(), "{}", scored.diagram);
            assert!(scored.moves.contains(&(solution.best.unwrap(), solution.discs())), "{}", scored.diagram);
        }
    }
}

#[test]
fn wrong_results_of_selective_searches_never_count_as_proved() {
    let prediction = |offset| DepthPair {
        min_empties: 7,
        max_empties: 18,
        shallow: 2,
        deep: 18,
        slope: 1.0,
        offset,
        deviation: 0.5,
    };
    // Every position seems won for the side to move, so that a selective search cuts off nearly all of the tree: by the default
    // prediction of exact values, or by one that is wrong by forty discs.
    let optimist = |calibration| Constant { value: Score::from_discs(20), calibration };
    let wrong = |offset| optimist(Some(Calibration::new(vec![prediction(offset)]).unwrap()));
    for (threads, optimist) in [(1, optimist(None)), (2, optimist(None)), (1, wrong(40.0)), (1, wrong(-40.0))] {
        let mut solver = EndgameSolver::with_evaluator(&optimist, 18).with_threads(threads).unwrap();
        for scored in ffo("fforum-20-39.obf").iter().filter(|scored| scored.diagram.position.empties() == 18) {
            let position = scored.diagram.position;
            let score = scored.score.unwrap();
            // The second time with a table that is full of the first one's entries.
            for _ in 0..2 {
                let solution = solver.solve(position, -64, 64);
                assert_eq!(solution.discs(), score, "{}", scored.diagram);
                assert!(scored.moves.contains(&(solution.best.unwrap(), score)), "{}", scored.diagram);
            }
            assert!(solver.solve(position, score - 10, score - 4).discs() >= score - 4);
            assert!(solver.solve(position, score + 4, score + 10).discs() <= score + 4);
        }
    }
}

#[test]
fn every_scored_move_of_the_first_ffo_positions_is_right() {
    let mut solver = EndgameSolver::new(18);
    for scored in ffo("fforum-1-19.obf") {
        let position = scored.diagram.position;
        for &(to, score) in scored.moves.iter().filter(|_| position.empties() <= 15) {
            solver.forget();
            assert_eq!(-solver.solve(position.play(to), -64, 64).discs(), score, "{} {to}", scored.diagram);
        }
    }
}

#[test]
fn a_set_stop_flag_ends_a_long_solve() {
    let hard = ffo("fforum-60-79.obf")[10].diagram.position;
    let stop = AtomicBool::new(true);
    for threads in [1, 2] {
        let mut solver = EndgameSolver::new(12).with_threads(threads).unwrap();
        assert_eq!(solver.solve_until(hard, -64, 64, &stop), None);
        assert_eq!(solver.solve_line_until(hard, &stop), None);
    }
    // And one that is already deep in its search, on all its threads.
    stop.store(false, Relaxed);
    std::thread::scope(|scope| {
        let solve = scope.spawn(|| {
            let mut solver = EndgameSolver::new(16).with_threads(2).unwrap();
            solver.solve_until(hard, -64, 64, &stop)
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        stop.store(true, Relaxed);
        assert_eq!(solve.join().unwrap(), None);
    });
}

#[test]
fn finished_games_and_passes_have_no_move() {
    let mut solver = EndgameSolver::new(4);
    let over = Position::new(!0, 0).unwrap();
    assert_eq!(solver.solve(over, -64, 64).discs(), 64);
    let only_whites = Position::new(0, 0xff).unwrap();
    let solution = solver.solve(only_whites, -64, 64);
    assert_eq!((solution.discs(), solution.best), (-64, None));
    assert!(solver.solve_line(only_whites).pv.is_empty());
}
