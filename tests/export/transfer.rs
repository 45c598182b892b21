//! Models exported to an engine's files and imported again, and models that do not fit.

use std::io::Read;
use std::path::PathBuf;

use flipside::eval::{Evaluator, Model, PatternEvaluator};
use flipside::export::{Encoded, Engine, Refusal, decode, encode};
use flipside::pattern::{Layout, PatternSet, Scalar};

use super::helpers::add_hidden_layer;
use super::{positions, random_model, read, words, zebra_file};

/// A copy of the model, with all weights of some patterns and scalars set to 0.
fn without(mut model: Model, names: &[&str]) -> Model {
    let layout = Layout::new(&model.set).unwrap();
    let mut features: Vec<(&str, usize)> =
        model.set.patterns.iter().map(|p| (p.name.as_str(), p.configurations())).collect();
    features.extend(model.set.scalars.iter().map(|scalar| (scalar.name(), scalar.values())));
    let mut slot = 0;
    for (name, slots) in features {
        if names.contains(&name) {
            for weights in &mut model.weights {
                layout.weight_of_slot()[slot..slot + slots].iter().for_each(|&weight| weights[weight as usize] = 0);
            }
        }
        slot += slots;
    }
    model
}

fn set(name: &str, patterns: &[&str], scalars: &[Scalar]) -> PatternSet {
    let classic = PatternSet::built_in("classic").unwrap().patterns;
    let patterns = classic.into_iter().filter(|pattern| patterns.contains(&pattern.name.as_str())).collect();
    PatternSet { name: name.into(), patterns, scalars: scalars.to_vec(), engine: None }
}

/// Exports a model and reads it back: values differ no more than the export reports. Returns the model read and the largest difference.
fn round_trip(engine: Engine, model: &Model) -> (Model, f64) {
    let Encoded { files, quantisation } = encode(engine, model, false).unwrap();
    let (names, contents): (Vec<PathBuf>, Vec<_>) =
        files.into_iter().map(|(name, bytes)| (PathBuf::from(name), bytes)).unzip();
    let back = decode(engine, &names, &contents).unwrap();
    let [ours, theirs] = [model, &back].map(|model| PatternEvaluator::new(model).unwrap());
    let mut largest = 0f64;
    for position in positions().iter().filter(|position| engine.covers().contains(&position.empties())) {
        let [a, b] = [(&ours, model.scale), (&theirs, back.scale)].map(|(evaluator, scale)| {
            f64::from(evaluator.sum(position, &evaluator.state(position))) / f64::from(scale)
        });
        largest = largest.max((a - b).abs());
    }
    assert_eq!(quantisation.is_exact(), quantisation.largest == 0.0);
    assert!(largest <= 2.0 * quantisation.largest, "{largest} {quantisation:?}");
    (back, largest)
}

#[test]
fn every_engines_own_set_survives_export_and_import() {
    for engine in Engine::ALL {
        let starts: &[u32] = if engine == Engine::Ntest { &[60, 53, 29, 5] } else { &[60, 51, 30, 7] };
        let model = random_model(&engine.set(), starts, engine.scale(), 300, 1);
        let (back, largest) = round_trip(engine, &model);
        assert_eq!(largest, 0.0, "{engine}");
        // Zebra's parity is relative to even: the same values, other weights.
        assert!(back == model || engine == Engine::Zebra, "{engine}");
        assert_eq!(engine.name().parse(), Ok(engine));
    }
}

#[test]
fn other_sets_are_exported_where_their_patterns_fit() {
    let scalars = [Scalar::Constant, Scalar::Parity];
    let lines = ["diag5", "diag6", "diag7", "diag8", "edge2x", "hor2", "hor3", "hor4"];
    // The common patterns go everywhere. Egaroucid has the diagonals within larger patterns, the long one twice.
    let model = random_model(&set("lines", &lines, &scalars), &[60, 53, 29, 5], 128, 40, 8);
    for engine in [Engine::Edax, Engine::Zebra, Engine::Egaroucid] {
        assert_eq!(round_trip(engine, &model).1, 0.0, "{engine}");
    }
    // In NTest's hundredths each term is rounded by up to half a unit.
    let (_, largest) = round_trip(Engine::Ntest, &model);
    assert!(largest > 0.0 && largest < 32.0 * 0.5 / 100.0, "{largest}");
    let triangle = random_model(&set("triangle", &["triangle", "diag4"], &scalars), &[60], 100, 100, 1);
    assert_eq!(round_trip(Engine::Ntest, &triangle).1, 0.0);
}

#[test]
fn what_does_not_fit_is_refused_unless_its_weights_are_zero() {
    let set =
        PatternSet { scalars: vec![Scalar::Constant, Scalar::Mobility], ..PatternSet::built_in("classic").unwrap() };
    let model = random_model(&set, &[60], 128, 300, 1);
    let refusal = |engine, model: &Model| encode(engine, model, false).unwrap_err();
    assert!(matches!(refusal(Engine::Zebra, &model), Refusal::Pattern { pattern, .. } if pattern == "triangle"));
    assert!(matches!(refusal(Engine::Edax, &model), Refusal::Pattern { pattern, .. } if pattern == "corner5x2"));
    let message = refusal(Engine::Zebra, &model).to_string();
    assert!(message.contains("--patterns zebra") && message.contains("a1 b1 c1 d1 a2 b2 c2 a3 b3 a4"), "{message}");
    let model = without(model, &["triangle"]);
    assert!(matches!(refusal(Engine::Zebra, &model), Refusal::Scalar { scalar: "mobility", .. }));
    let model = without(model, &["mobility"]);
    assert_eq!(round_trip(Engine::Zebra, &model).1, 0.0);
}

#[test]
fn a_hidden_layer_is_refused() {
    for engine in Engine::ALL {
        let mut model = random_model(&engine.set(), &[60], engine.scale(), 300, 1);
        add_hidden_layer(&mut model, 1, 100);
        let refusal = encode(engine, &model, true).unwrap_err();
        assert_eq!(refusal, Refusal::HiddenLayer { engine });
        let advice = format!("(`flipside fit RUN --for {engine} -o FILE`)");
        assert!(refusal.to_string().contains(&advice), "{refusal}");
    }
}

#[test]
fn stages_that_an_engine_has_one_table_for_are_refused_or_averaged() {
    let model = random_model(&Engine::Ntest.set(), &[60, 56, 54], 100, 300, 1);
    let refusal = encode(Engine::Ntest, &model, false).unwrap_err();
    assert_eq!(refusal, Refusal::Stages { engine: Engine::Ntest, one: 57, other: 55 });
    let Encoded { files, quantisation } = encode(Engine::Ntest, &model, true).unwrap();
    assert!(quantisation.largest > 0.0);
    let word = |file: &[u8], word: usize| i16::from_le_bytes([file[8 + 2 * word], file[9 + 2 * word]]);
    // 59 and 57 empties are of stage 0, 55 of stage 1; the first word is that of a full row of the opponent's.
    let [a, b] = [model.weights[0][0], model.weights[1][0]].map(f64::from);
    assert_eq!(f64::from(word(&files[0].1, 0)), ((2.0 * a + b) / 3.0).round());
    // Averages that need no rounding change values all the same.
    let mut even = model.clone();
    even.scale = 100;
    even.weights.iter_mut().enumerate().for_each(|(stage, weights)| weights.fill(300 * (stage as i16 % 3)));
    let Encoded { quantisation, .. } = encode(Engine::Ntest, &even, true).unwrap();
    assert!(quantisation.largest > 1.0 && !quantisation.is_exact(), "{quantisation:?}");
}

#[test]
fn weights_beyond_an_engines_range_are_cut_and_reported() {
    let mut model = random_model(&Engine::Zebra.set(), &[60], 128, 300, 1);
    model.weights[0][5] = 9000;
    let Encoded { files, quantisation } = encode(Engine::Zebra, &model, false).unwrap();
    assert_eq!(quantisation.clipped.weights, 59);
    assert_eq!(quantisation.largest_weight, (9000.0 - 8191.0) / 128.0);
    assert!(!quantisation.is_exact());
    let back = read(Engine::Zebra, &files[0].1).unwrap();
    assert_eq!(back.weights[0][5], 8191);
}

#[test]
fn zebras_file_keeps_its_stages() {
    let shipped = [8, 14, 20, 26, 32, 36, 40, 44, 48, 52, 56];
    for stages in [&shipped[..], &[13, 14, 29, 33, 59], &[31]] {
        let values: Vec<i16> = (0..stages.len() as u64)
            .flat_map(|stage| {
                let mut values = words(stage, 113_879, 900);
                // Constant and parity differ from stage to stage, and symmetric tables are equal to their mirror images.
                values[2..].fill(0);
                values
            })
            .collect();
        let model = read(Engine::Zebra, &zebra_file(stages, &values)).unwrap();
        let Encoded { files, quantisation } = encode(Engine::Zebra, &model, false).unwrap();
        assert!(quantisation.is_exact());
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&files[0].1[..]).read_to_end(&mut plain).unwrap();
        let word = |at: usize| i16::from_be_bytes([plain[2 * at], plain[2 * at + 1]]);
        assert_eq!(word(2), stages.len() as i16 + 1);
        assert_eq!((0..stages.len()).map(|stage| word(3 + stage)).collect::<Vec<_>>(), stages);
        assert_eq!(read(Engine::Zebra, &files[0].1).unwrap(), model);
    }
}
