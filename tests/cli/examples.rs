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
        let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if example.starts_with("flipside train") {
            // It has a budget of minutes or hours, and can be stopped as soon as there is something to resume.
            let is_begun = |entry: std::fs::DirEntry| entry.path().join("best.fsw").exists();
            let wanted = if example.contains("--run") { 2 } else { 1 };
            loop {
                let runs = std::fs::read_dir(clone.path().join("runs")).into_iter().flatten().flatten();
                let begun =
                    runs.filter(|entry| !entry.path().is_symlink()).filter_map(|entry| is_begun(entry).then_some(()));
                // A resumed run has weights already; it listens for signals once it has reported its start.
                let starts =
                    std::fs::read_to_string(clone.path().join("runs/latest/metrics.jsonl")).unwrap_or_default();
                let starts = starts.matches(r#""event":"start""#).count();
                let goes_on = !example.contains("--resume") || starts >= 2;
                if begun.count() >= wanted && goes_on || child.try_wait().unwrap().is_some() {
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
            let length = || std::fs::metadata(clone.path().join("book.fsb")).map_or(0, |metadata| metadata.len());
            while length() < 10_000 && child.try_wait().unwrap().is_none() {
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
    assert!(all.len() > 80, "{all:?}");
    for command in commands(&[]) {
        all.extend(examples(&[&command]));
        all.extend(commands(&[&command]).iter().flat_map(|subcommand| examples(&[&command, subcommand])));
    }
    let needs_cluster =
        |call: &str| ["work ", "cluster "].iter().any(|name| call.starts_with(name)) || call.contains("--cluster ");
    let calls = all.iter().filter_map(|example| example.strip_prefix("flipside "));
    let calls: HashSet<_> = calls.filter(|call| cfg!(feature = "cluster") || !needs_cluster(call)).collect();
    assert!(calls.len() > 100, "{calls:?}");
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
