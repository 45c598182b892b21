//! Files made and evaluated only from the facts about each format.

use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use flipside::board::{Bitboard, Position, Square, Symmetry};
use flipside::eval::{Evaluator, Model, PatternEvaluator};
use flipside::export::{Encoded, Engine, decode, encode};
use flipside::pattern::Layout;

use super::{egaroucid_file, little_endian, positions, read, words, zebra_file};

/// An engine's tables by the facts about its files, and their values found square by square, without the library.
pub struct Naive {
    most_significant_first: bool,
    /// Digits of an own disc, an opponent's, and an empty square.
    digits: [usize; 3],
    /// Squares as listed, and the word of each configuration within a stage.
    tables: Vec<(Vec<Square>, Vec<usize>)>,
}

impl Naive {
    /// Tables are separated by `|`; those after `full ` have a word for every configuration, the others are packed. Also
    /// returns the word after the last table.
    pub fn new(most_significant_first: bool, digits: [usize; 3], first: usize, tables: &str) -> (Self, usize) {
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
    pub fn permuted(&self, number: usize, to: &[usize]) -> usize {
        let power =
            |place: usize| 3usize.pow(if self.most_significant_first { to.len() - 1 - place } else { place } as u32);
        (0..to.len()).map(|place| number / power(place) % 3 * power(to[place])).sum()
    }

    /// The words of a stage that a position's patterns select, each different place on the board once.
    pub fn words(&self, position: &Position) -> Vec<usize> {
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

/// Where the pattern's own symmetry takes each listed square; to itself if it has none.
fn mirror(listed: &[Square]) -> Vec<usize> {
    let image = |symmetry: &Symmetry| {
        let place = |&square: &Square| listed.iter().position(|&other| other == symmetry.square(square));
        listed.iter().map(place).collect::<Option<Vec<usize>>>()
    };
    let moved = |image: &Vec<usize>| image.iter().enumerate().filter(|(place, to)| place != *to).count();
    Symmetry::ALL.iter().filter_map(image).max_by_key(moved).unwrap()
}

pub const EDAX: &str = "a1 b1 a2 b2 c1 a3 c2 b3 c3 | a5 a4 a3 a2 a1 b2 b1 c1 d1 e1 | b2 a1 b1 c1 d1 e1 f1 g1 h1 g2 | \
    a1 c1 d1 c2 d2 e2 f2 e1 f1 h1 | a2 b2 c2 d2 e2 f2 g2 h2 | a3 b3 c3 d3 e3 f3 g3 h3 | a4 b4 c4 d4 e4 f4 g4 h4 | \
    a1 b2 c3 d4 e5 f6 g7 h8 | b1 c2 d3 e4 f5 g6 h7 | c1 d2 e3 f4 g5 h6 | d1 e2 f3 g4 h5 | d1 c2 b3 a4";
pub const ZEBRA: &str = "a1 a2 a3 a4 a5 a6 a7 a8 b2 b7 | b1 b2 b3 b4 b5 b6 b7 b8 | c1 c2 c3 c4 c5 c6 c7 c8 | \
    d1 d2 d3 d4 d5 d6 d7 d8 | a1 b2 c3 d4 e5 f6 g7 h8 | b1 c2 d3 e4 f5 g6 h7 | c1 d2 e3 f4 g5 h6 | d1 e2 f3 g4 h5 | \
    e1 f2 g3 h4 | a1 b1 c1 a2 b2 c2 a3 b3 c3 | full a1 b1 c1 d1 e1 a2 b2 c2 d2 e2";
pub const NTEST: &str = "a1 b1 c1 d1 e1 f1 g1 h1 | a2 b2 c2 d2 e2 f2 g2 h2 | a3 b3 c3 d3 e3 f3 g3 h3 | a4 b4 c4 d4 e4 f4 g4 h4 | \
    a1 b2 c3 d4 e5 f6 g7 h8 | b1 c2 d3 e4 f5 g6 h7 | c1 d2 e3 f4 g5 h6 | d1 e2 f3 g4 h5 | a1 b2 d1 c1 b1 c2 b3 a2 a3 a4 | \
    full a2 b2 c2 d2 a1 b1 c1 d1 | full a2 b2 c2 d2 e2 a1 b1 c1 d1 e1 | b2 a1 b1 c1 d1 e1 f1 g1 h1 g2";
pub const EGAROUCID: &str = "full a2 b2 c2 d2 e2 f2 g2 h2 | full b1 c1 d2 e3 g2 f4 g5 h6 h7 | full a3 b3 c3 d3 e3 f3 g3 h3 | \
    full a1 b1 c2 d3 e4 f5 g6 h7 h8 | full a4 b4 c4 d4 e4 f4 g4 h4 | full a1 b1 c1 a2 b2 c2 a3 b3 c3 | \
    full b2 d1 e2 f3 g4 h5 g7 | full a1 b2 c3 d4 e5 f6 g7 h8 a2 b1 | full b2 a1 b1 c1 d1 e1 f1 g1 h1 g2 | \
    full a1 b1 c1 d1 a2 b2 c2 a3 b3 a4 | full a1 c1 d1 e1 f1 h1 c2 d2 e2 f2 | full a1 b2 c3 d4 b1 c2 d3 a2 b3 c4 | \
    full c2 a1 b1 c1 d1 e1 f1 g1 h1 f2 | full a1 b1 c1 d1 e1 a2 b2 a3 a4 a5 | full a1 b1 a2 b2 c2 d2 b3 c3 b4 d4 | \
    full c6 d6 d7 d8 c8 f8 e8 e7 e6 f6";

/// Checks that the sums of a model are those that `expected` finds in the file.
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
    // The constants of stages 7 and 12, one with a remainder that Zebra cuts off.
    (values[0], values[113_879]) = (4 * 10 + 3, -4 * 11 - 3);
    let model = read(Engine::Zebra, &zebra_file(&[7, 12], &values)).unwrap();
    let layout = Layout::new(&model.set).unwrap();
    let constant = layout.weight_of_slot()[layout.scalars()[0].1] as usize;
    let at = |played: u32| model.weights[model.stages.of_empties(60 - played)][constant];
    let filled: Vec<i16> = (1..13).map(at).collect();
    // 8 is a fifth of the way: 10 - 21 / 5 = 5.8; 10 is three fifths: -2.6; odd ones are like the next even one.
    assert_eq!(filled, [10, 10, 10, 10, 10, 10, 10, 5, -2, -2, -11, -11]);
    assert_eq!((at(13), at(14)), (-10, -10));
    // At the end a disc counts as a disc, up to the rounding of 46 patterns.
    let evaluator = PatternEvaluator::new(&model).unwrap();
    let last = positions().into_iter().filter(|position| position.empties() == 1).collect::<Vec<_>>();
    assert!(!last.is_empty());
    for position in last {
        let difference = position.player.count_ones() as i32 - position.opponent.count_ones() as i32;
        assert!((evaluator.sum(&position, &evaluator.state(&position)) - 128 * difference).abs() <= 23);
    }
}

/// Potential mobility as NTest counts it, over the discs of one side: neighbours of an empty square with one more square behind them, on
/// rows, files and diagonals of four squares or more, halved.
fn potential_mobility(discs: Bitboard, empty: Bitboard) -> usize {
    let on_board = |column: i32, row: i32| (0..8).contains(&column) && (0..8).contains(&row);
    let is_in = |set: Bitboard, column: i32, row: i32| set >> (8 * row + column) & 1 != 0;
    let directions = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))).filter(|&step| step != (0, 0));
    let mut pairs = 0;
    for (dx, dy) in directions {
        for (column, row) in (0..64).map(|square| (square % 8, square / 8)).filter(|&(x, y)| is_in(empty, x, y)) {
            let beyond = (column + 2 * dx, row + 2 * dy);
            let line = (-7..8).filter(|i| on_board(column + i * dx, row + i * dy)).count();
            let counts = line >= 4 && on_board(beyond.0, beyond.1) && is_in(discs, column + dx, row + dy);
            pairs += usize::from(counts);
        }
    }
    (pairs / 2).min(63)
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
        let stage = &values[143_655 * (2 * file + usize::from(empties.is_multiple_of(2)))..];
        let moves = [*position, position.pass()].map(|position| position.moves().count_ones() as usize);
        let potential = [position.opponent, position.player].map(|discs| potential_mobility(discs, position.empty()));
        let counts = moves.into_iter().chain(potential).enumerate();
        let maps = counts.map(|(map, count)| scalars + 64 * map + count);
        let met = naive.words(position).into_iter().chain(maps).chain([scalars + 256 + empties % 2]);
        met.map(|word| i32::from(stage[word])).sum::<i32>() + [0, 33, 65][file.saturating_sub(5).min(2)]
    });
    let Encoded { files, quantisation } = encode(Engine::Ntest, &model, false).unwrap();
    assert!(quantisation.is_exact());
    for ((name, bytes), (expected, content)) in files.iter().zip(names.iter().zip(&contents)) {
        // NTest's own set is A; what is written for it is B.
        assert_eq!(name.replace("JB", "JA"), expected.display().to_string());
        assert!(bytes == content, "the export of an import is the same file");
    }
}

/// Values of Egaroucid's, symmetric as its tables must be, many of them zero.
pub fn egaroucid_values(naive: &Naive, discs: usize) -> Vec<i16> {
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

    // A table that differs from its mirror image does not fit symmetric weights: refused, with the place.
    let (listed, words) = &naive.tables[0];
    let lopsided = (0..words.len()).find(|&number| naive.permuted(number, &mirror(listed)) > number).unwrap();
    let mut values = values;
    values[612_425 + words[lopsided]] += 1;
    let error = read(Engine::Egaroucid, &egaroucid_file(&values)).unwrap_err().to_string();
    assert!(error.contains("symmetric") && error.starts_with("file: byte "), "{error}");
}
