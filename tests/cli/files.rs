//! What commands read and write: outputs that are inputs, links, pipes and devices; endless files; malicious names.

use std::fs;
use std::path::Path;
use std::time::Duration;

use flipside::eval::{Model, StageMap};
use flipside::pattern::{Pattern, PatternSet};
use flipside::weights::{Provenance, WeightFile};

use crate::helpers::say_skipped;
use crate::support::*;

const GAMES: &str = "f5d6c3\nf5f6e6f4\n";

/// A folder with `games.txt`.
fn folder_with_games() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("games.txt"), GAMES).unwrap();
    let root = folder.path().to_owned();
    (folder, move |name: &str| root.join(name).display().to_string())
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_replaces_nothing() {
    let (folder, path) = folder_with_games();
    fs::write(path("games.ggf"), "OLD").unwrap();
    let many = GAMES.repeat(100);
    fs::write(path("many.txt"), &many).unwrap();
    // No file may grow beyond a kilobyte.
    let script = format!("trap '' XFSZ; ulimit -f 1; exec '{PROGRAM}' convert many.txt --to ggf -o games.ggf -q");
    let mut limited = command("bash");
    let limited = limited.current_dir(folder.path()).args(["-c", &script]).output().unwrap();
    let mut full = program();
    let full = full.current_dir(folder.path()).args(["convert", "many.txt", "--to", "ggf", "-o", "/dev/full", "-q"]);
    for (output, reason) in [(limited, "File too large"), (full.output().unwrap(), "No space left on device")] {
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && error.contains(reason), "{error}");
    }
    assert_eq!(fs::read_to_string(path("games.ggf")).unwrap(), "OLD");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// The order in which the system is asked to sync and rename: a power cut cannot be tried.
#[test]
#[cfg(target_os = "linux")]
fn what_is_told_is_on_disk() {
    let (folder, path) = folder_with_games();
    let calls = |arguments: &[&str]| {
        let mut strace = command("strace");
        strace.args(["-f", "-y", "-qq", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o", &path("calls")]);
        let output = strace.arg(PROGRAM).args(arguments).current_dir(folder.path()).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kind = |call: &str| if call.contains("sync(") { "sync" } else { "rename" };
        let file = |call: &str| {
            ["games.ggf", "b.fsb", "00000000.fsg", "checkpoint"]
                .into_iter()
                .find(|name| call.contains(&format!("{name}>")) || call.contains(&format!("{name}\") =")))
        };
        let calls = fs::read_to_string(path("calls")).unwrap();
        let named = |call: &str| file(call).unwrap_or(if call.contains(".tmp>") { "temporary" } else { "folder" });
        Some(calls.lines().map(|call| format!("{} {}", kind(call), named(call))).collect::<Vec<_>>())
    };
    let Some(converted) = calls(&["convert", "games.txt", "--to", "ggf", "-o", "games.ggf", "-q"]) else {
        say_skipped("strace is not installed");
        return;
    };
    assert_eq!(converted, ["sync temporary", "rename games.ggf", "sync folder"]);
    let added = calls(&["book", "grow", "b.fsb", "--positions", "40", "--depth", "1", "-q"]).unwrap();
    assert!(added.contains(&"sync b.fsb".to_owned()), "{added:?}");
    fs::write(path("run.toml"), include_str!("../miniature.toml").replace("games = 2100", "games = 64")).unwrap();
    let trained = calls(&["train", "--config", "run.toml", "--run", "run", "--generations", "1", "-q"]).unwrap();
    assert!(trained.contains(&"sync 00000000.fsg".to_owned()), "{trained:?}");
    let checkpoint = ["sync temporary", "rename checkpoint", "sync folder"];
    assert!(trained.windows(3).any(|calls| calls == checkpoint), "{trained:?}");
}

#[test]
#[cfg(unix)]
fn an_output_that_is_the_input_is_refused() {
    let (folder, path) = folder_with_games();
    std::os::unix::fs::symlink("games.txt", path("link")).unwrap();
    fs::hard_link(path("games.txt"), path("hard")).unwrap();
    fs::create_dir(path("sub")).unwrap();
    let to_ggf = ["convert", "--to", "ggf"];
    for output in ["games.txt", "link", "hard", "sub/../games.txt"] {
        for input in ["games.txt", "link"] {
            let error = refusal(&[&to_ggf[..], &[&path(input), "-o", &path(output)]].concat(), "", 2);
            assert!(error.contains("is the input") && error.contains(input), "{error}");
        }
    }
    let mut command = program();
    command.args(to_ggf).args(["-", "-o", &path("hard")]).stdin(fs::File::open(path("link")).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is the input standard input"));
    assert_eq!(fs::read_to_string(path("games.txt")).unwrap(), GAMES);

    let weights = constant_weights(folder.path(), 1).display().to_string();
    let bytes = fs::read(&weights).unwrap();
    for command in [
        &["calibrate", &weights, "-o", &weights][..],
        &["calibrate", "default", "--positions", &weights, "-o", &weights],
        &["export", "--to", "json", &weights, "-o", &weights],
        &["import", "--from", "edax", &weights, "-o", &weights],
        &["search", "--compare", "--plot", &weights, "-w", &weights],
        &["fit", &path("games.txt"), "--patterns", &weights, "-o", &weights],
        &["book", "import", &path("games.txt"), "-w", &weights, "-o", &weights],
    ] {
        assert!(refusal(command, "", 2).contains("is the input"), "{command:?}");
    }
    assert_eq!(fs::read(&weights).unwrap(), bytes);
}

#[test]
#[cfg(unix)]
fn a_command_that_is_interrupted_leaves_no_part_of_its_output() {
    use std::os::unix::process::ExitStatusExt;
    let (folder, path) = folder_with_games();
    fs::write(path("games.txt"), "f5d6c3d3c4f4f6\n".repeat(2_000_000)).unwrap();
    fs::create_dir(path("sub")).unwrap();
    let is_empty = || fs::read_dir(folder.path().join("sub")).unwrap().next().is_none();
    let mut command = program();
    command.args(["convert", "--to", "ggf", "-q", "--skip-bad", &path("games.txt"), "-o", &path("sub/games.ggf")]);
    let mut child = Ends(command.spawn().unwrap());
    while is_empty() {
        assert_eq!(child.0.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = rustix::process::Pid::from_child(&child.0);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(2));
    assert!(is_empty());
}

#[test]
#[cfg(unix)]
fn outputs_follow_links_and_go_straight_into_pipes_and_devices() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let (_folder, path) = folder_with_games();
    let convert = |output: &str| stdout(&["convert", "--to", "f5d6", "-q", &path("games.txt"), "-o", output], "");
    std::os::unix::fs::symlink("new.txt", path("link")).unwrap();
    assert_eq!(convert(&path("link")), "");
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path("new.txt")).unwrap(), GAMES);
    fs::set_permissions(path("new.txt"), fs::Permissions::from_mode(0o604)).unwrap();
    convert(&path("new.txt"));
    assert_eq!(fs::metadata(path("new.txt")).unwrap().permissions().mode() & 0o777, 0o604);

    assert_eq!(convert("/dev/null"), "");
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    for standard_output in ["-", "/dev/stdout", "/dev/fd/1"] {
        assert_eq!(convert(standard_output), GAMES, "{standard_output}");
    }
    // Standard output that is a file is written on, not replaced.
    fs::write(path("all.txt"), "before\n").unwrap();
    let all = fs::OpenOptions::new().append(true).open(path("all.txt")).unwrap();
    let status =
        program().args(["convert", "--to", "f5d6", "-q", &path("games.txt"), "-o", "/dev/stdout"]).stdout(all).status();
    assert!(status.unwrap().success());
    assert_eq!(fs::read_to_string(path("all.txt")).unwrap(), format!("before\n{GAMES}"));

    let fifo = path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    convert(&fifo);
    assert_eq!(reader.join().unwrap(), GAMES);
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
    assert!(!Path::new("-").exists());
}

#[test]
fn weights_go_to_standard_output_alone() {
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 1).display().to_string();
    let json = stdout(&["export", "--to", "json", &weights, "-o", "-"], "");
    assert!(serde_json::from_str::<serde_json::Value>(&json).unwrap().is_object());
    let few = ["--depth", "3", "--positions-per-stage", "30", "--exact-empties", "10"];
    let output = run_with(&[&["calibrate", "default", "-o", "-"], &few[..]].concat(), "");
    assert!(WeightFile::from_bytes(&output.stdout).unwrap().calibration.is_some());
    assert!(String::from_utf8_lossy(&output.stderr).contains("empties\tshallow\tdeep"));
    let svg = stdout(&["search", "-w", "squares", "--depth", "2", "--compare", "--plot", "-"], START);
    assert!(svg.starts_with("<svg"), "{svg}");
}

#[test]
fn outputs_are_checked_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Too deep to wait for its end.
    let deep = ["calibrate", "default", "--depth", "20", "--positions-per-stage", "1000000", "-o"];
    let error = refusal(&[&deep[..], &[&path("none/w.fsw")]].concat(), "", 1);
    assert!(error.contains("none/w.fsw") && !error.contains(".flipside-"), "{error}");
    assert!(refusal(&[&deep[..], &[&path("")]].concat(), "", 1).contains("directory"));
    fs::write(path("locked.fsw"), "").unwrap();
    let mut locked = fs::metadata(path("locked.fsw")).unwrap().permissions();
    locked.set_readonly(true);
    fs::set_permissions(path("locked.fsw"), locked).unwrap();
    if fs::OpenOptions::new().write(true).open(path("locked.fsw")).is_ok() {
        say_skipped("nothing is locked for this user");
        return;
    }
    assert!(refusal(&[&deep[..], &[&path("locked.fsw")]].concat(), "", 1).contains("locked.fsw"));
}

#[test]
fn files_without_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    // Sparse: nothing is on disk, and nothing of it may be read.
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let long = path.to_str().unwrap();
    let run = folder.path().join("run").display().to_string();
    for command in [
        &["eval", long][..],
        &["search", long],
        &["solve", long],
        &["accuracy", "squares", long],
        &["convert", long, "--to", "obf"],
        &["calibrate", "default", "-o", "/dev/null", "--positions", long],
        &["import", "--from", "zebra", long, "-o", "/dev/null"],
        &["inspect", long],
        &["match", "squares", "mobility", "--openings", long],
        &["train", "--run", &run, "--config", long],
        &["train", "--run", &run, "--patterns", long],
        &["train", "--run", &run, "--records", long],
    ] {
        let error = refusal(command, "", 1);
        assert!(error.contains("long") && error.contains("more than "), "{command:?}: {error}");
    }
    if cfg!(target_os = "linux") {
        for command in
            [["train", "--run", &run, "--config", "/dev/zero"], ["train", "--run", &run, "--patterns", "/dev/zero"]]
        {
            assert!(refusal(&command, "", 1).contains("more than "), "{command:?}");
        }
    }
}

#[test]
fn names_from_files_do_not_reach_the_terminal_as_they_are() {
    let hostile = "\u{1b}]0;owned\u{7}\nflipside: all is well\u{9b}2J";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.fsw");
    let patterns = vec![Pattern::new(hostile, "a1 b1").unwrap()];
    let set = PatternSet { name: hostile.into(), patterns, scalars: vec![], engine: None };
    let mut model = Model::zero(&set, &StageMap::uniform(60), 128).unwrap();
    model.weights[0][0] = 100;
    let provenance = Provenance { origin: hostile.into(), config: hostile.into(), ..Provenance::default() };
    WeightFile::new(model, provenance).save(&path).unwrap();
    let weights = path.to_str().unwrap();
    let calls: [(&[&str], &str); 4] = [
        (&["inspect", weights], ""),
        (&["inspect", weights, "--pattern", "none"], ""),
        (&["export", "--to", "edax", weights, "-o", "/dev/null"], ""),
        (&["convert", "-", "--to", "f5d6", "--skip-bad"], "(;GM[\u{1b}[31m\u{9b}x];)"),
    ];
    for (arguments, input) in calls {
        let output = run_with(arguments, input);
        for stream in [output.stdout, output.stderr] {
            let text = String::from_utf8(stream).unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{arguments:?}: {text:?}");
            assert!(!text.contains("\nflipside: all is well"), "{arguments:?}: {text}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn tables_that_do_not_fit_into_memory_are_an_error() {
    let limited = |arguments: &str, input: &str| {
        let mut command = command("sh");
        command.args(["-c", &format!("ulimit -v 4000000; exec '{PROGRAM}' {arguments} --log2-hash 30 --threads 1 -q")]);
        finish(command, input)
    };
    for arguments in ["solve", "gtp", "nboard", "play"] {
        let output = limited(arguments, START);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {error}");
        assert!(error.contains("2^30 entries take") && error.contains("--log2-hash"), "{error}");
    }
}

#[test]
fn a_conversion_writes_everything_or_nothing() {
    let (_folder, path) = folder_with_games();
    let bad = format!("{GAMES}f5a1\n");
    assert!(refusal(&["convert", "-", "--to", "ggf"], &bad, 1).contains("line 3"));
    fs::write(path("out.txt"), "old").unwrap();
    refusal(&["convert", "-", "--to", "ggf", "-o", &path("out.txt")], &bad, 1);
    refusal(&["convert", "-", "--to", "wthor", "-o", &path("out.txt"), "--skip-bad"], GAMES, 2);
    assert_eq!(fs::read_to_string(path("out.txt")).unwrap(), "old");
    let games = stdout(&["convert", "-", "--to", "ggf", "--skip-bad", "-q"], &bad);
    assert_eq!(games.lines().count(), 2);
    for skip in [&[][..], &["--skip-bad"]] {
        let nothing = [&["convert", "-", "--to", "ggf"], skip].concat();
        assert!(refusal(&nothing, "# no game\n", 1).contains("no records in standard input"));
        assert!(refusal(&nothing, "", 1).contains("no records in standard input: it is empty"));
    }
    assert!(refusal(&["convert", "-", "--to", "ggf"], "# no game\n", 1).contains("--from"));
    let error = refusal(&["convert", "-", "--to", "ggf", "--from", "f5d6"], "# no game\n", 1);
    assert!(!error.contains("--from"), "{error}");
    let error = refusal(&["convert", "-", "--to", "ggf", "--from", "f5d6"], &bad, 1);
    assert!(error.contains("--skip-bad") && !error.contains("--from"), "{error}");
    refusal(&["convert", "-", "--to", "ggf", "-o", &path("out.txt")], "", 1);
    let error =
        refusal(&["convert", "-", "--to", "ggf", "-o", &path("out.txt"), "--skip-bad", "-q"], "f5a1\nf5a2\n", 1);
    assert!(error.contains("no record in standard input") && error.contains("--from"), "{error}");
    assert_eq!(fs::read_to_string(path("out.txt")).unwrap(), "old");
}

#[test]
fn not_more_than_some_bad_records_are_shown() {
    let bad = format!("{GAMES}{}", "f5a1\n".repeat(1000));
    let output = run_with(&["convert", "-", "--to", "ggf", "--skip-bad"], &bad);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.lines().count() == 21 && talk.contains("1000 left out"), "{talk}");
    let output = run_with(&["accuracy", "squares", "-", "--skip-bad", "--exact-empties", "1"], &bad);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.lines().count() < 30 && talk.contains("1000 records that cannot be read"), "{talk}");
    let hint = |bad: &str| refusal(&["accuracy", "squares", "-"], bad, 1);
    assert!(!hint(&bad).contains("64 characters") && hint(&bad).contains("--skip-bad"));
    assert!(hint(&format!("{START} 99\n")).contains("64 characters"));
}

#[test]
fn the_cut_off_end_of_a_log_costs_nothing_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("games.jsonl").display().to_string();
    stdout(&["match", "squares", "mobility", "--pairs", "1", "--depth", "1", "-q", "--games", &log], "");
    let text = fs::read_to_string(&log).unwrap();
    let cut = |lines: usize, bytes: usize| {
        let whole: String = text.lines().take(lines).map(|line| format!("{line}\n")).collect();
        whole + &text.lines().nth(lines).unwrap()[..bytes]
    };
    for convert in [&["convert", "-", "--to", "f5d6"][..], &["convert", "-", "--to", "f5d6", "-o", "/dev/stdout"]] {
        let output = run_with(convert, &cut(4, 100));
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.iter().filter(|&&byte| byte == b'\n').count()), (Some(0), 1));
        assert!(talk.contains("line 5: this line was cut off") && talk.contains("1 left out"), "{talk}");
    }
    let output = run_with(&["accuracy", "squares", "-"], &cut(4, 100));
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && talk.contains("line 5: this line was cut off"), "{talk}");
    // Not if more follows or the line is whole, and a log without a game has none.
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    let bad = format!("{before}\n{}", last.replace("opening", "ending"));
    let error = refusal(&["convert", "-", "--to", "f5d6"], &bad, 1);
    assert!(error.contains("line 5") && !error.contains("cut off"), "{error}");
    assert!(refusal(&["convert", "-", "--to", "f5d6"], &(cut(4, 100) + "\n"), 1).contains("line 5"));
    for nothing in [cut(3, 0), cut(3, 100)] {
        let error = refusal(&["convert", "-", "--to", "f5d6"], &nothing, 1);
        assert!(error.contains("no records") && !error.contains("--from"), "{error}");
    }
}

#[test]
fn the_programs_own_files_are_not_records() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("games.fsg").display().to_string();
    fs::write(&kept, flipside::games::GamesHeader::default().to_bytes()).unwrap();
    let weights = constant_weights(folder.path(), 1).display().to_string();
    let config = folder.path().join("records.toml").display().to_string();
    for (file, what) in [(&kept, "is a file of kept games"), (&weights, "is a weight file")] {
        let run = folder.path().join("run").display().to_string();
        fs::write(&config, format!("[[steps]]\nlearn = {{ files = ['{file}'] }}")).unwrap();
        let train = ["train", "--run", &run];
        let by_option = [&train[..], &["--records", file]].concat();
        let by_config = [&train[..], &["--config", &config]].concat();
        for command in [&["accuracy", "squares", file][..], &by_option, &by_config] {
            let error = refusal(command, "", 1);
            assert!(error.contains(what) && error.contains("flipside "), "{command:?}: {error}");
        }
    }
    assert!(refusal(&["convert", &weights, "--to", "ggf"], "", 1).contains("is a weight file"));
    assert!(refusal(&["convert", &kept, "--to", "ggf"], "", 1).contains("there are no games in"));
}

#[test]
fn weights_for_each_engine_ship_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for engine in ["edax", "egaroucid", "ntest", "zebra"] {
        let file = format!("{}/weights/{engine}.fsw", env!("CARGO_MANIFEST_DIR"));
        let (shipped, named) = (path(&format!("{engine}.shipped")), path(&format!("{engine}.named")));
        let written = stdout(&["export", "--to", engine, "-o", &shipped, "-q"], "");
        let again = stdout(&["export", "--to", engine, &file, "-o", &named, "-q"], "");
        assert_eq!(written.replace(&shipped, &named), again);
        for (one, other) in written.lines().zip(again.lines()) {
            assert!(fs::read(one).unwrap() == fs::read(other).unwrap(), "{one} differs from {other}");
        }
        // What the engine reads can be read back.
        let back = path("back.fsw");
        let files: Vec<_> = written.lines().collect();
        stdout(&[&["import", "--from", engine], &files[..], &["-o", &back, "-q"]].concat(), "");
        assert_eq!(WeightFile::load(&back).unwrap().model.set.name, engine);
    }
    // An open layout gets the weights for flipside itself.
    stdout(&["export", "--to", "npz", "-o", &path("a.npz"), "-q"], "");
    stdout(&["export", "--to", "npz", "default", "-o", &path("b.npz"), "-q"], "");
    assert!(fs::read(path("a.npz")).unwrap() == fs::read(path("b.npz")).unwrap());
}
