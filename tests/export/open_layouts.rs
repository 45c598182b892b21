//! Open layouts, read back by other programs: Python's standard library, NumPy, the safetensors crate, a C and a Rust compiler.
//! What is not installed is skipped, and the test says so.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::helpers::{add_hidden_layer, say_skipped};
use flipside::board::{Diagram, Position, Side, Transcript};
use flipside::eval::{Calibration, DepthPair, Evaluator, HiddenLayer, Model, PatternEvaluator, StageMap, UNITS};
use flipside::export::{OpenLayout, Target, write_open};
use flipside::pattern::{Layout, Pattern, PatternSet, Scalar};
use flipside::weights::{Provenance, WeightFile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A small evaluation with patterns of every symmetry and all scalars, and hostile texts.
fn weights() -> WeightFile {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let pattern = |name: &str, squares: &str| Pattern::new(name, squares).unwrap();
    let set = PatternSet {
        name: "sm*/all\n\"#".into(),
        patterns: vec![
            pattern("corner", "b2 a1 c1 d1"),
            pattern("diag8", "a1 b2 c3 d4 e5 f6 g7 h8"),
            pattern("ecke ß 'x' \"y\"", "a1 b1 a2"),
            pattern("../../up/\\nul:\u{1b}", "c1 c2"),
            pattern("centre", "d4 e4 d5 e5"),
        ],
        // Parity and constant last; see below.
        scalars: {
            let mut all = Scalar::ALL.to_vec();
            all.reverse();
            all
        },
        engine: None,
    };
    let stages = StageMap::grouped(|empties| (empties > 41, empties > 12));
    let mut model = Model::zero(&set, &stages, 100).unwrap();
    model.weights.iter_mut().flatten().for_each(|weight| *weight = random.random_range(-600..600));
    let provenance = Provenance { program: "a */ \n b".into(), origin: "x\\".into(), ..Provenance::default() };
    WeightFile::new(model, provenance)
}

/// The same, and with a hidden layer.
pub fn both_kinds() -> [WeightFile; 2] {
    let mut hidden = weights();
    add_hidden_layer(&mut hidden.model, 13, 500);
    [weights(), hidden]
}

#[test]
fn metadata_of_any_length_are_written_and_read_back() {
    for length in [65_530usize, 65_536, 200_001] {
        let mut file = weights();
        file.provenance.config = "ß".repeat(length);
        file.provenance.origin = "x".repeat(length);
        let written = |layout| {
            let mut bytes = Vec::new();
            write_open(layout, &file, &mut bytes).unwrap();
            bytes
        };
        let check = |metadata: &serde_json::Value| {
            let provenance = &metadata["provenance"];
            assert!(provenance["config"] == file.provenance.config && provenance["origin"] == file.provenance.origin);
        };
        let json: serde_json::Value = serde_json::from_slice(&written(OpenLayout::Json)).unwrap();
        check(&json["metadata"]);
        let bytes = written(OpenLayout::Safetensors);
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        check(&serde_json::from_str(&header.metadata().as_ref().unwrap()["flipside"]).unwrap());
        safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(written(OpenLayout::Npz))).unwrap();
        let mut array = Vec::new();
        archive.by_name("metadata.npy").unwrap().read_to_end(&mut array).unwrap();
        let start = array.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        check(&serde_json::from_slice(&array[start..]).unwrap());
        assert!([OpenLayout::C, OpenLayout::Rust].map(written).iter().all(|text| text.len() > length));
    }
}

/// Positions of random games with their values in discs: by our own evaluator's sum if the player has a move, by rule at passes
/// and if the game is over.
fn questions(file: &WeightFile) -> Vec<(Position, f64)> {
    let evaluator = PatternEvaluator::new(&file.model).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let games: Vec<_> = (0..40).map(|_| Transcript::random(&mut random)).collect();
    let positions = games[..5].iter().flat_map(Transcript::steps).map(|(diagram, _)| diagram.position);
    // A position in which the opponent has just passed, seen by the one who passed; and each game's end.
    let passes = games.iter().flat_map(Transcript::steps).map(|(diagram, _)| diagram.position.pass());
    let passes = passes.filter(|position| position.moves() == 0).take(10);
    let ends = games.iter().map(|game| game.last().position);
    let value = |position: Position| {
        let sum = evaluator.sum(&position, &evaluator.state(&position));
        (f64::from(sum) / f64::from(file.model.scale)).clamp(-64.0, 64.0)
    };
    let answer = |position: Position| match (position.moves(), position.opponent_moves()) {
        (0, 0) => f64::from(position.final_score()),
        (0, _) => -value(position.pass()),
        _ => value(position),
    };
    positions.chain(passes).chain(ends).map(|position| (position, answer(position))).collect()
}

/// Whether a program can be run at all.
fn present(program: &str, arguments: &[&str]) -> bool {
    let found = Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success());
    if !found {
        say_skipped(format_args!("`{program} {}` does not work here", arguments.join(" ")));
    }
    found
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {talk}");
}

/// What a program answers to some lines. The answers must fit in a pipe: all lines are written first.
fn answers(command: &mut Command, lines: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Asks a program for the value of every question, one a line.
fn ask(command: &mut Command, file: &WeightFile, line: impl Fn(&Position) -> String) {
    let questions = questions(file);
    let lines: String = questions.iter().map(|(position, _)| line(position) + "\n").collect();
    let output = answers(command, &lines);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let answers: Vec<f64> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(answers.len(), questions.len());
    for ((position, expected), answer) in questions.iter().zip(answers) {
        assert!((answer - expected).abs() < 1e-3, "{command:?} {position:?}: {answer}, expected {expected}");
    }
}

/// The position as a line with white to move, so that a reader that mixes up colours and sides is found out.
fn diagram(position: &Position) -> String {
    Diagram { position: *position, side: Side::White }.to_string()
}

/// Lines with more or less than a position: comments and scored moves are left out, and what is no position is refused.
fn ask_for_lines(command: &mut Command) {
    let position = "f5d6c3d3c4f4".parse::<Transcript>().unwrap().last().position;
    let [black, white] = [Side::Black, Side::White].map(|side| Diagram { position, side }.to_string());
    let lines = [
        &format!("# {}", "comment ".repeat(80)),
        "",
        &black,
        "%\r",
        &white,
        " # X",
        &format!("{}\r", black.to_ascii_lowercase()),
        &format!("  {}", white.to_ascii_lowercase().replace('-', ".")),
        &format!("{black};{}", " F3:+2;".repeat(60)),
        &format!("{white} -12"),
    ];
    let output = answers(command, &lines.join("\n"));
    let values = String::from_utf8(output.stdout).unwrap();
    let values: Vec<_> = values.lines().collect();
    assert!(output.status.success() && values == [values[0]; 6], "{command:?}: {values:?}");
    let board = &black[..64];
    for wrong in [
        board,
        &format!("{board}X"),
        &format!("{board} b"),
        &format!("{} X", &board[1..]),
        &format!("{board}- X"),
        &format!("{} X", board.replace('-', "_")),
        "f5d6c3d3c4f4",
    ] {
        let output = answers(command, &format!("{wrong}\n"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{command:?}: {wrong}");
        assert_eq!(error.trim_end(), format!("not a position: {wrong}"), "{command:?}");
    }
}

fn written(file: &WeightFile, folder: &Path, name: &str, layout: OpenLayout) -> PathBuf {
    let path = folder.join(name);
    write_open(layout, file, &mut fs::File::create(&path).unwrap()).unwrap();
    path
}

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn pythons_standard_library_reads_npz_safetensors_and_json() {
    if !present("python3", &["-c", "import sys; assert sys.version_info >= (3, 9)"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for file in both_kinds() {
        for (name, layout) in
            [("w.npz", OpenLayout::Npz), ("w.safetensors", OpenLayout::Safetensors), ("w.json", OpenLayout::Json)]
        {
            let path = written(&file, folder.path(), name, layout);
            let mut command = Command::new("python3");
            ask(command.arg("-B").arg(source("tests/readers/stdlib.py")).arg(path), &file, diagram);
            ask_for_lines(&mut command);
        }
    }
}

#[test]
fn numpy_reads_npz() {
    if !present("python3", &["-c", "import numpy"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for file in both_kinds() {
        let path = written(&file, folder.path(), "w.npz", OpenLayout::Npz);
        let mut command = Command::new("python3");
        ask(command.arg("-B").arg(source("examples/evaluate.py")).arg(path), &file, diagram);
        ask_for_lines(&mut command);
    }
}

#[test]
fn numpy_reads_weight_files_themselves() {
    if !present("python3", &["-c", "import numpy"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.fsw");
    let pair =
        DepthPair { min_empties: 0, max_empties: 60, shallow: 1, deep: 3, slope: 1.0, offset: 0.0, deviation: 4.0 };
    let [plain, hidden] = both_kinds();
    let calibrated = WeightFile { calibration: Some(Calibration::new(vec![pair]).unwrap()), ..hidden.clone() };
    for file in [plain, hidden, calibrated] {
        file.save(&path).unwrap();
        let mut command = Command::new("python3");
        ask(command.arg("-B").arg(source("examples/fsw.py")).arg(&path), &file, diagram);
        ask_for_lines(&mut command);
    }
    let whole = fs::read(&path).unwrap();
    for length in [0, 55, 1000] {
        fs::write(&path, &whole[..length]).unwrap();
        let output = answers(Command::new("python3").arg("-B").arg(source("examples/fsw.py")).arg(&path), "");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains("w.fsw is") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn the_safetensors_crate_reads_safetensors() {
    let mut bytes = Vec::new();
    let file = weights();
    write_open(OpenLayout::Safetensors, &file, &mut bytes).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let corner = tensors.tensor("pattern.corner.weights").unwrap();
    assert_eq!((corner.dtype(), corner.shape()), (safetensors::Dtype::I16, &[3, 81][..]));
    assert!(corner.data().as_ptr().addr().wrapping_sub(bytes.as_ptr().addr()).is_multiple_of(2));
    let scale = tensors.tensor("scale").unwrap();
    assert_eq!((scale.shape(), scale.data()), (&[][..], &[100, 0][..]));
    // Parity follows the other scalars; its two weights end those of the constant.
    let parity = tensors.tensor("scalar.parity.weights").unwrap();
    let last = &file.model.weights[0][file.model.weights[0].len() - 3..];
    assert_eq!(parity.data()[..4], [last[0].to_le_bytes(), last[1].to_le_bytes()].concat());
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    assert!(header.metadata().as_ref().unwrap()["flipside"].contains(&file.hash()));
}

#[test]
fn rows_lie_as_weights_do() {
    let mut bytes = Vec::new();
    let [_, file] = both_kinds();
    let hidden = file.model.hidden.as_ref().unwrap();
    write_open(OpenLayout::Safetensors, &file, &mut bytes).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    // The first pattern has none.
    assert!(tensors.tensor("pattern.corner.rows").is_err());
    let rows = tensors.tensor("pattern.diag8.rows").unwrap();
    assert_eq!((rows.dtype(), rows.shape()), (safetensors::Dtype::I8, &[2, 6561, UNITS][..]));
    let weights = Layout::new(&file.model.set).unwrap().weights_of(1);
    let row = |rows: usize, number: usize| hidden.rows[rows][number].map(i8::cast_unsigned);
    assert_eq!(rows.data()[..UNITS], row(0, weights.start));
    assert_eq!(rows.data()[(2 * 6561 - 1) * UNITS..], row(1, weights.end - 1));
    let constant = tensors.tensor("scalar.constant.rows").unwrap();
    assert_eq!(constant.shape(), [2, 1, UNITS]);
    assert_eq!(constant.data(), [0, 1].map(|rows| row(rows, file.model.weights[0].len() - 1)).concat());
    let bias = tensors.tensor("hidden.bias").unwrap();
    assert_eq!((bias.dtype(), bias.shape()), (safetensors::Dtype::I16, &[3, UNITS][..]));
    assert_eq!(bias.data()[..2], HiddenLayer::MAX_BIAS.to_le_bytes());
    assert_eq!(tensors.tensor("hidden.rows_of_stage").unwrap().data(), [0, 1, 0]);
    assert_eq!(tensors.tensor("hidden.output").unwrap().shape(), [3, UNITS]);
}

#[test]
fn a_c_compiler_takes_the_header_without_a_warning() {
    if !present("cc", &["--version"]) {
        return;
    }
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-I."];
    for file in both_kinds() {
        let folder = tempfile::tempdir().unwrap();
        written(&file, folder.path(), "weights.h", OpenLayout::C);
        let program = folder.path().join("evaluate");
        run(Command::new("cc")
            .args(strict)
            .arg(source("examples/evaluate.c"))
            .arg("-o")
            .arg(&program)
            .current_dir(&folder));
        ask(&mut Command::new(&program), &file, diagram);
        ask_for_lines(&mut Command::new(&program));
        // Included twice, and with nothing in it used.
        fs::write(
            folder.path().join("twice.c"),
            "#include \"weights.h\"\n#include \"weights.h\"\nint main(void) { return 0; }\n",
        )
        .unwrap();
        run(Command::new("cc").args(strict).args(["twice.c", "-o", "twice"]).current_dir(&folder));
    }
}

#[test]
fn a_rust_compiler_takes_the_module_without_a_warning() {
    if !present("rustc", &["--version"]) {
        return;
    }
    let main = "mod weights;\nfn main() {\n    for line in std::io::stdin().lines() {\n        \
        let line = line.unwrap();\n        let (player, opponent) = line.split_once(' ').unwrap();\n        \
        println!(\"{}\", weights::evaluate(player.parse().unwrap(), opponent.parse().unwrap()));\n    }\n}\n";
    let line = |position: &Position| format!("{} {}", position.player, position.opponent);
    for file in both_kinds() {
        let folder = tempfile::tempdir().unwrap();
        written(&file, folder.path(), "weights.rs", OpenLayout::Rust);
        fs::write(folder.path().join("main.rs"), main).unwrap();
        for edition in ["--edition=2015", "--edition=2024"] {
            run(Command::new("rustc").args([edition, "-O", "-D", "warnings", "main.rs"]).current_dir(&folder));
            ask(&mut Command::new(folder.path().join("main")), &file, line);
        }
    }
}

#[test]
fn no_name_leads_out_of_the_folder_of_an_archive() {
    let mut bytes = Vec::new();
    write_open(OpenLayout::Npz, &weights(), &mut bytes).unwrap();
    let archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte));
    assert!(names.iter().all(plain) && names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    assert!(names.contains(&"pattern...%2F..%2Fup%2F%5Cnul%3A%1B.weights.npy".to_owned()), "{names:?}");
}

#[test]
fn equal_weights_give_equal_bytes() {
    for layout in OpenLayout::ALL {
        for (file, again) in both_kinds().iter().zip(&both_kinds()) {
            let [mut bytes, mut same] = [Vec::new(), Vec::new()];
            write_open(layout, file, &mut bytes).unwrap();
            write_open(layout, again, &mut same).unwrap();
            assert!(!bytes.is_empty() && bytes == same, "{layout:?}");
        }
        assert_eq!(layout.name().parse(), Ok(Target::Open(layout)));
    }
}

#[test]
fn weights_that_do_not_fit_are_an_error() {
    let mut file = weights();
    file.model.weights.pop();
    for layout in OpenLayout::ALL {
        let error = write_open(layout, &file, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    }
}
