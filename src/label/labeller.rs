//! Values for the positions of recorded games and for scored positions.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use crate::board::{Position, ScoredDiagram, Side};
use crate::eval::Score;
use crate::learn::{Bound, Sample};
use crate::record::{Finish, Game, GameResult, NO_SCORE, Record, RecordError};
use crate::search::EndgameSolver;

/// If a side resigns, the other is ahead by at least this many discs.
const AHEAD: i32 = 2;

/// Gives the positions of records their values.
#[derive(Debug)]
pub struct Labeller {
    solver: EndgameSolver<'static>,
    exact_empties: u32,
}

impl Labeller {
    /// A labeller that solves positions with `exact_empties` empties or fewer; 0 for none.
    pub fn new(exact_empties: u32) -> Self {
        // As many entries as such positions fill, up to some 20 MB for each thread.
        Self { solver: EndgameSolver::new(exact_empties.clamp(12, 19) + 1), exact_empties }
    }

    /// The positions of a record in order, each with its value. If the mover of a scored position must pass, it is the position after
    /// the pass.
    ///
    /// A scored position keeps its score; one without a score is solved if it has few enough empties. So are positions of games; earlier
    /// ones take the value of the first that is solved, as if the rest of the game had been perfect. If none is solved, the result
    /// counts. A resignation shows only who was ahead: a bound of two discs. A loss on time shows nothing.
    ///
    /// # Errors
    /// No position has a value.
    pub fn label(&mut self, record: &Record) -> Result<Vec<Sample>, &'static str> {
        self.label_until(record, &AtomicBool::new(false))
    }

    /// [`Self::label`], but ends soon after `stop` is set, with a meaningless result.
    fn label_until(&mut self, record: &Record, stop: &AtomicBool) -> Result<Vec<Sample>, &'static str> {
        let labelled = match record {
            Record::Position(ScoredDiagram { diagram, score, .. }) => {
                let value = score.or_else(|| self.solve(&diagram.position, -64, stop));
                let moved = diagram.pass_if_needed();
                let for_mover = value.map(|value| if moved.side == diagram.side { value } else { -value });
                for_mover.map(|value| sample(moved.position, value, Bound::Exact)).into_iter().collect()
            }
            Record::Game(game) => self.label_game(game, stop),
        };
        if labelled.is_empty() { Err(NO_SCORE) } else { Ok(labelled) }
    }

    fn label_game(&mut self, game: &Game, stop: &AtomicBool) -> Vec<Sample> {
        // The value for black of what comes later.
        let mut for_black = result_of(game);
        // What solving has proved of the position after the next move, for black.
        let mut proved = None;
        let steps: Vec<_> = game.steps().collect();
        let mut labelled = Vec::with_capacity(steps.len());
        for (diagram, _) in steps.into_iter().rev() {
            let turned = |value: i32| diagram.side.sign() * value;
            // The move that was played is worth as much, so the position is worth no less.
            let least = proved.map_or(-64, turned);
            proved = self.solve(&diagram.position, least, stop).map(turned);
            for_black = proved.map(|value| (value, Bound::Exact)).or(for_black);
            let for_mover = for_black
                .map(|(value, bound)| if diagram.side == Side::Black { (value, bound) } else { (-value, -bound) });
            labelled.extend(for_mover.map(|(value, bound)| sample(diagram.position, value, bound)));
        }
        labelled.reverse();
        labelled
    }

    /// The value of a position that is worth `least` discs or more, if it has few enough empties.
    fn solve(&mut self, position: &Position, least: i32, stop: &AtomicBool) -> Option<i32> {
        if position.empties() > self.exact_empties {
            return None;
        }
        if least == 64 {
            return Some(least);
        }
        self.solver.solve_until(*position, least, 64, stop).map(|solved| solved.discs().max(least))
    }
}

fn sample(position: Position, discs: i32, bound: Bound) -> Sample {
    Sample { bound, ..Sample::new(position, Score::from_discs(discs)) }
}

/// What a result says about the value for black.
fn value_of(result: GameResult) -> Option<(i32, Bound)> {
    match (result.finish, result.discs.signum()) {
        (Finish::Played | Finish::Agreed, _) => Some((result.discs, Bound::Exact)),
        (Finish::Resigned, 1) => Some((AHEAD, Bound::Lower)),
        (Finish::Resigned, -1) => Some((-AHEAD, Bound::Upper)),
        _ => None,
    }
}

/// Whether [`label_all`] has samples for a record.
pub(super) fn is_lesson(record: &Record, exact_empties: u32) -> bool {
    let can_learn =
        |position: Position, is_known| position.moves() != 0 && (is_known || position.empties() <= exact_empties);
    match record {
        Record::Position(ScoredDiagram { diagram, score, .. }) => {
            can_learn(diagram.pass_if_needed().position, score.is_some())
        }
        Record::Game(game) => {
            let is_known = result_of(game).is_some();
            game.steps().any(|(diagram, _)| can_learn(diagram.position, is_known))
        }
    }
}

/// What is known of a game's value for black without solving.
fn result_of(game: &Game) -> Option<(i32, Bound)> {
    game.score_on_board().or(game.result).and_then(value_of)
}

/// Each record's samples, or why it has none, made on the threads of the current rayon pool. The first record is number `first` of its
/// file, from 1. Positions in which nobody can move are left out. `None` if `stop` was set before the end.
pub(super) fn label_all(
    records: Vec<Result<Record, RecordError>>,
    first: usize,
    exact_empties: u32,
    stop: &AtomicBool,
) -> Option<Vec<Result<Vec<Sample>, RecordError>>> {
    let label = |labeller: &mut Labeller, (i, record): (usize, Result<Record, RecordError>)| {
        let bad = |reason| RecordError::new(format_args!("number {}", first + i), reason);
        let mut labelled = labeller.label_until(&record?, stop).map_err(bad)?;
        labelled.retain(|sample| sample.position.moves() != 0);
        if labelled.is_empty() { Err(bad("nobody can move: there is nothing to learn")) } else { Ok(labelled) }
    };
    let label = |labeller: &mut Labeller, record| {
        let labelled = label(labeller, record);
        (!stop.load(Relaxed)).then_some(labelled)
    };
    let records = records.into_par_iter().enumerate().with_max_len(64);
    records.map_init(|| Labeller::new(exact_empties), label).collect()
}
