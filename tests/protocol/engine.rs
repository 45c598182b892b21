//! Our own engine behind a protocol: its limits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flipside::board::{Diagram, Transcript, squares};
use flipside::protocol::Engine;
use flipside::search::{self, Strength};

use crate::support::*;

#[test]
fn our_engine_stops_at_once_with_a_move() {
    // Deep searches and long solves of positions with many empty squares would take hours.
    for (exact_empties, threads) in [(0, 1), (60, 1), (60, 2)] {
        let mut engine = search_engine(Strength::new(4, exact_empties)).with_threads(threads).unwrap();
        for depth in [39, 40] {
            let limits = search::Limits { depth: Some(depth), stop: &AtomicBool::new(true), ..search::Limits::NONE };
            let analysis = engine.think(&Diagram::START, &limits);
            assert!((1..=4).contains(&analysis.depth) && !analysis.exact, "{analysis:?}");
            assert_eq!(analysis.pv.len(), analysis.depth as usize, "{analysis:?}");
        }
    }
}

#[test]
fn an_only_move_takes_no_time() {
    // Black has no move but f3.
    let game: Transcript = "d3c5b6d2c6b5c2e3f5b2a5f4c3a7a1c4g3a6c1b1e2a4".parse().unwrap();
    let an_hour = search::Limits { time: Some(Duration::from_secs(3600)), ..search::Limits::NONE };
    let found = search_engine(STRENGTH).choose(&game.last(), &an_hour);
    assert_eq!((found.best, found.depth), (Some("f3".parse().unwrap()), 1));
}

#[test]
fn a_search_engine_thinks_within_its_limits() {
    let mut engine = search_engine(STRENGTH);
    let stop = AtomicBool::new(false);
    let start = Diagram::START;
    let think = |engine: &mut search::Engine<'_, _>, depth, time| {
        engine.think(&start, &search::Limits { depth, time, stop: &stop, ..search::Limits::NONE })
    };
    assert_eq!(think(&mut engine, Some(5), None).depth, 5);
    assert_eq!(think(&mut engine, None, None).depth, STRENGTH.depth);
    // Four plies take next to no time.
    assert_eq!(think(&mut engine, None, Some(Duration::ZERO)).depth, 4);
    assert_eq!(think(&mut engine, Some(0), None).depth, 0);
    stop.store(true, Ordering::SeqCst);
    let analysis = engine.think(&start, &search::Limits { depth: Some(60), stop: &stop, ..search::Limits::NONE });
    assert_eq!(analysis.depth, 4);
    assert!(squares(start.position.moves()).any(|square| Some(square) == analysis.best));
}
