//! Progress bars on a terminal that is resized: in tmux, whose screen can be read.

use std::fs;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::Duration;

use crate::helpers::say_skipped;
use crate::support::*;

/// A separate tmux with one window; its socket is in a folder that is removed with it.
struct Terminal {
    folder: tempfile::TempDir,
}

impl Terminal {
    /// None if there is no tmux.
    fn new() -> Option<Self> {
        let there = Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success());
        let terminal = Self { folder: tempfile::tempdir().unwrap() };
        if there {
            assert!(terminal.tmux(&["new-session", "-d", "-x", "100", "-y", "30", "sh"]).status.success());
        } else {
            say_skipped("no tmux is installed");
        }
        there.then_some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let socket = self.folder.path().join("socket");
        command("tmux").arg("-f/dev/null").arg("-S").arg(socket).args(arguments).output().unwrap()
    }

    fn type_line(&self, line: &str) {
        assert!(self.tmux(&["send-keys", "-l", line]).status.success());
        assert!(self.tmux(&["send-keys", "Enter"]).status.success());
    }

    /// Clears the screen and begins a run that is long enough for any machine and is stopped.
    fn train(&self) {
        let lab = self.folder.path();
        fs::write(lab.join("config.toml"), include_str!("../miniature.toml")).unwrap();
        fs::write(lab.join("small.toml"), SMALL_SET).unwrap();
        self.type_line(&format!("PS1=; cd '{}'; clear", lab.display()));
        self.type_line(&format!(
            "'{PROGRAM}' train --preset quick --config config.toml --patterns small.toml --run one --minutes 600"
        ));
    }

    /// The rows on the screen, those that scrolled out of it included.
    fn rows(&self) -> Vec<String> {
        let output = self.tmux(&["capture-pane", "-p", "-S", "-"]);
        String::from_utf8(output.stdout).unwrap().lines().map(|row| row.trim_end().to_owned()).collect()
    }

    /// Waits until a screen is as wanted.
    fn wait(&self, is_wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let rows = self.rows();
            if is_wanted(&rows) {
                return rows;
            }
            let is_error = |row: &String| row.starts_with("flipside: ") && !row.starts_with("flipside: note: ");
            assert!(!rows.iter().any(is_error), "{rows:?}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Makes it wider or narrower, and waits until the counters on it have changed three times.
    fn resize(&self, columns: u32, counter: impl Fn(&[String]) -> String) -> Vec<String> {
        // tmux is late in reporting a second change within a quarter of a second.
        sleep(Duration::from_millis(500));
        assert!(self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", "30"]).status.success());
        let mut rows = self.rows();
        for _ in 0..3 {
            let before = counter(&rows);
            rows = self.wait(|rows| counter(rows) != before);
        }
        rows
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A run outlives its terminal; the second of two signals ends it at once.
        self.tmux(&["send-keys", "C-c", "C-c"]);
        sleep(Duration::from_millis(200));
        self.tmux(&["kill-server"]);
    }
}

/// How many rows are a bar of this name.
fn bars(rows: &[String], name: &str) -> usize {
    rows.iter().filter(|row| *row == name || row.starts_with(&format!("{name:6}"))).count()
}

/// How many rows have something in them.
fn with(rows: &[String], part: &str) -> usize {
    rows.iter().filter(|row| row.contains(part)).count()
}

/// Tries until no fault is found. Between a change of the terminal's size and the moment the program learns of it, a frame may be drawn
/// for the old size, and its remains cannot be cleared: on a busy machine this may happen once or twice, but not always.
fn once_of_three(attempt: impl Fn(Terminal) -> Result<(), String>) {
    let mut faults = Vec::new();
    while faults.len() < 3 {
        let Some(terminal) = Terminal::new() else { return };
        match attempt(terminal) {
            Ok(()) => return,
            Err(fault) => faults.push(fault),
        }
    }
    panic!("{}", faults.join("\nand at the next attempt\n"));
}

#[test]
fn bars_leave_no_ghosts_on_a_terminal_that_changes_its_size() {
    once_of_three(|terminal| {
        terminal.train();
        terminal.wait(|rows| with(rows, "playing ") == 1);
        let generation = |rows: &[String]| {
            let row = rows.iter().rev().find(|row| row.starts_with("generation "));
            row.map_or(String::new(), |row| row.split(',').next().unwrap_or_default().to_owned())
        };
        for columns in [60, 44, 31, 100, 58, 120, 72] {
            let rows = terminal.resize(columns, generation);
            // A frame may be on its way.
            let is_clean = |rows: &[String]| {
                bars(rows, "run") == 1
                    && bars(rows, "step") == 1
                    && with(rows, ", step ") == 1
                    && rows.iter().filter(|row| row.starts_with("loss ")).count() == 1
            };
            if !is_clean(&rows) {
                let again = terminal.rows();
                if !is_clean(&again) {
                    return Err(format!("{columns} columns:\n{}\nand then\n{}", rows.join("\n"), again.join("\n")));
                }
            }
        }
        terminal.tmux(&["send-keys", "C-c"]);
        let rows = terminal.wait(|rows| rows.iter().any(|row| row.starts_with("flipside: stopped")));
        assert_eq!((bars(&rows, "run"), with(&rows, "stopped after"), bars(&rows, "step")), (0, 1, 0), "{rows:?}");
        Ok(())
    });
}

#[test]
fn a_meter_leaves_no_ghosts_either() {
    once_of_three(|terminal| {
        // Rows above it, since a terminal that gets narrower may scroll its first rows away, and those cannot be cleared.
        terminal.type_line(&format!("PS1=; cd '{}'; clear; seq 10", terminal.folder.path().display()));
        // Long enough for any machine; it is stopped.
        terminal.type_line(&format!("'{PROGRAM}' league mobility squares --depth 6 --pairs 10000"));
        let counter =
            |rows: &[String]| rows.iter().rev().find(|row| row.contains("pairs")).cloned().unwrap_or_default();
        terminal.wait(|rows| counter(rows).contains('/'));
        for columns in [60, 37, 100, 45, 110] {
            let rows = terminal.resize(columns, counter);
            let is_clean = |rows: &[String]| rows.iter().filter(|row| row.contains("/10,000")).count() == 1;
            if !is_clean(&rows) && !is_clean(&terminal.rows()) {
                return Err(format!("{columns} columns:\n{}", rows.join("\n")));
            }
        }
        terminal.tmux(&["send-keys", "C-c"]);
        Ok(())
    });
}

#[test]
fn bars_that_do_not_fit_a_low_terminal_do_not_scroll() {
    once_of_three(|terminal| {
        assert!(terminal.tmux(&["resize-window", "-x", "100", "-y", "4"]).status.success());
        sleep(Duration::from_millis(500));
        terminal.train();
        for generation in 2..5 {
            let rows = terminal.wait(|rows| with(rows, &format!("generation {generation},")) > 0);
            if bars(&rows, "run") != 1 {
                return Err(rows.join("\n"));
            }
        }
        Ok(())
    });
}
