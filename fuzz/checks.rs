//! What must hold for every reader, whatever the bytes: fuzz targets call these endlessly, `tests/library/fuzz.rs` a bounded number of times.

use std::io::Cursor;

use flipside::arena::parse_openings;
use flipside::board::{Diagram, Position, ScoredDiagram, Square, Transcript};
use flipside::book::{BookFormat, Errors, check, fix, import};
use flipside::eval::{Evaluator, PatternEvaluator, Score};
use flipside::export::{Engine as Owner, OpenLayout, decode, read_open, write_open};
use flipside::games::{decode as decode_games, encode as encode_games, whole_frames};
use flipside::label::Labeller;
use flipside::pattern::{Layout, PatternSet};
use flipside::protocol::{Engine, ExternalSpec, gtp, nboard};
use flipside::record::{Format, convert, read};
use flipside::search::{Analysis, Limits, Strength};
use flipside::storage::{Container, Packing};
use flipside::train::TrainConfig;
use flipside::weights::WeightFile;
use zip::ZipArchive;

/// Recorded games and positions, read as each format: what is read and written can be read again.
pub fn records(bytes: &[u8]) {
    for from in Format::ALL.into_iter().chain([Format::detect(bytes)]) {
        let games = [Format::Ggf, Format::Sgf, Format::F5d6];
        for to in if from.is_of_positions() { &[Format::Obf][..] } else { &games } {
            let mut written = Vec::new();
            if let Ok(done) = convert(bytes, from, *to, &mut written, &mut |_| Ok(())) {
                assert_eq!(read(&written, *to).unwrap().map(Result::unwrap).count(), done.written);
            }
        }
        let mut labeller = Labeller::new(2);
        for record in read(bytes, from).into_iter().flatten().flatten() {
            let samples = labeller.label(&record).unwrap_or_default();
            assert!(samples.iter().all(|sample| (-64.0..=64.0).contains(&sample.target.discs())));
        }
    }
}

/// A file of kept games: a frame that is whole holds as many games as it says, and these can be written and read again.
pub fn kept_games(bytes: &[u8]) {
    let Ok((frames, _)) = whole_frames(bytes) else { return };
    for frame in frames {
        let Ok(games) = frame.decode() else { continue };
        assert_eq!(games.len(), frame.len());
        assert_eq!(decode_games(&encode_games(&games), games.len()).unwrap(), games);
    }
}

/// Plays the lowest legal square.
struct Plain;

impl Engine for Plain {
    fn strength(&self) -> Strength {
        Strength::new(1, 0)
    }

    fn think(&mut self, diagram: &Diagram, _: &Limits<'_>) -> Analysis {
        let best = Square::lowest(diagram.position.moves());
        let pv = [best].into_iter().collect();
        Analysis { score: Score(0), best: Some(best), pv, depth: 1, nodes: 1, exact: false, selectivity: None }
    }
}

/// Input from other programs: commands to our servers, answers to our clients, a player's description.
pub fn protocols(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // The content of a file is tried below; the input must not choose a file here.
    if !text.contains("loadsgf") {
        let mut answers = Vec::new();
        gtp::serve(&mut Plain, Cursor::new(bytes.to_vec()), &mut answers).unwrap();
        let answers = String::from_utf8(answers).unwrap();
        assert!(answers.is_empty() || answers.ends_with("\n\n"));
        assert!(
            answers.split_terminator("\n\n").all(|answer| gtp::parse_answer(answer.lines().next().unwrap()).is_some())
        );
        nboard::serve(&mut Plain, Cursor::new(bytes.to_vec()), Vec::new()).unwrap();
    }
    for line in text.lines() {
        let _ = gtp::parse_answer(line);
        if let Some((_, Some(evaluation))) = nboard::parse_answer(line) {
            assert!(evaluation.is_finite());
        }
    }
    let _ = text.parse::<ExternalSpec>();
}

/// Input from users: positions, games, openings, pattern sets, configurations.
pub fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(diagram) = text.parse::<Diagram>() {
        assert_eq!(diagram.to_string().parse(), Ok(diagram));
    }
    if let Ok(transcript) = text.parse::<Transcript>() {
        assert_eq!(transcript.to_string().parse(), Ok(transcript));
    }
    let _ = text.parse::<ScoredDiagram>();
    if let Ok(openings) = parse_openings(&text) {
        assert!(openings.iter().all(|opening| !opening.last().position.is_game_over()));
    }
    if let Ok(set) = PatternSet::from_toml(&text) {
        let _ = Layout::new(&set);
    }
    if let Ok(config) = TrainConfig::from_toml(&text) {
        let again = TrainConfig::from_toml(&config.to_toml()).unwrap();
        assert_eq!(again, config);
    }
}

/// Opening books, ours and other programs': what is imported or repaired is a book without faults.
pub fn books(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let [path, made] = ["a", "b.fsb"].map(|name| folder.path().join(name));
    std::fs::write(&path, bytes).unwrap();
    for format in [BookFormat::Edax, BookFormat::Egaroucid, BookFormat::Text] {
        if import(&path, format, &made, &Errors::new(None)).is_ok() {
            assert!(check(&made).unwrap().is_none());
        }
    }
    let _ = check(&path);
    if fix(&path).is_ok() {
        assert!(check(&path).unwrap().is_none());
    }
}

/// Weight files.
pub const WEIGHTS: Container =
    Container { what: "", magic: *b"\x89FSW\r\n\x1a\n", version: 1, limit: 1 << 28, packing: Packing::Deflated };

/// Weight files: any bytes, any deflated payload, and any payload in a header that fits it. What is read must survive being written, with
/// the same hash, and be usable for evaluation.
pub fn weight_file(bytes: &[u8]) {
    let _ = WeightFile::from_bytes(bytes);
    let deflated = [b"\x89FSW\r\n\x1a\n\x01\x00\x00\x00", &[0xff, 0, 0, 0, 0, 0, 0, 0][..], &[0; 32], bytes].concat();
    assert!(WeightFile::from_bytes(&deflated).is_err());
    let sealed = WEIGHTS.seal(bytes.to_vec());
    if let Ok(file) = WeightFile::from_bytes(&sealed) {
        let written = file.to_bytes();
        assert_eq!(WeightFile::from_bytes(&written).as_ref(), Ok(&file));
        assert_eq!(written[20..52], sealed[20..52]);
        PatternEvaluator::new(&file.model).unwrap().evaluate_position(&Position::START);
        exports(&file);
    }
}

/// Exports of a weight file: whatever its names are, entries of an archive stay within one folder, and source code stays text.
fn exports(file: &WeightFile) {
    let written = |layout| {
        let mut bytes = Vec::new();
        write_open(layout, file, &mut bytes).map(|()| bytes)
    };
    if let Ok(archive) = written(OpenLayout::Npz) {
        let archive = ZipArchive::new(Cursor::new(archive)).unwrap();
        let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte));
        assert!(archive.file_names().all(|name| plain(&name.unwrap())));
    }
    for layout in [OpenLayout::C, OpenLayout::Rust] {
        let text = written(layout).map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default();
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }
}

/// Open layouts: weights that are read can be written, and are the same when they are read again. The first byte chooses the layout.
pub fn open_layouts(bytes: &[u8]) {
    let Some((&choice, content)) = bytes.split_first() else { return };
    let layout = OpenLayout::ALL[usize::from(choice) % OpenLayout::ALL.len()];
    if let Ok(file) = read_open(layout, content, None) {
        let mut written = Vec::new();
        write_open(layout, &file, &mut written).unwrap();
        assert!(read_open(layout, &written, None).unwrap().model == file.model);
        assert!(WeightFile::from_bytes(&file.to_bytes()).unwrap() == file);
    }
}

/// Other engines' weight files. The first byte chooses the engine and whether the rest is repeated up to the engine's file size.
pub fn engine_files(bytes: &[u8]) {
    let Some((&choice, content)) = bytes.split_first() else { return };
    let engine = Owner::ALL[usize::from(choice) % 4];
    let (header, size) = match engine {
        Owner::Edax => (28, 13_952_436),
        Owner::Ntest => (8, 574_628),
        // One stage.
        Owner::Zebra => (8, 2 * (4 + 113_879)),
        Owner::Egaroucid => (0, 0),
    };
    let whole = choice & 0x80 != 0 && content.len() > header;
    let content: Vec<u8> = if whole && size > 0 {
        let body = content[header..].iter().cycle();
        content[..header].iter().chain(body).copied().take(size).collect()
    } else {
        content.to_vec()
    };
    let (names, contents) = match engine {
        Owner::Ntest => (('a'..='j').map(|file| format!("JA{file}.cof").into()).collect(), vec![content; 10]),
        _ => (vec!["file".into()], vec![content]),
    };
    if let Ok(model) = decode(engine, &names, &contents) {
        model.check(&Layout::new(&model.set).unwrap()).unwrap();
    }
}
