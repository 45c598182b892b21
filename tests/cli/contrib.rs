//! The files in `contrib/`, as far as they can be tried on one machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::helpers::say_skipped;
use crate::support::*;

fn contrib(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib").join(name)
}

/// Whether a program is installed; a test that runs without it says so.
fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        say_skipped(format!("no {program} is installed"));
    }
    there
}

#[test]
fn units_are_what_systemd_expects() {
    if !has("systemd-analyze") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (file, instance) in [
        ("systemd/flipside@.service", "flipside@tonight.service"),
        ("systemd/flipside-broker.service", "flipside-broker.service"),
        ("systemd/flipside-train.service", "flipside-train.service"),
        ("systemd/flipside-work@.service", "flipside-work@tonight.service"),
    ] {
        let text = fs::read_to_string(contrib(file)).unwrap();
        let name = Path::new(file).file_name().unwrap();
        let program = text.lines().find_map(|line| line.strip_prefix("ExecStart=")?.split(' ').next()).unwrap();
        assert!(["/usr/local/bin/flipside", "/usr/sbin/nats-server"].contains(&program), "{file}");
        fs::write(folder.path().join(name), text.replace(program, PROGRAM)).unwrap();
        let unit = folder.path().join(instance);
        let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(unit).output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        // It also checks the machine's own units.
        let ours = talk.lines().filter(|line| line.contains("flipside")).collect::<Vec<_>>();
        assert!(output.status.success() && ours.is_empty(), "{talk}");
    }
}

#[test]
#[cfg(feature = "cluster")]
fn the_containers_commands_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(contrib("compose.yaml")).unwrap();
    let commands = text.lines().filter_map(|line| line.trim().strip_prefix("command: "));
    let commands: Vec<Vec<String>> = commands.map(|command| serde_json::from_str(command).unwrap()).collect();
    let [_, train, work] = commands.try_into().unwrap();
    // There is no broker here, and nothing waits for one: the coordinator begins without it, and the worker says so.
    let train: Vec<_> = train.iter().map(|word| word.replace("/runs", folder.path().to_str().unwrap())).collect();
    let train: Vec<_> = train.iter().map(String::as_str).chain(["--generations", "0", "--wait", "0"]).collect();
    let missing = run_with(&train, "");
    let talk = String::from_utf8_lossy(&missing.stderr);
    assert!(talk.contains("broker") && missing.status.code() != Some(2), "{talk}");
    let work: Vec<_> = work.iter().map(|word| if word == "600" { "0" } else { word }).collect();
    let missing = run_with(&work, "");
    let talk = String::from_utf8_lossy(&missing.stderr);
    assert!(talk.contains("broker") && missing.status.code() == Some(1), "{talk}");
}

#[test]
fn shell_scripts_are_sound() {
    for script in ["slurm/flipside.sbatch", "slurm/flipside-cluster.sbatch"] {
        let checked = Command::new("bash").arg("-n").arg(contrib(script)).status().unwrap();
        assert!(checked.success(), "{script}");
    }
    if has("shellcheck") {
        let scripts = [contrib("slurm/flipside.sbatch"), contrib("slurm/flipside-cluster.sbatch")];
        let output = Command::new("shellcheck").args(scripts).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn a_job_that_runs_out_of_time_is_queued_again_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let lab = folder.path();
    fs::write(lab.join("config.toml"), include_str!("../miniature.toml")).unwrap();
    fs::write(lab.join("small.toml"), SMALL_SET).unwrap();
    // A stand-in for Slurm, as far as the script calls it.
    let scontrol = lab.join("scontrol");
    fs::write(&scontrol, "#!/bin/sh\necho \"$@\" >>scontrol.log\n").unwrap();
    fs::set_permissions(&scontrol, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(PROGRAM, lab.join("flipside")).unwrap();
    let job = |budget: [&str; 2]| {
        let mut command = command("bash");
        command.arg(contrib("slurm/flipside.sbatch")).args(["--preset", "quick", "--config", "config.toml"]);
        command.args(["--patterns", "small.toml"]).args(budget);
        let path = format!("{}:{}", lab.display(), std::env::var("PATH").unwrap());
        command.current_dir(lab).env("PATH", path).env("SLURM_JOB_ID", "17").env("SLURM_CPUS_PER_TASK", "1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let requeued = || fs::read_to_string(lab.join("scontrol.log")).unwrap_or_default();

    let mut first = job(["--minutes", "10"]).spawn().unwrap();
    let metrics = lab.join("runs/slurm-17/metrics.jsonl");
    while !fs::read_to_string(&metrics).is_ok_and(|text| text.contains("\"learned\"")) {
        assert!(first.try_wait().unwrap().is_none(), "the job ended early");
        std::thread::sleep(Duration::from_millis(2));
    }
    kill_process(Pid::from_child(&first), Signal::TERM).unwrap();
    let output = first.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*requeued()), (Some(75), "requeue 17\n"), "{talk}");
    assert!(talk.contains("stopped after"), "{talk}");

    let output = job(["--generations", "1"]).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*requeued()), (Some(0), "requeue 17\n"), "{talk}");
    assert!(talk.contains("resuming runs/slurm-17"), "{talk}");
}

/// A script in a folder with some programs that stand for the real ones.
fn with_programs(lab: &Path, script: &str, programs: &[(&str, &str)]) -> Command {
    for (name, text) in [("scontrol", "echo \"$@\" >>scontrol.log")].iter().chain(programs) {
        let path = lab.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("bash");
    let path = format!("{}:{}", lab.display(), std::env::var("PATH").unwrap());
    command.arg(contrib(script)).current_dir(lab).env("PATH", path);
    command
}

#[test]
fn a_signal_as_a_job_ends_does_not_change_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let flipside = "sleep 0.5; kill -TERM $PPID; exit 75";
    let mut job = with_programs(folder.path(), "slurm/flipside.sbatch", &[("flipside", flipside)]);
    assert_eq!(job.env("SLURM_JOB_ID", "17").output().unwrap().status.code(), Some(75));
    assert_eq!(fs::read_to_string(folder.path().join("scontrol.log")).unwrap(), "requeue 17\n");
}

#[test]
fn tasks_that_begin_after_the_run_has_ended_end_as_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let flipside = "[ \"$1\" = cluster ] || { sleep 0.5; kill -TERM $PPID; exit $CODE; }";
    let task = |number: &str, code: &str| {
        let programs = [("flipside", flipside), ("nats-server", "exec sleep 600")];
        let mut command = with_programs(folder.path(), "slurm/flipside-cluster.sbatch", &programs);
        command.env("SLURM_ARRAY_JOB_ID", "17").env("SLURM_ARRAY_TASK_ID", number).env("CODE", code);
        command.output().unwrap().status.code()
    };
    let requeued = || fs::read_to_string(folder.path().join("scontrol.log")).unwrap_or_default();
    assert_eq!((task("0", "75"), requeued()), (Some(75), "requeue 17_0\n".into()));
    assert_eq!((task("0", "3"), task("1", "0"), requeued()), (Some(3), Some(3), "requeue 17_0\n".into()));
}
