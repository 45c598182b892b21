//! Events as they are written to `metrics.jsonl`.

use flipside::train::{Anchor, Budget, GateMatch, TrainEvent};

fn result(score: f64, elo: [f64; 3]) -> GateMatch {
    GateMatch { wins: 7, draws: 1, losses: 2, score, elo, discs: 3.25, superiority: 0.1 + 0.2 }
}

#[test]
fn every_event_is_read_back_as_it_was() {
    let infinite = f64::INFINITY;
    let file = || "WTH_2023.wtb \"x\"\n".to_owned();
    let finite = result(0.75, [190.848_501_887_864_97, 1.0 / 3.0, 400.0]);
    let events = [
        TrainEvent::Start {
            generation: 3,
            resumed: true,
            threads: 2,
            patterns: "classic".into(),
            weights: 143_850,
            games: 6_144,
            positions: 300_000,
            again: 2,
            elapsed: 12.5,
            budget: Budget { seconds: Some(7200.0), generations: None, games: Some(1 << 40) },
            time: 1_790_000_000,
        },
        TrainEvent::OtherBuild {
            generation: 9,
            before: "flipside 0.1.0 (commit 1)".into(),
            now: "flipside 0.1.0".into(),
        },
        TrainEvent::FellBack { reason: "checkpoint: damaged".into(), generation: 2 },
        TrainEvent::Waiting { file: file(), reason: "No space left on device".into() },
        TrainEvent::BadRecord { file: file(), reason: "line 3: no game".into() },
        TrainEvent::Records { file: file(), read: 9, left_out: 1 },
        TrainEvent::Batch { generation: 0, played: 64, games: 128, positions: 99, replayed: true, seconds: 0.1 },
        TrainEvent::Delivered { generation: 6, workers: [("one".to_owned(), vec![[0, 31], [64, 95]])].into() },
        TrainEvent::NothingToLearn { generation: 3, since: 12 },
        TrainEvent::Played {
            generation: 7,
            loss: 0.1 + 0.7,
            errors_by_empties: vec![Some(6.125), None],
            slopes_by_empties: vec![Some(1.03), None],
            games: u64::MAX,
            positions: 1 << 53,
            playing: 1e-9,
            elapsed: 0.0,
        },
        TrainEvent::Gate {
            generation: 7,
            fitted: false,
            best: Some(finite),
            anchor: Anchor::Default,
            baseline: finite,
            pairs: [[1, 0, 0, 1, 3], [0, 0, 1, 0, 4]],
            promoted: false,
            seconds: 2.0,
        },
        TrainEvent::Gate {
            generation: 8,
            fitted: true,
            best: Some(result(1.0, [infinite, 120.0, infinite])),
            anchor: Anchor::Mobility,
            baseline: result(0.0, [-infinite, -infinite, -90.0]),
            pairs: [[0; 5]; 2],
            promoted: true,
            seconds: 2.0,
        },
        TrainEvent::Learning { done: 0.5, loss: 5.0 },
        TrainEvent::Learned {
            generation: 9,
            step: 2,
            games: 3,
            positions: 120,
            updates: 5,
            loss: 5.5,
            held_out: None,
            held_out_by_empties: vec![None, Some(7.25)],
            slopes_by_empties: vec![None, Some(0.96)],
            seconds: 3e300,
        },
        TrainEvent::Checkpoint { generation: 7, seconds: 0.25 },
        TrainEvent::End { generation: 7, finished: true, elapsed: 61.5, reason: None },
    ];
    for event in events {
        let line = serde_json::to_string(&event).unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<TrainEvent>(&line).unwrap(), event, "{line}");
    }
}
