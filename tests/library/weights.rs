//! Weight files: golden bytes, an independent reader by offsets, and everything that must be refused.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flipside::eval::{Calibration, DepthPair, Head, HiddenLayer, Model, StageMap, UNITS};
use flipside::pattern::{Pattern, PatternSet, Scalar};
use flipside::storage::{Container, FileError, FormatError, Packing, blob};
use flipside::weights::{Provenance, WeightFile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// A tiny evaluation: the two corners of an edge, and parity, in two stages.
fn tiny() -> WeightFile {
    let set = PatternSet {
        name: "tiny".into(),
        patterns: vec![Pattern::new("edge", "a1 h1").unwrap()],
        scalars: vec![Scalar::Parity],
        engine: None,
    };
    let stages = StageMap::grouped(|empties| empties > 30);
    let mut model = Model::zero(&set, &stages, 128).unwrap();
    for (stage, weights) in model.weights.iter_mut().enumerate() {
        weights
            .iter_mut()
            .enumerate()
            .for_each(|(i, weight)| *weight = (100 * i as i16 - 350) * (1 - 2 * stage as i16));
    }
    let provenance = Provenance {
        program: "flipside 0.1.0".into(),
        commit: Some("0123abc".into()),
        origin: "made by hand".into(),
        config: "depth = 4\n".into(),
        seed: Some(7),
        generations: 1,
        games: 2,
        samples: 3,
        date: None,
        parent: None,
    };
    WeightFile::new(model, provenance)
}

/// A hidden layer of eight units made by hand: two tables of rows, which the stages use in reverse order.
fn hidden_layer() -> HiddenLayer {
    let row = |number: i8| std::array::from_fn(|unit| if unit < 8 { number + 10 * unit as i8 } else { 0 });
    let rows = [-128, 0].map(|first| (0..8).map(|weight| row(first + weight)).collect());
    let of_units = |number: &dyn Fn(usize) -> i16| std::array::from_fn(|unit| if unit < 8 { number(unit) } else { 0 });
    let head = |stage: i16| Head {
        bias: of_units(&|unit| [HiddenLayer::MAX_BIAS, -HiddenLayer::MAX_BIAS, stage][unit % 3]),
        output: of_units(&|unit| 1000 * stage - 300 * unit as i16),
    };
    HiddenLayer { rows_of_stage: vec![1, 0], rows: rows.into(), heads: vec![head(0), head(1)] }
}

/// The file with a hidden layer.
fn with_hidden_layer(mut file: WeightFile) -> WeightFile {
    file.model.hidden = Some(hidden_layer());
    file
}

/// The same with parameters of selective search.
fn calibrated() -> WeightFile {
    let late =
        DepthPair { min_empties: 13, max_empties: 18, shallow: 1, deep: 3, slope: 1.25, offset: -0.5, deviation: 4.0 };
    let early = DepthPair { min_empties: 19, max_empties: 60, shallow: 2, deep: 4, deviation: 2.5, ..late };
    WeightFile { calibration: Some(Calibration::new(vec![late, early]).unwrap()), ..tiny() }
}

fn classic(seed: u64) -> WeightFile {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let set = PatternSet::built_in("classic").unwrap();
    let mut model = Model::zero(&set, &StageMap::uniform(2), 128).unwrap();
    model.weights.iter_mut().flatten().for_each(|weight| *weight = random.random());
    WeightFile::new(model, Provenance::of_this_program("random"))
}

/// The payload of a file.
fn payload_of(bytes: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    flate2::read::DeflateDecoder::new(&bytes[52..]).read_to_end(&mut payload).unwrap();
    payload
}

/// A file with this payload and a header that fits it.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = [b"\x89FSW\r\n\x1a\n", &[1, 0, 0, 0][..], &(payload.len() as u64).to_le_bytes()].concat();
    bytes.extend(Sha256::digest(payload));
    flate2::read::DeflateEncoder::new(payload, flate2::Compression::fast()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Why bytes are refused after a change.
fn error_of(good: &[u8], change: &dyn Fn(&mut Vec<u8>)) -> FormatError {
    let mut bytes = good.to_vec();
    change(&mut bytes);
    WeightFile::from_bytes(&bytes).unwrap_err()
}

/// Why a file is refused whose payload was changed before it was written.
fn content_error_of(file: &WeightFile, change: &dyn Fn(&mut Vec<u8>)) -> String {
    let mut payload = payload_of(&file.to_bytes());
    change(&mut payload);
    match WeightFile::from_bytes(&sealed(&payload)) {
        Err(FormatError::Content { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The golden files, and what they hold.
fn goldens() -> [(&'static str, WeightFile); 3] {
    [("tiny.fsw", tiny()), ("calibrated.fsw", calibrated()), ("hidden.fsw", with_hidden_layer(calibrated()))]
}

#[test]
fn the_bytes_are_golden() {
    for (name, file) in goldens() {
        let path = golden(name);
        if std::env::var_os("FLIPSIDE_BLESS").is_some() {
            file.save(&path).unwrap();
        }
        // Another compressor may write other bytes after the header, which has the payload's checksum.
        let stored = fs::read(&path).unwrap();
        assert_eq!(file.to_bytes()[..52], stored[..52], "the format changed: that needs a new version number");
        assert_eq!(WeightFile::from_bytes(&stored).unwrap(), file);
        assert_eq!(file.hash(), stored[20..52].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        assert_eq!(WeightFile::from_bytes(&sealed(&payload_of(&stored))).unwrap(), file);
    }
}

/// Reads the golden file as `docs/FILES.md` says, without the library.
#[test]
fn a_reader_by_offsets_finds_everything() {
    struct Reader<'a>(&'a [u8]);
    impl<'a> Reader<'a> {
        fn take(&mut self, n: usize) -> &'a [u8] {
            let (taken, rest) = self.0.split_at(n);
            self.0 = rest;
            taken
        }
        fn u64(&mut self) -> u64 {
            u64::from_le_bytes(self.take(8).try_into().unwrap())
        }
        fn bytes(&mut self) -> &'a [u8] {
            let length = self.u64() as usize;
            self.take(length)
        }
        fn text(&mut self) -> &'a str {
            std::str::from_utf8(self.bytes()).unwrap()
        }
        fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
            match self.take(1)[0] {
                0 => None,
                1 => Some(read(self)),
                other => panic!("{other}"),
            }
        }
    }
    let file = fs::read(golden("tiny.fsw")).unwrap();
    assert_eq!(file[..8], [0x89, b'F', b'S', b'W', b'\r', b'\n', 0x1a, b'\n']);
    assert_eq!(u32::from_le_bytes(file[8..12].try_into().unwrap()), 1);
    let tiny = payload_of(&file);
    assert_eq!(u64::from_le_bytes(file[12..20].try_into().unwrap()) as usize, tiny.len());
    assert_eq!(file[20..52], Sha256::digest(&tiny)[..]);
    let mut payload = Reader(&tiny);
    assert_eq!(payload.text(), "flipside 0.1.0");
    assert_eq!(payload.option(Reader::text), Some("0123abc"));
    assert_eq!(payload.text(), "made by hand");
    assert_eq!(payload.text(), "depth = 4\n");
    assert_eq!(payload.option(Reader::u64), Some(7));
    assert_eq!([payload.u64(), payload.u64(), payload.u64()], [1, 2, 3]);
    assert_eq!(payload.option(Reader::text), None);
    assert_eq!(payload.option(Reader::text), None);
    assert_eq!(payload.text(), "tiny");
    assert_eq!(payload.u64(), 1);
    assert_eq!(payload.text(), "edge");
    assert_eq!(payload.bytes(), [0, 7]);
    assert_eq!(payload.u64(), 1);
    assert_eq!(payload.text(), "parity");
    let stages = payload.bytes();
    assert_eq!(stages.len(), 61);
    assert!(stages.iter().enumerate().all(|(empties, &stage)| stage == u8::from(empties <= 30)));
    assert_eq!(payload.take(2), [128, 0]);
    assert_eq!(payload.u64(), 2);
    for stage in 0..2 {
        // Nine configurations, of which a mirror makes (0 1), (0 2), (1 2) equal to (1 0), (2 0), (2 1); two parities.
        let weights = payload.bytes();
        assert_eq!(weights.len(), 2 * (6 + 2));
        for i in 0..8 {
            let expected = (100 * i as i16 - 350) * if stage == 0 { 1 } else { -1 };
            assert_eq!(i16::from_le_bytes([weights[i], weights[8 + i]]), expected);
        }
    }
    // Neither a calibration nor a hidden layer.
    assert_eq!(payload.0, [0, 0]);

    let before = &tiny[..tiny.len() - 2];
    let with = payload_of(&fs::read(golden("hidden.fsw")).unwrap());
    let mut tail = Reader(with.strip_prefix(before).unwrap());
    assert_eq!(tail.take(1), [1]);
    assert_eq!(tail.u64(), 2);
    for (counts, numbers) in [([13, 18, 1, 3], [1.25, -0.5, 4.0]), ([19, 60, 2, 4], [1.25, -0.5, 2.5])] {
        assert_eq!(tail.take(4), counts);
        assert_eq!([(); 3].map(|()| f32::from_le_bytes(tail.take(4).try_into().unwrap())), numbers);
    }
    assert_eq!(tail.take(1), [1]);
    assert_eq!(tail.take(1), [8]);
    assert_eq!(tail.bytes(), [1, 0]);
    assert_eq!(tail.u64(), 2);
    for first in [-128, 0] {
        let numbers = (0..8 * 8).map(|i| first + (i / 8 + 10 * (i % 8)) as i8);
        assert_eq!(tail.bytes(), numbers.map(i8::cast_unsigned).collect::<Vec<_>>());
    }
    assert_eq!(tail.u64(), 2);
    for stage in 0..2 {
        let bias = [16384, -16384, stage, 16384, -16384, stage, 16384, -16384];
        let numbers = bias.into_iter().chain((0..8).map(|unit| 1000 * stage - 300 * unit));
        assert_eq!(tail.bytes(), numbers.flat_map(i16::to_le_bytes).collect::<Vec<_>>());
    }
    assert!(tail.0.is_empty());
}

#[test]
fn a_hidden_layer_is_kept_with_a_calibration_and_without() {
    let mut full = with_hidden_layer(tiny());
    full.model.hidden.as_mut().unwrap().rows[1][7][UNITS - 1] = -1;
    let mut empty = tiny();
    empty.model.hidden = Some(HiddenLayer {
        rows_of_stage: vec![0, 0],
        rows: vec![vec![[0; UNITS]; 8]],
        heads: vec![Head::default(); 2],
    });
    for file in [with_hidden_layer(tiny()), with_hidden_layer(calibrated()), full, empty] {
        let bytes = file.to_bytes();
        assert_eq!(WeightFile::from_bytes(&bytes).as_ref(), Ok(&file));
    }
    assert_ne!(with_hidden_layer(tiny()).hash(), tiny().hash());
}

#[test]
fn hidden_layers_that_make_no_sense_are_refused() {
    let reason = |change: &dyn Fn(&mut HiddenLayer)| {
        let mut file = with_hidden_layer(tiny());
        change(file.model.hidden.as_mut().unwrap());
        WeightFile::from_bytes(&file.to_bytes()).unwrap_err().to_string()
    };
    assert!(reason(&|layer| layer.rows_of_stage[1] = 2).contains("stage 1 uses row table 2"));
    assert!(reason(&|layer| layer.heads.truncate(1)).contains("has 1 stages where the weights have 2"));
    assert!(reason(&|layer| layer.rows[1].push([0; UNITS])).contains("9 rows where the pattern set has 8 weights"));
    assert!(reason(&|layer| layer.heads[1].bias[2] = i16::MIN).contains("bias"));

    let file = with_hidden_layer(tiny());
    let length = payload_of(&file.to_bytes()).len();
    // After the fields of every file, a byte for no calibration, and one for the layer.
    let layer = payload_of(&tiny().to_bytes()).len();
    let with_checksum = |change: &dyn Fn(&mut Vec<u8>)| content_error_of(&file, change);
    assert!(with_checksum(&|b| b[layer] = 16).contains("has 16 units; this program reads 1 to 14"));
    // The first row table is shortened, then the last stage.
    let rows = layer + 1 + 8 + 2 + 8;
    let shorter = |b: &mut Vec<u8>, at: usize, by: u8| {
        b[at] -= by;
        b.drain(at + 8..at + 8 + usize::from(by));
    };
    assert!(with_checksum(&|b| shorter(b, rows, 1)).contains("a row of its hidden layer ends early"));
    assert!(with_checksum(&|b| shorter(b, rows, 8)).contains("7 rows where"));
    // The last unit of both row tables, and of the biases and outputs of both stages.
    let without_last = |b: &mut Vec<u8>| {
        for table in [rows + 8, rows + 8 + 72] {
            b[table..table + 64].chunks_mut(8).for_each(|row| row[7] = 0);
        }
        for stage in [rows + 144 + 16, rows + 144 + 16 + 40] {
            b[stage..stage + 32].chunks_mut(16).for_each(|numbers| numbers[14..].fill(0));
        }
    };
    assert!(with_checksum(&without_last).contains("has 8 units, but those beyond 7 are 0 everywhere"));
    let last = length - 8 - 32;
    assert!(with_checksum(&|b| shorter(b, last, 4)).contains("has 14 numbers instead of 16"));
    assert!(with_checksum(&|b| b.truncate(layer)).contains("missing"));
    assert!(with_checksum(&|b| b.push(0)).contains("1 bytes are left over"));
    // 2^56 tables of rows.
    assert!(with_checksum(&|b| b[layer + 1 + 8 + 2 + 7] = 1).contains("exceeds the file"));
}

#[test]
fn a_calibration_is_kept_and_named_by_the_hash() {
    let file = calibrated();
    assert_eq!(WeightFile::from_bytes(&file.to_bytes()).unwrap(), file);
    assert_ne!(file.hash(), tiny().hash());
    assert_eq!(WeightFile::new(file.model, file.provenance).hash(), tiny().hash());
}

#[test]
fn calibrations_that_make_no_sense_are_refused() {
    let pairs = payload_of(&tiny().to_bytes()).len() - 1;
    let with_checksum = |change: &dyn Fn(&mut Vec<u8>)| content_error_of(&calibrated(), change);
    let number = |b: &mut Vec<u8>, field: usize, value: f32| {
        b[pairs + 8 + 4 + 4 * field..][..4].copy_from_slice(&value.to_le_bytes());
    };
    assert!(with_checksum(&|b| number(b, 0, f32::NAN)).contains("depth pair 0 (1 for 3 plies): its slope"));
    assert!(with_checksum(&|b| number(b, 0, -1.0)).contains("slope"));
    assert!(with_checksum(&|b| number(b, 1, f32::INFINITY)).contains("offset"));
    assert!(with_checksum(&|b| number(b, 2, -1.0)).contains("deviation"));
    assert!(with_checksum(&|b| b[pairs + 8 + 1] = 61).contains("empty squares"));
    assert!(with_checksum(&|b| b[pairs + 8 + 2] = 3).contains("depths"));
    assert!(with_checksum(&|b| b[pairs] = 3).contains("missing"));
    // 2^63 pairs and more.
    assert!(with_checksum(&|b| b[pairs + 7] = 0xff).contains("missing"));
    let none = |b: &mut Vec<u8>| {
        b.drain(pairs + 8..pairs + 8 + 32);
        b[pairs] = 0;
    };
    assert!(with_checksum(&none).contains("0 depth pairs"));
    assert!(with_checksum(&|b| b.truncate(pairs)).contains("missing"));
}

#[test]
fn a_model_whose_parts_do_not_fit_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.fsw");
    let mut file = classic(1);
    file.model.scale = 0;
    let message = file.save(&path).unwrap_err().to_string();
    assert!(message.contains("w.fsw") && message.contains("scale"), "{message}");
    assert!(!path.exists());
}

#[test]
fn files_are_read_back_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.fsw");
    let file = classic(1);
    file.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes, file.to_bytes());
    assert_eq!(WeightFile::load(&path).unwrap(), file);
    let header: String = bytes[20..52].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(file.hash(), header);
    assert_eq!(WeightFile::load_with_hash(&path).unwrap(), (file, header));
    assert_ne!(classic(1).hash(), classic(2).hash());
}

#[test]
fn damaged_files_are_refused_with_the_reason_and_the_name() {
    let good = classic(1).to_bytes();
    let changed = |change: &dyn Fn(&mut Vec<u8>)| error_of(&good, change);
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| matches!(changed(change), FormatError::Damaged(_));
    assert!(damaged(&|b| b.clear()) && damaged(&|b| b.truncate(51)) && damaged(&|b| b.truncate(52)));
    assert!(damaged(&|b| b.truncate(b.len() - 1)) && damaged(&|b| b.push(0)));
    assert!(damaged(&|b| b[12] ^= 1) && damaged(&|b| b[20] ^= 1));
    let half = good.len() / 2;
    assert!(damaged(&|b| b[half] ^= 1) && damaged(&|b| *b.last_mut().unwrap() ^= 1));
    assert!(matches!(changed(&|b| *b = b"f5d6".to_vec()), FormatError::Foreign { .. }));
    assert!(matches!(changed(&|b| b[1] = b'f'), FormatError::Foreign { .. }));
    assert!(matches!(changed(&|b| b[..8].reverse()), FormatError::Foreign { .. }));
    assert!(matches!(changed(&|b| b[8] = 6), FormatError::Version { found: 6, newest: 1, .. }));
    assert!(matches!(changed(&|b| b[8..12].reverse()), FormatError::Version { found: 0x0100_0000, .. }));
    assert!(matches!(changed(&|b| b[19] = 0xff), FormatError::TooLarge { .. }));
    // A few bytes that inflate to more than any weight file has, whatever the header says.
    let mut bomb = flate2::write::DeflateEncoder::new(good[..52].to_vec(), flate2::Compression::best());
    (0..300).for_each(|_| bomb.write_all(&[0; 1 << 20]).unwrap());
    let mut bomb = bomb.finish().unwrap();
    for claimed in [1000u64, 1 << 28] {
        bomb[12..20].copy_from_slice(&claimed.to_le_bytes());
        assert!(matches!(WeightFile::from_bytes(&bomb), Err(FormatError::Damaged(_))));
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.fsw");
    fs::write(&path, &good[..100]).unwrap();
    let message = WeightFile::load(&path).unwrap_err().to_string();
    assert!(message.contains("cut.fsw") && message.contains("damaged"), "{message}");
    assert!(matches!(WeightFile::load(folder.path().join("none")), Err(FileError::Io { .. })));
    assert!(matches!(WeightFile::load(folder.path()), Err(FileError::Io { .. })));
    // Sparse: it has no blocks on disk, and must not be read.
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let message = WeightFile::load(&path).unwrap_err().to_string();
    assert!(message.contains("more than 268435456 bytes"), "{message}");
}

/// Loading leaves this check to the test.
#[test]
fn the_weights_in_the_program_are_whole_and_small() {
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("weights/default.fsw")).unwrap();
    let file = WeightFile::from_bytes(&bytes).unwrap();
    let hash = bytes[20..52].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(file.hash(), hash);
    assert_eq!(WeightFile::embedded_with_hash(), (file, hash));
    // The whole package should stay below 10 MB.
    assert!(bytes.len() < 9_000_000 && bytes.len() < payload_of(&bytes).len() / 2, "{} bytes", bytes.len());
}

#[test]
fn nonsense_with_the_right_checksum_is_refused() {
    let reason = |file: &WeightFile| match WeightFile::from_bytes(&file.to_bytes()) {
        Err(FormatError::Content { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let mut file = tiny();
    file.model.scale = 0;
    assert!(reason(&file).contains("scale"));
    let mut file = tiny();
    file.model.weights.pop();
    assert!(reason(&file).contains("weights for 1 stages"));
    let mut file = tiny();
    file.model.weights[1].push(0);
    assert!(reason(&file).contains("stage 1 has 9 weights where the pattern set has 8"));
    let mut file = tiny();
    file.model.set.patterns.push(file.model.set.patterns[0].clone());
    assert!(reason(&file).contains("two patterns have this name"));
    let mut file = tiny();
    // Nine patterns of eight instances each.
    let many = ["b1", "c1", "d1", "b2", "c2", "d2", "c3", "d3", "d4"].into_iter().enumerate();
    let many = many.map(|(i, square)| Pattern::new(&format!("p{i}"), &format!("a1 {square} h5")).unwrap());
    file.model.set.patterns = many.collect();
    assert!(reason(&file).contains("instances on the board; at most 64"));

    let bytes = payload_of(&tiny().to_bytes());
    let find = |needle: &[u8]| bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    let with_checksum = |change: &dyn Fn(&mut Vec<u8>)| content_error_of(&tiny(), change);
    assert!(with_checksum(&|b| b.push(0)).contains("1 bytes are left over"));
    assert!(with_checksum(&|b| b.truncate(b.len() - 1)).contains("1 bytes are missing"));
    assert!(with_checksum(&|b| b[find(b"parity")] = b'q').contains("unknown variant `qarity`"));
    assert!(with_checksum(&|b| b[find(b"edge") + 4 + 8] = 64).contains("64 is not a square's number"));
    assert!(with_checksum(&|b| b[find(b"edge") + 4 + 8] = 7).contains("listed twice"));
    assert!(with_checksum(&|b| b[find(b"parity") + 6 + 8] = 7).contains("stages"));
    // A name of 2^56 bytes.
    assert!(with_checksum(&|b| b[7] = 1).contains("exceeds the file"));
}

#[test]
fn containers_hold_other_things_too() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Checkpoint {
        config: String,
        #[serde(with = "blob")]
        step: Vec<f32>,
        #[serde(with = "blob::each")]
        weights: Vec<Vec<i16>>,
        counters: (u64, u64),
    }
    const CHECKPOINT: Container = Container {
        what: "checkpoint",
        magic: *b"\x89FSC\r\n\x1a\n",
        version: 3,
        limit: 1000,
        packing: Packing::Plain,
    };
    let value = |n: usize| Checkpoint {
        config: "seed = 1".into(),
        step: (0..n).map(|i| i as f32 / 3.0).collect(),
        weights: vec![vec![-1, i16::MIN], vec![], vec![5]],
        counters: (1, u64::MAX),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    CHECKPOINT.write(&path, &value(10)).unwrap();
    assert_eq!(CHECKPOINT.read::<Checkpoint>(&path).unwrap(), value(10));
    assert!(matches!(WeightFile::load(&path), Err(FileError::Format { reason: FormatError::Foreign { .. }, .. })));
    CHECKPOINT.write(&path, &value(1000)).unwrap();
    let error = CHECKPOINT.read::<Checkpoint>(&path).unwrap_err().to_string();
    assert!(error.contains("checkpoint: more than 1000 bytes"), "{error}");
    // A blob whose length is not a multiple of four.
    let mut bytes = CHECKPOINT.to_bytes(&value(2));
    bytes[52 + 8 + 8] = 7;
    let checksum = Sha256::digest(&bytes[52..]);
    bytes[20..52].copy_from_slice(&checksum);
    let error = CHECKPOINT.from_bytes::<Checkpoint>(&bytes).unwrap_err().to_string();
    assert!(error.contains("4-byte numbers"), "{error}");
}
