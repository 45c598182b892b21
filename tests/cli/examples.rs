//! The examples of every help text, run as printed, with only what a fresh clone has.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::*;

/// The names of all commands, or of all subcommands of one, in the order of the help.
fn commands(of: &[&str]) -> Vec<String> {
    let help = stdout(&[of, &["--help"]].concat(), "");
    let list = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

fn examples(command: &[&str]) -> Vec<String> {
    let help = stdout(&[command, &["--help"]].concat(), "");
    let list = help.split("Examples:\n").nth(1).unwrap_or_default();
    let list = list.replace("\\\n", "");
    list.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
#[cfg(unix)]
fn examples_run_as_printed() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::fs::symlink;
    let clone = tempfile::tempdir().unwrap();
    for folder in ["data", "weights", "examples"] {
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), clone.path().join(folder)).unwrap();
    }
    let programs = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let commands = commands(&[]);
    assert!(commands.len() > 20 && commands[0] == "train", "{commands:?}");
    let mut run = HashSet::new();
    let examples: Vec<_> = commands.iter().map(|command| examples(&[command])).collect();
    assert!(examples.iter().all(|examples| !examples.is_empty()), "{examples:?}");
    for example in examples.into_iter().flatten() {
        // A cluster needs a broker, and has tests of its own.
        let takes_broker =
            ["work", "cluster", "--cluster"].iter().any(|word| example.split_whitespace().any(|w| w == *word));
        if takes_broker || example.starts_with("nats-server") || !run.insert(example.clone()) {
            continue;
        }
        let mut shell = command("sh");
        // The shell is replaced by the program, so that a signal reaches it.
        let call = if example.starts_with("flipside") { format!("exec {example}") } else { example.clone() };
        shell.current_dir(clone.path()).env("PATH", &path).args(["-c", &call]);
        let log = clone.path().join("runs/latest/metrics.jsonl");
        let sessions = || {
            let run = std::fs::canonicalize(&log).unwrap_or_default();
            let starts = std::fs::read_to_string(&run).unwrap_or_default().matches(r#""event":"start""#).count();
            (run, starts)
        };
        let before = sessions();
        let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if example.starts_with("flipside train") {
            // It has a budget of minutes or hours, and can be stopped as soon as there is something to resume.
            // It listens for signals once it has reported its start.
            let has_weights = || clone.path().join("runs/latest/best.fsw").exists();
            loop {
                if sessions() != before && has_weights() || child.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            if child.try_wait().unwrap().is_none() {
                kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
            }
        }
        if example.starts_with("flipside book grow") {
            // It ends with what it has, and the next example shows some of it.
            let shows = |move_: &str| {
                let mut show = program();
                let output = show.current_dir(clone.path()).args(["book", "show", "book.fsb", move_]).output();
                output.unwrap().status.success()
            };
            while !shows("f5") && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(50));
            }
            if child.try_wait().unwrap().is_none() {
                kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
            }
        }
        let output = child.wait_with_output().unwrap();
        let code = output.status.code();
        let is_stopped =
            ["flipside train", "flipside book grow"].iter().any(|long| example.starts_with(long)) && code == Some(75);
        assert!(code == Some(0) || is_stopped, "{example}: {code:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The commands in the documentation, as typed after a prompt.
fn documented() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders =
        [".", "docs", "docs/lab", "weights", "contrib", "data"].map(|name| std::fs::read_dir(root.join(name)).unwrap());
    let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|end| end == "md")).map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.replace("\\\n", "")
    });
    let calls = |text: String| -> Vec<String> {
        let typed = |line: &str| line.split_once("$ ").map(|(_, typed)| typed.to_owned());
        text.lines()
            .filter_map(typed)
            .flat_map(|typed| typed.split(" | ").map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    texts.flat_map(calls).collect()
}

/// Examples that need what is not available here, and the commands of the documentation, are at least parsed.
#[test]
fn every_example_is_understood() {
    let mut all = documented();
    assert!(all.len() > 60, "{all:?}");
    for command in commands(&[]) {
        all.extend(examples(&[&command]));
        all.extend(commands(&[&command]).iter().flat_map(|subcommand| examples(&[&command, subcommand])));
    }
    let needs_cluster =
        |call: &str| ["work ", "cluster "].iter().any(|name| call.starts_with(name)) || call.contains("--cluster ");
    let calls = all.iter().filter_map(|example| example.strip_prefix("flipside "));
    let calls: HashSet<_> = calls.filter(|call| cfg!(feature = "cluster") || !needs_cluster(call)).collect();
    assert!(calls.len() > 80, "{calls:?}");
    for call in calls {
        let words = shlex::split(call).unwrap();
        let words = words.iter().map(String::as_str).take_while(|word| ![">", "&", ";"].contains(word));
        stdout(&words.chain(["--help"]).collect::<Vec<_>>(), "");
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let written = stdout(&["man", folder.path().to_str().unwrap()], "");
    let page = std::fs::read_to_string(folder.path().join("flipside-train.1")).unwrap();
    assert!(page.contains("resume") && page.contains("Example"), "{page}");
    let scripts = ["bash", "zsh", "fish", "powershell", "elvish"].map(|shell| stdout(&["completions", shell], ""));
    for command in commands(&[]) {
        assert!(written.contains(&format!("flipside-{command}.1")), "{command}: {written}");
        assert!(scripts.iter().all(|script| script.contains(&command)), "{command}");
    }
}

/// Files are proposed only where files go, pattern sets and presets by name.
#[test]
#[cfg(unix)]
fn a_shell_completes_what_belongs_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("some.file"), "").unwrap();
    std::fs::write(folder.path().join(".script"), stdout(&["completions", "bash"], "")).unwrap();
    let completed = |before: &[&str]| {
        let (last, words) = (before.last().unwrap(), before.join(" "));
        let script = format!(
            "source .script; COMP_WORDS=(flipside {words} ''); COMP_CWORD={}; _flipside flipside '' {last}; echo \"${{COMPREPLY[@]}}\"",
            before.len() + 1
        );
        let output = command("bash").current_dir(folder.path()).args(["-c", &script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let has = |before: &[&str], word: &str| completed(before).iter().any(|found| found == word);
    for files in [&["train", "--config"][..], &["fit", "--teacher"], &["report", "-o"], &["book", "merge", "-o"]] {
        assert!(has(files, "some.file"), "{files:?}");
    }
    for others in [&["train", "--seed"][..], &["match", "--depth"], &["train", "--patterns"], &["train", "--preset"]] {
        assert!(!has(others, "some.file"), "{others:?}");
    }
    assert!(has(&["train", "--patterns"], "classic") && has(&["train", "--preset"], "quick"));
}
