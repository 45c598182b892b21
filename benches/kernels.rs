//! The innermost functions one by one, over positions of random games: `cargo bench`. `flipside bench` measures whole searches.

use std::hint::black_box;
use std::time::Instant;

use flipside::board::{Position, Square, Transcript, squares};
use flipside::eval::{Evaluator, MobilityEvaluator, Model, PatternEvaluator, SquareEvaluator, StageMap};
use flipside::pattern::{Layout, PatternSet};
use flipside::weights::WeightFile;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn main() {
    let (positions, plays) = (positions(), plays());
    let classic = Layout::new(&PatternSet::built_in("classic").unwrap()).unwrap();
    each("moves", &positions, |position| position.moves());
    each("both_moves", &positions, |position| position.both_moves());
    each("flips", &plays, |(position, to, _)| position.flips(*to));

    let lanes = classic.lanes();
    each("indices from nothing", &positions, |position| lanes.indices(position));
    let of = |&(position, to, flips): &Play| (lanes.indices(&position), to, flips);
    let before: Vec<_> = plays.iter().map(of).collect();
    each("indices by a move", &before, |(before, to, flips)| lanes.play(before, *to, *flips));

    let linear = Model::zero(classic.set(), &StageMap::uniform(1), 128).unwrap();
    for (name, model) in [("linear", linear), ("with a layer", WeightFile::embedded().model)] {
        let evaluator = PatternEvaluator::new(&model).unwrap();
        evaluate(&format!("patterns, {name}"), &positions, &evaluator);
        // What a search does at its leaves: a move and the value after it, in one.
        let of =
            |&(position, to, flips): &Play| (evaluator.state(&position), to, flips, position.play_unchecked(to, flips));
        let before: Vec<_> = plays.iter().map(of).collect();
        let after_a_move = |(before, to, flips, after): &_| evaluator.evaluate_move(before, *to, *flips, after);
        each(&format!("patterns, {name}, after a move"), &before, after_a_move);
    }
    evaluate("squares", &positions, &SquareEvaluator::default());
    evaluate("mobility", &positions, &MobilityEvaluator);
}

/// Prints the time for each of `items`: the median of a hundred rounds, and the shortest.
fn each<T, R>(name: &str, items: &[T], work: impl Fn(&T) -> R) {
    let round = |_| {
        let start = Instant::now();
        items.iter().for_each(|item| drop(black_box(work(black_box(item)))));
        start.elapsed().as_nanos() as f64 / items.len() as f64
    };
    let mut rounds: Vec<f64> = (0..100).map(round).collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<34}{:8.2} ns, at best {:8.2}", rounds[50], rounds[0]);
}

/// A value with the state already computed, as in a search.
fn evaluate<E: Evaluator>(name: &str, positions: &[Position], evaluator: &E) {
    let positions: Vec<_> = positions.iter().map(|position| (*position, evaluator.state(position))).collect();
    each(name, &positions, |(position, state)| evaluator.evaluate(position, state));
}

/// A position, a move, and what it turns over.
type Play = (Position, Square, u64);

/// All positions of 100 random games in which there is a move.
fn positions() -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let games = (0..100).flat_map(|_| Transcript::random(&mut rng).steps());
    games.map(|(diagram, _)| diagram.position).collect()
}

/// Each position with each of its moves.
fn plays() -> Vec<Play> {
    let of = |position: Position| squares(position.moves()).map(move |to| (position, to, position.flips(to)));
    positions().into_iter().flat_map(of).collect()
}
