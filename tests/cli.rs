//! The program as its users meet it: output, exit codes, errors.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flipside::board::{Diagram, squares};
use flipside::eval::{Model, StageMap};
use flipside::pattern::PatternSet;
use flipside::weights::{Provenance, WeightFile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PROGRAM: &str = env!("CARGO_BIN_EXE_flipside");
const START: &str = "---------------------------OX------XO--------------------------- X";

/// The program without the caller's environment variables for it.
fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    let own = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("FLIPSIDE_"));
    own.for_each(|name| {
        command.env_remove(name);
    });
    command
}

fn finish(mut command: Command, input: &str) -> Output {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn run_with(arguments: &[&str], input: &str) -> Output {
    let mut command = program();
    command.args(arguments);
    finish(command, input)
}

/// Standard output of a call that must succeed.
fn stdout(arguments: &[&str], input: &str) -> String {
    let output = run_with(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a call that must fail with a code and print no data.
fn refusal(arguments: &[&str], input: &str, code: i32) -> String {
    let output = run_with(arguments, input);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{arguments:?}");
    assert!(error.starts_with("flipside: "), "{error}");
    error
}

fn data(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(path).display().to_string()
}

/// A weight file that thinks every position is worth as much.
fn constant_weights(folder: &Path, discs: i16) -> PathBuf {
    let set = PatternSet::built_in("classic").unwrap();
    let mut model = Model::zero(&set, &StageMap::uniform(4), 128).unwrap();
    // The only scalar is the constant; its weight is the last.
    assert_eq!(set.scalars.len(), 1);
    model.weights.iter_mut().for_each(|weights| *weights.last_mut().unwrap() = 128 * discs);
    let path = folder.join(format!("constant{discs}.fsw"));
    WeightFile { model, provenance: Provenance::of_this_program("made by a test") }.save(&path).unwrap();
    path
}

fn columns(line: &str) -> Vec<&str> {
    line.split('\t').collect()
}

#[test]
fn help_and_version_go_to_standard_output() {
    assert_eq!(stdout(&["--version"], ""), concat!("flipside ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(stdout(&["--help"], "").contains("Usage: flipside"));
    let help = stdout(&["perft", "--help"], "");
    assert!(help.contains("Example:\n  flipside perft"), "{help}");
    for option in ["--threads", "--quiet", "--progress"] {
        assert!(help.contains(option), "{help}");
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let nothing = run_with(&[], "");
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("Usage: flipside"));
    assert!(refusal(&["fly"], "", 2).contains("'fly'"));
    assert!(refusal(&["perft", "61"], "", 2).contains("61"));
    assert!(refusal(&["perft", "--threads", "0"], "", 2).contains("--threads"));
    assert!(refusal(&["perft", "--position", "XO X"], "", 2).contains("found 2 squares"));
    assert!(refusal(&["eval", "--progress", "perhaps"], "", 2).contains("perhaps"));
}

#[test]
fn perft_counts_and_divides() {
    assert_eq!(stdout(&["perft", "6", "-q"], ""), "1\t4\n2\t12\n3\t56\n4\t244\n5\t1396\n6\t8200\n");
    let parallel = stdout(&["perft", "9", "--threads", "2"], "");
    assert!(parallel.ends_with("9\t3005288\n"), "{parallel}");
    let divided = stdout(&["perft", "5", "--divide"], "");
    assert_eq!(divided, "d3\t349\nc4\t349\nf5\t349\ne6\t349\n");
    // Black must pass, and then white's only move ends the game.
    let passing = format!("OXXXXXX-{} X", "-".repeat(56));
    assert_eq!(stdout(&["perft", "3", "-q", "--position", &passing], ""), "1\t1\n2\t1\n3\t1\n");
}

#[test]
fn quiet_says_nothing() {
    let output = run_with(&["perft", "5", "--quiet"], "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let output = run_with(&["perft", "5"], "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("leaves a second"));
}

#[test]
fn eval_prints_a_number_a_line() {
    let won = format!("XXXX{} O", "-".repeat(60));
    let input = format!("# a comment\n{START}\n\n{START} 3\n{won}\n");
    assert_eq!(stdout(&["eval", "-w", "mobility"], &input), "+0.000\n+0.000\n-64.000\n");
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 3);
    let file = folder.path().join("positions.txt");
    fs::write(&file, &input).unwrap();
    let values = stdout(&["eval", file.to_str().unwrap(), "--weights", weights.to_str().unwrap()], "");
    assert_eq!(values, "+3.000\n+3.000\n-64.000\n");
}

#[test]
fn options_win_over_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let call = |arguments: &[&str]| {
        let mut command = program();
        command
            .env("FLIPSIDE_WEIGHTS", constant_weights(folder.path(), 5))
            .env("FLIPSIDE_THREADS", "1")
            .args(arguments);
        String::from_utf8(finish(command, START).stdout).unwrap()
    };
    assert_eq!(call(&["eval"]), "+5.000\n");
    assert_eq!(call(&["eval", "-w", "squares"]), "+0.000\n");
    let mut command = program();
    command.env("FLIPSIDE_THREADS", "many").arg("eval");
    assert_eq!(finish(command, START).status.code(), Some(2));
}

#[test]
fn bad_positions_are_named_by_line() {
    let error = refusal(&["eval", "-w", "squares"], &format!("{START}\n{START}\nXOXO X\n"), 1);
    assert!(error.contains("standard input: line 3: expected 64 squares"), "{error}");
    assert!(refusal(&["eval", "-w", "squares"], "# nothing\n", 1).contains("no positions in standard input"));
    assert!(refusal(&["eval", "-w", "squares", "no/such/file"], "", 1).contains("`no/such/file`"));
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("binary");
    fs::write(&binary, [0xff; 100]).unwrap();
    assert!(refusal(&["solve", binary.to_str().unwrap()], "", 1).contains("UTF-8"));
}

#[test]
fn bad_weights_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = constant_weights(folder.path(), 1);
    let name = path.to_str().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    for arguments in [["eval", "-w", name], ["search", "-w", name], ["inspect", name, "-q"]] {
        let error = refusal(&arguments, START, 1);
        assert!(error.contains(name) && error.contains("SHA-256"), "{error}");
    }
    fs::write(&path, &bytes[..100]).unwrap();
    assert!(refusal(&["accuracy", name, "-"], START, 1).contains(name));
    assert!(refusal(&["eval", "-w", "sqares"], START, 1).contains("`squares`"));
    assert!(refusal(&["inspect", "mobility"], "", 1).contains("without weights"));
}

#[test]
fn accuracy_prints_a_line_for_each_number_of_empties() {
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 2);
    let other = START.replacen('-', "X", 1);
    let input = format!("{START} 1\n{other} -1\n{START} 6\n{START}\n{START}; F5:-1; D3:-2\n");
    let output = run_with(&["accuracy", weights.to_str().unwrap(), "-"], &input);
    // Errors at 60 empties: 1, -4 and 3; at 59: 3.
    let expected = "empties\tpositions\trmse\tmae\tbias\n59\t1\t3.000\t3.000\t+3.000\n60\t3\t2.944\t2.667\t+0.000\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert!(String::from_utf8_lossy(&output.stderr).contains("without a score: 1"));
    assert!(refusal(&["accuracy", "squares", "-"], START, 1).contains("no position in standard input has a score"));
}

/// A position with so many empty squares after random moves; not one where the side to move must pass.
fn late_position(empties: u32, seed: u64) -> Diagram {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut diagram = Diagram::START;
    loop {
        let moves = diagram.position.moves();
        if moves == 0 {
            diagram = if diagram.position.is_game_over() { Diagram::START } else { diagram.pass() };
        } else if diagram.position.empties() == empties {
            return diagram;
        } else {
            let to = squares(moves).nth(rng.random_range(0..moves.count_ones() as usize)).unwrap();
            diagram = diagram.try_play(to).unwrap();
        }
    }
}

#[test]
fn search_to_the_end_equals_solving() {
    let positions: String = (0..5).map(|seed| format!("{}\n", late_position(9, seed))).collect();
    let solved = stdout(&["solve", "-q"], &positions);
    let searched = stdout(&["search", "-w", "mobility", "--depth", "12"], &positions);
    let (solved, searched): (Vec<_>, Vec<_>) =
        (solved.lines().map(columns).collect(), searched.lines().map(columns).collect());
    assert_eq!(searched[0], ["score", "move", "nodes", "seconds", "line"]);
    for (solved, searched) in solved[1..=5].iter().zip(&searched[1..]) {
        assert_eq!(solved[1].parse::<f64>().unwrap(), searched[0].parse::<f64>().unwrap());
        assert!(searched[4].starts_with(searched[1]), "the line starts with the best move: {searched:?}");
    }
    assert_eq!(searched.len(), 6);
}

#[test]
fn the_first_ffo_positions_have_their_known_scores() {
    let table = stdout(&["solve", "--check", &data("ffo/fforum-1-19.obf")], "");
    assert_eq!(table.lines().count(), 21, "{table}");
}

#[test]
fn solve_checks_the_scores_of_the_file() {
    let position = "XXXXXXO-".to_owned() + &"-".repeat(56);
    // Black takes h1, and no white disc is left.
    let table = stdout(&["solve", "--check"], &format!("{position} X 64"));
    let lines: Vec<_> = table.lines().map(columns).collect();
    assert_eq!(lines[0], ["empties", "score", "move", "nodes", "seconds"]);
    assert_eq!(lines[1][..3], ["57", "+64", "h1"]);
    assert_eq!(lines[2][..2], ["total", "1"]);
    let wrong = run_with(&["solve", "--check"], &format!("{position} X 62"));
    let error = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(1), "{error}");
    assert!(error.contains("position 1: +64 where the file says +62"), "{error}");
    assert!(stdout(&["solve", "--wld", "--check"], &format!("{position} X 62")).contains("\twin\th1\t"));
}

#[test]
fn inspect_shows_origin_and_strongest_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let path = constant_weights(folder.path(), 2);
    let shown = stdout(&["inspect", path.to_str().unwrap()], "");
    assert!(shown.contains("made by a test") && shown.contains("stages       16"), "{shown}");
    assert!(!shown.contains("strongest"), "all pattern weights are zero: {shown}");

    let mut file = WeightFile::load(&path).unwrap();
    // The first configuration of the first pattern: ten opponent's discs.
    file.model.weights[9][0] = -256;
    file.save(&path).unwrap();
    let shown = stdout(&["inspect", path.to_str().unwrap(), "--empties", "24", "--pattern", "corner5x2"], "");
    assert!(shown.ends_with("  -2.00\n  O O O O O . . .\n  O O O O O . . .\n"), "{shown}");
    assert!(refusal(&["inspect", path.to_str().unwrap(), "--pattern", "heart"], "", 2).contains("diag8"));
}

#[test]
fn bench_counts_do_not_depend_on_threads() {
    let signature = |threads: &str| {
        let arguments =
            ["bench", "-w", "mobility", "--rounds", "1", "--section", "perft,midgame", "--threads", threads];
        let table = stdout(&arguments, "");
        let last = table.lines().last().unwrap().to_owned();
        assert!(last.contains(" nodes ") && last.ends_with(" nodes/s"), "{last}");
        last.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let single = signature("1");
    assert!(single > 24_571_284, "perft alone counts as many");
    assert_eq!(single, signature("2"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut command = program();
    command.args(["eval", "-w", "squares"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(format!("{START}\n").repeat(10_000).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    for arguments in [&["perft", "3", "-q"][..], &["--help"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = program().args(arguments).stdout(full).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("flipside: cannot write to standard output: "), "{error}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_older_cpu_gets_a_message_or_a_portable_program() {
    let emulate = |cpu: &str| Command::new("qemu-x86_64").args(["-cpu", cpu, PROGRAM, "perft", "3", "-q"]).output();
    let Ok(nehalem) = emulate("Nehalem") else {
        eprintln!("skipped: qemu-x86_64 (package qemu-user) is not installed");
        return;
    };
    if cfg!(target_feature = "avx2") {
        let error = String::from_utf8_lossy(&nehalem.stderr);
        assert_eq!(nehalem.status.code(), Some(1), "{error}");
        assert!(error.contains(" avx2") && error.contains(" bmi2") && !error.contains("sse4.2"), "{error}");
        assert!(error.contains("target-cpu=x86-64"), "{error}");
    } else {
        assert_eq!(String::from_utf8_lossy(&nehalem.stdout), "1\t4\n2\t12\n3\t56\n");
    }
    let haswell = emulate("Haswell").unwrap();
    assert_eq!(String::from_utf8_lossy(&haswell.stdout), "1\t4\n2\t12\n3\t56\n");
}
