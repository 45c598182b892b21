//! Training in miniature, from the command line; `tests/train` compares bytes.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flipside::weights::WeightFile;
use tempfile::TempDir;

use crate::support::*;

const CONFIG: &str = include_str!("../miniature.toml");

/// A folder with a configuration and a pattern set, for runs.
struct Lab(TempDir);

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.toml"), CONFIG.replace("games = 2100", "games = 128")).unwrap();
        fs::write(folder.path().join("small.toml"), SMALL_SET).unwrap();
        Self(folder)
    }

    /// The file of a run.
    fn file(&self, run: &str, name: &str) -> PathBuf {
        self.0.path().join(run).join(name)
    }

    /// A call that trains six generations, unless further arguments say otherwise.
    fn train(&self, run: &str, arguments: &[&str]) -> Command {
        let mut command = program();
        command.current_dir(self.0.path()).args(["train", "--run", run, "--preset", "quick"]);
        command.args(["--config", "config.toml", "--patterns", "small.toml"]).args(arguments);
        if !arguments.contains(&"--generations") {
            command.args(["--generations", "6"]);
        }
        command
    }

    /// How many generations a run has played.
    fn played(&self, run: &str) -> usize {
        let metrics = fs::read_to_string(self.file(run, "metrics.jsonl"));
        metrics.map_or(0, |text| text.matches(r#""event":"played""#).count())
    }

    /// Starts training and waits until it has played a few generations.
    fn start(&self, run: &str, mut command: Command) -> Ends {
        let mut child = Ends(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        while self.played(run) < 6 {
            assert!(child.0.try_wait().unwrap().is_none(), "the run ended early");
            std::thread::sleep(Duration::from_millis(2));
        }
        child
    }
}

#[test]
fn a_run_leaves_weights_metrics_and_its_configuration() {
    let lab = Lab::new();
    let output = finish(lab.train("runs/one", &[]), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "runs/one/best.fsw\n");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.contains("Elo relative to default") && talk.contains("finished after 6 generations"), "{talk}");

    let best = lab.file("runs/one", "best.fsw");
    let values = stdout(&["eval", "-w", best.to_str().unwrap()], &format!("{START}\n"));
    assert!(values.trim().parse::<f64>().is_ok(), "{values}");
    let last = lab.file("runs/one", "last.fsw");
    let shown = stdout(&["inspect", last.to_str().unwrap()], "");
    assert!(shown.contains("games        768") && shown.contains("stage-plies = 12"), "{shown}");
    let metrics = fs::read_to_string(lab.file("runs/one", "metrics.jsonl")).unwrap();
    let events: Vec<serde_json::Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.iter().filter(|event| event["event"] == "played").count(), 6);
    // The configuration as resolved begins the same run.
    let resolved = fs::read_to_string(lab.file("runs/one", "config.toml")).unwrap();
    assert!(resolved.contains("small.toml") && resolved.contains("tdleaf"), "{resolved}");
}

#[test]
#[cfg(unix)]
fn a_run_under_nohup_outlives_its_terminal_and_locks_its_directory() {
    use rustix::process::{Pid, Signal, kill_process};
    let lab = Lab::new();
    let inner = lab.train("run", &["--generations", "100000", "--minutes", "10"]);
    let mut nohup = command("nohup");
    nohup.current_dir(lab.0.path()).arg(inner.get_program()).args(inner.get_args());
    let mut child = lab.start("run", nohup);

    let second = finish(lab.train("run", &[]), "");
    let refusal = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{refusal}");
    assert!(refusal.contains("another process is training"), "{refusal}");

    let learned = lab.played("run");
    kill_process(Pid::from_child(&child.0), Signal::HUP).unwrap();
    while lab.played("run") < learned + 3 {
        assert!(child.0.try_wait().unwrap().is_none(), "SIGHUP ended a run under nohup");
        std::thread::sleep(Duration::from_millis(2));
    }
    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(75));
}

#[test]
#[cfg(unix)]
fn a_run_outlives_its_terminal_without_nohup() {
    use rustix::io::{FdFlags, fcntl_setfd};
    use rustix::process::{Pid, Signal, kill_process};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let slave = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut command = lab.train("run", &["--generations", "100", "--progress", "always"]);
    let end = || Stdio::from(slave.try_clone().unwrap());
    let mut child = Ends(command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap());
    drop((command, slave));
    // A terminal reads what is written to it, until it is closed.
    let (open, mut terminal) = (Arc::new(AtomicBool::new(true)), fs::File::from(master));
    let is_open = Arc::clone(&open);
    let terminal = std::thread::spawn(move || {
        let mut buffer = [0; 1 << 12];
        while is_open.load(Relaxed) && terminal.read(&mut buffer).is_ok() {}
    });
    let learned = |count: usize, child: &mut Child| {
        while lab.played("run") < count {
            assert!(child.try_wait().unwrap().is_none(), "the run ended early");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    learned(6, &mut child.0);
    // From here on every write to the terminal fails.
    open.store(false, Relaxed);
    terminal.join().unwrap();
    kill_process(Pid::from_child(&child.0), Signal::HUP).unwrap();
    learned(50, &mut child.0);
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    assert!(lab.file("run", "best.fsw").exists());
}

#[test]
fn other_configurations_are_refused() {
    let lab = Lab::new();
    assert!(lab.train("run", &["--generations", "2", "-q"]).output().unwrap().status.success());
    let refusal = |command: Command, code: i32| {
        let output = finish(command, "");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.starts_with("flipside: "), "{error}");
        error
    };
    let error = refusal(lab.train("run", &["--seed", "9", "-q"]), 1);
    assert!(error.contains("`seed` was 5 and is 9") && error.contains("--continue run"), "{error}");
    assert!(refusal(lab.train("other", &["--minutes", "1", "--hours", "1"]), 2).contains("--hours"));
    for minutes in ["0", "nan", "1e300"] {
        assert!(refusal(lab.train("other", &["--minutes", minutes]), 2).contains("above 0, up to 100000"));
    }
    fs::write(lab.0.path().join("config.toml"), "pattrns = 3").unwrap();
    let error = refusal(lab.train("other", &[]), 1);
    assert!(error.contains("config.toml: ") && error.contains("line 1, column 1"), "{error}");
    assert!(error.contains("`pattrns` is not a known key; the closest is `patterns`"), "{error}");
    fs::write(lab.0.path().join("config.toml"), CONFIG.replace("depth = 3,", "dpeth = 3,")).unwrap();
    let error = refusal(lab.train("other", &[]), 1);
    assert!(error.contains("`dpeth` is not a known key; the closest is `depth`"), "{error}");
    for (text, fault) in [
        ("gate.pairs = 0", "`pairs` is 0: pairs of games, a whole number from 1 to 10784"),
        ("seed = -1", "`seed` is -1: "),
        ("[[steps]]\nlearn = { rate = 1e40 }", "`rate` is 1e40: "),
        ("[[steps]]\nlearn = { lambda = 1.9 }", "`lambda` is 1.9: a number from 0 to 1"),
        ("[[steps]]\nlearn = { leaf-depth = 4 }", "`steps[1].learn.leaf-depth` is only for `flipside fit`"),
    ] {
        fs::write(lab.0.path().join("config.toml"), text).unwrap();
        let error = refusal(lab.train("other", &[]), 1);
        assert!(error.contains("config.toml: ") && error.contains(fault), "{error}");
    }
    assert!(!lab.file("other", "").exists(), "a refused run leaves nothing behind");
}

#[test]
fn senseless_weights_are_named_before_anything_begins() {
    let lab = Lab::new();
    let weights = constant_weights(lab.0.path(), 250);
    let mut file = WeightFile::load(&weights).unwrap();
    file.model.weights[3][7] = -32_768;
    file.save(&weights).unwrap();
    let output = finish(lab.train("run", &["--from", weights.to_str().unwrap()]), "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("weight 7 of stage 3 is -256.00 discs") && !error.contains("rate"), "{error}");
    file.model.weights[3][7] = 0;
    file.save(&weights).unwrap();
    let output = finish(lab.train("run", &["--from", weights.to_str().unwrap(), "--generations", "0"]), "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn weights_of_another_set_are_refused_by_name() {
    let lab = Lab::new();
    let output = finish(lab.train("run", &["--from", "default"]), "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("they belong to the pattern set `night`, not to the one being learned, `small`"), "{error}");
}

#[test]
fn a_plain_call_is_a_new_run_and_latest_is_the_newest() {
    let lab = Lab::new();
    let train = |arguments: &[&str]| {
        let mut command = program();
        command.current_dir(lab.0.path()).arg("train").args(arguments);
        let output = finish(command, "");
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let new = ["--preset", "quick", "--config", "config.toml", "--patterns", "small.toml", "--generations", "1"];
    let (code, _, talk) = train(&[&new[..], &["--run", "runs/latest"]].concat());
    assert!(code == Some(2) && talk.contains("choose another --run"), "{talk}");
    // A run does not begin with records that teach nothing.
    let (code, _, talk) = train(&[&new[..], &["--records", "small.toml"]].concat());
    assert!(code == Some(1) && talk.contains("small.toml"), "{talk}");
    assert!(!lab.file("runs", "").exists(), "a run that does not begin leaves nothing behind");
    // A run begun while another begins is a separate run.
    let both = std::thread::scope(|scope| [(); 2].map(|()| scope.spawn(|| train(&new))).map(|run| run.join().unwrap()));
    assert!(both.iter().all(|run| run.0 == Some(0)) && both[0].1 != both[1].1, "{both:?}");
    let runs: Vec<_> = (0..2).map(|_| train(&new)).collect();
    assert!(runs.iter().all(|run| run.0 == Some(0) && run.2.contains("new run in runs/")), "{runs:?}");
    assert_ne!(runs[0].1, runs[1].1);
    let folder = |run: usize| runs[run].1.trim().strip_suffix("/best.fsw").unwrap().to_owned();
    let latest = || fs::canonicalize(lab.file("runs", "latest")).unwrap();
    assert_eq!(latest(), fs::canonicalize(lab.0.path().join(folder(1))).unwrap());

    // The first is resumed, and is then the latest.
    let (code, out, talk) = train(&["--resume", &folder(0), "--generations", "2"]);
    assert_eq!((code, out), (Some(0), runs[0].1.clone()), "{talk}");
    assert!(talk.contains("2 generations more, 3 generations in all"), "{talk}");
    let status = program().current_dir(lab.0.path()).args(["status", &folder(0)]).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("\nstate\tfinished\n") && status.contains("\ngenerations\t3\n"), "{status}");
    assert_eq!(latest(), fs::canonicalize(lab.0.path().join(folder(0))).unwrap());
    let (code, _, talk) = train(&["--resume", "runs/latest"]);
    assert!(code == Some(0) && talk.contains("the budget of 3 generations is already used up"), "{talk}");
    let (code, _, talk) = train(&["--resume", "runs/latest", "--seed", "4"]);
    assert!(code == Some(2) && talk.contains("--seed"), "{talk}");
    // Environment variables are for new runs.
    let mut command = program();
    command.current_dir(lab.0.path()).args(["train", "--resume", "runs/latest"]);
    for (name, value) in [("RUN", "other"), ("SEED", "4"), ("PATTERNS", "zebra"), ("CONFIG", "none.toml")] {
        command.env(format!("FLIPSIDE_{name}"), value);
    }
    let output = finish(command, "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && talk.contains("is already used up"), "{talk}");
    let (code, _, talk) = train(&["--resume", "runs/none"]);
    assert!(code == Some(1) && talk.contains("no run in runs/none"), "{talk}");
    let (code, _, talk) = train(&["--hours", "-1"]);
    assert!(code == Some(2) && talk.contains("expected a number above 0"), "{talk}");

    fs::write(lab.0.path().join("changed.toml"), "patterns = 'clasic'").unwrap();
    let (code, _, talk) = train(&["--config", "changed.toml", "--generations", "1"]);
    assert!(code == Some(1) && talk.contains("changed.toml: `patterns` cannot be used"), "{talk}");
    assert!(talk.contains("the closest is `classic`"), "{talk}");
    // Another configuration is another run, which begins where this one is.
    fs::write(lab.0.path().join("changed.toml"), "gate = { pairs = 2 }").unwrap();
    let (code, _, talk) = train(&["--resume", "runs/latest", "--config", "changed.toml", "--generations", "1"]);
    assert!(code == Some(2) && talk.contains("--config"), "{talk}");
    let older = lab.0.path().join(folder(0));
    fs::remove_file(lab.0.path().join("small.toml")).unwrap();
    let continued = ["--continue", older.to_str().unwrap(), "--config", "changed.toml"];
    let (code, _, talk) = train(&continued);
    assert!(code == Some(2) && talk.contains("--hours"), "{talk}");
    let (code, out, talk) = train(&[&continued[..], &["--generations", "1"]].concat());
    assert!(code == Some(0) && talk.contains("gate after generation 4"), "{talk}");
    let run = out.trim().strip_suffix("/best.fsw").unwrap();
    let shown = program().current_dir(lab.0.path()).args(["config", "--run", run]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    assert!(shown.contains("\npairs = 2\n"), "{shown}");
    // The games of the older run are the newer one's too.
    let fit = |runs: &[&str], output: &str| {
        let mut command = program();
        command.current_dir(lab.0.path()).arg("fit").args(runs).args(["--epochs", "1", "-o", output]);
        let output = finish(command, "");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    fit(&[run], "one.fsw");
    fit(&[&folder(0), run], "both.fsw");
    let read = |name: &str| fs::read(lab.0.path().join(name)).unwrap();
    assert!(read("one.fsw") == read("both.fsw"));
    // Wherever a pattern set is named, a run may be.
    for arguments in [
        ["export", "--to", "npz", run, "-o", "weights.npz", "--threads", "1"],
        ["import", "--from", "npz", "weights.npz", "--patterns", run, "-o", "back.fsw"],
    ] {
        let mut command = program();
        command.current_dir(lab.0.path()).args(arguments);
        let output = finish(command, "");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A run has its pattern set: its file is not needed to repeat it, nor to fit its games.
    fs::write(lab.0.path().join("again.toml"), shown).unwrap();
    let (code, _, talk) = train(&["--config", "again.toml", "--generations", "1"]);
    assert!(code == Some(0) && talk.contains("pattern set small"), "{talk}");
    let mut command = program();
    command.current_dir(lab.0.path()).args(["fit", &folder(0), "--from", &folder(0), "-o", "fitted.fsw"]);
    let output = finish(command, "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An added budget counts from what was learned, even if a stop left the last generations to be learned again.
#[test]
#[cfg(unix)]
fn generations_are_added_to_those_that_were_learned() {
    use rustix::process::{Pid, Signal, kill_process};
    let lab = Lab::new();
    let mut child = lab.start("run", lab.train("run", &["--generations", "100000", "--minutes", "10"]));
    kill_process(Pid::from_child(&child.0), Signal::TERM).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(75));
    let learned = || {
        let metrics = fs::read_to_string(lab.file("run", "metrics.jsonl")).unwrap();
        metrics.matches(r#""event":"played""#).count()
    };
    let before = learned();
    let mut command = program();
    command.current_dir(lab.0.path()).args(["train", "--resume", "run", "--generations", "2"]);
    let output = finish(command, "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert_eq!(learned(), before + 2, "{talk}");
    let budget = format!("2 generations more, {} generations in all", before + 2);
    assert!(talk.contains(&budget), "{talk}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_whose_path_is_no_text_trains_and_is_learned_but_is_not_continued() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let run = OsStr::from_bytes(b"run\xff");
    let call = |arguments: &[&str]| {
        let mut command = program();
        command.current_dir(lab.0.path()).args(arguments).arg(run);
        let output = finish(command, "");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // It has a fit, which has a checkpoint.
    let train =
        ["train", "--preset", "quick", "--config", "config.toml", "--patterns", "small.toml", "--generations", "4"];
    let (code, said) = call(&[&train[..], &["--run"]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(call(&["fit", "-o", "fitted.fsw"]).0, Some(0));
    let (code, said) = call(&["train", "--run", "new", "--generations", "1", "--continue"]);
    assert!(code == Some(1) && said.contains("not valid UTF-8: rename"), "{said}");
}

#[test]
fn a_mistake_leaves_no_folder() {
    let lab = Lab::new();
    for mistake in [["--patterns", "clasic"], ["--from", "no/such.fsw"], ["--config", "no/such.toml"]] {
        let mut command = program();
        command.current_dir(lab.0.path()).arg("train").args(mistake);
        assert_eq!(finish(command, "").status.code(), Some(1), "{mistake:?}");
        assert!(!lab.0.path().join("runs").exists(), "{mistake:?}");
    }
}
