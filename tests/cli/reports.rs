//! Looking at runs and weights: `runs`, `status`, `report`, `diff`, and results as JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::helpers::say_skipped;
use crate::support::*;

/// A folder with a finished run in it, `runs/one`.
fn lab() -> TempDir {
    static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| files_of(trained().path()));
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in &*FILES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("one", folder.path().join("runs/latest")).unwrap();
    folder
}

/// All files below a folder but links, by their paths in it.
fn files_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = PathBuf::from(entry.file_name());
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => {
                files.extend(files_of(&entry.path()).into_iter().map(|(path, bytes)| (name.join(path), bytes)));
            }
            kind if kind.is_file() => files.push((name, fs::read(entry.path()).unwrap())),
            _ => {}
        }
    }
    files
}

/// Such a folder as the program makes it.
fn trained() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = include_str!("../miniature.toml").replace("games = 2100", "games = 128");
    fs::write(folder.path().join("config.toml"), config).unwrap();
    fs::write(folder.path().join("small.toml"), SMALL_SET).unwrap();
    let arguments = ["train", "--preset", "quick", "--config", "config.toml", "--patterns", "small.toml", "-q"];
    let mut command = program();
    command.current_dir(folder.path()).args(arguments).args(["--run", "runs/one", "--generations", "6"]);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    folder
}

fn in_lab(lab: &TempDir, arguments: &[&str]) -> String {
    let mut command = program();
    command.current_dir(lab.path()).args(arguments);
    let output = finish(command, "");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn runs_are_listed_and_shown() {
    let lab = lab();
    let list = in_lab(&lab, &["runs"]);
    let row = columns(list.lines().nth(1).unwrap()).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((&*row[0], &*row[1], &*row[2], &*row[3]), ("runs/one", "finished", "6", "768"), "{list}");
    assert_eq!(list.lines().count(), 2, "{list}");
    // `runs/latest` is a link to it.
    let status = in_lab(&lab, &["status"]);
    for line in [
        "run\truns/one",
        "state\tfinished",
        "step\t5",
        "games\t768",
        "budget.generations\t6",
        "seconds_left\t0.000",
        "pid\t-",
    ] {
        assert!(status.lines().any(|found| found == line), "{line}: {status}");
    }
    let status = &objects(&in_lab(&lab, &["status", "runs/one", "--json"]))[0];
    let listed = objects(&in_lab(&lab, &["runs", "--json"]));
    assert!(listed.len() == 1 && listed[0]["run"] == status["run"], "{listed:?}");
    assert_eq!((status["generations"].as_u64(), status["state"].as_str()), (Some(6), Some("finished")));
    assert!(status["best"]["elo"][0].is_number() && status["held_out"].is_number(), "{status}");
    assert!(refusal(&["status", "runs/nowhere"], "", 1).contains("no run in runs/nowhere"));
    #[cfg(unix)]
    {
        fs::rename(lab.path().join("runs/one"), lab.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", lab.path().join("runs/one")).unwrap();
        assert_eq!(in_lab(&lab, &["runs"]), list);
    }
}

#[test]
fn a_runs_own_files_are_refused_as_outputs() {
    let lab = lab();
    let contents = || -> Vec<(PathBuf, Vec<u8>)> {
        let files = ["runs/one", "runs/one/games"]
            .into_iter()
            .flat_map(|folder| fs::read_dir(lab.path().join(folder)).unwrap());
        files
            .map(|file| file.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    };
    let before = contents();
    assert!(before.len() > 10);
    let files = before.iter().map(|(path, _)| path.to_str().unwrap());
    let missing = ["runs/one/games/00000099.fsg", "runs/latest/metrics.jsonl", "runs/one/../latest/lock"];
    for output in files.chain(missing) {
        for command in [&["fit", "runs/one"][..], &["report", "runs/one"], &["export", "default", "--to", "json"]] {
            let mut called = program();
            called.current_dir(lab.path()).args(command).args(["-o", output]);
            let answer = called.output().unwrap();
            let error = String::from_utf8(answer.stderr).unwrap();
            assert!(answer.status.code() == Some(2) && error.contains("is a file of the run"), "{output}: {error}");
        }
    }
    assert_eq!(contents(), before);
    // Users may put files of their own into the directory.
    for _ in 0..2 {
        in_lab(&lab, &["report", "runs/one", "-o", "runs/one/report.html"]);
    }
}

/// The program that shows pages, if there is one.
fn browser() -> Option<&'static str> {
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    ["chromium", "chromium-browser", "google-chrome"].iter().find(works).copied()
}

#[test]
fn a_run_stands_for_its_weights_and_these_not_for_a_run() {
    let lab = lab();
    let says = |arguments: &[&str], code| {
        let mut command = program();
        command.current_dir(lab.path()).args(arguments);
        let output = finish(command, "");
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {talk}");
        talk
    };
    // A run stands for its best weights.
    for arguments in [&["eval", "-w", "runs/latest", "f5"][..], &["inspect", "runs/latest"]] {
        says(arguments, 0);
    }
    for arguments in [&["status"][..], &["report"], &["train", "--resume"]] {
        let talk = says(&[arguments, &["runs/one/best.fsw"]].concat(), 1);
        assert!(talk.contains("there is no run in runs/one/best.fsw") && talk.contains("flipside runs"), "{talk}");
    }
    assert!(says(&["runs", "runs/one"], 0).contains("`runs/one` is a run itself; `flipside status runs/one` shows it"));
    assert!(says(&["runs", "runs/one/games"], 0).contains("there are no runs in `runs/one/games`"));
}

#[test]
fn a_report_is_one_page_with_all_in_it() {
    let lab = lab();
    let copied = Command::new("cp").args(["-r", "runs/one", "runs/two"]).current_dir(lab.path()).status().unwrap();
    assert!(copied.success());
    let mut report = program();
    report.current_dir(lab.path()).args(["report", "runs/one", "runs/latest", "runs/two", "-o", "report.html"]);
    let output = finish(report, "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains("`runs/latest` is named twice and used once"), "{talk}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "report.html\n");
    let html = fs::read_to_string(lab.path().join("report.html")).unwrap();
    for part in ["Strength over time", "Loss on games held out", "Prediction and result", "train --config run.toml"] {
        assert!(html.contains(part), "{part}");
    }
    // Nothing is loaded from anywhere: the one address is SVG's namespace.
    let html = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!html.contains("src=") && !html.contains("http:") && !html.contains("https:") && !html.contains("@import"));
    let data = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Vec<Value> = serde_json::from_str(data).unwrap();
    assert_eq!(data.len(), 2);
    assert!(data[0]["ratings"].as_array().unwrap().len() >= 3);
    let sum_of = |key: &str| -> u64 {
        data[0]["steps"].as_array().unwrap().iter().map(|step| step[key].as_u64().unwrap()).sum()
    };
    assert_eq!(["generations", "games"].map(sum_of), [6, 6 * 128]);
    let status = &objects(&in_lab(&lab, &["status", "runs/one", "--json"]))[0];
    assert_eq!(sum_of("positions"), status["positions"].as_u64().unwrap());
    let losses = data[0]["losses"].as_array().unwrap();
    assert_eq!(losses.iter().map(|loss| loss[0].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    // Positions that are valued higher end better, so the points rise.
    let calibration: Vec<[f64; 3]> = serde_json::from_value(data[0]["weights"]["calibration"].clone()).unwrap();
    let moment = |of: fn(&[f64; 3]) -> f64| calibration.iter().map(|point| point[2] * of(point)).sum::<f64>();
    let [count, predicted, result] = [moment(|_| 1.0), moment(|point| point[0]), moment(|point| point[1])];
    assert!(calibration.len() > 5, "{calibration:?}");
    assert!(count * moment(|point| point[0] * point[1]) > predicted * result, "{calibration:?}");
    fs::write(lab.path().join("runs/one/best.fsw"), "").unwrap();
    in_lab(&lab, &["report", "runs/one", "-o", "damaged.html"]);
    let html = fs::read_to_string(lab.path().join("damaged.html")).unwrap();
    assert!(
        html.contains("No figures of the best weights of runs/one: runs/one/best.fsw: ")
            && html.contains("only 0 bytes")
    );
    let error = refusal(&["report", "runs/nowhere", "-o", "/nowhere/report.html"], "", 1);
    assert!(error.contains("cannot write `/nowhere/report.html`"), "{error}");

    let Some(browser) = browser() else {
        say_skipped("no Chromium is installed");
        return;
    };
    let page = format!("file://{}", lab.path().join("report.html").display());
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--enable-logging=stderr", "--v=0", "--window-size=390,800", "--dump-dom", &page])
        .output()
        .unwrap();
    let (dom, talk) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(dom.contains("</html>") && dom.matches("<svg").count() >= 6, "{talk}");
    assert!(!talk.contains("CONSOLE"), "{talk}");
}

#[test]
fn a_report_names_the_weights_that_a_run_began_with() {
    let lab = lab();
    let train = ["train", "--preset", "quick", "--config", "config.toml", "--patterns", "small.toml", "-q"];
    // The weights that the first run began from are another generation's.
    for (from, run) in [("runs/one/last.fsw", "runs/two"), ("runs/two/last.fsw", "runs/three")] {
        in_lab(&lab, &[&train[..], &["--from", from, "--run", run, "--generations", "1"]].concat());
        in_lab(&lab, &["report", run, "-o", "report.html"]);
        let html = fs::read_to_string(lab.path().join("report.html")).unwrap();
        let hash = objects(&in_lab(&lab, &["inspect", from, "--json"]))[0]["hash"].as_str().unwrap().to_owned();
        assert!(html.contains(&format!("It began from the weights <code>{hash}</code>: add <code>--from</code>")));
    }
}

#[test]
fn a_continued_run_counts_the_games_before_it_and_reports_its_own() {
    let lab = lab();
    in_lab(&lab, &["train", "--continue", "runs/one", "--run", "runs/two", "--generations", "2", "-q"]);
    let status = || objects(&in_lab(&lab, &["status", "runs/two", "--json"])).remove(0);
    let counts = |status: &Value| ["generations", "games"].map(|key| status[key].as_u64().unwrap());
    let after = status();
    assert_eq!(counts(&after), [8, 1024], "{after}");
    in_lab(&lab, &["report", "runs/two", "-o", "report.html"]);
    let html = fs::read_to_string(lab.path().join("report.html")).unwrap();
    let [older, newer] = ["runs/one", "runs/two"].map(|run| lab.path().join(run).canonicalize().unwrap());
    let repeated =
        format!("flipside train --continue {} --config run.toml --run runs/again --generations 2", older.display());
    assert!(html.contains(&repeated) && !html.contains("It began from the weights"), "{html}");
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    let steps = data[0]["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step["games"].as_u64().unwrap()).sum::<u64>(), 256, "{steps:?}");
    // As it was before its first generation.
    let metrics = newer.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, text.split_inclusive('\n').next().unwrap()).unwrap();
    let before = status();
    assert_eq!(counts(&before), [6, 768], "{before}");
    assert!((1..after["positions"].as_u64().unwrap()).contains(&before["positions"].as_u64().unwrap()), "{before}");
}

#[test]
fn a_report_quotes_names_for_a_shell() {
    let lab = lab();
    fs::rename(lab.path().join("runs/one"), lab.path().join("runs/my run")).unwrap();
    in_lab(&lab, &["report", "runs/my run", "-o", "report.html"]);
    let html = fs::read_to_string(lab.path().join("report.html")).unwrap();
    assert!(html.contains("flipside config --run 'runs/my run' &gt; run.toml"), "{html}");
}

#[test]
fn a_clock_that_was_set_back_takes_nothing_from_a_runs_time() {
    let lab = lab();
    let path = lab.path().join("runs/one/metrics.jsonl");
    let as_if_running = |line: &str| match line {
        line if line.contains(r#""event":"end""#) => String::new(),
        line if line.contains(r#""event":"start""#) => line.replace(r#""time":"#, r#""time":9"#) + "\n",
        line => line.replace(r#""elapsed":"#, r#""elapsed":9"#) + "\n",
    };
    let metrics: String = fs::read_to_string(&path).unwrap().lines().map(as_if_running).collect();
    fs::write(&path, metrics).unwrap();
    let lock = fs::File::open(lab.path().join("runs/one/lock")).unwrap();
    lock.lock().unwrap();
    let shown = in_lab(&lab, &["status", "runs/one"]);
    let seconds = shown.lines().find_map(|line| line.strip_prefix("seconds\t")).unwrap().parse::<f64>().unwrap();
    assert!(shown.contains("state\trunning\n") && (60.0..120.0).contains(&seconds), "{shown}");
}

#[test]
fn weight_files_are_compared() {
    let lab = lab();
    let text = in_lab(&lab, &["diff", "runs/one/best.fsw", "runs/one/last.fsw", "--top", "2"]);
    assert!(text.contains("empties\tweights\tcorrelation\trms\tlargest\n"), "{text}");
    let same = &objects(&in_lab(&lab, &["diff", "runs/one/best.fsw", "runs/one/best.fsw", "--json"]))[0];
    let stages = same["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| stage["rms"] == 0.0), "{same}");
    assert!(stages.iter().any(|stage| stage["correlation"].as_f64().is_some_and(|r| (r - 1.0).abs() < 1e-9)), "{same}");
    let mut command = program();
    command.current_dir(lab.path()).args(["diff", "runs/one/best.fsw", "default"]);
    let output = finish(command, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("different patterns"));
}

#[test]
fn results_can_be_had_as_json() {
    let start = format!("{START}\n");
    let value = &objects(&stdout(&["eval", "-w", "mobility", "--json"], &start))[0];
    let plain: f64 = stdout(&["eval", "-w", "mobility"], &start).trim().parse().unwrap();
    assert!((value["value"].as_f64().unwrap() - plain).abs() < 0.001, "{value}");
    let found = &objects(&stdout(&["search", "--depth", "4", "--json"], &start))[0];
    assert!(found["move"].is_string() && found["nodes"].as_u64() > Some(4) && found["position"] == START, "{found}");
    let file = data("ffo/fforum-1-19.obf");
    let solved = objects(&stdout(&["solve", "--json", &file], ""));
    assert_eq!((solved.len(), &solved[0]["score"]), (20, &Value::from(18)), "{:?}", solved[0]);
    let lines = fs::read_to_string(&file).unwrap();
    for (found, line) in solved.iter().zip(lines.lines()) {
        assert!(line.starts_with(found["position"].as_str().unwrap()), "{found} {line}");
        let best = format!("{}:{:+}", found["move"].as_str().unwrap().to_uppercase(), found["score"].as_i64().unwrap());
        assert!(line.contains(&best), "{best} {line}");
        assert!(
            found["empties"].as_u64() >= Some(14) && found["nodes"].as_u64() > Some(0) && found["seconds"].is_number()
        );
    }
    assert!(solved[19]["position"].is_null() && solved[19]["nodes"].as_u64() > solved[18]["nodes"].as_u64());
    let won = &objects(&stdout(&["solve", "--wld", "--json"], lines.lines().next().unwrap()))[0];
    assert_eq!(won["score"], "win", "{won}");
    let table = objects(&stdout(&["accuracy", "mobility", &file, "--json"], ""));
    let all = table.last().unwrap();
    assert!(all["empties"].is_null() && all["rmse"].as_f64() > Some(0.0), "{all}");
    let result =
        &objects(&stdout(&["match", "mobility", "squares", "--pairs", "3", "--depth", "1", "--json", "-q"], ""))[0];
    let games: u64 = ["wins", "draws", "losses"].iter().map(|name| result[name].as_u64().unwrap()).sum();
    assert!(games == 6 && result["complete"] == true, "{result}");
    let shown = &objects(&stdout(&["inspect", "--top", "1", "--json"], ""))[0];
    assert!(shown["hash"].is_string() && shown["patterns"][0]["strongest"][0]["discs"].is_number(), "{shown}");
}

#[test]
fn tensorboard_reads_what_is_written_for_it() {
    let lab = lab();
    let config = fs::read_to_string(lab.path().join("config.toml")).unwrap();
    fs::write(lab.path().join("board.toml"), format!("tensorboard = true\n{config}")).unwrap();
    let train = ["train", "--preset", "quick", "--config", "board.toml", "--patterns", "small.toml", "-q"];
    let train = |generations| {
        // Sessions are read in the order of the seconds in the names of their files.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        in_lab(&lab, &[&train[..], &["--run", "runs/board", "--generations", generations]].concat());
    };
    let files = |run| {
        let names = fs::read_dir(lab.path().join(run)).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("events.out.tfevents.")).count()
    };
    train("2");
    assert_eq!(files("runs/board"), 1);
    let board = lab.path().join("runs/board");
    let before = files_of(&board);
    train("3");
    // As after a kill: the third generation is learned again.
    for (path, bytes) in before {
        fs::write(board.join(path), bytes).unwrap();
    }
    train("4");
    assert_eq!(files("runs/board"), 3);
    let read = "import sys\nfrom tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n\
        events = EventAccumulator(sys.argv[1])\nevents.Reload()\n\
        for event in events.Scalars('loss/new games'):\n    print(event.step, event.value)\n";
    if !Command::new("python3").args(["-c", "import tensorboard"]).output().is_ok_and(|output| output.status.success())
    {
        say_skipped("Python has no tensorboard");
        return;
    }
    let output = Command::new("python3").args(["-c", read]).arg(&board).output().unwrap();
    let scalars = String::from_utf8(output.stdout).unwrap();
    let metrics = fs::read_to_string(board.join("metrics.jsonl")).unwrap();
    let played = objects(&metrics).into_iter().filter(|event| event["event"] == "played");
    let expected: Vec<_> =
        played.map(|event| (event["generation"].as_u64().unwrap() + 1, event["loss"].as_f64().unwrap())).collect();
    assert_eq!(scalars.lines().count(), expected.len(), "{scalars}{}", String::from_utf8_lossy(&output.stderr));
    for (line, (step, loss)) in scalars.lines().zip(expected) {
        let (found, value) = line.split_once(' ').unwrap();
        assert!(found == step.to_string() && (value.parse::<f64>().unwrap() - loss).abs() < 1e-5, "{line}");
    }
}
