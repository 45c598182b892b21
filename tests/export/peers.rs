//! The engines' own weights, where available, against the engines' own static evaluations.

use std::path::{Path, PathBuf};

use flipside::board::Diagram;
use flipside::eval::{Evaluator, PatternEvaluator};
use flipside::export::{Engine, import};

use crate::helpers::say_skipped;

/// The folder with other engines' own weights, which are not part of this repository: `zebra/coeffs2.bin` (Zebra's), `ntest/JA*.cof`
/// (NTest's), and `static-eval-dev.txt`, which has on each line a board, the side to move, and NTest's and Zebra's static evaluations.
fn peers() -> Option<PathBuf> {
    let beside = || {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/peers");
        folder.is_dir().then_some(folder)
    };
    let folder = std::env::var_os("FLIPSIDE_PEERS").map(PathBuf::from).or_else(beside);
    if folder.is_none() {
        say_skipped(
            "it needs Zebra's and NTest's own weights: FLIPSIDE_PEERS names their folder (tests/export/peers.rs)",
        );
    }
    folder
}

/// The sum of the imported weights is the engine's own static evaluation to 0.01 disc at every position, and so is our static
/// evaluation, up to its limit of +-64 discs. If the player must pass, the engine's value is the opponent's, negated.
fn agrees(engine: Engine, file: &str, column: usize) {
    let Some(folder) = peers() else { return };
    let weights = import(engine, &[folder.join(file)]).unwrap();
    let evaluator = PatternEvaluator::new(&weights.model).unwrap();
    let mut positions = 0;
    for line in std::fs::read_to_string(folder.join("static-eval-dev.txt")).unwrap().lines() {
        if line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let diagram: Diagram = format!("{} {}", fields[0], fields[1]).parse().unwrap();
        let pass = diagram.position.moves() == 0;
        let (position, sign) = if pass { (diagram.position.pass(), -1.0) } else { (diagram.position, 1.0) };
        let sum = evaluator.sum(&position, &evaluator.state(&position)) as f32 / f32::from(weights.model.scale);
        let value = evaluator.evaluate_position(&position).discs();
        let theirs: f32 = fields[column].parse().unwrap();
        assert!((sign * sum - theirs).abs() < 0.01, "{line}: {sum}");
        assert!((sign * value - theirs.clamp(-64.0, 64.0)).abs() < 0.01, "{line}: {value}");
        positions += 1;
    }
    assert!(positions > 600);
}

#[test]
fn zebras_own_weights_evaluate_as_zebra_does() {
    agrees(Engine::Zebra, "zebra/coeffs2.bin", 3);
}

#[test]
fn ntests_own_weights_evaluate_as_ntest_does() {
    agrees(Engine::Ntest, "ntest", 2);
}
