//! Help, usage errors, streams, environment, CPU.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::helpers::say_skipped;
use crate::support::*;

#[test]
fn help_and_version_go_to_standard_output() {
    let version = stdout(&["--version"], "");
    assert!(version.starts_with(concat!("flipside ", env!("CARGO_PKG_VERSION"), " (")), "{version}");
    if cfg!(target_feature = "avx2") {
        assert!(version.contains("x86-64-v"), "{version}");
    }
    assert!(stdout(&["--help"], "").contains("Usage: flipside"));
    let help = stdout(&["perft", "--help"], "");
    assert!(help.contains("Examples:\n  flipside perft"), "{help}");
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
    assert!(refusal(&["perft", "--threads", "-1"], "", 2).contains("-1 is not in 1..=1024"));
    assert!(refusal(&["book", "grow", "b.fsb", "--positions", "1e3"], "", 2).contains("expected a whole number"));
    assert!(refusal(&["perft", "-1"], "", 2).contains("-1 is not in 1..=60"));
    let prune = refusal(&["book", "prune", "book.fsb", "-o", "small.fsb", "--within", "-1"], "", 2);
    assert!(prune.contains("expected a number of discs"), "{prune}");
    assert!(refusal(&["perft", "--position", "XO X"], "", 2).contains("squares found: 2"));
    assert!(refusal(&["eval", "--progress", "perhaps"], "", 2).contains("perhaps"));
}

#[test]
fn a_bad_value_of_a_variable_is_named_after_it() {
    for (variable, value, arguments) in [
        ("FLIPSIDE_SEED", "abc", &["match", "default", "mobility"][..]),
        ("FLIPSIDE_THREADS", "0", &["eval", "f5"]),
        ("FLIPSIDE_SEED", "-1", &["match", "squares", "mobility"]),
    ] {
        let output = program().env(variable, value).args(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(&format!("'{value}' of {variable} for")), "{error}");
    }
    // Of the two the option counts.
    let output =
        program().env("FLIPSIDE_SEED", "1").args(["match", "default", "mobility", "--seed", "x"]).output().unwrap();
    assert!(!String::from_utf8(output.stderr).unwrap().contains("FLIPSIDE_SEED"));
}

#[test]
fn quiet_says_nothing() {
    let output = run_with(&["perft", "5", "--quiet"], "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let output = run_with(&["perft", "5"], "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("leaves a second"));
}

#[test]
fn options_take_precedence_over_the_environment() {
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
fn a_reader_that_leaves_is_not_an_error() {
    let mut command = program();
    command.args(["eval", "-w", "squares"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(format!("{START}\n").repeat(10_000).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_reader_of_messages_that_leaves_does_not_cost_the_result() {
    let arguments =
        ["calibrate", "default", "--depth", "3", "--positions-per-stage", "30", "--exact-empties", "10", "-o", "-"];
    let whole = run_with(&arguments, "").stdout;
    assert!(!whole.is_empty());
    let mut command = program();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout == whole);
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
    let emulate = |cpu: &str| command("qemu-x86_64").args(["-cpu", cpu, PROGRAM, "perft", "3", "-q"]).output();
    let Ok(nehalem) = emulate("Nehalem") else {
        say_skipped("qemu-x86_64 (package qemu-user) is not installed");
        return;
    };
    if cfg!(target_feature = "avx2") {
        let error = String::from_utf8_lossy(&nehalem.stderr);
        assert_eq!(nehalem.status.code(), Some(1), "{error}");
        assert!(error.contains(" avx2") && error.contains(" bmi2") && !error.contains("sse4.2"), "{error}");
        assert!(error.contains("target-cpu=x86-64"), "{error}");
    } else {
        assert_eq!(String::from_utf8_lossy(&nehalem.stdout), "depth\tleaves\n1\t4\n2\t12\n3\t56\n");
    }
    let haswell = emulate("Haswell").unwrap();
    if cfg!(target_feature = "avx2") && String::from_utf8_lossy(&haswell.stderr).contains(" avx2") {
        say_skipped("this qemu-x86_64 emulates no AVX2");
        return;
    }
    assert_eq!(String::from_utf8_lossy(&haswell.stdout), "depth\tleaves\n1\t4\n2\t12\n3\t56\n");
}

#[test]
fn empty_variables_are_not_set() {
    let call = |arguments: &[&str], input: &str| {
        let mut command = program();
        for name in ["CLUSTER", "RUN", "SEED", "WEIGHTS", "THREADS", "PROGRESS", "QUIET"] {
            command.env(format!("FLIPSIDE_{name}"), "");
        }
        command.args(arguments);
        let output = finish(command, input);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(call(&["eval"], START), stdout(&["eval"], START));
    let matches = ["match", "mobility", "squares", "--pairs", "2", "--depth", "1"];
    assert_eq!(call(&matches, ""), stdout(&matches, ""));
}

#[test]
fn missing_weights_are_reported_with_what_is_available() {
    let any = refusal(&["eval", "-w", "no/such.fsw"], START, 1);
    assert!(any.contains("`default`, `squares` or `mobility`"), "{any}");
    for weights in ["no/such.fsw", "mobility"] {
        let files = refusal(&["inspect", weights], "", 1);
        assert!(files.ends_with("Expected a weight file or `default`.\n"), "{files}");
    }
    let mut command = program();
    command.env("FLIPSIDE_WEIGHTS", "no/such.fsw").arg("gtp");
    let error = String::from_utf8(finish(command, "").stderr).unwrap();
    assert!(error.contains("no/such.fsw"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn names_of_weight_files_are_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"w\xff.fsw"));
    fs::rename(constant_weights(folder.path(), 3), &path).unwrap();
    let call = |arguments: &[&OsStr], environment: Option<&OsStr>| {
        let mut command = program();
        command.args(arguments).envs(environment.map(|weights| ("FLIPSIDE_WEIGHTS", weights)));
        let output = finish(command, START);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let [eval, option] = ["eval", "-w"].map(OsStr::new);
    assert!(call(&["inspect".as_ref(), path.as_ref()], None).contains("small"));
    assert!(call(&[eval, option, path.as_ref()], None).contains("3.0"));
    assert!(call(&[eval], Some(path.as_ref())).contains("3.0"));
    for name in ["default", "squares", "mobility"] {
        call(&[eval, option, name.as_ref()], None);
    }
}

#[test]
fn manual_pages_go_to_a_folder() {
    assert!(refusal(&["man", "-"], "", 2).contains("name a folder"));
    assert!(!fs::exists("-").unwrap());
}
