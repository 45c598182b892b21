//! Other engines' weight files, both ways, and what must be refused.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flipside::board::{Bitboard, Diagram, Position, Square, Symmetry, squares};
use flipside::eval::{Evaluator, Model, PatternEvaluator, StageMap};
use flipside::export::{Encoded, Engine, ImportError, Refusal, Target, decode, encode, export, import};
use flipside::pattern::{Layout, PatternSet, Scalar};
use flipside::weights::{Provenance, WeightFile};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The folder with other engines' own weights, which are not part of this repository.
fn peers() -> Option<PathBuf> {
    let folder = std::env::var_os("FLIPSIDE_PEERS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/peers"), PathBuf::from);
    let found = folder.is_dir();
    if !found {
        eprintln!("skipped: no folder {} with other engines' weights (FLIPSIDE_PEERS)", folder.display());
    }
    found.then_some(folder)
}

/// The sum of the imported weights is the engine's own static evaluation to 0.01 disc at every position, and so is our static
/// evaluation, up to its limit of +-64 discs. Where the player must pass, the engine's value is the opponent's, negated.
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

/// An engine's tables as the facts about its files have them, and their values found square by square, by nothing of ours.
struct Naive {
    most_significant_first: bool,
    /// Digits of an own disc, an opponent's, and an empty square.
    digits: [usize; 3],
    /// Squares as listed, and the word of each configuration within a stage.
    tables: Vec<(Vec<Square>, Vec<usize>)>,
}

impl Naive {
    /// Tables are separated by `|`; those after `full ` have a word for every configuration, the others are packed. The second
    /// answer is the word after the last table.
    fn new(most_significant_first: bool, digits: [usize; 3], first: usize, tables: &str) -> (Self, usize) {
        let mut naive = Self { most_significant_first, digits, tables: Vec::new() };
        let mut next = first;
        for table in tables.split('|').map(str::trim) {
            let (full, squares) = table.strip_prefix("full ").map_or((false, table), |squares| (true, squares));
            let listed: Vec<Square> = squares.split_whitespace().map(|square| square.parse().unwrap()).collect();
            let mirror = mirror(&listed);
            let mut words = Vec::new();
            for i in 0..3usize.pow(listed.len() as u32) {
                let m = naive.permuted(i, &mirror);
                let packed = !full && m < i;
                words.push(if packed { words[m] } else { next });
                next += usize::from(!packed);
            }
            naive.tables.push((listed, words));
        }
        (naive, next)
    }

    /// The configuration with the digit of each place moved to the place that `to` says.
    fn permuted(&self, number: usize, to: &[usize]) -> usize {
        let power =
            |place: usize| 3usize.pow(if self.most_significant_first { to.len() - 1 - place } else { place } as u32);
        (0..to.len()).map(|place| number / power(place) % 3 * power(to[place])).sum()
    }

    /// The words of a stage that a position's patterns meet, at each different place on the board once.
    fn words(&self, position: &Position) -> Vec<usize> {
        let mut met = Vec::new();
        for (listed, words) in &self.tables {
            let mut seen: Vec<Bitboard> = Vec::new();
            for symmetry in Symmetry::ALL {
                let mut placed: Vec<Square> = listed.iter().map(|&square| symmetry.square(square)).collect();
                let mask = placed.iter().fold(0, |mask, square| mask | square.bit());
                if seen.contains(&mask) {
                    continue;
                }
                seen.push(mask);
                if !self.most_significant_first {
                    placed.reverse();
                }
                let number = placed.iter().fold(0, |number, square| {
                    let content = if position.player & square.bit() != 0 {
                        0
                    } else if position.opponent & square.bit() != 0 {
                        1
                    } else {
                        2
                    };
                    3 * number + self.digits[content]
                });
                met.push(words[number]);
            }
        }
        met
    }
}

/// Where each listed square goes by the pattern's own symmetry; to itself where it has none.
fn mirror(listed: &[Square]) -> Vec<usize> {
    let image = |symmetry: &Symmetry| {
        let place = |&square: &Square| listed.iter().position(|&other| other == symmetry.square(square));
        listed.iter().map(place).collect::<Option<Vec<usize>>>()
    };
    let moved = |image: &Vec<usize>| image.iter().enumerate().filter(|(place, to)| place != *to).count();
    Symmetry::ALL.iter().filter_map(image).max_by_key(moved).unwrap()
}

const EDAX: &str = "a1 b1 a2 b2 c1 a3 c2 b3 c3 | a5 a4 a3 a2 a1 b2 b1 c1 d1 e1 | b2 a1 b1 c1 d1 e1 f1 g1 h1 g2 | \
    a1 c1 d1 c2 d2 e2 f2 e1 f1 h1 | a2 b2 c2 d2 e2 f2 g2 h2 | a3 b3 c3 d3 e3 f3 g3 h3 | a4 b4 c4 d4 e4 f4 g4 h4 | \
    a1 b2 c3 d4 e5 f6 g7 h8 | b1 c2 d3 e4 f5 g6 h7 | c1 d2 e3 f4 g5 h6 | d1 e2 f3 g4 h5 | d1 c2 b3 a4";
const ZEBRA: &str = "a1 a2 a3 a4 a5 a6 a7 a8 b2 b7 | b1 b2 b3 b4 b5 b6 b7 b8 | c1 c2 c3 c4 c5 c6 c7 c8 | \
    d1 d2 d3 d4 d5 d6 d7 d8 | a1 b2 c3 d4 e5 f6 g7 h8 | b1 c2 d3 e4 f5 g6 h7 | c1 d2 e3 f4 g5 h6 | d1 e2 f3 g4 h5 | \
    e1 f2 g3 h4 | a1 b1 c1 a2 b2 c2 a3 b3 c3 | full a1 b1 c1 d1 e1 a2 b2 c2 d2 e2";
const NTEST: &str = "a1 b1 c1 d1 e1 f1 g1 h1 | a2 b2 c2 d2 e2 f2 g2 h2 | a3 b3 c3 d3 e3 f3 g3 h3 | a4 b4 c4 d4 e4 f4 g4 h4 | \
    a1 b2 c3 d4 e5 f6 g7 h8 | b1 c2 d3 e4 f5 g6 h7 | c1 d2 e3 f4 g5 h6 | d1 e2 f3 g4 h5 | a1 b2 d1 c1 b1 c2 b3 a2 a3 a4 | \
    full a2 b2 c2 d2 a1 b1 c1 d1 | full a2 b2 c2 d2 e2 a1 b1 c1 d1 e1 | b2 a1 b1 c1 d1 e1 f1 g1 h1 g2";
const EGAROUCID: &str = "full a2 b2 c2 d2 e2 f2 g2 h2 | full b1 c1 d2 e3 g2 f4 g5 h6 h7 | full a3 b3 c3 d3 e3 f3 g3 h3 | \
    full a1 b1 c2 d3 e4 f5 g6 h7 h8 | full a4 b4 c4 d4 e4 f4 g4 h4 | full a1 b1 c1 a2 b2 c2 a3 b3 c3 | \
    full b2 d1 e2 f3 g4 h5 g7 | full a1 b2 c3 d4 e5 f6 g7 h8 a2 b1 | full b2 a1 b1 c1 d1 e1 f1 g1 h1 g2 | \
    full a1 b1 c1 d1 a2 b2 c2 a3 b3 a4 | full a1 c1 d1 e1 f1 h1 c2 d2 e2 f2 | full a1 b2 c3 d4 b1 c2 d3 a2 b3 c4 | \
    full c2 a1 b1 c1 d1 e1 f1 g1 h1 f2 | full a1 b1 c1 d1 e1 a2 b2 a3 a4 a5 | full a1 b1 a2 b2 c2 d2 b3 c3 b4 d4 | \
    full c6 d6 d7 d8 c8 f8 e8 e7 e6 f6";

/// The positions of two random games that go to the last square or nearly so.
fn positions() -> Vec<Position> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut found = Vec::new();
    for _ in 0..2 {
        let mut position = Position::START;
        while !position.is_game_over() {
            found.push(position);
            let moves = position.moves();
            let to = squares(moves).nth(random.random_range(0..moves.count_ones().max(1) as usize));
            position = to.map_or_else(|| position.pass(), |to| position.play(to));
        }
    }
    found
}

fn words(seed: u64, count: usize, limit: i16) -> Vec<i16> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| random.random_range(-limit..=limit)).collect()
}

fn little_endian(words: &[i16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The content of a one-file engine's file as a model.
fn read(engine: Engine, bytes: &[u8]) -> Result<Model, ImportError> {
    decode(engine, &["file".into()], &[bytes.to_vec()])
}

/// The sums of a model are those that `expected` finds in the file.
fn same_sums(model: &Model, expected: impl Fn(&Position) -> i32) {
    let evaluator = PatternEvaluator::new(model).unwrap();
    for position in positions() {
        assert_eq!(evaluator.sum(&position, &evaluator.state(&position)), expected(&position), "{position:?}");
    }
}

#[test]
fn edax_files_mean_what_edax_means_by_them() {
    let (naive, constant) = Naive::new(true, [0, 1, 2], 0, EDAX);
    assert_eq!(constant + 1, 114_364);
    let values = words(1, 61 * 114_364, 500);
    let mut file = b"XADELAVE".to_vec();
    file.extend([3u32, 2, 5].iter().flat_map(|number| number.to_le_bytes()));
    file.extend([0; 8]);
    file.extend(little_endian(&values));
    assert_eq!(file.len(), 13_952_436);
    let model = read(Engine::Edax, &file).unwrap();
    same_sums(&model, |position| {
        let stage = &values[114_364 * (60 - position.empties() as usize)..];
        naive.words(position).into_iter().chain([constant]).map(|word| i32::from(stage[word])).sum()
    });
    let Encoded { files, quantisation } = encode(Engine::Edax, &model, false).unwrap();
    assert!(quantisation.is_exact());
    assert!(files[0].1 == file, "the export of an import is the same file");
}

/// A plain file of Zebra's with such stages, and such words of each.
fn zebra_file(stages: &[i16], values: &[i16]) -> Vec<u8> {
    [&[5358, 9793, stages.len() as i16 + 1], stages, values]
        .concat()
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

#[test]
fn zebra_files_mean_what_zebra_means_by_them() {
    let (naive, end) = Naive::new(false, [0, 2, 1], 2, ZEBRA);
    assert_eq!(end, 113_879);
    let mut values = words(2, 59 * 113_879, 500);
    values.iter_mut().for_each(|value| *value *= 4);
    let file = zebra_file(&(1..60).collect::<Vec<_>>(), &values);
    let model = read(Engine::Zebra, &file).unwrap();
    same_sums(&model, |position| {
        let played = (60 - position.empties() as usize).max(1);
        let stage = &values[113_879 * (played - 1)..];
        let scalars = if position.empties() % 2 == 1 { vec![0, 1] } else { vec![0] };
        naive.words(position).into_iter().chain(scalars).map(|word| i32::from(stage[word] / 4)).sum()
    });
    let Encoded { files, quantisation } = encode(Engine::Zebra, &model, false).unwrap();
    assert!(quantisation.is_exact());
    let mut plain = Vec::new();
    GzDecoder::new(&files[0].1[..]).read_to_end(&mut plain).unwrap();
    assert!(plain == file, "the export of an import is the same file");
    assert_eq!(read(Engine::Zebra, &files[0].1).unwrap(), model);
}

#[test]
fn missing_stages_of_zebra_are_filled_in() {
    let mut values = vec![0; 2 * 113_879];
    // The constants of the stages 7 and 12, one with a remainder that Zebra cuts off.
    (values[0], values[113_879]) = (4 * 10 + 3, -4 * 11 - 3);
    let model = read(Engine::Zebra, &zebra_file(&[7, 12], &values)).unwrap();
    let layout = Layout::new(&model.set).unwrap();
    let constant = layout.weight_of_slot()[layout.scalars()[0].1] as usize;
    let at = |played: u32| model.weights[model.stages.of_empties(60 - played)][constant];
    let filled: Vec<i16> = (1..13).map(at).collect();
    // 8 is a fifth of the way: 10 - 21 / 5 = 5.8; 10 is three fifths: -2.6; odd ones are as the next even one.
    assert_eq!(filled, [10, 10, 10, 10, 10, 10, 10, 5, -2, -2, -11, -11]);
    assert_eq!((at(13), at(14)), (-10, -10));
    // At the end a disc counts a disc, up to the rounding of 46 patterns.
    let evaluator = PatternEvaluator::new(&model).unwrap();
    let last = positions().into_iter().filter(|position| position.empties() == 1).collect::<Vec<_>>();
    assert!(!last.is_empty());
    for position in last {
        let difference = position.player.count_ones() as i32 - position.opponent.count_ones() as i32;
        assert!((evaluator.sum(&position, &evaluator.state(&position)) - 128 * difference).abs() <= 23);
    }
}

#[test]
fn ntest_files_mean_what_ntest_means_by_them() {
    let (naive, scalars) = Naive::new(false, [2, 0, 1], 0, NTEST);
    assert_eq!(scalars + 4 * 64 + 2, 143_655);
    let values = words(3, 20 * 143_655, 400);
    let names: Vec<PathBuf> = ('a'..='j').map(|letter| format!("JA{letter}.cof").into()).collect();
    let contents: Vec<Vec<u8>> = values
        .chunks(2 * 143_655)
        .map(|words| [1, 0, 0, 0, 100, 0, 0, 0].into_iter().chain(little_endian(words)).collect())
        .collect();
    assert_eq!(contents[0].len(), 574_628);
    let model = decode(Engine::Ntest, &names, &contents).unwrap();
    same_sums(&model, |position| {
        let empties = position.empties() as usize;
        let file = 59usize.saturating_sub(empties) / 6;
        let stage = &values[143_655 * (2 * file + usize::from(empties % 2 == 0))..];
        let counts =
            [Scalar::Mobility, Scalar::OpponentMobility, Scalar::PotentialMobility, Scalar::OpponentPotentialMobility];
        let maps = counts.iter().enumerate().map(|(map, scalar)| scalars + 64 * map + scalar.of(position));
        let met = naive.words(position).into_iter().chain(maps).chain([scalars + 256 + empties % 2]);
        met.map(|word| i32::from(stage[word])).sum::<i32>() + [0, 33, 65][file.saturating_sub(5).min(2)]
    });
    let Encoded { files, quantisation } = encode(Engine::Ntest, &model, false).unwrap();
    assert!(quantisation.is_exact());
    for ((name, bytes), (expected, content)) in files.iter().zip(names.iter().zip(&contents)) {
        assert_eq!(Path::new(name), expected);
        assert!(bytes == content, "the export of an import is the same file");
    }
}

/// Values of Egaroucid's, symmetric as its tables must be, many of them zero.
fn egaroucid_values(naive: &Naive, discs: usize) -> Vec<i16> {
    let stage = discs + 65;
    let mut values = words(4, 60 * stage, 300);
    values[..stage].fill(0);
    for (i, value) in values.iter_mut().enumerate() {
        if i % 7 < 5 || *value == 0 {
            *value = 0;
        }
    }
    for (listed, words) in &naive.tables {
        let mirror = mirror(listed);
        for number in 0..words.len() {
            let same = number.min(naive.permuted(number, &mirror));
            values.chunks_mut(stage).for_each(|stage| stage[words[number]] = stage[words[same]]);
        }
    }
    values
}

fn egaroucid_file(values: &[i16]) -> Vec<u8> {
    let mut packed: Vec<i16> = Vec::new();
    for run in values.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if run[0] != 0 {
            packed.extend(run);
        } else {
            packed.extend(run.chunks(28_600).map(|zeros| 4096 + zeros.len() as i16));
        }
    }
    let mut file = (packed.len() as i32).to_le_bytes().to_vec();
    file.extend(little_endian(&packed));
    file
}

#[test]
fn egaroucid_files_mean_what_egaroucid_means_by_them() {
    let (naive, discs) = Naive::new(true, [0, 1, 2], 0, EGAROUCID);
    assert_eq!(discs, 612_360);
    let values = egaroucid_values(&naive, discs);
    let file = egaroucid_file(&values);
    let model = read(Engine::Egaroucid, &file).unwrap();
    same_sums(&model, |position| {
        let stage = &values[612_425 * (position.discs() as usize - 4)..];
        let own = discs + position.player.count_ones() as usize;
        naive.words(position).into_iter().chain([own]).map(|word| i32::from(stage[word])).sum()
    });
    let Encoded { files, quantisation } = encode(Engine::Egaroucid, &model, false).unwrap();
    assert!(quantisation.is_exact());
    assert!(files[0].1 == file, "the export of an import is the same file");

    // A table that differs from its mirror cannot be said in symmetric weights: refused, with the place.
    let (listed, words) = &naive.tables[0];
    let lopsided = (0..words.len()).find(|&number| naive.permuted(number, &mirror(listed)) > number).unwrap();
    let mut values = values;
    values[612_425 + words[lopsided]] += 1;
    let error = read(Engine::Egaroucid, &egaroucid_file(&values)).unwrap_err().to_string();
    assert!(error.contains("symmetric") && error.starts_with("file: byte "), "{error}");
}

/// Random weights for a set, in stages that begin at such empties.
fn random_model(set: &PatternSet, starts: &[u32], scale: u16, limit: i16, step: i16) -> Model {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut model = Model::zero(set, &StageMap::from_starts(starts).unwrap(), scale).unwrap();
    model.weights.iter_mut().flatten().for_each(|weight| *weight = random.random_range(-limit..=limit) * step);
    model
}

/// The model again, with all weights of some patterns and scalars set to 0.
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
    PatternSet { name: name.into(), patterns, scalars: scalars.to_vec() }
}

/// An export reads back as a model that evaluates as the account of the rounding says, everywhere but in the engine's own unit.
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
fn every_engines_own_set_goes_and_comes_without_loss() {
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
fn other_sets_go_where_their_patterns_fit() {
    let scalars = [Scalar::Constant, Scalar::Parity];
    let lines = ["diag5", "diag6", "diag7", "diag8", "edge2x", "hor2", "hor3", "hor4"];
    // The common patterns go everywhere. Egaroucid has the diagonals within larger patterns, the long one twice.
    let model = random_model(&set("lines", &lines, &scalars), &[60, 53, 29, 5], 128, 40, 8);
    for engine in [Engine::Edax, Engine::Zebra, Engine::Egaroucid] {
        assert_eq!(round_trip(engine, &model).1, 0.0, "{engine}");
    }
    // In NTest's hundredths each of the terms is rounded by up to half.
    let (_, largest) = round_trip(Engine::Ntest, &model);
    assert!(largest > 0.0 && largest < 32.0 * 0.5 / 100.0, "{largest}");
    let triangle = random_model(&set("triangle", &["triangle", "diag4"], &scalars), &[60], 100, 100, 1);
    assert_eq!(round_trip(Engine::Ntest, &triangle).1, 0.0);
}

#[test]
fn what_does_not_fit_is_refused_unless_it_weighs_nothing() {
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
fn stages_that_an_engine_has_one_table_for_are_refused_or_averaged() {
    let model = random_model(&Engine::Ntest.set(), &[60, 56, 54], 100, 300, 1);
    let refusal = encode(Engine::Ntest, &model, false).unwrap_err();
    assert_eq!(
        refusal,
        Refusal::Stages {
            engine: Engine::Ntest,
            one: 57,
            other: 55,
            starts: vec![60, 53, 47, 41, 35, 29, 23, 17, 11, 5]
        }
    );
    let Encoded { files, quantisation } = encode(Engine::Ntest, &model, true).unwrap();
    assert!(quantisation.largest > 0.0);
    let word = |file: &[u8], word: usize| i16::from_le_bytes([file[8 + 2 * word], file[9 + 2 * word]]);
    // 59 and 57 empties are of stage 0, 55 of stage 1; the first word is that of a full row of the opponent's.
    let [a, b] = [model.weights[0][0], model.weights[1][0]].map(f64::from);
    assert_eq!(f64::from(word(&files[0].1, 0)), ((2.0 * a + b) / 3.0).round());
}

#[test]
fn weights_beyond_an_engines_range_are_cut_and_reported() {
    let mut model = random_model(&Engine::Zebra.set(), &[60], 128, 300, 1);
    model.weights[0][5] = 9000;
    let Encoded { files, quantisation } = encode(Engine::Zebra, &model, false).unwrap();
    assert_eq!(quantisation.clipped, 59);
    assert_eq!(quantisation.largest_weight, (9000.0 - 8191.0) / 128.0);
    assert!(!quantisation.is_exact());
    let back = read(Engine::Zebra, &files[0].1).unwrap();
    assert_eq!(back.weights[0][5], 8191);
}

#[test]
fn damaged_files_are_refused_with_file_offset_and_reason() {
    let error = |engine: Engine, bytes: &[u8]| read(engine, bytes).unwrap_err().to_string();
    let said = |engine: Engine, bytes: &[u8], offset: usize, reason: &str| {
        let message = error(engine, bytes);
        assert!(
            message.starts_with(&format!("file: byte {offset}: ")) && message.contains(reason),
            "{engine}: {message}"
        );
    };
    let edax: Vec<u8> = b"XADELAVE".iter().copied().chain([0; 100]).collect();
    said(Engine::Edax, &[], 0, "not an eval.dat");
    said(Engine::Edax, b"EDAXEVAL", 0, "big-endian");
    said(Engine::Edax, &edax, 108, "108 bytes where an eval.dat has 13952436");
    let long: Vec<u8> = edax.iter().copied().chain(std::iter::repeat_n(0, 13_952_436)).collect();
    said(Engine::Edax, &long, 13_952_436, "bytes where");

    said(Engine::Zebra, &[], 0, "cut off within the header");
    let swapped: Vec<u8> = [5358i16, 9793, 12].iter().flat_map(|word| word.to_le_bytes()).collect();
    said(Engine::Zebra, &swapped, 0, "5358 and 9793");
    said(Engine::Zebra, &zebra_file(&[], &[]), 4, "1 stages");
    said(Engine::Zebra, &zebra_file(&[8, 14], &[0; 113_879]), 2 * (5 + 113_879), "2 stages take");
    said(Engine::Zebra, &zebra_file(&[8, 8], &[0; 2 * 113_879]), 8, "stage 8; stages rise");
    said(Engine::Zebra, &zebra_file(&[60], &[0; 113_879]), 6, "stage 60");
    let mut odd = zebra_file(&[8], &[0; 113_879]);
    odd.push(0);
    said(Engine::Zebra, &odd, odd.len() - 1, "1 stages take");
    let zipped = |plain: &[u8]| {
        let mut writer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    };
    let good = zipped(&zebra_file(&[8], &[0; 113_879]));
    assert!(read(Engine::Zebra, &good).is_ok());
    assert!(error(Engine::Zebra, &good[..good.len() - 4]).contains("gzip: "));
    let mut flipped = good.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    assert!(error(Engine::Zebra, &flipped).contains("gzip: "));
    // Far more than any file of Zebra's once unzipped.
    said(Engine::Zebra, &zipped(&vec![0; 20_000_000]), 0, "5358");

    said(Engine::Egaroucid, &[1, 0], 2, "number of words");
    said(Engine::Egaroucid, &[0xff; 4], 0, "-1 words");
    said(Engine::Egaroucid, &[0xff, 0xff, 0xff, 0x7f, 0, 0], 0, "2147483647 words announced where 2 bytes follow");
    said(Engine::Egaroucid, &[1, 0, 0, 0, 0xff, 0x7f], 6, "28671 values where 36745500");
    // Runs of no zeros at all, and one value too many.
    said(Engine::Egaroucid, &[2, 0, 0, 0, 0, 0x10, 0, 0x10], 8, "0 values");
    let zeros = egaroucid_file(&vec![0; 36_745_501]);
    said(Engine::Egaroucid, &zeros, zeros.len() - 2, "more than 36745500");

    let names: Vec<PathBuf> = ('a'..='j').map(|letter| format!("JA{letter}.cof").into()).collect();
    let file: Vec<u8> = [1, 0, 0, 0, 100, 0, 0, 0].into_iter().chain(std::iter::repeat_n(0, 574_620)).collect();
    let mut files = vec![file; 10];
    assert!(decode(Engine::Ntest, &names, &files).is_ok());
    assert!(decode(Engine::Ntest, &names[1..], &files[1..]).unwrap_err().to_string().contains("JAa.cof to JAj.cof"));
    let twice = [&names[..9], &names[..1]].concat();
    assert!(matches!(decode(Engine::Ntest, &twice, &files), Err(ImportError::Files { given: 10, .. })));
    files[3].truncate(1000);
    let message = decode(Engine::Ntest, &names, &files).unwrap_err().to_string();
    assert!(message.contains("JAd.cof: byte 1000: 1000 bytes where"), "{message}");
    files[3][..4].reverse();
    assert!(decode(Engine::Ntest, &names, &files).unwrap_err().to_string().contains("JAd.cof: byte 0: "));
    assert!(matches!(decode(Engine::Edax, &names, &files), Err(ImportError::Files { .. })));
    assert!(matches!(decode(Engine::Edax, &[], &[]), Err(ImportError::Files { .. })));
}

/// A seeded, bounded run of what fuzzing does without end: no bytes make a reader panic.
#[test]
fn random_and_mutated_bytes_never_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let zebra = zebra_file(&[8, 14], &words(7, 2 * 113_879, i16::MAX));
    let (naive, discs) = Naive::new(true, [0, 1, 2], 0, EGAROUCID);
    let egaroucid = egaroucid_file(&egaroucid_values(&naive, discs));
    let edax: Vec<u8> = b"XADELAVE".iter().copied().chain(std::iter::repeat_n(0x80, 13_952_428)).collect();
    let ntest: Vec<u8> = [1, 0, 0, 0, 100, 0, 0, 0].into_iter().chain(std::iter::repeat_n(0x80, 574_620)).collect();
    let names: Vec<PathBuf> = ('a'..='j').map(|letter| format!("JA{letter}.cof").into()).collect();
    let attempt = |engine: Engine, bytes: Vec<u8>| {
        let decoded = match engine {
            Engine::Ntest => decode(engine, &names, &vec![bytes; 10]),
            _ => decode(engine, &names[..1], &[bytes]),
        };
        if let Ok(model) = decoded {
            assert!(model.check(&Layout::new(&model.set).unwrap()).is_ok());
        }
    };
    for (engine, good) in
        [(Engine::Zebra, zebra), (Engine::Egaroucid, egaroucid), (Engine::Edax, edax), (Engine::Ntest, ntest)]
    {
        for round in 0..6 {
            let mut bytes = good.clone();
            for _ in 0..random.random_range(1..50) {
                let reach = if round % 2 == 0 { bytes.len() } else { 64 };
                let at = random.random_range(0..reach);
                bytes[at] = random.random();
            }
            attempt(engine, bytes);
        }
        for round in 0..500 {
            let mut bytes = vec![0; random.random_range(0..400)];
            random.fill_bytes(&mut bytes);
            let head = random.random_range(0..bytes.len().min(16) + 1);
            if round % 2 == 0 {
                bytes[..head].copy_from_slice(&good[..head]);
            }
            attempt(engine, bytes);
        }
    }
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = WeightFile {
        model: random_model(&Engine::Ntest.set(), &[60, 53], 100, 300, 1),
        provenance: Provenance::of_this_program("random"),
    };
    let entries = |path: &Path| fs::read_dir(path).unwrap().count();
    let refused = export(&file, Target::Engine(Engine::Zebra), &folder.path().join("coeffs2.bin"), false);
    assert!(refused.is_err() && entries(folder.path()) == 0);
    let missing = export(&file, "npz".parse().unwrap(), &folder.path().join("none").join("w.npz"), false).unwrap_err();
    assert!(missing.to_string().contains("w.npz") && entries(folder.path()) == 0);

    let out = folder.path().join("ntest");
    let done = export(&file, "ntest".parse().unwrap(), &out, false).unwrap();
    assert_eq!((done.files.len(), entries(&out), entries(folder.path())), (10, 10, 1));
    assert!(done.quantisation.unwrap().is_exact());
    let back = import(Engine::Ntest, &[out.clone()]).unwrap();
    assert_eq!(
        back.provenance.origin,
        "imported from ntest: JAa.cof JAb.cof JAc.cof JAd.cof JAe.cof JAf.cof JAg.cof JAh.cof JAi.cof JAj.cof"
    );
    assert_eq!(import(Engine::Ntest, &done.files).unwrap(), back);
    let message = import(Engine::Zebra, &[out.join("JAa.cof")]).unwrap_err().to_string();
    assert!(message.contains("JAa.cof: byte 0: "), "{message}");
    assert!(import(Engine::Edax, &[folder.path().join("none")]).unwrap_err().to_string().contains("none: "));
    assert!("edaks".parse::<Target>().unwrap_err().to_string().contains("edax"));
}

/// Runs the program on some input; its standard output and standard error.
fn flipside(folder: &Path, arguments: &[&str], input: &str) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that fails at once does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_commands_import_and_export() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| flipside(folder.path(), arguments, input);
    let mut values = vec![0; 113_879];
    values[..2].copy_from_slice(&[512, 2048]);
    fs::write(folder.path().join("coeffs2.bin"), zebra_file(&[8], &values)).unwrap();
    let (done, _, talk) = run(&["import", "--from", "zebra", "coeffs2.bin", "-o", "zebra.fsw"], "");
    assert!(done && talk.contains("zebra.fsw: weights of zebra"), "{talk}");
    // A disc, and four more for an odd number of empties.
    let start = "---------------------------OX------XO--------------------------- X\n";
    let after_f5 = "---------------------------OX------XXX-------------------------- O\n";
    let (done, values, _) = run(&["eval", "-w", "zebra.fsw"], &format!("{start}{after_f5}"));
    assert_eq!((done, values.as_str()), (true, "+1.000\n+5.000\n"));

    let (done, _, talk) = run(&["export", "--to", "zebra", "zebra.fsw", "-o", "again.bin"], "");
    assert!(done && talk.contains("again.bin\nexact: "), "{talk}");
    let (done, _, _) = run(&["import", "--from", "zebra", "again.bin", "-o", "again.fsw"], "");
    let [first, again] = ["zebra.fsw", "again.fsw"].map(|name| WeightFile::load(&folder.path().join(name)).unwrap());
    assert!(done && first.model == again.model);
    let (done, _, talk) = run(&["export", "--to", "edax", "zebra.fsw", "-o", "eval.dat"], "");
    assert!(!done && talk.contains("edax has no pattern that holds `corner5x2`"), "{talk}");
    assert!(!folder.path().join("eval.dat").exists());
    let (done, _, talk) = run(&["import", "--from", "ntest", "again.bin", "-o", "x.fsw"], "");
    assert!(!done && talk.contains("ntest needs the ten files"), "{talk}");
}
