//! Runs on many machines: whatever happens to workers, broker and coordinator, the files are those of one undisturbed machine.
//! Broker, coordinators and workers are processes. Faults come when a run has reached a point, not by the clock, and a run continues
//! until all of them have come.
#![cfg(unix)]

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod calling;
#[path = "../helpers/mod.rs"]
mod helpers;
mod messages;
mod safety;
mod support;

use std::fs::{self, File};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use helpers::say_skipped;
use support::*;

#[test]
fn a_worker_may_be_killed_frozen_slow_or_stopped() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let [mut killed, mut frozen, mut slow, mut stopped] =
        ["killed", "frozen", "slow", "stopped"].map(|name| worker(folder, name, &broker.url(), "run"));
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    let run = folder.join("run");
    for worker in [&mut killed, &mut frozen, &mut slow, &mut stopped] {
        worker.wait_for("as the coordinator did");
    }
    let slow = Slowed::from(slow);
    wait_for_more(&mut train, &run, 1);
    killed.kill();
    wait_for_more(&mut train, &run, 1);
    frozen.signal(Signal::STOP);
    wait_for_more(&mut train, &run, 2);
    stopped.signal(Signal::TERM);
    let said = stopped.ends_with(75);
    assert!(said.contains("go to other workers"), "{said}");
    let mut late = worker(folder, "late", &broker.url(), "run");
    late.wait_for("as the coordinator did");
    let workers = || {
        let output = flipside(&["status", "--json"]).arg(&run).output().unwrap();
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        status["workers"].as_array().cloned().unwrap_or_default()
    };
    while workers().len() < 5 || workers().iter().all(|worker| worker["present"] == true) {
        assert!(train.is_running(), "{:?}\n{}", workers(), train.said());
        sleep(Duration::from_millis(500));
    }
    stop(&mut train);
    finish(folder, "run", Some(&broker.url()), &[]);
    assert_undisturbed(&run);
    // The remaining workers learn that it is over, even one that slept meanwhile.
    frozen.signal(Signal::CONT);
    for worker in [&mut frozen, &mut slow.at_full_speed(), &mut late] {
        let said = worker.ends_with(0);
        assert!(said.contains("is finished"), "{said}");
    }
}

#[test]
fn the_broker_may_be_killed_frozen_and_emptied() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let mut broker = Broker::start(folder);
    let mut worker = worker(folder, "worker", &broker.url(), "run");
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    let run = folder.join("run");
    worker.wait_for("as the coordinator did");
    for time in 0..5 {
        wait_for_more(&mut train, &run, 1);
        if time == 2 {
            messages::delete_streams(&broker.url(), "run");
        }
        if time == 3 {
            broker.process.signal(Signal::STOP);
            sleep(Duration::from_secs(8));
            broker.process.signal(Signal::CONT);
        }
        broker.restart();
    }
    wait_for_more(&mut train, &run, 1);
    let said = stop(&mut train);
    finish(folder, "run", Some(&broker.url()), &[]);
    assert_undisturbed(&run);
    // Reported once each time, not at every attempt.
    let lost = said.matches("no connection to the broker").count();
    assert!((1..=6).contains(&lost), "{said}");
    assert!(worker.ends_with(0).contains("is finished"));
}

#[test]
fn a_worker_may_join_after_the_broker_lost_what_an_earlier_generation_stored() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let mut first = worker(folder, "first", &broker.url(), "run");
    let mut train = train(folder, "run", Some(&broker.url()), &[]);
    first.wait_for("as the coordinator did");
    // In the last step, whose proof comes from its first generations.
    wait_for_more(&mut train, &folder.join("run"), 6);
    messages::delete_streams(&broker.url(), "run");
    let mut late = worker(folder, "late", &broker.url(), "run");
    late.wait_for("as the coordinator did");
    stop(&mut train);
    finish(folder, "run", Some(&broker.url()), &[]);
    for mut worker in [first, late] {
        assert!(worker.ends_with(0).contains("is finished"));
    }
}

#[test]
fn the_coordinator_may_be_killed_and_a_run_change_between_cluster_and_one_machine() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let broker = Broker::start(folder);
    let (url, run) = (broker.url(), folder.join("run"));
    let mut worker = worker(folder, "worker", &url, "run");
    // It begins on one machine.
    let mut alone = train(folder, "run", None, &[]);
    wait_for_more(&mut alone, &run, 2);
    stop(&mut alone);
    let mut first = train(folder, "run", Some(&url), &[]);
    worker.wait_for("as the coordinator did");
    // A second coordinator of a run of this name, here or elsewhere, is refused and changes nothing.
    fs::create_dir(folder.join("elsewhere")).unwrap();
    let said = train(folder, "elsewhere/run", Some(&url), &["--generations", "1"]).ends_with(1);
    assert!(said.contains("another coordinator works on a run `run`"), "{said}");
    assert!(!folder.join("elsewhere/run").exists());
    wait_for_more(&mut first, &run, 1);
    first.kill();
    let mut second = train(folder, "run", Some(&url), &[]);
    wait_for_more(&mut second, &run, 1);
    stop(&mut second);
    // It ends on one machine, and the worker waits for it.
    finish(folder, "run", None, &[]);
    assert_undisturbed(&run);
    worker.signal(Signal::TERM);
    worker.ends_with(75);
}

#[test]
fn the_brokers_disk_may_be_full() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let disk = folder.join("js");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=512m", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        say_skipped("no disk can be mounted here (it takes root)");
        return;
    }
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").args(["-l"]).arg(&self.0).output();
        }
    }
    let mounted = Mounted(disk.clone());
    let filler = disk.join("filler");
    // Everything that is left, to the last byte.
    let fill = || drop(std::io::copy(&mut std::io::repeat(0), &mut File::create(&filler).unwrap()));
    let mut broker = Broker::start(folder);
    let (url, run) = (broker.url(), folder.join("run"));
    let mut worker = worker(folder, "worker", &url, "run");
    let mut first = train(folder, "run", Some(&url), &[]);
    worker.wait_for("as the coordinator did");
    fill();
    wait_for_more(&mut first, &run, 2);
    while ![&first, &worker].iter().any(|process| process.said().contains("is its disk full?")) {
        pause();
    }
    stop(&mut first);
    // There is room again, until the run is about to end.
    fs::remove_file(&filler).unwrap();
    broker.restart();
    let budget = (generations(&run) + 3).to_string();
    let mut second = train(folder, "run", Some(&url), &["--generations", &budget]);
    wait_for_more(&mut second, &run, 1);
    fill();
    second.ends_with(0);
    assert_undisturbed(&run);
    drop((worker, broker, mounted));
}

/// Kills a run at random in a loop. SOAK_SEED repeats the same kills.
#[test]
#[ignore = "takes SOAK_MINUTES (10 if not set)"]
fn soak() {
    let minutes = std::env::var("SOAK_MINUTES").map_or(10.0, |text| text.parse().expect("SOAK_MINUTES is a number"));
    let Some(folder) = folder() else { return };
    use rand::{RngExt, SeedableRng};
    let seed =
        std::env::var("SOAK_SEED").map_or_else(|_| rand::random(), |text| text.parse().expect("SOAK_SEED is a number"));
    eprintln!("SOAK_SEED={seed}");
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let (began, mut rounds, mut kills) = (std::time::Instant::now(), 0, 0);
    while began.elapsed().as_secs_f64() < 60.0 * minutes {
        let folder = folder.path().join(format!("round-{rounds}"));
        fs::create_dir(&folder).unwrap();
        fs::copy(folder.join("../config.toml"), folder.join("config.toml")).unwrap();
        let mut broker = Broker::start(&folder);
        let url = broker.url();
        let start = |number: u32| worker(&folder, &format!("worker-{number}"), &url, "run");
        let mut workers = [0, 1, 2].map(start);
        let budget = ["--generations", "6"];
        let mut coordinator = train(&folder, "run", Some(&url), &budget);
        loop {
            if !coordinator.is_running() {
                // A coordinator that begins just when the broker is killed ends, as it should.
                let said = coordinator.said();
                let last = said.lines().last().unwrap_or_default();
                if !["no broker answers", "cannot keep jobs and results"].iter().any(|text| last.contains(text)) {
                    break;
                }
                coordinator = train(&folder, "run", Some(&url), &budget);
            }
            sleep(Duration::from_millis(rng.random_range(50..1500)));
            let victim = rng.random_range(0..6);
            match victim {
                0 => broker.restart(),
                1 if coordinator.is_running() => {
                    coordinator.kill();
                    coordinator = train(&folder, "run", Some(&url), &budget);
                }
                2 => workers[0].signal(Signal::STOP),
                3 => workers[0].signal(Signal::CONT),
                _ => {
                    let number = rng.random_range(1..3);
                    workers[number] = start(number as u32);
                }
            }
            kills += 1;
        }
        coordinator.ends_with(0);
        assert_undisturbed(&folder.join("run"));
        rounds += 1;
    }
    eprintln!("{rounds} runs, {kills} kills, starts and pauses: the same bytes each time");
}

#[test]
fn a_coordinator_waits_for_the_broker_and_a_worker_for_another_run() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let mut broker = Broker::start(folder);
    let url = broker.url();
    broker.process.kill();
    let begin = || {
        let mut train = train(folder, "run", Some(&url), &["--generations", "1"]);
        train.wait_for("there is no connection to the broker");
        train
    };
    let mut stopped = begin();
    stopped.signal(Signal::TERM);
    assert!(stopped.ends_with(75).contains("stopped before the broker answered"));
    assert!(!folder.join("run").exists());
    fs::remove_file(folder.join("run.log")).unwrap();
    let mut train = begin();
    broker.restart();
    train.ends_with(0);
    let mut late = flipside(&["work", &url, "--run", "run", "--threads", "1", "--wait", "1"]);
    late.stdout(std::process::Stdio::piped());
    let output = late.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("is finished; waiting for another of that name"), "{said}");
}
