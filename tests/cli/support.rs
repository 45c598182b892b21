//! Calling the program.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use flipside::eval::{Model, StageMap};
use flipside::pattern::PatternSet;
use flipside::weights::{Provenance, WeightFile};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_flipside");
pub const START: &str = "---------------------------OX------XO--------------------------- X";

/// A pattern set that is quick to learn and small on disk.
pub const SMALL_SET: &str = r#"
name = "small"
scalars = ["constant"]
[patterns]
corner3x2 = "a1 b1 c1 a2 b2 c2"
edge = "a1 b1 c1 d1 e1 f1 g1 h1"
"#;

/// A command without the environment variables that change what the program does or shows.
pub fn command(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    let own = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("FLIPSIDE_"));
    for name in own.chain(["COLUMNS", "CLICOLOR_FORCE"].map(Into::into)) {
        command.env_remove(name);
    }
    command
}

pub fn program() -> Command {
    command(PROGRAM)
}

/// A process that ends with the test.
pub struct Ends(pub Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn finish(mut command: Command, input: &str) -> Output {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

pub fn run_with(arguments: &[&str], input: &str) -> Output {
    let mut command = program();
    command.args(arguments);
    let mut output = finish(command, input);
    // Tests ignore what a portable build says about its speed.
    let talk = String::from_utf8_lossy(&output.stderr);
    if let Some((_, rest)) = talk.split_once("-C target-cpu=x86-64-v3\"\n") {
        output.stderr = rest.as_bytes().to_vec();
    }
    output
}

/// A call whose standard output nobody reads any more.
pub fn spawn_unread(arguments: &[&str]) -> Child {
    let (_, unread) = std::io::pipe().unwrap();
    program().args(arguments).stdin(Stdio::piped()).stdout(unread).stderr(Stdio::piped()).spawn().unwrap()
}

/// The exit code of a call whose standard output nobody reads, and its messages.
pub fn run_unread(arguments: &[&str], input: &str) -> (Option<i32>, String) {
    let mut child = spawn_unread(arguments);
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Standard output of a call that must succeed.
pub fn stdout(arguments: &[&str], input: &str) -> String {
    let output = run_with(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a call that must fail with a code and print no data.
pub fn refusal(arguments: &[&str], input: &str, code: i32) -> String {
    let output = run_with(arguments, input);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{arguments:?}");
    assert!(error.starts_with("flipside: "), "{error}");
    error
}

pub fn data(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(path).display().to_string()
}

/// A weight file that gives every position the same value.
pub fn constant_weights(folder: &Path, discs: i16) -> PathBuf {
    let set = PatternSet::from_toml(SMALL_SET).unwrap();
    let mut model = Model::zero(&set, &StageMap::uniform(4), 128).unwrap();
    // The only scalar is the constant; its weight is the last.
    model.weights.iter_mut().for_each(|weights| *weights.last_mut().unwrap() = 128 * discs);
    let path = folder.join(format!("constant{discs}.fsw"));
    WeightFile::new(model, Provenance::of_this_program("made by a test")).save(&path).unwrap();
    path
}

pub fn columns(line: &str) -> Vec<&str> {
    line.split('\t').collect()
}
