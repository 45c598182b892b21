//! The innermost functions one by one, over positions of random games: `cargo bench`. `flipside bench` measures whole searches.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use flipside::board::{Position, Square, Transcript, squares};
use flipside::eval::{Evaluator, MobilityEvaluator, Model, PatternEvaluator, SquareEvaluator, StageMap};
use flipside::pattern::{Layout, PatternSet};
use flipside::weights::WeightFile;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn main() {
    divan::main();
}

/// All positions of 100 random games in which there is a move.
fn positions() -> Vec<Position> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let games = (0..100).flat_map(|_| Transcript::random(&mut rng).steps());
    games.map(|(diagram, _)| diagram.position).collect()
}

/// Each position with each of its moves and what it turns over.
fn plays() -> Vec<(Position, Square, u64)> {
    let of = |position: Position| squares(position.moves()).map(move |to| (position, to, position.flips(to)));
    positions().into_iter().flat_map(of).collect()
}

fn classic() -> Layout {
    Layout::new(&PatternSet::built_in("classic").unwrap()).unwrap()
}

/// Time for each of `items`.
fn each<T, R>(bencher: Bencher<'_, '_>, items: &[T], work: impl Fn(&T) -> R) {
    let all = || items.iter().for_each(|item| drop(black_box(work(black_box(item)))));
    bencher.counter(ItemsCount::new(items.len())).bench_local(all);
}

#[divan::bench]
fn moves(bencher: Bencher) {
    each(bencher, &positions(), |position| position.moves());
}

#[divan::bench]
fn both_moves(bencher: Bencher) {
    each(bencher, &positions(), |position| position.both_moves());
}

#[divan::bench]
fn flips(bencher: Bencher) {
    each(bencher, &plays(), |(position, to, _)| position.flips(*to));
}

#[divan::bench]
fn indices_from_nothing(bencher: Bencher) {
    let layout = classic();
    each(bencher, &positions(), |position| layout.lanes().indices(position));
}

#[divan::bench]
fn indices_by_a_move(bencher: Bencher) {
    let layout = classic();
    let plays: Vec<_> =
        plays().into_iter().map(|(position, to, flips)| (layout.lanes().indices(&position), to, flips)).collect();
    each(bencher, &plays, |(before, to, flips)| layout.lanes().play(before, *to, *flips));
}

/// With the state already computed, as in a search.
fn evaluate<E: Evaluator>(bencher: Bencher, evaluator: &E) {
    let positions: Vec<_> = positions().into_iter().map(|position| (position, evaluator.state(&position))).collect();
    each(bencher, &positions, |(position, state)| evaluator.evaluate(position, state));
}

/// Weights of patterns.
#[derive(Clone, Copy, Debug)]
enum Weights {
    /// The set `classic` without a hidden layer.
    Linear,
    /// The default weights: the set `night` with a hidden layer.
    WithALayer,
}

const BOTH: [Weights; 2] = [Weights::Linear, Weights::WithALayer];

impl Weights {
    fn evaluator(self) -> PatternEvaluator {
        let model = match self {
            Self::Linear => Model::zero(&PatternSet::built_in("classic").unwrap(), &StageMap::uniform(1), 128).unwrap(),
            Self::WithALayer => WeightFile::embedded().model,
        };
        PatternEvaluator::new(&model).unwrap()
    }
}

#[divan::bench(args = BOTH)]
fn evaluate_patterns(bencher: Bencher, weights: Weights) {
    evaluate(bencher, &weights.evaluator());
}

/// What a search does at its leaves: a move and the value after it, in one.
#[divan::bench(args = BOTH)]
fn evaluate_patterns_after_a_move(bencher: Bencher, weights: Weights) {
    let evaluator = weights.evaluator();
    let of = |(position, to, flips): (Position, _, _)| {
        (evaluator.state(&position), to, flips, position.play_unchecked(to, flips))
    };
    let plays: Vec<_> = plays().into_iter().map(of).collect();
    each(bencher, &plays, |(before, to, flips, after)| evaluator.evaluate_move(before, *to, *flips, after));
}

#[divan::bench]
fn evaluate_squares(bencher: Bencher) {
    evaluate(bencher, &SquareEvaluator::default());
}

#[divan::bench]
fn evaluate_mobility(bencher: Bencher) {
    evaluate(bencher, &MobilityEvaluator);
}
